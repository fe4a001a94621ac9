/* SPDX-License-Identifier: Apache-2.0 */
#include "wire_session.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "protocol.h"

#define TIMEOUT_MS 10000

/* ---------------------------------------------------------------- frames -- */

void wire_send(struct wire *wire)
{
    if (send(wire->fd, wire->out.bytes, wire->out.used, MSG_NOSIGNAL) !=
        (ssize_t)wire->out.used)
        bench_fail("the server does not take a request");
    hf_jute_consume(&wire->out, wire->out.used);
}

const uint8_t *wire_take(struct wire *wire, size_t count)
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

struct hf_jute_reader wire_next_frame(struct wire *wire)
{
    struct hf_jute_reader head = {wire_take(wire, 4), 4, false};
    int32_t length = hf_jute_get_int(&head);

    if (length < 0 || (size_t)length > sizeof(wire->in) - 4)
        bench_fail("the server sent a frame without sense");
    return (struct hf_jute_reader){wire_take(wire, (size_t)length),
                                   (size_t)length, false};
}

bool wire_has_frame(const struct wire *wire)
{
    struct hf_jute_reader head = {wire->in + wire->from,
                                  wire->till - wire->from, false};
    int32_t length = hf_jute_get_int(&head);

    return !head.failed && (size_t)length <= head.left;
}

size_t wire_begin(struct wire *wire, enum hf_zk_opcode opcode)
{
    size_t at = hf_jute_begin_frame(&wire->out);

    hf_jute_put_int(&wire->out, ++wire->xid);
    hf_jute_put_int(&wire->out, opcode);
    return at;
}

/* The body of the next frame, which has ${xid}. */
struct hf_jute_reader wire_answer(struct wire *wire, int32_t xid)
{
    struct hf_jute_reader body = wire_next_frame(wire);
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

struct wire *wire_open(int port)
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
    wire_send(wire);
    (void)wire_next_frame(wire);
    return wire;
}

void wire_close(struct wire *wire)
{
    hf_jute_end_frame(&wire->out, wire_begin(wire, HF_ZK_CLOSE_SESSION));
    wire_send(wire);
    (void)wire_answer(wire, wire->xid);
    (void)close(wire->fd);
    hf_jute_free(&wire->out);
    free(wire);
}

/* -------------------------------------------------------------- requests -- */

void wire_create(struct wire *wire, const char *path, const char *data,
                 int32_t flags)
{
    size_t at = wire_begin(wire, HF_ZK_CREATE2);

    hf_jute_put_string(&wire->out, path);
    hf_jute_put_string(&wire->out, data);
    hf_jute_put_int(&wire->out, 1);
    hf_jute_put_int(&wire->out, HF_ZK_PERMISSIONS_ALL);
    hf_jute_put_string(&wire->out, "world");
    hf_jute_put_string(&wire->out, "anyone");
    hf_jute_put_int(&wire->out, flags);
    hf_jute_end_frame(&wire->out, at);
}

void wire_read(struct wire *wire, enum hf_zk_opcode opcode, const char *path,
               bool watch)
{
    size_t at = wire_begin(wire, opcode);

    hf_jute_put_string(&wire->out, path);
    hf_jute_put_bool(&wire->out, watch);
    hf_jute_end_frame(&wire->out, at);
}

void wire_set(struct wire *wire, const char *path, const char *data)
{
    size_t at = wire_begin(wire, HF_ZK_SET_DATA);

    hf_jute_put_string(&wire->out, path);
    hf_jute_put_string(&wire->out, data);
    hf_jute_put_int(&wire->out, HF_ZK_ANY_VERSION);
    hf_jute_end_frame(&wire->out, at);
}
