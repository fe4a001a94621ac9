/* SPDX-License-Identifier: Apache-2.0 */
/* The loop, the server and the link, on one thread. */
#include "link_fixture.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define TIMEOUT_MS 60000
#define TURNS_MAX 64

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ------------------------------------------------------------------ loop -- */

void loop_turn(uv_loop_t *loop)
{
    for (int i = 0; i < TURNS_MAX; i++) {
        (void)uv_run(loop, UV_RUN_NOWAIT);
        if (uv_backend_timeout(loop) != 0)
            return;
    }
}

void loop_run_until(uv_loop_t *loop, bool (*condition)(void *arg), void *arg)
{
    uint64_t until_ms = now_ms() + TIMEOUT_MS;
    struct pollfd fd = {.fd = uv_backend_fd(loop), .events = POLLIN};

    for (loop_turn(loop); !condition(arg); loop_turn(loop)) {
        assert_true(now_ms() < until_ms);
        (void)poll(&fd, 1, 100);
    }
}

void loop_end(uv_loop_t *loop)
{
    int rc;

    loop_turn(loop);
    rc = uv_loop_close(loop);
    if (rc != 0)
        uv_print_all_handles(loop, stderr);
    assert_int_equal(rc, 0);
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

int count_fds(void)
{
    return entries("/proc/self/fd");
}

int count_threads(void)
{
    return entries("/proc/self/task");
}

void await_threads(int count)
{
    const struct timespec pause = {0, 1000000};
    uint64_t until_ms = now_ms() + TIMEOUT_MS;

    while (count_threads() != count) {
        assert_true(now_ms() < until_ms);
        (void)nanosleep(&pause, NULL);
    }
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

void fake_server_listen(struct fake_server *server, int backlog)
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
    struct pollfd wait_condition = {.fd = fd, .events = events};

    assert_int_equal(poll(&wait_condition, 1, TIMEOUT_MS), 1);
}

void fake_server_accept(struct fake_server *server)
{
    await(server->listener, POLLIN);
    server->fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(server->fd >= 0);
}

void fake_server_send(struct fake_server *server, const void *bytes,
                      size_t count)
{
    assert_int_equal(send(server->fd, bytes, count, MSG_NOSIGNAL),
                     (ssize_t)count);
}

void fake_server_receive(struct fake_server *server, void *bytes, size_t count)
{
    ssize_t got;

    for (size_t at = 0; at < count; at += (size_t)got) {
        await(server->fd, POLLIN);
        got = recv(server->fd, (char *)bytes + at, count - at, 0);
        assert_true(got > 0);
    }
}

int fake_server_await_end(struct fake_server *server)
{
    char bytes[4096];
    ssize_t got;

    do {
        await(server->fd, POLLIN);
        got = recv(server->fd, bytes, sizeof(bytes), 0);
    } while (got > 0);
    return got == 0 ? 0 : errno;
}

void fake_server_hang_up(struct fake_server *server)
{
    assert_int_equal(close(server->fd), 0);
    server->fd = -1;
}

void fake_server_reset(struct fake_server *server)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};

    assert_int_equal(setsockopt(server->fd, SOL_SOCKET, SO_LINGER, &at_once,
                                sizeof(at_once)),
                     0);
    fake_server_hang_up(server);
}

void fake_server_stop(struct fake_server *server)
{
    if (server->fd >= 0)
        fake_server_hang_up(server);
    if (server->listener >= 0)
        assert_int_equal(close(server->listener), 0);
    server->listener = -1;
}

/* ---------------------------------------------------------------- client -- */

static void on_up(void *arg)
{
    struct link_fixture *fixture = arg;

    assert_false(fixture->up || fixture->down);
    fixture->callbacks++;
    fixture->up = true;
    if (fixture->close_when_up)
        link_fixture_close(fixture, HF_CONNECTION_ABORT);
}

static void keep_last(struct link_fixture *fixture, const char *bytes,
                      size_t count)
{
    size_t room = sizeof(fixture->last);

    if (count > room) {
        bytes += count - room;
        count = room;
    }
    memmove(fixture->last, fixture->last + count, room - count);
    memcpy(fixture->last + room - count, bytes, count);
}

static void on_received(void *arg, const void *bytes, size_t count)
{
    struct link_fixture *fixture = arg;
    size_t kept =
        count < sizeof(fixture->bytes) ? count : sizeof(fixture->bytes);

    assert_true(fixture->up && !fixture->down && count > 0);
    fixture->callbacks++;
    fixture->received += count;
    memcpy(fixture->bytes, bytes, kept);
    keep_last(fixture, bytes, count);
    if (fixture->close_when_received)
        link_fixture_close(fixture, HF_CONNECTION_ABORT);
}

static void on_writable(void *arg)
{
    struct link_fixture *fixture = arg;

    assert_true(fixture->up && !fixture->down);
    fixture->callbacks++;
    fixture->writable = true;
}

static void on_down(void *arg, hf_status status, const char *why)
{
    struct link_fixture *fixture = arg;

    assert_false(fixture->down);
    fixture->callbacks++;
    fixture->down = true;
    fixture->status = status;
    if (fixture->close_when_down)
        link_fixture_close(fixture, HF_CONNECTION_ABORT);
    /* The text is valid only during the callback. */
    (void)snprintf(fixture->why, sizeof(fixture->why), "%s", why);
}

static void on_log(void *arg, enum hf_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void on_log(void *arg, enum hf_log_level level, const char *format, ...)
{
    struct link_fixture *fixture = arg;
    va_list args;

    assert_int_equal(level, HF_LOG_WARNING);
    fixture->logged++;
    va_start(args, format);
    (void)vsnprintf(fixture->log, sizeof(fixture->log), format, args);
    va_end(args);
}

/* The clock of the resolver stands still until a test moves it. */
static uint64_t resolver_now_ms(void *arg)
{
    return ((const struct link_fixture *)arg)->resolver_ms;
}

void link_fixture_start(struct link_fixture *fixture)
{
    struct hf_resolver_host host = {NULL, on_log, resolver_now_ms};

    memset(fixture, 0, sizeof(*fixture));
    host.host = fixture;
    assert_int_equal(uv_loop_init(&fixture->loop), 0);
    fixture->resolver = hf_resolver_new(&fixture->loop, &host);
    assert_non_null(fixture->resolver);
    fixture->way.loop = &fixture->loop;
    fixture->way.resolver = fixture->resolver;
}

bool link_fixture_open(struct link_fixture *fixture, const char *host,
                       uint16_t port)
{
    const struct hf_connection_callbacks user = {
        .up = on_up,
        .received = on_received,
        .writable = on_writable,
        .down = on_down,
        .arg = fixture,
    };
    struct hf_connection_config way = fixture->way;
    char copy[HF_HOST_BYTES];

    /* These are valid only during the call. */
    (void)snprintf(copy, sizeof(copy), "%s", host);
    way.host = copy;
    way.port = port;
    fixture->up = fixture->down = fixture->writable = false;
    fixture->received = 0;
    fixture->callbacks = 0;
    fixture->link =
        hf_connection_open(&way, &user, &fixture->status, fixture->why);
    memset(copy, 'x', sizeof(copy));
    assert_int_equal(fixture->callbacks, 0); /* never from inside the call */
    return fixture->link != NULL;
}

static bool is_up(void *arg)
{
    const struct link_fixture *fixture = arg;

    if (fixture->down)
        print_error("down: %s\n", fixture->why);
    assert_false(fixture->down);
    return fixture->up;
}

void link_fixture_await_up(struct link_fixture *fixture)
{
    loop_run_until(&fixture->loop, is_up, fixture);
}

static bool is_down(void *arg)
{
    return ((const struct link_fixture *)arg)->down;
}

void link_fixture_await_down(struct link_fixture *fixture)
{
    loop_run_until(&fixture->loop, is_down, fixture);
}

struct wait_condition {
    const struct link_fixture *fixture;
    size_t count;
};

static bool has_bytes(void *arg)
{
    const struct wait_condition *wait_condition = arg;

    return wait_condition->fixture->received >= wait_condition->count;
}

void link_fixture_await_bytes(struct link_fixture *fixture, size_t count)
{
    struct wait_condition wait_condition = {fixture, count};

    loop_run_until(&fixture->loop, has_bytes, &wait_condition);
    assert_int_equal(fixture->received, count);
}

static bool is_writable(void *arg)
{
    return ((const struct link_fixture *)arg)->writable;
}

void link_fixture_send(struct link_fixture *fixture, const void *bytes,
                       size_t count)
{
    size_t taken;

    for (size_t at = 0; at < count; at += taken) {
        fixture->writable = false;
        assert_true(hf_connection_send(fixture->link, (const char *)bytes + at,
                                       count - at, &taken));
        assert_true(taken <= count - at);
        if (taken < count - at)
            loop_run_until(&fixture->loop, is_writable, fixture);
    }
}

void link_fixture_close(struct link_fixture *fixture,
                        enum hf_connection_close_mode end)
{
    hf_connection_close(fixture->link, end);
    fixture->link = NULL;
}

void link_fixture_stop(struct link_fixture *fixture)
{
    unsigned notified;

    if (fixture->link != NULL)
        link_fixture_close(fixture, HF_CONNECTION_ABORT);
    notified = fixture->callbacks;
    hf_resolver_free(fixture->resolver);
    loop_end(&fixture->loop);
    assert_int_equal(fixture->callbacks, notified);
}
