/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of src/grpc/grpc.h on the frames of etcd_frame.c, so that the
 * real session runs on simulated connections without HTTP/2. */
#include "grpc/grpc.h"
#include "simulator/model/etcd_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES 256

/* What a call is on this connection. */
struct stream {
    uint32_t number;
    bool has_message;
    uint64_t message_end; /* of the first one, in the bytes of the connection */
};

struct hf_grpc {
    struct hf_grpc_config config;
    struct hf_grpc_call *first;
    uint32_t last_number;
    size_t count;
    struct etcd_writer output;
    uint64_t written; /* bytes that were taken so far */
    struct etcd_writer received;
    const char *failure;
    bool going_away;
    bool freed;
    bool in_callback;
};

struct hf_grpc *hf_grpc_new(const struct hf_grpc_config *config)
{
    struct hf_grpc *grpc = sim_require_memory(calloc(1, sizeof *grpc));

    grpc->config = *config;
    return grpc;
}

/* ----------------------------------------------------------------- calls -- */

static struct stream *stream_of(const struct hf_grpc_call *call)
{
    return call->stream;
}

bool hf_grpc_running(const struct hf_grpc_call *call)
{
    return call->grpc != NULL;
}

bool hf_grpc_sent(const struct hf_grpc_call *call)
{
    const struct stream *stream = stream_of(call);

    return stream != NULL && stream->has_message &&
           call->grpc->written >= stream->message_end;
}

static void unlink_call(struct hf_grpc *grpc, struct hf_grpc_call *call)
{
    if (call->previous != NULL)
        call->previous->next = call->next;
    else
        grpc->first = call->next;
    if (call->next != NULL)
        call->next->previous = call->previous;
    free(call->stream);
    call->previous = call->next = NULL;
    call->stream = NULL;
    call->grpc = NULL;
    grpc->count--;
}

static void end(struct hf_grpc *grpc, struct hf_grpc_call *call,
                struct hf_grpc_result *result)
{
    result->unprocessed |= !result->answered && !hf_grpc_sent(call);
    unlink_call(grpc, call);
    grpc->in_callback = true;
    call->ops->ended(call, result);
    grpc->in_callback = false;
}

static void end_all(struct hf_grpc *grpc, const char *text)
{
    while (grpc->first != NULL) {
        struct hf_grpc_result result = {.status = HF_GRPC_UNAVAILABLE,
                                        .text = text};

        end(grpc, grpc->first, &result);
    }
}

void hf_grpc_free(struct hf_grpc *grpc)
{
    if (grpc == NULL)
        return;
    assert(!grpc->in_callback);
    grpc->freed = true;
    end_all(grpc,
            grpc->failure != NULL ? grpc->failure : "the connection has ended");
    etcd_writer_free(&grpc->output);
    etcd_writer_free(&grpc->received);
    free(grpc);
}

static void write_frame(struct hf_grpc *grpc, enum etcd_frame_kind kind,
                        uint8_t flags, uint32_t call, struct etcd_bytes bytes)
{
    struct etcd_frame frame = {kind, flags, call, bytes};

    etcd_frame_write(&grpc->output, &frame);
}

/* The method, a zero, and the token. */
static void write_start(struct hf_grpc *grpc, uint32_t number,
                        const char *method,
                        const struct hf_grpc_metadata *metadata)
{
    const char *token =
        metadata == NULL || metadata->token == NULL ? "" : metadata->token;
    struct etcd_writer bytes = {0};

    etcd_put_raw(&bytes, (struct etcd_bytes){(const uint8_t *)method,
                                             strlen(method) + 1});
    etcd_put_raw(&bytes, etcd_text(token));
    write_frame(grpc, ETCD_FRAME_START, metadata != NULL && metadata->hasleader,
                number, etcd_written(&bytes));
    etcd_writer_free(&bytes);
}

hf_status hf_grpc_start(struct hf_grpc *grpc, struct hf_grpc_call *call,
                        const char *method,
                        const struct hf_grpc_metadata *metadata)
{
    struct stream *stream;

    assert(!hf_grpc_running(call) && call->ops != NULL);
    if (grpc->freed || grpc->failure != NULL || grpc->going_away)
        return HF_EUNREACHABLE;
    if (grpc->count >= grpc->config.calls)
        return HF_ELIMIT;
    stream = sim_require_memory(calloc(1, sizeof *stream));
    stream->number = ++grpc->last_number;
    call->grpc = grpc;
    call->stream = stream;
    call->previous = NULL;
    call->next = grpc->first;
    if (grpc->first != NULL)
        grpc->first->previous = call;
    grpc->first = call;
    grpc->count++;
    write_start(grpc, stream->number, method, metadata);
    return HF_OK;
}

hf_status hf_grpc_send(struct hf_grpc *grpc, struct hf_grpc_call *call,
                       const void *bytes, size_t count, bool last)
{
    struct stream *stream = stream_of(call);

    assert(hf_grpc_running(call) && call->grpc == grpc);
    if (grpc->output.count + count > grpc->config.waiting_bytes)
        return HF_ELIMIT;
    write_frame(grpc, ETCD_FRAME_MESSAGE, last, stream->number,
                (struct etcd_bytes){bytes, count});
    if (!stream->has_message)
        stream->message_end = grpc->written + grpc->output.count;
    stream->has_message = true;
    return HF_OK;
}

void hf_grpc_cancel(struct hf_grpc *grpc, struct hf_grpc_call *call)
{
    assert(hf_grpc_running(call) && call->grpc == grpc);
    write_frame(grpc, ETCD_FRAME_CANCEL, 0, stream_of(call)->number,
                (struct etcd_bytes){NULL, 0});
    unlink_call(grpc, call);
}

/* -------------------------------------------------------------- received -- */

static struct hf_grpc_call *find(const struct hf_grpc *grpc, uint32_t number)
{
    struct hf_grpc_call *call = grpc->first;

    while (call != NULL && stream_of(call)->number != number)
        call = call->next;
    return call;
}

static void end_by_server(struct hf_grpc *grpc, struct hf_grpc_call *call,
                          const struct etcd_frame *frame)
{
    char text[TEXT_BYTES];
    struct hf_grpc_result result = {
        .status = (enum hf_grpc_status)frame->flags,
        .text = text,
        .answered = true,
    };

    snprintf(text, sizeof text, "%.*s", (int)frame->bytes.count,
             (const char *)frame->bytes.at);
    if (frame->kind == ETCD_FRAME_REFUSED)
        result = (struct hf_grpc_result){.status = HF_GRPC_UNAVAILABLE,
                                         .text = "the stream was refused",
                                         .unprocessed = true};
    end(grpc, call, &result);
}

/* Calls behind the last one that the server has looked at have not happened. */
static void go_away(struct hf_grpc *grpc, uint32_t last)
{
    struct hf_grpc_call *call;

    grpc->going_away = true;
    do {
        struct hf_grpc_result result = {.status = HF_GRPC_UNAVAILABLE,
                                        .text = "the server goes away",
                                        .unprocessed = true};

        for (call = grpc->first;
             call != NULL && stream_of(call)->number <= last;)
            call = call->next;
        if (call != NULL)
            end(grpc, call, &result);
    } while (call != NULL);
}

static void handle(struct hf_grpc *grpc, const struct etcd_frame *frame)
{
    struct hf_grpc_call *call = find(grpc, frame->call);

    if (frame->kind == ETCD_FRAME_GOAWAY) {
        go_away(grpc, frame->call);
    } else if (call == NULL) {
        return; /* it was cancelled */
    } else if (frame->kind == ETCD_FRAME_MESSAGE) {
        grpc->in_callback = true;
        call->ops->message(call, frame->bytes.at, frame->bytes.count);
        grpc->in_callback = false;
    } else {
        end_by_server(grpc, call, frame);
    }
}

bool hf_grpc_receive(struct hf_grpc *grpc, const void *bytes, size_t count)
{
    struct etcd_writer *received = &grpc->received;
    struct etcd_frame frame;
    size_t taken = 0;

    assert(!grpc->in_callback);
    etcd_put_raw(received, (struct etcd_bytes){bytes, count});
    for (;;) {
        int result = etcd_frame_read(
            (struct etcd_bytes){received->at + taken, received->count - taken},
            &frame);

        if (result < 0)
            grpc->failure = "the server sends no frames";
        if (result <= 0)
            break;
        taken += etcd_frame_bytes(&frame);
        handle(grpc, &frame);
    }
    memmove(received->at, received->at + taken, received->count - taken);
    received->count -= taken;
    return grpc->failure == NULL;
}

/* ---------------------------------------------------------------- output -- */

const void *hf_grpc_output(struct hf_grpc *grpc, size_t *count)
{
    assert(!grpc->in_callback);
    *count = grpc->output.count;
    return grpc->output.at;
}

void hf_grpc_written(struct hf_grpc *grpc, size_t count)
{
    struct etcd_writer *output = &grpc->output;

    assert(count <= output->count);
    memmove(output->at, output->at + count, output->count - count);
    output->count -= count;
    grpc->written += count;
}

const char *hf_grpc_failure(const struct hf_grpc *grpc)
{
    return grpc->failure;
}

bool hf_grpc_going_away(const struct hf_grpc *grpc)
{
    return grpc->going_away;
}

size_t hf_grpc_calls(const struct hf_grpc *grpc)
{
    return grpc->count;
}
