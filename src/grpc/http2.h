/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nghttp2 asks for, and what it reports: the callbacks of its session.
 *
 * nghttp2 keeps a pointer to the stream of a call with its own stream.  The
 * pointer is cleared when the call ends, so nghttp2 may go on with a stream
 * that is not a call of ours any more.
 */
#ifndef HF_GRPC_HTTP2_H
#define HF_GRPC_HTTP2_H

#include "grpc/grpc_connection.h"

/* Create .http2, and write the settings.  False for lack of memory. */
bool hf_grpc_http2_new(struct hf_grpc *grpc);

/* Submit the headers of ${stream}.  False for lack of memory.  The connection
 * must take calls.  It takes no more of them if ${stream} gets its last number
 * for a stream. */
bool hf_grpc_http2_submit(struct hf_grpc *grpc, struct hf_grpc_stream *stream,
                          const char *method,
                          const struct hf_grpc_metadata *metadata);

/* To be called before nghttp2 writes: adds the acknowledgement of a ping that
 * waits for other frames to go out with. */
void hf_grpc_http2_prepare_output(struct hf_grpc *grpc);

/* ${stream} has a message again: nghttp2 is to ask for its bytes. */
void hf_grpc_http2_resume(struct hf_grpc *grpc, struct hf_grpc_stream *stream);

/* Take ${stream} away from nghttp2, and reset it with ${error}.  With
 * NGHTTP2_NO_ERROR the server has ended the stream, so it is reset only if we
 * have not ended it.  Nothing is sent if the connection has failed. */
void hf_grpc_http2_forget(struct hf_grpc *grpc, struct hf_grpc_stream *stream,
                          uint32_t error);

/* Fail the connection with the text of ${error}, which nghttp2 returned. */
void hf_grpc_http2_failed(struct hf_grpc *grpc, ssize_t error);

/* Fail the connection if it has ended: nghttp2 wants neither to read nor to
 * write. */
void hf_grpc_http2_check(struct hf_grpc *grpc);

#endif
