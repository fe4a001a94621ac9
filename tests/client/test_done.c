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

/* The caller releases the grant. */
static hf_status start_read_success(struct done_fixture *f, struct hf_done done)
{
    assert_int_equal(hf_lock_acquire(f->lock, NULL, &f->grant), HF_OK);
    return hf_grant_last_success_start(f->grant, WAIT_MS, done);
}

static hf_status start_look_at_success(struct done_fixture *f,
                                       struct hf_done done)
{
    return hf_lock_last_success_start(f->lock, WAIT_MS, done);
}

static hf_status start_write_success(struct done_fixture *f,
                                     struct hf_done done)
{
    assert_int_equal(hf_lock_acquire(f->lock, NULL, &f->grant), HF_OK);
    return hf_grant_write_success_start(f->grant, WAIT_MS, done);
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

static hf_status start_set(struct done_fixture *f, struct hf_done done)
{
    return hf_barrier_set_start(f->barrier, WAIT_MS, done);
}

static hf_status start_clear(struct done_fixture *f, struct hf_done done)
{
    return hf_barrier_clear_start(f->barrier, WAIT_MS, done);
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

struct start_call {
    const char *name;
    hf_status (*start)(struct done_fixture *f, struct hf_done done);
    bool is_refused; /* else the call is allowed */
};

static const struct start_call calls[] = {
    {"hf_barrier_clear_start", start_clear, false},
    {"hf_barrier_set_start", start_set, false},
    {"hf_barrier_wait_start", start_barrier_wait, false},
    {"hf_client_close_start", start_close, false},
    {"hf_client_examine_start", start_examine, true},
    {"hf_double_barrier_enter_start", start_enter, false},
    {"hf_double_barrier_leave_start", start_leave, false},
    {"hf_double_barrier_participants_start", start_participants, true},
    {"hf_election_resign_start", start_resign, false},
    {"hf_election_tickets_start", start_candidates, true},
    {"hf_election_wait_start", start_election_wait, false},
    {"hf_grant_downgrade_start", start_downgrade, false},
    {"hf_grant_last_success_start", start_read_success, true},
    {"hf_grant_release_start", start_release, false},
    {"hf_grant_write_success_start", start_write_success, false},
    {"hf_lock_acquire_start", start_acquire, true},
    {"hf_lock_evict_start", start_evict, false},
    {"hf_lock_last_success_start", start_look_at_success, true},
    {"hf_lock_revoke_start", start_revoke, false},
    {"hf_lock_tickets_start", start_tickets, true},
    {"hf_locks_acquire_start", start_acquire_all, true},
    {"hf_names_next_start", start_names, true},
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

static void expect_refusal(const struct start_call *start_call)
{
    char start[64];

    snprintf(start, sizeof(start), "%s: the callback is NULL",
             start_call->name);
    assert_int_equal(hf_last_error()->status, HF_EINVAL);
    assert_memory_equal(hf_last_error()->text, start, strlen(start));
}

/* With a .drop, which is called once in both cases, and without. */
static void one_call(struct done_fixture *f,
                     const struct start_call *start_call, bool drops)
{
    const struct hf_done done = {NULL, f, drops ? on_drop : NULL};
    hf_status wanted = start_call->is_refused ? HF_EINVAL : HF_OK;
    hf_status status;

    atomic_store(&f->drops, 0);
    f->grant = NULL;
    status = start_call->start(f, done);
    if (status != wanted)
        print_error("%s: %s\n", start_call->name, hf_status_name(status));
    assert_int_equal(status, wanted);
    if (status != HF_OK)
        expect_refusal(start_call);
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
