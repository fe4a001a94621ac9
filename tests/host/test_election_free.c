/* SPDX-License-Identifier: Apache-2.0 */
/* The end of an election's handle: what is called after it, and what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "kit.h"
#include "witness.h"

#define NAME "scheduler"

struct world {
    struct place place;
    struct front fronts[2];
    struct witness a;
    struct witness b;
};

static void world_open(struct world *w, enum way way)
{
    fronts_open(&w->place, &w->fronts[0], &w->fronts[1], way);
    witness_open(&w->a, &w->fronts[0], NAME, NULL);
    witness_open(&w->b, &w->fronts[1], NAME, NULL);
}

static void world_close(struct world *w)
{
    witness_free(&w->a);
    witness_free(&w->b);
    fronts_close(&w->place, &w->fronts[0], &w->fronts[1]);
}

static void a_leads_b_waits(struct world *w)
{
    witness_runs(&w->a);
    witness_hears(&w->a, "elected ");
    witness_runs(&w->b);
    kit_await_tickets_with(w->b.front, &w->place, 2);
}

static void freeing_resigns(enum way way)
{
    struct world w;

    world_open(&w, way);
    a_leads_b_waits(&w);
    witness_free(&w.a);
    witness_hears(&w.b, "elected ");
    assert_string_equal(w.a.told, "elected ");
    witness_open(&w.a, &w.fronts[0], NAME, NULL);
    witness_runs(&w.a);
    kit_await_tickets_with(w.a.front, &w.place, 2);
    witness_free(&w.a); /* while it waits */
    kit_await_tickets_with(w.a.front, &w.place, 1);
    hf_election_free(NULL);
    witness_open(&w.a, &w.fronts[0], NAME, NULL);
    world_close(&w);
}

static bool is_dropped(void *arg)
{
    return atomic_load(&((struct witness *)arg)->drops) == WITNESS_DROPS;
}

/* It cannot wait for itself: .drop comes when the callback has returned. */
static void freeing_from_its_own_callback(enum way way)
{
    struct world w;

    world_open(&w, way);
    w.a.frees = true;
    witness_runs(&w.a);
    witness_hears(&w.a, "elected ");
    front_until(w.a.front, is_dropped, &w.a);
    assert_string_equal(w.a.told, "elected ");
    kit_await_tickets_with(w.a.front, &w.place, 0);
    witness_open(&w.a, &w.fronts[0], NAME, NULL);
    world_close(&w);
}

#define STORIES(X)                                                             \
    X(freeing_resigns)                                                         \
    X(freeing_from_its_own_callback)

#include "in_each_way.h"

/* ----------------------------------------------------- a callback that runs --
 */

static bool leads(void *arg)
{
    return hf_election_is_leader(arg);
}

static bool has_entered(void *arg)
{
    return atomic_load(&((struct witness *)arg)->entered) > 0;
}

static void *free_main(void *arg)
{
    struct witness *witness = arg;

    hf_election_free(witness->election);
    atomic_fetch_add(&witness->ended, 1);
    return NULL;
}

/* What its callbacks use may go then. */
static void freeing_waits_for_a_callback(void **state)
{
    struct world w;
    pthread_t thread;

    (void)state;
    world_open(&w, WAY_THREAD);
    pthread_mutex_lock(&w.a.gate);
    witness_runs(&w.a);
    kit_until(has_entered, &w.a);
    thread = kit_thread(free_main, &w.a);
    kit_await_tickets(&w.place, 0);
    assert_false(witness_has_resigned(&w.a));
    assert_int_equal(atomic_load(&w.a.drops), 0);
    pthread_mutex_unlock(&w.a.gate);
    pthread_join(thread, NULL);
    assert_string_equal(w.a.told, "elected ");
    assert_int_equal(atomic_load(&w.a.drops), WITNESS_DROPS);
    witness_open(&w.a, &w.fronts[0], NAME, NULL);
    world_close(&w);
}

/* Where nobody runs callbacks, those that have not been run never are. */
static void freeing_waits_for_nobody_who_does_not_come(void **state)
{
    struct world w;

    (void)state;
    world_open(&w, WAY_DISPATCH);
    witness_runs(&w.a);
    kit_until(leads, w.a.election);
    hf_election_free(w.a.election);
    assert_string_equal(w.a.told, "");
    assert_int_equal(atomic_load(&w.a.drops), WITNESS_DROPS);
    kit_await_tickets(&w.place, 0);
    witness_open(&w.a, &w.fronts[0], NAME, NULL);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORIES(STORY_TESTS) /* each in four ways */
        cmocka_unit_test(freeing_waits_for_a_callback),
        cmocka_unit_test(freeing_waits_for_nobody_who_does_not_come),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
