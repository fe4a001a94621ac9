/* SPDX-License-Identifier: Apache-2.0 */
/* Where callbacks run and when they are dropped, threads, forks, and the end of
 * a handle with operations under way, on a real server. */
#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "zookeeper_fixture.h"

static const struct hf_zookeeper_op get_root = {.kind = HF_ZOOKEEPER_GET,
                                                .path = "/"};
static const struct hf_zookeeper_op set_root = {
    .kind = HF_ZOOKEEPER_SET, .path = "/", .version = -1};

/* -------------------------------------------------------------- dispatch -- */

/* What a callback of a dispatched handle finds out. */
struct dispatched {
    pthread_t thread; /* that dispatches */
    bool inside;      /* hf_zookeeper_dispatch() */
    int count;
    int dropped;
};

static void on_dispatched(void *arg, const struct hf_zookeeper_result *result)
{
    struct dispatched *dispatched = arg;

    assert_int_equal(result->status, HF_OK);
    assert_true(dispatched->inside);
    assert_true(pthread_equal(pthread_self(), dispatched->thread));
    dispatched->count++;
}

static void drop_dispatched(void *arg)
{
    struct dispatched *dispatched = arg;

    assert_true(dispatched->inside);
    dispatched->dropped++;
}

/* Dispatch until ${count} callbacks have run. */
static void dispatch_until(struct hf_zookeeper *zookeeper,
                           struct dispatched *dispatched, int count)
{
    struct pollfd fd = {hf_zookeeper_fd(zookeeper), POLLIN, 0};

    while (dispatched->count < count) {
        assert_int_equal(poll(&fd, 1, WAIT_MS), 1);
        dispatched->inside = true;
        assert_int_equal(hf_zookeeper_dispatch(zookeeper), HF_OK);
        dispatched->inside = false;
    }
}

static void on_dispatched_close(void *arg, const struct hf_result *result)
{
    struct dispatched *dispatched = arg;

    assert_int_equal(result->status, HF_OK);
    assert_true(dispatched->inside);
    assert_int_equal(dispatched->dropped, 100);
    dispatched->count++;
}

#define FIXTURE_TEST(name) TEST_WITH(name, zookeeper_setup, zookeeper_teardown)

FIXTURE_TEST(callbacks_run_inside_the_dispatch)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    struct dispatched dispatched = {.thread = pthread_self()};
    const struct hf_zookeeper_done done = {on_dispatched, &dispatched,
                                           drop_dispatched};
    struct hf_zookeeper *zookeeper;

    opts.delivery = HF_DELIVER_DISPATCH;
    zookeeper = zookeeper_open(f, "", "", &opts);
    assert_true(hf_zookeeper_fd(zookeeper) >= 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(hf_zookeeper_start(zookeeper,
                                            i % 2 ? &get_root : &set_root,
                                            WAIT_MS, done, NULL),
                         HF_OK);
    /* A call that waits needs no dispatch. */
    zookeeper_expect(zookeeper, &get_root, HF_OK);
    assert_int_equal(dispatched.count, 0);
    dispatch_until(zookeeper, &dispatched, 100);
    assert_int_equal(hf_zookeeper_close_start(
                         zookeeper, (struct hf_done){on_dispatched_close,
                                                     &dispatched, NULL}),
                     HF_OK);
    dispatch_until(zookeeper, &dispatched, 101);
}

FIXTURE_TEST(a_thread_delivers_without_a_descriptor)
{
    struct zookeeper_fixture *f = *state;

    assert_int_equal(hf_zookeeper_fd(f->zookeeper), -1);
    assert_int_equal(hf_zookeeper_dispatch(f->zookeeper), HF_ESTATE);
}

/* ---------------------------------------------------- calls in callbacks -- */

struct reentrant {
    struct zookeeper_fixture *f;
    struct hf_zookeeper_done next;
};

static void on_reentrant(void *arg, const struct hf_zookeeper_result *result)
{
    struct reentrant *reentrant = arg;
    struct hf_zookeeper *zookeeper = reentrant->f->zookeeper;

    log_add(&reentrant->f->log, "%s", hf_status_name(result->status));
    log_add(&reentrant->f->log, "%s",
            hf_status_name(hf_zookeeper_get(zookeeper, "/", WAIT_MS, NULL)));
    log_add(&reentrant->f->log, "%s",
            hf_status_name(hf_zookeeper_close(zookeeper)));
    log_add(&reentrant->f->log, "%s",
            hf_status_name(hf_zookeeper_start(zookeeper, &get_root, WAIT_MS,
                                              reentrant->next, NULL)));
}

FIXTURE_TEST(a_callback_starts_and_does_not_wait)
{
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "next"};
    struct reentrant reentrant = {f, log_done(&name)};
    static const char *const lines[] = {
        "HF_OK", "HF_EREENTRANT", "HF_EREENTRANT",
        "HF_OK", "next HF_OK",    "next dropped",
        NULL};

    assert_int_equal(
        hf_zookeeper_start(
            f->zookeeper, &get_root, WAIT_MS,
            (struct hf_zookeeper_done){on_reentrant, &reentrant, NULL}, NULL),
        HF_OK);
    log_await(&f->log, 6);
    log_expect(&f->log, 0, lines);
}

/* ----------------------------------------- what callbacks start together -- */

/* Callbacks that run one after the other on the thread of a handle, which polls
 * meanwhile for nobody.  The first one starts a set of "/node", and one of them
 * waits until another handle sees that. */
struct together {
    struct hf_zookeeper *zookeeper; /* whose callbacks these are */
    struct hf_zookeeper *other;
    sem_t queued; /* all of them are */
    sem_t ended;  /* all of them have */
    enum hf_zookeeper_priority priority;
    int callbacks;
    int waits; /* the callback that waits */
    int count;
};

static uint64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void *await_set(void *arg)
{
    const struct together *together = arg;
    uint64_t until_ms = now_ms() + WAIT_MS;
    struct hf_zookeeper_result *result = NULL;
    int32_t version = 0;

    while (version == 0) {
        assert_true(now_ms() < until_ms);
        assert_int_equal(
            hf_zookeeper_get(together->other, "/node", WAIT_MS, &result),
            HF_OK);
        version = result->stat.version;
        hf_zookeeper_result_free(result);
    }
    return NULL;
}

/* Wait for the set as another thread, because a callback may not block in a
 * call of the library. */
static void await_set_in_callback(struct together *together)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, await_set, together), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void on_together(void *arg, const struct hf_zookeeper_result *result)
{
    struct together *together = arg;
    const struct hf_zookeeper_op set = {.kind = HF_ZOOKEEPER_SET,
                                        .path = "/node",
                                        .version = HF_ZOOKEEPER_ANY_VERSION,
                                        .priority = together->priority};
    const struct hf_zookeeper_done nobody = {NULL, NULL, NULL};
    uint64_t began_ms = now_ms();

    assert_int_equal(result->status, HF_OK);
    together->count++;
    if (together->count == 1)
        assert_int_equal(hf_zookeeper_start(together->zookeeper, &set, WAIT_MS,
                                            nobody, NULL),
                         HF_OK);
    if (together->count == together->waits)
        await_set_in_callback(together);
    else
        while (now_ms() <= began_ms) /* work, for a millisecond */
            ;
    if (together->count == together->callbacks)
        assert_int_equal(sem_post(&together->ended), 0);
}

static void await_semaphore(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0)
        assert_int_equal(errno, EINTR);
}

/* Keep the thread busy until the others are queued, so that they run
 * together. */
static void on_first(void *arg, const struct hf_zookeeper_result *result)
{
    struct together *together = arg;

    assert_int_equal(result->status, HF_OK);
    await_semaphore(&together->queued);
}

/* Have ${together->callbacks} run. */
static void run_together(struct zookeeper_fixture *f, struct together *together)
{
    const struct hf_zookeeper_done first = {on_first, together, NULL};
    const struct hf_zookeeper_done done = {on_together, together, NULL};

    zookeeper_make(f->zookeeper, "/node", "");
    together->other = f->zookeeper;
    together->zookeeper = zookeeper_open(f, "", "", NULL);
    assert_int_equal(sem_init(&together->queued, 0, 0), 0);
    assert_int_equal(sem_init(&together->ended, 0, 0), 0);
    assert_int_equal(hf_zookeeper_start(together->zookeeper, &get_root, WAIT_MS,
                                        first, NULL),
                     HF_OK);
    for (int i = 0; i < together->callbacks; i++)
        assert_int_equal(hf_zookeeper_start(together->zookeeper, &get_root,
                                            WAIT_MS, done, NULL),
                         HF_OK);
    /* This thread takes the answers, because that of the handle is busy. */
    zookeeper_expect(together->zookeeper, &get_root, HF_OK);
    assert_int_equal(sem_post(&together->queued), 0);
    await_semaphore(&together->ended);
    assert_int_equal(hf_zookeeper_close(together->zookeeper), HF_OK);
    (void)sem_destroy(&together->queued);
    (void)sem_destroy(&together->ended);
}

FIXTURE_TEST(what_a_callback_starts_waits_a_millisecond)
{
    struct together together = {.callbacks = 3, .waits = 2};

    run_together(*state, &together);
}

FIXTURE_TEST(what_the_last_callback_starts_is_sent_at_once)
{
    struct together together = {.callbacks = 1, .waits = 1};

    run_together(*state, &together);
}

FIXTURE_TEST(what_is_urgent_is_sent_at_once)
{
    struct together together = {
        .priority = HF_ZOOKEEPER_URGENT, .callbacks = 2, .waits = 1};

    run_together(*state, &together);
}

/* Events that wait to be reported, and a RESYNC for those that are too many. */
struct counts {
    int events;
    int resyncs;
};

static void on_counted(void *arg, const struct hf_zookeeper_event *event)
{
    struct counts *counts = arg;

    if (event->kind == HF_ZOOKEEPER_RESYNC)
        counts->resyncs++;
    else
        counts->events++;
}

FIXTURE_TEST(events_that_nobody_takes_have_a_bound)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    const struct hf_zookeeper_done nobody = {NULL, NULL, NULL};
    struct hf_zookeeper_op add = {.kind = HF_ZOOKEEPER_ADD_WATCH};
    struct counts counts = {0, 0};
    struct hf_zookeeper *zookeeper;

    opts.delivery = HF_DELIVER_DISPATCH;
    zookeeper = zookeeper_open(f, "", "", &opts);
    assert_int_equal(
        hf_zookeeper_watch_open(
            zookeeper, "/", HF_ZOOKEEPER_WATCH_PERSISTENT,
            (struct hf_zookeeper_on_event){on_counted, &counts, NULL},
            &add.watch),
        HF_OK);
    zookeeper_expect(zookeeper, &add, HF_OK);
    for (int i = 0; i < 4200; i++)
        assert_int_equal(
            hf_zookeeper_start(zookeeper, &set_root, WAIT_MS, nobody, NULL),
            HF_OK);
    zookeeper_expect(zookeeper, &get_root, HF_OK);
    assert_int_equal(hf_zookeeper_dispatch(zookeeper), HF_OK);
    assert_int_equal(counts.events, 4096);
    assert_int_equal(counts.resyncs, 1);
    zookeeper_expect(zookeeper, &set_root, HF_OK);
    assert_int_equal(hf_zookeeper_dispatch(zookeeper), HF_OK);
    assert_int_equal(counts.events, 4097);
    hf_zookeeper_watch_free(add.watch);
    assert_int_equal(hf_zookeeper_close(zookeeper), HF_OK);
}

/* --------------------------------------------------------------- threads -- */

#define THREADS 8
#define CALLS_OF_A_THREAD 100

struct caller {
    pthread_t thread;
    struct zookeeper_fixture *f;
    int number;
    int failures;
};

/* A counter of its own, and one that all threads share. */
static void *run_caller(void *arg)
{
    struct caller *caller = arg;
    char path[32];

    (void)snprintf(path, sizeof path, "/own-%d", caller->number);
    if (hf_zookeeper_create(caller->f->zookeeper, path, "", 0,
                            HF_ZOOKEEPER_PERSISTENT, WAIT_MS, NULL) != HF_OK)
        caller->failures++;
    for (int i = 0; i < CALLS_OF_A_THREAD; i++) {
        struct hf_zookeeper_result *result;
        hf_status status;

        status = hf_zookeeper_set(caller->f->zookeeper, path, path,
                                  strlen(path), i, WAIT_MS, &result);
        if (status != HF_OK || result->stat.version != i + 1)
            caller->failures++;
        hf_zookeeper_result_free(result);
        status = hf_zookeeper_set(caller->f->zookeeper, "/shared", "", 0, -1,
                                  WAIT_MS, NULL);
        if (status != HF_OK)
            caller->failures++;
    }
    return NULL;
}

FIXTURE_TEST(eight_threads_wait_at_once)
{
    struct zookeeper_fixture *f = *state;
    struct caller callers[THREADS];
    struct hf_zookeeper_result *result;

    zookeeper_make(f->zookeeper, "/shared", "");
    for (int i = 0; i < THREADS; i++) {
        callers[i] = (struct caller){.f = f, .number = i};
        assert_int_equal(
            pthread_create(&callers[i].thread, NULL, run_caller, &callers[i]),
            0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
        assert_int_equal(callers[i].failures, 0);
    }
    assert_int_equal(
        hf_zookeeper_exists(f->zookeeper, "/shared", WAIT_MS, &result), HF_OK);
    assert_int_equal(result->stat.version, THREADS * CALLS_OF_A_THREAD);
    hf_zookeeper_result_free(result);
}

/* Watches that are opened, set and freed on several threads while events
 * come.  Their argument is on the stack: nothing uses it once a watch is
 * freed. */
static void *run_watcher(void *arg)
{
    struct caller *caller = arg;
    struct log_name name = {&caller->f->log, "event"};

    for (int i = 0; i < 50; i++) {
        struct hf_zookeeper_watch *watch;
        struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_ADD_WATCH};

        if (hf_zookeeper_watch_open(caller->f->zookeeper, "/shared",
                                    i % 2 ? HF_ZOOKEEPER_WATCH_PERSISTENT
                                          : HF_ZOOKEEPER_WATCH_RECURSIVE,
                                    log_events(&name), &watch) != HF_OK) {
            caller->failures++;
            continue;
        }
        op.watch = watch;
        if (hf_zookeeper_run(caller->f->zookeeper, &op, WAIT_MS, NULL) !=
                HF_OK ||
            hf_zookeeper_set(caller->f->zookeeper, "/shared", "", 0, -1,
                             WAIT_MS, NULL) != HF_OK)
            caller->failures++;
        hf_zookeeper_watch_free(watch);
    }
    return NULL;
}

FIXTURE_TEST(watches_come_and_go_on_several_threads)
{
    struct zookeeper_fixture *f = *state;
    struct caller callers[THREADS];
    size_t dropped = 0;

    zookeeper_make(f->zookeeper, "/shared", "");
    for (int i = 0; i < THREADS; i++) {
        callers[i] = (struct caller){.f = f};
        assert_int_equal(
            pthread_create(&callers[i].thread, NULL, run_watcher, &callers[i]),
            0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
        assert_int_equal(callers[i].failures, 0);
    }
    for (size_t i = 0; i < log_count(&f->log); i++)
        dropped += strcmp(f->log.lines[i], "event dropped") == 0;
    if (log_count(&f->log) < LOG_LINES)
        assert_int_equal(dropped, THREADS * 50);
}

/* ------------------------------------------------------------------ fork -- */

/* A child may open a handle of its own.  ThreadSanitizer does not let it start
 * the thread of that. */
static void use_own_handle(struct zookeeper_fixture *f)
{
#ifdef __SANITIZE_THREAD__
    (void)f;
#else
    struct hf_zookeeper *own = zookeeper_open(f, "", "", NULL);

    zookeeper_expect(own, &set_root, HF_OK);
    assert_int_equal(hf_zookeeper_close(own), HF_OK);
#endif
}

/* Every call in the child fails at once.  Exits with 0 if so. */
_Noreturn static void run_child(struct zookeeper_fixture *f,
                                struct hf_zookeeper_watch *watch,
                                struct hf_op *handle)
{
    struct hf_zookeeper_session session;
    struct hf_zookeeper_watch *none;
    struct log_name name = {&f->log, "child"};
    struct hf_listener *listener;
    const struct hf_on_state on_state = {NULL, NULL, NULL};

    f->log.count = 0;
    assert_int_equal(hf_zookeeper_get(f->zookeeper, "/", WAIT_MS, NULL),
                     HF_EFORKED);
    assert_int_equal(hf_zookeeper_start(f->zookeeper, &get_root, WAIT_MS,
                                        log_done(&name), NULL),
                     HF_EFORKED);
    assert_int_equal(hf_zookeeper_watch_open(f->zookeeper, "/",
                                             HF_ZOOKEEPER_WATCH_DATA,
                                             log_events(&name), &none),
                     HF_EFORKED);
    assert_string_equal(f->log.lines[0], "child dropped");
    assert_string_equal(f->log.lines[1], "child dropped");
    assert_int_equal(f->log.count, 2);
    assert_int_equal(hf_zookeeper_session(f->zookeeper, &session), HF_EFORKED);
    assert_int_equal(
        hf_zookeeper_add_listener(f->zookeeper, on_state, &listener),
        HF_EFORKED);
    hf_zookeeper_watch_free(watch);
    hf_op_cancel(handle);
    hf_op_free(handle);
    assert_int_equal(hf_zookeeper_close_start(
                         f->zookeeper, (struct hf_done){NULL, NULL, NULL}),
                     HF_EFORKED);
    assert_int_equal(hf_zookeeper_close(f->zookeeper), HF_EFORKED);
    use_own_handle(f);
    _exit(0);
}

FIXTURE_TEST(a_child_has_no_part_in_the_session)
{
    struct zookeeper_fixture *f = *state;
    struct log_name names[] = {{&f->log, "watch"}, {&f->log, "get"}};
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_ADD_WATCH};
    struct hf_op *handle;
    int status;
    pid_t child;

    assert_int_equal(hf_zookeeper_watch_open(f->zookeeper, "/",
                                             HF_ZOOKEEPER_WATCH_PERSISTENT,
                                             log_events(&names[0]), &op.watch),
                     HF_OK);
    zookeeper_expect(f->zookeeper, &op, HF_OK);
    assert_int_equal(hf_zookeeper_start(f->zookeeper, &get_root, WAIT_MS,
                                        log_done(&names[1]), &handle),
                     HF_OK);
    child = test_fork();
    if (child == 0)
        run_child(f, op.watch, handle);
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    /* The parent's handle goes on. */
    zookeeper_expect(f->zookeeper, &set_root, HF_OK);
    (void)log_await_line(&f->log, 0, "watch CHANGED /");
    (void)log_await_line(&f->log, 0, "get dropped");
    assert_int_equal(log_find(&f->states, 0, "SUSPENDED"), LOG_LINES);
    hf_op_free(handle);
    hf_zookeeper_watch_free(op.watch);
}

/* ----------------------------------------------------------------- drops -- */

/* Each way for an operation to end, with .drop once. */
FIXTURE_TEST(every_callback_is_dropped_once)
{
    struct zookeeper_fixture *f = *state;
    static const struct {
        struct hf_zookeeper_op op;
        const char *line;
    } rows[] = {
        {{.kind = HF_ZOOKEEPER_GET, .path = "/"}, "op HF_OK"},
        {{.kind = HF_ZOOKEEPER_GET, .path = "/nope"}, "op HF_EGONE"},
        {{.kind = HF_ZOOKEEPER_CREATE, .path = "/"}, "op HF_EEXISTS"},
        {{.kind = HF_ZOOKEEPER_ADD_AUTH,
          .scheme = "digest",
          .data = "u:p",
          .bytes = 3},
         "op HF_OK"},
        {{.kind = HF_ZOOKEEPER_ADD_AUTH, .scheme = "nonsense"},
         "op HF_EDENIED"},
    };
    const struct hf_zookeeper_op refused = {.kind = HF_ZOOKEEPER_GET,
                                            .path = "nonsense"};
    struct log_name name = {&f->log, "op"};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        f->log.count = 0;
        assert_int_equal(hf_zookeeper_start(f->zookeeper, &rows[i].op, WAIT_MS,
                                            log_done(&name), NULL),
                         HF_OK);
        log_await(&f->log, 2);
        log_expect(&f->log, 0,
                   (const char *[]){rows[i].line, "op dropped", NULL});
    }
    f->log.count = 0;
    assert_int_equal(hf_zookeeper_start(f->zookeeper, &refused, WAIT_MS,
                                        log_done(&name), NULL),
                     HF_EINVAL);
    log_expect(&f->log, 0, (const char *[]){"op dropped", NULL});
}

/* A sent read ends with HF_ECANCELLED, a sent write with HF_EUNSURE; either may
 * have been answered before. */
FIXTURE_TEST(a_cancelled_operation_ends_once)
{
    struct zookeeper_fixture *f = *state;
    struct log_name names[] = {{&f->log, "read"}, {&f->log, "write"}};
    const struct hf_zookeeper_op *ops[] = {&get_root, &set_root};

    for (int i = 0; i < 200; i++) {
        struct hf_op *handle;

        f->log.count = 0;
        assert_int_equal(hf_zookeeper_start(f->zookeeper, ops[i % 2], WAIT_MS,
                                            log_done(&names[i % 2]), &handle),
                         HF_OK);
        hf_op_cancel(handle);
        hf_op_cancel(handle);
        if (i % 4 < 2)
            hf_op_free(handle);
        log_await(&f->log, 2);
        if (i % 4 >= 2) {
            hf_op_cancel(handle);
            hf_op_free(handle);
        }
        zookeeper_expect(f->zookeeper, &get_root, HF_OK);
        assert_int_equal(log_count(&f->log), 2);
        assert_true(log_find(&f->log, 0,
                             i % 2 == 0 ? "read HF_ECANCELLED"
                                        : "write HF_EUNSURE") == 0 ||
                    log_find(&f->log, 0,
                             i % 2 == 0 ? "read HF_OK" : "write HF_OK") == 0);
    }
}

/* ----------------------------------------------------------------- close -- */

/* Ends of operations of a handle that was closed. */
struct ends {
    _Atomic int ended, dropped, other;
    _Atomic bool closed;
};

static void on_end(void *arg, const struct hf_zookeeper_result *result)
{
    struct ends *ends = arg;

    if (atomic_load(&ends->closed) ||
        (result->status != HF_OK && result->status != HF_ECLOSED &&
         result->status != HF_EUNSURE))
        atomic_fetch_add(&ends->other, 1);
    atomic_fetch_add(&ends->ended, 1);
}

static void drop_end(void *arg)
{
    atomic_fetch_add(&((struct ends *)arg)->dropped, 1);
}

static void start_many(struct hf_zookeeper *zookeeper, struct ends *ends,
                       int count)
{
    const struct hf_zookeeper_done done = {on_end, ends, drop_end};

    for (int i = 0; i < count; i++)
        assert_int_equal(hf_zookeeper_start(zookeeper,
                                            i % 2 ? &get_root : &set_root,
                                            WAIT_MS, done, NULL),
                         HF_OK);
}

FIXTURE_TEST(a_close_ends_what_is_under_way)
{
    struct zookeeper_fixture *f = *state;

    for (int i = 0; i < 20; i++) {
        struct hf_zookeeper *zookeeper = zookeeper_open(f, "", "", NULL);
        struct ends ends = {.ended = 0};

        if (i % 2 == 0)
            zookeeper_expect(zookeeper, &get_root, HF_OK);
        start_many(zookeeper, &ends, 100 * i);
        assert_int_equal(hf_zookeeper_close(zookeeper), HF_OK);
        assert_int_equal(atomic_load(&ends.ended), 100 * i);
        assert_int_equal(atomic_load(&ends.dropped), 100 * i);
        assert_int_equal(atomic_load(&ends.other), 0);
    }
}

static void on_closed(void *arg, const struct hf_result *result)
{
    struct ends *ends = arg;

    assert_int_equal(result->status, HF_OK);
    atomic_store(&ends->closed, true);
}

static bool is_closed(void *arg)
{
    return atomic_load(&((struct ends *)arg)->closed);
}

FIXTURE_TEST(a_started_close_ends_after_everything)
{
    struct zookeeper_fixture *f = *state;

    for (int i = 0; i < 10; i++) {
        struct hf_zookeeper *zookeeper = zookeeper_open(f, "", "", NULL);
        struct ends ends = {.ended = 0};

        start_many(zookeeper, &ends, 700);
        assert_int_equal(
            hf_zookeeper_close_start(zookeeper,
                                     (struct hf_done){on_closed, &ends, NULL}),
            HF_OK);
        wait_for(is_closed, &ends);
        assert_int_equal(atomic_load(&ends.ended), 700);
        assert_int_equal(atomic_load(&ends.dropped), 700);
        assert_int_equal(atomic_load(&ends.other), 0);
    }
}

/* Handles of operations and watches outlive that of the session. */
FIXTURE_TEST(handles_outlive_the_session)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper *zookeeper = zookeeper_open(f, "", "", NULL);
    struct log_name names[] = {{&f->log, "watch"}, {&f->log, "op"}};
    struct hf_zookeeper_watch *watches[2];
    struct hf_zookeeper_op add = {.kind = HF_ZOOKEEPER_ADD_WATCH};
    struct hf_op *handle;

    for (int i = 0; i < 2; i++)
        assert_int_equal(hf_zookeeper_watch_open(
                             zookeeper, "/", HF_ZOOKEEPER_WATCH_PERSISTENT,
                             log_events(&names[0]), &watches[i]),
                         HF_OK);
    add.watch = watches[0];
    zookeeper_expect(zookeeper, &add, HF_OK);
    add.watch = watches[1];
    assert_int_equal(hf_zookeeper_start(zookeeper, &add, WAIT_MS,
                                        log_done(&names[1]), &handle),
                     HF_OK);
    assert_int_equal(hf_zookeeper_close(zookeeper), HF_OK);
    assert_int_equal(log_count(&f->log), 2);
    hf_op_cancel(handle);
    hf_op_free(handle);
    hf_zookeeper_watch_free(watches[0]);
    hf_zookeeper_watch_free(watches[1]);
    assert_int_equal(log_count(&f->log), 4);
    assert_string_equal(f->log.lines[2], "watch dropped");
    assert_string_equal(f->log.lines[3], "watch dropped");
}

FIXTURE_TEST(the_ephemeral_nodes_go_with_the_handle)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper *zookeeper = zookeeper_open(f, "", "", NULL);

    assert_int_equal(hf_zookeeper_create(zookeeper, "/e", NULL, 0,
                                         HF_ZOOKEEPER_EPHEMERAL, WAIT_MS, NULL),
                     HF_OK);
    assert_int_equal(hf_zookeeper_exists(f->zookeeper, "/e", WAIT_MS, NULL),
                     HF_OK);
    assert_int_equal(hf_zookeeper_close(zookeeper), HF_OK);
    assert_int_equal(hf_zookeeper_exists(f->zookeeper, "/e", WAIT_MS, NULL),
                     HF_EGONE);
    assert_int_equal(hf_zookeeper_close(NULL), HF_OK);
}

/* Half of them are closed before there is a connection. */
FIXTURE_TEST(handles_come_and_go)
{
    struct zookeeper_fixture *f = *state;

    for (int i = 0; i < 100; i++) {
        struct hf_zookeeper *zookeeper = zookeeper_open(f, "", "", NULL);

        if (i % 2 == 0)
            zookeeper_expect(zookeeper, &get_root, HF_OK);
        assert_int_equal(hf_zookeeper_close(zookeeper), HF_OK);
    }
}

/* ------------------------------------------------------------------- log -- */

static void on_log(void *arg, enum hf_log_level level, const char *line)
{
    struct log_name *name = arg;

    assert_true(level <= HF_LOG_INFO);
    assert_non_null(line);
    log_add(name->log, "%s", name->name);
}

/* Each handle has its own log, up to its own level.  Lines are delivered as
 * callbacks are: some time after what they are about, and none after the
 * close. */
FIXTURE_TEST(a_log_is_that_of_its_handle)
{
    struct zookeeper_fixture *f = *state;
    struct log_name names[] = {{&f->log, "errors"}, {&f->log, "all"}};
    const enum hf_log_level levels[] = {HF_LOG_ERROR, HF_LOG_INFO};
    struct hf_zookeeper *handles[2];

    for (int i = 0; i < 2; i++) {
        struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;

        opts.on_log = (struct hf_on_log){on_log, &names[i], levels[i]};
        handles[i] = zookeeper_open(f, "", "", &opts);
        zookeeper_expect(handles[i], &get_root, HF_OK);
    }
    log_await_line(&f->log, 0, "all");
    for (int i = 0; i < 2; i++)
        assert_int_equal(hf_zookeeper_close(handles[i]), HF_OK);
    assert_int_equal(log_find(&f->log, 0, "errors"), LOG_LINES);
}

/* ------------------------------------------------------------- listeners -- */

static void on_listened(void *arg, enum hf_state state)
{
    log_add(arg, "%s", hf_state_name(state));
}

static void drop_listener(void *arg)
{
    log_add(arg, "dropped");
}

FIXTURE_TEST(listeners_are_notified_and_dropped)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper *zookeeper = zookeeper_open(f, "", "", NULL);
    const struct hf_on_state on_state = {on_listened, &f->log, drop_listener};
    struct hf_listener *removed, *kept;

    zookeeper_expect(zookeeper, &get_root, HF_OK);
    assert_int_equal(hf_zookeeper_add_listener(zookeeper, on_state, &removed),
                     HF_OK);
    hf_zookeeper_remove_listener(zookeeper, removed);
    log_expect(&f->log, 0, (const char *[]){"dropped", NULL});
    assert_int_equal(hf_zookeeper_add_listener(zookeeper, on_state, &kept),
                     HF_OK);
    assert_int_equal(hf_zookeeper_state(zookeeper), HF_STATE_CONNECTED);
    assert_int_equal(hf_zookeeper_close(zookeeper), HF_OK);
    log_expect(&f->log, 0,
               (const char *[]){"dropped", "CLOSED", "dropped", NULL});
}
