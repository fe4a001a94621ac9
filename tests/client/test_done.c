/* SPDX-License-Identifier: Apache-2.0 */
/* A callback without a function, for every call that starts something: it is
 * allowed where the end brings a status only; where the end brings a grant
 * or tickets the call is refused, because they would be lost. */
#include <stdio.h>
#include <string.h>

#include "cmocka/runner.h"
#include "process.h"

#define WAIT_MS 10000

struct done_fixture {
    struct client_directory directory;
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_lock *writer;
    struct hf_election *election;
    struct hf_barrier *barrier;
    struct hf_double_barrier *double_barrier; /* for one participant */
    struct hf_names *names;
    struct hf_grant *grant; /* left by an acquire that started */
    _Atomic int drops;
};

static int setup(void **state)
{
    static struct done_fixture f;
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;

    memset(&f, 0, sizeof(f));
    client_directory_create(&f.directory);
    f.client = open_client(f.directory.url);
    opts.kind = HF_KIND_WRITE;
    assert_int_equal(hf_lock_open(f.client, "lock", NULL, &f.lock), HF_OK);
    assert_int_equal(hf_lock_open(f.client, "writer", &opts, &f.writer), HF_OK);
    assert_int_equal(hf_election_open(f.client, "election", NULL, &f.election),
                     HF_OK);
    assert_int_equal(hf_barrier_open(f.client, "barrier", &f.barrier), HF_OK);
    assert_int_equal(
        hf_double_barrier_open(f.client, "meeting", 1, &f.double_barrier),
        HF_OK);
    assert_int_equal(hf_names_open(f.client, "", NULL, &f.names), HF_OK);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct done_fixture *f = *state;

    hf_names_free(f->names);
    hf_double_barrier_free(f->double_barrier);
    hf_barrier_free(f->barrier);
    hf_election_free(f->election);
    hf_lock_free(f->writer);
    hf_lock_free(f->lock);
    assert_int_equal(hf_client_close(f->client), HF_OK);
    client_directory_remove(&f->directory);
    return 0;
}

/* ------------------------------------------------------------- the calls -- */

static hf_status start_acquire(struct done_fixture *f, struct hf_done done)
{
    return hf_lock_acquire_start(f->lock, NULL, done, NULL);
}

static hf_status start_acquire_all(struct done_fixture *f, struct hf_done done)
{
    struct hf_lock *locks[] = {f->lock, f->writer};

    return hf_locks_acquire_start(locks, 2, NULL, done, NULL);
}

static hf_status start_tickets(struct done_fixture *f, struct hf_done done)
{
    return hf_lock_tickets_start(f->lock, HF_TICKETS_ALL, WAIT_MS, done);
}

static hf_status start_names(struct done_fixture *f, struct hf_done done)
{
    return hf_names_next_start(f->names, WAIT_MS, done);
}

static hf_status start_examine(struct done_fixture *f, struct hf_done done)
{
    return hf_client_examine_start(f->client, WAIT_MS, done);
}

static hf_status start_evict(struct done_fixture *f, struct hf_done done)
{
    return hf_lock_evict_start(f->lock, "00000000-0000-0000-0000-000000000000",
                               NULL, WAIT_MS, done);
}

static hf_status start_revoke(struct done_fixture *f, struct hf_done done)
{
    return hf_lock_revoke_start(f->lock, NULL, WAIT_MS, done);
}

static hf_status start_release(struct done_fixture *f, struct hf_done done)
{
    struct hf_grant *grant;

    assert_int_equal(hf_lock_acquire(f->lock, NULL, &grant), HF_OK);
    return hf_grant_release_start(grant, done);
}

static hf_status start_downgrade(struct done_fixture *f, struct hf_done done)
{
    assert_int_equal(hf_lock_acquire(f->writer, NULL, &f->grant), HF_OK);
    return hf_grant_downgrade_start(f->grant, done);
}

static hf_status start_candidates(struct done_fixture *f, struct hf_done done)
{
    return hf_election_tickets_start(f->election, HF_TICKETS_ALL, WAIT_MS,
                                     done);
}

/* It leads soon. */
static hf_status start_election_wait(struct done_fixture *f,
                                     struct hf_done done)
{
    assert_int_equal(hf_election_campaign_start(f->election), HF_OK);
    return hf_election_wait_start(f->election, WAIT_MS, done, NULL);
}

static hf_status start_resign(struct done_fixture *f, struct hf_done done)
{
    assert_int_equal(hf_election_campaign_start(f->election), HF_OK);
    return hf_election_resign_start(f->election, done);
}

static hf_status start_raise(struct done_fixture *f, struct hf_done done)
{
    return hf_barrier_raise_start(f->barrier, WAIT_MS, done);
}

static hf_status start_lower(struct done_fixture *f, struct hf_done done)
{
    return hf_barrier_lower_start(f->barrier, WAIT_MS, done);
}

static hf_status start_barrier_wait(struct done_fixture *f, struct hf_done done)
{
    return hf_barrier_wait_start(f->barrier, WAIT_MS, done, NULL);
}

static hf_status start_enter(struct done_fixture *f, struct hf_done done)
{
    return hf_double_barrier_enter_start(f->double_barrier, WAIT_MS, done,
                                         NULL);
}

static hf_status start_leave(struct done_fixture *f, struct hf_done done)
{
    assert_int_equal(hf_double_barrier_enter(f->double_barrier, WAIT_MS),
                     HF_OK);
    return hf_double_barrier_leave_start(f->double_barrier, WAIT_MS, done,
                                         NULL);
}

static hf_status start_participants(struct done_fixture *f, struct hf_done done)
{
    return hf_double_barrier_participants_start(f->double_barrier, WAIT_MS,
                                                done);
}

static hf_status start_close(struct done_fixture *f, struct hf_done done)
{
    return hf_client_close_start(open_client(f->directory.url), done);
}

/* ----------------------------------------------------------------- table -- */

static void error_of_lock(const struct done_fixture *f, struct hf_error *error)
{
    hf_lock_error(f->lock, error);
}

static void error_of_election(const struct done_fixture *f,
                              struct hf_error *error)
{
    hf_election_error(f->election, error);
}

static void error_of_double_barrier(const struct done_fixture *f,
                                    struct hf_error *error)
{
    hf_double_barrier_error(f->double_barrier, error);
}

struct start_call {
    const char *name;
    hf_status (*start)(struct done_fixture *f, struct hf_done done);
    /* Gets the error of the refused call; NULL: the call is allowed. */
    void (*error)(const struct done_fixture *f, struct hf_error *error);
};

static void error_of_client(const struct done_fixture *f,
                            struct hf_error *error)
{
    hf_client_error(f->client, error);
}

static void error_of_names(const struct done_fixture *f, struct hf_error *error)
{
    hf_names_error(f->names, error);
}

static const struct start_call calls[] = {
    {"hf_barrier_lower_start", start_lower, NULL},
    {"hf_barrier_raise_start", start_raise, NULL},
    {"hf_barrier_wait_start", start_barrier_wait, NULL},
    {"hf_client_close_start", start_close, NULL},
    {"hf_client_examine_start", start_examine, error_of_client},
    {"hf_double_barrier_enter_start", start_enter, NULL},
    {"hf_double_barrier_leave_start", start_leave, NULL},
    {"hf_double_barrier_participants_start", start_participants,
     error_of_double_barrier},
    {"hf_election_resign_start", start_resign, NULL},
    {"hf_election_tickets_start", start_candidates, error_of_election},
    {"hf_election_wait_start", start_election_wait, NULL},
    {"hf_grant_downgrade_start", start_downgrade, NULL},
    {"hf_grant_release_start", start_release, NULL},
    {"hf_lock_acquire_start", start_acquire, error_of_lock},
    {"hf_lock_evict_start", start_evict, NULL},
    {"hf_lock_revoke_start", start_revoke, NULL},
    {"hf_lock_tickets_start", start_tickets, error_of_lock},
    {"hf_locks_acquire_start", start_acquire_all, error_of_lock},
    {"hf_names_next_start", start_names, error_of_names},
};
enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

static void on_drop(void *arg)
{
    atomic_fetch_add(&((struct done_fixture *)arg)->drops, 1);
}

static bool is_dropped(void *arg)
{
    return atomic_load(&((struct done_fixture *)arg)->drops) > 0;
}

static void expect_refusal(const struct done_fixture *f,
                           const struct start_call *start_call)
{
    struct hf_error error;
    char start[64];

    snprintf(start, sizeof(start), "%s: the callback is NULL",
             start_call->name);
    start_call->error(f, &error);
    assert_int_equal(error.status, HF_EINVAL);
    assert_memory_equal(error.text, start, strlen(start));
}

/* With a .drop, which is called once in both cases, and without. */
static void one_call(struct done_fixture *f,
                     const struct start_call *start_call, bool drops)
{
    const struct hf_done done = {NULL, f, drops ? on_drop : NULL};
    hf_status wanted = start_call->error != NULL ? HF_EINVAL : HF_OK;
    hf_status status;

    atomic_store(&f->drops, 0);
    f->grant = NULL;
    status = start_call->start(f, done);
    if (status != wanted)
        print_error("%s: %s\n", start_call->name, hf_status_name(status));
    assert_int_equal(status, wanted);
    if (status != HF_OK)
        expect_refusal(f, start_call);
    if (drops)
        wait_until(is_dropped, f);
    if (f->grant != NULL)
        assert_int_equal(hf_grant_release(f->grant), HF_OK);
    assert_int_equal(atomic_load(&f->drops), drops);
}

TEST(every_call_without_a_function)
{
    for (size_t i = 0; i < (size_t)2 * CALLS; i++) {
        assert_int_equal(setup(state), 0);
        one_call(*state, &calls[i / 2], i % 2 == 0);
        assert_int_equal(teardown(state), 0);
    }
}

/* ------------------------------------------------------- is it complete? -- */

static bool is_in_table(const char *name)
{
    for (size_t i = 0; i < CALLS; i++) {
        if (strcmp(calls[i].name, name) == 0)
            return true;
    }
    return false;
}

/* The election has callbacks of its own, and so have the operations of a
 * ZooKeeper client. */
static bool takes_no_done(const char *name)
{
    return strcmp(name, "hf_election_campaign_start") == 0 ||
           strncmp(name, "hf_zookeeper_", strlen("hf_zookeeper_")) == 0;
}

/* The names that the library exports, one a line. */
TEST(the_table_is_complete)
{
    FILE *map = fopen(EXPORTED, "re");
    char line[128], name[128];
    size_t found = 0;

    assert_non_null(map);
    while (fgets(line, sizeof(line), map) != NULL) {
        if (sscanf(line, " %127[a-z_];", name) != 1 || strlen(name) < 6 ||
            strcmp(name + strlen(name) - 6, "_start") != 0 ||
            takes_no_done(name))
            continue;
        if (!is_in_table(name))
            print_error("%s is missing\n", name);
        assert_true(is_in_table(name));
        found++;
    }
    assert_int_equal(fclose(map), 0);
    assert_int_equal(found, CALLS);
}
