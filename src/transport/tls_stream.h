/* SPDX-License-Identifier: Apache-2.0 */
/* The TLS filter of one connection, together with the ciphertext that the
 * socket did not take yet. */
#ifndef HF_TRANSPORT_TLS_STREAM_H
#define HF_TRANSPORT_TLS_STREAM_H

#include "transport/tls.h"

#define HF_TLS_RECORD_BYTES 16384 /* the largest TLS record: RFC 8446, 5.1 */

/* Used by connection.c only. */
struct hf_tls_stream {
    const struct hf_tls_ops *ops;
    struct hf_tls *tls; /* the filter */
    /* Ciphertext that the socket had no room for. */
    char out[HF_TLS_RECORD_BYTES];
    size_t out_count;
    size_t out_sent;
    char in[HF_TLS_RECORD_BYTES]; /* plaintext that was read */
};

/* Make the filter for a connection to ${host} that speaks ${protocol}, or NULL:
 * see .open of struct hf_tls_ops.  NULL for lack of memory, or as there. */
struct hf_tls_stream *hf_tls_stream_new(const struct hf_tls_ops *ops,
                                        struct hf_tls_context *context,
                                        const char *host, const char *protocol);
void hf_tls_stream_free(struct hf_tls_stream *stream); /* NULL is allowed */

/* Send the ciphertext that is ready.  False, with errno set, if the connection
 * is broken.  hf_tls_stream_blocked() then says whether some is left. */
bool hf_tls_stream_flush(struct hf_tls_stream *stream, int fd);
bool hf_tls_stream_blocked(const struct hf_tls_stream *stream);

/* Encrypt and send ${bytes} until the socket takes no more, and set ${taken} to
 * how many were encrypted.  The end of them, one record at most, may be kept
 * here until the next flush.  DONE, also if only some were encrypted; MORE: the
 * connection is broken, see errno; FAILED: see .why of ${stream}->ops. */
enum hf_tls_result hf_tls_stream_send(struct hf_tls_stream *stream, int fd,
                                      const char *bytes, size_t count,
                                      size_t *taken);

#endif
