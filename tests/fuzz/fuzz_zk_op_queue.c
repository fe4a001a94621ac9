/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of a ZooKeeper client: the input is a program of steps, which
 * says what is started and cancelled, what the server answers, and what happens
 * to connections, the session, time and memory.  The server is dishonest: it
 * answers truly, falsely or with anything.
 *
 * Each operation ends once and is released once, the bytes of a write are sent
 * once at most, operations of one priority are sent in order on each
 * connection, one that travels alone is alone, no more are in flight than the
 * window has room for, and none outlives the session that it was started in.
 */
#include <string.h>

#include "fuzz.h"
#include "heap/heap.h"
#include "zk_op_program.h"
#include "zk_server_frames.h"

/* ---------------------------------------------------------------- server -- */

/* Hand the client what the server says.  ${number}: the operation that it
 * answers. */
static void say(struct zk_op_program *p, int number)
{
    heap_exempt(false);
    p->answering = number;
    hf_zk_session_receive(&p->session, p->number, p->now_ms, p->server.bytes,
                          p->server.used);
    p->answering = OP_PROGRAM_NONE;
    p->server.used = 0;
}

/* Faults are for the client: say() ends this. */
static size_t begin_frame(struct zk_op_program *p, int32_t xid, int32_t error)
{
    heap_exempt(true);
    return zk_server_begin(&p->server, xid, p->zxid++, error);
}

static void put_bytes(struct zk_op_program *p, size_t count)
{
    while (count-- > 0)
        hf_jute_put_byte(&p->server, op_program_next(p));
}

/* The record of a success. */
static void put_record(struct zk_op_program *p, const struct program_call *call)
{
    static const struct hf_zookeeper_stat stat;

    switch (call->opcode) {
    case HF_ZK_CREATE2:
    case HF_ZK_CREATE_CONTAINER:
    case HF_ZK_EXISTS:
    case HF_ZK_SET_DATA:
        zk_server_put_record(&p->server, call->opcode, "/0", &stat);
        break;
    case HF_ZK_GET_DATA:
        hf_jute_put_null(&p->server);
        zk_server_put_stat(&p->server, &stat);
        break;
    case HF_ZK_GET_ALL_CHILDREN_NUMBER:
        hf_jute_put_int(&p->server, 1);
        break;
    default:
        break;
    }
}

static int32_t choose_error(struct zk_op_program *p)
{
    static const int32_t errors[] = {
        HF_ZK_NO_NODE,         HF_ZK_NODE_EXISTS,   HF_ZK_NO_AUTH,
        HF_ZK_SESSION_EXPIRED, HF_ZK_SESSION_MOVED, HF_ZK_UNIMPLEMENTED,
        HF_ZK_THROTTLED,       HF_ZK_AUTH_FAILED,   HF_ZK_DISCONNECTED,
        HF_ZK_MALFORMED,       HF_ZK_NO_WATCHER,    -4711,
    };

    return errors[op_program_next(p) % (sizeof errors / sizeof errors[0])];
}

/* Answer call number ${nth}, with ${error} or a success and ${bytes} of the
 * program. */
static void answer(struct zk_op_program *p, size_t nth, int32_t error,
                   size_t bytes)
{
    struct program_call call;
    size_t begin;

    if (nth >= p->call_count)
        return;
    call = p->calls[nth];
    p->call_count--;
    memmove(&p->calls[nth], &p->calls[nth + 1],
            (p->call_count - nth) * sizeof p->calls[0]);
    begin = begin_frame(p, call.xid, error);
    if (error == HF_ZK_OK && bytes == 0)
        put_record(p, &call);
    put_bytes(p, bytes);
    hf_jute_end_frame(&p->server, begin);
    /* The client takes an end of the session for no answer. */
    say(p, error == HF_ZK_SESSION_EXPIRED ? OP_PROGRAM_NONE : call.number);
}

static void send_frame(struct zk_op_program *p, int32_t xid, int32_t error)
{
    size_t begin = begin_frame(p, xid, error);

    hf_jute_end_frame(&p->server, begin);
    say(p, OP_PROGRAM_ANY);
}

static void send_event(struct zk_op_program *p)
{
    static const char *const paths[] = {"/0", "/1", "/0/a", "/"};
    uint8_t which = op_program_next(p);

    heap_exempt(true);
    zk_server_event(&p->server, p->zxid++, which >> 2 & 7, paths[which & 3]);
    say(p, OP_PROGRAM_NONE);
}

static void send_raw(struct zk_op_program *p)
{
    heap_exempt(true);
    put_bytes(p, op_program_next(p) % 64);
    say(p, OP_PROGRAM_ANY);
}

/* ${id} 0: the session has ended. */
static void answer_handshake(struct zk_op_program *p, int64_t id)
{
    heap_exempt(true);
    if (p->config.read_only)
        zk_server_session(&p->server, 10000, id, op_program_next(p) % 2);
    else
        zk_server_old_session(&p->server, 10000, id);
    say(p, OP_PROGRAM_NONE);
}

/* ------------------------------------------------------------ connection -- */

/* The client may have given the connection up. */
static void note_connection(struct zk_op_program *p)
{
    uint64_t number;

    if (hf_zk_session_wanted_server(&p->session, &number) == NULL ||
        number != p->number)
        p->up = false;
}

static void pass(struct zk_op_program *p, uint64_t ms)
{
    p->now_ms += ms;
    hf_zk_session_tick(&p->session, p->now_ms);
    hf_zk_op_queue_tick(&p->queue, p->now_ms);
    MUST(hf_zk_op_queue_wake_at_ms(&p->queue) > p->now_ms);
}

static void link_up(struct zk_op_program *p)
{
    uint64_t number;

    if (p->up)
        return;
    if (hf_zk_session_wanted_server(&p->session, &number) == NULL) {
        pass(p, 1);
        return;
    }
    p->number = number;
    p->up = true;
    p->handshake_read = false;
    p->call_count = 0;
    for (size_t i = 0; i < HF_ZK_PRIORITIES; i++)
        p->last_sent[i] = -1;
    hf_zk_session_connection_up(&p->session, number, p->now_ms);
}

static void link_down(struct zk_op_program *p)
{
    if (p->up)
        hf_zk_session_connection_down(&p->session, p->number, p->now_ms,
                                      HF_EUNREACHABLE, "reset");
}

/* The connection is there, and the session of it. */
static void connect_at_once(struct zk_op_program *p)
{
    link_up(p);
    op_program_read(p);
    if (p->handshake_read && p->up && !hf_zk_session_usable(&p->session) &&
        !p->closed)
        answer_handshake(p, p->handshake_id != 0 ? p->handshake_id : 0x1234);
}

/* The server that is asked whether it has a quorum answers, or not. */
static void answer_search(struct zk_op_program *p)
{
    static const char answers[] = "rwro??";
    uint8_t which = op_program_next(p) % 4;
    uint64_t number;

    if (hf_zk_session_rw_probe_server(&p->session, &number) == NULL)
        return;
    if (which == 3)
        hf_zk_session_rw_probe_down(&p->session, number, p->now_ms);
    else
        hf_zk_session_rw_probe_received(&p->session, number, p->now_ms,
                                        answers + 2 * (size_t)which, 2);
}

/* ----------------------------------------------------------------- steps -- */

static const enum hf_zookeeper_op_kind kinds[] = {
    HF_ZOOKEEPER_GET,    HF_ZOOKEEPER_SET,      HF_ZOOKEEPER_CREATE,
    HF_ZOOKEEPER_EXISTS, HF_ZOOKEEPER_COUNT,    HF_ZOOKEEPER_ADD_WATCH,
    HF_ZOOKEEPER_SYNC,   HF_ZOOKEEPER_ADD_AUTH,
};
#define KINDS (sizeof kinds / sizeof kinds[0])

/* What the server does. */
static void serve(struct zk_op_program *p, uint8_t which)
{
    if (!p->up || !p->handshake_read)
        return;
    if (which == 0)
        answer(p, 0, HF_ZK_OK, 0);
    else if (which == 1)
        answer(p, 0, choose_error(p), 0);
    else if (which == 2)
        answer(p, 0, HF_ZK_OK, 1 + op_program_next(p) % 80);
    else if (which == 3)
        answer(p, op_program_next(p) % 4, HF_ZK_UNIMPLEMENTED, 0);
    else if (which == 4)
        send_event(p);
    else if (which == 5)
        send_frame(p, HF_ZK_XID_SET_WATCHES, HF_ZK_OK);
    else if (which == 6)
        send_frame(p, HF_ZK_XID_AUTH,
                   op_program_next(p) % 2 ? HF_ZK_OK : HF_ZK_AUTH_FAILED);
    else if (which == 7)
        send_frame(p, (int32_t)op_program_next(p) - 8, choose_error(p));
    else if (which == 8)
        answer_handshake(p, op_program_next(p) % 4);
    else
        send_raw(p);
}

static void step(struct zk_op_program *p)
{
    uint8_t which = op_program_next(p) % 31;

    if (which < KINDS)
        op_program_start(p, kinds[which]);
    else if (which < KINDS + 10)
        serve(p, (uint8_t)(which - KINDS));
    else if (which < 22)
        connect_at_once(p);
    else if (which == 22)
        link_up(p);
    else if (which == 23)
        link_down(p);
    else if (which == 24)
        pass(p, op_program_next(p));
    else if (which == 25)
        pass(p, op_program_next(p) * UINT64_C(100));
    else if (which == 26)
        op_program_cancel(p, op_program_next(p));
    else if (which == 27)
        op_program_unwatch(p, op_program_next(p));
    else if (which == 28)
        heap_fail(op_program_next(p) % 16, false);
    else if (which == 29 && op_program_next(p) == 0)
        op_program_close(p);
    else if (which == 30 && p->config.read_only)
        answer_search(p);
    else
        serve(p, 0);
}

/* All that was started in a session that is over has ended, unless it was that
 * of a server without a quorum. */
static void check_session(struct zk_op_program *p)
{
    if (p->session.id == p->session_id)
        return;
    for (int i = 0;
         p->session_id != 0 && !p->session.lost_local && i < p->op_count; i++)
        MUST(!p->ops[i]->started || p->ops[i]->ended ||
             p->ops[i]->op.kind == HF_ZOOKEEPER_ADD_AUTH);
    p->session_id = p->session.id;
}

/* Nothing waits that could be sent. */
static void check_calls(const struct zk_op_program *p)
{
    const struct hf_zk_session *session = &p->session;
    unsigned direct = 1; /* the sync of the queue, */

    direct += hf_zk_session_close_requested(session);
    for (int i = 0; i < p->op_count; i++)
        direct += p->ops[i]->direct && p->ops[i]->released == 0;
    MUST(session->wire.calls <= p->config.window + direct);
    if (p->queue.alone != NULL)
        MUST(session->wire.calls <= 1 + direct);
    if (hf_zk_session_usable(session) && session->wire.calls == 0 &&
        !session->leaving)
        MUST(p->queue.waiting.count == 0 ||
             p->queue.waiting.credentials.first != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct zk_op_program p;

    heap_install();
    op_program_begin(&p, data, bytes);
    while (p.left > 0) {
        step(&p);
        note_connection(&p);
        if (p.up)
            op_program_read(&p);
        check_session(&p);
        check_calls(&p);
    }
    op_program_end(&p);
    return 0;
}
