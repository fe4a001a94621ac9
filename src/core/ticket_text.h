/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the words of a ticket's text, as docs/ticket-text.md has them.  A
 * text may have been written by anybody, so every parser has a bound and
 * accepts anything.  client/owner_text.h writes the text of a ticket of ours,
 * and text_update.h has it written again.
 */
#ifndef HF_CORE_TICKET_TEXT_H
#define HF_CORE_TICKET_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <holdfast/lock.h>

#include "core/ticket.h"

/* The digits of a ticket's id in holds=.  A reader looks the ticket up in the
 * queue of that name, where these digits are enough to find it. */
#define HF_TICKET_HOLD_DIGITS 8

/* Is ${text} that of a ticket of this library?  Any other may have any words in
 * it. */
bool hf_ticket_text_is_ours(const char *text);

/* Set ${value} and ${length} to the value of the word ${key} in ${text}, still
 * encoded; "" for a word without a value.  False if ${text} has no such word,
 * or is not ours. */
bool hf_ticket_text_find(const char *text, const char *key, const char **value,
                         size_t *length);

/* Decode ${length} characters of ${value} to ${text}, which has room for
 * ${bytes}.  False if not all of it fits; the rest is then left out. */
bool hf_ticket_text_decode(char *text, size_t bytes, const char *value,
                           size_t length);

/* Parse the decimal digits at ${*text}, and move that behind them.  False if
 * there are none, or the number is too great; ${*text} then stays. */
bool hf_ticket_text_parse_number(const char **text, uint64_t *number);

/* The number that the word ${key} of ${text} says; 0 if it says none. */
uint64_t hf_ticket_text_number(const char *text, const char *key);

/* Something that holds= says. */
struct hf_ticket_hold {
    char name[HF_NAME_BYTES + 1]; /* of the lock, decoded */
    uint32_t id;                  /* the first eight digits of the ticket's */
};

/* The first eight digits of ${id}, as a number. */
uint32_t hf_ticket_text_hold_id(const struct hf_ticket_id *id);

/* The part of the list of holds= or outer= that was not read yet. */
struct hf_ticket_holds {
    const char *rest;
    size_t length;
};

/* Begin to read the word ${key} of ${text}, holds= or outer=; nothing if it
 * says none. */
struct hf_ticket_holds hf_ticket_text_list(const char *text, const char *key);

/* Set ${hold} to the next one; false: there are no more.  What cannot be a hold
 * is skipped. */
bool hf_ticket_text_next_hold(struct hf_ticket_holds *holds,
                              struct hf_ticket_hold *hold);

#endif
