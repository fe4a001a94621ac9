/* SPDX-License-Identifier: Apache-2.0 */
/* What a ticket says of its owner, for people who wait behind it or look at
 * the queue. */
#ifndef HF_HOST_OWNER_H
#define HF_HOST_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#include <holdfast/holdfast.h>

#include "core/ticket.h"

/* Room for a value as it stands in a payload, and so for what it means. */
#define HF_OWNER_VALUE_BYTES 67

/* Is ${text} fit to be said in one?  HF_EINVAL. */
hf_status hf_owner_check_text(const char *text, struct hf_error *error);

/* Or, with at most ${most} bytes, to stand there instead of all that?  ${what}
 * is its name in the text of the failure. */
hf_status hf_owner_check_words(const char *what, const char *words, size_t most,
                               struct hf_error *error);

/* Write "host= pid= command= thread= since= at= text=" to ${payload}.  Values
 * are percent-encoded outside [A-Za-z0-9._-]; host and command are cut where
 * they are long.  since is ${now_ms} on CLOCK_BOOTTIME and, after '@', the
 * first eight digits of the boot it counts from; at is the time of day in UTC,
 * the one wall clock here, for people only.  ${text}, at most
 * HF_OWNER_TEXT_BYTES, may be NULL: there is then no text=. */
void hf_owner_describe(char payload[HF_PAYLOAD_BYTES], uint64_t now_ms,
                       const char *text);

/* Such a payload taken apart; "" and 0 for what is missing. */
struct hf_owner {
    char host[HF_OWNER_VALUE_BYTES];
    char command[HF_OWNER_VALUE_BYTES];
    char text[HF_OWNER_TEXT_BYTES + 1];
    uint64_t pid;
    uint64_t thread;
    uint64_t at_utc_ms;
    /* How long before ${now_ms}, if this machine has not been booted since;
     * else HF_FOREVER. */
    uint64_t age_ms;
};

/* False if ${payload} is none of ours, or names no process. */
bool hf_owner_parse(const char *payload, uint64_t now_ms,
                    struct hf_owner *owner);

#endif
