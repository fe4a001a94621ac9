/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of the probe, and how a TLS record begins. */
#include "engines/redis/tls_probe.h"

#define DOTS_48 "................................................"

/* A handshake record of 0x0101 bytes with a message of type 'h', which does not
 * exist. */
const char hf_redis_tls_probe[] =
    "\x16\x03\x01\x01\x01"
    "holdfast: TLS? " DOTS_48 DOTS_48 DOTS_48 DOTS_48 DOTS_48 "\r\n";

_Static_assert(sizeof hf_redis_tls_probe - 1 == HF_REDIS_TLS_PROBE_BYTES,
               "the record is as long as its header says");

#define ALERT 0x15
#define HANDSHAKE 0x16
#define VERSION_MAJOR 0x03

bool hf_redis_is_tls_record(const void *bytes, size_t count)
{
    const unsigned char *at = bytes;

    return (at[0] == ALERT || at[0] == HANDSHAKE) &&
           (count < 2 || at[1] == VERSION_MAJOR);
}
