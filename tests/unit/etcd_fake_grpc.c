/* SPDX-License-Identifier: Apache-2.0 */
#include "etcd_fake_grpc.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the server does, in order. */
struct action {
    enum { SEND, END, GO_AWAY, BREAK } kind;
    struct hf_grpc_call *call; /* NULL: it does not run any more */
    struct fake_message message;
    struct hf_grpc_result result;
    char text[256];
    struct action *next;
};

struct hf_grpc {
    struct fake_call *calls;
    struct action *actions;
    char failure[256]; /* "": none */
    bool going_away;
    bool hold;
    size_t limit;
};

static struct hf_grpc *current;

struct hf_grpc *fake_grpc(void)
{
    return current;
}

struct fake_call *fake_calls(struct hf_grpc *grpc)
{
    return grpc != NULL ? grpc->calls : NULL;
}

static void *allocate(size_t bytes)
{
    void *memory = calloc(1, bytes);

    if (memory == NULL)
        abort();
    return memory;
}

static struct fake_message copy(const void *bytes, size_t count)
{
    struct fake_message message = {allocate(count + 1), count};

    if (count > 0)
        memcpy(message.bytes, bytes, count);
    return message;
}

/* ------------------------------------------------------- the server's side */

struct fake_message fake_take(struct fake_call *call)
{
    struct fake_message message = call->messages[0];

    assert(call->message_count > 0);
    call->message_count--;
    memmove(call->messages, call->messages + 1,
            call->message_count * sizeof call->messages[0]);
    return message;
}

static struct action *add_action(struct hf_grpc *grpc, struct action action)
{
    struct action *added = allocate(sizeof *added);
    struct action **link = &grpc->actions;

    while (*link != NULL)
        link = &(*link)->next;
    *added = action;
    *link = added;
    return added;
}

void fake_send(struct fake_call *call, const void *bytes, size_t count)
{
    (void)add_action(call->call->grpc,
                     (struct action){.kind = SEND,
                                     .call = call->call,
                                     .message = copy(bytes, count)});
}

void fake_end(struct fake_call *call, const struct hf_grpc_result *result)
{
    struct action *action = add_action(
        call->call->grpc,
        (struct action){.kind = END, .call = call->call, .result = *result});

    (void)snprintf(action->text, sizeof action->text, "%s", result->text);
}

void fake_go_away(struct hf_grpc *grpc)
{
    (void)add_action(grpc, (struct action){.kind = GO_AWAY});
}

void fake_break(struct hf_grpc *grpc, const char *failure)
{
    struct action *action = add_action(grpc, (struct action){.kind = BREAK});

    (void)snprintf(action->text, sizeof action->text, "%s", failure);
}

void fake_hold(struct hf_grpc *grpc, bool hold)
{
    grpc->hold = hold;
    for (struct fake_call *call = grpc->calls; call != NULL && !hold;
         call = call->next)
        call->unsent = false;
}

/* -------------------------------------------------------- the connection -- */

struct hf_grpc *hf_grpc_new(const struct hf_grpc_config *config)
{
    assert(current == NULL && config->authority[0] != '\0');
    current = allocate(sizeof *current);
    current->limit = config->calls;
    return current;
}

/* Take ${call} off the list. */
static void forget(struct hf_grpc_call *call)
{
    struct fake_call **link = &call->grpc->calls;
    struct fake_call *gone;

    for (struct action *a = call->grpc->actions; a != NULL; a = a->next)
        if (a->call == call)
            a->call = NULL;
    while ((*link)->call != call)
        link = &(*link)->next;
    gone = *link;
    *link = gone->next;
    while (gone->message_count > 0)
        free(fake_take(gone).bytes);
    free(gone);
    call->grpc = NULL;
    call->stream = NULL;
}

static void end(struct hf_grpc_call *call, const struct hf_grpc_result *result)
{
    forget(call);
    call->ops->ended(call, result);
}

void hf_grpc_free(struct hf_grpc *grpc)
{
    const struct hf_grpc_result result = {.status = HF_GRPC_UNAVAILABLE,
                                          .text = "freed"};
    struct action *action;

    if (grpc == NULL)
        return;
    while (grpc->calls != NULL)
        end(grpc->calls->call, &result);
    while ((action = grpc->actions) != NULL) {
        grpc->actions = action->next;
        free(action->message.bytes);
        free(action);
    }
    if (grpc == current)
        current = NULL;
    free(grpc);
}

hf_status hf_grpc_start(struct hf_grpc *grpc, struct hf_grpc_call *call,
                        const char *method,
                        const struct hf_grpc_metadata *metadata)
{
    struct fake_call **link = &grpc->calls;
    struct fake_call *added;

    assert(call->grpc == NULL && call->ops != NULL);
    if (grpc->failure[0] != '\0' || grpc->going_away)
        return HF_EUNREACHABLE;
    added = allocate(sizeof *added);
    added->call = call;
    added->method = method;
    added->unsent = grpc->hold;
    if (metadata != NULL && metadata->token != NULL)
        (void)snprintf(added->token, sizeof added->token, "%s",
                       metadata->token);
    added->hasleader = metadata != NULL && metadata->hasleader;
    while (*link != NULL)
        link = &(*link)->next;
    *link = added;
    call->grpc = grpc;
    call->stream = added;
    return HF_OK;
}

hf_status hf_grpc_send(struct hf_grpc *grpc, struct hf_grpc_call *call,
                       const void *bytes, size_t count, bool last)
{
    struct fake_call *fake = call->stream;

    (void)last;
    assert(call->grpc == grpc);
    if (fake->message_count == FAKE_MESSAGES)
        return HF_ELIMIT;
    fake->messages[fake->message_count++] = copy(bytes, count);
    return HF_OK;
}

void hf_grpc_cancel(struct hf_grpc *grpc, struct hf_grpc_call *call)
{
    assert(call->grpc == grpc);
    forget(call);
}

bool hf_grpc_running(const struct hf_grpc_call *call)
{
    return call->grpc != NULL;
}

bool hf_grpc_sent(const struct hf_grpc_call *call)
{
    const struct fake_call *fake = call->stream;

    return !fake->unsent;
}

/* Carry out one thing that the server does. */
static void carry_out(struct hf_grpc *grpc, struct action *action)
{
    struct hf_grpc_call *call = action->call;

    switch (action->kind) {
    case SEND:
        if (call != NULL)
            call->ops->message(call, action->message.bytes,
                               action->message.count);
        break;
    case END:
        action->result.text = action->text;
        if (call != NULL)
            end(call, &action->result);
        break;
    case GO_AWAY:
        grpc->going_away = true;
        break;
    default:
        (void)snprintf(grpc->failure, sizeof grpc->failure, "%s", action->text);
        break;
    }
}

bool hf_grpc_receive(struct hf_grpc *grpc, const void *bytes, size_t count)
{
    struct action *action;

    (void)bytes;
    (void)count;
    while ((action = grpc->actions) != NULL && grpc->failure[0] == '\0') {
        grpc->actions = action->next;
        carry_out(grpc, action);
        free(action->message.bytes);
        free(action);
    }
    return grpc->failure[0] == '\0';
}

const void *hf_grpc_output(struct hf_grpc *grpc, size_t *count)
{
    (void)grpc;
    *count = 0;
    return NULL;
}

void hf_grpc_written(struct hf_grpc *grpc, size_t count)
{
    (void)grpc;
    (void)count;
}

const char *hf_grpc_failure(const struct hf_grpc *grpc)
{
    return grpc->failure[0] != '\0' ? grpc->failure : NULL;
}

bool hf_grpc_going_away(const struct hf_grpc *grpc)
{
    return grpc->going_away;
}

size_t hf_grpc_calls(const struct hf_grpc *grpc)
{
    size_t count = 0;

    for (struct fake_call *call = grpc->calls; call != NULL; call = call->next)
        count++;
    return count;
}
