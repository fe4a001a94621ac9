/* SPDX-License-Identifier: Apache-2.0 */
/* Freeing an election: which callbacks still come, and which do not. */
#include <string.h>

#include "cmocka/runner.h"
#include "election_candidate.h"
#include "in_each_way.h"
#include "process.h"

#define NAME "scheduler"

struct election_free_fixture {
    struct client_directory directory;
    struct client_fixture hosts[2];
    struct election_candidate a;
    struct election_candidate b;
};

static void fixture_open(struct election_free_fixture *f, enum way way)
{
    hosts_open(&f->directory, &f->hosts[0], &f->hosts[1], way);
    candidate_open(&f->a, &f->hosts[0], NAME, NULL);
    candidate_open(&f->b, &f->hosts[1], NAME, NULL);
}

static void fixture_close(struct election_free_fixture *f)
{
    candidate_free(&f->a);
    candidate_free(&f->b);
    hosts_close(&f->directory, &f->hosts[0], &f->hosts[1]);
}

/* A fixture ${f} until the end of the test. */
#define FIXTURE(f, way)                                                        \
    CLOSED_BY(fixture_close) struct election_free_fixture f;                   \
    fixture_open(&f, way)

static void a_leads_b_waits(struct election_free_fixture *f)
{
    candidate_campaign(&f->a);
    candidate_expect(&f->a, "elected ");
    candidate_campaign(&f->b);
    client_await_tickets(f->b.fixture, &f->directory, 2);
}

TEST_IN_EACH_WAY(freeing_resigns)
{
    FIXTURE(f, way);
    a_leads_b_waits(&f);
    candidate_free(&f.a);
    candidate_expect(&f.b, "elected ");
    assert_string_equal(f.a.received, "elected ");
    candidate_open(&f.a, &f.hosts[0], NAME, NULL);
    candidate_campaign(&f.a);
    client_await_tickets(f.a.fixture, &f.directory, 2);
    candidate_free(&f.a); /* while it waits */
    client_await_tickets(f.a.fixture, &f.directory, 1);
    hf_election_free(NULL);
    candidate_open(&f.a, &f.hosts[0], NAME, NULL);
}

static bool is_dropped(void *arg)
{
    return atomic_load(&((struct election_candidate *)arg)->drops) ==
           CANDIDATE_DROPS;
}

/* It cannot wait for itself: .drop comes after the callback has returned. */
TEST_IN_EACH_WAY(freeing_from_its_own_callback)
{
    FIXTURE(f, way);
    f.a.frees_when_elected = true;
    candidate_campaign(&f.a);
    candidate_expect(&f.a, "elected ");
    client_wait_until(f.a.fixture, is_dropped, &f.a);
    assert_string_equal(f.a.received, "elected ");
    client_await_tickets(f.a.fixture, &f.directory, 0);
    candidate_open(&f.a, &f.hosts[0], NAME, NULL);
}

/* -------------------------------------------------- a callback that runs -- */

static bool leads(void *arg)
{
    return hf_election_is_leader(arg);
}

static bool has_started(void *arg)
{
    return atomic_load(&((struct election_candidate *)arg)->started) > 0;
}

static void *free_main(void *arg)
{
    struct election_candidate *candidate = arg;

    hf_election_free(candidate->election);
    atomic_fetch_add(&candidate->ended, 1);
    return NULL;
}

/* Now the memory that its callbacks use may go. */
TEST(freeing_waits_for_a_callback)
{
    pthread_t thread;
    FIXTURE(f, WAY_THREAD);
    pthread_mutex_lock(&f.a.callback_lock);
    candidate_campaign(&f.a);
    wait_until(has_started, &f.a);
    thread = start_thread(free_main, &f.a);
    await_tickets(&f.directory, 0);
    assert_false(candidate_has_resigned(&f.a));
    assert_int_equal(atomic_load(&f.a.drops), 0);
    pthread_mutex_unlock(&f.a.callback_lock);
    pthread_join(thread, NULL);
    assert_string_equal(f.a.received, "elected ");
    assert_int_equal(atomic_load(&f.a.drops), CANDIDATE_DROPS);
    candidate_open(&f.a, &f.hosts[0], NAME, NULL);
}

/* Where nobody runs callbacks, those that wait are never run. */
TEST(freeing_does_not_wait_for_a_dispatch)
{
    FIXTURE(f, WAY_DISPATCH);
    candidate_campaign(&f.a);
    wait_until(leads, f.a.election);
    hf_election_free(f.a.election);
    assert_string_equal(f.a.received, "");
    assert_int_equal(atomic_load(&f.a.drops), CANDIDATE_DROPS);
    await_tickets(&f.directory, 0);
    candidate_open(&f.a, &f.hosts[0], NAME, NULL);
}
