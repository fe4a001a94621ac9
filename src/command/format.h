/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values as text for people: owners of tickets, durations, kinds and states.
 * Text that other programs wrote is made harmless for terminals
 * (hf_utf8_make_printable()).
 */
#ifndef HF_COMMAND_FORMAT_H
#define HF_COMMAND_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/owner_text.h"

struct hf_ticket_view;

/* Room for any owner. */
#define HF_FORMAT_BYTES (HF_PAYLOAD_BYTES + 64)

/* Write the owner of a ticket with ${payload} as "backup (pid 4711 on db1):
 * nightly", followed by ", asked to release" if the owner was asked.  A payload
 * that the library did not write is copied as it is. */
void hf_format_owner(const char *payload, char text[HF_FORMAT_BYTES]);

/* The same, followed by the age of the ticket if it is known: "backup (pid 4711
 * on db1): nightly, queued 3m05s ago".  The age has a '~' in front if the
 * clocks of two machines were compared.  ${now_ms} is hf_clock_now_ms(). */
void hf_format_holder(const char *payload, uint64_t now_ms,
                      char text[HF_FORMAT_BYTES]);

/* Write ${message}, an error text of the library, to ${text}, which has
 * ${bytes}.  The name of the call at its beginning is left out.  The payload of
 * a ticket in it is replaced by the text of hf_format_holder(). */
void hf_format_error(const char *message, uint64_t now_ms, char *text,
                     size_t bytes);

/* Return how long ago the owner of ${view} began to ask, in milliseconds;
 * HF_FOREVER if that is not known.  ${utc_ms} is the time of day.
 * ${*two_clocks}, which may be NULL, is set to whether the clocks of two
 * machines were compared. */
uint64_t hf_format_age_ms(const struct hf_ticket_view *view, uint64_t utc_ms,
                          bool *two_clocks);

/* Write how long ago the owner of ${view} began to ask: "3m05s"; "~3m05s" if
 * the clocks of two machines were compared; "-" if that is not known.
 * ${utc_ms} is the time of day. */
void hf_format_age(const struct hf_ticket_view *view, uint64_t utc_ms,
                   char text[HF_FORMAT_BYTES]);

/* Return "holds", "waits", or "inside" for a participant of a double barrier.
 */
const char *hf_format_state(const struct hf_ticket_view *view);

/* Does the ticket hold a lock or permits of a semaphore?  The ticket of a
 * participant of a double barrier does not. */
bool hf_ticket_view_is_held(const struct hf_ticket_view *view);

/* Return the name of ${kind}: "mutex", "read" and so on. */
const char *hf_format_kind(enum hf_kind kind);

#endif
