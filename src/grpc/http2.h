/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nghttp2 asks for, and what it reports: the callbacks of its session.
 *
 * nghttp2 keeps a pointer to the stream of a call with its own stream.  It is
 * taken away when the call ends, so that nghttp2 may go on with a stream that
 * is no more a call of ours.
 */
#ifndef HF_GRPC_HTTP2_H
#define HF_GRPC_HTTP2_H

#include "grpc/grpc_connection.h"

/* Create .http2, and write the settings.  False for lack of memory. */
bool hf_grpc_http2_new(struct hf_grpc *grpc);

/* Submit the headers of ${stream}.  False for lack of memory. */
bool hf_grpc_http2_submit(struct hf_grpc *grpc, struct hf_grpc_stream *stream,
                          const char *method,
                          const struct hf_grpc_metadata *metadata);

/* To be called before nghttp2 writes: what goes out with other frames only. */
void hf_grpc_http2_prepare_output(struct hf_grpc *grpc);

/* ${stream} has a message again: have nghttp2 ask for it. */
void hf_grpc_http2_resume(struct hf_grpc *grpc, struct hf_grpc_stream *stream);

/* Take ${stream} away from nghttp2, and end its stream with the ${error} of
 * RST_STREAM.  NGHTTP2_NO_ERROR: the server has ended it, so this is needed
 * only if we have not. */
void hf_grpc_http2_forget(struct hf_grpc *grpc, struct hf_grpc_stream *stream,
                          uint32_t error);

/* The text of ${error}, which nghttp2 returned; fails the connection. */
void hf_grpc_http2_failed(struct hf_grpc *grpc, ssize_t error);

/* Fail the connection if it has ended. */
void hf_grpc_http2_check(struct hf_grpc *grpc);

#endif
