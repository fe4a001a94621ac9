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
    struct hf_tls *tls; /* its filter */
    /* Ciphertext that the socket had no room for. */
    char out[HF_TLS_RECORD_BYTES];
    size_t out_count;
    size_t out_sent;
    char in[HF_TLS_RECORD_BYTES]; /* plaintext that was read */
};

/* Make the filter for a connection to ${host} with ${protocol} (NULL: any), as
 * .open of struct hf_tls_ops does.  Returns NULL for lack of memory, or if
 * .open does. */
struct hf_tls_stream *hf_tls_stream_new(const struct hf_tls_ops *ops,
                                        struct hf_tls_context *context,
                                        const char *host, const char *protocol);
void hf_tls_stream_free(struct hf_tls_stream *stream); /* NULL is allowed */

/* Send the ciphertext that is ready.  Returns false, with errno set, if the
 * connection is broken; otherwise hf_tls_stream_blocked() says whether some
 * ciphertext is left. */
bool hf_tls_stream_flush(struct hf_tls_stream *stream, int fd);
bool hf_tls_stream_blocked(const struct hf_tls_stream *stream);

/* Encrypt and send ${bytes} until the socket takes no more, and set ${taken} to
 * the number of bytes that were encrypted.  The last of them, one record at
 * most, may be kept here until the next flush.  Returns DONE, also if only some
 * bytes were encrypted; MORE if the connection is broken, with errno set;
 * FAILED if TLS has failed: see .why of ${stream}->ops. */
enum hf_tls_result hf_tls_stream_send(struct hf_tls_stream *stream, int fd,
                                      const char *bytes, size_t count,
                                      size_t *taken);

#endif
