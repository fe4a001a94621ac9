/* SPDX-License-Identifier: Apache-2.0 */
/* hf_last_error(): each public call that returns a failure sets it, on the
 * thread that called, and each callback that reports one finds it; nothing else
 * sets it.  The table below has every
 * function of src/holdfast.map that returns a status; a test compares it with
 * the headers. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <holdfast/uv.h>
#include <holdfast/zookeeper_cache.h>
#include <holdfast/zookeeper_registration.h>
#include <holdfast/zookeeper_retry.h>

#include "cmocka/runner.h"
#include "process.h"

/* The handles that the calls get, and what calls set that do not fail. */
struct handles {
    struct client_directory directory;
    uv_loop_t loop;
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_grant *grant;
    struct hf_mutex *mutex;
    struct hf_rwlock *rwlock;
    struct hf_election *election;
    struct hf_barrier *barrier;
    struct hf_double_barrier *double_barrier;
    struct hf_names *names;
    struct hf_zookeeper *zookeeper;
    struct hf_zookeeper_cache *cache;
    struct hf_zookeeper_registration *registration;
    struct hf_zookeeper_op op;
    struct hf_zookeeper_acl acl;
    struct hf_done done;
    struct hf_zookeeper_done zookeeper_done;
    struct hf_allocator allocator;
    int (*run)(void *arg, struct hf_grant *grant);
};
static struct handles h;

static struct {
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_grant *grant;
    struct hf_mutex *mutex;
    struct hf_rwlock *rwlock;
    struct hf_election *election;
    struct hf_barrier *barrier;
    struct hf_double_barrier *double_barrier;
    struct hf_names *names;
    struct hf_names_page *page;
    struct hf_tickets *tickets;
    struct hf_findings *findings;
    struct hf_success success;
    struct hf_client_stats *stats;
    struct hf_listener *listener;
    struct hf_op *op;
    struct hf_zookeeper *zookeeper;
    struct hf_zookeeper_cache *cache;
    const struct hf_zookeeper_cache_node *node;
    struct hf_zookeeper_cache_list *list;
    struct hf_zookeeper_registration *registration;
    struct hf_zookeeper_result *result;
    struct hf_zookeeper_session session;
    struct hf_zookeeper_watch *watch;
    struct hf_zookeeper_op operation;
    char text[8];
    int fd;
} out;

/* X(when it fails, function, arguments...) */
enum kind {
    ALONE, /* with these arguments, anywhere; it has no handle */
    WAITS, /* in a callback, and in a child of a fork */
    OTHER, /* in a child of a fork */
};
/* clang-format off */
#define CALLS(X) \
    X(WAITS, hf_barrier_clear, h.barrier, 0) \
    X(OTHER, hf_barrier_clear_start, h.barrier, 0, h.done) \
    X(OTHER, hf_barrier_open, h.client, "name", &out.barrier) \
    X(WAITS, hf_barrier_set, h.barrier, 0) \
    X(OTHER, hf_barrier_set_start, h.barrier, 0, h.done) \
    X(WAITS, hf_barrier_wait, h.barrier, 0) \
    X(OTHER, hf_barrier_wait_start, h.barrier, 0, h.done, &out.op) \
    X(OTHER, hf_client_add_listener, h.client, (struct hf_on_state){0}, &out.listener) \
    X(WAITS, hf_client_close, h.client) \
    X(OTHER, hf_client_close_start, h.client, h.done) \
    X(OTHER, hf_client_dispatch, h.client) \
    X(WAITS, hf_client_examine, h.client, 0, &out.findings) \
    X(OTHER, hf_client_examine_start, h.client, 0, h.done) \
    X(OTHER, hf_client_metrics_write, h.client, (struct hf_metrics_write){0}) \
    X(ALONE, hf_client_open, "nothing://", NULL, &out.client) \
    X(ALONE, hf_client_open_uv, &h.loop, "nothing://", NULL, &out.client) \
    X(OTHER, hf_client_stats, h.client, &out.stats) \
    X(OTHER, hf_client_zookeeper, h.client, &out.zookeeper) \
    X(WAITS, hf_double_barrier_enter, h.double_barrier, 0) \
    X(OTHER, hf_double_barrier_enter_start, h.double_barrier, 0, h.done, &out.op) \
    X(WAITS, hf_double_barrier_leave, h.double_barrier, 0) \
    X(OTHER, hf_double_barrier_leave_start, h.double_barrier, 0, h.done, &out.op) \
    X(OTHER, hf_double_barrier_open, h.client, "name", 2, &out.double_barrier) \
    X(WAITS, hf_double_barrier_participants, h.double_barrier, 0, &out.tickets) \
    X(OTHER, hf_double_barrier_participants_start, h.double_barrier, 0, h.done) \
    X(OTHER, hf_election_campaign_start, h.election) \
    X(OTHER, hf_election_open, h.client, "name", NULL, &out.election) \
    X(WAITS, hf_election_resign, h.election) \
    X(OTHER, hf_election_resign_start, h.election, h.done) \
    X(WAITS, hf_election_tickets, h.election, HF_TICKETS_ALL, 0, &out.tickets) \
    X(OTHER, hf_election_tickets_start, h.election, HF_TICKETS_ALL, 0, h.done) \
    X(WAITS, hf_election_wait, h.election, 0) \
    X(OTHER, hf_election_wait_start, h.election, 0, h.done, &out.op) \
    X(OTHER, hf_grant_check, h.grant) \
    X(WAITS, hf_grant_downgrade, h.grant) \
    X(OTHER, hf_grant_downgrade_start, h.grant, h.done) \
    X(OTHER, hf_grant_hold_fd, h.grant, &out.fd) \
    X(OTHER, hf_grant_hold_fd_of, h.grant, h.lock, &out.fd) \
    X(WAITS, hf_grant_last_success, h.grant, 0, &out.success) \
    X(OTHER, hf_grant_last_success_start, h.grant, 0, h.done) \
    X(OTHER, hf_grant_loss_fd, h.grant, &out.fd) \
    X(WAITS, hf_grant_release, h.grant) \
    X(OTHER, hf_grant_release_start, h.grant, h.done) \
    X(WAITS, hf_grant_write_success, h.grant, 0) \
    X(OTHER, hf_grant_write_success_start, h.grant, 0, h.done) \
    X(WAITS, hf_lock_acquire, h.lock, NULL, &out.grant) \
    X(OTHER, hf_lock_acquire_start, h.lock, NULL, h.done, &out.op) \
    X(WAITS, hf_lock_evict, h.lock, "id", NULL, 0) \
    X(OTHER, hf_lock_evict_start, h.lock, "id", NULL, 0, h.done) \
    X(WAITS, hf_lock_last_success, h.lock, 0, &out.success) \
    X(OTHER, hf_lock_last_success_start, h.lock, 0, h.done) \
    X(OTHER, hf_lock_open, h.client, "name", NULL, &out.lock) \
    X(WAITS, hf_lock_revoke, h.lock, "id", 0) \
    X(OTHER, hf_lock_revoke_start, h.lock, "id", 0, h.done) \
    X(OTHER, hf_lock_set_limit, h.lock, 1) \
    X(WAITS, hf_lock_tickets, h.lock, HF_TICKETS_ALL, 0, &out.tickets) \
    X(OTHER, hf_lock_tickets_start, h.lock, HF_TICKETS_ALL, 0, h.done) \
    X(WAITS, hf_lock_try_acquire, h.lock, &out.grant) \
    X(WAITS, hf_locks_acquire, &h.lock, 1, NULL, &out.grant) \
    X(OTHER, hf_locks_acquire_start, &h.lock, 1, NULL, h.done, &out.op) \
    X(OTHER, hf_mutex_cancel, h.mutex, 0) \
    X(WAITS, hf_mutex_lock, h.mutex) \
    X(OTHER, hf_mutex_open, h.client, "name", NULL, &out.mutex) \
    X(WAITS, hf_mutex_tickets, h.mutex, HF_TICKETS_ALL, 0, &out.tickets) \
    X(WAITS, hf_mutex_timedlock, h.mutex, 0) \
    X(WAITS, hf_mutex_trylock, h.mutex) \
    X(OTHER, hf_mutex_unlock, h.mutex) \
    X(WAITS, hf_names_next, h.names, 0, &out.page) \
    X(OTHER, hf_names_next_start, h.names, 0, h.done) \
    X(OTHER, hf_names_open, h.client, "", NULL, &out.names) \
    X(ALONE, hf_lock_run, "nothing://", "name", 0, h.run, NULL, NULL) \
    X(ALONE, hf_owner_text_get, "host=a", "pid", out.text, 0) \
    X(OTHER, hf_rwlock_cancel, h.rwlock, 0) \
    X(OTHER, hf_rwlock_open, h.client, "name", NULL, &out.rwlock) \
    X(WAITS, hf_rwlock_rdlock, h.rwlock) \
    X(OTHER, hf_rwlock_rdunlock, h.rwlock) \
    X(WAITS, hf_rwlock_tickets, h.rwlock, HF_TICKETS_ALL, 0, &out.tickets) \
    X(WAITS, hf_rwlock_timedrdlock, h.rwlock, 0) \
    X(WAITS, hf_rwlock_timedwrlock, h.rwlock, 0) \
    X(WAITS, hf_rwlock_tryrdlock, h.rwlock) \
    X(WAITS, hf_rwlock_trywrlock, h.rwlock) \
    X(WAITS, hf_rwlock_wrlock, h.rwlock) \
    X(OTHER, hf_rwlock_wrunlock, h.rwlock) \
    X(ALONE, hf_set_allocator, &h.allocator) \
    X(WAITS, hf_zookeeper_add_auth, h.zookeeper, "digest", NULL, 1, 0) \
    X(OTHER, hf_zookeeper_add_listener, h.zookeeper, (struct hf_on_state){0}, &out.listener) \
    X(OTHER, hf_zookeeper_cache_get, h.cache, "/path", &out.node) \
    X(OTHER, hf_zookeeper_cache_list, h.cache, "/path", 1, &out.list) \
    X(OTHER, hf_zookeeper_cache_open, h.zookeeper, "/path", NULL, (struct hf_zookeeper_on_change){0}, &out.cache) \
    X(WAITS, hf_zookeeper_cache_wait, h.cache, 0) \
    X(OTHER, hf_zookeeper_cache_wait_start, h.cache, 0, h.done) \
    X(WAITS, hf_zookeeper_children, h.zookeeper, "/path", 0, &out.result) \
    X(OTHER, hf_zookeeper_children_start, h.zookeeper, "/path", 0, h.zookeeper_done) \
    X(WAITS, hf_zookeeper_close, h.zookeeper) \
    X(OTHER, hf_zookeeper_close_start, h.zookeeper, h.done) \
    X(WAITS, hf_zookeeper_create, h.zookeeper, "/path", NULL, 0, HF_ZOOKEEPER_PERSISTENT, 0, &out.result) \
    X(WAITS, hf_zookeeper_create_protected, h.zookeeper, &h.op, 0, 0, &out.result) \
    X(OTHER, hf_zookeeper_create_protected_start, h.zookeeper, &h.op, 0, 0, h.zookeeper_done, &out.op) \
    X(OTHER, hf_zookeeper_create_start, h.zookeeper, "/path", NULL, 0, HF_ZOOKEEPER_PERSISTENT, 0, h.zookeeper_done) \
    X(WAITS, hf_zookeeper_delete, h.zookeeper, "/path", -1, 0) \
    X(WAITS, hf_zookeeper_delete_guaranteed, h.zookeeper, "/path", -1, 0) \
    X(OTHER, hf_zookeeper_delete_guaranteed_start, h.zookeeper, "/path", -1, 0, h.zookeeper_done, &out.op) \
    X(OTHER, hf_zookeeper_delete_start, h.zookeeper, "/path", -1, 0, h.zookeeper_done) \
    X(OTHER, hf_zookeeper_dispatch, h.zookeeper) \
    X(WAITS, hf_zookeeper_exists, h.zookeeper, "/path", 0, &out.result) \
    X(OTHER, hf_zookeeper_exists_start, h.zookeeper, "/path", 0, h.zookeeper_done) \
    X(WAITS, hf_zookeeper_get, h.zookeeper, "/path", 0, &out.result) \
    X(WAITS, hf_zookeeper_get_acl, h.zookeeper, "/path", 0, &out.result) \
    X(OTHER, hf_zookeeper_get_start, h.zookeeper, "/path", 0, h.zookeeper_done) \
    X(WAITS, hf_zookeeper_multi, h.zookeeper, &h.op, 1, 0, &out.result) \
    X(OTHER, hf_zookeeper_multi_start, h.zookeeper, &h.op, 1, 0, h.zookeeper_done) \
    X(OTHER, hf_zookeeper_op_check_grant, h.zookeeper, h.grant, &out.operation) \
    X(ALONE, hf_zookeeper_open, "nothing://", NULL, &out.zookeeper) \
    X(ALONE, hf_zookeeper_open_uv, &h.loop, "nothing://", NULL, &out.zookeeper) \
    X(WAITS, hf_zookeeper_registration_close, h.registration, 0) \
    X(OTHER, hf_zookeeper_registration_open, h.zookeeper, "/path", NULL, 0, NULL, &out.registration) \
    X(OTHER, hf_zookeeper_registration_set, h.registration, NULL, 0) \
    X(WAITS, hf_zookeeper_registration_wait, h.registration, 0) \
    X(OTHER, hf_zookeeper_registration_wait_start, h.registration, 0, h.done) \
    X(WAITS, hf_zookeeper_run, h.zookeeper, &h.op, 0, &out.result) \
    X(OTHER, hf_zookeeper_session, h.zookeeper, &out.session) \
    X(WAITS, hf_zookeeper_set, h.zookeeper, "/path", NULL, 0, -1, 0, &out.result) \
    X(WAITS, hf_zookeeper_set_acl, h.zookeeper, "/path", &h.acl, 1, -1, 0) \
    X(OTHER, hf_zookeeper_set_servers, h.zookeeper, "127.0.0.1:1") \
    X(OTHER, hf_zookeeper_set_start, h.zookeeper, "/path", NULL, 0, -1, 0, h.zookeeper_done) \
    X(OTHER, hf_zookeeper_start, h.zookeeper, &h.op, 0, h.zookeeper_done, &out.op) \
    X(WAITS, hf_zookeeper_sync, h.zookeeper, "/path", 0) \
    X(OTHER, hf_zookeeper_sync_start, h.zookeeper, "/path", 0, h.zookeeper_done) \
    X(WAITS, hf_zookeeper_update, h.zookeeper, "/path", (struct hf_zookeeper_change){0}, 0, &out.result) \
    X(OTHER, hf_zookeeper_update_start, h.zookeeper, "/path", (struct hf_zookeeper_change){0}, 0, h.zookeeper_done, &out.op) \
    X(OTHER, hf_zookeeper_watch_open, h.zookeeper, "/path", HF_ZOOKEEPER_WATCH_DATA, (struct hf_zookeeper_on_event){0}, &out.watch)
/* clang-format on */

#define DEFINE(kind, name, ...)                                                \
    static hf_status call_##name(void)                                         \
    {                                                                          \
        return name(__VA_ARGS__);                                              \
    }
CALLS(DEFINE)

static const struct call {
    enum kind kind;
    const char *name;
    hf_status (*fn)(void);
} calls[] = {
#define ROW(kind, name, ...) {kind, #name, call_##name},
    CALLS(ROW)
#undef ROW
};
#define CALL_COUNT (sizeof calls / sizeof *calls)

/* --------------------------------------------------------------- handles -- */

static void do_nothing(void *arg, const struct hf_result *result)
{
    (void)arg;
    (void)result;
}

static void do_nothing_more(void *arg, const struct hf_zookeeper_result *result)
{
    (void)arg;
    (void)result;
}

static int do_not_run(void *arg, struct hf_grant *grant)
{
    (void)arg;
    (void)grant;
    return 0;
}

/* No server is at the address of the handle of ZooKeeper. */
static void open_handles(void)
{
    memset(&h, 0, sizeof h);
    client_directory_create(&h.directory);
    h.client = open_client(h.directory.url);
    h.done.fn = do_nothing;
    h.run = do_not_run;
    h.zookeeper_done.fn = do_nothing_more;
    h.op =
        (struct hf_zookeeper_op){.kind = HF_ZOOKEEPER_CREATE, .path = "/path"};
    assert_int_equal(uv_loop_init(&h.loop), 0);
    assert_int_equal(hf_lock_open(h.client, "lock", NULL, &h.lock), HF_OK);
    assert_int_equal(hf_lock_acquire(h.lock, NULL, &h.grant), HF_OK);
    assert_int_equal(hf_mutex_open(h.client, "mutex", NULL, &h.mutex), HF_OK);
    assert_int_equal(hf_rwlock_open(h.client, "rwlock", NULL, &h.rwlock),
                     HF_OK);
    assert_int_equal(hf_election_open(h.client, "election", NULL, &h.election),
                     HF_OK);
    assert_int_equal(hf_barrier_open(h.client, "barrier", &h.barrier), HF_OK);
    assert_int_equal(
        hf_double_barrier_open(h.client, "meeting", 2, &h.double_barrier),
        HF_OK);
    assert_int_equal(hf_names_open(h.client, "", NULL, &h.names), HF_OK);
    assert_int_equal(hf_zookeeper_open("zk://127.0.0.1:1/", NULL, &h.zookeeper),
                     HF_OK);
    assert_int_equal(hf_zookeeper_cache_open(h.zookeeper, "/path", NULL,
                                             (struct hf_zookeeper_on_change){0},
                                             &h.cache),
                     HF_OK);
    assert_int_equal(hf_zookeeper_registration_open(h.zookeeper, "/path", "a",
                                                    1, NULL, &h.registration),
                     HF_OK);
}

static void close_locks(void)
{
    hf_names_free(h.names);
    hf_double_barrier_free(h.double_barrier);
    hf_barrier_free(h.barrier);
    hf_election_free(h.election);
    hf_rwlock_free(h.rwlock);
    hf_mutex_free(h.mutex);
    hf_lock_free(h.lock);
}

static void close_zookeeper(void)
{
    hf_zookeeper_registration_free(h.registration);
    hf_zookeeper_cache_free(h.cache);
    assert_int_equal(hf_zookeeper_close(h.zookeeper), HF_OK);
    assert_int_equal(uv_loop_close(&h.loop), 0);
    client_directory_remove(&h.directory);
}

static void close_handles(void)
{
    assert_int_equal(hf_grant_release(h.grant), HF_OK);
    close_locks();
    assert_int_equal(hf_client_close(h.client), HF_OK);
    close_zookeeper();
}

/* ---------------------------------------------------------------- checks -- */

/* Is it of ${call}, which gave ${status}? */
static bool is_of(const struct hf_error *error, const char *call,
                  hf_status status)
{
    size_t length = strlen(call);

    return error->status == status && strncmp(error->text, call, length) == 0 &&
           strncmp(error->text + length, ": ", 2) == 0 &&
           error->text[length + 2] != '\0';
}

/* Fail once, on purpose. */
static void set_another(void)
{
    char text[8];

    assert_int_equal(hf_owner_text_get("", "pid", text, sizeof text), HF_EGONE);
}

/* Make ${call}, and look whether its failure, or none, is remembered. */
static bool check_call(const struct call *call, hf_status *status)
{
    const struct hf_error *last = hf_last_error();
    bool right;

    set_another();
    *status = call->fn();
    if (*status != HF_OK)
        right = is_of(last, call->name, *status);
    else
        right = is_of(last, "hf_owner_text_get", HF_EGONE);
    if (!right)
        fprintf(stderr, "%s: %s, and the last error is %s \"%s\"\n", call->name,
                hf_status_name(*status), hf_status_name(last->status),
                last->text);
    return right && last == hf_last_error();
}

static int call_all_in_child(void *arg)
{
    int wrong = 0;

    (void)arg;
    for (size_t i = 0; i < CALL_COUNT; i++) {
        hf_status status;

        wrong += !check_call(&calls[i], &status);
        if (calls[i].kind == ALONE ? status == HF_OK : status != HF_EFORKED) {
            fprintf(stderr, "%s: %s\n", calls[i].name, hf_status_name(status));
            wrong++;
        }
    }
    return wrong != 0;
}

TEST(every_call_in_a_child)
{
    open_handles();
    run_in_child(call_all_in_child, NULL);
    close_handles();
}

struct inside {
    _Atomic int wrong;
    _Atomic bool done;
};

/* The callbacks of a client run on another thread than the test. */
static void call_all_inside(void *arg, const struct hf_result *result)
{
    struct inside *inside = arg;

    hf_tickets_free(result->tickets);
    for (size_t i = 0; i < CALL_COUNT; i++) {
        hf_status status;

        if (calls[i].kind != WAITS)
            continue;
        inside->wrong += !check_call(&calls[i], &status);
        if (status != HF_EREENTRANT) {
            fprintf(stderr, "%s: %s\n", calls[i].name, hf_status_name(status));
            inside->wrong++;
        }
    }
    inside->done = true;
}

static bool is_done(void *arg)
{
    return ((struct inside *)arg)->done;
}

TEST(every_call_that_waits_in_a_callback)
{
    const struct hf_error *last = hf_last_error();
    struct inside inside = {0};

    open_handles();
    set_another();
    assert_int_equal(
        hf_lock_tickets_start(h.lock, HF_TICKETS_ALL, HF_FOREVER,
                              (struct hf_done){call_all_inside, &inside, NULL}),
        HF_OK);
    wait_until(is_done, &inside);
    assert_int_equal(inside.wrong, 0);
    assert_true(is_of(last, "hf_owner_text_get", HF_EGONE));
    close_handles();
}

/* Is ${call} one on a lock, or on what has one? */
static bool is_of_lock(const struct call *call)
{
    static const char *const others[] = {"hf_client_", "hf_zookeeper_",
                                         "hf_grant_release"};
    size_t length = strlen(call->name);

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strncmp(call->name, others[i], strlen(others[i])) == 0)
            return false;
    }
    return call->kind != ALONE &&
           strcmp(call->name + length - strlen("_open"), "_open") != 0;
}

TEST(calls_on_a_closed_client)
{
    unsigned failed = 0;
    hf_status status;

    open_handles();
    assert_int_equal(hf_client_close(h.client), HF_OK);
    for (size_t i = 0; i < CALL_COUNT; i++) {
        if (!is_of_lock(&calls[i]))
            continue;
        assert_true(check_call(&calls[i], &status));
        failed += status != HF_OK;
    }
    assert_true(failed > 40);
    (void)hf_grant_release(h.grant);
    close_locks();
    close_zookeeper();
}

/* ---------------------------------------------------------- other things -- */

static void *look_and_fail(void *arg)
{
    const struct hf_error *last = hf_last_error();

    assert_ptr_not_equal(last, arg);
    assert_int_equal(last->status, HF_OK);
    assert_string_equal(last->text, "");
    assert_ptr_equal(last, hf_last_error());
    set_another();
    assert_true(is_of(last, "hf_owner_text_get", HF_EGONE));
    return NULL;
}

TEST(each_thread_has_its_own)
{
    struct hf_client *client;

    assert_int_equal(hf_client_open("nothing://", NULL, &client),
                     HF_EUNSUPPORTED);
    run_on_thread(look_and_fail, (void *)hf_last_error());
    assert_true(is_of(hf_last_error(), "hf_client_open", HF_EUNSUPPORTED));
}

/* A loss and the end of what was started have callbacks, on other threads. */
TEST(a_loss_is_no_failure_of_a_call)
{
    uint64_t token;

    open_handles();
    set_another();
    client_directory_remove_tickets(&h.directory);
    while (hf_grant_check(h.grant) == HF_OK)
        continue;
    assert_true(is_of(hf_last_error(), "hf_grant_check", HF_ELOST));
    set_another();
    assert_int_equal(hf_election_campaign_start(h.election), HF_OK);
    assert_int_equal(hf_election_wait(h.election, 10000), HF_OK);
    token = hf_election_token(h.election);
    client_directory_remove_tickets(&h.directory);
    /* It may lead again before it is looked at, with a greater token. */
    while (hf_election_token(h.election) == token)
        continue;
    assert_true(is_of(hf_last_error(), "hf_owner_text_get", HF_EGONE));
    assert_int_equal(hf_grant_release(h.grant), HF_ELOST);
    assert_true(is_of(hf_last_error(), "hf_grant_release", HF_ELOST));
    assert_int_equal(hf_election_resign(h.election), HF_OK);
    close_locks();
    assert_int_equal(hf_client_close(h.client), HF_OK);
    close_zookeeper();
}

/* The thread that dispatches runs them. */
TEST(only_callbacks_that_report_a_failure_set_it)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct client_directory directory;
    struct client_fixture fixture;
    struct outcome granted, busy;
    struct hf_lock *lock;

    client_directory_create(&directory);
    client_open(&fixture, WAY_DISPATCH, directory.url, no_listener);
    lock = client_open_lock(&fixture, "lock");
    set_another();
    client_acquire(&fixture, lock, NULL, &granted);
    client_await(&granted);
    assert_int_equal(granted.status, HF_OK);
    assert_true(is_of(hf_last_error(), "hf_owner_text_get", HF_EGONE));
    opts.wait_ms = 0;
    client_acquire(&fixture, lock, &opts, &busy);
    client_await(&busy);
    assert_int_equal(busy.status, HF_EBUSY);
    assert_int_equal(hf_last_error()->status, HF_EBUSY);
    assert_string_equal(hf_last_error()->text, busy.text);
    assert_int_equal(client_give(&fixture, granted.grant), HF_OK);
    hf_lock_free(lock);
    client_close(&fixture);
    client_directory_remove(&directory);
}

/* ---------------------------------------------------------- completeness -- */

/* Read all of ${path} behind ${text}, which has room. */
static void append(char *text, size_t bytes, const char *path)
{
    size_t length = strlen(text);
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    text[length + fread(text + length, 1, bytes - length - 1, file)] = '\0';
    fclose(file);
}

static bool is_in_table(const char *name)
{
    for (size_t i = 0; i < CALL_COUNT; i++) {
        if (strcmp(calls[i].name, name) == 0)
            return true;
    }
    return false;
}

/* Does ${headers} declare ${name} with a status? */
static bool returns_status(const char *headers, const char *name)
{
    static const char *const betweens[] = {" ", "\n"};
    char text[128];

    for (size_t i = 0; i < sizeof betweens / sizeof *betweens; i++) {
        snprintf(text, sizeof text, "hf_status%s%s(", betweens[i], name);
        if (strstr(headers, text) != NULL)
            return true;
    }
    return false;
}

TEST(the_table_has_every_call)
{
    static const char *const files[] = {
        "barrier",         "client",          "election",
        "findings",        "grant",           "lock",
        "metrics",         "mutex",           "names",
        "status",          "tickets",         "uv",
        "zookeeper",       "zookeeper_cache", "zookeeper_registration",
        "zookeeper_retry",
    };
    static char headers[1 << 18], map[1 << 14];
    size_t found = 0;
    char path[512];

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s.h", HEADERS, files[i]);
        append(headers, sizeof headers, path);
    }
    append(map, sizeof map, EXPORTED);
    for (char *line = strtok(map, "\n"); line != NULL;
         line = strtok(NULL, "\n")) {
        char name[64];

        if (sscanf(line, " %63[a-z0-9_];", name) != 1 ||
            !returns_status(headers, name))
            continue;
        if (!is_in_table(name))
            fail_msg("%s is not in the table", name);
        found++;
    }
    assert_int_equal(found, CALL_COUNT);
}
