/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of a test, and processes that are forked from it. */
#include "conformance/real_host.h"

#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include <holdfast/holdfast.h>

#include "cmocka/runner.h"

#include "base/engine_host.h"
#include "base/url.h"
#include "conformance/engine_client.h"

#define CLOSE_TURNS_MAX 100
#define TICK_MS 20
#define TICKS_MAX 1500

static struct {
    uv_loop_t loop;
    uv_timer_t tick;
    unsigned ticks;
} host;

static uint64_t now_ms(void *nobody)
{
    struct timespec now;

    (void)nobody;
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static uv_loop_t *loop(void *nobody)
{
    (void)nobody;
    return &host.loop;
}

void real_host_begin(void)
{
    assert_int_equal(uv_loop_init(&host.loop), 0);
    assert_int_equal(uv_timer_init(&host.loop, &host.tick), 0);
}

void real_host_finish(void)
{
    int rc = UV_EBUSY;

    uv_close((uv_handle_t *)&host.tick, NULL);
    for (unsigned i = 0; i < CLOSE_TURNS_MAX && rc != 0; i++) {
        (void)uv_run(&host.loop, UV_RUN_NOWAIT);
        rc = uv_loop_close(&host.loop);
    }
    assert_int_equal(rc, 0);
}

__attribute__((format(printf, 3, 4))) static void
log_line(void *nobody, enum hf_log_level level, const char *format, ...)
{
    va_list args;

    (void)nobody;
    if (level > HF_LOG_WARNING)
        return;
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
}

struct hf_engine *real_host_open(struct conformance_fixture *fixture,
                                 const struct hf_engine_host *partial,
                                 const char *url)
{
    struct hf_engine_host complete = *partial;
    struct hf_engine *engine = NULL;
    struct hf_error error = {HF_OK, ""};
    struct hf_url parsed;

    complete.now_ms = now_ms;
    complete.loop = loop;
    if (complete.log == NULL)
        complete.log = log_line;
    if (hf_url_parse(url, &parsed, &error) != HF_OK ||
        fixture->ops->open(&parsed, &complete, &engine, &error) != HF_OK)
        fail_msg("%s", error.text);
    hf_url_free(&parsed);
    return engine;
}

static void on_tick(uv_timer_t *timer)
{
    (void)timer;
    host.ticks++;
}

void real_host_pump(struct conformance_fixture *fixture,
                    bool (*done)(void *arg), void *arg)
{
    (void)fixture;
    host.ticks = 0;
    assert_int_equal(uv_timer_start(&host.tick, on_tick, TICK_MS, TICK_MS), 0);
    /* Run what is due even if ${done} is true already. */
    (void)uv_run(&host.loop, UV_RUN_NOWAIT);
    while (!done(arg) && host.ticks < TICKS_MAX)
        (void)uv_run(&host.loop, UV_RUN_ONCE);
    (void)uv_timer_stop(&host.tick);
}

/* Shut down the socket of a poll handle. */
static void shut(uv_handle_t *handle, void *arg)
{
    int fd;

    (void)arg;
    if (handle->type == UV_POLL && !uv_is_closing(handle) &&
        uv_fileno(handle, &fd) == 0)
        (void)shutdown(fd, SHUT_RDWR);
}

void real_host_cut(struct conformance_fixture *fixture)
{
    (void)fixture;
    uv_walk(&host.loop, shut, NULL);
}

pid_t real_host_fork(void (*run)(void *arg), void *arg)
{
    pid_t pid = test_fork();

    if (pid != 0)
        return pid;
    /* A child that is stopped must not be in the process group of the test
     * runner.  When that group is orphaned, the kernel sends SIGHUP to all of
     * it as soon as a child of another group ends. */
    if (setpgid(0, 0) != 0)
        _exit(70);
    /* The loop of the parent cannot be used in a child. */
    if (uv_loop_init(&host.loop) != 0 ||
        uv_timer_init(&host.loop, &host.tick) != 0)
        _exit(70);
    run(arg);
    _exit(0);
}

/* --------------------------------------------------------------- victims -- */

struct victim {
    pid_t pid;
};

struct victim_task {
    struct conformance_fixture *fixture;
    const char *queue;
    struct hf_ticket_id id;
    uint32_t weight;
    int ready_pipe;
};

/* In the process of a victim: enqueue the ticket, say so on the pipe, and live
 * until killed. */
static void be_victim(void *arg)
{
    struct victim_task *task = arg;
    struct engine_client *client;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* should the test fail */
    if (task->fixture->be_victim != NULL)
        task->fixture->be_victim();
    client = client_open(task->fixture);
    if (task->weight > 0)
        (void)client_lease(client, task->queue, task->id, task->weight);
    else
        (void)client_enqueue(client, task->queue, task->id, HF_TICKET_MUTEX,
                             "victim");
    if (write(task->ready_pipe, "x", 1) != 1)
        _exit(1);
    while (uv_run(&host.loop, UV_RUN_ONCE) != 0)
        continue;
    for (;;)
        (void)pause();
}

struct victim *real_host_victim(struct conformance_fixture *fixture,
                                const char *queue, struct hf_ticket_id id,
                                uint32_t weight)
{
    struct victim *victim = calloc(1, sizeof(*victim));
    struct victim_task task = {
        .fixture = fixture, .queue = queue, .id = id, .weight = weight};
    int ready_pipe[2];
    char byte;

    assert_non_null(victim);
    assert_int_equal(pipe(ready_pipe), 0);
    task.ready_pipe = ready_pipe[1];
    victim->pid = real_host_fork(be_victim, &task);
    assert_true(victim->pid > 0);
    (void)close(ready_pipe[1]);
    assert_int_equal(read(ready_pipe[0], &byte, 1), 1);
    (void)close(ready_pipe[0]);
    return victim;
}

void real_host_kill(struct conformance_fixture *fixture, struct victim *victim)
{
    (void)fixture;
    assert_int_equal(kill(victim->pid, SIGKILL), 0);
    assert_int_equal(waitpid(victim->pid, NULL, 0), victim->pid);
    free(victim);
}
