/* SPDX-License-Identifier: Apache-2.0 */
#include "seat.h"

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

#include "engines/zookeeper/zookeeper.h"

#define PATIENCE_MS 10000

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

static void greet(struct peer *peer, const unsigned char *request)
{
    unsigned char answer[41] = {0};

    put(answer, 37, 4);
    memcpy(answer + 8, request + 12, 4); /* the timeout that it asks for */
    put(answer + 12, 4711, 8);           /* the session */
    put(answer + 20, 16, 4);             /* its password's length */
    peer->greeted = true;
    server_send(&peer->server, answer, sizeof(answer));
}

static void agree(struct peer *peer, const unsigned char *request)
{
    unsigned char answer[20] = {0};

    put(answer, 16, 4);
    memcpy(answer + 4, request, 4);
    put(answer + 8, 1, 8);
    server_send(&peer->server, answer, sizeof(answer));
    if (get(request + 4) == (uint32_t)-11) /* closeSession */
        server_hang_up(&peer->server);
}

static void answer_frames(struct peer *peer)
{
    size_t at = 0;
    size_t bytes;

    while (peer->server.fd >= 0 && peer->used - at >= 4) {
        bytes = 4 + get(peer->bytes + at);
        if (bytes > peer->used - at)
            break;
        if (peer->greeted)
            agree(peer, peer->bytes + at + 4);
        else
            greet(peer, peer->bytes + at + 4);
        at += bytes;
    }
    memmove(peer->bytes, peer->bytes + at, peer->used - at);
    peer->used -= at;
}

/* Do what there is to do, without waiting. */
void peer_serve(struct peer *peer)
{
    struct pollfd fd = {.fd = peer->server.listener, .events = POLLIN};
    ssize_t got;

    if (peer->manner == REFUSES || peer->manner == KEEPS_SILENT)
        return;
    if (peer->server.fd < 0 && poll(&fd, 1, 0) == 1) {
        server_accept(&peer->server);
        peer->greeted = false;
        peer->used = 0;
    }
    if (peer->server.fd < 0)
        return;
    if (peer->manner == HANGS_UP) {
        server_hang_up(&peer->server);
        return;
    }
    got = recv(peer->server.fd, peer->bytes + peer->used,
               sizeof(peer->bytes) - peer->used, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN))
        server_hang_up(&peer->server);
    if (got <= 0)
        return;
    peer->used += (size_t)got;
    if (memmem(peer->bytes, peer->used, "u:" SEAT_PASSWORD, 7) != NULL)
        peer->heard_password = true;
    answer_frames(peer);
}

void peer_start(struct peer *peer, enum manner manner)
{
    memset(peer, 0, sizeof(*peer));
    peer->manner = manner;
    server_listen(&peer->server, 16);
    if (manner == REFUSES)
        server_stop(&peer->server);
}

/* ------------------------------------------------------------------ seat -- */

static void on_event(void *arg, struct hf_event *event)
{
    struct seat *seat = arg;

    assert_false(seat->closed);
    seat->events++;
    if (event->kind == HF_EVENT_CONNECTED)
        seat->connected = true;
    if (event->kind == HF_EVENT_SUSPENDED)
        seat->connected = false;
    seat->closed = event->kind == HF_EVENT_CLOSED;
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
    return &((struct seat *)arg)->loop;
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
    assert_null(strstr(line, SEAT_PASSWORD));
}

void seat_start(struct seat *seat)
{
    memset(seat, 0, sizeof(*seat));
    assert_int_equal(uv_loop_init(&seat->loop), 0);
    seat->host = (struct hf_engine_host){
        .event = on_event,
        .now_ms = now_ms,
        .loop = get_loop,
        .log = on_log,
        .host = seat,
    };
}

hf_status seat_open(struct seat *seat, const char *text)
{
    struct hf_url url;
    hf_status status;

    seat->closed = seat->connected = false;
    seat->error = (struct hf_error){HF_OK, ""};
    status = hf_url_parse(text, &url, &seat->error);
    if (status != HF_OK)
        return status;
    seat->ops = strcmp(url.scheme, "zks") == 0 ? &hf_engine_zookeeper_tls
                                               : &hf_engine_zookeeper;
    status = seat->ops->open(&url, &seat->host, &seat->engine, &seat->error);
    hf_url_free(&url);
    assert_int_equal(status == HF_OK, seat->engine != NULL);
    assert_null(strstr(seat->error.text, SEAT_PASSWORD));
    return status;
}

void seat_open_at(struct seat *seat, const struct peer *peer,
                  const char *options)
{
    char url[256];

    (void)snprintf(url, sizeof(url), "zk://u:%s@127.0.0.1:%u/locks%s",
                   SEAT_PASSWORD, (unsigned)peer->server.port, options);
    if (seat_open(seat, url) != HF_OK)
        fail_msg("%s", seat->error.text);
}

/* Until ${what} becomes true, the server doing its part. */
void seat_run_until(struct seat *seat, struct peer *peer, const bool *what)
{
    uint64_t until_ms = now_ms(NULL) + PATIENCE_MS;
    struct pollfd fd = {.fd = uv_backend_fd(&seat->loop), .events = POLLIN};

    for (kit_turn(&seat->loop); !*what; kit_turn(&seat->loop)) {
        assert_true(now_ms(NULL) < until_ms);
        peer_serve(peer);
        (void)poll(&fd, 1, 2);
    }
}

void seat_end(struct seat *seat, struct peer *peer)
{
    struct hf_request end = {.kind = HF_REQUEST_END, .payload = ""};
    unsigned events;

    seat->ops->request(seat->engine, &end);
    seat_run_until(seat, peer, &seat->closed);
    events = seat->events;
    seat->ops->free(seat->engine);
    seat->engine = NULL;
    kit_turn(&seat->loop);
    assert_int_equal(seat->events, events);
}
