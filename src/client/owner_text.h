/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a ticket says of its owner, for people who wait behind it or list the
 * queue.  The text is the payload of the ticket: words "key=value" with a space
 * between them.  The keys are in docs/ticket-text.md and at
 * hf_owner_text_get().
 */
#ifndef HF_CLIENT_OWNER_TEXT_H
#define HF_CLIENT_OWNER_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include <holdfast/lock.h>
#include <holdfast/status.h>

#include "core/ticket.h"

/* Room for an encoded value in a payload, with the NUL; so also for a decoded
 * one. */
#define HF_OWNER_VALUE_BYTES 67

/* May ${text} be the text= of a ticket?  HF_EINVAL if it is too long, is not
 * UTF-8 or has control characters. */
hf_status hf_owner_text_check(const char *text, struct hf_error *error);

/* The same for a ${value} of at most ${max_bytes} that may be a whole payload,
 * such as the id of an election.  ${what} names it in the text of ${error}. */
hf_status hf_owner_text_check_value(const char *what, const char *value,
                                    size_t max_bytes, struct hf_error *error);

/* Write "host= pid= command= thread= since= at= text=" to ${payload}.  Values
 * are percent-encoded outside [A-Za-z0-9._-]; host and command are cut if they
 * are long. since is ${now_ms} on CLOCK_BOOTTIME and, after '@', the first
 * eight digits of the id of the boot that it counts from. at is the time of day
 * in UTC, the only wall clock here, for people only.  ${text} has at most
 * HF_OWNER_TEXT_BYTES; if it is NULL there is no text=. */
void hf_owner_text_write(char payload[HF_PAYLOAD_BYTES], uint64_t now_ms,
                         const char *text);

/* The words that are known only when the ticket is enqueued, or later.  Each is
 * appended.
 *
 * holds= ends before HF_OWNER_HOLDS_END, so that asked= fits behind it.  The
 * part of holds= that a process inherits leaves room for all words before
 * it. */
#define HF_OWNER_ASKED_BYTES (sizeof(" asked=2026-11-21T16:33:00Z") - 1)
#define HF_OWNER_HOLDS_END (HF_PAYLOAD_BYTES - HF_OWNER_ASKED_BYTES)
#define HF_OWNER_INHERITED_BYTES 384

/* The most that hf_owner_text_add_limit() adds. */
#define HF_OWNER_LIMIT_BYTES (sizeof(" limit=4294967295 permits=64") - 1)

/* Append "limit=": the number of permits of the semaphore, as this handle has
 * it; and, if it is not 1, "permits=": how many of them are wanted. */
void hf_owner_text_add_limit(char payload[HF_PAYLOAD_BYTES], uint32_t limit,
                             uint32_t permits);

/* Append "ends": the wait has a limit. */
void hf_owner_text_add_ends(char payload[HF_PAYLOAD_BYTES]);

/* Append "detect": the owner looks for deadlocks. */
void hf_owner_text_add_detect(char payload[HF_PAYLOAD_BYTES]);

/* Append ${name}, percent-encoded, and the first eight digits of ${id} to
 * "holds=", which begins with the first: "holds=NAME:ID,NAME:ID".  ${payload}
 * has room for ${bytes} with the NUL.  False, with '+' at its end, if there is
 * no room; nothing may be added after that. */
bool hf_owner_text_add_hold(char *payload, size_t bytes, const char *name,
                            const char *id);

/* The same with "outer=", before any "holds=". */
bool hf_owner_text_add_outer(char *payload, size_t bytes, const char *name,
                             const char *id);

/* Append " asked=" and the time of day to ${payload}, once.  Nothing is
 * appended if there is no room for all of it, or if the payload is not one of
 * ours. */
void hf_owner_text_add_asked(char payload[HF_PAYLOAD_BYTES]);

/* A payload that was parsed; "" and 0 for what is missing. */
struct hf_owner {
    char host[HF_OWNER_VALUE_BYTES];
    char command[HF_OWNER_VALUE_BYTES];
    char text[HF_OWNER_TEXT_BYTES + 1];
    uint64_t pid;
    uint64_t thread;
    uint64_t limit;     /* permits of a semaphore */
    uint64_t at_utc_ms; /* at=, in milliseconds since 1970 */
    /* How long before ${now_ms} it was written, if this machine has not been
     * booted since; else HF_FOREVER. */
    uint64_t age_ms;
};

/* False if ${payload} is not one of ours or names no process; ${owner} is set
 * all the same. */
bool hf_owner_text_parse(const char *payload, uint64_t now_ms,
                         struct hf_owner *owner);

/* Does ${payload} say that its owner is on the machine ${name}, or on this one
 * if that is NULL?  A name that is too long for a payload is cut as there. */
bool hf_owner_text_is_of_host(const char *payload, const char *name);

#endif
