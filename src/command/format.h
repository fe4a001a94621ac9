/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values as text for people: owners of tickets, durations, kinds and states.
 * What other programs wrote cannot steer a terminal afterwards
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

/* Write the owner in a ticket's ${payload}: "backup (pid 4711 on db1):
 * nightly", with ", asked to release" if its owner was asked to; a payload
 * that is not the library's is written as it is. */
void hf_format_owner(const char *payload, char text[HF_FORMAT_BYTES]);

/* The same, with the age of the ticket if that is known: "backup (pid 4711 on
 * db1): nightly, queued 3m05s ago"; with '~' before the age if the clocks of
 * two machines were compared.  ${now_ms}: hf_clock_now_ms(). */
void hf_format_holder(const char *payload, uint64_t now_ms,
                      char text[HF_FORMAT_BYTES]);

/* Write ${message}, an error text of the library, to the ${bytes} of ${text}.
 * The name of the call at its beginning is left out, and the payload of a
 * ticket in it is replaced by what hf_format_holder() makes of that. */
void hf_format_error(const char *message, uint64_t now_ms, char *text,
                     size_t bytes);

/* How long ago the owner of ${view} began to ask, in milliseconds; HF_FOREVER
 * if that is not known.  ${utc_ms} is the time of day.  ${*two_clocks} (may be
 * NULL) is set to whether the clocks of two machines were compared. */
uint64_t hf_format_age_ms(const struct hf_ticket_view *view, uint64_t utc_ms,
                          bool *two_clocks);

/* Write how long ago the owner of ${view} began to ask: "3m05s"; "~3m05s" if
 * the clocks of two machines were compared; "-" if that is not known.
 * ${utc_ms} is the time of day. */
void hf_format_age(const struct hf_ticket_view *view, uint64_t utc_ms,
                   char text[HF_FORMAT_BYTES]);

/* "holds", "waits", or "inside" for a participant of a double barrier. */
const char *hf_format_state(const struct hf_ticket_view *view);

/* Does the ticket hold a lock or permits of a semaphore?  Not so for
 * participants of a double barrier. */
bool hf_ticket_view_is_held(const struct hf_ticket_view *view);

/* "mutex", "read" and so on. */
const char *hf_format_kind(enum hf_kind kind);

#endif
