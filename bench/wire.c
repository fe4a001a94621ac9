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
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "protocol.h"
#include "zookeeper/protocol.h"

#define TIMEOUT_MS 10000
#define PATH_BYTES 256
#define PARENT_BYTES 128
#define WARM_UP 50
#define UNDERWAY 100
#define PIECE_BYTES 4096

/* As long as what a holder says of itself. */
static const char payload[] =
    "host=bench pid=12345 command=bench-wire since=2024-01-01T00:00:00Z";

struct wire {
    int fd;
    int32_t xid;
    struct hf_jute_writer out;
    uint8_t in[65536];
    size_t from, till;
};

/* ---------------------------------------------------------------- frames -- */

static void put_out(struct wire *wire)
{
    if (send(wire->fd, wire->out.bytes, wire->out.used, MSG_NOSIGNAL) !=
        (ssize_t)wire->out.used)
        bench_fail("the server does not take a request");
    hf_jute_consume(&wire->out, wire->out.used);
}

static const uint8_t *take_in(struct wire *wire, size_t count)
{
    const uint8_t *found;
    ssize_t got;

    if (sizeof(wire->in) - wire->from < count || wire->from == wire->till) {
        memmove(wire->in, wire->in + wire->from, wire->till - wire->from);
        wire->till -= wire->from;
        wire->from = 0;
    }
    while (wire->till - wire->from < count) {
        got = recv(wire->fd, wire->in + wire->till,
                   sizeof(wire->in) - wire->till, 0);
        if (got <= 0)
            bench_fail("the server says nothing more");
        wire->till += (size_t)got;
    }
    found = wire->in + wire->from;
    wire->from += count;
    return found;
}

static struct hf_jute_reader next_frame(struct wire *wire)
{
    struct hf_jute_reader head = {take_in(wire, 4), 4, false};
    int32_t length = hf_jute_get_int(&head);

    if (length < 0 || (size_t)length > sizeof(wire->in) - 4)
        bench_fail("the server sent a frame without sense");
    return (struct hf_jute_reader){take_in(wire, (size_t)length),
                                   (size_t)length, false};
}

static size_t begin(struct wire *wire, enum hf_zk_opcode opcode)
{
    size_t at = hf_jute_begin_frame(&wire->out);

    hf_jute_put_int(&wire->out, ++wire->xid);
    hf_jute_put_int(&wire->out, opcode);
    return at;
}

/* The body of the next frame, which has ${xid}. */
static struct hf_jute_reader answer(struct wire *wire, int32_t xid)
{
    struct hf_jute_reader body = next_frame(wire);
    bool right = hf_jute_get_int(&body) == xid;

    (void)hf_jute_get_long(&body);
    if (!right || hf_jute_get_int(&body) != HF_ZK_OK)
        bench_fail("the server did not do what it was asked");
    return body;
}

static struct wire *wire_new(void)
{
    struct wire *wire = calloc(1, sizeof(*wire));

    if (wire == NULL)
        bench_fail("out of memory");
    return wire;
}

static struct wire *open_session(int port)
{
    static const uint8_t no_password[HF_ZK_PASSWORD_BYTES];
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port)};
    struct wire *wire = wire_new();
    const int on = 1;
    size_t at;

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    wire->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (wire->fd < 0 ||
        connect(wire->fd, (struct sockaddr *)&to, sizeof(to)) != 0 ||
        setsockopt(wire->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0)
        bench_fail("no connection to the server");
    at = hf_jute_begin_frame(&wire->out);
    hf_jute_put_int(&wire->out, 0);
    hf_jute_put_long(&wire->out, 0);
    hf_jute_put_int(&wire->out, TIMEOUT_MS);
    hf_jute_put_long(&wire->out, 0);
    hf_jute_put_buffer(&wire->out, no_password, sizeof(no_password));
    hf_jute_put_bool(&wire->out, false);
    hf_jute_end_frame(&wire->out, at);
    put_out(wire);
    (void)next_frame(wire);
    return wire;
}

static void close_session(struct wire *wire)
{
    hf_jute_end_frame(&wire->out, begin(wire, HF_ZK_CLOSE_SESSION));
    put_out(wire);
    (void)answer(wire, wire->xid);
    (void)close(wire->fd);
    hf_jute_free(&wire->out);
    free(wire);
}

/* -------------------------------------------------------------- requests -- */

static void ask_node(struct wire *wire, const char *path, int32_t flags)
{
    size_t at = begin(wire, HF_ZK_CREATE2);

    hf_jute_put_string(&wire->out, path);
    hf_jute_put_string(&wire->out, payload);
    hf_jute_put_int(&wire->out, 1);
    hf_jute_put_int(&wire->out, HF_ZK_PERMISSIONS_ALL);
    hf_jute_put_string(&wire->out, "world");
    hf_jute_put_string(&wire->out, "anyone");
    hf_jute_put_int(&wire->out, flags);
    hf_jute_end_frame(&wire->out, at);
}

static void ask_create(struct wire *wire, const char *parent)
{
    char path[PATH_BYTES];

    (void)snprintf(path, sizeof(path),
                   "%s/_c_6f2a6c1e-6a0b-4e9d-9d0e-2f5c3a1b7d44-lock-", parent);
    ask_node(wire, path, HF_ZK_EPHEMERAL_SEQUENTIAL);
}

static void take_created(struct wire *wire, int32_t xid, char path[PATH_BYTES])
{
    struct hf_jute_reader body = answer(wire, xid);
    struct hf_jute_piece created = hf_jute_get_buffer(&body);

    if (created.bytes == NULL || created.count >= PATH_BYTES)
        bench_fail("the server made a node without sense");
    memcpy(path, created.bytes, created.count);
    path[created.count] = '\0';
}

static void ask_delete(struct wire *wire, const char *path)
{
    size_t at = begin(wire, HF_ZK_DELETE);

    hf_jute_put_string(&wire->out, path);
    hf_jute_put_int(&wire->out, -1);
    hf_jute_end_frame(&wire->out, at);
    put_out(wire);
}

/* A list, or data with a watch. */
static void ask_read(struct wire *wire, enum hf_zk_opcode opcode,
                     const char *path, bool watch)
{
    size_t at = begin(wire, opcode);

    hf_jute_put_string(&wire->out, path);
    hf_jute_put_bool(&wire->out, watch);
    hf_jute_end_frame(&wire->out, at);
}

/* ---------------------------------------------------------------- iterations
 * -- */

static void pair(struct wire *wire, const char *parent)
{
    char path[PATH_BYTES];

    ask_create(wire, parent);
    ask_read(wire, HF_ZK_GET_CHILDREN, parent, false);
    put_out(wire);
    take_created(wire, wire->xid - 1, path);
    (void)answer(wire, wire->xid);
    ask_delete(wire, path);
    (void)answer(wire, wire->xid);
}

/* From the delete's being sent to the event's being read. */
static uint64_t handoff(struct wire *holder, struct wire *waiter,
                        const char *parent, unsigned hold_us)
{
    char path[PATH_BYTES];
    struct hf_jute_reader event;
    uint64_t began_ns, event_ns;

    ask_create(holder, parent);
    put_out(holder);
    take_created(holder, holder->xid, path);
    ask_read(waiter, HF_ZK_GET_DATA, path, true);
    put_out(waiter);
    (void)answer(waiter, waiter->xid);
    (void)usleep(hold_us);
    began_ns = bench_now_ns();
    ask_delete(holder, path);
    event = next_frame(waiter);
    event_ns = bench_now_ns();
    if (hf_jute_get_int(&event) != HF_ZK_XID_EVENT)
        bench_fail("the server sent no event of the deletion");
    (void)answer(holder, holder->xid);
    return event_ns - began_ns;
}

static void pairs(int port, const char *parent, unsigned count)
{
    struct wire *wire = open_session(port);
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
    close_session(wire);
}

static void handoffs(int port, const char *parent, unsigned count,
                     unsigned hold_us)
{
    struct wire *holder = open_session(port);
    struct wire *waiter = open_session(port);

    for (unsigned i = 0; i < WARM_UP; i++)
        (void)handoff(holder, waiter, parent, 0);
    bench_begin();
    for (unsigned i = 0; i < count; i++)
        bench_sample(handoff(holder, waiter, parent, hold_us));
    bench_end(count);
    close_session(waiter);
    close_session(holder);
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
        ask_node(wire, parent_of(parent, i, path), 0);
        put_out(wire);
        (void)next_frame(wire);
    }
}

static void locks(int port, const char *parent, unsigned count,
                  unsigned underway)
{
    struct wire *wire = open_session(port);
    unsigned asked = 0, answered = 0;
    char path[PARENT_BYTES];
    int32_t first;

    make_parents(wire, parent, count);
    first = wire->xid;
    bench_begin();
    while (answered < count) {
        for (; asked < count && asked - answered < underway; asked++) {
            ask_create(wire, parent_of(parent, asked, path));
            ask_read(wire, HF_ZK_GET_CHILDREN, path, false);
        }
        put_out(wire);
        first += 2;
        (void)answer(wire, first - 1);
        (void)answer(wire, first);
        answered++;
    }
    bench_end(count);
    close_session(wire);
}

static void fill(struct wire *wire, const char *parent, unsigned count)
{
    unsigned asked = 0;

    for (unsigned i = 0; i < count; i++) {
        for (; asked < count && asked - i < UNDERWAY; asked++)
            ask_create(wire, parent);
        put_out(wire);
        (void)next_frame(wire);
    }
}

/* Longer than what there is room for. */
static void skip_frame(struct wire *wire)
{
    struct hf_jute_reader head = {take_in(wire, 4), 4, false};
    int32_t left = hf_jute_get_int(&head), piece;

    for (; left > 0; left -= piece) {
        piece = left < PIECE_BYTES ? left : PIECE_BYTES;
        (void)take_in(wire, (size_t)piece);
    }
}

static void lists(int port, const char *parent, unsigned count, unsigned of)
{
    struct wire *wire = open_session(port);
    char path[PARENT_BYTES];
    uint64_t began_ns;

    (void)snprintf(path, sizeof(path), "%s/list", parent);
    ask_node(wire, path, 0);
    put_out(wire);
    (void)next_frame(wire);
    fill(wire, path, of);
    bench_begin();
    for (unsigned i = 0; i < count; i++) {
        began_ns = bench_now_ns();
        ask_read(wire, HF_ZK_GET_CHILDREN, path, false);
        put_out(wire);
        skip_frame(wire);
        bench_sample(bench_now_ns() - began_ns);
    }
    bench_end(count);
    close_session(wire);
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
