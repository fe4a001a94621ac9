/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/bench_zk.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include <cmocka.h>

#include "conformance/raw_zk.h"
#include "conformance/seat.h"
#include "engines/zookeeper/node.h"
#include "engines/zookeeper/permit.h"
#include "engines/zookeeper/zookeeper.h"

#define PUMP_TICKS_MAX 1500 /* of 20 ms: a session ends in a tenth of it */
#define CLOSE_TURNS_MAX 100
#define ROOT_BYTES 64
#define PATH_BYTES 4096

struct zk_bench {
    char root[ROOT_BYTES];
    unsigned roots; /* so far */
    const char *timeout;
    enum hf_zk_dialect layout;
    struct raw_zk *raw;
    uv_loop_t loop;
    uv_timer_t tick;
    unsigned ticks;
};

static struct zk_bench place;

static const char *server(void)
{
    const char *servers = getenv("HF_ZK");

    if (servers == NULL)
        fail_msg("HF_ZK has no server; start this by tests/servers/serve.py");
    return servers;
}

/* ------------------------------------------------------------------ host -- */

static uint64_t now_ms(void *host)
{
    struct timespec now;

    (void)host;
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static uv_loop_t *loop(void *host)
{
    (void)host;
    return &place.loop;
}

__attribute__((format(printf, 3, 4))) static void
log_line(void *host, enum hf_log_level level, const char *format, ...)
{
    va_list args;

    (void)host;
    if (level > HF_LOG_WARNING)
        return;
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
}

static void on_tick(uv_timer_t *timer)
{
    (void)timer;
    place.ticks++;
}

static void begin_loop(void)
{
    assert_int_equal(uv_loop_init(&place.loop), 0);
    assert_int_equal(uv_timer_init(&place.loop, &place.tick), 0);
}

static void finish_loop(void)
{
    int rest = UV_EBUSY;

    uv_close((uv_handle_t *)&place.tick, NULL);
    for (unsigned i = 0; i < CLOSE_TURNS_MAX && rest != 0; i++) {
        (void)uv_run(&place.loop, UV_RUN_NOWAIT);
        rest = uv_loop_close(&place.loop);
    }
    assert_int_equal(rest, 0);
}

/* ----------------------------------------------------------------- bench -- */

static void begin(struct bench *bench)
{
    (void)bench;
    place.timeout = "10s";
    (void)snprintf(place.root, sizeof(place.root), "/conformance-%d-%u",
                   (int)getpid(), place.roots++);
    place.raw = raw_zk_open(server());
    raw_zk_create(place.raw, place.root);
    begin_loop();
}

static bool is_ticket(const char *name)
{
    struct hf_zk_node node;

    return hf_zk_node_parse(name, strlen(name), &node) ||
           hf_zk_permit_parse(name, strlen(name), &node);
}

static void finish(struct bench *bench)
{
    size_t left = raw_zk_clear(place.raw, place.root, is_ticket);

    (void)bench;
    raw_zk_close(place.raw);
    finish_loop();
    assert_int_equal(left, 0);
}

static struct hf_engine *open_client(struct bench *bench,
                                     const struct hf_engine_host *host)
{
    struct hf_engine_host whole = *host;
    struct hf_engine *engine = NULL;
    struct hf_error error = {HF_OK, ""};
    struct hf_url url;
    char text[256];

    whole.now_ms = now_ms;
    whole.loop = loop;
    whole.log = log_line;
    (void)snprintf(text, sizeof(text), "zk://%s%s?timeout=%s&layout=%s",
                   server(), place.root, place.timeout,
                   hf_zk_layout_name(place.layout));
    if (hf_url_parse(text, &url, &error) != HF_OK ||
        bench->ops->open(&url, &whole, &engine, &error) != HF_OK)
        fail_msg("%s", error.text);
    hf_url_free(&url);
    return engine;
}

static void pump(struct bench *bench, bool (*done)(void *arg), void *arg)
{
    (void)bench;
    place.ticks = 0;
    assert_int_equal(uv_timer_start(&place.tick, on_tick, 20, 20), 0);
    while (!done(arg) && place.ticks < PUMP_TICKS_MAX)
        (void)uv_run(&place.loop, UV_RUN_ONCE);
    (void)uv_timer_stop(&place.tick);
}

/* ---------------------------------------------------------------- victim -- */

struct victim {
    pid_t pid;
};

/* In the child, which has the parent's loop but must not touch it: take the
 * ticket, say so, and live until killed. */
static void be_victim(struct bench *bench, const char *queue,
                      struct hf_ticket_id id, uint32_t weight, int said)
{
    struct seat *seat;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* should the test fail */
    begin_loop();
    place.timeout = "1s"; /* what the server then takes to see the death */
    seat = seat_open(bench);
    if (weight > 0)
        (void)seat_lease(seat, queue, id, weight);
    else
        (void)seat_enqueue(seat, queue, id, HF_TICKET_MUTEX, "victim");
    if (write(said, "x", 1) != 1)
        _exit(1);
    for (;;)
        (void)uv_run(&place.loop, UV_RUN_ONCE);
}

static struct victim *victim_start(struct bench *bench, const char *queue,
                                   struct hf_ticket_id id, uint32_t weight)
{
    struct victim *victim = calloc(1, sizeof(*victim));
    int said[2];
    char byte;

    assert_non_null(victim);
    assert_int_equal(pipe(said), 0);
    victim->pid = fork();
    assert_true(victim->pid >= 0);
    if (victim->pid == 0)
        be_victim(bench, queue, id, weight, said[1]);
    (void)close(said[1]);
    assert_int_equal(read(said[0], &byte, 1), 1);
    (void)close(said[0]);
    return victim;
}

static void victim_kill(struct bench *bench, struct victim *victim)
{
    (void)bench;
    assert_int_equal(kill(victim->pid, SIGKILL), 0);
    assert_int_equal(waitpid(victim->pid, NULL, 0), victim->pid);
    free(victim);
}

static void evict(struct bench *bench, const char *queue,
                  const struct hf_ticket *ticket)
{
    /* Kazoo's layout has one name for both. */
    enum hf_ticket_kind kind =
        ticket->kind == HF_TICKET_EXCLUSIVE ? HF_TICKET_MUTEX : ticket->kind;
    char parent[HF_ZK_QUEUE_PATH_BYTES];
    char prefix[HF_ZK_PREFIX_BYTES];
    char name[HF_ZK_NODE_BYTES];
    char path[PATH_BYTES];

    (void)bench;
    if (hf_zk_queue_path(place.layout, place.root, queue, parent)) {
        hf_zk_permit_name(&ticket->id, 0, name);
    } else {
        assert_true(hf_zk_node_prefix(place.layout, &ticket->id, kind, prefix));
        hf_zk_node_number(prefix, (int32_t)ticket->sequence, name);
    }
    (void)snprintf(path, sizeof(path), "%s/%s", parent, name);
    assert_true(raw_zk_delete(place.raw, path));
}

static void shut(uv_handle_t *handle, void *arg)
{
    int fd;

    (void)arg;
    if (handle->type == UV_POLL && !uv_is_closing(handle) &&
        uv_fileno(handle, &fd) == 0)
        (void)shutdown(fd, SHUT_RDWR);
}

/* As if the network had: the engines are not asked. */
static void cut(struct bench *bench)
{
    (void)bench;
    uv_walk(&place.loop, shut, NULL);
}

int bench_zk_run(enum hf_zk_dialect layout, const enum hf_ticket_kind *shown)
{
    char name[64];
    struct bench bench = {
        .name = name,
        .ops = &hf_engine_zookeeper,
        .begin = begin,
        .finish = finish,
        .open = open_client,
        .pump = pump,
        .victim_start = victim_start,
        .victim_kill = victim_kill,
        .evict = evict,
        .shown = shown,
        .leases_have_no_order = layout == HF_ZK_KAZOO,
        .cut = cut,
    };

    (void)snprintf(name, sizeof(name), "conformance of zookeeper, layout=%s",
                   hf_zk_layout_name(layout));
    place.layout = layout;
    return suite_run(&bench);
}
