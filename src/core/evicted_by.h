/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who evicted a ticket, and why: a text that one client writes and the owner of
 * the ticket reads as the reason of its loss.  Anybody who can evict can write
 * anything, so a reader cuts it, and shows no character that could deceive.
 */
#ifndef HF_CORE_EVICTED_BY_H
#define HF_CORE_EVICTED_BY_H

#include <stdbool.h>
#include <stddef.h>

#include <holdfast/tickets.h>

/* Room for a reason. */
#define HF_EVICTED_WHY_BYTES (HF_EVICTED_BY_BYTES + 64)

/* Set ${why} to the reason of a loss, for the .text of HF_EVENT_GONE: "its
 * ticket was evicted by " and what is fit to be shown of the ${bytes} of
 * ${text}.  Return ${why}; NULL if there is no text. */
const char *hf_evicted_by_explain(const char *text, size_t bytes,
                                  char why[HF_EVICTED_WHY_BYTES]);

/* Room for a text in hexadecimal digits. */
#define HF_EVICTED_BY_HEX_BYTES (2 * HF_EVICTED_BY_BYTES + 1)

/* Write ${text}, cut to HF_EVICTED_BY_BYTES, in hexadecimal digits: one word of
 * a notice. */
void hf_evicted_by_encode(const char *text, char hex[HF_EVICTED_BY_HEX_BYTES]);

/* The reverse, of the ${digits} at ${hex}, for hf_evicted_by_explain().
 * Reading ends at the first character that is no digit, and where the longest
 * text ends. */
const char *hf_evicted_by_explain_hex(const char *hex, size_t digits,
                                      char why[HF_EVICTED_WHY_BYTES]);

#endif
