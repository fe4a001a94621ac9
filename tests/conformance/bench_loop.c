/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/bench_loop.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "conformance/seat.h"

#define PUMP_TICKS_MAX 1500 /* of 20 ms: a lease ends in a tenth of it */
#define CLOSE_TURNS_MAX 100

static uv_loop_t the_loop;
static uv_timer_t tick;
static unsigned ticks;

void (*bench_loop_as_victim)(void);

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
    return &the_loop;
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
    ticks++;
}

void bench_loop_begin(void)
{
    assert_int_equal(uv_loop_init(&the_loop), 0);
    assert_int_equal(uv_timer_init(&the_loop, &tick), 0);
}

void bench_loop_finish(void)
{
    int rest = UV_EBUSY;

    uv_close((uv_handle_t *)&tick, NULL);
    for (unsigned i = 0; i < CLOSE_TURNS_MAX && rest != 0; i++) {
        (void)uv_run(&the_loop, UV_RUN_NOWAIT);
        rest = uv_loop_close(&the_loop);
    }
    assert_int_equal(rest, 0);
}

struct hf_engine *bench_loop_open(struct bench *bench,
                                  const struct hf_engine_host *host,
                                  const char *text)
{
    struct hf_engine_host whole = *host;
    struct hf_engine *engine = NULL;
    struct hf_error error = {HF_OK, ""};
    struct hf_url url;

    whole.now_ms = now_ms;
    whole.loop = loop;
    whole.log = log_line;
    if (hf_url_parse(text, &url, &error) != HF_OK ||
        bench->ops->open(&url, &whole, &engine, &error) != HF_OK)
        fail_msg("%s", error.text);
    hf_url_free(&url);
    return engine;
}

void bench_loop_pump(struct bench *bench, bool (*done)(void *arg), void *arg)
{
    (void)bench;
    ticks = 0;
    assert_int_equal(uv_timer_start(&tick, on_tick, 20, 20), 0);
    while (!done(arg) && ticks < PUMP_TICKS_MAX)
        (void)uv_run(&the_loop, UV_RUN_ONCE);
    (void)uv_timer_stop(&tick);
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
    bench_loop_begin();
    bench_loop_as_victim();
    seat = seat_open(bench);
    if (weight > 0)
        (void)seat_lease(seat, queue, id, weight);
    else
        (void)seat_enqueue(seat, queue, id, HF_TICKET_MUTEX, "victim");
    if (write(said, "x", 1) != 1)
        _exit(1);
    for (;;)
        (void)uv_run(&the_loop, UV_RUN_ONCE);
}

struct victim *bench_loop_victim_start(struct bench *bench, const char *queue,
                                       struct hf_ticket_id id, uint32_t weight)
{
    struct victim *victim = calloc(1, sizeof *victim);
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

void bench_loop_victim_kill(struct bench *bench, struct victim *victim)
{
    (void)bench;
    assert_int_equal(kill(victim->pid, SIGKILL), 0);
    assert_int_equal(waitpid(victim->pid, NULL, 0), victim->pid);
    free(victim);
}

/* ------------------------------------------------------------------- cut -- */

static void shut(uv_handle_t *handle, void *arg)
{
    int fd;

    (void)arg;
    if (handle->type == UV_POLL && !uv_is_closing(handle) &&
        uv_fileno(handle, &fd) == 0)
        (void)shutdown(fd, SHUT_RDWR);
}

/* As if the network had: the engines are not asked. */
void bench_loop_cut(struct bench *bench)
{
    (void)bench;
    uv_walk(&the_loop, shut, NULL);
}
