/* SPDX-License-Identifier: Apache-2.0 */
/* Creates, deletes and updates that are retried, on a real server: what they do
 * where nothing is lost, who calls the function of an update, and how they are
 * cancelled and closed.  test_outages.py has what happens when answers are
 * lost. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <holdfast/zookeeper_retry.h>

#include "cmocka/runner.h"
#include "zookeeper_client/zookeeper_retry.h"
#include "zookeeper_fixture.h"

/* --------------------------------------------------------------- creates -- */

static struct hf_zookeeper_op create_op(const char *path,
                                        enum hf_zookeeper_mode mode)
{
    return (struct hf_zookeeper_op){.kind = HF_ZOOKEEPER_CREATE,
                                    .path = path,
                                    .data = "mine",
                                    .bytes = 4,
                                    .mode = mode};
}

/* Create ${path}, which must end with ${wanted}. */
static struct hf_zookeeper_result *create(struct zookeeper_fixture *f,
                                          const char *path,
                                          enum hf_zookeeper_mode mode,
                                          unsigned flags, hf_status wanted)
{
    const struct hf_zookeeper_op op = create_op(path, mode);
    struct hf_zookeeper_result *result;

    assert_int_equal(hf_zookeeper_create_protected(f->zookeeper, &op, flags,
                                                   WAIT_MS, &result),
                     wanted);
    if (result != NULL)
        assert_int_equal(result->status, wanted);
    return result;
}

#define FIXTURE_TEST(name) TEST_WITH(name, zookeeper_setup, zookeeper_teardown)

/* "/q/_c_" UUID "-job-" digits, as Curator writes it. */
FIXTURE_TEST(a_sequential_node_is_named_as_curator_names_it)
{
    struct zookeeper_fixture *f = *state;
    static const enum hf_zookeeper_mode modes[] = {
        HF_ZOOKEEPER_SEQUENTIAL, HF_ZOOKEEPER_EPHEMERAL_SEQUENTIAL};
    struct hf_zookeeper_result *result;
    const char *path;

    zookeeper_make(f->zookeeper, "/q", "");
    for (size_t i = 0; i < 2; i++) {
        result = create(f, "/q/job-", modes[i], 0, HF_OK);
        path = result->path;
        assert_int_equal(strlen(path), 3 + 3 + 36 + 1 + 4 + 10);
        assert_true(strncmp(path, "/q/_c_", 6) == 0);
        for (size_t at = 14; at < 29; at += 5)
            assert_int_equal(path[at], '-');
        assert_true(strncmp(path + 42, "-job-000000000", 14) == 0);
        assert_true(result->has_stat);
        assert_int_equal(result->stat.ephemeral_owner != 0, i == 1);
        zookeeper_expect_data(f->zookeeper, path, "mine");
        hf_zookeeper_result_free(result);
    }
}

FIXTURE_TEST(what_is_there_is_not_created_again)
{
    struct zookeeper_fixture *f = *state;

    hf_zookeeper_result_free(create(f, "/a", HF_ZOOKEEPER_EPHEMERAL, 0, HF_OK));
    /* Of the same session, but not by that call. */
    hf_zookeeper_result_free(
        create(f, "/a", HF_ZOOKEEPER_EPHEMERAL, 0, HF_EEXISTS));
    hf_zookeeper_result_free(create(f, "/a", HF_ZOOKEEPER_PERSISTENT,
                                    HF_ZOOKEEPER_UNIQUE_DATA, HF_EEXISTS));
    zookeeper_expect_error(
        "hf_zookeeper_create_protected: /a: the node is there already");
    assert_null(create(f, "/b", HF_ZOOKEEPER_SEQUENTIAL,
                       HF_ZOOKEEPER_UNIQUE_DATA, HF_EINVAL));
    assert_null(create(f, "b", HF_ZOOKEEPER_SEQUENTIAL, 0, HF_EINVAL));
}

/* 3.8 shows containers as persistent nodes. */
FIXTURE_TEST(parents_are_made)
{
    struct zookeeper_fixture *f = *state;

    hf_zookeeper_result_free(
        create(f, "/a/b/c", HF_ZOOKEEPER_PERSISTENT, 0, HF_EGONE));
    hf_zookeeper_result_free(create(f, "/a/b/c", HF_ZOOKEEPER_PERSISTENT,
                                    HF_ZOOKEEPER_PARENTS, HF_OK));
    hf_zookeeper_result_free(create(f, "/a/c/d/job-", HF_ZOOKEEPER_SEQUENTIAL,
                                    HF_ZOOKEEPER_CONTAINER_PARENTS, HF_OK));
    zookeeper_expect_data(f->zookeeper, "/a/b/c", "mine");
}

/* --------------------------------------------------------------- deletes -- */

FIXTURE_TEST(a_delete_says_what_was_there)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper *z = f->zookeeper;

    zookeeper_make(z, "/a", "x");
    zookeeper_make(z, "/a/b", "x");
    assert_int_equal(hf_zookeeper_delete_guaranteed(z, "/a", 1, WAIT_MS),
                     HF_EVERSION);
    assert_int_equal(hf_zookeeper_delete_guaranteed(z, "/a", 0, WAIT_MS),
                     HF_ENOTEMPTY);
    assert_int_equal(hf_zookeeper_delete_guaranteed(z, "/a/b", -1, WAIT_MS),
                     HF_OK);
    assert_int_equal(hf_zookeeper_delete_guaranteed(z, "/a", 0, WAIT_MS),
                     HF_OK);
    assert_int_equal(hf_zookeeper_delete_guaranteed(z, "/a", 0, WAIT_MS),
                     HF_EGONE);
    assert_int_equal(hf_zookeeper_delete_guaranteed(z, "/a", -2, WAIT_MS),
                     HF_EINVAL);
}

/* One that has ended does not go on. */
FIXTURE_TEST(any_number_of_deletes_may_end)
{
    struct zookeeper_fixture *f = *state;

    for (int i = 0; i <= HF_ZOOKEEPER_BACKGROUND_MAX; i++)
        assert_int_equal(
            hf_zookeeper_delete_guaranteed(f->zookeeper, "/a", -1, WAIT_MS),
            HF_EGONE);
}

/* --------------------------------------------------------------- updates -- */

/* A number that is counted up, and how. */
struct counter {
    struct zookeeper_fixture *f;
    pthread_t thread; /* that calls .fn, if it is the one that waits */
    bool waits;
    int calls;
    int dropped;
    char text[16];
};

static hf_status count_up(void *arg, const struct hf_zookeeper_result *now,
                          struct hf_zookeeper_new_data *new_data)
{
    struct counter *counter = arg;

    assert_int_equal(now->status, HF_OK);
    if (counter->waits)
        assert_true(pthread_equal(pthread_self(), counter->thread));
    counter->calls++;
    (void)snprintf(counter->text, sizeof counter->text, "%.*s", (int)now->bytes,
                   (const char *)now->data);
    (void)snprintf(counter->text, sizeof counter->text, "%d",
                   atoi(counter->text) + 1);
    new_data->data = counter->text;
    new_data->bytes = strlen(counter->text);
    return HF_OK;
}

static void drop_counter(void *arg)
{
    ((struct counter *)arg)->dropped++;
}

static hf_status update(struct counter *counter, struct hf_zookeeper *zookeeper,
                        struct hf_zookeeper_result **result)
{
    const struct hf_zookeeper_change change = {count_up, counter, drop_counter};

    counter->thread = pthread_self();
    counter->waits = true;
    return hf_zookeeper_update(zookeeper, "/n", change, WAIT_MS, result);
}

FIXTURE_TEST(an_update_reads_changes_and_writes)
{
    struct zookeeper_fixture *f = *state;
    struct counter counter = {.f = f};
    struct hf_zookeeper_result *result;

    zookeeper_make(f->zookeeper, "/n", "41");
    assert_int_equal(update(&counter, f->zookeeper, &result), HF_OK);
    assert_int_equal(result->stat.version, 1);
    hf_zookeeper_result_free(result);
    zookeeper_expect_data(f->zookeeper, "/n", "42");
    assert_int_equal(counter.calls, 1);
    assert_int_equal(counter.dropped, 1);
}

/* It needs no dispatch, and the function may make calls that wait. */
static hf_status look_around(void *arg, const struct hf_zookeeper_result *now,
                             struct hf_zookeeper_new_data *new_data)
{
    struct hf_zookeeper *zookeeper = arg;

    (void)now;
    new_data->data = "new";
    new_data->bytes = 3;
    return hf_zookeeper_sync(zookeeper, "/", WAIT_MS);
}

FIXTURE_TEST(an_update_that_waits_needs_no_dispatch)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    struct hf_zookeeper_change change = {look_around, NULL, NULL};
    struct hf_zookeeper *zookeeper;

    opts.delivery = HF_DELIVER_DISPATCH;
    zookeeper = zookeeper_open(f, "", "", &opts);
    zookeeper_make(zookeeper, "/n", "old");
    change.arg = zookeeper;
    assert_int_equal(
        hf_zookeeper_update(zookeeper, "/n", change, WAIT_MS, NULL), HF_OK);
    zookeeper_expect_data(zookeeper, "/n", "new");
    assert_int_equal(hf_zookeeper_close(zookeeper), HF_OK);
}

/* Another program is faster, once: it is the function itself. */
static hf_status interfere(void *arg, const struct hf_zookeeper_result *now,
                           struct hf_zookeeper_new_data *new_data)
{
    struct counter *counter = arg;

    if (counter->calls == 0)
        assert_int_equal(hf_zookeeper_set(counter->f->zookeeper, "/n", "10", 2,
                                          0, WAIT_MS, NULL),
                         HF_OK);
    return count_up(arg, now, new_data);
}

FIXTURE_TEST(another_version_is_read_again)
{
    struct zookeeper_fixture *f = *state;
    struct counter counter = {.f = f};
    const struct hf_zookeeper_change change = {interfere, &counter, NULL};

    zookeeper_make(f->zookeeper, "/n", "1");
    assert_int_equal(
        hf_zookeeper_update(f->zookeeper, "/n", change, WAIT_MS, NULL), HF_OK);
    assert_int_equal(counter.calls, 2);
    zookeeper_expect_data(f->zookeeper, "/n", "11");
}

FIXTURE_TEST(an_update_that_may_not_wait_tries_once)
{
    struct zookeeper_fixture *f = *state;
    struct counter counter = {.f = f};
    const struct hf_zookeeper_change change = {interfere, &counter, NULL};

    zookeeper_make(f->zookeeper, "/n", "1");
    assert_int_equal(hf_zookeeper_update(f->zookeeper, "/n", change, 0, NULL),
                     HF_EUNREACHABLE);
    assert_int_equal(counter.calls, 1);
    zookeeper_expect_data(f->zookeeper, "/n", "10");
}

/* ${arg}: a status, or NULL. */
static hf_status refuse(void *arg, const struct hf_zookeeper_result *now,
                        struct hf_zookeeper_new_data *new_data)
{
    const hf_status *status = arg;

    (void)now;
    (void)new_data;
    return status != NULL ? *status : HF_EBUSY;
}

FIXTURE_TEST(an_update_may_be_refused)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper_change change = {refuse, NULL, NULL};
    hf_status forked = HF_EFORKED;

    zookeeper_make(f->zookeeper, "/n", "1");
    assert_int_equal(
        hf_zookeeper_update(f->zookeeper, "/n", change, WAIT_MS, NULL),
        HF_EBUSY);
    zookeeper_expect_error("the function of the update");
    /* Of another handle, in a child: it has no meaning here. */
    change.arg = &forked;
    assert_int_equal(
        hf_zookeeper_update(f->zookeeper, "/n", change, WAIT_MS, NULL),
        HF_EFORKED);
    zookeeper_expect_error("the function of the update");
    assert_int_equal(
        hf_zookeeper_update(f->zookeeper, "/m", change, WAIT_MS, NULL),
        HF_EGONE);
    change.fn = NULL;
    assert_int_equal(
        hf_zookeeper_update(f->zookeeper, "/n", change, WAIT_MS, NULL),
        HF_EINVAL);
}

#define COUNTERS 4
#define COUNTS 25

static void *count_often(void *arg)
{
    struct counter *counter = arg;
    struct hf_zookeeper *zookeeper = zookeeper_open(counter->f, "", "", NULL);

    for (int i = 0; i < COUNTS; i++)
        assert_int_equal(update(counter, zookeeper, NULL), HF_OK);
    assert_int_equal(hf_zookeeper_close(zookeeper), HF_OK);
    return NULL;
}

FIXTURE_TEST(no_count_is_lost)
{
    struct zookeeper_fixture *f = *state;
    struct counter counters[COUNTERS];
    pthread_t threads[COUNTERS];

    zookeeper_make(f->zookeeper, "/n", "0");
    for (int i = 0; i < COUNTERS; i++) {
        counters[i] = (struct counter){.f = f};
        assert_int_equal(
            pthread_create(&threads[i], NULL, count_often, &counters[i]), 0);
    }
    for (int i = 0; i < COUNTERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(counters[i].dropped, COUNTS);
    }
    zookeeper_expect_data(f->zookeeper, "/n", "100");
}

/* --------------------------------------------- the function of a started -- */

/* An update that was started, whose function waits for the test. */
struct held_update {
    struct callback_log *log;
    atomic_bool entered;
    atomic_bool may_return;
};

static hf_status hold(void *arg, const struct hf_zookeeper_result *now,
                      struct hf_zookeeper_new_data *new_data)
{
    struct held_update *held = arg;

    (void)now;
    log_add(held->log, "change");
    atomic_store(&held->entered, true);
    while (!atomic_load(&held->may_return))
        (void)usleep(1000);
    log_add(held->log, "change returns");
    new_data->data = "new";
    new_data->bytes = 3;
    return HF_OK;
}

static void drop_held(void *arg)
{
    log_add(((struct held_update *)arg)->log, "change dropped");
}

static bool has_entered(void *arg)
{
    return atomic_load(&((struct held_update *)arg)->entered);
}

/* Start an update of "/n", and return when its function runs. */
static struct hf_op *start_held(struct zookeeper_fixture *f,
                                struct held_update *held, struct log_name *name)
{
    const struct hf_zookeeper_change change = {hold, held, drop_held};
    struct hf_op *op;

    *held = (struct held_update){.log = &f->log};
    *name = (struct log_name){&f->log, "op"};
    zookeeper_make(f->zookeeper, "/n", "old");
    assert_int_equal(hf_zookeeper_update_start(f->zookeeper, "/n", change,
                                               WAIT_MS, log_done(name), &op),
                     HF_OK);
    wait_for(has_entered, held);
    return op;
}

FIXTURE_TEST(a_started_update_calls_back)
{
    struct zookeeper_fixture *f = *state;
    struct held_update held;
    struct log_name name;

    held.log = &f->log;
    hf_op_free(start_held(f, &held, &name));
    atomic_store(&held.may_return, true);
    log_await(&f->log, 5);
    log_expect(&f->log, 0,
               (const char *[]){"change", "change returns", "change dropped",
                                "op HF_OK", "op dropped", NULL});
    zookeeper_expect_data(f->zookeeper, "/n", "new");
}

/* It ends while its function runs, which returns first. */
FIXTURE_TEST(an_update_is_cancelled_in_its_function)
{
    struct zookeeper_fixture *f = *state;
    struct held_update held;
    struct log_name name;
    struct hf_op *op = start_held(f, &held, &name);

    hf_op_cancel(op);
    hf_op_cancel(op);
    hf_op_free(op);
    atomic_store(&held.may_return, true);
    log_await(&f->log, 5);
    log_expect(&f->log, 0,
               (const char *[]){"change", "change returns", "change dropped",
                                "op HF_ECANCELLED", "op dropped", NULL});
    zookeeper_expect_data(f->zookeeper, "/n", "old");
}

static void *close_handle(void *arg)
{
    assert_int_equal(hf_zookeeper_close(arg), HF_OK);
    return NULL;
}

static bool is_closed(void *arg)
{
    return hf_zookeeper_state(arg) == HF_STATE_CLOSED;
}

FIXTURE_TEST(an_update_is_closed_in_its_function)
{
    struct zookeeper_fixture *f = *state;
    struct held_update held;
    struct log_name name;
    pthread_t thread;

    hf_op_free(start_held(f, &held, &name));
    assert_int_equal(pthread_create(&thread, NULL, close_handle, f->zookeeper),
                     0);
    wait_for(is_closed, f->zookeeper);
    atomic_store(&held.may_return, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    log_expect(&f->log, 0,
               (const char *[]){"change", "change returns", "change dropped",
                                "op HF_ECLOSED", "op dropped", NULL});
    f->zookeeper = zookeeper_open(f, "", "", NULL);
    zookeeper_expect_data(f->zookeeper, "/n", "old");
}

/* The time of an update includes that of its function. */
static hf_status take_long(void *arg, const struct hf_zookeeper_result *now,
                           struct hf_zookeeper_new_data *new_data)
{
    (void)arg;
    (void)now;
    (void)usleep(300000);
    new_data->data = "new";
    new_data->bytes = 3;
    return HF_OK;
}

FIXTURE_TEST(an_update_takes_no_longer_than_it_may)
{
    struct zookeeper_fixture *f = *state;
    const struct hf_zookeeper_change change = {take_long, NULL, NULL};

    zookeeper_make(f->zookeeper, "/n", "old");
    assert_int_equal(hf_zookeeper_update(f->zookeeper, "/n", change, 200, NULL),
                     HF_ETIMEDOUT);
    zookeeper_expect_data(f->zookeeper, "/n", "old");
}

/* The child of a function that forks has none of it. */
static hf_status fork_inside(void *arg, const struct hf_zookeeper_result *now,
                             struct hf_zookeeper_new_data *new_data)
{
    pid_t *child = arg;

    (void)now;
    new_data->data = "new";
    new_data->bytes = 3;
    *child = fork();
    return HF_OK;
}

FIXTURE_TEST(a_function_forks)
{
    struct zookeeper_fixture *f = *state;
    pid_t child = -1;
    const struct hf_zookeeper_change change = {fork_inside, &child, NULL};
    hf_status status;
    int how;

    zookeeper_make(f->zookeeper, "/n", "old");
    status = hf_zookeeper_update(f->zookeeper, "/n", change, WAIT_MS, NULL);
    if (child == 0)
        _exit(status == HF_EFORKED ? 0 : 1);
    assert_int_equal(status, HF_OK);
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
    zookeeper_expect_data(f->zookeeper, "/n", "new");
}

/* Each call, where it may not wait. */
static void refuse_to_wait(void *arg, const struct hf_zookeeper_result *result)
{
    struct zookeeper_fixture *f = arg;
    const struct hf_zookeeper_op op = create_op("/a", HF_ZOOKEEPER_PERSISTENT);
    const struct hf_zookeeper_change change = {refuse, NULL, NULL};

    (void)result;
    assert_int_equal(
        hf_zookeeper_create_protected(f->zookeeper, &op, 0, WAIT_MS, NULL),
        HF_EREENTRANT);
    assert_int_equal(
        hf_zookeeper_delete_guaranteed(f->zookeeper, "/a", 0, WAIT_MS),
        HF_EREENTRANT);
    assert_int_equal(
        hf_zookeeper_update(f->zookeeper, "/a", change, WAIT_MS, NULL),
        HF_EREENTRANT);
    log_add(&f->log, "refused");
}

FIXTURE_TEST(nothing_waits_in_a_callback)
{
    struct zookeeper_fixture *f = *state;
    const struct hf_zookeeper_done done = {refuse_to_wait, f, NULL};

    assert_int_equal(hf_zookeeper_sync_start(f->zookeeper, "/", WAIT_MS, done),
                     HF_OK);
    (void)log_await_line(&f->log, 0, "refused");
}
