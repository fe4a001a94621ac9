/* SPDX-License-Identifier: Apache-2.0 */
#include "grpc/response.h"

#include <stdio.h>
#include <string.h>

/* Codes of RST_STREAM: RFC 9113, section 7. */
enum http2_error {
    HTTP2_NO_ERROR = 0,
    HTTP2_REFUSED_STREAM = 7,
    HTTP2_CANCEL = 8,
    HTTP2_ENHANCE_YOUR_CALM = 11,
    HTTP2_INADEQUATE_SECURITY = 12,
};

/* --------------------------------------------------------------- headers -- */

static bool is_named(const struct hf_grpc_header *header, const char *name)
{
    return header->name_bytes == strlen(name) &&
           memcmp(header->name, name, header->name_bytes) == 0;
}

/* Return the value as a decimal number of at most four digits; 10000 if it is
 * no such number. */
static unsigned number_of(const struct hf_grpc_header *header)
{
    unsigned number = 0;

    if (header->value_bytes == 0 || header->value_bytes > 4)
        return 10000;
    for (size_t i = 0; i < header->value_bytes; i++) {
        if (header->value[i] < '0' || header->value[i] > '9')
            return 10000;
        number = number * 10 + (unsigned)(header->value[i] - '0');
    }
    return number;
}

/* The value of a hexadecimal digit, or -1. */
static int hex_value(char digit)
{
    static const char digits[] = "0123456789abcdef";
    const char *found;

    if (digit >= 'A' && digit <= 'F')
        digit = (char)(digit - 'A' + 'a');
    found = digit != '\0' ? strchr(digits, digit) : NULL;
    return found != NULL ? (int)(found - digits) : -1;
}

/* Copy a text in which "%41" stands for the byte 0x41.  A '%' without two
 * digits is copied as it is; a zero byte becomes '?'. */
static void decode_text(char text[HF_GRPC_TEXT_BYTES],
                        const struct hf_grpc_header *header)
{
    size_t used = 0;
    size_t i = 0;

    while (i < header->value_bytes && used < HF_GRPC_TEXT_BYTES - 1) {
        const char *at = header->value + i;
        char byte = *at;

        i++;
        if (byte == '%' && i + 2 <= header->value_bytes &&
            hex_value(at[1]) >= 0 && hex_value(at[2]) >= 0) {
            byte = (char)(hex_value(at[1]) * 16 + hex_value(at[2]));
            i += 2;
        }
        text[used++] = (char)(byte != '\0' ? byte : '?');
    }
    text[used] = '\0';
}

void hf_grpc_response_header(struct hf_grpc_response *response,
                             const struct hf_grpc_header *header)
{
    static const char grpc[] = "application/grpc";

    response->header_bytes += header->name_bytes + header->value_bytes;
    if (is_named(header, ":status")) {
        response->http_status = number_of(header);
        /* 1xx: the final response follows. */
        if (response->http_status < 200)
            response->http_status = 0;
    } else if (is_named(header, "content-type")) {
        response->is_grpc = header->value_bytes >= sizeof grpc - 1 &&
                            memcmp(header->value, grpc, sizeof grpc - 1) == 0;
    } else if (is_named(header, "grpc-status")) {
        unsigned number = number_of(header);

        response->has_status = true;
        response->status = number <= HF_GRPC_UNAUTHENTICATED
                               ? (enum hf_grpc_status)number
                               : HF_GRPC_UNKNOWN;
    } else if (is_named(header, "grpc-message")) {
        decode_text(response->text, header);
    }
}

bool hf_grpc_response_has_messages(const struct hf_grpc_response *response)
{
    return response->http_status == 200 && response->is_grpc;
}

/* ---------------------------------------------------------------- result -- */

static enum hf_grpc_status status_of_http(unsigned http_status)
{
    switch (http_status) {
    case 400:
        return HF_GRPC_INTERNAL;
    case 401:
        return HF_GRPC_UNAUTHENTICATED;
    case 403:
        return HF_GRPC_PERMISSION_DENIED;
    case 404:
        return HF_GRPC_UNIMPLEMENTED;
    case 429:
    case 502:
    case 503:
    case 504:
        return HF_GRPC_UNAVAILABLE;
    default:
        return HF_GRPC_UNKNOWN;
    }
}

static enum hf_grpc_status status_of_reset(uint32_t http2_error)
{
    switch (http2_error) {
    case HTTP2_REFUSED_STREAM:
        return HF_GRPC_UNAVAILABLE;
    case HTTP2_CANCEL:
        return HF_GRPC_CANCELLED;
    case HTTP2_ENHANCE_YOUR_CALM:
        /* gRPC maps this to RESOURCE_EXHAUSTED.  But that is the status of a
         * call that has reached a server, while this error may come from a
         * proxy. */
        return HF_GRPC_UNAVAILABLE;
    case HTTP2_INADEQUATE_SECURITY:
        return HF_GRPC_PERMISSION_DENIED;
    default:
        return HF_GRPC_INTERNAL;
    }
}

/* Describe a response that is not one of gRPC, or has no grpc-status. */
static void describe_other(const struct hf_grpc_response *response,
                           char text[HF_GRPC_TEXT_BYTES],
                           struct hf_grpc_result *result)
{
    if (response->http_status != 0 && response->http_status != 200) {
        result->status = status_of_http(response->http_status);
        (void)snprintf(text, HF_GRPC_TEXT_BYTES,
                       "the server answered with HTTP status %u; expected an "
                       "answer of gRPC",
                       response->http_status);
        return;
    }
    result->status = HF_GRPC_UNKNOWN;
    (void)snprintf(text, HF_GRPC_TEXT_BYTES,
                   response->http_status == 200 && !response->is_grpc
                       ? "the server's answer is none of gRPC; expected the "
                         "content-type application/grpc"
                       : "the server ended the call without a grpc-status");
}

void hf_grpc_response_result(const struct hf_grpc_response *response,
                             uint32_t http2_error,
                             char text[HF_GRPC_TEXT_BYTES],
                             struct hf_grpc_result *result)
{
    *result = (struct hf_grpc_result){.text = text};
    if (http2_error != HTTP2_NO_ERROR) {
        result->status = status_of_reset(http2_error);
        result->unprocessed = http2_error == HTTP2_REFUSED_STREAM;
        (void)snprintf(text, HF_GRPC_TEXT_BYTES,
                       "the stream was reset with HTTP/2's error %u",
                       (unsigned)http2_error);
    } else if (response->has_status) {
        result->status = response->status;
        result->text = response->text;
        result->answered = true;
    } else {
        describe_other(response, text, result);
    }
}
