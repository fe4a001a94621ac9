/* SPDX-License-Identifier: Apache-2.0 */
#include "grpc/grpc_connection.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/list.h"

void hf_grpc_fail(struct hf_grpc *grpc, const char *format, ...)
{
    va_list arguments;

    if (grpc->state == HF_GRPC_FAILED)
        return;
    grpc->state = HF_GRPC_FAILED;
    va_start(arguments, format);
    (void)vsnprintf(grpc->failure, sizeof grpc->failure, format, arguments);
    va_end(arguments);
}

void hf_grpc_add_call(struct hf_grpc *grpc, struct hf_grpc_stream *stream)
{
    struct hf_grpc_call *call = stream->call;

    assert(call->grpc == NULL);
    call->grpc = grpc;
    call->stream = stream;
    HF_LIST_APPEND(grpc, call);
    grpc->calls++;
}

void hf_grpc_remove_call(struct hf_grpc *grpc, struct hf_grpc_stream *stream)
{
    struct hf_grpc_call *call = stream->call;

    assert(call->grpc == grpc && call->stream == stream && grpc->calls > 0);
    HF_LIST_REMOVE(grpc, call);
    grpc->calls--;
    call->grpc = NULL;
    call->stream = NULL;
    hf_grpc_stream_free(stream, &grpc->limits, &grpc->waiting);
}

bool hf_grpc_first_message_left(const struct hf_grpc *grpc,
                                const struct hf_grpc_stream *stream)
{
    return stream->before_first_end != UINT64_MAX &&
           grpc->taken > stream->before_first_end;
}

void hf_grpc_end_call(struct hf_grpc *grpc, struct hf_grpc_stream *stream,
                      const struct hf_grpc_result *result)
{
    struct hf_grpc_call *call = stream->call;
    struct hf_grpc_result complete = *result;
    char text[HF_GRPC_TEXT_BYTES];

    assert(grpc->entered > 0);
    if (!complete.answered && !hf_grpc_first_message_left(grpc, stream))
        complete.unprocessed = true;
    /* Copied, because the text may belong to the stream, which is freed below.
     */
    (void)snprintf(text, sizeof text, "%s", complete.text);
    complete.text = text;
    hf_grpc_remove_call(grpc, stream);
    call->ops->ended(call, &complete);
}
