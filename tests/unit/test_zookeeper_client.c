/* SPDX-License-Identifier: Apache-2.0 */
/* The public client of ZooKeeper (src/zookeeper_client) against a fake server:
 * every allocation fails, one after the other, and then each call still returns
 * a status, each callback is called once and dropped once, and no memory is
 * left.  Besides that: what waits when a handle is closed, watches that are
 * freed while their callback runs, and taking a session over. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <holdfast/zookeeper_registration.h>
#include <holdfast/zookeeper_retry.h>

#include "base/memory.h"
#include "base/time_math.h"
#include "cmocka/runner.h"
#include "heap/heap.h"
#include "zk_server_frames.h"
#include "zookeeper/protocol.h"
#include "zookeeper_fake_server.h"

/* An end that a test that passes never reaches. */
#define TIMEOUT_MS 20000

#define DELETED 2 /* the types of events, as servers send them */
#define CHANGED 3

static struct zookeeper_fake_server server;

/* ---------------------------------------------------------------- faults -- */

static struct {
    unsigned long nth; /* which allocation fails, from 1; 0: none */
    bool all_after;    /* all later ones fail too */
} faults;

/* Whatever fails for lack of memory: that call, or the connection, which ends
 * with what was sent on it. */
static bool is_expected(hf_status status)
{
    bool expected = status == HF_OK;

    if (faults.nth > 0)
        expected |= status == HF_ENOMEM || status == HF_EUNREACHABLE ||
                    status == HF_EUNSURE ||
                    (faults.all_after && status == HF_ETIMEDOUT);
    if (!expected)
        print_error("allocation %lu%s: %s\n", faults.nth,
                    faults.all_after ? " and all after it" : "",
                    hf_status_name(status));
    assert_true(expected);
    return status == HF_OK;
}

/* Not long where nothing can succeed. */
static uint64_t wait_ms(void)
{
    return faults.all_after ? 20 : 5000;
}

static void wait_until(bool (*condition)(void *arg), void *arg)
{
    const struct timespec while_others_work = {0, 1000000};

    for (int ms = 0; !condition(arg); ms++) {
        assert_true(ms < TIMEOUT_MS);
        (void)nanosleep(&while_others_work, NULL);
    }
}

static bool is_released(void *arg)
{
    (void)arg;
    return heap_live() == 0;
}

/* Threads of the handle free their memory when they end. */
static void run_once(void (*scenario)(void))
{
    heap_fail(faults.nth, faults.all_after);
    scenario();
    wait_until(is_released, NULL);
}

/* Run ${scenario} until none of its allocations is left to fail. */
static void fail_each_allocation(void (*scenario)(void), bool all_after)
{
    faults.nth = 0;
    run_once(scenario);
    assert_true(heap_calls() > 3);
    faults.all_after = all_after;
    do {
        faults.nth++;
        assert_true(faults.nth < 1000);
        run_once(scenario);
    } while (heap_failed());
    faults.nth = 0;
    faults.all_after = false;
    heap_fail(0, false);
}

/* --------------------------------------------------------------- fixture -- */

/* A handle, and how often callbacks that the test passed were called and
 * dropped. */
struct client_fixture {
    struct hf_zookeeper *zookeeper;
    int passed; /* callbacks */
    atomic_int dropped;
    atomic_int ended;
    atomic_int events;
    atomic_int resyncs; /* of these */
    atomic_int unset;   /* log lines that a watch could not be set again */
    _Atomic hf_status status; /* of the last end */
};

static void on_drop(void *arg)
{
    atomic_fetch_add(&((struct client_fixture *)arg)->dropped, 1);
}

static void on_log(void *arg, enum hf_log_level level, const char *line)
{
    (void)level;
    atomic_fetch_add(&((struct client_fixture *)arg)->unset,
                     strstr(line, "is not set in the new session") != NULL);
}

static void on_state(void *arg, enum hf_state state)
{
    (void)arg;
    (void)state;
}

static void on_done(void *arg, const struct hf_zookeeper_result *result)
{
    struct client_fixture *f = arg;

    assert_int_equal(result->status == HF_OK, result->text[0] == '\0');
    if (result->status != HF_OK)
        assert_string_equal(hf_last_error()->text, result->text);
    atomic_store(&f->status, result->status);
    atomic_fetch_add(&f->ended, 1);
}

static void on_event(void *arg, const struct hf_zookeeper_event *event)
{
    struct client_fixture *f = arg;

    assert_string_equal(event->path, "/a");
    atomic_fetch_add(&f->resyncs, event->kind == HF_ZOOKEEPER_RESYNC);
    atomic_fetch_add(&f->events, 1);
}

/* An empty callback of each type, which is dropped in the end. */
static struct hf_zookeeper_done done(struct client_fixture *f)
{
    f->passed++;
    return (struct hf_zookeeper_done){on_done, f, on_drop};
}

static struct hf_zookeeper_on_event to_events(struct client_fixture *f)
{
    f->passed++;
    return (struct hf_zookeeper_on_event){on_event, f, on_drop};
}

static bool begin(struct client_fixture *f)
{
    static const struct hf_zookeeper_credential credential = {"digest", "a:b",
                                                              3};
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;

    *f = (struct client_fixture){.passed = 1};
    opts.on_state = (struct hf_on_state){on_state, f, on_drop};
    opts.credentials = &credential;
    opts.credential_count = 1;
    opts.reconnect.pause_ms = opts.reconnect.pause_max_ms = 1;
    opts.on_log = (struct hf_on_log){on_log, f, HF_LOG_WARNING};
    if (is_expected(hf_zookeeper_open(server.url, &opts, &f->zookeeper)))
        return true;
    assert_null(f->zookeeper);
    assert_true(strncmp(hf_last_error()->text, "hf_zookeeper_open: ", 19) == 0);
    return false;
}

static void end(struct client_fixture *f)
{
    assert_int_equal(hf_zookeeper_close(f->zookeeper), HF_OK);
    assert_int_equal(f->dropped, f->passed);
}

static bool has_ended(void *arg)
{
    return ((struct client_fixture *)arg)->ended > 0;
}

/* True if the operation that was started has ended well. */
static bool ended_well(struct client_fixture *f, hf_status started)
{
    if (!is_expected(started)) {
        assert_int_equal(f->ended, 0);
        return false;
    }
    wait_until(has_ended, f);
    assert_int_equal(f->ended, 1);
    f->ended = 0;
    return is_expected(f->status);
}

/* ------------------------------------------------------------- scenarios -- */

/* Has a call that waited succeeded?  Frees what it brought. */
static bool is_well(hf_status status, struct hf_zookeeper_result *result)
{
    if (result != NULL)
        assert_int_equal(result->status, status);
    hf_zookeeper_result_free(result);
    return is_expected(status);
}

/* Each call that waits and brings a result, until one fails. */
static bool read_and_create(struct hf_zookeeper *z, uint64_t ms)
{
    struct hf_zookeeper_result *result;
    hf_status status;

    status = hf_zookeeper_create(z, "/a", "x", 1, 0, ms, &result);
    if (!is_well(status, result))
        return false;
    status = hf_zookeeper_get(z, "/a", ms, &result);
    if (!is_well(status, result))
        return false;
    status = hf_zookeeper_children(z, "/a", ms, &result);
    if (!is_well(status, result))
        return false;
    status = hf_zookeeper_get_acl(z, "/a", ms, &result);
    return is_well(status, result);
}

/* Each of the others. */
static void write_and_sync(struct hf_zookeeper *z, uint64_t ms)
{
    static const struct hf_zookeeper_acl acl = {31, "world", "anyone"};
    static const struct hf_zookeeper_op part = {.kind = HF_ZOOKEEPER_DELETE,
                                                .path = "/a"};

    (void)(is_expected(hf_zookeeper_exists(z, "/a", ms, NULL)) &&
           is_expected(hf_zookeeper_set(z, "/a", "y", 1, -1, ms, NULL)) &&
           is_expected(hf_zookeeper_delete(z, "/a", -1, ms)) &&
           is_expected(hf_zookeeper_sync(z, "/a", ms)) &&
           is_expected(hf_zookeeper_multi(z, &part, 1, ms, NULL)) &&
           is_expected(hf_zookeeper_set_acl(z, "/a", &acl, 1, -1, ms)) &&
           is_expected(hf_zookeeper_add_auth(z, "digest", "c:d", 3, ms)));
}

static void waiting(void)
{
    struct client_fixture f;

    if (begin(&f) && read_and_create(f.zookeeper, wait_ms()))
        write_and_sync(f.zookeeper, wait_ms());
    end(&f);
}

/* Each call that is started, until one fails. */
static void start_each(struct client_fixture *f)
{
    static const struct hf_zookeeper_op part = {.kind = HF_ZOOKEEPER_DELETE,
                                                .path = "/a"};
    struct hf_zookeeper *z = f->zookeeper;
    uint64_t ms = wait_ms();

    (void)(ended_well(f, hf_zookeeper_create_start(z, "/a", NULL, 0, 0, ms,
                                                   done(f))) &&
           ended_well(f, hf_zookeeper_get_start(z, "/a", ms, done(f))) &&
           ended_well(f, hf_zookeeper_exists_start(z, "/a", ms, done(f))) &&
           ended_well(f, hf_zookeeper_children_start(z, "/a", ms, done(f))) &&
           ended_well(
               f, hf_zookeeper_set_start(z, "/a", "y", 1, -1, ms, done(f))) &&
           ended_well(f, hf_zookeeper_sync_start(z, "/a", ms, done(f))) &&
           ended_well(f, hf_zookeeper_multi_start(z, &part, 1, ms, done(f))) &&
           ended_well(f, hf_zookeeper_delete_start(z, "/a", -1, ms, done(f))));
}

static void starting(void)
{
    struct client_fixture f;

    if (begin(&f))
        start_each(&f);
    end(&f);
}

/* With the handle of the operation, which outlives the client. */
static void cancelling(void)
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_GET, .path = "/a"};
    struct hf_op *handle = NULL;
    struct client_fixture f;

    if (begin(&f)) {
        if (is_expected(hf_zookeeper_start(f.zookeeper, &op, HF_FOREVER,
                                           done(&f), &handle)))
            hf_op_cancel(handle);
        else
            assert_null(handle);
    }
    end(&f);
    hf_op_free(handle);
}

/* Has the watch reported something, or does the connection have to be made
 * again first? */
static bool has_event(void *arg)
{
    struct client_fixture *f = arg;

    if (faults.nth > 0 && f->events == 0)
        zookeeper_fake_fire(&server, CHANGED, "/a");
    return f->events > 0;
}

/* A watch of ${kind}, set by an operation of ${op}, and an event.  Where there
 * is no memory for the event, it is a RESYNC. */
static void watch_one(struct client_fixture *f,
                      enum hf_zookeeper_watch_kind kind,
                      enum hf_zookeeper_op_kind op_kind)
{
    struct hf_zookeeper_op op = {.kind = op_kind, .path = "/a"};
    struct hf_zookeeper_watch *watch;

    f->events = 0;
    if (!is_expected(hf_zookeeper_watch_open(f->zookeeper, "/a", kind,
                                             to_events(f), &watch))) {
        assert_null(watch);
        return;
    }
    op.watch = watch;
    if (is_expected(hf_zookeeper_run(f->zookeeper, &op, wait_ms(), NULL)) &&
        !faults.all_after) {
        zookeeper_fake_fire(&server, CHANGED, "/a");
        wait_until(has_event, f);
    }
    hf_zookeeper_watch_free(watch);
}

static void watching(void)
{
    struct client_fixture f;

    if (begin(&f)) {
        watch_one(&f, HF_ZOOKEEPER_WATCH_DATA, HF_ZOOKEEPER_GET);
        watch_one(&f, HF_ZOOKEEPER_WATCH_PERSISTENT, HF_ZOOKEEPER_ADD_WATCH);
        watch_one(&f, HF_ZOOKEEPER_WATCH_RECURSIVE, HF_ZOOKEEPER_ADD_WATCH);
    }
    end(&f);
}

/* The connection ends, and a read goes on on the next one. */
static void reconnecting(void)
{
    struct hf_zookeeper_result *result;
    struct client_fixture f;
    hf_status status;

    if (begin(&f) &&
        is_expected(hf_zookeeper_sync(f.zookeeper, "/", wait_ms()))) {
        server.silent = true;
        if (is_expected(hf_zookeeper_get_start(f.zookeeper, "/a", wait_ms(),
                                               done(&f)))) {
            zookeeper_fake_cut(&server);
            server.silent = false;
            wait_until(has_ended, &f);
            (void)is_expected(f.status);
        }
        server.silent = false;
        status = hf_zookeeper_get(f.zookeeper, "/a", wait_ms(), &result);
        (void)is_well(status, result);
    }
    end(&f);
}

static bool has_resync(void *arg)
{
    return ((struct client_fixture *)arg)->resyncs > 0;
}

/* The session ends, and a persistent watch is set again in the next one, for
 * which no memory is needed. */
static void losing(void)
{
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_ADD_WATCH};
    struct hf_zookeeper_watch *watch = NULL;
    struct client_fixture f;

    if (begin(&f) && is_expected(hf_zookeeper_watch_open(
                         f.zookeeper, "/a", HF_ZOOKEEPER_WATCH_PERSISTENT,
                         to_events(&f), &watch))) {
        op.watch = watch;
        if (is_expected(hf_zookeeper_run(f.zookeeper, &op, wait_ms(), NULL)) &&
            !faults.all_after) {
            server.forgets = true;
            zookeeper_fake_cut(&server);
            wait_until(has_resync, &f);
            server.forgets = false;
        }
    }
    hf_zookeeper_watch_free(watch);
    end(&f);
}

static hf_status change_data(void *arg, const struct hf_zookeeper_result *now,
                             struct hf_zookeeper_new_data *new_data)
{
    (void)arg;
    new_data->data = "new";
    new_data->bytes = now->bytes - 1;
    return HF_OK;
}

static struct hf_zookeeper_change change(struct client_fixture *f)
{
    f->passed++;
    return (struct hf_zookeeper_change){change_data, f, on_drop};
}

static const struct hf_zookeeper_acl everybody = {31, "world", "anyone"};
static const struct hf_zookeeper_op sequential = {.kind = HF_ZOOKEEPER_CREATE,
                                                  .path = "/q/job-",
                                                  .data = "x",
                                                  .bytes = 1,
                                                  .mode =
                                                      HF_ZOOKEEPER_SEQUENTIAL,
                                                  .acls = &everybody,
                                                  .acl_count = 1};

/* Each call that is retried and waits, when its first answer is lost. */
static void retry_each(struct client_fixture *f)
{
    struct hf_zookeeper *z = f->zookeeper;
    struct hf_zookeeper_result *result;
    uint64_t ms = wait_ms();
    hf_status status;

    server.loses = HF_ZK_CREATE2;
    status = hf_zookeeper_create_protected(z, &sequential, 1, ms, &result);
    if (!is_well(status, result))
        return;
    server.loses = HF_ZK_DELETE;
    if (!is_expected(hf_zookeeper_delete_guaranteed(z, "/a", -1, ms)))
        return;
    server.loses = HF_ZK_SET_DATA;
    status = hf_zookeeper_update(z, "/a", change(f), ms, &result);
    (void)is_well(status, result);
}

static void retrying(void)
{
    struct client_fixture f;

    if (begin(&f))
        retry_each(&f);
    server.loses = 0;
    end(&f);
}

/* Those that are started, when nothing is lost. */
static void starting_retries(void)
{
    struct client_fixture f;
    struct hf_op *handles[3] = {NULL, NULL, NULL};
    uint64_t ms = wait_ms();

    (void)(begin(&f) &&
           ended_well(&f, hf_zookeeper_create_protected_start(
                              f.zookeeper, &sequential, 0, ms, done(&f),
                              &handles[0])) &&
           ended_well(&f,
                      hf_zookeeper_delete_guaranteed_start(
                          f.zookeeper, "/a", 0, ms, done(&f), &handles[1])) &&
           ended_well(&f,
                      hf_zookeeper_update_start(f.zookeeper, "/a", change(&f),
                                                ms, done(&f), &handles[2])));
    end(&f);
    for (size_t i = 0; i < 3; i++)
        hf_op_free(handles[i]);
}

/* The calls that need no server. */
static void listening(void)
{
    struct hf_zookeeper_session session;
    struct hf_listener *listener = NULL;
    struct client_fixture f;
    hf_status status;

    if (begin(&f)) {
        f.passed++;
        if (is_expected(hf_zookeeper_add_listener(
                f.zookeeper, (struct hf_on_state){on_state, &f, on_drop},
                &listener)))
            hf_zookeeper_remove_listener(f.zookeeper, listener);
        status = hf_zookeeper_session(f.zookeeper, &session);
        assert_true(status == HF_OK || status == HF_EUNREACHABLE);
    }
    end(&f);
}

/* A handle on the session of a client of locks, which is closed before or after
 * that: calls that wait and that call back, a watch and a listener. */
static void share(bool client_first)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    struct client_fixture f = {.passed = 0};
    struct hf_listener *listener;
    struct hf_client *client;

    opts.reconnect.pause_ms = opts.reconnect.pause_max_ms = 1;
    if (!is_expected(hf_client_open(server.url, &opts, &client)))
        return;
    if (is_expected(hf_client_zookeeper(client, &f.zookeeper))) {
        f.passed++;
        (void)is_expected(hf_zookeeper_add_listener(
            f.zookeeper, (struct hf_on_state){on_state, &f, on_drop},
            &listener));
        if (read_and_create(f.zookeeper, wait_ms()))
            watch_one(&f, HF_ZOOKEEPER_WATCH_RECURSIVE, HF_ZOOKEEPER_ADD_WATCH);
        (void)is_expected(
            hf_zookeeper_get_start(f.zookeeper, "/a", wait_ms(), done(&f)));
    } else {
        assert_null(f.zookeeper);
    }
    if (client_first)
        assert_int_equal(hf_client_close(client), HF_OK);
    assert_int_equal(hf_zookeeper_close(f.zookeeper), HF_OK);
    assert_int_equal(f.dropped, f.passed);
    if (!client_first)
        assert_int_equal(hf_client_close(client), HF_OK);
}

static void sharing(void)
{
    share(false);
}

static void outliving(void)
{
    share(true);
}

static void on_registration(void *arg, struct hf_zookeeper_registration *r,
                            const struct hf_zookeeper_registration_event *event)
{
    struct client_fixture *f = arg;

    (void)r;
    assert_int_equal(event->status == HF_OK, event->text[0] == '\0');
    if (event->status != HF_OK)
        assert_string_equal(hf_last_error()->text, event->text);
    atomic_fetch_add(&f->events, 1);
}

/* Whatever fails once is tried again. */
static bool is_registered(hf_status status)
{
    assert_true(status == HF_OK ||
                (faults.all_after && status == HF_ETIMEDOUT));
    return status == HF_OK;
}

/* How a wait ended. */
static void on_waited(void *arg, const struct hf_result *result)
{
    struct client_fixture *f = arg;

    (void)is_registered(result->status);
    atomic_fetch_add(&f->ended, 1);
}

/* Start a wait of ${r}, which ends once. */
static void start_wait(struct client_fixture *f,
                       struct hf_zookeeper_registration *r)
{
    f->passed++;
    (void)is_expected(hf_zookeeper_registration_wait_start(
        r, wait_ms(), (struct hf_done){on_waited, f, on_drop}));
}

/* The node is made, gets other data, is deleted by somebody and made again, and
 * is deleted in the end. */
static void registering(void)
{
    static const struct hf_zookeeper_acl acl = {31, "world", "anyone"};
    struct hf_zookeeper_registration_opts opts =
        HF_ZOOKEEPER_REGISTRATION_OPTS_INIT;
    struct hf_zookeeper_registration *r = NULL;
    struct client_fixture f;

    if (begin(&f)) {
        f.passed++;
        opts.on_event =
            (struct hf_zookeeper_on_registration){on_registration, &f, on_drop};
        opts.acls = &acl;
        opts.acl_count = 1;
        if (!is_expected(hf_zookeeper_registration_open(f.zookeeper, "/a", "x",
                                                        1, &opts, &r)))
            assert_null(r);
        else
            start_wait(&f, r);
        if (r != NULL &&
            is_registered(hf_zookeeper_registration_wait(r, wait_ms())) &&
            is_expected(hf_zookeeper_registration_set(r, "yz", 2)) &&
            is_registered(hf_zookeeper_registration_wait(r, wait_ms()))) {
            zookeeper_fake_fire(&server, DELETED, "/a");
            (void)is_expected(hf_zookeeper_sync(f.zookeeper, "/", wait_ms()));
            (void)is_registered(hf_zookeeper_registration_wait(r, wait_ms()));
        }
        (void)is_registered(hf_zookeeper_registration_close(r, wait_ms()));
    }
    end(&f);
}

#define EACH_ALLOCATION_FAILS(scenario)                                        \
    TEST(one_fails_##scenario)                                                 \
    {                                                                          \
        fail_each_allocation(scenario, false);                                 \
    }                                                                          \
                                                                               \
    TEST(all_fail_##scenario)                                                  \
    {                                                                          \
        fail_each_allocation(scenario, true);                                  \
    }

EACH_ALLOCATION_FAILS(waiting)
EACH_ALLOCATION_FAILS(starting)
EACH_ALLOCATION_FAILS(cancelling)
EACH_ALLOCATION_FAILS(watching)
EACH_ALLOCATION_FAILS(reconnecting)
EACH_ALLOCATION_FAILS(losing)
EACH_ALLOCATION_FAILS(listening)
EACH_ALLOCATION_FAILS(sharing)
EACH_ALLOCATION_FAILS(outliving)
EACH_ALLOCATION_FAILS(retrying)
EACH_ALLOCATION_FAILS(starting_retries)
EACH_ALLOCATION_FAILS(registering)

/* ----------------------------------------------------------------- close -- */

#define UNSENT 32

static void on_closed_op(void *arg, const struct hf_zookeeper_result *result)
{
    struct client_fixture *f = arg;

    assert_true(result->status == HF_ECLOSED || result->status == HF_EUNSURE);
    atomic_fetch_add(&f->ended, result->status == HF_ECLOSED);
    atomic_fetch_add(&f->events, result->status == HF_EUNSURE);
}

static bool has_512(void *arg)
{
    return ((struct zookeeper_fake_server *)arg)->calls == 512;
}

/* Half of those that were sent are writes. */
TEST(a_close_ends_what_waits_and_what_was_sent)
{
    struct hf_zookeeper_done on_end = {on_closed_op, NULL, on_drop};
    struct client_fixture f;
    struct hf_zookeeper *z;

    assert_true(begin(&f));
    z = f.zookeeper;
    assert_int_equal(hf_zookeeper_sync(z, "/", 5000), HF_OK);
    server.calls = 0;
    server.silent = true;
    on_end.arg = &f;
    for (int i = 0; i < (512 + UNSENT) / 2; i++) {
        f.passed += 2;
        assert_int_equal(
            hf_zookeeper_set_start(z, "/a", "x", 1, -1, HF_FOREVER, on_end),
            HF_OK);
        assert_int_equal(hf_zookeeper_get_start(z, "/a", HF_FOREVER, on_end),
                         HF_OK);
    }
    wait_until(has_512, &server);
    end(&f);
    assert_int_equal(f.events, 512 / 2);
    assert_int_equal(f.ended, 512 / 2 + UNSENT);
    server.silent = false;
    wait_until(is_released, NULL);
}

/* Without any connection. */
TEST(a_close_ends_what_was_never_sent)
{
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    struct hf_zookeeper_done on_end = {on_closed_op, NULL, on_drop};
    struct client_fixture f = {.passed = UNSENT};

    on_end.arg = &f;
    opts.connect_ms = HF_FOREVER;
    assert_int_equal(hf_zookeeper_open("zk://127.0.0.1:1", &opts, &f.zookeeper),
                     HF_OK);
    for (int i = 0; i < UNSENT; i++)
        assert_int_equal(hf_zookeeper_set_start(f.zookeeper, "/a", "x", 1, -1,
                                                HF_FOREVER, on_end),
                         HF_OK);
    end(&f);
    assert_int_equal(f.ended, UNSENT);
    wait_until(is_released, NULL);
}

/* On the session of a client of locks, which goes on: what was sent has a
 * second.  The memory of the handle is needed until the connection ends. */
TEST(a_shared_handle_leaves_what_is_unanswered)
{
    const struct hf_zookeeper_op auth = {.kind = HF_ZOOKEEPER_ADD_AUTH,
                                         .scheme = "digest",
                                         .data = "c:d",
                                         .bytes = 3};
    struct hf_zookeeper_done on_end = {on_closed_op, NULL, on_drop};
    struct client_fixture f = {.passed = 0};
    struct hf_client *client;
    struct hf_zookeeper *z;

    assert_int_equal(hf_client_open(server.url, NULL, &client), HF_OK);
    assert_int_equal(hf_client_zookeeper(client, &z), HF_OK);
    assert_int_equal(hf_zookeeper_sync(z, "/", 5000), HF_OK);
    server.silent = true;
    on_end.arg = &f;
    for (int i = 0; i < UNSENT; i++) {
        f.passed += 2;
        assert_int_equal(
            hf_zookeeper_set_start(z, "/a", "x", 1, -1, HF_FOREVER, on_end),
            HF_OK);
        assert_int_equal(hf_zookeeper_get_start(z, "/a", HF_FOREVER, on_end),
                         HF_OK);
    }
    f.passed++;
    assert_int_equal(hf_zookeeper_start(z, &auth, HF_FOREVER, on_end, NULL),
                     HF_OK);
    assert_int_equal(hf_zookeeper_close(z), HF_OK);
    assert_int_equal(f.dropped, f.passed);
    assert_int_equal(f.events, UNSENT);
    assert_int_equal(f.ended, UNSENT + 1);
    server.silent = false;
    zookeeper_fake_cut(&server);
    assert_int_equal(hf_client_close(client), HF_OK);
    wait_until(is_released, NULL);
}

/* ----------------------------------------------- what goes on afterwards -- */

/* Deletes whose time is over, and creates, go on until the close: 1024. */
TEST(what_goes_on_is_bounded)
{
    const struct hf_zookeeper_done nobody = {NULL, NULL, NULL};
    struct client_fixture f;
    struct hf_zookeeper *z;

    assert_true(begin(&f));
    z = f.zookeeper;
    assert_int_equal(hf_zookeeper_sync(z, "/", 5000), HF_OK);
    server.silent = true;
    for (int i = 0; i < 1024; i++)
        assert_int_equal(i % 2
                             ? hf_zookeeper_delete_guaranteed_start(
                                   z, "/a", -1, 1, nobody, NULL)
                             : hf_zookeeper_create_protected_start(
                                   z, &sequential, 0, HF_FOREVER, nobody, NULL),
                         HF_OK);
    assert_int_equal(hf_zookeeper_delete_guaranteed(z, "/a", -1, 5000),
                     HF_ELIMIT);
    assert_non_null(strstr(hf_last_error()->text, "1024 removals"));
    assert_int_equal(
        hf_zookeeper_create_protected(z, &sequential, 0, 5000, NULL),
        HF_ELIMIT);
    server.silent = false;
    end(&f);
    wait_until(is_released, NULL);
}

/* ---------------------------------------------------- freeing of a watch -- */

/* A persistent watch and its callback. */
struct watch_fixture {
    struct client_fixture f;
    struct hf_zookeeper_watch *watch;
    struct watch_fixture *frees; /* in the callback; or NULL */
    atomic_bool running;         /* the callback, */
    atomic_bool freeing;         /* until another thread frees the watch */
    atomic_bool returned;
};

static void free_in_callback(void *arg, const struct hf_zookeeper_event *event)
{
    struct watch_fixture *w = arg;

    (void)event;
    atomic_fetch_add(&w->f.events, 1);
    if (w->frees != NULL)
        hf_zookeeper_watch_free(w->frees->watch);
    atomic_store(&w->returned, true);
}

static void run_until_freed(void *arg, const struct hf_zookeeper_event *event)
{
    struct watch_fixture *w = arg;

    (void)event;
    atomic_store(&w->running, true);
    while (!atomic_load(&w->freeing))
        (void)sched_yield();
    for (int i = 0; i < 100; i++)
        (void)sched_yield(); /* the other thread waits by now, probably */
    atomic_store(&w->returned, true);
}

static void on_drop_watch(void *arg)
{
    atomic_fetch_add(&((struct watch_fixture *)arg)->f.dropped, 1);
}

/* Set a persistent watch of ${w} on ${z}. */
static void set_watch(struct hf_zookeeper *z, struct watch_fixture *w,
                      void (*fn)(void *arg,
                                 const struct hf_zookeeper_event *event))
{
    const struct hf_zookeeper_on_event event = {fn, w, on_drop_watch};
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_ADD_WATCH};

    *w = (struct watch_fixture){.watch = NULL};
    assert_int_equal(hf_zookeeper_watch_open(z, "/a",
                                             HF_ZOOKEEPER_WATCH_PERSISTENT,
                                             event, &w->watch),
                     HF_OK);
    op.watch = w->watch;
    assert_int_equal(hf_zookeeper_run(z, &op, 5000, NULL), HF_OK);
}

static bool is_dropped(void *arg)
{
    return ((struct watch_fixture *)arg)->f.dropped > 0;
}

static bool is_running(void *arg)
{
    return ((struct watch_fixture *)arg)->running;
}

TEST(a_watch_is_freed_in_its_own_callback)
{
    struct client_fixture f;
    struct watch_fixture w;

    assert_true(begin(&f));
    set_watch(f.zookeeper, &w, free_in_callback);
    w.frees = &w;
    zookeeper_fake_fire(&server, CHANGED, "/a");
    zookeeper_fake_fire(&server, CHANGED, "/a");
    wait_until(is_dropped, &w);
    assert_int_equal(w.f.events, 1);
    end(&f);
    assert_int_equal(w.f.dropped, 1);
    wait_until(is_released, NULL);
}

/* Both get the event, and it does not matter which one is called first: its
 * callback frees the other. */
TEST(a_watch_is_freed_in_the_callback_of_another)
{
    struct watch_fixture w[2];
    struct client_fixture f;

    assert_true(begin(&f));
    set_watch(f.zookeeper, &w[0], free_in_callback);
    set_watch(f.zookeeper, &w[1], free_in_callback);
    w[0].frees = &w[1];
    w[1].frees = &w[0];
    zookeeper_fake_fire(&server, CHANGED, "/a");
    while (w[0].f.dropped + w[1].f.dropped == 0)
        (void)sched_yield();
    assert_int_equal(hf_zookeeper_sync(f.zookeeper, "/", 5000), HF_OK);
    hf_zookeeper_watch_free(w[w[0].f.dropped > 0].watch);
    end(&f);
    assert_int_equal(w[0].f.events + w[1].f.events, 1);
    assert_int_equal(w[0].f.dropped, 1);
    assert_int_equal(w[1].f.dropped, 1);
    wait_until(is_released, NULL);
}

/* The event ends a one-shot watch, which is not counted any more.  In the child
 * of a fork nothing is. */
TEST(a_one_shot_watch_counts_until_its_event)
{
    struct client_fixture f;
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_EXISTS, .path = "/a"};
    struct hf_zookeeper_watch *watch;
    pid_t child;
    int how;

    assert_true(begin(&f));
    assert_int_equal(hf_zookeeper_watch_open(f.zookeeper, "/a",
                                             HF_ZOOKEEPER_WATCH_DATA,
                                             to_events(&f), &watch),
                     HF_OK);
    op.watch = watch;
    assert_int_equal(hf_zookeeper_run(f.zookeeper, &op, 5000, NULL), HF_OK);
    op.watch = NULL;
    server.refused_opcode = HF_ZK_EXISTS;
    server.refusal = HF_ZK_NO_AUTH;
    server.refusals = 1;
    assert_int_equal(hf_zookeeper_run(f.zookeeper, &op, 5000, NULL),
                     HF_EDENIED);
    assert_int_equal(hf_zookeeper_unreadable(f.zookeeper), 1);
    /* An older server does not ask for the permission. */
    assert_int_equal(hf_zookeeper_run(f.zookeeper, &op, 5000, NULL), HF_OK);
    assert_int_equal(hf_zookeeper_unreadable(f.zookeeper), 1);
    if ((child = test_fork()) == 0)
        _exit(hf_zookeeper_unreadable(f.zookeeper) == 0 ? 0 : 1);
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
    zookeeper_fake_fire(&server, CHANGED, "/a");
    assert_int_equal(hf_zookeeper_sync(f.zookeeper, "/", 5000), HF_OK);
    assert_int_equal(hf_zookeeper_unreadable(f.zookeeper), 0);
    hf_zookeeper_watch_free(watch);
    end(&f);
    wait_until(is_released, NULL);
}

static void *free_watch(void *arg)
{
    struct watch_fixture *w = arg;

    atomic_store(&w->freeing, true);
    hf_zookeeper_watch_free(w->watch);
    assert_true(atomic_load(&w->returned));
    return NULL;
}

TEST(a_free_waits_for_a_callback_on_another_thread)
{
    struct client_fixture f;
    struct watch_fixture w;
    pthread_t thread;

    assert_true(begin(&f));
    for (int i = 0; i < 20; i++) {
        set_watch(f.zookeeper, &w, run_until_freed);
        zookeeper_fake_fire(&server, CHANGED, "/a");
        wait_until(is_running, &w);
        assert_int_equal(pthread_create(&thread, NULL, free_watch, &w), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        wait_until(is_dropped, &w);
        assert_int_equal(w.f.dropped, 1);
    }
    end(&f);
    wait_until(is_released, NULL);
}

static bool has_call(void *arg)
{
    return ((struct zookeeper_fake_server *)arg)->calls > 0;
}

/* Nobody misses it, so there is nothing to warn of. */
TEST(a_watch_is_freed_while_it_is_set_again)
{
    struct client_fixture f;
    struct watch_fixture w;

    assert_true(begin(&f));
    set_watch(f.zookeeper, &w, free_in_callback);
    server.calls = 0;
    server.forgets = server.silent = true;
    zookeeper_fake_cut(&server);
    wait_until(has_call, &server); /* the AddWatch */
    hf_zookeeper_watch_free(w.watch);
    server.silent = false;
    end(&f);
    assert_int_equal(f.unset, 0);
    assert_int_equal(w.f.events, 0);
    assert_int_equal(w.f.dropped, 1);
    wait_until(is_released, NULL);
}

/* A handle and its watch are freed in either order. */
/* ------------------------------------------------------------- listeners -- */

static void on_closed_handle(void *arg, const struct hf_result *result)
{
    struct client_fixture *f = arg;

    assert_int_equal(result->status, HF_OK);
    atomic_fetch_add(&f->ended, 1);
}

static void close_when_lost(void *arg, enum hf_state state)
{
    struct client_fixture *f = arg;

    if (state == HF_STATE_LOST)
        assert_int_equal(
            hf_zookeeper_close_start(
                f->zookeeper, (struct hf_done){on_closed_handle, f, on_drop}),
            HF_OK);
}

/* What a program does that wants no other session. */
TEST(a_listener_closes_the_handle_of_a_lost_session)
{
    struct hf_listener *listener;
    struct client_fixture f;

    assert_true(begin(&f));
    assert_int_equal(hf_zookeeper_sync(f.zookeeper, "/", 5000), HF_OK);
    f.passed += 2;
    assert_int_equal(hf_zookeeper_add_listener(
                         f.zookeeper,
                         (struct hf_on_state){close_when_lost, &f, on_drop},
                         &listener),
                     HF_OK);
    server.forgets = true;
    zookeeper_fake_cut(&server);
    wait_until(has_ended, &f);
    wait_until(is_released, NULL);
    server.forgets = false;
    assert_int_equal(f.dropped, f.passed);
}

TEST(a_watch_outlives_its_handle)
{
    struct client_fixture f;
    struct watch_fixture w;

    assert_true(begin(&f));
    set_watch(f.zookeeper, &w, free_in_callback);
    end(&f);
    assert_int_equal(w.f.dropped, 0);
    hf_zookeeper_watch_free(w.watch);
    assert_int_equal(w.f.dropped, 1);
    wait_until(is_released, NULL);
}

/* --------------------------------------------------------------- session -- */

/* The timeout to ask for is the one that the session was granted, whatever the
 * URL says: another one would change for how long the servers keep it. */
TEST(a_session_is_taken_over_with_its_timeout)
{
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    const struct hf_zookeeper_session session = {
        .id = 4711, .password = ZK_SERVER_PASSWORD, .timeout_ms = 4321};
    struct hf_zookeeper_session taken;
    struct hf_zookeeper *z;

    opts.session = &session;
    assert_int_equal(hf_zookeeper_open(server.url, &opts, &z), HF_OK);
    assert_int_equal(hf_zookeeper_sync(z, "/", 5000), HF_OK);
    assert_int_equal(hf_zookeeper_session(z, &taken), HF_OK);
    assert_memory_equal(&taken, &session, sizeof session);
    assert_int_equal(server.session_id, 4711);
    assert_int_equal(server.timeout_ms, 4321);
    assert_int_equal(hf_zookeeper_close(z), HF_OK);
    wait_until(is_released, NULL);
}

/* A timeout that was not kept is that of the URL; one that no server grants is
 * refused. */
TEST(the_timeout_of_a_session_is_checked)
{
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    struct hf_zookeeper_session session = {.id = 4711};
    struct hf_zookeeper *z;

    opts.session = &session;
    assert_int_equal(hf_zookeeper_open(server.url, &opts, &z), HF_OK);
    assert_int_equal(hf_zookeeper_sync(z, "/", 5000), HF_OK);
    assert_int_equal(server.timeout_ms, 10000);
    assert_int_equal(hf_zookeeper_close(z), HF_OK);
    wait_until(is_released, NULL);
    session.timeout_ms = UINT64_C(1) << 31;
    assert_int_equal(hf_zookeeper_open(server.url, &opts, &z), HF_EINVAL);
    assert_string_equal(hf_last_error()->text,
                        "hf_zookeeper_open: the timeout of 'session' is "
                        "2147483648 ms; expected what hf_zookeeper_session() "
                        "has set, or 0");
}

TEST_FILE(zookeeper_client)
{
    int failed;

    heap_install();
    zookeeper_fake_start(&server);
    failed = RUN_TESTS(NULL, NULL);
    zookeeper_fake_stop(&server);
    return failed;
}
