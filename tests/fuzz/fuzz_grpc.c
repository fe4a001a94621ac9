/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as what a server of gRPC sends, and any calls.  The input is a list
 * of steps: a frame whose header is in order, bytes as they are, or something
 * that the user does.  Each call must end once, no call may end after it was
 * cancelled, and the memory has a bound whatever the server sends. */
#include <string.h>

#include "base/memory.h"
#include "fuzz.h"
#include "grpc/grpc.h"
#include "heap/heap.h"

#define CALLS 4
#define MESSAGE_BYTES ((size_t)64 * 1024)
#define WAITING_BYTES ((size_t)64 * 1024)
/* Both, what is written and not taken, and what nghttp2 has. */
#define MEMORY_BYTES ((long)2 * 1024 * 1024)

/* ---------------------------------------------------------------- caller -- */

struct caller {
    struct hf_grpc_call call;
    enum { IDLE, RUNNING } state;
    bool cancels; /* at the next message */
};

static struct hf_grpc *grpc;
static struct caller callers[CALLS];

static void start(struct caller *caller, uint8_t choice)
{
    static const struct hf_grpc_metadata metadata = {"token", true};
    hf_status status;

    if (caller->state != IDLE)
        return;
    status = hf_grpc_start(grpc, &caller->call, "/a.B/C",
                           choice % 2 == 0 ? &metadata : NULL);
    MUST((status == HF_OK) == hf_grpc_running(&caller->call));
    if (status != HF_OK)
        return;
    caller->state = RUNNING;
    caller->cancels = choice % 8 == 3;
    if (choice % 4 < 2)
        (void)hf_grpc_send(grpc, &caller->call, "request", 7, true);
}

static void on_message(struct hf_grpc_call *call, const void *bytes,
                       size_t count)
{
    struct caller *caller = call->user;
    uint8_t sum = 0;

    MUST(caller->state == RUNNING && count <= MESSAGE_BYTES);
    for (size_t i = 0; i < count; i++)
        sum = (uint8_t)(sum + ((const uint8_t *)bytes)[i]);
    if (!caller->cancels || sum % 2 != 0)
        return;
    caller->state = IDLE;
    hf_grpc_cancel(grpc, call);
}

static void on_ended(struct hf_grpc_call *call,
                     const struct hf_grpc_result *result)
{
    struct caller *caller = call->user;

    MUST(caller->state == RUNNING && result->text != NULL);
    MUST(result->status <= HF_GRPC_UNAUTHENTICATED);
    MUST(!result->answered || !result->unprocessed);
    MUST(result->status != HF_GRPC_OK || result->answered);
    caller->state = IDLE;
    if (strlen(result->text) % 3 == 1)
        start(caller, 0);
}

static const struct hf_grpc_call_ops ops = {on_message, on_ended};

/* ----------------------------------------------------------------- steps -- */

struct input {
    const uint8_t *bytes;
    size_t left;
};

static uint8_t next(struct input *input)
{
    if (input->left == 0)
        return 0;
    input->left--;
    return *input->bytes++;
}

/* Up to ${count} bytes. */
static const uint8_t *take(struct input *input, size_t *count)
{
    const uint8_t *bytes = input->bytes;

    if (*count > input->left)
        *count = input->left;
    input->bytes += *count;
    input->left -= *count;
    return bytes;
}

/* A copy of exactly that size, so that a sanitizer sees reads behind it. */
static void receive(const uint8_t *bytes, size_t count)
{
    char *copy = fuzz_text(bytes, count);
    bool good = hf_grpc_receive(grpc, copy, count);

    free(copy);
    MUST(good == (hf_grpc_failure(grpc) == NULL));
}

/* The header of a frame, and what follows in the input. */
static void receive_frame(struct input *input)
{
    uint8_t type = next(input);
    uint8_t flags = next(input);
    uint8_t id = next(input);
    size_t count = next(input);
    const uint8_t *payload = take(input, &count);
    const uint8_t header[9] = {0, 0, (uint8_t)count, type, flags, 0, 0, 0, id};

    receive(header, sizeof header);
    if (hf_grpc_failure(grpc) == NULL)
        receive(payload, count);
}

/* A frame of DATA with more bytes than the input has. */
static void receive_data(struct input *input)
{
    static uint8_t bytes[9 + 16384] = {0, 0x40, 0};

    bytes[4] = 0;
    bytes[8] = next(input);
    memset(bytes + 9, next(input), 16384);
    receive(bytes, sizeof bytes);
}

static void send_output(struct input *input)
{
    size_t count;
    const void *bytes = hf_grpc_output(grpc, &count);
    size_t part = next(input) * (size_t)300;

    MUST(count == 0 || bytes != NULL);
    hf_grpc_written(grpc, part < count ? part : count);
}

static void use(struct input *input)
{
    uint8_t choice = next(input);
    struct caller *caller = &callers[choice % CALLS];

    choice /= CALLS;
    if (caller->state == IDLE) {
        start(caller, choice);
    } else if (choice % 2 == 0) {
        caller->state = IDLE;
        hf_grpc_cancel(grpc, &caller->call);
    } else {
        (void)hf_grpc_sent(&caller->call);
    }
}

static void step(struct input *input)
{
    size_t count;
    const uint8_t *bytes;

    switch (next(input) % 8) {
    case 0:
    case 1:
    case 2:
        receive_frame(input);
        return;
    case 3:
        count = next(input);
        bytes = take(input, &count);
        receive(bytes, count);
        return;
    case 4:
        receive_data(input);
        return;
    case 5:
        send_output(input);
        return;
    default:
        use(input);
    }
}

static void check(void)
{
    size_t running = 0;

    for (size_t i = 0; i < CALLS; i++)
        running += hf_grpc_running(&callers[i].call) ? 1 : 0;
    MUST(running == hf_grpc_calls(grpc));
    MUST(heap_bytes() < MEMORY_BYTES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const struct hf_grpc_config config = {
        .authority = "server:2379",
        .message_bytes = MESSAGE_BYTES,
        .waiting_bytes = WAITING_BYTES,
        .calls = CALLS,
    };
    struct input input = {data, bytes};

    heap_install();
    grpc = hf_grpc_new(&config);
    MUST(grpc != NULL);
    for (size_t i = 0; i < CALLS; i++) {
        callers[i] = (struct caller){.call = {.ops = &ops}};
        callers[i].call.user = &callers[i];
        start(&callers[i], (uint8_t)i);
    }
    while (input.left > 0 && hf_grpc_failure(grpc) == NULL) {
        step(&input);
        check();
    }
    hf_grpc_free(grpc);
    for (size_t i = 0; i < CALLS; i++)
        MUST(callers[i].state == IDLE);
    MUST(heap_live() == 0);
    return 0;
}
