/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nghttp2 wants and what it reports: the callbacks of its session.
 *
 * nghttp2's stream of a call has a pointer to our stream.  The pointer is
 * cleared when the call ends, so nghttp2 may go on with a stream whose call has
 * ended.
 */
#ifndef HF_GRPC_HTTP2_H
#define HF_GRPC_HTTP2_H

#include "grpc/grpc_connection.h"

/* Create .http2, and write the settings.  Returns false for lack of memory. */
bool hf_grpc_http2_new(struct hf_grpc *grpc);

/* Submit the headers of ${stream} on a connection that takes calls.  Returns
 * false for lack of memory.  If ${stream} gets the last number of a stream, the
 * connection takes no more calls. */
bool hf_grpc_http2_submit(struct hf_grpc *grpc, struct hf_grpc_stream *stream,
                          const char *method,
                          const struct hf_grpc_metadata *metadata);

/* Call this before nghttp2 writes.  If other frames go out, the acknowledgement
 * of a ping that has waited for them is added. */
void hf_grpc_http2_prepare_output(struct hf_grpc *grpc);

/* A message was queued in ${stream} again: let nghttp2 ask for its bytes. */
void hf_grpc_http2_resume(struct hf_grpc *grpc, struct hf_grpc_stream *stream);

/* Make nghttp2 forget ${stream}, and reset it with ${error}.  NGHTTP2_NO_ERROR
 * means that the server has ended the stream; it is then reset only if we have
 * not ended it ourselves.  If the connection has failed, nothing is sent. */
void hf_grpc_http2_forget(struct hf_grpc *grpc, struct hf_grpc_stream *stream,
                          uint32_t error);

/* Fail the connection because nghttp2 returned ${error}. */
void hf_grpc_http2_failed(struct hf_grpc *grpc, ssize_t error);

/* Fail the connection if it has ended, that is, if nghttp2 wants neither to
 * read nor to write. */
void hf_grpc_http2_check(struct hf_grpc *grpc);

#endif
