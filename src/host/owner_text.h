/* SPDX-License-Identifier: Apache-2.0 */
/* What a ticket says of its owner, for people who wait behind it or look at
 * the queue. */
#ifndef HF_HOST_OWNER_TEXT_H
#define HF_HOST_OWNER_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include <holdfast/holdfast.h>

#include "core/ticket.h"

/* Room for a value as it stands in a payload, and so for what it means. */
#define HF_OWNER_VALUE_BYTES 67

/* Is ${text} fit to be said in one?  HF_EINVAL. */
hf_status hf_owner_text_check(const char *text, struct hf_error *error);

/* Or, with at most ${max_bytes} bytes, to stand there instead of all that?
 * ${what} is its name in the text of the failure. */
hf_status hf_owner_text_check_value(const char *what, const char *value,
                                    size_t max_bytes, struct hf_error *error);

/* Write "host= pid= command= thread= since= at= text=" to ${payload}.  Values
 * are percent-encoded outside [A-Za-z0-9._-]; host and command are cut where
 * they are long.  since is ${now_ms} on CLOCK_BOOTTIME and, after '@', the
 * first eight digits of the boot it counts from; at is the time of day in UTC,
 * the one wall clock here, for people only.  ${text}, at most
 * HF_OWNER_TEXT_BYTES, may be NULL: there is then no text=. */
void hf_owner_text_write(char payload[HF_PAYLOAD_BYTES], uint64_t now_ms,
                         const char *text);

/* The rest of a payload, which is only known when its ticket is enqueued.  Each
 * word stands behind those that are there.
 *
 * holds= ends before HF_OWNER_HOLDS_END, so that asked= fits behind it; what a
 * process inherits of it leaves room for all that stands before it. */
#define HF_OWNER_ASKED_BYTES (sizeof(" asked=2026-11-21T16:33:00Z") - 1)
#define HF_OWNER_HOLDS_END (HF_PAYLOAD_BYTES - HF_OWNER_ASKED_BYTES)
#define HF_OWNER_INHERITED_BYTES 384

/* What hf_owner_text_add_limit() adds at most. */
#define HF_OWNER_LIMIT_BYTES (sizeof(" limit=4294967295") - 1)

/* Add "limit=": of a semaphore so many permits there are, as this handle has
 * it. */
void hf_owner_text_add_limit(char payload[HF_PAYLOAD_BYTES], uint32_t limit);

/* Add ${name} and the first eight digits of ${id} to "holds=", and begin that
 * if it is not there: "holds=NAME:ID,NAME:ID", names percent-encoded.
 * ${payload} may have ${bytes} with the NUL.  False, with '+' at the end of it,
 * if there is no room; nothing may be added after that. */
bool hf_owner_text_add_hold(char *payload, size_t bytes, const char *name,
                            const char *id);

/* Append " asked=" and the time of day to ${payload}, once.  Nothing is
 * appended where there is no room for all of it, nor to a text that the user
 * gave in the place of ours. */
void hf_owner_text_add_asked(char payload[HF_PAYLOAD_BYTES]);

/* Such a payload taken apart; "" and 0 for what is missing. */
struct hf_owner {
    char host[HF_OWNER_VALUE_BYTES];
    char command[HF_OWNER_VALUE_BYTES];
    char text[HF_OWNER_TEXT_BYTES + 1];
    uint64_t pid;
    uint64_t thread;
    uint64_t limit;
    uint64_t at_utc_ms;
    /* How long before ${now_ms}, if this machine has not been booted since;
     * else HF_FOREVER. */
    uint64_t age_ms;
};

/* False if ${payload} is none of ours, or names no process. */
bool hf_owner_text_parse(const char *payload, uint64_t now_ms,
                         struct hf_owner *owner);

#endif
