/* SPDX-License-Identifier: Apache-2.0 */
/* Does a port speak TLS?  A Redis server for TLS closes a connection without
 * TLS silently, as a server that is being stopped does.  A server without TLS
 * does not answer a TLS handshake, as if it were frozen.  So if a server does
 * either, and no link to it was ever up, it is probed once.  The next
 * connection begins without TLS with bytes that are a TLS record for one kind
 * of server and a line for the other.  A server for TLS answers with an alert,
 * one without TLS with "-ERR unknown command".  The bytes hold no secret. */
#ifndef HF_ENGINES_REDIS_TLS_PROBE_H
#define HF_ENGINES_REDIS_TLS_PROBE_H

#include <stdbool.h>
#include <stddef.h>

/* What is known about TLS on the server's port. */
enum hf_redis_tls_probe {
    HF_REDIS_TLS_NOT_PROBED,
    HF_REDIS_TLS_PROBE_NEXT, /* on the next connection */
    HF_REDIS_TLS_PROBING,    /* the probe was sent */
    HF_REDIS_TLS_KNOWN,      /* probed, or known without */
};

/* A header of 5 bytes and a record of 257.  No byte of the length is 0, because
 * for Redis a line ends at the first 0. */
#define HF_REDIS_TLS_PROBE_BYTES 262

extern const char hf_redis_tls_probe[];

/* Are the first ${count} > 0 bytes from the server, received without TLS, those
 * of a TLS record with an alert or a handshake (RFC 8446, 5.1)?  No reply of
 * Redis begins like that, so one byte is enough. */
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
