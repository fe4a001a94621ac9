/* SPDX-License-Identifier: Apache-2.0 */
/* The TLS of one link: a filter, and what it wants to have sent. */
#ifndef HF_TRANSPORT_TLS_STREAM_H
#define HF_TRANSPORT_TLS_STREAM_H

#include "transport/tls.h"

#define HF_TLS_RECORD_BYTES 16384 /* of a TLS record: RFC 8446, 5.1 */

struct hf_tls_stream {
    const struct hf_tls_ops *ops;
    struct hf_tls *tls;
    /* Ciphertext that the socket had no room for yet. */
    char out[HF_TLS_RECORD_BYTES];
    size_t out_count;
    size_t out_sent;
    char in[HF_TLS_RECORD_BYTES]; /* plaintext */
};

/* NULL for lack of memory. */
struct hf_tls_stream *hf_tls_stream_new(const struct hf_tls_ops *ops,
                                        struct hf_tls_context *context,
                                        const char *host);
void hf_tls_stream_free(struct hf_tls_stream *stream); /* NULL is fine */

/* Send what there is to send; false, with errno, if the connection is broken.
 * Afterwards hf_tls_stream_blocked() tells whether some of it is left. */
bool hf_tls_stream_flush(struct hf_tls_stream *stream, int fd);
bool hf_tls_stream_blocked(const struct hf_tls_stream *stream);

/* Say as much of ${bytes} as can be sent now, and set ${taken} to how much that
 * was.  No more than one record is ever kept back.  HF_TLS_MORE: the connection
 * is broken, see errno. */
enum hf_tls_result hf_tls_stream_send(struct hf_tls_stream *stream, int fd,
                                      const char *bytes, size_t count,
                                      size_t *taken);

#endif
