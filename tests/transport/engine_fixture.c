/* SPDX-License-Identifier: Apache-2.0 */
/* The ZooKeeper engine and the server that it talks to, on one thread. */
#include "engine_fixture.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <cmocka.h>

#include "base/engine_host.h"
#include "base/url.h"
#include "engines/zookeeper/zookeeper.h"

#define TIMEOUT_MS 10000

/* ---------------------------------------------------------------- server -- */

static void put(unsigned char *to, uint64_t value, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--, value >>= 8)
        to[i] = (unsigned char)value;
}

static uint32_t get(const unsigned char *from)
{
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 |
           (uint32_t)from[2] << 8 | from[3];
}

static void accept_session(struct fake_zookeeper *zookeeper,
                           const unsigned char *request)
{
    unsigned char answer[41] = {0};

    put(answer, 37, 4);
    memcpy(answer + 8, request + 12, 4); /* the timeout that it asks for */
    put(answer + 12, 4711, 8);           /* the session */
    put(answer + 20, 16, 4);             /* its password's length */
    zookeeper->session_accepted = true;
    fake_server_send(&zookeeper->server, answer, sizeof(answer));
}

static void agree(struct fake_zookeeper *zookeeper,
                  const unsigned char *request)
{
    unsigned char answer[20] = {0};

    put(answer, 16, 4);
    memcpy(answer + 4, request, 4);
    put(answer + 8, 1, 8);
    fake_server_send(&zookeeper->server, answer, sizeof(answer));
    if (get(request + 4) == (uint32_t)-11) /* closeSession */
        fake_server_hang_up(&zookeeper->server);
}

static void answer_frames(struct fake_zookeeper *zookeeper)
{
    size_t at = 0;
    size_t bytes;

    while (zookeeper->server.fd >= 0 && zookeeper->used - at >= 4) {
        bytes = 4 + get(zookeeper->bytes + at);
        if (bytes > zookeeper->used - at)
            break;
        if (zookeeper->session_accepted)
            agree(zookeeper, zookeeper->bytes + at + 4);
        else
            accept_session(zookeeper, zookeeper->bytes + at + 4);
        at += bytes;
    }
    memmove(zookeeper->bytes, zookeeper->bytes + at, zookeeper->used - at);
    zookeeper->used -= at;
}

void fake_zookeeper_serve(struct fake_zookeeper *zookeeper)
{
    struct pollfd fd = {.fd = zookeeper->server.listener, .events = POLLIN};
    ssize_t got;

    if (zookeeper->fake_zookeeper_mode == REFUSES ||
        zookeeper->fake_zookeeper_mode == KEEPS_SILENT)
        return;
    if (zookeeper->server.fd < 0 && poll(&fd, 1, 0) == 1) {
        fake_server_accept(&zookeeper->server);
        zookeeper->session_accepted = false;
        zookeeper->used = 0;
    }
    if (zookeeper->server.fd < 0)
        return;
    if (zookeeper->fake_zookeeper_mode == HANGS_UP) {
        fake_server_hang_up(&zookeeper->server);
        return;
    }
    got = recv(zookeeper->server.fd, zookeeper->bytes + zookeeper->used,
               sizeof(zookeeper->bytes) - zookeeper->used, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN))
        fake_server_hang_up(&zookeeper->server);
    if (got <= 0)
        return;
    zookeeper->used += (size_t)got;
    if (memmem(zookeeper->bytes, zookeeper->used, "u:" ENGINE_FIXTURE_PASSWORD,
               7) != NULL)
        zookeeper->received_password = true;
    answer_frames(zookeeper);
}

void fake_zookeeper_start(struct fake_zookeeper *zookeeper,
                          enum fake_zookeeper_mode fake_zookeeper_mode)
{
    memset(zookeeper, 0, sizeof(*zookeeper));
    zookeeper->fake_zookeeper_mode = fake_zookeeper_mode;
    fake_server_listen(&zookeeper->server, 16);
    if (fake_zookeeper_mode == REFUSES)
        fake_server_stop(&zookeeper->server);
}

/* --------------------------------------------------------------- engine -- */

static void on_event(void *arg, struct hf_event *event)
{
    struct engine_fixture *fixture = arg;

    assert_false(fixture->closed);
    fixture->events++;
    if (event->kind == HF_EVENT_CONNECTED)
        fixture->connected = true;
    if (event->kind == HF_EVENT_SUSPENDED)
        fixture->connected = false;
    fixture->closed = event->kind == HF_EVENT_CLOSED;
}

static uint64_t now_ms(void *arg)
{
    struct timespec now;

    (void)arg;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static struct uv_loop_s *get_loop(void *arg)
{
    return &((struct engine_fixture *)arg)->loop;
}

static void on_log(void *arg, enum hf_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void on_log(void *arg, enum hf_log_level level, const char *format, ...)
{
    char line[1024];
    va_list args;

    (void)arg;
    (void)level;
    va_start(args, format);
    (void)vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    assert_null(strstr(line, ENGINE_FIXTURE_PASSWORD));
}

void engine_fixture_start(struct engine_fixture *fixture)
{
    memset(fixture, 0, sizeof(*fixture));
    assert_int_equal(uv_loop_init(&fixture->loop), 0);
    fixture->host = (struct hf_engine_host){
        .event = on_event,
        .now_ms = now_ms,
        .loop = get_loop,
        .log = on_log,
        .host = fixture,
    };
}

hf_status engine_fixture_open(struct engine_fixture *fixture, const char *text)
{
    struct hf_url url;
    hf_status status;

    fixture->closed = fixture->connected = false;
    fixture->error = (struct hf_error){HF_OK, ""};
    status = hf_url_parse(text, &url, &fixture->error);
    if (status != HF_OK)
        return status;
    fixture->ops = strcmp(url.scheme, "zks") == 0 ? &hf_engine_zookeeper_tls
                                                  : &hf_engine_zookeeper;
    status = fixture->ops->open(&url, &fixture->host, &fixture->engine,
                                &fixture->error);
    hf_url_free(&url);
    assert_int_equal(status == HF_OK, fixture->engine != NULL);
    assert_null(strstr(fixture->error.text, ENGINE_FIXTURE_PASSWORD));
    return status;
}

void engine_fixture_open_at(struct engine_fixture *fixture,
                            const struct fake_zookeeper *zookeeper,
                            const char *options)
{
    char url[256];

    (void)snprintf(url, sizeof(url), "zk://u:%s@127.0.0.1:%u/locks%s",
                   ENGINE_FIXTURE_PASSWORD, (unsigned)zookeeper->server.port,
                   options);
    if (engine_fixture_open(fixture, url) != HF_OK)
        fail_msg("%s", fixture->error.text);
}

void engine_fixture_run_until(struct engine_fixture *fixture,
                              struct fake_zookeeper *zookeeper,
                              const bool *what)
{
    uint64_t until_ms = now_ms(NULL) + TIMEOUT_MS;
    struct pollfd fd = {.fd = uv_backend_fd(&fixture->loop), .events = POLLIN};

    for (loop_turn(&fixture->loop); !*what; loop_turn(&fixture->loop)) {
        assert_true(now_ms(NULL) < until_ms);
        fake_zookeeper_serve(zookeeper);
        (void)poll(&fd, 1, 2);
    }
}

void engine_fixture_end(struct engine_fixture *fixture,
                        struct fake_zookeeper *zookeeper)
{
    struct hf_request end = {.kind = HF_REQUEST_END, .payload = ""};
    unsigned events;

    fixture->ops->request(fixture->engine, &end);
    engine_fixture_run_until(fixture, zookeeper, &fixture->closed);
    events = fixture->events;
    fixture->ops->free(fixture->engine);
    fixture->engine = NULL;
    loop_turn(&fixture->loop);
    assert_int_equal(fixture->events, events);
}
