/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-wire PORT PATH: what the server of 127.0.0.1:PORT itself takes, without
 * a library: one blocking socket for each session, nothing checked, nothing
 * kept alive.  Requests:
 *
 *   pair COUNT      create a ticket below PATH and list PATH, in one write;
 *                   delete it
 *   locks COUNT UNDERWAY   create a ticket below each of PATH/0, PATH/1, ...
 *                   and list it, so many of them outstanding
 *   handoff COUNT HOLD   delete a ticket and wait for the event at another
 *                   session, which has watched it for HOLD microseconds
 *   list COUNT OF   list a node in which OF tickets stand
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol.h"
#include "wire_session.h"

#define PATH_BYTES 256
#define PARENT_BYTES 128
#define WARM_UP 50
#define UNDERWAY 100
#define PIECE_BYTES 4096

/* As long as what a holder says of itself. */
static const char payload[] =
    "host=bench pid=12345 command=bench-wire since=2024-01-01T00:00:00Z";

/* -------------------------------------------------------------- requests -- */

static void ask_create(struct wire *wire, const char *parent)
{
    char path[PATH_BYTES];

    (void)snprintf(path, sizeof(path),
                   "%s/_c_6f2a6c1e-6a0b-4e9d-9d0e-2f5c3a1b7d44-lock-", parent);
    wire_create(wire, path, payload, HF_ZK_EPHEMERAL_SEQUENTIAL);
}

static void take_created(struct wire *wire, int32_t xid, char path[PATH_BYTES])
{
    struct hf_jute_reader body = wire_answer(wire, xid);
    struct hf_jute_piece created = hf_jute_get_buffer(&body);

    if (created.bytes == NULL || created.count >= PATH_BYTES)
        bench_fail("the server made a node without sense");
    memcpy(path, created.bytes, created.count);
    path[created.count] = '\0';
}

static void ask_delete(struct wire *wire, const char *path)
{
    size_t at = wire_begin(wire, HF_ZK_DELETE);

    hf_jute_put_string(&wire->out, path);
    hf_jute_put_int(&wire->out, -1);
    hf_jute_end_frame(&wire->out, at);
    wire_send(wire);
}

/* ------------------------------------------------------------ iterations -- */

static void pair(struct wire *wire, const char *parent)
{
    char path[PATH_BYTES];

    ask_create(wire, parent);
    wire_read(wire, HF_ZK_GET_CHILDREN, parent, false);
    wire_send(wire);
    take_created(wire, wire->xid - 1, path);
    (void)wire_answer(wire, wire->xid);
    ask_delete(wire, path);
    (void)wire_answer(wire, wire->xid);
}

/* From the delete's being sent to the event's being read. */
static uint64_t handoff(struct wire *holder, struct wire *waiter,
                        const char *parent, unsigned hold_us)
{
    char path[PATH_BYTES];
    struct hf_jute_reader event;
    uint64_t began_ns, event_ns;

    ask_create(holder, parent);
    wire_send(holder);
    take_created(holder, holder->xid, path);
    wire_read(waiter, HF_ZK_GET_DATA, path, true);
    wire_send(waiter);
    (void)wire_answer(waiter, waiter->xid);
    (void)usleep(hold_us);
    began_ns = bench_now_ns();
    ask_delete(holder, path);
    event = wire_next_frame(waiter);
    event_ns = bench_now_ns();
    if (hf_jute_get_int(&event) != HF_ZK_XID_EVENT)
        bench_fail("the server sent no event of the deletion");
    (void)wire_answer(holder, holder->xid);
    return event_ns - began_ns;
}

static void pairs(int port, const char *parent, unsigned count)
{
    struct wire *wire = wire_open(port);
    uint64_t began_ns;

    for (unsigned i = 0; i < WARM_UP; i++)
        pair(wire, parent);
    bench_begin();
    for (unsigned i = 0; i < count; i++) {
        began_ns = bench_now_ns();
        pair(wire, parent);
        bench_sample(bench_now_ns() - began_ns);
    }
    bench_end(count);
    wire_close(wire);
}

static void handoffs(int port, const char *parent, unsigned count,
                     unsigned hold_us)
{
    struct wire *holder = wire_open(port);
    struct wire *waiter = wire_open(port);

    for (unsigned i = 0; i < WARM_UP; i++)
        (void)handoff(holder, waiter, parent, 0);
    bench_begin();
    for (unsigned i = 0; i < count; i++)
        bench_sample(handoff(holder, waiter, parent, hold_us));
    bench_end(count);
    wire_close(waiter);
    wire_close(holder);
}

static const char *parent_of(const char *parent, unsigned i,
                             char path[PARENT_BYTES])
{
    (void)snprintf(path, PARENT_BYTES, "%s/%u", parent, i);
    return path;
}

/* One after the other, whether they are there or not. */
static void make_parents(struct wire *wire, const char *parent, unsigned count)
{
    char path[PARENT_BYTES];

    for (unsigned i = 0; i < count; i++) {
        wire_create(wire, parent_of(parent, i, path), payload, 0);
        wire_send(wire);
        (void)wire_next_frame(wire);
    }
}

static void locks(int port, const char *parent, unsigned count,
                  unsigned underway)
{
    struct wire *wire = wire_open(port);
    unsigned asked = 0, answered = 0;
    char path[PARENT_BYTES];
    int32_t first;

    make_parents(wire, parent, count);
    first = wire->xid;
    bench_begin();
    while (answered < count) {
        for (; asked < count && asked - answered < underway; asked++) {
            ask_create(wire, parent_of(parent, asked, path));
            wire_read(wire, HF_ZK_GET_CHILDREN, path, false);
        }
        wire_send(wire);
        first += 2;
        (void)wire_answer(wire, first - 1);
        (void)wire_answer(wire, first);
        answered++;
    }
    bench_end(count);
    wire_close(wire);
}

static void fill(struct wire *wire, const char *parent, unsigned count)
{
    unsigned asked = 0;

    for (unsigned i = 0; i < count; i++) {
        for (; asked < count && asked - i < UNDERWAY; asked++)
            ask_create(wire, parent);
        wire_send(wire);
        (void)wire_next_frame(wire);
    }
}

/* Longer than what there is room for. */
static void skip_frame(struct wire *wire)
{
    struct hf_jute_reader head = {wire_take(wire, 4), 4, false};
    int32_t left = hf_jute_get_int(&head), piece;

    for (; left > 0; left -= piece) {
        piece = left < PIECE_BYTES ? left : PIECE_BYTES;
        (void)wire_take(wire, (size_t)piece);
    }
}

static void lists(int port, const char *parent, unsigned count, unsigned of)
{
    struct wire *wire = wire_open(port);
    char path[PARENT_BYTES];
    uint64_t began_ns;

    (void)snprintf(path, sizeof(path), "%s/list", parent);
    wire_create(wire, path, payload, 0);
    wire_send(wire);
    (void)wire_next_frame(wire);
    fill(wire, path, of);
    bench_begin();
    for (unsigned i = 0; i < count; i++) {
        began_ns = bench_now_ns();
        wire_read(wire, HF_ZK_GET_CHILDREN, path, false);
        wire_send(wire);
        skip_frame(wire);
        bench_sample(bench_now_ns() - began_ns);
    }
    bench_end(count);
    wire_close(wire);
}

int main(int count, char **arguments)
{
    struct bench_request request;

    if (count != 3)
        return 64;
    while (bench_next_request(&request)) {
        if (strcmp(request.word, "pair") == 0)
            pairs(atoi(arguments[1]), arguments[2], request.first);
        else if (strcmp(request.word, "handoff") == 0)
            handoffs(atoi(arguments[1]), arguments[2], request.first,
                     request.second);
        else if (strcmp(request.word, "list") == 0)
            lists(atoi(arguments[1]), arguments[2], request.first,
                  request.second);
        else if (strcmp(request.word, "locks") == 0)
            locks(atoi(arguments[1]), arguments[2], request.first,
                  request.second);
        else
            bench_fail("a request that is not known");
    }
    return 0;
}
