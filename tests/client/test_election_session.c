/* SPDX-License-Identifier: Apache-2.0 */
/* Elections on the scripted engine: which callbacks a candidate gets when
 * its session connects, is suspended and is lost, in each way to use a
 * client. */
#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "election_candidate.h"
#include "in_each_way.h"
#include "process.h"
#include "scripted_engine.h"

#define TIMEOUT_MS 400

struct election_session_fixture {
    struct client_fixture fixture;
    struct election_candidate a;
    int pipe[2];
    pthread_mutex_t order_lock;
    char order[512]; /* states and callbacks of a, in order */
};

static void on_state(void *arg, enum hf_state state)
{
    struct election_session_fixture *f = arg;

    pthread_mutex_lock(&f->order_lock);
    if (state == HF_STATE_LOST)
        (void)snprintf(f->order, sizeof(f->order), "%s", f->a.received);
    pthread_mutex_unlock(&f->order_lock);
}

static void fixture_open_with(struct election_session_fixture *f, enum way way,
                              int timeout_ms, enum hf_loss_at loss_at)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    char url[64];

    memset(f, 0, sizeof(*f));
    pthread_mutex_init(&f->order_lock, NULL);
    assert_int_equal(pipe2(f->pipe, O_CLOEXEC | O_NONBLOCK), 0);
    snprintf(url, sizeof(url), "scripted:?fd=%d&timeout=%d", f->pipe[0],
             timeout_ms);
    opts.on_state = (struct hf_on_state){on_state, f, NULL};
    opts.loss_at = loss_at;
    client_open_with(&f->fixture, way, url, &opts);
    candidate_open(&f->a, &f->fixture, "scheduler", NULL);
}

static void fixture_open(struct election_session_fixture *f, enum way way,
                         int timeout_ms)
{
    fixture_open_with(f, way, timeout_ms, HF_LOSS_AT_LOST);
}

static void fixture_close(struct election_session_fixture *f)
{
    candidate_free(&f->a);
    client_close(&f->fixture);
    close(f->pipe[0]);
    close(f->pipe[1]);
    /* After the last callback, in memory order too. */
    pthread_mutex_lock(&f->order_lock);
    pthread_mutex_unlock(&f->order_lock);
    pthread_mutex_destroy(&f->order_lock);
}

/* A fixture ${f} until the end of the test. */
#define FIXTURE(f, ...)                                                        \
    CLOSED_BY(fixture_close) struct election_session_fixture f;                \
    fixture_open(&f, __VA_ARGS__)

static void send_command(struct election_session_fixture *f, char command)
{
    assert_int_equal(write(f->pipe[1], &command, 1), 1);
}

static bool command_is_read(void *arg)
{
    struct election_session_fixture *f = arg;
    int unread;

    assert_int_equal(ioctl(f->pipe[0], FIONREAD, &unread), 0);
    return unread == 0;
}

static void send_command_first(struct election_session_fixture *f, char command)
{
    send_command(f, command);
    client_wait_until(&f->fixture, command_is_read, f);
}

static bool leads(void *arg)
{
    return hf_election_is_leader(arg);
}

static bool leads_not(void *arg)
{
    return !hf_election_is_leader(arg);
}

/* What was read from the pipe may not be processed yet, and the two change one
 * after the other. */
static bool is_deposed(void *arg)
{
    return leads_not(arg) && hf_election_token(arg) == 0;
}

static void win(struct election_session_fixture *f)
{
    send_command(f, SCRIPTED_CONNECT);
    candidate_campaign(&f->a);
    candidate_expect(&f->a, "elected ");
    assert_true(leads(f->a.election));
}

static void expect_empty_queue(struct election_session_fixture *f)
{
    struct hf_tickets *tickets = candidate_list(&f->a, HF_TICKETS_ALL);

    assert_int_equal(hf_tickets_count(tickets), 0);
    hf_tickets_free(tickets);
}

/* ---------------------------------------------------------------------- */

/* The callback comes before the state, and the candidate campaigns again by
 * itself. */
TEST_IN_EACH_WAY(fn19_a_leader_without_session_is_deposed)
{
    uint64_t token;
    FIXTURE(f, way, 0);
    win(&f);
    token = f.a.token;
    send_command_first(&f, SCRIPTED_SUSPEND);
    assert_true(leads(f.a.election));
    send_command_first(&f, SCRIPTED_LOSE);
    client_wait_until(&f.fixture, is_deposed, f.a.election);
    candidate_expect(&f.a, "elected deposed ");
    send_command(&f, SCRIPTED_CONNECT);
    candidate_expect(&f.a, "elected deposed elected ");
    assert_true(hf_election_token(f.a.election) > token);
    pthread_mutex_lock(&f.order_lock);
    assert_string_equal(f.order, "elected deposed ");
    pthread_mutex_unlock(&f.order_lock);
}

/* As Curator's LeaderLatch does with its standard policy. */
TEST_IN_EACH_WAY(a_leader_without_a_link_is_deposed_where_that_is_wanted)
{
    struct election_session_fixture f;
    uint64_t token;

    fixture_open_with(&f, way, 0, HF_LOSS_AT_SUSPENDED);
    win(&f);
    token = f.a.token;
    send_command_first(&f, SCRIPTED_SUSPEND);
    client_wait_until(&f.fixture, is_deposed, f.a.election);
    assert_true(hf_election_safe_until_ms(f.a.election) == 0);
    candidate_expect(&f.a, "elected deposed ");
    send_command(&f, SCRIPTED_CONNECT);
    candidate_expect(&f.a, "elected deposed elected ");
    assert_true(hf_election_token(f.a.election) > token);
    fixture_close(&f);
}

struct expected_safety {
    const struct hf_election *election;
    uint64_t more_than_ms;
};

static bool is_safe_for_longer(void *arg)
{
    struct expected_safety *expected_safety = arg;

    return hf_election_safe_until_ms(expected_safety->election) >
           expected_safety->more_than_ms;
}

TEST_IN_EACH_WAY(safe_until_moves_and_ends)
{
    struct expected_safety expected_safety;
    FIXTURE(f, way, TIMEOUT_MS);
    win(&f);
    expected_safety.election = f.a.election;
    for (int i = 0; i < 3; i++) {
        expected_safety.more_than_ms = hf_election_safe_until_ms(f.a.election);
        assert_true(expected_safety.more_than_ms > boottime_ms());
        client_wait_until(&f.fixture, is_safe_for_longer, &expected_safety);
    }
    send_command(&f, SCRIPTED_PROOFS_FAIL);
    client_wait_until(&f.fixture, leads_not, f.a.election);
    candidate_expect(&f.a, "elected deposed ");
    assert_true(hf_election_safe_until_ms(f.a.election) == 0);
}

TEST_IN_EACH_WAY(a_candidate_survives_lost_sessions)
{
    struct hf_election_opts opts = HF_ELECTION_OPTS_INIT;
    FIXTURE(f, way, TIMEOUT_MS);
    candidate_free(&f.a);
    opts.kind = HF_KIND_MUTEX; /* as the other client's ticket */
    candidate_open(&f.a, &f.fixture, "scheduler", &opts);
    candidate_campaign(&f.a); /* before there is a session */
    send_command_first(&f, SCRIPTED_BLOCK);
    send_command_first(&f, SCRIPTED_CONNECT);
    send_command_first(&f, SCRIPTED_SUSPEND);
    send_command_first(&f, SCRIPTED_CONNECT);
    send_command_first(&f, SCRIPTED_LOSE);
    send_command_first(&f, SCRIPTED_CONNECT);
    candidate_expect(&f.a, "elected ");
}

/* Curator's LeaderLatch leaves its node for ever if it is closed while its
 * create is under way. */
TEST_IN_EACH_WAY(fn35_resigning_while_the_ticket_is_made_leaves_none)
{
    FIXTURE(f, way, 0);
    send_command_first(&f, SCRIPTED_CONNECT);
    send_command_first(&f, SCRIPTED_MUTE);
    candidate_campaign(&f.a);
    candidate_begin_resign(&f.a);
    assert_int_equal(hf_election_campaign_start(f.a.election), HF_ESTATE);
    send_command_first(&f, SCRIPTED_MUTE); /* the loop has run once */
    assert_false(candidate_has_resigned(&f.a));
    send_command(&f, SCRIPTED_ANSWER);
    client_wait_until(&f.fixture, candidate_has_resigned, &f.a);
    assert_int_equal(f.a.status, HF_OK);
    expect_empty_queue(&f);
    assert_string_equal(f.a.received, "");
    candidate_campaign(&f.a);
    candidate_expect(&f.a, "elected ");
}

/* The same, and the answer never comes. */
TEST_IN_EACH_WAY(fn35_nor_when_its_create_gets_no_answer)
{
    FIXTURE(f, way, 0);
    send_command_first(&f, SCRIPTED_CONNECT);
    send_command_first(&f, SCRIPTED_MUTE);
    candidate_campaign(&f.a);
    candidate_begin_resign(&f.a);
    send_command_first(&f, SCRIPTED_SUSPEND);
    assert_false(candidate_has_resigned(&f.a));
    send_command_first(&f, SCRIPTED_LOSE);
    client_wait_until(&f.fixture, candidate_has_resigned, &f.a);
    assert_int_equal(f.a.status, HF_OK);
    assert_string_equal(f.a.received, "");
}

TEST_IN_EACH_WAY(a_resignation_is_not_a_deposal)
{
    FIXTURE(f, way, 0);
    win(&f);
    send_command_first(&f, SCRIPTED_SUSPEND);
    candidate_begin_resign(&f.a);
    assert_false(leads(f.a.election));
    send_command_first(&f, SCRIPTED_LOSE);
    client_wait_until(&f.fixture, candidate_has_resigned, &f.a);
    assert_int_equal(f.a.status, HF_OK);
    assert_string_equal(f.a.received, "elected ");
}

TEST_IN_EACH_WAY(closing_without_a_connection_ends_it)
{
    struct election_session_fixture f;

    fixture_open(&f, way, TIMEOUT_MS);
    candidate_campaign(&f.a);
    client_close(&f.fixture);
    assert_string_equal(f.a.received, "ended ");
    assert_int_equal(f.a.error.status, HF_ECLOSED);
    hf_election_free(f.a.election);
    close(f.pipe[0]);
    close(f.pipe[1]);
}

/* Although the listener has not run for the states before. */
TEST(a_lost_session_is_notified_after_its_losses)
{
    FIXTURE(f, WAY_DISPATCH, 0);
    win(&f);
    send_command(&f, SCRIPTED_SUSPEND);
    send_command(&f, SCRIPTED_LOSE);
    wait_until(command_is_read, &f);
    wait_until(leads_not, f.a.election);
    candidate_expect(&f.a, "elected deposed ");
    assert_int_equal(hf_client_dispatch(f.fixture.client), HF_OK);
    assert_string_equal(f.order, "elected deposed ");
}

struct reader {
    pthread_t thread;
    const struct hf_election *election;
    atomic_bool stop;
    _Atomic uint64_t furthest_ms; /* the latest time that it read */
};

static void *read_on(void *arg)
{
    struct reader *reader = arg;

    while (!atomic_load(&reader->stop)) {
        uint64_t until_ms = hf_election_safe_until_ms(reader->election);
        uint64_t now_ms = boottime_ms();

        if (until_ms > now_ms &&
            until_ms - now_ms > atomic_load(&reader->furthest_ms))
            atomic_store(&reader->furthest_ms, until_ms - now_ms);
    }
    return NULL;
}

static bool has_read(void *arg)
{
    struct reader *reader = arg;

    return atomic_load(&reader->furthest_ms) > 0;
}

/* Sessions connect and end while threads read. */
TEST(a_thread_reads_safe_until_all_the_while)
{
    struct reader reader = {.election = NULL};
    FIXTURE(f, WAY_THREAD, TIMEOUT_MS);
    reader.election = f.a.election;
    assert_int_equal(pthread_create(&reader.thread, NULL, read_on, &reader), 0);
    win(&f);
    for (int i = 0; i < 10; i++) {
        send_command_first(&f, SCRIPTED_LOSE);
        client_wait_until(&f.fixture, leads_not, f.a.election);
        assert_true(hf_election_safe_until_ms(f.a.election) == 0);
        send_command(&f, SCRIPTED_CONNECT);
        client_wait_until(&f.fixture, leads, f.a.election);
    }
    /* On a busy machine it may not have run so far. */
    client_wait_until(&f.fixture, has_read, &reader);
    atomic_store(&reader.stop, true);
    assert_int_equal(pthread_join(reader.thread, NULL), 0);
    assert_in_range(atomic_load(&reader.furthest_ms), 1, TIMEOUT_MS);
}

/* --------------------------------------------------- what nobody notices -- */

/* Nothing runs the borrowed loop, so the clock alone ends the leadership. */
TEST(a_leader_whose_time_is_over_leads_not)
{
    const struct timespec moment = {.tv_nsec = 5000000};
    uint64_t until_ms;
    FIXTURE(f, WAY_UV, TIMEOUT_MS);
    win(&f);
    until_ms = hf_election_safe_until_ms(f.a.election);
    assert_in_range(until_ms, 1, boottime_ms() + TIMEOUT_MS);
    while (boottime_ms() <= until_ms)
        nanosleep(&moment, NULL);
    assert_true(hf_election_safe_until_ms(f.a.election) == until_ms);
    assert_false(hf_election_is_leader(f.a.election));
}

/* ----------------------------------------------------- ends of resigning -- */

struct resigner {
    struct hf_election *election;
    hf_status status;
    sem_t returned;
};

static void *resign(void *arg)
{
    struct resigner *resigner = arg;

    resigner->status = hf_election_resign(resigner->election);
    sem_post(&resigner->returned);
    return NULL;
}

static bool returns_within_ms(struct resigner *resigner, long ms)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += ms % 1000 * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return sem_timedwait(&resigner->returned, &until) == 0;
}

static bool callback_has_begun(void *arg)
{
    return atomic_load(&((struct election_candidate *)arg)->started) > 0;
}

/* The engine has removed the ticket, and the callback still runs. */
TEST(a_resignation_waits_for_a_callback)
{
    struct resigner resigner = {.status = HF_OK};
    pthread_t thread;
    FIXTURE(f, WAY_THREAD, 0);
    resigner.election = f.a.election;
    assert_int_equal(sem_init(&resigner.returned, 0, 0), 0);
    pthread_mutex_lock(&f.a.callback_lock);
    send_command(&f, SCRIPTED_CONNECT);
    candidate_campaign(&f.a);
    client_wait_until(&f.fixture, callback_has_begun, &f.a);
    assert_int_equal(pthread_create(&thread, NULL, resign, &resigner), 0);
    client_wait_until(&f.fixture, leads_not, f.a.election);
    assert_false(returns_within_ms(&resigner, 300));
    pthread_mutex_unlock(&f.a.callback_lock);
    assert_true(returns_within_ms(&resigner, 20000));
    pthread_join(thread, NULL);
    assert_int_equal(resigner.status, HF_OK);
    sem_destroy(&resigner.returned);
}

struct quitter {
    hf_status begun;
    _Atomic int callbacks, ended;
    int dispatches;
};

static void on_quit(void *arg, const struct hf_result *result)
{
    struct quitter *quitter = arg;

    assert_int_equal(result->status, HF_OK);
    atomic_fetch_add(&quitter->ended, 1);
}

static void on_elected_quit(void *arg, struct hf_election *election,
                            uint64_t token)
{
    struct quitter *quitter = arg;
    struct hf_done done = {on_quit, quitter, NULL};

    (void)token;
    quitter->begun = hf_election_resign_start(election, done);
    atomic_fetch_add(&quitter->callbacks, 1);
}

static bool has_begun_to_quit(void *arg)
{
    return atomic_load(&((struct quitter *)arg)->callbacks) > 0;
}

static bool was_dispatched_often(void *arg)
{
    return ++((struct quitter *)arg)->dispatches > 50;
}

static bool has_quit(void *arg)
{
    return atomic_load(&((struct quitter *)arg)->ended) > 0;
}

/* The callback that resigns has returned, and the engine does not answer. */
TEST(a_resignation_waits_for_the_ticket)
{
    struct hf_election_opts opts = HF_ELECTION_OPTS_INIT;
    struct quitter quitter = {.begun = HF_EINVAL};
    struct hf_election *election;
    FIXTURE(f, WAY_DISPATCH, 0);
    opts.on_elected = (struct hf_on_election){on_elected_quit, &quitter, NULL};
    assert_int_equal(
        hf_election_open(f.fixture.client, "quitter", &opts, &election), HF_OK);
    send_command(&f, SCRIPTED_CONNECT);
    assert_int_equal(hf_election_campaign_start(election), HF_OK);
    /* Nobody dispatches, so the callback waits. */
    while (!hf_election_is_leader(election))
        sched_yield();
    send_command(&f, SCRIPTED_MUTE);
    while (!command_is_read(&f))
        sched_yield();
    client_wait_until(&f.fixture, has_begun_to_quit, &quitter);
    assert_int_equal(quitter.begun, HF_OK);
    client_wait_until(&f.fixture, was_dispatched_often, &quitter);
    assert_int_equal(atomic_load(&quitter.ended), 0);
    send_command(&f, SCRIPTED_ANSWER);
    client_wait_until(&f.fixture, has_quit, &quitter);
    hf_election_free(election);
}
