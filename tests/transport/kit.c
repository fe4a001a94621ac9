/* SPDX-License-Identifier: Apache-2.0 */
#include "kit.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define PATIENCE_MS 10000
#define TURNS_MAX 64

/* ThreadSanitizer asks this at start.  It takes two uses of a descriptor for
 * a race unless it saw the close in between, and libuv closes by system calls
 * that it doesn't see: every number that is used again would be one.  So it
 * shall not look at what libuv opens either; nor at what OpenSSL frees, whose
 * counters of references it cannot see. */
__attribute__((visibility("default"))) const char *
__tsan_default_suppressions(void);

const char *__tsan_default_suppressions(void)
{
    return "called_from_lib:libuv.so.1\n"
           "called_from_lib:libcrypto.so.3\n"
           "called_from_lib:libssl.so.3\n";
}

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ------------------------------------------------------------------ loop -- */

void kit_turn(uv_loop_t *loop)
{
    for (int i = 0; i < TURNS_MAX; i++) {
        (void)uv_run(loop, UV_RUN_NOWAIT);
        if (uv_backend_timeout(loop) != 0)
            return;
    }
}

void kit_run_until(uv_loop_t *loop, bool (*condition)(void *arg), void *arg)
{
    uint64_t until_ms = now_ms() + PATIENCE_MS;
    struct pollfd fd = {.fd = uv_backend_fd(loop), .events = POLLIN};

    for (kit_turn(loop); !condition(arg); kit_turn(loop)) {
        assert_true(now_ms() < until_ms);
        (void)poll(&fd, 1, 100);
    }
}

void kit_loop_end(uv_loop_t *loop)
{
    int rest;

    kit_turn(loop);
    rest = uv_loop_close(loop);
    if (rest != 0)
        uv_print_all_handles(loop, stderr);
    assert_int_equal(rest, 0);
}

static int entries(const char *path)
{
    DIR *directory = opendir(path);
    int count = 0;

    assert_non_null(directory);
    for (const struct dirent *entry = readdir(directory); entry != NULL;
         entry = readdir(directory))
        count += entry->d_name[0] != '.';
    (void)closedir(directory);
    return count;
}

int kit_fds(void)
{
    return entries("/proc/self/fd");
}

int kit_threads(void)
{
    return entries("/proc/self/task");
}

void kit_await_threads(int count)
{
    const struct timespec while_others_work = {0, 1000000};
    uint64_t until_ms = now_ms() + PATIENCE_MS;

    while (kit_threads() != count) {
        assert_true(now_ms() < until_ms);
        (void)nanosleep(&while_others_work, NULL);
    }
}

int kit_run_self(const char *argument)
{
    char program[] = "/proc/self/exe";
    char copy[64];
    char *words[] = {program, copy, NULL};
    int status = -1;
    pid_t child;

    (void)snprintf(copy, sizeof(copy), "%s", argument);
    assert_int_equal(posix_spawn(&child, program, NULL, NULL, words, environ),
                     0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* ---------------------------------------------------------------- server -- */

static struct sockaddr_in here(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
}

void server_listen(struct server *server, int backlog)
{
    struct sockaddr_in address = here(0);
    socklen_t bytes = sizeof(address);

    server->fd = -1;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(server->listener >= 0);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&address, bytes),
                     0);
    assert_int_equal(listen(server->listener, backlog), 0);
    assert_int_equal(
        getsockname(server->listener, (struct sockaddr *)&address, &bytes), 0);
    server->port = ntohs(address.sin_port);
}

static void await(int fd, short events)
{
    struct pollfd wanted = {.fd = fd, .events = events};

    assert_int_equal(poll(&wanted, 1, PATIENCE_MS), 1);
}

void server_accept(struct server *server)
{
    await(server->listener, POLLIN);
    server->fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(server->fd >= 0);
}

void server_send(struct server *server, const void *bytes, size_t count)
{
    assert_int_equal(send(server->fd, bytes, count, MSG_NOSIGNAL),
                     (ssize_t)count);
}

void server_receive(struct server *server, void *bytes, size_t count)
{
    ssize_t got;

    for (size_t at = 0; at < count; at += (size_t)got) {
        await(server->fd, POLLIN);
        got = recv(server->fd, (char *)bytes + at, count - at, 0);
        assert_true(got > 0);
    }
}

int server_await_end(struct server *server)
{
    char bytes[4096];
    ssize_t got;

    do {
        await(server->fd, POLLIN);
        got = recv(server->fd, bytes, sizeof(bytes), 0);
    } while (got > 0);
    return got == 0 ? 0 : errno;
}

void server_hang_up(struct server *server)
{
    assert_int_equal(close(server->fd), 0);
    server->fd = -1;
}

void server_reset(struct server *server)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};

    assert_int_equal(setsockopt(server->fd, SOL_SOCKET, SO_LINGER, &at_once,
                                sizeof(at_once)),
                     0);
    server_hang_up(server);
}

void server_stop(struct server *server)
{
    if (server->fd >= 0)
        server_hang_up(server);
    if (server->listener >= 0)
        assert_int_equal(close(server->listener), 0);
    server->listener = -1;
}

/* ---------------------------------------------------------------- client -- */

static void on_up(void *arg)
{
    struct client *client = arg;

    assert_false(client->up || client->down);
    client->told++;
    client->up = true;
    if (client->close_when_up)
        client_close(client, HF_CONNECTION_ABORT);
}

static void keep_last(struct client *client, const char *bytes, size_t count)
{
    size_t room = sizeof(client->last);

    if (count > room) {
        bytes += count - room;
        count = room;
    }
    memmove(client->last, client->last + count, room - count);
    memcpy(client->last + room - count, bytes, count);
}

static void on_received(void *arg, const void *bytes, size_t count)
{
    struct client *client = arg;
    size_t kept = count < sizeof(client->bytes) ? count : sizeof(client->bytes);

    assert_true(client->up && !client->down && count > 0);
    client->told++;
    client->received += count;
    memcpy(client->bytes, bytes, kept);
    keep_last(client, bytes, count);
    if (client->close_when_received)
        client_close(client, HF_CONNECTION_ABORT);
}

static void on_writable(void *arg)
{
    struct client *client = arg;

    assert_true(client->up && !client->down);
    client->told++;
    client->writable = true;
}

static void on_down(void *arg, hf_status status, const char *why)
{
    struct client *client = arg;

    assert_false(client->down);
    client->told++;
    client->down = true;
    client->status = status;
    if (client->close_when_down)
        client_close(client, HF_CONNECTION_ABORT);
    /* The text must outlive the link. */
    (void)snprintf(client->why, sizeof(client->why), "%s", why);
}

static void on_log(void *arg, enum hf_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void on_log(void *arg, enum hf_log_level level, const char *format, ...)
{
    struct client *client = arg;
    va_list args;

    assert_int_equal(level, HF_LOG_WARNING);
    client->logged++;
    va_start(args, format);
    (void)vsnprintf(client->log, sizeof(client->log), format, args);
    va_end(args);
}

void client_start(struct client *client)
{
    struct hf_resolver_log log = {.write = on_log};

    memset(client, 0, sizeof(*client));
    log.arg = client;
    assert_int_equal(uv_loop_init(&client->loop), 0);
    client->resolver = hf_resolver_new(&client->loop, &log);
    assert_non_null(client->resolver);
    client->way.loop = &client->loop;
    client->way.resolver = client->resolver;
}

bool client_open(struct client *client, const char *host, uint16_t port)
{
    const struct hf_connection_callbacks user = {
        .up = on_up,
        .received = on_received,
        .writable = on_writable,
        .down = on_down,
        .arg = client,
    };
    struct hf_connection_config way = client->way;
    char copy[HF_RESOLVER_HOST_BYTES];

    /* Theirs for the call only. */
    (void)snprintf(copy, sizeof(copy), "%s", host);
    way.host = copy;
    way.port = port;
    client->up = client->down = client->writable = false;
    client->received = 0;
    client->told = 0;
    client->link =
        hf_connection_open(&way, &user, &client->status, client->why);
    memset(copy, 'x', sizeof(copy));
    assert_int_equal(client->told, 0); /* never from inside the call */
    return client->link != NULL;
}

static bool is_up(void *arg)
{
    const struct client *client = arg;

    if (client->down)
        print_error("down: %s\n", client->why);
    assert_false(client->down);
    return client->up;
}

void client_await_up(struct client *client)
{
    kit_run_until(&client->loop, is_up, client);
}

static bool is_down(void *arg)
{
    return ((const struct client *)arg)->down;
}

void client_await_down(struct client *client)
{
    kit_run_until(&client->loop, is_down, client);
}

struct wanted {
    const struct client *client;
    size_t count;
};

static bool has_bytes(void *arg)
{
    const struct wanted *wanted = arg;

    return wanted->client->received >= wanted->count;
}

void client_await_bytes(struct client *client, size_t count)
{
    struct wanted wanted = {client, count};

    kit_run_until(&client->loop, has_bytes, &wanted);
    assert_int_equal(client->received, count);
}

static bool is_writable(void *arg)
{
    return ((const struct client *)arg)->writable;
}

void client_send(struct client *client, const void *bytes, size_t count)
{
    size_t taken;

    for (size_t at = 0; at < count; at += taken) {
        client->writable = false;
        assert_true(hf_connection_send(client->link, (const char *)bytes + at,
                                       count - at, &taken));
        assert_true(taken <= count - at);
        if (taken < count - at)
            kit_run_until(&client->loop, is_writable, client);
    }
}

void client_close(struct client *client, enum hf_connection_close_mode end)
{
    hf_connection_close(client->link, end);
    client->link = NULL;
}

void client_stop(struct client *client)
{
    unsigned told;

    if (client->link != NULL)
        client_close(client, HF_CONNECTION_ABORT);
    told = client->told;
    hf_resolver_free(client->resolver);
    kit_loop_end(&client->loop);
    assert_int_equal(client->told, told);
}
