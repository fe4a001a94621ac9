/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of a connection, as a server of gRPC hands them out: each call has
 * a goroutine of its own, so they are carried out in any order.  Messages of
 * one call keep their order.  A call whose connection has ended may be carried
 * out all the same. */
#include "simulator/model/etcd_internal.h"

#include <string.h>

#define CLUSTER_ID 0x6d6f64656cu

bool etcd_call_lives(const struct etcd_call *call)
{
    return !call->ended && !call->cancelled && call->connection->server_open &&
           call->life == call->member->life && !call->member->down;
}

/* --------------------------------------------------------------- answers -- */

static void reply(struct etcd_call *call, enum etcd_frame_kind kind,
                  uint8_t flags, struct etcd_bytes bytes)
{
    struct etcd_frame frame = {kind, flags, call->number, bytes};

    if (etcd_call_lives(call))
        etcd_reply(call->connection, &frame);
}

void etcd_put_header(const struct etcd_call *call, struct etcd_writer *out,
                     int64_t revision, uint64_t term)
{
    struct etcd_writer header = {0};

    etcd_put_integer(&header, 1, CLUSTER_ID);
    etcd_put_integer(&header, 2, 1 + call->member->index);
    etcd_put_integer(&header, 3, (uint64_t)revision);
    etcd_put_integer(&header, 4, term);
    etcd_put_message(out, 1, &header);
    etcd_writer_free(&header);
}

void etcd_call_message(struct etcd_call *call, struct etcd_bytes message)
{
    reply(call, ETCD_FRAME_MESSAGE, 0, message);
}

/* The term is that of the last entry that the member has applied, when it
 * answers. */
void etcd_call_answer(struct etcd_call *call, struct etcd_bytes fields,
                      int64_t revision)
{
    struct etcd_writer out = {0};

    etcd_put_header(call, &out, revision, etcd_applied_term(call->member));
    etcd_put_raw(&out, fields);
    etcd_call_message(call, etcd_written(&out));
    etcd_writer_free(&out);
    etcd_call_end(call, ETCD_DONE);
}

void etcd_call_end(struct etcd_call *call, enum etcd_error error)
{
    reply(call, ETCD_FRAME_ENDED, (uint8_t)etcd_errors[error].status,
          etcd_text(etcd_errors[error].text));
    call->ended = true;
}

/* -------------------------------------------------------------- messages -- */

static struct etcd_request *take_message(struct etcd_call *call)
{
    struct etcd_request *message = call->first_message;

    if (message != NULL)
        call->first_message = message->next;
    return message;
}

/* "hasleader" of a stream is looked at when it begins, and see
 * etcd_member.c. */
static void run_stream(struct etcd_call *call)
{
    struct etcd_request *message;

    while (etcd_call_lives(call) && !call->busy &&
           (message = take_message(call)) != NULL) {
        if (strcmp(call->method, "/etcdserverpb.Watch/Watch") == 0)
            etcd_watch_request(call, message->bytes);
        else
            etcd_keep_alive(call, message->bytes);
    }
}

void etcd_call_go_on(struct etcd_call *call)
{
    call->busy = false;
    run_stream(call);
}

/* Of a call whose client is gone, the server notices that or not. */
static void run(void *arg)
{
    struct etcd_call *call = arg;
    struct etcd_request *message;

    if (call->ended ||
        (!etcd_call_lives(call) &&
         (call->streaming || sim_random_between(call->member->sim, 0, 1) == 0)))
        return;
    if (call->hasleader && call->member->known_lead < 0)
        etcd_call_end(call, ETCD_NO_LEADER);
    else if (call->streaming)
        run_stream(call);
    else if ((message = take_message(call)) != NULL)
        etcd_method_run(call, message->bytes);
}

static void add_message(struct etcd_call *call, struct etcd_bytes bytes)
{
    struct hf_sim *sim = call->member->sim;
    struct etcd_request *message = sim_alloc(sim, sizeof *message);
    struct etcd_request **end = &call->first_message;
    uint8_t *copy = sim_alloc(sim, bytes.count + 1);

    if (bytes.count > 0)
        memcpy(copy, bytes.at, bytes.count);
    message->bytes = (struct etcd_bytes){copy, bytes.count};
    while (*end != NULL)
        end = &(*end)->next;
    *end = message;
    etcd_member_later(call->member, sim->config.etcd.reorder_max_us, run, call);
}

/* ---------------------------------------------------------------- frames -- */

static struct etcd_call *find(struct etcd_connection *connection,
                              uint32_t number)
{
    struct etcd_call *call = connection->calls;

    while (call != NULL && call->number != number)
        call = call->next;
    return call;
}

/* Calls that have ended are taken out when the next one begins. */
static void forget_ended(struct etcd_connection *connection)
{
    struct etcd_call **at = &connection->calls;

    while (*at != NULL) {
        if ((*at)->ended || (*at)->cancelled)
            *at = (*at)->next;
        else
            at = &(*at)->next;
    }
}

static void refuse(struct etcd_connection *connection, uint32_t number)
{
    struct etcd_frame frame = {ETCD_FRAME_REFUSED, 0, number, {NULL, 0}};

    etcd_reply(connection, &frame);
}

/* The method, a zero, and the token. */
static void start(struct etcd_connection *connection,
                  const struct etcd_frame *frame)
{
    struct hf_sim *sim = connection->sim;
    struct etcd_call *call;
    char *text;
    size_t method_bytes;

    if (connection->going_away ||
        sim_happens(sim, sim->config.refuse_chance / 4)) {
        refuse(connection, frame->call);
        return;
    }
    forget_ended(connection);
    call = sim_alloc(sim, sizeof *call);
    text = sim_alloc(sim, frame->bytes.count + 2);
    memcpy(text, frame->bytes.at, frame->bytes.count);
    method_bytes = strlen(text) + 1;
    call->connection = connection;
    call->member = connection->member;
    call->life = call->member->life;
    call->number = frame->call;
    call->method = text;
    call->token = text[method_bytes] == '\0' ? NULL : text + method_bytes;
    call->hasleader = (frame->flags & 1) != 0;
    call->streaming = etcd_method_streams(text);
    call->next = connection->calls;
    connection->calls = call;
}

void etcd_call_frame(struct etcd_connection *connection,
                     const struct etcd_frame *frame)
{
    struct etcd_call *call;

    if (frame->kind == ETCD_FRAME_START) {
        start(connection, frame);
        return;
    }
    call = find(connection, frame->call);
    if (call == NULL || call->ended || call->cancelled)
        return;
    if (frame->kind == ETCD_FRAME_MESSAGE)
        add_message(call, frame->bytes);
    else if (frame->kind == ETCD_FRAME_CANCEL)
        call->cancelled = true;
}

void etcd_calls_drop(struct etcd_connection *connection)
{
    for (struct etcd_call *c = connection->calls; c != NULL; c = c->next)
        c->cancelled = true;
}
