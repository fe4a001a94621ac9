/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/bench_file.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include <cmocka.h>

#include "conformance/seat.h"
#include "engines/file/entry.h"
#include "engines/file/file.h"

#define PUMP_TICKS_MAX 500 /* of 20 ms: far beyond what anything here takes */

struct file_bench {
    char root[64];
    uv_loop_t loop;
    uv_timer_t tick;
    unsigned ticks;
    const char *query; /* more of the URL */
    char log[512];     /* the last line */
};

static struct file_bench place;

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
    (void)level;
    va_start(args, format);
    (void)vsnprintf(place.log, sizeof(place.log), format, args);
    va_end(args);
}

static void on_tick(uv_timer_t *timer)
{
    (void)timer;
    place.ticks++;
}

static void begin(struct bench *bench)
{
    (void)bench;
    place.log[0] = '\0';
    place.query = "";
    (void)snprintf(place.root, sizeof(place.root), "/tmp/holdfast-test-XXXXXX");
    assert_non_null(mkdtemp(place.root));
    assert_int_equal(uv_loop_init(&place.loop), 0);
    assert_int_equal(uv_timer_init(&place.loop, &place.tick), 0);
}

static void finish(struct bench *bench)
{
    char command[320];
    int rest = UV_EBUSY;

    (void)bench;
    uv_close((uv_handle_t *)&place.tick, NULL);
    for (unsigned i = 0; i < 10 && rest != 0; i++) {
        (void)uv_run(&place.loop, UV_RUN_NOWAIT);
        rest = uv_loop_close(&place.loop);
    }
    assert_int_equal(rest, 0);
    /* Nothing of any client, if there was one, is left: no ticket, and no lock
     * either. */
    (void)snprintf(command, sizeof(command),
                   "{ test ! -e %s/locks || rmdir %s/locks; } && rm -r %s",
                   place.root, place.root, place.root);
    assert_int_equal(system(command), 0);
}

static struct hf_engine *open_client(struct bench *bench,
                                     const struct hf_engine_host *host)
{
    struct hf_engine_host whole = *host;
    struct hf_engine *engine = NULL;
    struct hf_error error = {HF_OK, ""};
    struct hf_url url;
    char text[256];

    (void)bench;
    whole.now_ms = now_ms;
    whole.loop = loop;
    whole.log = log_line;
    (void)snprintf(text, sizeof(text), "file:%s?state=%s/state-%u%s",
                   place.root, place.root, (unsigned)geteuid(), place.query);
    if (hf_url_parse(text, &url, &error) != HF_OK ||
        hf_engine_file.open(&url, &whole, &engine, &error) != HF_OK)
        fail_msg("%s", error.text);
    hf_url_free(&url);
    return engine;
}

static void pump(struct bench *bench, bool (*done)(void *arg), void *arg)
{
    (void)bench;
    place.ticks = 0;
    assert_int_equal(uv_timer_start(&place.tick, on_tick, 20, 20), 0);
    /* What is due, at any rate; without the timer the loop would not look. */
    (void)uv_run(&place.loop, UV_RUN_NOWAIT);
    while (!done(arg) && place.ticks < PUMP_TICKS_MAX)
        (void)uv_run(&place.loop, UV_RUN_ONCE);
    (void)uv_timer_stop(&place.tick);
}

struct victim {
    pid_t pid;
};

pid_t bench_file_fork(void (*run)(void *arg), void *arg)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    /* The parent's loop is not ours to touch. */
    if (uv_loop_init(&place.loop) != 0 ||
        uv_timer_init(&place.loop, &place.tick) != 0)
        _exit(70);
    run(arg);
    _exit(0);
}

struct victim_task {
    struct bench *bench;
    const char *queue;
    struct hf_ticket_id id;
    uint32_t weight;
    int said;
};

/* In the child: take the ticket, say so, and wait to be killed. */
static void be_victim(void *arg)
{
    struct victim_task *task = arg;
    struct seat *seat = seat_open(task->bench);

    if (task->weight > 0)
        (void)seat_lease(seat, task->queue, task->id, task->weight);
    else
        (void)seat_enqueue(seat, task->queue, task->id, HF_TICKET_MUTEX,
                           "victim");
    if (write(task->said, "x", 1) != 1)
        _exit(1);
    for (;;)
        (void)pause();
}

static struct victim *victim_start(struct bench *bench, const char *queue,
                                   struct hf_ticket_id id, uint32_t weight)
{
    struct victim *victim = calloc(1, sizeof(*victim));
    struct victim_task task = {
        .bench = bench, .queue = queue, .id = id, .weight = weight};
    int said[2];
    char byte;

    assert_non_null(victim);
    assert_int_equal(pipe(said), 0);
    task.said = said[1];
    victim->pid = bench_file_fork(be_victim, &task);
    assert_true(victim->pid > 0);
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
    char file[HF_PAYLOAD_FILE_BYTES];
    char dir[BENCH_FILE_PATH_BYTES];
    char path[BENCH_FILE_PATH_BYTES + sizeof(file)];

    (void)bench;
    bench_file_path(queue, dir);
    hf_ticket_file_format(ticket, file);
    (void)snprintf(path, sizeof(path), "%s/%s", dir, file);
    assert_int_equal(unlink(path), 0);
}

struct bench bench_file = {
    .name = "file",
    .ops = &hf_engine_file,
    .begin = begin,
    .finish = finish,
    .open = open_client,
    .pump = pump,
    .victim_start = victim_start,
    .victim_kill = victim_kill,
    .evict = evict,
};

const char *bench_file_root(void)
{
    return place.root;
}

void bench_file_share(void)
{
    assert_int_equal(chmod(place.root, 0777), 0);
    place.query = "&mode=0777";
}

void bench_file_move(const char *root)
{
    assert_true(strlen(root) < sizeof(place.root));
    (void)strcpy(place.root, root);
}

void bench_file_path(const char *queue, char path[BENCH_FILE_PATH_BYTES])
{
    char entry[HF_ENTRY_BYTES];

    hf_entry_format(queue, entry);
    (void)snprintf(path, BENCH_FILE_PATH_BYTES, "%s/locks/%s", place.root,
                   entry);
}

const char *bench_file_log(void)
{
    return place.log;
}
