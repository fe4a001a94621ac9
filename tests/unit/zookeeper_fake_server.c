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
#include "zk_server_frames.h"
#include "zookeeper/protocol.h"

/* ---------------------------------------------------------------- frames -- */

#define FRAME_BYTES 512
#define PATH_BYTES 256

/* A frame that the server is about to send.  It begins with memory of its own,
 * and needs no more. */
struct frame {
    uint8_t bytes[FRAME_BYTES];
    struct hf_jute_writer out;
};

static struct hf_jute_writer *begin_frame(struct frame *frame)
{
    frame->out =
        (struct hf_jute_writer){.bytes = frame->bytes, .size = FRAME_BYTES};
    return &frame->out;
}

#define SESSION 4711 /* the id of every session */
#define OTHER_SESSION 4712
#define ZXID 77 /* of every answer */

/* Zero but for the mzxid, the number of children, and the owner: every node is
 * an ephemeral one of the session, or of another one. */
static struct hf_zookeeper_stat
stat_of(const struct zookeeper_fake_server *server)
{
    return (struct hf_zookeeper_stat){
        .mzxid = server->behind && !server->synced ? 0 : server->mzxid,
        .ephemeral_owner = server->others ? OTHER_SESSION : SESSION,
        .children = server->children};
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
    assert_ptr_equal(frame->out.bytes, frame->bytes);
    (void)pthread_mutex_lock(&server->lock);
    if (server->fd >= 0)
        (void)send(server->fd, frame->bytes, frame->out.used, MSG_NOSIGNAL);
    (void)pthread_mutex_unlock(&server->lock);
}

/* --------------------------------------------------------------- answers -- */

/* A session that has ended has no id and no timeout. */
static void accept_session(struct zookeeper_fake_server *server,
                           const uint8_t *request)
{
    struct frame frame;
    bool forgotten;

    server->timeout_ms = get(request + 12);
    server->session_id = get(request + 20);
    forgotten = server->session_id != 0 && atomic_exchange(&server->forgets, 0);
    zk_server_old_session(begin_frame(&frame), server->timeout_ms,
                          forgotten ? 0 : SESSION);
    server->accepted = true;
    send_frame(server, &frame);
}

/* The record of a success about ${path}, which is a token of SASL. */
static void put_record(struct zookeeper_fake_server *server,
                       struct hf_jute_writer *out, int32_t opcode,
                       const char *path)
{
    struct hf_zookeeper_stat stat = stat_of(server);

    switch (opcode) {
    case HF_ZK_GET_DATA:
        hf_jute_put_string(out, "data");
        server->data_sent++;
        zk_server_put_stat(out, &stat);
        break;
    case HF_ZK_GET_CHILDREN2:
        hf_jute_put_int(out, 2);
        hf_jute_put_string(out, "a");
        hf_jute_put_string(out, "b");
        zk_server_put_stat(out, &stat);
        break;
    case HF_ZK_GET_ACL:
        hf_jute_put_int(out, 1);
        hf_jute_put_int(out, 31);
        hf_jute_put_string(out, "world");
        hf_jute_put_string(out, "anyone");
        zk_server_put_stat(out, &stat);
        break;
    case HF_ZK_SASL: /* the token comes back, unless it is "last" */
        if (strcmp(path, "last") == 0)
            hf_jute_put_null(out);
        else
            hf_jute_put_string(out, path);
        break;
    default:
        if (opcode == HF_ZK_SYNC)
            server->synced = true;
        zk_server_put_record(out, opcode, path, &stat);
    }
}

/* Copy what ${record} begins with, if that is a path; that of a ping has
 * nothing. */
static void read_path(const uint8_t *record, char path[PATH_BYTES])
{
    int32_t bytes = get(record);

    memset(path, 0, PATH_BYTES);
    if (bytes > 0 && bytes < PATH_BYTES)
        memcpy(path, record + 4, (size_t)bytes);
}

/* The error that the test wants for a call of ${opcode}; 0: none. */
static int32_t refusal_of(struct zookeeper_fake_server *server, int32_t opcode,
                          const char *path)
{
    int32_t (*refuses)(int32_t opcode, const char *path) = server->refuses;

    if (refuses != NULL)
        return refuses(opcode, path);
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
    char path[PATH_BYTES];
    struct frame frame;
    struct hf_jute_writer *out = begin_frame(&frame);
    int32_t error;
    size_t begin;
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
    read_path(request + 8, path);
    error = unknown ? HF_ZK_UNIMPLEMENTED : refusal_of(server, opcode, path);
    begin = zk_server_begin(out, xid, ZXID, error);
    if (xid > 0 && error == 0)
        put_record(server, out, opcode, path);
    hf_jute_end_frame(out, begin);
    send_frame(server, &frame);
    if (atomic_exchange(&server->hangs_up, false) || unknown)
        zookeeper_fake_cut(server);
    server->answers += counts;
}

void zookeeper_fake_fire(struct zookeeper_fake_server *server, int32_t type,
                         const char *path)
{
    struct frame frame;

    zk_server_event(begin_frame(&frame), ZXID, type, path);
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

    if (server->away) {
        (void)close(fd);
        return;
    }
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
