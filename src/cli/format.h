/* SPDX-License-Identifier: Apache-2.0 */
/* What a ticket says of its owner, and how long something takes, as people
 * read it. */
#ifndef HF_CLI_FORMAT_H
#define HF_CLI_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "host/owner_text.h"

/* Room for anything that an owner may say. */
#define HF_FORMAT_BYTES (HF_PAYLOAD_BYTES + 64)

/* "backup (pid 4711 on db1): nightly" where ${payload} is ours, with ", asked
 * to release" behind it if its owner has heard that; else as it is; made
 * printable. */
void hf_format_owner(const char *payload, char text[HF_FORMAT_BYTES]);

/* The same of the owner of a ticket, with how long ago that was queued where it
 * is known: "backup (pid 4711 on db1): nightly, queued 3m05s ago", with '~'
 * where the clocks of two machines are compared.  ${now_ms}: hf_clock_now_ms().
 */
void hf_format_holder(const char *payload, uint64_t now_ms,
                      char text[HF_FORMAT_BYTES]);

/* Write ${message}, an error text of the library's, to the ${bytes} of ${text},
 * without the name of the call and with hf_format_holder() in the place of what
 * tickets say. */
void hf_format_error(const char *message, uint64_t now_ms, char *text,
                     size_t bytes);

/* "2d07h", "1h02m", "3m05s", "12s". */
#define HF_FORMAT_DURATION_BYTES 32
void hf_format_duration(uint64_t ms, char text[HF_FORMAT_DURATION_BYTES]);

/* "holds", "waits", or of a member "inside". */
const char *hf_format_state(const struct hf_ticket_view *view);

/* Is it the ticket of one that holds a lock, or permits of a semaphore? */
bool hf_ticket_view_is_held(const struct hf_ticket_view *view);

/* "mutex", "read" and so on. */
const char *hf_format_kind(enum hf_kind kind);

#endif
