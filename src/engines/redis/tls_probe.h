/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does the port at the other end speak TLS?  A Redis for TLS closes a
 * connection without it in silence, as one that is being stopped does; and a
 * Redis without TLS does not answer a TLS handshake, as if it were frozen.  So,
 * before there ever was a link, a server that does either is asked once: the
 * next connection begins, in plain, with bytes that are a TLS record for the
 * one and a line for the other.  A server for TLS answers with an alert, and
 * one without TLS with "-ERR unknown command".  They hold no secret.
 */
#ifndef HF_ENGINES_REDIS_TLS_PROBE_H
#define HF_ENGINES_REDIS_TLS_PROBE_H

#include <stdbool.h>
#include <stddef.h>

enum hf_redis_tls_probe {
    HF_REDIS_TLS_NOT_PROBED,
    HF_REDIS_TLS_PROBE_NEXT, /* on the next connection */
    HF_REDIS_TLS_PROBING,
    HF_REDIS_TLS_KNOWN, /* or known without */
};

/* A header of 5 bytes and a record of 257, a length whose bytes are not 0: for
 * Redis a line ends at the first byte of 0. */
#define HF_REDIS_TLS_PROBE_BYTES 262

extern const char hf_redis_tls_probe[];

/* Are the first ${count} > 0 bytes of an answer, in plain, those of a TLS
 * record with an alert or a handshake (RFC 8446, 5.1)?  No answer of Redis
 * begins so, and one byte is enough to tell. */
bool hf_redis_is_tls_record(const void *bytes, size_t count);

#define HF_REDIS_SPEAKS_TLS                                                    \
    "the server speaks TLS on this port; expected rediss: for it, or its "     \
    "port "                                                                    \
    "without TLS"
#define HF_REDIS_SPEAKS_NO_TLS                                                 \
    "the server does not speak TLS on this port; expected redis: for it, or "  \
    "its port for TLS"
#define HF_REDIS_CLOSED_SILENTLY                                               \
    "closed by the server before its first answer; its port may be one for "   \
    "TLS (rediss:)"
#define HF_REDIS_TLS_ANSWER                                                    \
    "answer to the TLS handshake, as by a port without TLS,"

#endif
