/* SPDX-License-Identifier: Apache-2.0 */
#include "zookeeper_fake_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "zookeeper/protocol.h"

/* ---------------------------------------------------------------- frames -- */

/* A frame that the server is about to send. */
struct frame {
    uint8_t bytes[512];
    size_t used;
};

static void put(struct frame *frame, uint64_t value, size_t bytes)
{
    assert_true(frame->used + bytes <= sizeof frame->bytes);
    for (size_t i = bytes; i-- > 0; value >>= 8)
        frame->bytes[frame->used + i] = (uint8_t)value;
    frame->used += bytes;
}

static void put_text(struct frame *frame, const void *text, size_t count)
{
    put(frame, count, 4);
    assert_true(frame->used + count <= sizeof frame->bytes);
    memcpy(frame->bytes + frame->used, text, count);
    frame->used += count;
}

/* The id of every session. */
#define SESSION 4711

/* Zero but for the mzxid, the number of children, and the owner: every node is
 * an ephemeral one of the session. */
static void put_stat(struct frame *frame,
                     const struct zookeeper_fake_server *server)
{
    static const size_t times_and_versions = 28; /* 2 of 8, 3 of 4 bytes */

    put(frame, 0, 8);
    put(frame, server->behind && !server->synced ? 0 : (uint64_t)server->mzxid,
        8);
    for (size_t i = 0; i < times_and_versions; i++)
        put(frame, 0, 1);
    put(frame, SESSION, 8);
    put(frame, 0, 4);
    put(frame, (uint64_t)server->children, 4);
    put(frame, 0, 8);
}

static int32_t get(const uint8_t *from)
{
    return (int32_t)((uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 |
                     (uint32_t)from[2] << 8 | from[3]);
}

/* The client may have ended the connection. */
static void send_frame(struct zookeeper_fake_server *server,
                       const struct frame *frame)
{
    struct frame whole = {.used = 0};

    put(&whole, frame->used, 4);
    memcpy(whole.bytes + 4, frame->bytes, frame->used);
    (void)pthread_mutex_lock(&server->lock);
    if (server->fd >= 0)
        (void)send(server->fd, whole.bytes, frame->used + 4, MSG_NOSIGNAL);
    (void)pthread_mutex_unlock(&server->lock);
}

static void put_header(struct frame *frame, int32_t xid, int32_t error)
{
    put(frame, (uint32_t)xid, 4);
    put(frame, 77, 8); /* the zxid */
    put(frame, (uint32_t)error, 4);
}

/* --------------------------------------------------------------- answers -- */

/* A session that has ended has no id and no timeout. */
static void accept_session(struct zookeeper_fake_server *server,
                           const uint8_t *request)
{
    static const uint8_t password[HF_ZK_PASSWORD_BYTES] = {1};
    struct frame frame = {.used = 0};
    bool forgotten;

    server->timeout_ms = get(request + 12);
    server->session_id = get(request + 20);
    forgotten = server->session_id != 0 && atomic_exchange(&server->forgets, 0);
    put(&frame, 0, 4);
    put(&frame, forgotten ? 0 : (uint32_t)server->timeout_ms, 4);
    put(&frame, forgotten ? 0 : SESSION, 8);
    put_text(&frame, password, sizeof password);
    server->accepted = true;
    send_frame(server, &frame);
}

/* The record of a success.  ${record} begins with the path. */
static void put_record(struct zookeeper_fake_server *server,
                       struct frame *frame, int32_t opcode,
                       const uint8_t *record)
{
    switch (opcode) {
    case HF_ZK_CREATE2:
    case HF_ZK_CREATE_CONTAINER:
        put_text(frame, record + 4, (size_t)get(record));
        put_stat(frame, server);
        break;
    case HF_ZK_GET_DATA:
        put_text(frame, "data", 4);
        server->data_sent++;
        put_stat(frame, server);
        break;
    case HF_ZK_GET_CHILDREN2:
        put(frame, 2, 4);
        put_text(frame, "a", 1);
        put_text(frame, "b", 1);
        put_stat(frame, server);
        break;
    case HF_ZK_GET_ACL:
        put(frame, 1, 4);
        put(frame, 31, 4);
        put_text(frame, "world", 5);
        put_text(frame, "anyone", 6);
        put_stat(frame, server);
        break;
    case HF_ZK_EXISTS:
    case HF_ZK_SET_DATA:
    case HF_ZK_SET_ACL:
        put_stat(frame, server);
        break;
    case HF_ZK_SYNC:
        server->synced = true;
        put_text(frame, record + 4, (size_t)get(record));
        break;
    case HF_ZK_SASL: /* the token comes back, unless it is "last" */
        if (get(record) == 4 && memcmp(record + 4, "last", 4) == 0)
            put(frame, UINT32_MAX, 4);
        else
            put_text(frame, record + 4, (size_t)get(record));
        break;
    case HF_ZK_MULTI: /* of one delete */
        put(frame, HF_ZK_DELETE, 4);
        put(frame, 0, 1 + 4);
        put(frame, UINT32_MAX, 4);
        put(frame, 1, 1);
        put(frame, UINT32_MAX, 4);
        break;
    default:
        break;
    }
}

/* The error that the test wants for a call of ${opcode}; 0: none.  ${record}
 * begins with a path, unless it is that of a ping. */
static int32_t refusal_of(struct zookeeper_fake_server *server, int32_t opcode,
                          const uint8_t *record)
{
    int32_t (*refuses)(int32_t opcode, const char *path) = server->refuses;
    char path[64] = "";

    if (refuses != NULL) {
        if (get(record) > 0 && get(record) < (int32_t)sizeof path)
            memcpy(path, record + 4, (size_t)get(record));
        return refuses(opcode, path);
    }
    if (server->refusals == 0 || server->refused_opcode != opcode)
        return 0;
    server->refusals--;
    return server->refusal;
}

static void answer(struct zookeeper_fake_server *server, const uint8_t *request)
{
    int32_t xid = get(request);
    int32_t opcode = get(request + 4);
    bool counts =
        xid > 0 && opcode != HF_ZK_CLOSE_SESSION && opcode != HF_ZK_SASL;
    struct frame frame = {.used = 0};
    int32_t error;
    bool unknown;

    server->calls += counts;
    if (server->silent)
        return;
    if (counts && opcode == server->loses) {
        if (server->more_losses > 0)
            server->more_losses--;
        else
            server->loses = 0;
        zookeeper_fake_cut(server);
        return;
    }
    unknown = server->old && opcode == HF_ZK_ADD_WATCH;
    error =
        unknown ? HF_ZK_UNIMPLEMENTED : refusal_of(server, opcode, request + 8);
    put_header(&frame, xid, error);
    if (xid > 0 && error == 0)
        put_record(server, &frame, opcode, request + 8);
    send_frame(server, &frame);
    if (atomic_exchange(&server->hangs_up, false) || unknown)
        zookeeper_fake_cut(server);
    server->answers += counts;
}

void zookeeper_fake_fire(struct zookeeper_fake_server *server, int32_t type,
                         const char *path)
{
    struct frame frame = {.used = 0};

    put_header(&frame, HF_ZK_XID_EVENT, 0);
    put(&frame, (uint32_t)type, 4);
    put(&frame, 3, 4);
    put_text(&frame, path, strlen(path));
    send_frame(server, &frame);
}

/* ---------------------------------------------------------------- thread -- */

/* The thread of the server then finds its end. */
void zookeeper_fake_cut(struct zookeeper_fake_server *server)
{
    (void)pthread_mutex_lock(&server->lock);
    if (server->fd >= 0)
        (void)shutdown(server->fd, SHUT_RDWR);
    (void)pthread_mutex_unlock(&server->lock);
}

static void hang_up(struct zookeeper_fake_server *server)
{
    (void)pthread_mutex_lock(&server->lock);
    if (server->fd >= 0)
        (void)close(server->fd);
    server->fd = -1;
    (void)pthread_mutex_unlock(&server->lock);
    server->accepted = false;
    server->synced = false;
    server->used = 0;
}

/* Another connection takes the place of this one. */
static void accept_connection(struct zookeeper_fake_server *server)
{
    int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
    int on = 1;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    hang_up(server);
    (void)pthread_mutex_lock(&server->lock);
    server->fd = fd;
    (void)pthread_mutex_unlock(&server->lock);
}

static void answer_all(struct zookeeper_fake_server *server)
{
    size_t at = 0, bytes;

    while (server->used - at >= 4) {
        bytes = 4 + (size_t)get(server->in + at);
        if (bytes > server->used - at)
            break;
        if (server->accepted)
            answer(server, server->in + at + 4);
        else
            accept_session(server, server->in + at + 4);
        at += bytes;
    }
    memmove(server->in, server->in + at, server->used - at);
    server->used -= at;
}

static void receive_some(struct zookeeper_fake_server *server)
{
    ssize_t got = recv(server->fd, server->in + server->used,
                       sizeof server->in - server->used, 0);

    if (got <= 0) {
        hang_up(server);
        return;
    }
    server->used += (size_t)got;
    answer_all(server);
}

static void *serve(void *arg)
{
    struct zookeeper_fake_server *server = arg;

    for (;;) {
        struct pollfd fds[] = {{.fd = server->wake[0], .events = POLLIN},
                               {.fd = server->listener, .events = POLLIN},
                               {.fd = server->fd, .events = POLLIN}};

        (void)poll(fds, 3, -1);
        if (fds[0].revents != 0)
            return NULL;
        if (fds[1].revents != 0)
            accept_connection(server);
        else if (fds[2].revents != 0)
            receive_some(server);
    }
}

void zookeeper_fake_start(struct zookeeper_fake_server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t bytes = sizeof address;

    *server = (struct zookeeper_fake_server){.fd = -1};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)pthread_mutex_init(&server->lock, NULL);
    assert_int_equal(pipe2(server->wake, O_CLOEXEC), 0);
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(
        bind(server->listener, (struct sockaddr *)(void *)&address, bytes), 0);
    assert_int_equal(listen(server->listener, 16), 0);
    assert_int_equal(getsockname(server->listener,
                                 (struct sockaddr *)(void *)&address, &bytes),
                     0);
    (void)snprintf(server->url, sizeof server->url, "zk://u:p@127.0.0.1:%u",
                   (unsigned)ntohs(address.sin_port));
    assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

void zookeeper_fake_stop(struct zookeeper_fake_server *server)
{
    assert_int_equal(write(server->wake[1], "", 1), 1);
    assert_int_equal(pthread_join(server->thread, NULL), 0);
    hang_up(server);
    (void)close(server->listener);
    (void)close(server->wake[0]);
    (void)close(server->wake[1]);
    (void)pthread_mutex_destroy(&server->lock);
}
