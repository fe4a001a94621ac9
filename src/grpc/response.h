/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the server said of a call in headers and trailers, and how the call
 * ended by that: the tables of https://github.com/grpc/grpc,
 * doc/PROTOCOL-HTTP2.md and doc/http-grpc-status-mapping.md.
 */
#ifndef HF_GRPC_RESPONSE_H
#define HF_GRPC_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "grpc/grpc.h"

/* Room for a text, with a NUL; a longer text is cut. */
#define HF_GRPC_TEXT_BYTES 256

/* A header or trailer. */
struct hf_grpc_header {
    const char *name;
    size_t name_bytes;
    const char *value;
    size_t value_bytes;
};

/* Zeros at first. */
struct hf_grpc_response {
    unsigned http_status; /* 0: not known yet */
    bool is_grpc;         /* by its content-type */
    bool has_status;      /* there was a grpc-status */
    enum hf_grpc_status status;
    size_t header_bytes;           /* of all headers so far */
    char text[HF_GRPC_TEXT_BYTES]; /* grpc-message; "": none */
};

/* Take a header. */
void hf_grpc_response_header(struct hf_grpc_response *response,
                             const struct hf_grpc_header *header);

/* Is the body of the response one of messages?  Known once it begins. */
bool hf_grpc_response_has_messages(const struct hf_grpc_response *response);

/* How the call ended: the stream was closed with ${http2_error}, 0 for none.
 * ${result}'s text is in ${response} or in ${text}. */
void hf_grpc_response_result(const struct hf_grpc_response *response,
                             uint32_t http2_error,
                             char text[HF_GRPC_TEXT_BYTES],
                             struct hf_grpc_result *result);

#endif
