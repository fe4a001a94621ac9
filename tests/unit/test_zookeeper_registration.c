/* SPDX-License-Identifier: Apache-2.0 */
/* Registrations of the public client of ZooKeeper against a fake server, which
 * answers what a real one seldom does: refusals that go away, and an old server
 * without containers.  And how many requests a registration makes. */
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <holdfast/zookeeper_registration.h>

#include "cmocka/runner.h"
#include "heap/heap.h"
#include "zookeeper/protocol.h"
#include "zookeeper_client/zookeeper_registration.h"
#include "zookeeper_fake_server.h"

/* An end that a test that passes never reaches. */
#define TIMEOUT_MS 20000

static struct zookeeper_fake_server server;

/* What was reported, and how often. */
struct events {
    atomic_int counts[HF_ZOOKEEPER_REGISTRATION_FAILED + 1];
    _Atomic hf_status blocked; /* the last status of BLOCKED */
    _Atomic hf_status failed;
    atomic_int dropped;
};

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

static struct hf_zookeeper *open_handle(void)
{
    struct hf_zookeeper *z;

    assert_int_equal(hf_zookeeper_open(server.url, NULL, &z), HF_OK);
    assert_int_equal(hf_zookeeper_sync(z, "/", TIMEOUT_MS), HF_OK);
    server.calls = 0;
    return z;
}

static void close_and_check(struct hf_zookeeper *z, const struct events *events)
{
    assert_int_equal(hf_zookeeper_close(z), HF_OK);
    assert_int_equal(events->dropped, 1);
    wait_until(is_released, NULL);
}

/* The next ${count} calls of ${opcode} are answered with ${error}. */
static void refuse(enum hf_zk_opcode opcode, enum hf_zk_error error, int count)
{
    server.refused_opcode = (int)opcode;
    server.refusal = (int)error;
    server.refusals = count;
}

static void on_event(void *arg, struct hf_zookeeper_registration *registration,
                     const struct hf_zookeeper_registration_event *event)
{
    struct events *events = arg;

    (void)registration;
    if (event->kind == HF_ZOOKEEPER_REGISTRATION_BLOCKED)
        events->blocked = event->status;
    if (event->kind == HF_ZOOKEEPER_REGISTRATION_FAILED)
        events->failed = event->status;
    atomic_fetch_add(&events->counts[event->kind], 1);
}

static void on_drop(void *arg)
{
    atomic_fetch_add(&((struct events *)arg)->dropped, 1);
}

static struct hf_zookeeper_registration *
open_registration(struct hf_zookeeper *z, const char *path,
                  struct events *events)
{
    struct hf_zookeeper_registration_opts opts =
        HF_ZOOKEEPER_REGISTRATION_OPTS_INIT;
    struct hf_zookeeper_registration *r;

    opts.on_event =
        (struct hf_zookeeper_on_registration){on_event, events, on_drop};
    assert_int_equal(hf_zookeeper_registration_open(z, path, "x", 1, &opts, &r),
                     HF_OK);
    return r;
}

/* A create with its look, a set with its look, and a delete. */
TEST(it_makes_no_more_requests_than_it_needs)
{
    struct hf_zookeeper *z = open_handle();
    struct events events = {.dropped = 0};
    struct hf_zookeeper_registration *r = open_registration(z, "/a", &events);

    assert_int_equal(hf_zookeeper_registration_wait(r, TIMEOUT_MS), HF_OK);
    assert_int_equal(server.calls, 2);
    assert_int_equal(hf_zookeeper_registration_set(r, "y", 1), HF_OK);
    assert_int_equal(hf_zookeeper_registration_wait(r, TIMEOUT_MS), HF_OK);
    assert_int_equal(server.calls, 4);
    assert_int_equal(hf_zookeeper_registration_set(r, NULL, 0), HF_OK);
    assert_int_equal(hf_zookeeper_registration_wait(r, TIMEOUT_MS), HF_OK);
    assert_int_equal(server.calls, 6);
    assert_int_equal(hf_zookeeper_registration_close(r, TIMEOUT_MS), HF_OK);
    assert_true(server.calls >= 7); /* and it forgets the watch */
    assert_true(server.calls <= 8);
    close_and_check(z, &events);
}

static bool is_blocked(void *arg)
{
    return ((struct events *)arg)->blocked != HF_OK;
}

/* ${error} of each look, until ${status} was reported, once. */
static void expect_blocked(enum hf_zk_error error, hf_status status)
{
    struct hf_zookeeper *z = open_handle();
    struct events events = {.dropped = 0};
    struct hf_zookeeper_registration *r;

    refuse(HF_ZK_EXISTS, error, INT_MAX);
    r = open_registration(z, "/a", &events);
    wait_until(is_blocked, &events);
    assert_int_equal(events.blocked, status);
    assert_int_equal(hf_zookeeper_registration_wait(r, 100), HF_ETIMEDOUT);
    assert_true(server.calls <= 40); /* the delays grow */
    server.refusals = 0;
    assert_int_equal(hf_zookeeper_registration_wait(r, TIMEOUT_MS), HF_OK);
    assert_int_equal(hf_zookeeper_registration_close(r, TIMEOUT_MS), HF_OK);
    assert_int_equal(events.counts[HF_ZOOKEEPER_REGISTRATION_BLOCKED], 1);
    close_and_check(z, &events);
}

/* A quota; and a node that somebody deletes each time that it was made. */
TEST(a_refusal_that_goes_away_is_waited_for)
{
    expect_blocked(HF_ZK_QUOTA_EXCEEDED, HF_EFULL);
    expect_blocked(HF_ZK_NO_NODE, HF_EGONE);
}

/* Once, between the create and the look, which is nothing special. */
TEST(a_node_is_deleted_as_soon_as_it_is_made)
{
    struct hf_zookeeper *z = open_handle();
    struct events events = {.dropped = 0};
    struct hf_zookeeper_registration *r;

    refuse(HF_ZK_EXISTS, HF_ZK_NO_NODE, 1);
    r = open_registration(z, "/a", &events);
    assert_int_equal(hf_zookeeper_registration_wait(r, TIMEOUT_MS), HF_OK);
    assert_int_equal(server.calls, 4);
    assert_int_equal(hf_zookeeper_registration_close(r, TIMEOUT_MS), HF_OK);
    assert_int_equal(events.counts[HF_ZOOKEEPER_REGISTRATION_BLOCKED], 0);
    close_and_check(z, &events);
}

static bool has_failed(void *arg)
{
    return ((struct events *)arg)->failed != HF_OK;
}

/* A look that is denied, because nothing would be known of the node. */
TEST(a_refusal_that_stays_ends_it)
{
    struct hf_zookeeper *z = open_handle();
    struct events events = {.dropped = 0};
    struct hf_zookeeper_registration *r;

    refuse(HF_ZK_EXISTS, HF_ZK_NO_AUTH, 1);
    r = open_registration(z, "/a", &events);
    assert_int_equal(hf_zookeeper_registration_wait(r, TIMEOUT_MS), HF_EDENIED);
    wait_until(has_failed, &events);
    assert_int_equal(events.failed, HF_EDENIED);
    assert_int_equal(hf_zookeeper_registration_set(r, "y", 1), HF_EDENIED);
    assert_int_equal(hf_zookeeper_registration_close(r, TIMEOUT_MS), HF_OK);
    close_and_check(z, &events);
}

TEST(a_set_is_tried_again)
{
    static const enum hf_zk_error errors[] = {
        HF_ZK_BAD_VERSION, HF_ZK_QUOTA_EXCEEDED, HF_ZK_NO_NODE};
    struct hf_zookeeper *z = open_handle();
    struct events events = {.dropped = 0};
    struct hf_zookeeper_registration *r = open_registration(z, "/a", &events);

    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        assert_int_equal(hf_zookeeper_registration_wait(r, TIMEOUT_MS), HF_OK);
        refuse(HF_ZK_SET_DATA, errors[i], 2);
        assert_int_equal(hf_zookeeper_registration_set(r, "y", 1), HF_OK);
    }
    assert_int_equal(hf_zookeeper_registration_wait(r, TIMEOUT_MS), HF_OK);
    assert_int_equal(server.refusals, 0);
    assert_int_equal(hf_zookeeper_registration_close(r, TIMEOUT_MS), HF_OK);
    assert_int_equal(events.counts[HF_ZOOKEEPER_UNREGISTERED], 0);
    /* Unlike a quota, the other errors have the next set begin at once. */
    assert_int_not_equal(events.blocked, HF_EGONE);
    close_and_check(z, &events);
}

static bool is_registered(void *arg)
{
    return ((struct events *)arg)->counts[HF_ZOOKEEPER_REGISTERED] == 1;
}

static bool is_registered_again(void *arg)
{
    return ((struct events *)arg)->counts[HF_ZOOKEEPER_REGISTERED] == 2;
}

/* The node was deleted, and is there when its create comes. */
TEST(what_was_made_anew_gets_the_data)
{
    struct hf_zookeeper *z = open_handle();
    struct events events = {.dropped = 0};
    struct hf_zookeeper_registration *r = open_registration(z, "/a", &events);

    assert_int_equal(hf_zookeeper_registration_wait(r, TIMEOUT_MS), HF_OK);
    wait_until(is_registered, &events);
    refuse(HF_ZK_CREATE2, HF_ZK_NODE_EXISTS, 1);
    server.calls = 0;
    zookeeper_fake_fire(&server, HF_ZK_NODE_DELETED, "/a");
    wait_until(is_registered_again, &events);
    assert_int_equal(server.calls, 4); /* two of them for a set */
    assert_int_equal(hf_zookeeper_registration_close(r, TIMEOUT_MS), HF_OK);
    close_and_check(z, &events);
}

/* What was refused before it was registered does not make it special that its
 * node is deleted twice. */
TEST(refusals_are_forgotten_when_it_is_registered)
{
    struct hf_zookeeper *z = open_handle();
    struct events events = {.dropped = 0};
    struct hf_zookeeper_registration *r;

    refuse(HF_ZK_EXISTS, HF_ZK_QUOTA_EXCEEDED, INT_MAX);
    r = open_registration(z, "/a", &events);
    wait_until(is_blocked, &events);
    server.refusals = 0;
    wait_until(is_registered, &events);
    refuse(HF_ZK_EXISTS, HF_ZK_NO_NODE, 1);
    zookeeper_fake_fire(&server, HF_ZK_NODE_DELETED, "/a");
    wait_until(is_registered_again, &events);
    assert_int_equal(server.refusals, 0);
    assert_int_equal(events.blocked, HF_EFULL);
    assert_int_equal(hf_zookeeper_registration_close(r, TIMEOUT_MS), HF_OK);
    close_and_check(z, &events);
}

static bool has_synced(void *arg)
{
    (void)arg;
    return server.synced;
}

/* Another server may not have the last changes yet. */
TEST(another_connection_is_synced_before_the_look)
{
    struct hf_zookeeper *z = open_handle();
    struct events events = {.dropped = 0};
    struct hf_zookeeper_registration *r = open_registration(z, "/a", &events);

    assert_int_equal(hf_zookeeper_registration_wait(r, TIMEOUT_MS), HF_OK);
    server.synced = false;
    zookeeper_fake_cut(&server);
    wait_until(has_synced, NULL);
    assert_int_equal(hf_zookeeper_registration_close(r, TIMEOUT_MS), HF_OK);
    close_and_check(z, &events);
}

/* Its node is there, and the data of the set are not. */
TEST(another_connection_begins_nothing_that_has_failed)
{
    struct hf_zookeeper *z = open_handle();
    struct events events = {.dropped = 0};
    struct hf_zookeeper_registration *r = open_registration(z, "/a", &events);

    assert_int_equal(hf_zookeeper_registration_wait(r, TIMEOUT_MS), HF_OK);
    refuse(HF_ZK_SET_DATA, HF_ZK_NO_AUTH, 1);
    assert_int_equal(hf_zookeeper_registration_set(r, "y", 1), HF_OK);
    assert_int_equal(hf_zookeeper_registration_wait(r, TIMEOUT_MS), HF_EDENIED);
    refuse(HF_ZK_EXISTS, HF_ZK_QUOTA_EXCEEDED, 1);
    zookeeper_fake_cut(&server);
    for (int i = 0; i < 2; i++) /* the second one comes behind its look */
        assert_int_equal(hf_zookeeper_sync(z, "/", TIMEOUT_MS), HF_OK);
    assert_int_equal(server.refusals, 1);
    server.refusals = 0;
    assert_int_equal(hf_zookeeper_registration_close(r, TIMEOUT_MS), HF_OK);
    assert_int_equal(events.counts[HF_ZOOKEEPER_REGISTERED], 1);
    close_and_check(z, &events);
}

static atomic_int looks;

/* Behind the third look the connection ends. */
static int32_t refuse_looks(int32_t opcode, const char *path)
{
    (void)path;
    if (opcode != HF_ZK_EXISTS)
        return 0;
    server.hangs_up = ++looks == 3;
    return looks <= 3 ? HF_ZK_QUOTA_EXCEEDED : looks == 4 ? HF_ZK_NO_NODE : 0;
}

/* The first look on another connection is the first that fails. */
TEST(refusals_are_forgotten_with_their_connection)
{
    struct hf_zookeeper *z = open_handle();
    struct events events = {.dropped = 0};
    struct hf_zookeeper_registration *r;

    looks = 0;
    server.refuses = refuse_looks;
    r = open_registration(z, "/a", &events);
    assert_int_equal(hf_zookeeper_registration_wait(r, TIMEOUT_MS), HF_OK);
    server.refuses = NULL;
    assert_true(looks >= 5);
    assert_int_not_equal(events.blocked, HF_EGONE);
    assert_int_equal(hf_zookeeper_registration_close(r, TIMEOUT_MS), HF_OK);
    close_and_check(z, &events);
}

static atomic_int made_b, made_c;

/* "/a/b" is not there when "/a/b/c" is to be made, and after it was made it is
 * deleted once. */
static int32_t delete_b_once(int32_t opcode, const char *path)
{
    bool makes = opcode == HF_ZK_CREATE_CONTAINER;

    if (makes && strcmp(path, "/a/b") == 0)
        made_b++;
    else if (makes && strcmp(path, "/a/b/c") == 0)
        return ++made_c <= 2 ? HF_ZK_NO_NODE : 0;
    else if (strcmp(path, "/a/b/c/d") == 0)
        return made_c <= 2 ? HF_ZK_NO_NODE : 0;
    return 0;
}

/* It is tried again later, from the node on. */
TEST(a_parent_is_deleted_as_soon_as_it_is_made)
{
    struct hf_zookeeper *z = open_handle();
    struct events events = {.dropped = 0};
    struct hf_zookeeper_registration *r;

    made_b = made_c = 0;
    server.refuses = delete_b_once;
    r = open_registration(z, "/a/b/c/d", &events);
    assert_int_equal(hf_zookeeper_registration_wait(r, TIMEOUT_MS), HF_OK);
    server.refuses = NULL;
    assert_int_equal(made_b, 1);
    assert_int_equal(made_c, 3);
    assert_int_equal(hf_zookeeper_registration_close(r, TIMEOUT_MS), HF_OK);
    close_and_check(z, &events);
}

static bool was_refused_twice(void *arg)
{
    (void)arg;
    return server.refusals <= INT_MAX - 2;
}

/* Nobody dispatches while it is blocked, and then it fails. */
TEST(a_failure_is_all_that_is_reported)
{
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    struct events events = {.dropped = 0};
    struct hf_zookeeper_registration *r;
    struct hf_zookeeper *z;

    opts.delivery = HF_DELIVER_DISPATCH;
    assert_int_equal(hf_zookeeper_open(server.url, &opts, &z), HF_OK);
    refuse(HF_ZK_EXISTS, HF_ZK_QUOTA_EXCEEDED, INT_MAX);
    r = open_registration(z, "/a", &events);
    wait_until(was_refused_twice, NULL);
    server.refusal = HF_ZK_NO_AUTH;
    assert_int_equal(hf_zookeeper_registration_wait(r, TIMEOUT_MS), HF_EDENIED);
    server.refusals = 0;
    assert_int_equal(hf_zookeeper_dispatch(z), HF_OK);
    assert_int_equal(events.failed, HF_EDENIED);
    assert_int_equal(events.blocked, HF_OK);
    assert_int_equal(hf_zookeeper_registration_close(r, TIMEOUT_MS), HF_OK);
    close_and_check(z, &events);
}

/* A sync that is refused says nothing of the node. */
TEST(a_sync_of_a_removal_is_tried_again)
{
    struct hf_zookeeper *z = open_handle();
    struct events events = {.dropped = 0};
    struct hf_zookeeper_registration *r;

    refuse(HF_ZK_EXISTS, HF_ZK_NO_AUTH, 1); /* the node was not seen */
    r = open_registration(z, "/a", &events);
    assert_int_equal(hf_zookeeper_registration_wait(r, TIMEOUT_MS), HF_EDENIED);
    refuse(HF_ZK_SYNC, HF_ZK_OPERATION_TIMEOUT, 2);
    assert_int_equal(hf_zookeeper_registration_close(r, TIMEOUT_MS), HF_OK);
    assert_int_equal(server.refusals, 0);
    close_and_check(z, &events);
}

static atomic_int creates;

/* Every delete fails, and creates are counted. */
static int32_t refuse_deletes(int32_t opcode, const char *path)
{
    (void)path;
    if (opcode == HF_ZK_CREATE2)
        creates++;
    return opcode == HF_ZK_DELETE ? HF_ZK_OPERATION_TIMEOUT : 0;
}

/* Some of the events come between two attempts to delete it. */
TEST(a_removal_makes_no_node)
{
    struct hf_zookeeper *z = open_handle();
    struct events events = {.dropped = 0};
    struct hf_zookeeper_registration *r = open_registration(z, "/a", &events);

    assert_int_equal(hf_zookeeper_registration_wait(r, TIMEOUT_MS), HF_OK);
    creates = 0;
    server.refuses = refuse_deletes;
    assert_int_equal(hf_zookeeper_registration_close(r, 300), HF_ETIMEDOUT);
    for (int i = 0; i < 20; i++) {
        zookeeper_fake_fire(&server, HF_ZK_NODE_DELETED, "/a");
        for (int j = 0; j < 2; j++) /* the second one comes behind a create */
            assert_int_equal(hf_zookeeper_sync(z, "/", TIMEOUT_MS), HF_OK);
    }
    assert_int_equal(creates, 0);
    assert_int_equal(hf_zookeeper_close(z), HF_OK);
    server.refuses = NULL;
    wait_until(is_released, NULL);
    assert_int_equal(events.dropped, 1);
}

TEST(a_delete_is_tried_again)
{
    static const enum hf_zk_error errors[] = {
        HF_ZK_BAD_VERSION, HF_ZK_QUOTA_EXCEEDED, HF_ZK_OPERATION_TIMEOUT};
    struct hf_zookeeper *z = open_handle();

    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        struct events events = {.dropped = 0};
        struct hf_zookeeper_registration *r =
            open_registration(z, "/a", &events);

        assert_int_equal(hf_zookeeper_registration_wait(r, TIMEOUT_MS), HF_OK);
        refuse(HF_ZK_DELETE, errors[i], 2);
        assert_int_equal(hf_zookeeper_registration_close(r, TIMEOUT_MS), HF_OK);
        assert_int_equal(server.refusals, 0);
        assert_int_equal(events.dropped, 1);
    }
    assert_int_equal(hf_zookeeper_close(z), HF_OK);
    wait_until(is_released, NULL);
}

static bool has_given_up(void *arg)
{
    struct hf_zookeeper *z = arg;
    bool given_up;

    hf_monitor_lock(z->monitor);
    given_up = z->queue.given_up;
    hf_monitor_unlock(z->monitor);
    return given_up;
}

static bool is_connected(void *arg)
{
    struct hf_zookeeper *z = arg;
    bool connected;

    hf_monitor_lock(z->monitor);
    connected = hf_zk_session_usable(z->session);
    hf_monitor_unlock(z->monitor);
    return connected;
}

static void note_end(void *arg, const struct hf_result *result)
{
    atomic_store((_Atomic hf_status *)arg, result->status);
}

static bool has_ended(void *arg)
{
    return atomic_load((_Atomic hf_status *)arg) != HF_OK;
}

/* There is the node of another session when the client gives up to connect: it
 * is waited for without a step under way. */
TEST(a_wait_connects_again_after_the_client_has_given_up)
{
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    struct events events = {.dropped = 0};
    struct hf_zookeeper_registration *r;
    _Atomic hf_status end = HF_OK;
    struct hf_zookeeper *z;

    opts.reconnect.retries = 0;
    assert_int_equal(hf_zookeeper_open(server.url, &opts, &z), HF_OK);
    refuse(HF_ZK_CREATE2, HF_ZK_NODE_EXISTS, 1);
    server.others = true;
    r = open_registration(z, "/a", &events);
    wait_until(is_blocked, &events);
    assert_int_equal(hf_zookeeper_registration_wait_start(
                         r, HF_FOREVER, (struct hf_done){note_end, &end, NULL}),
                     HF_OK);
    server.away = true;
    zookeeper_fake_cut(&server);
    wait_until(has_given_up, z);
    wait_until(has_ended, &end);
    assert_int_equal(end, HF_EUNREACHABLE);
    assert_int_equal(hf_zookeeper_registration_wait(r, TIMEOUT_MS),
                     HF_EUNREACHABLE);
    server.away = server.others = false;
    /* The event of the watch, which is set again, is what a real server sends
     * then. */
    assert_int_equal(hf_zookeeper_registration_wait(r, 1), HF_ETIMEDOUT);
    wait_until(is_connected, z);
    zookeeper_fake_fire(&server, HF_ZK_NODE_DELETED, "/a");
    assert_int_equal(hf_zookeeper_registration_wait(r, TIMEOUT_MS), HF_OK);
    assert_int_equal(hf_zookeeper_registration_close(r, TIMEOUT_MS), HF_OK);
    close_and_check(z, &events);
}

/* Its state, whose invariants hold. */
static unsigned state_of(struct hf_zookeeper_registration *r)
{
    struct hf_monitor *monitor = r->zookeeper->monitor;
    unsigned state;

    hf_monitor_lock(monitor);
    hf_registration_check_invariants(r);
    state = r->state;
    hf_monitor_unlock(monitor);
    return state;
}

TEST(it_is_in_the_state_that_its_events_say)
{
    struct hf_zookeeper *z = open_handle();
    struct events events = {.dropped = 0};
    struct hf_zookeeper_registration *r;

    refuse(HF_ZK_EXISTS, HF_ZK_QUOTA_EXCEEDED, INT_MAX);
    r = open_registration(z, "/a", &events);
    wait_until(is_blocked, &events);
    assert_int_equal(state_of(r), HF_REGISTRATION_CREATING);
    server.refusals = 0;
    assert_int_equal(hf_zookeeper_registration_wait(r, TIMEOUT_MS), HF_OK);
    assert_int_equal(state_of(r), HF_REGISTRATION_REGISTERED);
    refuse(HF_ZK_SET_DATA, HF_ZK_QUOTA_EXCEEDED, INT_MAX);
    assert_int_equal(hf_zookeeper_registration_set(r, "y", 1), HF_OK);
    assert_int_equal(state_of(r), HF_REGISTRATION_CHECKING);
    server.refusal = HF_ZK_NO_AUTH;
    wait_until(has_failed, &events);
    assert_int_equal(state_of(r), HF_REGISTRATION_FAILED);
    server.refusals = 0;
    assert_int_equal(hf_zookeeper_registration_close(r, TIMEOUT_MS), HF_OK);
    close_and_check(z, &events);
}

TEST_FILE(zookeeper_registration)
{
    int failed;

    heap_install();
    zookeeper_fake_start(&server);
    failed = RUN_TESTS(NULL, NULL);
    zookeeper_fake_stop(&server);
    return failed;
}
