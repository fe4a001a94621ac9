/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting until a candidate leads: how the wait ends, in every way to use a
 * client, on the file engine and on the scripted one. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "election_candidate.h"
#include "in_each_way.h"
#include "process.h"
#include "scripted_engine.h"

#define NAME "scheduler"

struct election_wait_fixture {
    struct client_directory directory;
    struct client_fixture hosts[2];
    struct election_candidate a;
    struct election_candidate b;
};

static void fixture_open(struct election_wait_fixture *f, enum way way)
{
    hosts_open(&f->directory, &f->hosts[0], &f->hosts[1], way);
    candidate_open(&f->a, &f->hosts[0], NAME, NULL);
    candidate_open(&f->b, &f->hosts[1], NAME, NULL);
}

static void fixture_close(struct election_wait_fixture *f)
{
    candidate_free(&f->a);
    candidate_free(&f->b);
    hosts_close(&f->directory, &f->hosts[0], &f->hosts[1]);
}

/* A fixture ${f} until the end of the test. */
#define FIXTURE(f, way)                                                        \
    CLOSED_BY(fixture_close) struct election_wait_fixture f;                   \
    fixture_open(&f, way)

/* a leads, and b waits behind it. */
static void a_leads_b_waits(struct election_wait_fixture *f)
{
    candidate_campaign(&f->a);
    candidate_expect(&f->a, "elected ");
    candidate_campaign(&f->b);
    client_await_tickets(f->b.fixture, &f->directory, 2);
}

/* -------------------------------------------------------------- one wait -- */

/* By a call that waits, on a thread of its own, or by one that starts. */
struct leader_wait {
    struct election_candidate *candidate;
    uint64_t wait_ms;
    struct hf_op *op;
    pthread_t thread;
    _Atomic int started;
    _Atomic int ended;
    _Atomic int dropped;
    struct hf_error error; /* in WAY_BLOCKING with the text of the election's
                              last failure, if that has this status */
};

static void *wait_main(void *arg)
{
    struct leader_wait *wait = arg;
    hf_status status;

    atomic_fetch_add(&wait->started, 1);
    status = hf_election_wait(wait->candidate->election, wait->wait_ms);
    wait->error.status = HF_OK;
    if (status != HF_OK)
        wait->error = *hf_last_error();
    atomic_fetch_add(&wait->ended, 1);
    return NULL;
}

static void on_done(void *arg, const struct hf_result *result)
{
    struct leader_wait *wait = arg;

    assert_null(result->grant);
    assert_null(result->tickets);
    wait->error.status = result->status;
    snprintf(wait->error.text, sizeof(wait->error.text), "%s", result->text);
    assert_int_equal(wait->error.text[0] == '\0', result->status == HF_OK);
    atomic_fetch_add(&wait->ended, 1);
}

static void on_drop(void *arg)
{
    atomic_fetch_add(&((struct leader_wait *)arg)->dropped, 1);
}

static bool has_ended(void *arg)
{
    struct leader_wait *wait = arg;

    return atomic_load(&wait->ended) > 0 &&
           (wait->candidate->fixture->way == WAY_BLOCKING ||
            atomic_load(&wait->dropped) > 0);
}

/* HF_OK, or the status of a starting call that was refused: then there is no
 * other end. */
static void wait_begin(struct leader_wait *wait,
                       struct election_candidate *candidate, uint64_t wait_ms)
{
    const struct hf_done done = {on_done, wait, on_drop};
    hf_status status;

    memset(wait, 0, sizeof(*wait));
    wait->candidate = candidate;
    wait->wait_ms = wait_ms;
    if (candidate->fixture->way == WAY_BLOCKING) {
        wait->thread = start_thread(wait_main, wait);
        return;
    }
    status =
        hf_election_wait_start(candidate->election, wait_ms, done, &wait->op);
    if (status == HF_OK)
        return;
    assert_null(wait->op);
    assert_int_equal(atomic_load(&wait->dropped), 1);
    wait->error = *hf_last_error();
    assert_int_equal(wait->error.status, status);
    atomic_fetch_add(&wait->ended, 1);
}

static hf_status wait_end(struct leader_wait *wait)
{
    client_wait_until(wait->candidate->fixture, has_ended, wait);
    if (wait->candidate->fixture->way == WAY_BLOCKING)
        pthread_join(wait->thread, NULL);
    else
        assert_int_equal(atomic_load(&wait->dropped), 1);
    assert_int_equal(atomic_load(&wait->ended), 1);
    hf_op_free(wait->op);
    wait->op = NULL;
    return wait->error.status;
}

static hf_status wait_for(struct election_candidate *candidate,
                          uint64_t wait_ms)
{
    struct leader_wait wait;

    wait_begin(&wait, candidate, wait_ms);
    return wait_end(&wait);
}

static bool has_started(void *arg)
{
    struct leader_wait *wait = arg;

    return wait->candidate->fixture->way != WAY_BLOCKING ||
           atomic_load(&wait->started) > 0;
}

/* A wait under way: a call that waits has at least started. */
static void wait_begin_before(struct leader_wait *wait,
                              struct election_candidate *candidate,
                              uint64_t wait_ms)
{
    wait_begin(wait, candidate, wait_ms);
    wait_until(has_started, wait);
    assert_false(has_ended(wait));
}

static void expect_text(const struct leader_wait *wait, const char *part)
{
    if (strstr(wait->error.text, part) == NULL)
        print_error("\"%s\", expected \"%s\"\n", wait->error.text, part);
    assert_non_null(strstr(wait->error.text, part));
}

/* ---------------------------------------------------------------------- */

TEST_IN_EACH_WAY(it_ends_when_the_candidate_leads)
{
    struct leader_wait wait;
    FIXTURE(f, way);
    a_leads_b_waits(&f);
    wait_begin_before(&wait, &f.b, HF_FOREVER);
    assert_int_equal(candidate_resign(&f.a), HF_OK);
    assert_int_equal(wait_end(&wait), HF_OK);
    assert_true(hf_election_is_leader(f.b.election));
    assert_int_equal(wait_for(&f.b, 0), HF_OK);
    assert_int_equal(wait_for(&f.b, HF_FOREVER), HF_OK);
}

TEST_IN_EACH_WAY(it_ends_in_time)
{
    struct leader_wait wait;
    uint64_t began_ms;
    FIXTURE(f, way);
    a_leads_b_waits(&f);
    began_ms = boottime_ms();
    wait_begin(&wait, &f.b, 30);
    assert_int_equal(wait_end(&wait), HF_ETIMEDOUT);
    assert_true(boottime_ms() - began_ms >= 30);
    expect_text(&wait, "ahead: 1");
    assert_int_equal(client_directory_count_tickets(&f.directory),
                     2); /* it is still a candidate */
    assert_int_equal(candidate_resign(&f.a), HF_OK);
    assert_int_equal(wait_for(&f.b, HF_FOREVER), HF_OK);
}

TEST_IN_EACH_WAY(a_try_waits_for_nobody_else)
{
    struct leader_wait wait;
    FIXTURE(f, way);
    candidate_campaign(&f.a);
    assert_int_equal(wait_for(&f.a, 0), HF_OK); /* it does wait for an answer */
    candidate_campaign(&f.b);
    wait_begin(&wait, &f.b, 0);
    assert_int_equal(wait_end(&wait), HF_EBUSY);
    expect_text(&wait, "held by \"host=");
    assert_int_equal(wait_for(&f.b, 0), HF_EBUSY);
    assert_int_equal(client_directory_count_tickets(&f.directory), 2);
}

TEST_IN_EACH_WAY(a_wait_without_a_campaign_is_refused)
{
    struct leader_wait wait;
    FIXTURE(f, way);
    wait_begin(&wait, &f.a, HF_FOREVER);
    assert_int_equal(wait_end(&wait), HF_ESTATE);
    expect_text(&wait, "it is not a candidate");
    candidate_campaign(&f.a);
    assert_int_equal(wait_for(&f.a, HF_FOREVER), HF_OK);
    assert_int_equal(candidate_resign(&f.a), HF_OK);
    assert_int_equal(wait_for(&f.a, HF_FOREVER), HF_ESTATE);
}

TEST_IN_EACH_WAY(resigning_ends_it)
{
    struct leader_wait waits[2];
    FIXTURE(f, way);
    a_leads_b_waits(&f);
    wait_begin_before(&waits[0], &f.b, HF_FOREVER);
    wait_begin_before(&waits[1], &f.b, 10000);
    /* A call that waits may not have got that far: then it is no candidate. */
    assert_int_equal(candidate_resign(&f.b), HF_OK);
    for (int i = 0; i < 2; i++) {
        hf_status status = wait_end(&waits[i]);

        if (way == WAY_BLOCKING && status == HF_ESTATE)
            continue;
        assert_int_equal(status, HF_ECANCELLED);
        if (way != WAY_BLOCKING)
            expect_text(&waits[i], "it resigned");
    }
}

TEST_IN_EACH_WAY(the_end_of_the_candidacy_is_its_own)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    struct leader_wait wait;
    struct hf_lock *mutex;
    struct hf_grant *grant;
    FIXTURE(f, way);
    assert_int_equal(hf_lock_open(f.b.fixture->client, NAME, &opts, &mutex),
                     HF_OK);
    grant = client_take(f.b.fixture, mutex);
    candidate_campaign(&f.a);
    wait_begin(&wait, &f.a, HF_FOREVER);
    assert_int_equal(wait_end(&wait), HF_EKIND);
    expect_text(&wait, "in use as a mutex");
    candidate_expect(&f.a, "ended ");
    assert_int_equal(wait_for(&f.a, HF_FOREVER),
                     HF_EKIND); /* and it stays so */
    assert_int_equal(candidate_resign(&f.a), HF_OK);
    assert_int_equal(wait_for(&f.a, HF_FOREVER), HF_ESTATE);
    assert_int_equal(client_give(f.b.fixture, grant), HF_OK);
    hf_lock_free(mutex);
}

TEST_IN_EACH_WAY(closing_ends_it)
{
    struct election_wait_fixture f;
    struct leader_wait wait;

    fixture_open(&f, way);
    a_leads_b_waits(&f);
    wait_begin_before(&wait, &f.b, HF_FOREVER);
    client_close(f.b.fixture);
    if (way == WAY_BLOCKING)
        pthread_join(wait.thread, NULL);
    assert_int_equal(atomic_load(&wait.ended), 1);
    assert_int_equal(wait.error.status, HF_ECLOSED);
    hf_op_free(wait.op);
    assert_int_equal(
        hf_election_wait_start(f.b.election, 0, (struct hf_done){0}, NULL),
        HF_ECLOSED);
    hf_election_free(f.b.election);
    candidate_free(&f.a);
    client_close(f.a.fixture);
    client_directory_remove(&f.directory);
}

TEST_WITH_CALLBACKS(a_wait_can_be_cancelled)
{
    struct leader_wait wait;
    FIXTURE(f, way);
    a_leads_b_waits(&f);
    wait_begin_before(&wait, &f.b, HF_FOREVER);
    hf_op_cancel(wait.op);
    hf_op_cancel(wait.op);
    assert_false(has_ended(&wait) && way == WAY_DISPATCH);
    assert_int_equal(wait_end(&wait), HF_ECANCELLED);
    assert_int_equal(candidate_resign(&f.a), HF_OK);
    assert_int_equal(wait_for(&f.b, HF_FOREVER), HF_OK);
}

TEST_WITH_CALLBACKS(freeing_ends_it)
{
    struct leader_wait wait;
    FIXTURE(f, way);
    a_leads_b_waits(&f);
    wait_begin_before(&wait, &f.b, HF_FOREVER);
    candidate_free(&f.b);
    assert_int_equal(wait_end(&wait), HF_ECANCELLED);
    expect_text(&wait, "freed");
    candidate_open(&f.b, &f.hosts[1], NAME, NULL);
}

/* ------------------------------------------------------- scripted engine -- */

struct scripted_fixture {
    struct client_fixture fixture;
    struct election_candidate a;
    int pipe[2];
};

static void scripted_open(struct scripted_fixture *s, enum way way)
{
    char url[64];

    memset(s, 0, sizeof(*s));
    assert_int_equal(pipe2(s->pipe, O_CLOEXEC | O_NONBLOCK), 0);
    snprintf(url, sizeof(url), "scripted:?fd=%d&timeout=0", s->pipe[0]);
    client_open(&s->fixture, way, url, no_listener);
    candidate_open(&s->a, &s->fixture, NAME, NULL);
}

static void scripted_close(struct scripted_fixture *s)
{
    candidate_free(&s->a);
    client_close(&s->fixture);
    close(s->pipe[0]);
    close(s->pipe[1]);
}

static void send_command(struct scripted_fixture *s, char command)
{
    assert_int_equal(write(s->pipe[1], &command, 1), 1);
}

TEST_IN_EACH_WAY(it_survives_a_lost_session)
{
    struct scripted_fixture s;
    struct leader_wait wait;

    scripted_open(&s, way);
    candidate_campaign(&s.a);
    wait_begin_before(&wait, &s.a, HF_FOREVER);
    send_command(&s, SCRIPTED_MUTE);
    send_command(&s, SCRIPTED_CONNECT);
    send_command(&s, SCRIPTED_LOSE);
    send_command(&s, SCRIPTED_ANSWER);
    send_command(&s, SCRIPTED_CONNECT);
    assert_int_equal(wait_end(&wait), HF_OK);
    /* If it is deposed before the callback runs, neither is notified. */
    candidate_expect(&s.a, "elected ");
    send_command(&s, SCRIPTED_LOSE);
    candidate_expect(&s.a, "elected deposed ");
    assert_int_equal(wait_for(&s.a, 20), HF_ETIMEDOUT);
    send_command(&s, SCRIPTED_CONNECT);
    assert_int_equal(wait_for(&s.a, HF_FOREVER), HF_OK);
    scripted_close(&s);
}

TEST_IN_EACH_WAY(without_a_connection_it_says_so)
{
    struct scripted_fixture s;
    struct leader_wait wait;

    scripted_open(&s, way);
    candidate_campaign(&s.a);
    wait_begin(&wait, &s.a, 20);
    assert_int_equal(wait_end(&wait), HF_EUNREACHABLE);
    expect_text(&wait, "no connection to ");
    scripted_close(&s);
}

/* ---------------------------------------------------------------- misuse -- */

static int in_child(void *arg)
{
    struct hf_election *election = arg;

    CHILD_CHECK(hf_election_wait(election, 0) == HF_EFORKED);
    CHILD_CHECK(hf_election_wait_start(election, 0, (struct hf_done){0},
                                       NULL) == HF_EFORKED);
    return 0;
}

TEST(not_in_a_child)
{
    FIXTURE(f, WAY_THREAD);
    candidate_campaign(&f.a);
    run_in_child(in_child, f.a.election);
}
