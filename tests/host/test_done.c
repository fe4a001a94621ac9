/* SPDX-License-Identifier: Apache-2.0 */
/* A callback without a function, for every call that starts something: where
 * the end brings a status only, nobody is told; where it brings a grant or
 * tickets, the call is refused, because they would be lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kit.h"

#define WAIT_MS 10000

struct world {
    struct place place;
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_lock *writer;
    struct hf_election *election;
    struct hf_barrier *barrier;
    struct hf_double_barrier *meeting; /* of one party */
    struct hf_grant *grant;            /* what a start has left behind */
    _Atomic int drops;
};

static int setup(void **state)
{
    static struct world w;
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;

    memset(&w, 0, sizeof(w));
    place_make(&w.place);
    w.client = kit_client(w.place.url);
    opts.kind = HF_KIND_WRITE;
    assert_int_equal(hf_lock_open(w.client, "lock", NULL, &w.lock), HF_OK);
    assert_int_equal(hf_lock_open(w.client, "writer", &opts, &w.writer), HF_OK);
    assert_int_equal(hf_election_open(w.client, "election", NULL, &w.election),
                     HF_OK);
    assert_int_equal(hf_barrier_open(w.client, "barrier", &w.barrier), HF_OK);
    assert_int_equal(hf_double_barrier_open(w.client, "meeting", 1, &w.meeting),
                     HF_OK);
    *state = &w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    hf_double_barrier_free(w->meeting);
    hf_barrier_free(w->barrier);
    hf_election_free(w->election);
    hf_lock_free(w->writer);
    hf_lock_free(w->lock);
    assert_int_equal(hf_client_close(w->client), HF_OK);
    place_remove(&w->place);
    return 0;
}

/* ------------------------------------------------------------- the calls -- */

static hf_status start_acquire(struct world *w, struct hf_done done)
{
    return hf_lock_acquire_start(w->lock, NULL, done, NULL);
}

static hf_status start_acquire_all(struct world *w, struct hf_done done)
{
    struct hf_lock *locks[] = {w->lock, w->writer};

    return hf_locks_acquire_start(locks, 2, NULL, done, NULL);
}

static hf_status start_tickets(struct world *w, struct hf_done done)
{
    return hf_lock_tickets_start(w->lock, HF_TICKETS_ALL, WAIT_MS, done);
}

static hf_status start_evict(struct world *w, struct hf_done done)
{
    return hf_lock_evict_start(w->lock, "00000000-0000-0000-0000-000000000000",
                               WAIT_MS, done);
}

static hf_status start_revoke(struct world *w, struct hf_done done)
{
    return hf_lock_revoke_start(w->lock, NULL, WAIT_MS, done);
}

static hf_status start_release(struct world *w, struct hf_done done)
{
    struct hf_grant *grant;

    assert_int_equal(hf_lock_acquire(w->lock, NULL, &grant), HF_OK);
    return hf_grant_release_start(grant, done);
}

static hf_status start_downgrade(struct world *w, struct hf_done done)
{
    assert_int_equal(hf_lock_acquire(w->writer, NULL, &w->grant), HF_OK);
    return hf_grant_downgrade_start(w->grant, done);
}

static hf_status start_candidates(struct world *w, struct hf_done done)
{
    return hf_election_tickets_start(w->election, HF_TICKETS_ALL, WAIT_MS,
                                     done);
}

/* It leads soon. */
static hf_status start_election_wait(struct world *w, struct hf_done done)
{
    assert_int_equal(hf_election_campaign_start(w->election), HF_OK);
    return hf_election_wait_start(w->election, WAIT_MS, done, NULL);
}

static hf_status start_resign(struct world *w, struct hf_done done)
{
    assert_int_equal(hf_election_campaign_start(w->election), HF_OK);
    return hf_election_resign_start(w->election, done);
}

static hf_status start_raise(struct world *w, struct hf_done done)
{
    return hf_barrier_raise_start(w->barrier, WAIT_MS, done);
}

static hf_status start_lower(struct world *w, struct hf_done done)
{
    return hf_barrier_lower_start(w->barrier, WAIT_MS, done);
}

static hf_status start_barrier_wait(struct world *w, struct hf_done done)
{
    return hf_barrier_wait_start(w->barrier, WAIT_MS, done, NULL);
}

static hf_status start_enter(struct world *w, struct hf_done done)
{
    return hf_double_barrier_enter_start(w->meeting, WAIT_MS, done, NULL);
}

static hf_status start_leave(struct world *w, struct hf_done done)
{
    assert_int_equal(hf_double_barrier_enter(w->meeting, WAIT_MS), HF_OK);
    return hf_double_barrier_leave_start(w->meeting, WAIT_MS, done, NULL);
}

static hf_status start_participants(struct world *w, struct hf_done done)
{
    return hf_double_barrier_participants_start(w->meeting, WAIT_MS, done);
}

static hf_status start_close(struct world *w, struct hf_done done)
{
    return hf_client_close_start(kit_client(w->place.url), done);
}

/* ------------------------------------------------------------- the table -- */

static void error_of_lock(const struct world *w, struct hf_error *error)
{
    hf_lock_error(w->lock, error);
}

static void error_of_election(const struct world *w, struct hf_error *error)
{
    hf_election_error(w->election, error);
}

static void error_of_meeting(const struct world *w, struct hf_error *error)
{
    hf_double_barrier_error(w->meeting, error);
}

struct call {
    const char *name;
    hf_status (*start)(struct world *w, struct hf_done done);
    /* Where the refusal is told; NULL: it is allowed. */
    void (*error)(const struct world *w, struct hf_error *error);
};

static const struct call calls[] = {
    {"hf_barrier_lower_start", start_lower, NULL},
    {"hf_barrier_raise_start", start_raise, NULL},
    {"hf_barrier_wait_start", start_barrier_wait, NULL},
    {"hf_client_close_start", start_close, NULL},
    {"hf_double_barrier_enter_start", start_enter, NULL},
    {"hf_double_barrier_leave_start", start_leave, NULL},
    {"hf_double_barrier_participants_start", start_participants,
     error_of_meeting},
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
};
enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

static void on_drop(void *arg)
{
    atomic_fetch_add(&((struct world *)arg)->drops, 1);
}

static bool is_dropped(void *arg)
{
    return atomic_load(&((struct world *)arg)->drops) > 0;
}

static void expect_refusal(const struct world *w, const struct call *call)
{
    struct hf_error error;
    char start[64];

    snprintf(start, sizeof(start), "%s: the callback is NULL", call->name);
    call->error(w, &error);
    assert_int_equal(error.status, HF_EINVAL);
    assert_memory_equal(error.text, start, strlen(start));
}

/* With a .drop, which comes once in either case, and without. */
static void one_call(struct world *w, const struct call *call, bool drops)
{
    const struct hf_done done = {NULL, w, drops ? on_drop : NULL};
    hf_status wanted = call->error != NULL ? HF_EINVAL : HF_OK;
    hf_status status;

    atomic_store(&w->drops, 0);
    w->grant = NULL;
    status = call->start(w, done);
    if (status != wanted)
        print_error("%s: %s\n", call->name, hf_status_name(status));
    assert_int_equal(status, wanted);
    if (status != HF_OK)
        expect_refusal(w, call);
    if (drops)
        kit_until(is_dropped, w);
    if (w->grant != NULL)
        assert_int_equal(hf_grant_release(w->grant), HF_OK);
    assert_int_equal(atomic_load(&w->drops), drops);
}

static void every_call_without_a_function(void **state)
{
    for (size_t i = 0; i < (size_t)2 * CALLS; i++) {
        assert_int_equal(setup(state), 0);
        one_call(*state, &calls[i / 2], i % 2 == 0);
        assert_int_equal(teardown(state), 0);
    }
}

/* --------------------------------------------------------- is it complete? */

static bool is_in_table(const char *name)
{
    for (size_t i = 0; i < CALLS; i++) {
        if (strcmp(calls[i].name, name) == 0)
            return true;
    }
    return false;
}

/* That one has callbacks of its own. */
static bool takes_no_done(const char *name)
{
    return strcmp(name, "hf_election_campaign_start") == 0;
}

/* What the library exports, in which line by line stands. */
static void the_table_is_complete(void **state)
{
    FILE *map = fopen(EXPORTED, "re");
    char line[128], name[128];
    size_t found = 0;

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_without_a_function),
        cmocka_unit_test(the_table_is_complete),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
