/* SPDX-License-Identifier: Apache-2.0 */
/* Elections on the file engine, in every way to use a client. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
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

static void world_open(struct world *w, enum way way,
                       const struct hf_election_opts *opts)
{
    fronts_open(&w->place, &w->fronts[0], &w->fronts[1], way);
    witness_open(&w->a, &w->fronts[0], NAME, opts);
    witness_open(&w->b, &w->fronts[1], NAME, opts);
}

static void world_close(struct world *w)
{
    witness_free(&w->a);
    witness_free(&w->b);
    fronts_close(&w->place, &w->fronts[0], &w->fronts[1]);
}

/* a leads, and b waits behind it. */
static void a_leads_b_waits(struct world *w)
{
    witness_runs(&w->a);
    witness_hears(&w->a, "elected ");
    witness_runs(&w->b);
    kit_await_tickets_with(w->b.front, &w->place, 2);
}

/* ---------------------------------------------------------------------- */

static void one_leads_and_then_the_next(enum way way)
{
    struct world w;
    uint64_t token;

    world_open(&w, way, NULL);
    assert_false(hf_election_is_leader(w.a.election));
    assert_true(hf_election_token(w.a.election) == 0);
    a_leads_b_waits(&w);
    assert_true(hf_election_is_leader(w.a.election));
    assert_true(hf_election_token(w.a.election) == w.a.token);
    assert_true(hf_election_safe_until_ms(w.a.election) == HF_FOREVER);
    assert_false(hf_election_is_leader(w.b.election));
    token = w.a.token;
    assert_int_equal(witness_resigns(&w.a), HF_OK);
    assert_false(hf_election_is_leader(w.a.election));
    assert_true(hf_election_token(w.a.election) == 0);
    assert_true(hf_election_safe_until_ms(w.a.election) == 0);
    witness_hears(&w.b, "elected ");
    assert_true(hf_election_token(w.b.election) > token);
    witness_runs(&w.a);
    assert_int_equal(witness_resigns(&w.b), HF_OK);
    witness_hears(&w.a, "elected elected "); /* who resigns knows it */
    witness_hears(&w.b, "elected ");
    world_close(&w);
}

static void expect_candidate(const struct hf_tickets *tickets, size_t place,
                             bool leads, bool own)
{
    const struct hf_ticket_view *view = hf_tickets_at(tickets, place);

    assert_non_null(view);
    assert_int_equal(view->kind, HF_KIND_ELECTION);
    assert_int_equal(view->holds, leads);
    assert_int_equal(view->own, own);
    assert_non_null(strstr(view->owner, "text=a%20word"));
}

static void candidates_are_listed_in_order(enum way way)
{
    struct hf_election_opts opts = HF_ELECTION_OPTS_INIT;
    char text[] = "a word";
    struct world w;
    struct hf_tickets *tickets;

    opts.text = text;
    world_open(&w, way, &opts);
    text[0] = '\n'; /* it was copied */
    tickets = witness_lists(&w.a, HF_TICKETS_HOLDERS);
    assert_int_equal(hf_tickets_count(tickets), 0);
    hf_tickets_free(tickets);
    a_leads_b_waits(&w);
    tickets = witness_lists(&w.b, HF_TICKETS_ALL);
    assert_int_equal(hf_tickets_count(tickets), 2);
    expect_candidate(tickets, 0, true, false);
    expect_candidate(tickets, 1, false, true);
    hf_tickets_free(tickets);
    tickets = witness_lists(&w.a, HF_TICKETS_HOLDERS);
    assert_int_equal(hf_tickets_count(tickets), 1);
    expect_candidate(tickets, 0, true, true);
    assert_true(hf_tickets_at(tickets, 0)->token == w.a.token);
    hf_tickets_free(tickets);
    world_close(&w);
}

static void an_id_is_shown_as_it_is(enum way way)
{
    struct hf_election_opts opts = HF_ELECTION_OPTS_INIT;
    char id[HF_ELECTION_ID_BYTES + 1];
    struct hf_tickets *tickets;
    struct world w;

    memset(id, 'x', sizeof(id));
    memcpy(id, "node 7 = first", 14);
    id[sizeof(id) - 1] = '\0';
    opts.id = id;
    world_open(&w, way, &opts);
    id[0] = '\n'; /* it was copied */
    a_leads_b_waits(&w);
    id[0] = 'n';
    tickets = witness_lists(&w.b, HF_TICKETS_ALL);
    assert_int_equal(hf_tickets_count(tickets), 2);
    for (size_t i = 0; i < 2; i++)
        assert_string_equal(hf_tickets_at(tickets, i)->owner, id);
    hf_tickets_free(tickets);
    assert_int_equal(witness_resigns(&w.b), HF_OK);
    place_rob(&w.place); /* also when it stands again */
    witness_hears(&w.a, "elected deposed elected ");
    tickets = witness_lists(&w.a, HF_TICKETS_HOLDERS);
    assert_string_equal(hf_tickets_at(tickets, 0)->owner, id);
    hf_tickets_free(tickets);
    world_close(&w);
}

static void a_waiting_candidate_resigns(enum way way)
{
    struct world w;

    world_open(&w, way, NULL);
    a_leads_b_waits(&w);
    assert_int_equal(witness_resigns(&w.b), HF_OK);
    assert_int_equal(place_tickets(&w.place), 1);
    assert_int_equal(witness_resigns(&w.b), HF_OK); /* it does not stand */
    assert_true(hf_election_is_leader(w.a.election));
    assert_int_equal(witness_resigns(&w.a), HF_OK);
    assert_int_equal(place_tickets(&w.place), 0);
    witness_runs(&w.b);
    witness_runs(&w.b); /* it stands already */
    witness_hears(&w.b, "elected ");
    world_close(&w);
}

static void who_is_thrown_out_stands_again(enum way way)
{
    static const char *const told[] = {
        "elected ",
        "elected deposed elected ",
        "elected deposed elected deposed elected ",
    };
    struct world w;

    world_open(&w, way, NULL);
    witness_runs(&w.a);
    for (int i = 0; i < 3; i++) {
        witness_hears(&w.a, told[i]);
        assert_true(hf_election_token(w.a.election) == w.a.token);
        assert_int_equal(place_tickets(&w.place), 1);
        if (i < 2)
            place_rob(&w.place);
    }
    assert_int_equal(witness_resigns(&w.a), HF_OK);
    witness_hears(&w.a, told[2]);
    world_close(&w);
}

/* ------------------------------------------------------- asked to let go -- */

static struct hf_lock *lock_of_kind(struct front *front, enum hf_kind kind)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    struct hf_lock *lock;

    opts.kind = kind;
    assert_int_equal(hf_lock_open(front->client, NAME, &opts, &lock), HF_OK);
    return lock;
}

/* From a thread of its own, which may wait in any way. */
static void *ask_main(void *arg)
{
    const char *id = NULL;
    struct hf_lock *lock = arg;
    struct hf_tickets *tickets;

    assert_int_equal(hf_lock_tickets(lock, HF_TICKETS_ALL, 10000, &tickets),
                     HF_OK);
    for (size_t i = 0; i < hf_tickets_count(tickets); i++) {
        id = hf_tickets_at(tickets, i)->id;
        assert_int_equal(hf_lock_revoke(lock, id, 10000), HF_OK);
    }
    hf_tickets_free(tickets);
    return NULL;
}

/* Who leads, and who waits. */
static void all_are_asked_to_let_go(enum way way)
{
    struct front helper;
    struct world w;
    struct hf_lock *lock;

    world_open(&w, way, NULL);
    front_open(&helper, WAY_THREAD, w.place.url, no_listener);
    lock = lock_of_kind(&helper, HF_KIND_ELECTION);
    w.a.resigns = true;
    a_leads_b_waits(&w);
    kit_elsewhere(ask_main, lock);
    witness_hears(&w.a, "elected asked ");
    front_until(w.a.front, witness_has_resigned, &w.a);
    assert_int_equal(w.a.status, HF_OK);
    witness_hears(&w.b, "elected asked "); /* in that order */
    assert_true(hf_election_is_leader(w.b.election));
    hf_lock_free(lock);
    front_close(&helper);
    world_close(&w);
}

/* ------------------------------------------------------------------ ends -- */

static void another_kind_of_lock_ends_it(enum way way)
{
    struct world w;
    struct hf_lock *mutex;
    struct hf_grant *grant;

    world_open(&w, way, NULL);
    mutex = lock_of_kind(w.b.front, HF_KIND_MUTEX);
    grant = front_take(w.b.front, mutex);
    witness_runs(&w.a);
    witness_hears(&w.a, "ended ");
    assert_int_equal(w.a.why.status, HF_EKIND);
    assert_non_null(strstr(w.a.why.text, "in use as a mutex"));
    assert_non_null(strstr(w.a.why.text, "this is an election"));
    assert_int_equal(place_tickets(&w.place), 1);
    assert_int_equal(front_give(w.b.front, grant), HF_OK);
    witness_runs(&w.a);
    witness_hears(&w.a, "ended elected ");
    assert_int_equal(
        hf_lock_acquire_start(mutex, NULL, (struct hf_done){0}, NULL),
        HF_EINVAL);
    hf_lock_free(mutex);
    world_close(&w);
}

/* Of the other kind, as LeaderSelector and kazoo's Election have it. */
static void a_mutex_can_be_stood_for(enum way way)
{
    struct hf_election_opts opts = HF_ELECTION_OPTS_INIT;
    struct world w;
    struct hf_lock *mutex;
    struct hf_grant *grant;
    struct hf_tickets *tickets;

    opts.kind = HF_KIND_MUTEX;
    world_open(&w, way, &opts);
    mutex = lock_of_kind(w.b.front, HF_KIND_MUTEX);
    grant = front_take(w.b.front, mutex);
    witness_runs(&w.a);
    kit_await_tickets_with(w.a.front, &w.place, 2);
    tickets = witness_lists(&w.a, HF_TICKETS_ALL);
    assert_int_equal(hf_tickets_at(tickets, 1)->kind, HF_KIND_MUTEX);
    hf_tickets_free(tickets);
    assert_false(hf_election_is_leader(w.a.election));
    assert_int_equal(front_give(w.b.front, grant), HF_OK);
    witness_hears(&w.a, "elected ");
    hf_lock_free(mutex);
    world_close(&w);
}

static void must_not_resign(void *arg, const struct hf_result *result)
{
    (void)arg;
    (void)result;
    fail();
}

static void closing_ends_it(enum way way)
{
    const struct hf_done unheard = {must_not_resign, NULL, NULL};
    struct hf_error error;
    struct world w;

    world_open(&w, way, NULL);
    a_leads_b_waits(&w);
    front_close(w.b.front);
    assert_string_equal(w.b.told, "ended ");
    assert_int_equal(w.b.why.status, HF_ECLOSED);
    front_close(w.a.front);
    assert_string_equal(w.a.told, "elected deposed ended ");
    assert_int_equal(w.a.why.status, HF_ECLOSED);
    assert_false(hf_election_is_leader(w.a.election));
    assert_int_equal(hf_election_campaign_start(w.a.election), HF_ECLOSED);
    assert_int_equal(
        hf_election_resign_start(w.a.election, (struct hf_done){0}), HF_OK);
    assert_int_equal(hf_election_resign_start(w.a.election, unheard),
                     HF_ECLOSED);
    hf_election_error(w.a.election, &error);
    assert_int_equal(error.status, HF_ECLOSED);
    assert_string_equal(error.text,
                        "hf_election_resign_start: the client was closed");
    hf_election_free(w.a.election);
    hf_election_free(w.b.election);
    assert_int_equal(w.a.drops + w.b.drops, 2 * WITNESS_DROPS);
    assert_int_equal(place_tickets(&w.place), 0);
    place_remove(&w.place);
}

/* Whoever is elected in one process has been deposed before another is. */
static void two_candidates_of_one_client(enum way way)
{
    struct world w;
    struct witness c;

    world_open(&w, way, NULL);
    witness_open(&c, w.a.front, NAME, NULL);
    witness_runs(&w.a);
    witness_hears(&w.a, "elected ");
    witness_runs(&c);
    kit_await_tickets_with(w.a.front, &w.place, 2);
    assert_false(hf_election_is_leader(c.election));
    assert_int_equal(witness_resigns(&w.a), HF_OK);
    witness_hears(&c, "elected ");
    assert_false(hf_election_is_leader(w.a.election));
    witness_free(&c);
    world_close(&w);
}

#define STORIES(X)                                                             \
    X(one_leads_and_then_the_next)                                             \
    X(candidates_are_listed_in_order)                                          \
    X(an_id_is_shown_as_it_is)                                                 \
    X(a_waiting_candidate_resigns)                                             \
    X(who_is_thrown_out_stands_again)                                          \
    X(all_are_asked_to_let_go)                                                 \
    X(another_kind_of_lock_ends_it)                                            \
    X(a_mutex_can_be_stood_for)                                                \
    X(closing_ends_it)                                                         \
    X(two_candidates_of_one_client)

#include "in_each_way.h"

/* --------------------------------------------------------- the callbacks -- */

static bool leads(void *arg)
{
    return hf_election_is_leader(arg);
}

static bool has_entered(void *arg)
{
    return atomic_load(&((struct witness *)arg)->entered) > 0;
}

static void *resign_main(void *arg)
{
    struct witness *witness = arg;

    witness->status = hf_election_resign(witness->election);
    atomic_fetch_add(&witness->ended, 1);
    return NULL;
}

/* A resignation is answered when no callback runs. */
static void resigning_waits_for_a_callback(void **state)
{
    struct world w;
    pthread_t thread;

    (void)state;
    world_open(&w, WAY_THREAD, NULL);
    pthread_mutex_lock(&w.a.gate);
    witness_runs(&w.a);
    kit_until(has_entered, &w.a);
    thread = kit_thread(resign_main, &w.a);
    kit_await_tickets(&w.place, 0);
    assert_false(witness_has_resigned(&w.a));
    pthread_mutex_unlock(&w.a.gate);
    pthread_join(thread, NULL);
    assert_int_equal(w.a.status, HF_OK);
    assert_string_equal(w.a.told, "elected ");
    world_close(&w);
}

/* Where nobody runs callbacks the rest goes on. */
static void nobody_has_to_listen(void **state)
{
    struct world w;

    (void)state;
    world_open(&w, WAY_DISPATCH, NULL);
    witness_runs(&w.a);
    witness_runs(&w.b);
    for (int i = 0; i < 4; i++) {
        struct witness *one = i % 2 == 0 ? &w.a : &w.b;

        kit_until(leads, one->election);
        assert_int_equal(hf_election_resign(one->election), HF_OK);
        witness_runs(one);
    }
    assert_string_equal(w.a.told, "");
    assert_string_equal(w.b.told, "");
    witness_hears(&w.a, "elected ");
    world_close(&w);
}

/* Of what was over before it could be told, nothing is. */
static void what_is_over_is_not_told(void **state)
{
    struct world w;
    uint64_t token;

    (void)state;
    world_open(&w, WAY_DISPATCH, NULL);
    witness_runs(&w.a);
    kit_until(leads, w.a.election);
    token = hf_election_token(w.a.election);
    place_rob(&w.place);
    kit_await_tickets(&w.place, 1);
    kit_until(leads, w.a.election);
    assert_true(hf_election_token(w.a.election) > token);
    witness_hears(&w.a, "elected ");
    assert_true(hf_election_token(w.a.election) == w.a.token);
    place_rob(&w.place);
    kit_await_tickets(&w.place, 1);
    witness_hears(&w.a, "elected deposed elected ");
    world_close(&w);
}

static bool has_news(void *arg)
{
    struct front *front = arg;
    struct pollfd readable = {.fd = hf_client_fd(front->client),
                              .events = POLLIN};

    return poll(&readable, 1, 0) > 0;
}

static void it_can_run_again_from_its_end(void **state)
{
    struct world w;
    struct hf_lock *mutex;
    struct hf_grant *grant;

    (void)state;
    world_open(&w, WAY_DISPATCH, NULL);
    mutex = lock_of_kind(w.b.front, HF_KIND_MUTEX);
    grant = front_take(w.b.front, mutex);
    w.a.runs_again = true;
    witness_runs(&w.a);
    kit_until(has_news, w.a.front);
    assert_int_equal(front_give(w.b.front, grant), HF_OK);
    witness_hears(&w.a, "ended elected ");
    hf_lock_free(mutex);
    world_close(&w);
}

/* ---------------------------------------------------------------- misuse -- */

static void wrong_options_are_refused(void **state)
{
    struct hf_election_opts opts = HF_ELECTION_OPTS_INIT;
    struct hf_election *election;
    struct hf_error error;
    struct world w;
    struct witness spare = {.drops = 0};
    char long_id[HF_ELECTION_ID_BYTES + 2] = "";

    (void)state;
    world_open(&w, WAY_THREAD, NULL);
    witness_set_callbacks(&spare, &opts);
    opts.kind = HF_KIND_READ;
    assert_int_equal(
        hf_election_open(w.a.front->client, NAME, &opts, &election), HF_EINVAL);
    assert_null(election);
    assert_int_equal(spare.drops, WITNESS_DROPS);
    hf_client_error(w.a.front->client, &error);
    assert_string_equal(error.text, "hf_election_open: the kind is 1; expected "
                                    "HF_KIND_ELECTION or HF_KIND_MUTEX");
    opts = (struct hf_election_opts)HF_ELECTION_OPTS_INIT;
    opts.text = "\n";
    assert_int_equal(
        hf_election_open(w.a.front->client, NAME, &opts, &election), HF_EINVAL);
    opts.id = "an id";
    opts.text = "a text";
    assert_int_equal(
        hf_election_open(w.a.front->client, NAME, &opts, &election), HF_EINVAL);
    hf_client_error(w.a.front->client, &error);
    assert_non_null(strstr(error.text, "a text and an id"));
    opts.text = NULL;
    opts.id = "an\nid";
    assert_int_equal(
        hf_election_open(w.a.front->client, NAME, &opts, &election), HF_EINVAL);
    hf_client_error(w.a.front->client, &error);
    assert_non_null(strstr(error.text, "the id "));
    memset(long_id, 'x', sizeof(long_id) - 1);
    opts.id = long_id;
    assert_int_equal(
        hf_election_open(w.a.front->client, NAME, &opts, &election), HF_EINVAL);
    hf_client_error(w.a.front->client, &error);
    assert_string_equal(error.text, "hf_election_open: the id has 256 bytes; "
                                    "expected 255 at most");
    opts.size = 0;
    assert_int_equal(
        hf_election_open(w.a.front->client, NAME, &opts, &election), HF_EINVAL);
    assert_int_equal(hf_election_open(w.a.front->client, "latch-0000000001",
                                      NULL, &election),
                     HF_ENAME);
    world_close(&w);
}

static void a_second_resignation_is_refused(void **state)
{
    struct hf_error error;
    struct world w;

    (void)state;
    world_open(&w, WAY_DISPATCH, NULL);
    witness_runs(&w.a);
    witness_hears(&w.a, "elected ");
    witness_begins_to_resign(&w.a);
    assert_int_equal(hf_election_resign(w.a.election), HF_ESTATE);
    hf_election_error(w.a.election, &error);
    assert_string_equal(error.text,
                        "hf_election_resign: it is resigning already; wait "
                        "for the end of that");
    front_until(w.a.front, witness_has_resigned, &w.a);
    assert_int_equal(hf_election_resign(w.a.election), HF_OK);
    world_close(&w);
}

static int in_child(void *arg)
{
    struct world *w = arg;
    struct hf_tickets *tickets;

    KIT_CHECK(!hf_election_is_leader(w->a.election));
    KIT_CHECK(hf_election_token(w->a.election) == 0);
    KIT_CHECK(hf_election_safe_until_ms(w->a.election) == 0);
    KIT_CHECK(hf_election_campaign_start(w->a.election) == HF_EFORKED);
    KIT_CHECK(hf_election_resign(w->a.election) == HF_EFORKED);
    KIT_CHECK(hf_election_tickets(w->a.election, HF_TICKETS_HOLDERS, 0,
                                  &tickets) == HF_EFORKED);
    hf_election_free(w->a.election);
    return 0;
}

static void a_child_leads_nothing(void **state)
{
    struct world w;

    (void)state;
    world_open(&w, WAY_THREAD, NULL);
    a_leads_b_waits(&w);
    kit_in_child(in_child, &w);
    assert_true(hf_election_is_leader(w.a.election));
    assert_int_equal(place_tickets(&w.place), 2);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORIES(STORY_TESTS) /* each in four ways */
        cmocka_unit_test(resigning_waits_for_a_callback),
        cmocka_unit_test(nobody_has_to_listen),
        cmocka_unit_test(what_is_over_is_not_told),
        cmocka_unit_test(it_can_run_again_from_its_end),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(a_second_resignation_is_refused),
        cmocka_unit_test(a_child_leads_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
