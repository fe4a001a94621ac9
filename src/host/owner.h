/* SPDX-License-Identifier: Apache-2.0 */
/* What a ticket says of its owner, for people who wait behind it. */
#ifndef HF_HOST_OWNER_H
#define HF_HOST_OWNER_H

#include <stdint.h>

#include "core/ticket.h"

/* Write "host=... pid=... command=... since=..." to ${payload}.  Values are
 * percent-encoded outside [A-Za-z0-9._-]; since is ${now_ms} on CLOCK_BOOTTIME
 * and, after '@', the first eight digits of the boot it counts from. */
void hf_owner_describe(char payload[HF_PAYLOAD_BYTES], uint64_t now_ms);

#endif
