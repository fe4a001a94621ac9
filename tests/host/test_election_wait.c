/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting until a candidate leads: how it ends, in every way to use a client,
 * on files and on an engine that obeys. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "kit.h"
#include "scripted.h"
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

/* a leads, and b waits behind it. */
static void a_leads_b_waits(struct world *w)
{
    witness_runs(&w->a);
    witness_hears(&w->a, "elected ");
    witness_runs(&w->b);
    kit_await_tickets_with(w->b.front, &w->place, 2);
}

/* ------------------------------------------------------------- one wait -- */

/* By a call that waits, on a thread of its own, or by one that is started. */
struct wait {
    struct witness *witness;
    uint64_t wait_ms;
    struct hf_op *op;
    pthread_t thread;
    _Atomic int entered;
    _Atomic int ended;
    _Atomic int dropped;
    struct hf_error error; /* the text is the last one's of the election in the
                              blocking way */
};

static void *wait_main(void *arg)
{
    struct wait *wait = arg;
    hf_status status;

    atomic_fetch_add(&wait->entered, 1);
    status = hf_election_wait(wait->witness->election, wait->wait_ms);
    wait->error = (struct hf_error){.status = HF_OK};
    if (status != HF_OK)
        hf_election_error(wait->witness->election, &wait->error);
    assert_int_equal(wait->error.status, status);
    atomic_fetch_add(&wait->ended, 1);
    return NULL;
}

static void on_done(void *arg, const struct hf_result *result)
{
    struct wait *wait = arg;

    assert_null(result->grant);
    assert_null(result->tickets);
    wait->error.status = result->status;
    snprintf(wait->error.text, sizeof(wait->error.text), "%s", result->text);
    assert_int_equal(wait->error.text[0] == '\0', result->status == HF_OK);
    atomic_fetch_add(&wait->ended, 1);
}

static void on_drop(void *arg)
{
    atomic_fetch_add(&((struct wait *)arg)->dropped, 1);
}

static bool has_ended(void *arg)
{
    struct wait *wait = arg;

    return atomic_load(&wait->ended) > 0 &&
           (wait->witness->front->way == WAY_BLOCKING ||
            atomic_load(&wait->dropped) > 0);
}

/* HF_OK, or the status of a start that was refused, which is its end. */
static void wait_begin(struct wait *wait, struct witness *witness,
                       uint64_t wait_ms)
{
    const struct hf_done done = {on_done, wait, on_drop};
    hf_status status;

    memset(wait, 0, sizeof(*wait));
    wait->witness = witness;
    wait->wait_ms = wait_ms;
    if (witness->front->way == WAY_BLOCKING) {
        wait->thread = kit_thread(wait_main, wait);
        return;
    }
    status =
        hf_election_wait_start(witness->election, wait_ms, done, &wait->op);
    if (status == HF_OK)
        return;
    assert_null(wait->op);
    assert_int_equal(atomic_load(&wait->dropped), 1);
    hf_election_error(witness->election, &wait->error);
    assert_int_equal(wait->error.status, status);
    atomic_fetch_add(&wait->ended, 1);
}

static hf_status wait_end(struct wait *wait)
{
    front_until(wait->witness->front, has_ended, wait);
    if (wait->witness->front->way == WAY_BLOCKING)
        pthread_join(wait->thread, NULL);
    else
        assert_int_equal(atomic_load(&wait->dropped), 1);
    assert_int_equal(atomic_load(&wait->ended), 1);
    hf_op_free(wait->op);
    wait->op = NULL;
    return wait->error.status;
}

static hf_status wait_for(struct witness *witness, uint64_t wait_ms)
{
    struct wait wait;

    wait_begin(&wait, witness, wait_ms);
    return wait_end(&wait);
}

static bool has_entered(void *arg)
{
    struct wait *wait = arg;

    return wait->witness->front->way != WAY_BLOCKING ||
           atomic_load(&wait->entered) > 0;
}

/* A wait that is under way: a call that waits has at least been made. */
static void wait_begin_before(struct wait *wait, struct witness *witness,
                              uint64_t wait_ms)
{
    wait_begin(wait, witness, wait_ms);
    kit_until(has_entered, wait);
    assert_false(has_ended(wait));
}

static void expect_text(const struct wait *wait, const char *part)
{
    if (strstr(wait->error.text, part) == NULL)
        print_error("\"%s\", expected \"%s\"\n", wait->error.text, part);
    assert_non_null(strstr(wait->error.text, part));
}

/* ---------------------------------------------------------------------- */

static void it_ends_when_the_candidate_leads(enum way way)
{
    struct world w;
    struct wait wait;

    world_open(&w, way);
    a_leads_b_waits(&w);
    wait_begin_before(&wait, &w.b, HF_FOREVER);
    assert_int_equal(witness_resigns(&w.a), HF_OK);
    assert_int_equal(wait_end(&wait), HF_OK);
    assert_true(hf_election_is_leader(w.b.election));
    assert_int_equal(wait_for(&w.b, 0), HF_OK);
    assert_int_equal(wait_for(&w.b, HF_FOREVER), HF_OK);
    world_close(&w);
}

static void it_ends_in_time(enum way way)
{
    struct world w;
    struct wait wait;
    uint64_t began_ms;

    world_open(&w, way);
    a_leads_b_waits(&w);
    began_ms = kit_now_ms();
    wait_begin(&wait, &w.b, 30);
    assert_int_equal(wait_end(&wait), HF_ETIMEDOUT);
    assert_true(kit_now_ms() - began_ms >= 30);
    expect_text(&wait, "ahead: 1");
    assert_int_equal(place_tickets(&w.place), 2); /* it stands as before */
    assert_int_equal(witness_resigns(&w.a), HF_OK);
    assert_int_equal(wait_for(&w.b, HF_FOREVER), HF_OK);
    world_close(&w);
}

static void a_try_waits_for_nobody_else(enum way way)
{
    struct world w;
    struct wait wait;

    world_open(&w, way);
    witness_runs(&w.a);
    assert_int_equal(wait_for(&w.a, 0), HF_OK); /* for an answer it does */
    witness_runs(&w.b);
    wait_begin(&wait, &w.b, 0);
    assert_int_equal(wait_end(&wait), HF_EBUSY);
    expect_text(&wait, "held by \"host=");
    assert_int_equal(wait_for(&w.b, 0), HF_EBUSY);
    assert_int_equal(place_tickets(&w.place), 2);
    world_close(&w);
}

static void who_does_not_stand_is_told_so(enum way way)
{
    struct world w;
    struct wait wait;

    world_open(&w, way);
    wait_begin(&wait, &w.a, HF_FOREVER);
    assert_int_equal(wait_end(&wait), HF_ESTATE);
    expect_text(&wait, "it is not a candidate");
    witness_runs(&w.a);
    assert_int_equal(wait_for(&w.a, HF_FOREVER), HF_OK);
    assert_int_equal(witness_resigns(&w.a), HF_OK);
    assert_int_equal(wait_for(&w.a, HF_FOREVER), HF_ESTATE);
    world_close(&w);
}

static void resigning_ends_it(enum way way)
{
    struct world w;
    struct wait waits[2];

    world_open(&w, way);
    a_leads_b_waits(&w);
    wait_begin_before(&waits[0], &w.b, HF_FOREVER);
    wait_begin_before(&waits[1], &w.b, 10000);
    /* Those that call may not have got that far yet: then it does not stand. */
    assert_int_equal(witness_resigns(&w.b), HF_OK);
    for (int i = 0; i < 2; i++) {
        hf_status status = wait_end(&waits[i]);

        if (way == WAY_BLOCKING && status == HF_ESTATE)
            continue;
        assert_int_equal(status, HF_ECANCELLED);
        expect_text(&waits[i], "it resigned");
    }
    world_close(&w);
}

static void the_end_of_the_candidacy_is_its_own(enum way way)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    struct world w;
    struct wait wait;
    struct hf_lock *mutex;
    struct hf_grant *grant;

    world_open(&w, way);
    assert_int_equal(hf_lock_open(w.b.front->client, NAME, &opts, &mutex),
                     HF_OK);
    grant = front_take(w.b.front, mutex);
    witness_runs(&w.a);
    wait_begin(&wait, &w.a, HF_FOREVER);
    assert_int_equal(wait_end(&wait), HF_EKIND);
    expect_text(&wait, "in use as a mutex");
    witness_hears(&w.a, "ended ");
    assert_int_equal(wait_for(&w.a, HF_FOREVER), HF_EKIND); /* and stays so */
    assert_int_equal(witness_resigns(&w.a), HF_OK);
    assert_int_equal(wait_for(&w.a, HF_FOREVER), HF_ESTATE);
    assert_int_equal(front_give(w.b.front, grant), HF_OK);
    hf_lock_free(mutex);
    world_close(&w);
}

static void closing_ends_it(enum way way)
{
    struct world w;
    struct wait wait;

    world_open(&w, way);
    a_leads_b_waits(&w);
    wait_begin_before(&wait, &w.b, HF_FOREVER);
    front_close(w.b.front);
    if (way == WAY_BLOCKING)
        pthread_join(wait.thread, NULL);
    assert_int_equal(atomic_load(&wait.ended), 1);
    assert_int_equal(wait.error.status, HF_ECLOSED);
    hf_op_free(wait.op);
    assert_int_equal(
        hf_election_wait_start(w.b.election, 0, (struct hf_done){0}, NULL),
        HF_ECLOSED);
    hf_election_free(w.b.election);
    witness_free(&w.a);
    front_close(w.a.front);
    place_remove(&w.place);
}

static void a_wait_can_be_cancelled(enum way way)
{
    struct world w;
    struct wait wait;

    if (way == WAY_BLOCKING)
        return; /* nobody else has a handle */
    world_open(&w, way);
    a_leads_b_waits(&w);
    wait_begin_before(&wait, &w.b, HF_FOREVER);
    hf_op_cancel(wait.op);
    hf_op_cancel(wait.op);
    assert_false(has_ended(&wait) && way == WAY_DISPATCH);
    assert_int_equal(wait_end(&wait), HF_ECANCELLED);
    assert_int_equal(witness_resigns(&w.a), HF_OK);
    assert_int_equal(wait_for(&w.b, HF_FOREVER), HF_OK);
    world_close(&w);
}

static void freeing_ends_it(enum way way)
{
    struct world w;
    struct wait wait;

    if (way == WAY_BLOCKING)
        return; /* a handle must not be freed while another call uses it */
    world_open(&w, way);
    a_leads_b_waits(&w);
    wait_begin_before(&wait, &w.b, HF_FOREVER);
    witness_free(&w.b);
    assert_int_equal(wait_end(&wait), HF_ECANCELLED);
    expect_text(&wait, "freed");
    witness_open(&w.b, &w.fronts[1], NAME, NULL);
    world_close(&w);
}

/* -------------------------------------------------- an engine that obeys -- */

struct script {
    struct front front;
    struct witness a;
    int pipe[2];
};

static void script_open(struct script *s, enum way way)
{
    char url[64];

    memset(s, 0, sizeof(*s));
    assert_int_equal(pipe2(s->pipe, O_CLOEXEC | O_NONBLOCK), 0);
    snprintf(url, sizeof(url), "scripted:?fd=%d&timeout=0", s->pipe[0]);
    front_open(&s->front, way, url, no_listener);
    witness_open(&s->a, &s->front, NAME, NULL);
}

static void script_close(struct script *s)
{
    witness_free(&s->a);
    front_close(&s->front);
    close(s->pipe[0]);
    close(s->pipe[1]);
}

static void say(struct script *s, char command)
{
    assert_int_equal(write(s->pipe[1], &command, 1), 1);
}

static void it_rides_out_a_lost_session(enum way way)
{
    struct script s;
    struct wait wait;

    script_open(&s, way);
    witness_runs(&s.a);
    wait_begin_before(&wait, &s.a, HF_FOREVER);
    say(&s, SCRIPTED_MUTE);
    say(&s, SCRIPTED_CONNECT);
    say(&s, SCRIPTED_LOSE);
    say(&s, SCRIPTED_SPEAK);
    say(&s, SCRIPTED_CONNECT);
    assert_int_equal(wait_end(&wait), HF_OK);
    /* Who is deposed before the callback is told of neither. */
    witness_hears(&s.a, "elected ");
    say(&s, SCRIPTED_LOSE);
    witness_hears(&s.a, "elected deposed ");
    assert_int_equal(wait_for(&s.a, 20), HF_ETIMEDOUT);
    say(&s, SCRIPTED_CONNECT);
    assert_int_equal(wait_for(&s.a, HF_FOREVER), HF_OK);
    script_close(&s);
}

static void without_a_connection_it_says_so(enum way way)
{
    struct script s;
    struct wait wait;

    script_open(&s, way);
    witness_runs(&s.a);
    wait_begin(&wait, &s.a, 20);
    assert_int_equal(wait_end(&wait), HF_EUNREACHABLE);
    expect_text(&wait, "no connection to ");
    script_close(&s);
}

#define STORIES(X)                                                             \
    X(it_ends_when_the_candidate_leads)                                        \
    X(it_ends_in_time)                                                         \
    X(a_try_waits_for_nobody_else)                                             \
    X(who_does_not_stand_is_told_so)                                           \
    X(resigning_ends_it)                                                       \
    X(the_end_of_the_candidacy_is_its_own)                                     \
    X(closing_ends_it)                                                         \
    X(a_wait_can_be_cancelled)                                                 \
    X(freeing_ends_it)                                                         \
    X(it_rides_out_a_lost_session)                                             \
    X(without_a_connection_it_says_so)

#include "in_each_way.h"

/* ---------------------------------------------------------------- misuse -- */

static int in_child(void *arg)
{
    struct hf_election *election = arg;

    KIT_CHECK(hf_election_wait(election, 0) == HF_EFORKED);
    KIT_CHECK(hf_election_wait_start(election, 0, (struct hf_done){0}, NULL) ==
              HF_EFORKED);
    return 0;
}

static void not_in_a_child(void **state)
{
    struct world w;

    (void)state;
    world_open(&w, WAY_THREAD);
    witness_runs(&w.a);
    kit_in_child(in_child, w.a.election);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORIES(STORY_TESTS) /* each in four ways */
        cmocka_unit_test(not_in_a_child),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
