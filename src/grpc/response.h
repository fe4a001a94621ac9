/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the server has sent in headers and trailers, and how the call has ended
 * by that: the tables of https://github.com/grpc/grpc, doc/PROTOCOL-HTTP2.md
 * and doc/http-grpc-status-mapping.md.
 */
#ifndef HF_GRPC_RESPONSE_H
#define HF_GRPC_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "grpc/grpc.h"

/* Room for a text and a NUL.  Longer texts are cut. */
#define HF_GRPC_TEXT_BYTES 256

/* A header or trailer. */
struct hf_grpc_header {
    const char *name;
    size_t name_bytes;
    const char *value;
    size_t value_bytes;
};

/* All bytes zero at first. */
struct hf_grpc_response {
    unsigned http_status; /* 0: not known yet */
    bool is_grpc;         /* its content-type is that of gRPC */
    bool has_status;      /* there was a grpc-status */
    enum hf_grpc_status status;
    size_t header_bytes;           /* bytes of all headers so far */
    char text[HF_GRPC_TEXT_BYTES]; /* grpc-message; "": none */
};

/* Take a header. */
void hf_grpc_response_header(struct hf_grpc_response *response,
                             const struct hf_grpc_header *header);

/* Does the body of the response consist of messages?  Known when it begins. */
bool hf_grpc_response_has_messages(const struct hf_grpc_response *response);

/* Set ${result} to how the call ended.  The stream was closed with
 * ${http2_error}; 0: without an error.  The text of ${result} is in ${response}
 * or in ${text}. */
void hf_grpc_response_result(const struct hf_grpc_response *response,
                             uint32_t http2_error,
                             char text[HF_GRPC_TEXT_BYTES],
                             struct hf_grpc_result *result);

#endif
