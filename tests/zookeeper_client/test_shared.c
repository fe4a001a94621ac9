/* SPDX-License-Identifier: Apache-2.0 */
/* Handles on the session of a client of locks, on a real server: what a handle
 * registers and what the client locks live and die together, whichever is
 * closed first; and transactions that are carried out only while a grant is
 * held. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <holdfast/holdfast.h>
#include <holdfast/zookeeper.h>

#include "cmocka/runner.h"
#include "heap/heap.h"
#include "zookeeper_client/zookeeper_handle.h"
#include "zookeeper_fixture.h"

/* --------------------------------------------------------------- helpers -- */

/* A client of locks below ${path} of the chroot of ${f}. */
static struct hf_client *open_client(const struct zookeeper_fixture *f,
                                     const char *path,
                                     const struct hf_client_opts *opts)
{
    struct hf_client *client;
    char url[512];

    (void)snprintf(url, sizeof url, "zk://%s%s%s", getenv("HF_ZK"), f->chroot,
                   path);
    if (hf_client_open(url, opts, &client) != HF_OK)
        fail_msg("%s", hf_last_error()->text);
    return client;
}

static struct hf_zookeeper *share(struct hf_client *client)
{
    struct hf_zookeeper *zookeeper;

    assert_int_equal(hf_client_zookeeper(client, &zookeeper), HF_OK);
    return zookeeper;
}

static struct hf_lock *open_kind(struct hf_client *client, const char *name,
                                 enum hf_kind kind)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    struct hf_lock *lock;

    opts.kind = kind;
    if (kind == HF_KIND_SEMAPHORE) {
        opts.permits = 2;
        opts.limit = 3;
    }
    assert_int_equal(hf_lock_open(client, name, &opts, &lock), HF_OK);
    return lock;
}

static struct hf_lock *open_lock(struct hf_client *client, const char *name)
{
    return open_kind(client, name, HF_KIND_MUTEX);
}

static void log_loss(void *arg, struct hf_grant *grant)
{
    (void)grant;
    log_add(arg, "LOSS");
}

/* The loss of the grant goes to ${log}, unless that is NULL. */
static struct hf_grant *acquire_for(struct hf_lock *lock,
                                    struct callback_log *log)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_grant *grant;

    opts.wait_ms = WAIT_MS;
    if (log != NULL)
        opts.on_loss = (struct hf_on_loss){log_loss, log, NULL};
    assert_int_equal(hf_lock_acquire(lock, &opts, &grant), HF_OK);
    return grant;
}

static struct hf_grant *acquire(struct hf_lock *lock)
{
    return acquire_for(lock, NULL);
}

static void create_ephemeral(struct hf_zookeeper *zookeeper, const char *path)
{
    assert_int_equal(hf_zookeeper_create(zookeeper, path, NULL, 0,
                                         HF_ZOOKEEPER_EPHEMERAL, WAIT_MS, NULL),
                     HF_OK);
}

static void expect_gone(struct hf_zookeeper *zookeeper, const char *path)
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_EXISTS,
                                       .path = path};

    zookeeper_expect(zookeeper, &op, HF_EGONE);
}

static void expect_there(struct hf_zookeeper *zookeeper, const char *path)
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_EXISTS,
                                       .path = path};

    zookeeper_expect(zookeeper, &op, HF_OK);
}

/* End the session of ${zookeeper} behind its back: another client takes it over
 * and closes it. */
static void kill_session(const struct zookeeper_fixture *f,
                         struct hf_zookeeper *zookeeper)
{
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    struct hf_zookeeper_session session;
    struct hf_zookeeper *other;

    assert_int_equal(hf_zookeeper_session(zookeeper, &session), HF_OK);
    memcpy(session.password, zookeeper->session->password,
           sizeof session.password);
    opts.session = &session;
    other = zookeeper_open(f, "", "", &opts);
    assert_int_equal(hf_zookeeper_sync(other, "/", WAIT_MS), HF_OK);
    assert_int_equal(hf_zookeeper_close(other), HF_OK);
}

static void log_state(void *arg, enum hf_state state)
{
    log_add(arg, "%s", hf_state_name(state));
}

static struct hf_listener *listen_to(struct zookeeper_fixture *f,
                                     struct hf_zookeeper *zookeeper)
{
    struct hf_listener *listener;

    assert_int_equal(hf_zookeeper_add_listener(
                         zookeeper,
                         (struct hf_on_state){log_state, &f->log, NULL},
                         &listener),
                     HF_OK);
    return listener;
}

#define FIXTURE_TEST(name) TEST_WITH(name, zookeeper_setup, zookeeper_teardown)

/* --------------------------------------------------------------- session -- */

FIXTURE_TEST(a_handle_is_on_the_session_of_the_locks)
{
    struct zookeeper_fixture *f = *state;
    struct hf_client *client = open_client(f, "", NULL);
    struct hf_lock *lock = open_lock(client, "l");
    struct hf_grant *grant = acquire(lock);
    struct hf_zookeeper *first = share(client), *second = share(client);
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_CHILDREN, .path = "/l"};
    struct hf_zookeeper_session session, same;
    const uint8_t zeros[HF_ZOOKEEPER_PASSWORD_BYTES] = {0};
    struct hf_zookeeper_result *result;
    char path[256];

    assert_int_equal(hf_zookeeper_state(first), HF_STATE_CONNECTED);
    assert_false(hf_zookeeper_is_read_only(first));
    assert_int_equal(hf_zookeeper_session(first, &session), HF_OK);
    assert_int_equal(hf_zookeeper_session(second, &same), HF_OK);
    assert_true(session.id == same.id && session.timeout_ms > 0);
    assert_memory_equal(session.password, zeros, sizeof zeros);
    result = zookeeper_do(first, &op, HF_OK);
    assert_int_equal(result->child_count, 1);
    (void)snprintf(path, sizeof path, "/l/%s", result->children[0]);
    hf_zookeeper_result_free(result);
    op = (struct hf_zookeeper_op){.kind = HF_ZOOKEEPER_EXISTS, .path = path};
    result = zookeeper_do(second, &op, HF_OK);
    assert_true(result->stat.ephemeral_owner == session.id);
    hf_zookeeper_result_free(result);
    assert_int_equal(hf_grant_release(grant), HF_OK);
    hf_lock_free(lock);
    assert_int_equal(hf_zookeeper_close(second), HF_OK);
    assert_int_equal(hf_client_close(client), HF_OK);
    assert_int_equal(hf_zookeeper_close(first), HF_OK);
}

/* The server ends the session: the registration is gone, the lock is lost, and
 * the handle goes on with the next session. */
FIXTURE_TEST(a_registration_and_a_lock_die_together)
{
    struct zookeeper_fixture *f = *state;
    struct hf_client *client = open_client(f, "", NULL);
    struct hf_zookeeper *zookeeper = share(client);
    struct hf_lock *lock = open_lock(client, "l");
    struct hf_listener *listener = listen_to(f, zookeeper);
    struct hf_grant *grant = acquire_for(lock, &f->log);

    create_ephemeral(zookeeper, "/worker");
    expect_there(f->zookeeper, "/worker");
    kill_session(f, zookeeper);
    expect_gone(f->zookeeper, "/worker");
    (void)log_await_line(&f->log, 0, "LOSS");
    (void)log_await_line(&f->log, 0, "LOST");
    (void)log_await_line(&f->log, 0, "CONNECTED");
    assert_int_equal(hf_grant_check(grant), HF_ELOST);
    create_ephemeral(zookeeper, "/worker");
    assert_int_equal(hf_grant_release(grant), HF_ELOST);
    grant = acquire(lock);
    assert_int_equal(hf_grant_release(grant), HF_OK);
    hf_lock_free(lock);
    hf_zookeeper_remove_listener(zookeeper, listener);
    assert_int_equal(hf_zookeeper_close(zookeeper), HF_OK);
    expect_there(f->zookeeper, "/worker"); /* of the session */
    assert_int_equal(hf_client_close(client), HF_OK);
    expect_gone(f->zookeeper, "/worker");
}

/* A watch is set again in the session that follows, and brings a RESYNC.  The
 * connection may be lost before the session is, which brings one, too. */
FIXTURE_TEST(watches_live_through_a_lost_session)
{
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "w"};
    struct hf_client *client = open_client(f, "", NULL);
    struct hf_zookeeper *zookeeper = share(client);
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_ADD_WATCH};
    struct hf_listener *listener = listen_to(f, zookeeper);
    size_t lost_at;

    assert_int_equal(hf_zookeeper_watch_open(zookeeper, "/",
                                             HF_ZOOKEEPER_WATCH_RECURSIVE,
                                             log_events(&name), &op.watch),
                     HF_OK);
    zookeeper_expect(zookeeper, &op, HF_OK);
    kill_session(f, zookeeper);
    lost_at = log_await_line(&f->log, 0, "LOST");
    (void)log_await_line(&f->log, lost_at, "w RESYNC /");
    zookeeper_make(f->zookeeper, "/new", "");
    (void)log_await_line(&f->log, 0, "w CREATED /new");
    hf_zookeeper_watch_free(op.watch);
    hf_zookeeper_remove_listener(zookeeper, listener);
    assert_int_equal(hf_zookeeper_close(zookeeper), HF_OK);
    assert_int_equal(hf_client_close(client), HF_OK);
}

/* ----------------------------------------------------------------- close -- */

/* Operations that are counted as they end. */
struct counted {
    pthread_mutex_t lock;
    unsigned ended;
    unsigned dropped;
};

static void count_end(void *arg, const struct hf_zookeeper_result *result)
{
    struct counted *counted = arg;

    assert_true(result->status == HF_OK || result->status == HF_ECLOSED ||
                result->status == HF_EUNSURE);
    pthread_mutex_lock(&counted->lock);
    counted->ended++;
    pthread_mutex_unlock(&counted->lock);
}

static void count_drop(void *arg)
{
    struct counted *counted = arg;

    pthread_mutex_lock(&counted->lock);
    counted->dropped++;
    pthread_mutex_unlock(&counted->lock);
}

#define BULK 2000

static void start_bulk(struct hf_zookeeper *zookeeper, struct counted *counted)
{
    const struct hf_zookeeper_done done = {count_end, counted, count_drop};

    for (int i = 0; i < BULK; i++)
        assert_int_equal(
            i % 2 == 0
                ? hf_zookeeper_set_start(zookeeper, "/", "x", 1, -1, HF_FOREVER,
                                         done)
                : hf_zookeeper_get_start(zookeeper, "/", HF_FOREVER, done),
            HF_OK);
}

/* The close of a handle ends its operations, and the locks do not notice. */
FIXTURE_TEST(a_handle_may_be_closed_first)
{
    struct counted counted = {PTHREAD_MUTEX_INITIALIZER, 0, 0};
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "w"};
    struct hf_client *client = open_client(f, "", NULL);
    struct hf_zookeeper *zookeeper = share(client);
    struct hf_zookeeper_watch *watch;
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_ADD_WATCH};
    struct hf_lock *lock = open_lock(client, "l");
    struct hf_grant *grant = acquire(lock);
    struct hf_op *handle;

    assert_int_equal(hf_zookeeper_watch_open(zookeeper, "/",
                                             HF_ZOOKEEPER_WATCH_PERSISTENT,
                                             log_events(&name), &watch),
                     HF_OK);
    op.watch = watch;
    zookeeper_expect(zookeeper, &op, HF_OK);
    start_bulk(zookeeper, &counted);
    op = (struct hf_zookeeper_op){.kind = HF_ZOOKEEPER_GET, .path = "/"};
    assert_int_equal(hf_zookeeper_start(
                         zookeeper, &op, HF_FOREVER,
                         (struct hf_zookeeper_done){NULL, NULL, NULL}, &handle),
                     HF_OK);
    assert_int_equal(hf_zookeeper_close(zookeeper), HF_OK);
    assert_int_equal(counted.ended, BULK);
    assert_int_equal(counted.dropped, BULK);
    f->log.count = 0;
    zookeeper_make(f->zookeeper, "/after", "");
    assert_int_equal(hf_grant_check(grant), HF_OK);
    assert_int_equal(hf_grant_release(grant), HF_OK);
    grant = acquire(lock);
    assert_int_equal(hf_grant_release(grant), HF_OK);
    assert_int_equal(log_count(&f->log), 0);
    hf_lock_free(lock);
    assert_int_equal(hf_client_close(client), HF_OK);
    hf_op_cancel(handle);
    hf_op_free(handle);
    hf_zookeeper_watch_free(watch);
}

/* A handle that is left is a valid one, and what it was asked for has ended. */
FIXTURE_TEST(a_client_may_be_closed_first)
{
    struct counted counted = {PTHREAD_MUTEX_INITIALIZER, 0, 0};
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "w"};
    struct hf_client *client = open_client(f, "", NULL);
    struct hf_zookeeper *zookeeper = share(client), *unused = share(client);
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_ADD_WATCH};
    const struct hf_zookeeper_done nobody = {NULL, NULL, NULL};
    const struct hf_done done = {NULL, NULL, NULL};
    struct hf_zookeeper_session session;
    struct hf_zookeeper_watch *watch;
    struct hf_listener *listener = listen_to(f, zookeeper);

    create_ephemeral(zookeeper, "/worker");
    assert_int_equal(hf_zookeeper_watch_open(zookeeper, "/",
                                             HF_ZOOKEEPER_WATCH_RECURSIVE,
                                             log_events(&name), &op.watch),
                     HF_OK);
    zookeeper_expect(zookeeper, &op, HF_OK);
    start_bulk(zookeeper, &counted);
    assert_int_equal(hf_client_close(client), HF_OK);
    assert_int_equal(counted.ended, BULK);
    assert_int_equal(counted.dropped, BULK);
    expect_gone(f->zookeeper, "/worker");
    (void)log_await_line(&f->log, 0, "CLOSED");
    assert_int_equal(hf_zookeeper_state(zookeeper), HF_STATE_CLOSED);
    assert_false(hf_zookeeper_is_read_only(zookeeper));
    assert_int_equal(hf_zookeeper_sync(zookeeper, "/", 0), HF_ECLOSED);
    assert_int_equal(hf_zookeeper_sync_start(zookeeper, "/", 0, nobody),
                     HF_ECLOSED);
    assert_int_equal(hf_zookeeper_session(zookeeper, &session),
                     HF_EUNREACHABLE);
    assert_int_equal(hf_zookeeper_set_servers(zookeeper, "h"), HF_ECLOSED);
    assert_int_equal(hf_zookeeper_watch_open(zookeeper, "/",
                                             HF_ZOOKEEPER_WATCH_DATA,
                                             log_events(&name), &watch),
                     HF_ECLOSED);
    assert_int_equal(hf_zookeeper_close_start(zookeeper, done), HF_ECLOSED);
    zookeeper_expect_error("hf_zookeeper_close()");
    hf_zookeeper_watch_free(op.watch);
    hf_zookeeper_remove_listener(zookeeper, listener);
    assert_int_equal(hf_zookeeper_close(zookeeper), HF_OK);
    assert_int_equal(hf_zookeeper_close(unused), HF_OK);
}

static void log_closed(void *arg, const struct hf_result *result)
{
    log_add(arg, "closed %s", hf_status_name(result->status));
}

/* What a callback closes. */
struct closing {
    struct zookeeper_fixture *f;
    struct counted *counted;
    struct hf_client *client;
    struct hf_zookeeper *zookeeper;
    bool client_first;
};

/* In a callback, with operations of the handle under way: the blocking calls
 * fail, and the others close both. */
static void close_in_callback(void *arg,
                              const struct hf_zookeeper_result *result)
{
    struct closing *closing = arg;
    const struct hf_done done = {log_closed, &closing->f->log, NULL};

    assert_int_equal(result->status, HF_OK);
    start_bulk(closing->zookeeper, closing->counted);
    assert_int_equal(hf_zookeeper_close(closing->zookeeper), HF_EREENTRANT);
    if (closing->client_first) {
        assert_int_equal(hf_client_close_start(closing->client, done), HF_OK);
        assert_int_equal(hf_zookeeper_close_start(closing->zookeeper, done),
                         HF_ECLOSED);
    } else {
        assert_int_equal(hf_zookeeper_close_start(closing->zookeeper, done),
                         HF_OK);
        assert_int_equal(hf_client_close_start(closing->client, done), HF_OK);
    }
}

static void close_both_in_a_callback(struct zookeeper_fixture *f,
                                     bool client_first)
{
    struct counted counted = {PTHREAD_MUTEX_INITIALIZER, 0, 0};
    struct closing closing = {f, &counted, open_client(f, "", NULL), NULL,
                              client_first};

    closing.zookeeper = share(closing.client);
    assert_int_equal(hf_zookeeper_sync(closing.zookeeper, "/", WAIT_MS), HF_OK);
    f->log.count = 0;
    assert_int_equal(
        hf_zookeeper_get_start(
            closing.zookeeper, "/", HF_FOREVER,
            (struct hf_zookeeper_done){close_in_callback, &closing, NULL}),
        HF_OK);
    log_await(&f->log, client_first ? 1 : 2);
    if (client_first)
        assert_int_equal(hf_zookeeper_close(closing.zookeeper), HF_OK);
    pthread_mutex_lock(&counted.lock);
    assert_int_equal(counted.ended, BULK);
    assert_int_equal(counted.dropped, BULK);
    pthread_mutex_unlock(&counted.lock);
}

FIXTURE_TEST(both_may_be_closed_in_a_callback)
{
    close_both_in_a_callback(*state, false);
    close_both_in_a_callback(*state, true);
}

static void *close_client(void *client)
{
    assert_int_equal(hf_client_close(client), HF_OK);
    return NULL;
}

/* Whichever thread comes first. */
FIXTURE_TEST(both_may_be_closed_at_once)
{
    struct counted counted = {PTHREAD_MUTEX_INITIALIZER, 0, 0};
    struct zookeeper_fixture *f = *state;

    for (int i = 0; i < 20; i++) {
        struct hf_client *client = open_client(f, "", NULL);
        struct hf_zookeeper *zookeeper = share(client);
        pthread_t thread;

        counted.ended = 0;
        if (i % 3 > 0)
            assert_int_equal(hf_zookeeper_sync(zookeeper, "/", WAIT_MS), HF_OK);
        start_bulk(zookeeper, &counted);
        assert_int_equal(pthread_create(&thread, NULL, close_client, client),
                         0);
        if (i % 2 > 0)
            (void)hf_zookeeper_sync(zookeeper, "/", WAIT_MS);
        assert_int_equal(hf_zookeeper_close(zookeeper), HF_OK);
        assert_int_equal(counted.ended, BULK);
        pthread_join(thread, NULL);
    }
}

/* Where the user dispatches callbacks, the thread that closes runs those that
 * wait. */
FIXTURE_TEST(the_thread_that_closes_dispatches)
{
    struct counted counted = {PTHREAD_MUTEX_INITIALIZER, 0, 0};
    struct zookeeper_fixture *f = *state;
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    const struct hf_done done = {log_closed, &f->log, NULL};
    struct hf_zookeeper *first, *second;
    struct hf_client *client;

    opts.delivery = HF_DELIVER_DISPATCH;
    client = open_client(f, "", &opts);
    first = share(client);
    second = share(client);
    assert_int_equal(hf_zookeeper_fd(first), hf_client_fd(client));
    start_bulk(first, &counted);
    assert_int_equal(hf_zookeeper_dispatch(second), HF_OK);
    assert_int_equal(hf_zookeeper_close(first), HF_OK);
    assert_int_equal(counted.ended, BULK);
    counted.ended = 0;
    start_bulk(second, &counted);
    assert_int_equal(hf_zookeeper_close_start(second, done), HF_OK);
    while (log_count(&f->log) == 0)
        assert_int_equal(hf_client_dispatch(client), HF_OK);
    assert_int_equal(counted.ended, BULK);
    assert_int_equal(hf_client_close(client), HF_OK);
}

FIXTURE_TEST(a_child_of_a_fork_has_no_handle)
{
    struct zookeeper_fixture *f = *state;
    struct hf_client *client = open_client(f, "", NULL);
    struct hf_zookeeper *zookeeper = share(client), *other;
    struct hf_lock *lock = open_lock(client, "l");
    struct hf_grant *grant = acquire(lock);
    struct hf_zookeeper_op op;
    pid_t child = fork();
    int how;

    if (child == 0)
        _exit(hf_zookeeper_sync(zookeeper, "/", WAIT_MS) == HF_EFORKED &&
                      hf_client_zookeeper(client, &other) == HF_EFORKED &&
                      hf_zookeeper_op_check_grant(zookeeper, grant, &op) ==
                          HF_EFORKED &&
                      hf_zookeeper_close(zookeeper) == HF_EFORKED &&
                      !hf_zookeeper_is_read_only(zookeeper)
                  ? 0
                  : 1);
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
    assert_int_equal(hf_zookeeper_sync(zookeeper, "/", WAIT_MS), HF_OK);
    assert_int_equal(hf_grant_release(grant), HF_OK);
    hf_lock_free(lock);
    assert_int_equal(hf_zookeeper_close(zookeeper), HF_OK);
    assert_int_equal(hf_client_close(client), HF_OK);
}

FIXTURE_TEST(what_a_handle_cannot_do)
{
    struct zookeeper_fixture *f = *state;
    struct hf_client *client = open_client(f, "", NULL), *of_file;
    struct hf_zookeeper *zookeeper = share(client), *none;
    char directory[] = "/tmp/hf-shared-XXXXXX", command[64], url[64];

    assert_int_equal(hf_zookeeper_set_servers(zookeeper, "h:1"),
                     HF_EUNSUPPORTED);
    zookeeper_expect_error("hf_zookeeper_open()");
    assert_int_equal(hf_zookeeper_close(zookeeper), HF_OK);
    assert_int_equal(hf_client_close(client), HF_OK);
    assert_non_null(mkdtemp(directory));
    (void)snprintf(url, sizeof url, "file:%s", directory);
    assert_int_equal(hf_client_open(url, NULL, &of_file), HF_OK);
    assert_int_equal(hf_client_zookeeper(of_file, &none), HF_EUNSUPPORTED);
    assert_null(none);
    assert_non_null(strstr(hf_last_error()->text, "hf_client_zookeeper: "));
    assert_non_null(strstr(hf_last_error()->text, "zk://"));
    assert_int_equal(hf_client_close(of_file), HF_OK);
    (void)snprintf(command, sizeof command, "rm -r %s", directory);
    assert_int_equal(system(command), 0);
}

/* --------------------------------------------------------------- watches -- */

#define CONTENDERS 2
#define TIMES 100

/* A thread that acquires and releases, with a client of its own. */
struct contender {
    struct hf_client *client;
    unsigned *inside;
};

static void *contend(void *arg)
{
    struct contender *contender = arg;
    struct hf_lock *lock = open_lock(contender->client, "l");

    for (int i = 0; i < TIMES; i++) {
        struct hf_grant *grant = acquire(lock);

        assert_int_equal(++*contender->inside, 1);
        --*contender->inside;
        assert_int_equal(hf_grant_release(grant), HF_OK);
    }
    hf_lock_free(lock);
    return NULL;
}

/* Watches of each kind, above and at the queue of a lock, while clients
 * contend: no lock waits for an event that another watch has taken, and each
 * watch gets its events. */
FIXTURE_TEST(watches_and_locks_do_not_end_each_other)
{
    static const enum hf_zookeeper_watch_kind kinds[] = {
        HF_ZOOKEEPER_WATCH_RECURSIVE, HF_ZOOKEEPER_WATCH_PERSISTENT,
        HF_ZOOKEEPER_WATCH_RECURSIVE};
    static const char *const paths[] = {"/", "/l", "/l"};
    static const char *const last[] = {"w0 DELETED /l/last", "w1 CHANGED /l",
                                       "w2 DELETED /l/last"};
    struct zookeeper_fixture *f = *state;
    struct log_name names[] = {
        {&f->log, "w0"}, {&f->log, "w1"}, {&f->log, "w2"}};
    struct contender contenders[CONTENDERS];
    pthread_t threads[CONTENDERS];
    unsigned inside = 0;

    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct hf_zookeeper *zookeeper[CONTENDERS];
        struct hf_zookeeper_op op[CONTENDERS];
        size_t from = 0;

        f->log.count = 0;
        for (int i = 0; i < CONTENDERS; i++) {
            contenders[i] =
                (struct contender){open_client(f, "", NULL), &inside};
            zookeeper[i] = share(contenders[i].client);
            op[i] = (struct hf_zookeeper_op){.kind = HF_ZOOKEEPER_ADD_WATCH};
            assert_int_equal(
                hf_zookeeper_watch_open(zookeeper[i], paths[k], kinds[k],
                                        log_events(&names[k]), &op[i].watch),
                HF_OK);
            zookeeper_expect(zookeeper[i], &op[i], HF_OK);
        }
        for (int i = 0; i < CONTENDERS; i++)
            assert_int_equal(
                pthread_create(&threads[i], NULL, contend, &contenders[i]), 0);
        for (int i = 0; i < CONTENDERS; i++)
            pthread_join(threads[i], NULL);
        zookeeper_make(f->zookeeper, "/l/last", "");
        assert_int_equal(
            hf_zookeeper_delete(f->zookeeper, "/l/last", -1, WAIT_MS), HF_OK);
        assert_int_equal(
            hf_zookeeper_set(f->zookeeper, "/l", "x", 1, -1, WAIT_MS, NULL),
            HF_OK);
        for (int i = 0; i < CONTENDERS; i++)
            from = log_await_line(&f->log, from, last[k]) + 1;
        for (int i = 0; i < CONTENDERS; i++) {
            hf_zookeeper_watch_free(op[i].watch);
            assert_int_equal(hf_zookeeper_close(zookeeper[i]), HF_OK);
            assert_int_equal(hf_client_close(contenders[i].client), HF_OK);
        }
    }
}

/* --------------------------------------------------------------- fencing -- */

/* Set /data to ${text}, in a transaction with ${check}. */
static hf_status fenced_set(struct hf_zookeeper *zookeeper,
                            const struct hf_zookeeper_op *check,
                            const char *text)
{
    const struct hf_zookeeper_op ops[] = {
        *check,
        {.kind = HF_ZOOKEEPER_SET,
         .path = "/data",
         .data = text,
         .bytes = strlen(text),
         .version = HF_ZOOKEEPER_ANY_VERSION}};

    return hf_zookeeper_multi(zookeeper, ops, 2, WAIT_MS, NULL);
}

static struct hf_zookeeper_op check_of(struct hf_zookeeper *zookeeper,
                                       struct hf_grant *grant)
{
    struct hf_zookeeper_op check;

    assert_int_equal(hf_zookeeper_op_check_grant(zookeeper, grant, &check),
                     HF_OK);
    assert_int_equal(check.kind, HF_ZOOKEEPER_CHECK);
    return check;
}

/* The holder was paused between its last look and its write; its session ended,
 * and another holder has come. */
FIXTURE_TEST(a_paused_holder_writes_nothing)
{
    struct zookeeper_fixture *f = *state;
    struct hf_client *paused = open_client(f, "", NULL);
    struct hf_client *successor = open_client(f, "", NULL);
    struct hf_zookeeper *zookeeper = share(paused);
    struct hf_lock *lock = open_lock(paused, "l");
    struct hf_lock *same = open_lock(successor, "l");
    struct hf_listener *listener = listen_to(f, zookeeper);
    struct hf_grant *grant = acquire(lock), *next;
    struct hf_zookeeper_op check = check_of(zookeeper, grant);

    zookeeper_make(f->zookeeper, "/data", "0");
    assert_int_equal(fenced_set(zookeeper, &check, "1"), HF_OK);
    kill_session(f, zookeeper);
    next = acquire(same);
    assert_int_equal(fenced_set(f->zookeeper, &check, "2"), HF_EGONE);
    (void)log_await_line(&f->log, log_await_line(&f->log, 0, "LOST"),
                         "CONNECTED");
    assert_int_equal(fenced_set(zookeeper, &check, "2"), HF_EGONE);
    zookeeper_expect_data(f->zookeeper, "/data", "1");
    /* What the check is for. */
    assert_int_equal(hf_zookeeper_set(zookeeper, "/data", "2", 1,
                                      HF_ZOOKEEPER_ANY_VERSION, WAIT_MS, NULL),
                     HF_OK);
    assert_int_equal(hf_zookeeper_op_check_grant(zookeeper, grant, &check),
                     HF_ELOST);
    zookeeper_expect_error("hf_zookeeper_op_check_grant: ");
    check = check_of(f->zookeeper, next); /* with a session of its own */
    assert_int_equal(fenced_set(f->zookeeper, &check, "3"), HF_OK);
    assert_int_equal(hf_grant_release(grant), HF_ELOST);
    assert_int_equal(hf_grant_release(next), HF_OK);
    hf_lock_free(lock);
    hf_lock_free(same);
    hf_zookeeper_remove_listener(zookeeper, listener);
    assert_int_equal(hf_zookeeper_close(zookeeper), HF_OK);
    assert_int_equal(hf_client_close(paused), HF_OK);
    assert_int_equal(hf_client_close(successor), HF_OK);
}

/* ThreadSanitizer does not let the child start the thread of its client. */
#ifndef __SANITIZE_THREAD__

/* Fenced, whatever becomes of the session meanwhile. */
static hf_status fenced_set_at_last(struct hf_zookeeper *zookeeper,
                                    const struct hf_zookeeper_op *check,
                                    const char *text)
{
    hf_status status;

    do
        status = fenced_set(zookeeper, check, text);
    while (status == HF_ELOST || status == HF_EUNREACHABLE ||
           status == HF_EUNSURE); /* of the old connection */
    return status;
}

/* A process that stops itself between its check and its write.  0: the write
 * was refused, and one without the check is not. */
static int pause_before_write(const struct zookeeper_fixture *f)
{
    struct hf_client *client = open_client(f, "?timeout=1s", NULL);
    struct hf_zookeeper *zookeeper = share(client);
    struct hf_lock *lock = open_lock(client, "l");
    struct hf_grant *grant = acquire(lock);
    struct hf_zookeeper_op check = check_of(zookeeper, grant);

    if (fenced_set(zookeeper, &check, "1") != HF_OK)
        return 1;
    (void)raise(SIGSTOP);
    if (fenced_set_at_last(zookeeper, &check, "2") != HF_EGONE)
        return 2;
    if (hf_zookeeper_set(zookeeper, "/unfenced", "2", 1,
                         HF_ZOOKEEPER_ANY_VERSION, WAIT_MS, NULL) != HF_OK)
        return 3;
    return 0;
}

FIXTURE_TEST(a_stopped_process_writes_nothing)
{
    struct zookeeper_fixture *f = *state;
    struct hf_client *client;
    struct hf_grant *grant;
    struct hf_lock *lock;
    pid_t holder;
    int how;

    zookeeper_make(f->zookeeper, "/data", "0");
    zookeeper_make(f->zookeeper, "/unfenced", "0");
    if ((holder = fork()) == 0)
        _exit(pause_before_write(f));
    assert_int_equal(waitpid(holder, &how, WUNTRACED), holder);
    assert_true(WIFSTOPPED(how));
    client = open_client(f, "", NULL);
    lock = open_lock(client, "l");
    grant = acquire(lock); /* when the session of the holder has ended */
    assert_int_equal(kill(holder, SIGCONT), 0);
    assert_int_equal(waitpid(holder, &how, 0), holder);
    assert_int_equal(how, 0);
    zookeeper_expect_data(f->zookeeper, "/data", "1");
    zookeeper_expect_data(f->zookeeper, "/unfenced", "2");
    assert_int_equal(hf_grant_release(grant), HF_OK);
    hf_lock_free(lock);
    assert_int_equal(hf_client_close(client), HF_OK);
}

#endif

/* The tickets of every kind of lock. */
FIXTURE_TEST(tickets_of_each_kind_are_checked)
{
    struct zookeeper_fixture *f = *state;
    struct hf_client *client = open_client(f, "", NULL);
    struct hf_zookeeper *zookeeper = share(client);
    struct hf_lock *locks[3];
    struct hf_zookeeper_op check, again;
    struct hf_grant *grant;

    zookeeper_make(f->zookeeper, "/data", "0");
    locks[0] = open_kind(client, "w", HF_KIND_WRITE);
    locks[1] = open_kind(client, "s", HF_KIND_SEMAPHORE);
    locks[2] = open_lock(client, "m");
    for (size_t i = 0; i < 3; i++) {
        grant = acquire(locks[i]);
        check = check_of(zookeeper, grant);
        again = check_of(zookeeper, grant);
        assert_ptr_equal(check.path, again.path);
        assert_int_equal(fenced_set(zookeeper, &check, "1"), HF_OK);
        if (i == 0) {
            assert_int_equal(hf_grant_downgrade(grant), HF_OK);
            assert_int_equal(fenced_set(zookeeper, &check, "2"), HF_EGONE);
            check = check_of(zookeeper, grant);
            assert_int_equal(fenced_set(zookeeper, &check, "2"), HF_OK);
        }
        assert_int_equal(hf_grant_release(grant), HF_OK);
    }
    assert_int_equal(hf_locks_acquire(locks, 3, NULL, &grant), HF_OK);
    check = check_of(zookeeper, grant);
    assert_memory_equal(check.path, "/w/", 3); /* the first */
    assert_int_equal(fenced_set(zookeeper, &check, "3"), HF_OK);
    assert_int_equal(hf_grant_release(grant), HF_OK);
    for (size_t i = 0; i < 3; i++)
        hf_lock_free(locks[i]);
    assert_int_equal(hf_zookeeper_close(zookeeper), HF_OK);
    assert_int_equal(hf_client_close(client), HF_OK);
}

/* Downgrade a grant of ${lock}.  How often a check was refused before the end.
 */
static unsigned refused_while_downgrading(struct hf_zookeeper *zookeeper,
                                          struct hf_lock *lock)
{
    const struct hf_done nobody = {NULL, NULL, NULL};
    struct hf_grant *grant = acquire(lock);
    struct hf_zookeeper_op check;
    unsigned refused = 0;
    hf_status status;

    assert_int_equal(hf_grant_downgrade_start(grant, nobody), HF_OK);
    while ((status = hf_zookeeper_op_check_grant(zookeeper, grant, &check)) ==
           HF_ESTATE)
        refused++;
    assert_int_equal(status, HF_OK);
    assert_int_equal(hf_grant_release(grant), HF_OK);
    return refused;
}

/* Until it is known which node the ticket has.  A downgrade may be over before
 * this thread goes on, but not each of a hundred. */
FIXTURE_TEST(a_ticket_may_be_being_downgraded)
{
    struct zookeeper_fixture *f = *state;
    struct hf_client *client = open_client(f, "", NULL);
    struct hf_zookeeper *zookeeper = share(client);
    struct hf_lock *lock = open_kind(client, "w", HF_KIND_WRITE);
    unsigned refused = 0;

    for (int i = 0; i < 100 && refused == 0; i++)
        refused = refused_while_downgrading(zookeeper, lock);
    assert_true(refused > 0);
    zookeeper_expect_error("downgraded");
    hf_lock_free(lock);
    assert_int_equal(hf_zookeeper_close(zookeeper), HF_OK);
    assert_int_equal(hf_client_close(client), HF_OK);
}

/* A handle above the path of the locks, beside it, and locks of another engine.
 */
FIXTURE_TEST(a_ticket_may_be_out_of_reach)
{
    struct zookeeper_fixture *f = *state;
    struct hf_client *client = open_client(f, "/locks", NULL);
    struct hf_client *other, *of_file;
    struct hf_lock *lock = open_lock(client, "l");
    char directory[] = "/tmp/hf-shared-XXXXXX", command[64], url[512];
    struct hf_zookeeper *beside, *left;
    struct hf_zookeeper_op check;
    struct hf_grant *grant;

    zookeeper_make(f->zookeeper, "/locks", "");
    grant = acquire(lock);
    check = check_of(f->zookeeper, grant);
    assert_memory_equal(check.path, "/locks/l/", 9);
    zookeeper_make(f->zookeeper, "/data", "0");
    assert_int_equal(fenced_set(f->zookeeper, &check, "1"), HF_OK);
    (void)snprintf(url, sizeof url, "zk://%s%s/lock", getenv("HF_ZK"),
                   f->chroot);
    assert_int_equal(hf_zookeeper_open(url, NULL, &beside), HF_OK);
    assert_int_equal(hf_zookeeper_op_check_grant(beside, grant, &check),
                     HF_EINVAL);
    assert_null(check.path);
    zookeeper_expect_error("/locks/l/");
    /* A handle whose own client was closed. */
    other = open_client(f, "", NULL);
    left = share(other);
    assert_int_equal(hf_client_close(other), HF_OK);
    check = check_of(left, grant);
    assert_memory_equal(check.path, "/locks/l/", 9);
    assert_int_equal(hf_zookeeper_close(left), HF_OK);
    assert_int_equal(hf_grant_release(grant), HF_OK);
    hf_lock_free(lock);
    assert_int_equal(hf_client_close(client), HF_OK);
    assert_non_null(mkdtemp(directory));
    (void)snprintf(url, sizeof url, "file:%s", directory);
    assert_int_equal(hf_client_open(url, NULL, &of_file), HF_OK);
    lock = open_lock(of_file, "l");
    grant = acquire(lock);
    assert_int_equal(hf_zookeeper_op_check_grant(beside, grant, &check),
                     HF_EUNSUPPORTED);
    assert_int_equal(hf_grant_release(grant), HF_OK);
    hf_lock_free(lock);
    assert_int_equal(hf_client_close(of_file), HF_OK);
    assert_int_equal(hf_zookeeper_close(beside), HF_OK);
    (void)snprintf(command, sizeof command, "rm -r %s", directory);
    assert_int_equal(system(command), 0);
}

/* The path is kept with the grant, and is the same for each call. */
FIXTURE_TEST(a_check_may_find_no_memory)
{
    struct zookeeper_fixture *f = *state;
    struct hf_client *client = open_client(f, "", NULL);
    struct hf_zookeeper *zookeeper = share(client);
    struct hf_lock *lock = open_lock(client, "l");
    struct hf_grant *grant = acquire(lock);
    struct hf_zookeeper_op check;
    hf_status status;

    heap_fail(1, true);
    status = hf_zookeeper_op_check_grant(zookeeper, grant, &check);
    heap_fail(0, false);
    assert_int_equal(status, HF_ENOMEM);
    assert_null(check.path);
    check = check_of(zookeeper, grant);
    heap_fail(1, true);
    status = hf_zookeeper_op_check_grant(zookeeper, grant, &check);
    heap_fail(0, false);
    assert_int_equal(status, HF_OK);
    assert_int_equal(hf_grant_release(grant), HF_OK);
    hf_lock_free(lock);
    assert_int_equal(hf_client_close(client), HF_OK);
    assert_int_equal(hf_zookeeper_close(zookeeper), HF_OK);
}

static int count_memory(void **state)
{
    (void)state;
    heap_install();
    return 0;
}

static bool is_released(void *arg)
{
    (void)arg;
    return heap_live() == 0;
}

/* Threads of clients free their memory when they end. */
static int expect_no_memory(void **state)
{
    (void)state;
    wait_for(is_released, NULL);
    return 0;
}

TEST_FILE(shared)
{
    return RUN_TESTS(count_memory, expect_no_memory);
}
