/* SPDX-License-Identifier: Apache-2.0 */
/* The monitor (src/monitor) around an object that is no client: a box that is
 * filled by a call or at an instant, and that knows nothing of locks.  The
 * host builds on what is shown here; monitor/link shows that neither the
 * core, nor engines, nor the client are linked into this program. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "monitor/monitor.h"
#include "thread/descriptor_guard.h"

/* --------------------------------------------------------------- the box -- */

#define CALLS_BYTES 2048
#define FOREVER UINT64_MAX

/* What outlives the box. */
static struct {
    char calls[CALLS_BYTES]; /* of the table, in order, but for questions */
    char lines[CALLS_BYTES]; /* that were logged */
} seen;

struct monitored_box {
    struct hf_monitor monitor;
    uint64_t due_at_ms;
    bool busy; /* needs a driver */
    bool full;
    bool closes_later;
    struct hf_waiter *waiter; /* waits for it to be full */
    struct hf_callback on_full;
    unsigned notified; /* how often .on_full ran */
    unsigned again;    /* how often it is to be queued anew when it runs */
    pthread_t notified_on;
};

static void note(char *list, const char *word)
{
    size_t used = strlen(list);

    assert_true(used + strlen(word) + 2 <= CALLS_BYTES);
    (void)snprintf(list + used, CALLS_BYTES - used, "%s%s", used > 0 ? " " : "",
                   word);
}

static void fill(struct monitored_box *box)
{
    box->full = true;
    box->monitor.events++;
    if (box->waiter != NULL)
        hf_waiter_answer(&box->monitor, box->waiter, HF_OK);
    box->waiter = NULL;
    if (box->on_full.run != NULL)
        hf_monitor_queue(&box->monitor, &box->on_full);
}

static uint64_t due_at_ms(const void *owner)
{
    const struct monitored_box *box = owner;

    return box->due_at_ms;
}

static void run_due(void *owner)
{
    struct monitored_box *box = owner;

    assert_true(hf_now_ms() >= box->due_at_ms);
    box->due_at_ms = FOREVER;
    note(seen.calls, "run_due");
    fill(box);
}

static bool needs_poller(const void *owner)
{
    const struct monitored_box *box = owner;

    return box->busy;
}

static void begin_close(void *owner)
{
    struct monitored_box *box = owner;

    note(seen.calls, "close");
    box->busy = false;
    if (!box->closes_later)
        hf_monitor_closed(&box->monitor);
}

static void ended(void *owner)
{
    struct monitored_box *box = owner;

    note(seen.calls, "ended");
    hf_monitor_unlock(&box->monitor); /* as around a function of the user's */
    hf_monitor_lock(&box->monitor);
}

static void leave_loop(void *owner)
{
    (void)owner;
    note(seen.calls, "leave_loop");
}

static void destroy(void *owner)
{
    note(seen.calls, "destroy");
    free(owner);
}

static void after_fork(void *owner)
{
    (void)owner;
    note(seen.calls, "after_fork");
}

static void abandon(void *owner)
{
    (void)owner;
    note(seen.calls, "abandon");
}

static const struct hf_monitor_ops box_ops = {
    .due_at_ms = due_at_ms,
    .run_due = run_due,
    .needs_poller = needs_poller,
    .close = begin_close,
    .ended = ended,
    .leave_loop = leave_loop,
    .destroy = destroy,
    .after_fork = after_fork,
    .abandon = abandon,
};

static void on_line(void *arg, enum hf_log_level level, const char *line)
{
    struct monitored_box *box = arg;

    (void)level;
    /* The lock is free here, or this would wait for ever. */
    hf_monitor_lock(&box->monitor);
    note(seen.lines, line);
    hf_monitor_unlock(&box->monitor);
}

static void run_on_full(void *arg)
{
    struct monitored_box *box = arg;

    note(seen.calls, "notified");
    box->notified++;
    box->notified_on = pthread_self();
    hf_monitor_unlock(&box->monitor); /* here the user's function would run */
    assert_true(hf_callback_inside());
    hf_monitor_lock(&box->monitor);
    if (box->again > 0) {
        box->again--;
        hf_monitor_queue(&box->monitor, &box->on_full);
    }
}

static struct monitored_box *box_new(enum hf_callback_runner runner)
{
    struct monitored_box *box = calloc(1, sizeof(*box));
    struct hf_on_log on_log = {on_line, box, HF_LOG_DEBUG};

    memset(&seen, 0, sizeof(seen));
    assert_non_null(box);
    box->due_at_ms = FOREVER;
    assert_true(hf_monitor_init(&box->monitor, &box_ops, box, runner, on_log));
    return box;
}

static void enter(struct monitored_box *box)
{
    assert_int_equal(hf_monitor_enter(&box->monitor, NULL), HF_OK);
}

static void leave(struct monitored_box *box)
{
    hf_monitor_leave(&box->monitor);
}

/* Whether ${*count} reached ${wanted} in time. */
static bool reaches(struct monitored_box *box, const unsigned *count,
                    unsigned wanted)
{
    bool reached = false;

    for (int i = 0; i < 2000 && !reached; i++) {
        enter(box);
        reached = *count >= wanted;
        leave(box);
        if (!reached)
            (void)poll(NULL, 0, 5);
    }
    return reached;
}

/* --------------------------------------------------------------- its end -- */

TEST(an_end_comes_in_order)
{
    struct monitored_box *box = box_new(HF_RUNNER_THREAD);

    enter(box);
    leave(box);
    assert_int_equal(hf_monitor_close(&box->monitor), HF_OK);
    assert_string_equal(seen.calls, "close ended leave_loop destroy");
}

TEST(what_refers_to_it_keeps_it)
{
    struct monitored_box *box = box_new(HF_RUNNER_THREAD);

    enter(box);
    hf_monitor_reference(&box->monitor);
    leave(box);
    assert_int_equal(hf_monitor_close(&box->monitor), HF_OK);
    assert_string_equal(seen.calls, "close ended leave_loop");
    hf_monitor_release(&box->monitor);
    assert_string_equal(seen.calls, "close ended leave_loop destroy");
}

/* With the background thread, which is joined. */
TEST(an_end_waits_for_the_owner)
{
    struct monitored_box *box = box_new(HF_RUNNER_THREAD);
    struct hf_error error;

    enter(box);
    box->closes_later = true;
    assert_int_equal(hf_monitor_ensure_poller(&box->monitor, &error), HF_OK);
    leave(box);
    enter(box);
    hf_monitor_reference(&box->monitor); /* kept open, to check what happened */
    hf_monitor_close_start(&box->monitor);
    assert_string_equal(seen.calls, "close");
    enter(box);
    assert_int_equal(box->monitor.state, HF_MONITOR_CLOSING);
    hf_monitor_closed(&box->monitor);
    leave(box);
    for (int i = 0; i < 2000; i++) {
        hf_monitor_lock(&box->monitor);
        if (hf_loop_is_over(&box->monitor.loop) && box->monitor.references == 1)
            break;
        hf_monitor_unlock(&box->monitor);
        (void)poll(NULL, 0, 5);
    }
    assert_true(hf_loop_is_over(&box->monitor.loop));
    hf_monitor_unlock(&box->monitor);
    hf_monitor_release(&box->monitor);
    assert_string_equal(seen.calls, "close ended leave_loop destroy");
}

/* Where the user runs callbacks, the last of them among these. */
TEST(the_loop_stays_until_the_end)
{
    struct monitored_box *box = box_new(HF_RUNNER_DISPATCH);

    enter(box);
    box->closes_later = true;
    hf_monitor_reference(&box->monitor); /* kept open, to check what happened */
    hf_monitor_close_start(&box->monitor);
    enter(box);
    leave(box);
    assert_string_equal(seen.calls, "close");
    enter(box);
    hf_monitor_closed(&box->monitor);
    leave(box);
    assert_string_equal(seen.calls, "close");
    assert_int_equal(hf_monitor_dispatch(&box->monitor, "call"), HF_OK);
    assert_string_equal(seen.calls, "close ended leave_loop");
    hf_monitor_release(&box->monitor);
    assert_string_equal(seen.calls, "close ended leave_loop destroy");
}

/* Nothing refers to it but the dispatch that runs its last callback. */
TEST(a_dispatch_may_run_the_end)
{
    struct monitored_box *box = box_new(HF_RUNNER_DISPATCH);

    enter(box);
    hf_monitor_close_start(&box->monitor);
    assert_string_equal(seen.calls, "close");
    assert_int_equal(hf_monitor_dispatch(&box->monitor, "call"), HF_OK);
    assert_string_equal(seen.calls, "close ended leave_loop destroy");
}

/* --------------------------------------------------------------- waiting -- */

TEST(a_wait_ends_with_what_is_due)
{
    struct monitored_box *box = box_new(HF_RUNNER_DISPATCH);
    struct hf_waiter waiter = {.done = false};
    struct hf_error error;
    uint64_t due;

    enter(box);
    due = box->due_at_ms = hf_now_ms() + 30;
    box->waiter = &waiter;
    assert_int_equal(hf_monitor_wait(&box->monitor, &waiter, &error), HF_OK);
    assert_true(hf_now_ms() >= due);
    leave(box);
    assert_int_equal(hf_monitor_close(&box->monitor), HF_OK);
    assert_string_equal(seen.calls, "run_due close ended leave_loop destroy");
}

static void *wait_for_it(void *arg)
{
    struct monitored_box *box = arg;
    struct hf_waiter waiter = {.done = false};
    struct hf_error error;

    enter(box);
    box->waiter = &waiter;
    assert_int_equal(hf_monitor_wait(&box->monitor, &waiter, &error), HF_OK);
    assert_true(box->full);
    leave(box);
    return NULL;
}

/* The first caller polls and the second sleeps.  When the first has its
 * answer the second must poll, because no other thread would notice what is
 * due. */
TEST(callers_take_turns_to_poll)
{
    struct monitored_box *box = box_new(HF_RUNNER_DISPATCH);
    struct hf_waiter *waiting[2];
    pthread_t threads[2];

    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, wait_for_it, box),
                         0);
        do {
            (void)poll(NULL, 0, 1);
            enter(box);
            waiting[i] = box->waiter;
            box->waiter = NULL;
            leave(box);
        } while (waiting[i] == NULL);
    }
    enter(box);
    box->full = true;
    hf_waiter_answer(&box->monitor, waiting[0], HF_OK);
    leave(box);
    assert_int_equal(pthread_join(threads[0], NULL), 0);
    enter(box);
    box->waiter = waiting[1];
    box->due_at_ms = hf_now_ms() + 30;
    leave(box);
    assert_int_equal(pthread_join(threads[1], NULL), 0);
    assert_int_equal(hf_monitor_close(&box->monitor), HF_OK);
}

/* Begin a wait that ends when end_wait() is called, and nothing else ends. */
static pthread_t begin_wait(struct monitored_box *box,
                            struct hf_waiter **waiter)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, wait_for_it, box), 0);
    do {
        (void)poll(NULL, 0, 1);
        enter(box);
        *waiter = box->waiter;
        box->waiter = NULL;
        leave(box);
    } while (*waiter == NULL);
    return thread;
}

static void end_wait(struct monitored_box *box, struct hf_waiter *waiter,
                     pthread_t thread)
{
    enter(box);
    box->full = true;
    hf_waiter_answer(&box->monitor, waiter, HF_OK);
    leave(box);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* A callback of a call is run although another call waits. */
TEST(callbacks_do_not_wait_for_a_call)
{
    struct monitored_box *box = box_new(HF_RUNNER_THREAD);
    struct hf_waiter *waiter;
    pthread_t thread;

    box->on_full = (struct hf_callback){.run = run_on_full, .arg = box};
    thread = begin_wait(box, &waiter);
    assert_false(box->monitor.background.started);
    enter(box);
    fill(box);
    leave(box);
    assert_true(reaches(box, &box->notified, 1));
    end_wait(box, waiter, thread);
    assert_int_equal(hf_monitor_close(&box->monitor), HF_OK);
}

/* And so is one that the waiting call itself has queued. */
TEST(callbacks_do_not_wait_for_their_call)
{
    struct monitored_box *box = box_new(HF_RUNNER_THREAD);
    struct hf_waiter *waiter;
    unsigned notified = 0;
    pthread_t thread;

    box->on_full = (struct hf_callback){.run = run_on_full, .arg = box};
    thread = begin_wait(box, &waiter);
    enter(box);
    box->due_at_ms = hf_now_ms() + 30;
    leave(box);
    for (int i = 0; i < 2000 && notified == 0; i++) {
        (void)poll(NULL, 0, 5);
        hf_monitor_lock(&box->monitor); /* without leave(), which would do it */
        notified = box->notified;
        hf_monitor_unlock(&box->monitor);
    }
    assert_int_equal(notified, 1);
    end_wait(box, waiter, thread);
    assert_int_equal(hf_monitor_close(&box->monitor), HF_OK);
}

TEST(a_callback_may_not_wait)
{
    struct monitored_box *box = box_new(HF_RUNNER_DISPATCH);
    struct hf_error error;

    assert_int_equal(hf_monitor_may_block(&box->monitor, &error), HF_OK);
    hf_callback_enter();
    assert_int_equal(hf_monitor_may_block(&box->monitor, &error),
                     HF_EREENTRANT);
    hf_callback_leave();
    assert_int_equal(hf_monitor_close(&box->monitor), HF_OK);
}

/* --------------------------------------------------------------- drivers -- */

/* No caller comes, and what is due happens all the same, on a thread that was
 * started because the owner asked for one. */
TEST(a_thread_drives_what_needs_it)
{
    struct monitored_box *box = box_new(HF_RUNNER_THREAD);

    enter(box);
    box->on_full = (struct hf_callback){.run = run_on_full, .arg = box};
    leave(box);
    assert_false(box->monitor.background.started);
    enter(box);
    box->busy = true;
    box->due_at_ms = hf_now_ms() + 30;
    leave(box);
    assert_true(box->monitor.background.started);
    (void)poll(NULL, 0, 100); /* the thread is to do it, and not reaches() */
    assert_true(reaches(box, &box->notified, 1));
    assert_false(pthread_equal(box->notified_on, pthread_self()));
    assert_int_equal(hf_monitor_close(&box->monitor), HF_OK);
}

TEST(a_user_may_run_callbacks)
{
    struct monitored_box *box = box_new(HF_RUNNER_DISPATCH);
    struct pollfd fd = {.fd = hf_monitor_dispatch_fd(&box->monitor),
                        .events = POLLIN};

    enter(box);
    box->on_full = (struct hf_callback){.run = run_on_full, .arg = box};
    leave(box);
    assert_int_equal(poll(&fd, 1, 0), 0);
    enter(box);
    fill(box);
    fill(box); /* it is queued already */
    leave(box);
    assert_int_equal(poll(&fd, 1, 0), 1);
    assert_int_equal(box->notified, 0);
    assert_int_equal(hf_monitor_dispatch(&box->monitor, "call"), HF_OK);
    assert_int_equal(box->notified, 1);
    assert_int_equal(poll(&fd, 1, 0), 0);
    assert_int_equal(hf_monitor_close(&box->monitor), HF_OK);
}

TEST(callbacks_of_a_thread_are_not_dispatched)
{
    struct monitored_box *box = box_new(HF_RUNNER_THREAD);

    assert_int_equal(hf_monitor_dispatch_fd(&box->monitor), -1);
    assert_int_equal(hf_monitor_dispatch(&box->monitor, "call"), HF_ESTATE);
    assert_int_equal(hf_last_error()->status, HF_ESTATE);
    assert_string_equal(hf_last_error()->text,
                        "call: the callbacks of this client run elsewhere; "
                        "open it with HF_DELIVER_DISPATCH");
    assert_int_equal(hf_monitor_close(&box->monitor), HF_OK);
}

TEST(a_borrowed_loop_drives)
{
    struct monitored_box *box = box_new(HF_RUNNER_BORROWED_LOOP);
    uv_loop_t loop;

    assert_int_equal(uv_loop_init(&loop), 0);
    enter(box);
    box->on_full = (struct hf_callback){.run = run_on_full, .arg = box};
    assert_int_equal(hf_monitor_borrow_loop(&box->monitor, &loop), HF_OK);
    box->busy = true;
    box->due_at_ms = hf_now_ms() + 30;
    leave(box);
    while (box->notified == 0)
        (void)uv_run(&loop, UV_RUN_ONCE);
    assert_true(pthread_equal(box->notified_on, pthread_self()));
    enter(box);
    hf_monitor_close_start(&box->monitor);
    (void)uv_run(&loop, UV_RUN_DEFAULT); /* until our handles are gone */
    assert_int_equal(uv_loop_close(&loop), 0);
    assert_string_equal(seen.calls,
                        "run_due notified close ended leave_loop destroy");
}

/* Before the end all callbacks have run, one that waited for its user too, and
 * what such a one has queued. */
TEST(an_end_runs_callbacks_first)
{
    struct monitored_box *box = box_new(HF_RUNNER_DISPATCH);

    enter(box);
    box->on_full = (struct hf_callback){.run = run_on_full, .arg = box};
    box->again = 1;
    fill(box);
    leave(box);
    assert_int_equal(hf_monitor_close(&box->monitor), HF_OK);
    assert_string_equal(seen.calls,
                        "close notified notified ended leave_loop destroy");
}

/* ------------------------------------------------------ without the lock -- */

struct deferred_object {
    struct hf_deferred_free deferred;
    struct monitored_box *box;
    bool destroyed;
};

static void destroy_thing(struct hf_deferred_free *object)
{
    struct deferred_object *deferred =
        (struct deferred_object *)object; /* its first field */

    /* The lock is free here, or this would wait for ever. */
    hf_monitor_lock(&deferred->box->monitor);
    deferred->destroyed = true;
    hf_monitor_unlock(&deferred->box->monitor);
}

TEST(objects_are_destroyed_without_the_lock)
{
    struct monitored_box *box = box_new(HF_RUNNER_DISPATCH);
    struct deferred_object deferred = {.deferred = {.destroy = destroy_thing},
                                       .box = box};

    enter(box);
    hf_monitor_defer_free(&box->monitor, &deferred.deferred);
    assert_false(deferred.destroyed);
    leave(box);
    assert_true(deferred.destroyed);
    assert_int_equal(hf_monitor_close(&box->monitor), HF_OK);
}

TEST(lines_are_emitted_as_a_callback)
{
    struct monitored_box *box = box_new(HF_RUNNER_DISPATCH);
    char last[64];

    enter(box);
    hf_log_write(&box->monitor.log, HF_LOG_INFO, "%s", "first");
    hf_log_write(&box->monitor.log, HF_LOG_INFO, "second");
    leave(box);
    assert_string_equal(seen.lines, "");
    assert_int_equal(hf_monitor_dispatch(&box->monitor, "test"), HF_OK);
    assert_string_equal(seen.lines, "first second");
    seen.lines[0] = '\0';
    enter(box);
    for (int i = 0; i < HF_LOG_LINES + 3; i++)
        hf_log_write(&box->monitor.log, HF_LOG_INFO, "%d", i);
    leave(box);
    assert_string_equal(seen.lines, "");
    /* What was not dispatched is emitted at the end. */
    (void)snprintf(last, sizeof(last),
                   "%d 3 log lines were lost, because there was no room",
                   HF_LOG_LINES - 1);
    assert_int_equal(hf_monitor_close(&box->monitor), HF_OK);
    assert_string_equal(seen.lines + strlen(seen.lines) - strlen(last), last);
}

/* ----------------------------------------------------------- descriptors -- */

/* The number of the timer is that of another file. */
TEST(a_loop_without_its_timer_is_not_intact)
{
    int others[] = {memfd_create("other", MFD_CLOEXEC),
                    eventfd(0, EFD_CLOEXEC)};

    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        struct hf_loop loop = {.guard = NULL};
        uint64_t events = 0;

        assert_non_null(hf_loop_get(&loop));
        (void)hf_loop_run(&loop, &events);
        assert_true(hf_loop_is_intact(&loop));
        assert_true(others[i] >= 0);
        assert_int_equal(dup3(others[i], loop.timer_fd, O_CLOEXEC),
                         loop.timer_fd);
        assert_false(hf_loop_is_intact(&loop));
        hf_loop_close(&loop);
        assert_int_equal(close(others[i]), 0);
    }
}

/* Descriptor 0 and one other are free, so one end of the pipe gets a low
 * number, and there is no higher one for it. */
static int in_child_without_descriptors(void)
{
    struct hf_descriptor_guard guard;
    struct rlimit limit;
    int last = 0;

    (void)getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 64;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 1;
    for (int fd = 0; fd >= 0; fd = fcntl(1, F_DUPFD_CLOEXEC, 3))
        last = fd > last ? fd : last;
    if (close(last) != 0 || close(0) != 0)
        return 2;
    if (hf_descriptor_guard_open(&guard))
        return 3;
    return fcntl(0, F_GETFD) < 0 && fcntl(last, F_GETFD) < 0 ? 0 : 4;
}

TEST(a_guard_that_is_refused_leaves_none)
{
    pid_t child;
    int status;

    assert_true((child = test_fork()) >= 0);
    if (child == 0)
        _exit(in_child_without_descriptors());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* --------------------------------------------------------------- deputy -- */

static bool no_deputy;

int __real_hf_thread_start(pthread_t *thread, void *(*main)(void *arg),
                           void *arg);
int __wrap_hf_thread_start(pthread_t *thread, void *(*main)(void *arg),
                           void *arg);

/* hf_thread_start(), that of the deputy failing on demand. */
int __wrap_hf_thread_start(pthread_t *thread, void *(*main)(void *arg),
                           void *arg)
{
    struct monitored_box *box = arg;

    if (no_deputy && thread == &box->monitor.deputy.thread)
        return EAGAIN;
    return __real_hf_thread_start(thread, main, arg);
}

/* It is tried again in each round, and said once. */
TEST(a_deputy_that_is_refused_is_logged_once)
{
    struct monitored_box *box = box_new(HF_RUNNER_THREAD);
    const char *line;

    no_deputy = true;
    box->on_full = (struct hf_callback){.run = run_on_full, .arg = box};
    for (unsigned i = 1; i <= 5; i++) {
        enter(box);
        fill(box);
        leave(box);
        assert_true(reaches(box, &box->notified, i));
    }
    assert_int_equal(box->monitor.deputy.state, HF_DEPUTY_FAILED);
    no_deputy = false;
    enter(box);
    fill(box);
    leave(box);
    assert_true(reaches(box, &box->notified, 6));
    assert_int_not_equal(box->monitor.deputy.state, HF_DEPUTY_FAILED);
    assert_int_equal(hf_monitor_close(&box->monitor), HF_OK);
    assert_non_null(line = strstr(seen.lines, "no second thread"));
    assert_null(strstr(line + 1, "no second thread"));
}

/* ------------------------------------------------------------------ fork -- */

static int in_child(struct monitored_box *box)
{
    struct hf_error error;

    if (strcmp(seen.calls, "after_fork") != 0)
        return 1;
    if (!hf_fork_is_child(&box->monitor.fork) ||
        hf_monitor_enter(&box->monitor, NULL) != HF_EFORKED ||
        hf_monitor_may_block(&box->monitor, &error) != HF_EFORKED)
        return 2;
    if (write(box->monitor.callback_queue.fd, "12345678", 8) >= 0)
        return 3;                      /* it was to be closed */
    hf_monitor_release(&box->monitor); /* does nothing */
    return strcmp(seen.calls, "after_fork") == 0 ? 0 : 4;
}

TEST(a_child_has_none)
{
    struct monitored_box *box = box_new(HF_RUNNER_DISPATCH);
    pid_t child;
    int status;

    assert_true((child = test_fork()) >= 0);
    if (child == 0)
        _exit(in_child(box));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(hf_monitor_close(&box->monitor), HF_OK);
    assert_string_equal(seen.calls, "close ended leave_loop destroy");
}

/* The program closes them between the begin of a call and a callback that the
 * call queues. This is the last
 * test: its monitor stays until the process ends, so forks know it. */
TEST(descriptors_that_are_closed_in_a_call_end_it)
{
    struct monitored_box *box = box_new(HF_RUNNER_DISPATCH);

    enter(box);
    box->on_full = (struct hf_callback){.run = run_on_full, .arg = box};
    assert_int_equal(close(box->monitor.callback_queue.fd), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(close(box->monitor.guard.ends[i]), 0);
    fill(box);
    leave(box);
    assert_string_equal(seen.calls, "");
    enter(box);
    leave(box);
    assert_string_equal(seen.calls, "abandon");
    assert_int_equal(hf_monitor_close(&box->monitor), HF_OK);
    assert_string_equal(seen.calls, "abandon notified ended");
}
