/* SPDX-License-Identifier: Apache-2.0 */
/* Elections on the file engine, in every way to use a client
 * (src/client/election.c). */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "client/client.h"
#include "client/election.h"
#include "cmocka/runner.h"
#include "election_candidate.h"
#include "in_each_way.h"
#include "process.h"

#define NAME "scheduler"

struct election_fixture {
    struct client_directory directory;
    struct client_fixture hosts[2];
    struct election_candidate a;
    struct election_candidate b;
};

static void fixture_open(struct election_fixture *f, enum way way,
                         const struct hf_election_opts *opts)
{
    hosts_open(&f->directory, &f->hosts[0], &f->hosts[1], way);
    candidate_open(&f->a, &f->hosts[0], NAME, opts);
    candidate_open(&f->b, &f->hosts[1], NAME, opts);
}

static void fixture_close(struct election_fixture *f)
{
    candidate_free(&f->a);
    candidate_free(&f->b);
    hosts_close(&f->directory, &f->hosts[0], &f->hosts[1]);
}

/* A fixture ${f} until the end of the test. */
#define FIXTURE(f, ...)                                                        \
    CLOSED_BY(fixture_close) struct election_fixture f;                        \
    fixture_open(&f, __VA_ARGS__)

/* a leads, and b waits behind it. */
static void a_leads_b_waits(struct election_fixture *f)
{
    candidate_campaign(&f->a);
    candidate_expect(&f->a, "elected ");
    candidate_campaign(&f->b);
    client_await_tickets(f->b.fixture, &f->directory, 2);
}

/* ---------------------------------------------------------------------- */

TEST_IN_EACH_WAY(one_leads_and_then_the_next)
{
    uint64_t token;
    FIXTURE(f, way, NULL);
    assert_false(hf_election_is_leader(f.a.election));
    assert_true(hf_election_token(f.a.election) == 0);
    a_leads_b_waits(&f);
    assert_true(hf_election_is_leader(f.a.election));
    assert_true(hf_election_token(f.a.election) == f.a.token);
    assert_true(hf_election_safe_until_ms(f.a.election) == HF_FOREVER);
    assert_false(hf_election_is_leader(f.b.election));
    token = f.a.token;
    assert_int_equal(candidate_resign(&f.a), HF_OK);
    assert_false(hf_election_is_leader(f.a.election));
    assert_true(hf_election_token(f.a.election) == 0);
    assert_true(hf_election_safe_until_ms(f.a.election) == 0);
    candidate_expect(&f.b, "elected ");
    assert_true(hf_election_token(f.b.election) > token);
    candidate_campaign(&f.a);
    assert_int_equal(candidate_resign(&f.b), HF_OK);
    candidate_expect(
        &f.a, "elected elected "); /* a resignation is known to its caller */
    candidate_expect(&f.b, "elected ");
}

static void expect_candidate(const struct hf_tickets *tickets, size_t position,
                             bool leads, bool own)
{
    const struct hf_ticket_view *view = hf_tickets_at(tickets, position);

    assert_non_null(view);
    assert_int_equal(view->kind, HF_KIND_ELECTION);
    assert_int_equal(view->holds, leads);
    assert_int_equal(view->own, own);
    assert_non_null(strstr(view->owner, "text=a%20word"));
}

TEST_IN_EACH_WAY(candidates_are_listed_in_order)
{
    struct hf_election_opts opts = HF_ELECTION_OPTS_INIT;
    char text[] = "a word";
    struct election_fixture f;
    struct hf_tickets *tickets;

    opts.text = text;
    fixture_open(&f, way, &opts);
    text[0] = '\n'; /* it was copied */
    tickets = candidate_list(&f.a, HF_TICKETS_HOLDERS);
    assert_int_equal(hf_tickets_count(tickets), 0);
    hf_tickets_free(tickets);
    a_leads_b_waits(&f);
    tickets = candidate_list(&f.b, HF_TICKETS_ALL);
    assert_int_equal(hf_tickets_count(tickets), 2);
    expect_candidate(tickets, 0, true, false);
    expect_candidate(tickets, 1, false, true);
    hf_tickets_free(tickets);
    tickets = candidate_list(&f.a, HF_TICKETS_HOLDERS);
    assert_int_equal(hf_tickets_count(tickets), 1);
    expect_candidate(tickets, 0, true, true);
    assert_true(hf_tickets_at(tickets, 0)->token == f.a.token);
    hf_tickets_free(tickets);
    fixture_close(&f);
}

TEST_IN_EACH_WAY(an_id_is_shown_as_it_is)
{
    struct hf_election_opts opts = HF_ELECTION_OPTS_INIT;
    char id[HF_ELECTION_ID_BYTES + 1];
    struct hf_tickets *tickets;
    struct election_fixture f;

    memset(id, 'x', sizeof(id));
    memcpy(id, "node 7 = first", 14);
    id[sizeof(id) - 1] = '\0';
    opts.id = id;
    fixture_open(&f, way, &opts);
    id[0] = '\n'; /* it was copied */
    a_leads_b_waits(&f);
    id[0] = 'n';
    tickets = candidate_list(&f.b, HF_TICKETS_ALL);
    assert_int_equal(hf_tickets_count(tickets), 2);
    for (size_t i = 0; i < 2; i++)
        assert_string_equal(hf_tickets_at(tickets, i)->owner, id);
    hf_tickets_free(tickets);
    assert_int_equal(candidate_resign(&f.b), HF_OK);
    client_directory_remove_tickets(
        &f.directory); /* after a new campaign too */
    candidate_expect(&f.a, "elected deposed elected ");
    tickets = candidate_list(&f.a, HF_TICKETS_HOLDERS);
    assert_string_equal(hf_tickets_at(tickets, 0)->owner, id);
    hf_tickets_free(tickets);
    fixture_close(&f);
}

TEST_IN_EACH_WAY(a_waiting_candidate_resigns)
{
    FIXTURE(f, way, NULL);
    a_leads_b_waits(&f);
    assert_int_equal(candidate_resign(&f.b), HF_OK);
    assert_int_equal(client_directory_count_tickets(&f.directory), 1);
    assert_int_equal(candidate_resign(&f.b), HF_OK); /* it is no candidate */
    assert_true(hf_election_is_leader(f.a.election));
    assert_int_equal(candidate_resign(&f.a), HF_OK);
    assert_int_equal(client_directory_count_tickets(&f.directory), 0);
    candidate_campaign(&f.b);
    candidate_campaign(&f.b); /* it is a candidate already */
    candidate_expect(&f.b, "elected ");
}

TEST_IN_EACH_WAY(an_evicted_leader_campaigns_again)
{
    static const char *const received[] = {
        "elected ",
        "elected deposed elected ",
        "elected deposed elected deposed elected ",
    };
    FIXTURE(f, way, NULL);
    candidate_campaign(&f.a);
    for (int i = 0; i < 3; i++) {
        candidate_expect(&f.a, received[i]);
        assert_true(hf_election_token(f.a.election) == f.a.token);
        assert_int_equal(client_directory_count_tickets(&f.directory), 1);
        if (i < 2)
            client_directory_remove_tickets(&f.directory);
    }
    assert_int_equal(candidate_resign(&f.a), HF_OK);
    candidate_expect(&f.a, received[2]);
}

/* ------------------------------------------------------ asked to release -- */

static struct hf_lock *lock_of_kind(struct client_fixture *fixture,
                                    enum hf_kind kind)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    struct hf_lock *lock;

    opts.kind = kind;
    assert_int_equal(hf_lock_open(fixture->client, NAME, &opts, &lock), HF_OK);
    return lock;
}

/* On a thread of its own, which may wait in any way. */
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

/* The leader, and the candidates behind it. */
TEST_IN_EACH_WAY(all_are_asked_to_let_go)
{
    struct client_fixture helper;
    struct hf_lock *lock;
    FIXTURE(f, way, NULL);
    client_open(&helper, WAY_THREAD, f.directory.url, no_listener);
    lock = lock_of_kind(&helper, HF_KIND_ELECTION);
    f.a.resigns_on_revoke = true;
    a_leads_b_waits(&f);
    run_on_thread(ask_main, lock);
    candidate_expect(&f.a, "elected asked ");
    client_wait_until(f.a.fixture, candidate_has_resigned, &f.a);
    assert_int_equal(f.a.status, HF_OK);
    candidate_expect(&f.b, "elected asked "); /* in that order */
    assert_true(hf_election_is_leader(f.b.election));
    hf_lock_free(lock);
    client_close(&helper);
}

/* --------------------------------------------------------------- endings -- */

TEST_IN_EACH_WAY(another_kind_of_lock_ends_it)
{
    struct hf_lock *mutex;
    struct hf_grant *grant;
    FIXTURE(f, way, NULL);
    mutex = lock_of_kind(f.b.fixture, HF_KIND_MUTEX);
    grant = client_take(f.b.fixture, mutex);
    candidate_campaign(&f.a);
    candidate_expect(&f.a, "ended ");
    assert_int_equal(f.a.error.status, HF_EKIND);
    assert_non_null(strstr(f.a.error.text, "in use as a mutex"));
    assert_non_null(strstr(f.a.error.text, "this is an election"));
    assert_int_equal(client_directory_count_tickets(&f.directory), 1);
    assert_int_equal(client_give(f.b.fixture, grant), HF_OK);
    candidate_campaign(&f.a);
    candidate_expect(&f.a, "ended elected ");
    assert_int_equal(
        hf_lock_acquire_start(mutex, NULL, (struct hf_done){0}, NULL),
        HF_EINVAL);
    hf_lock_free(mutex);
}

/* LeaderSelector and kazoo's Election use a lock of the other kind. */
TEST_IN_EACH_WAY(an_election_of_kind_mutex)
{
    struct hf_election_opts opts = HF_ELECTION_OPTS_INIT;
    struct election_fixture f;
    struct hf_lock *mutex;
    struct hf_grant *grant;
    struct hf_tickets *tickets;

    opts.kind = HF_KIND_MUTEX;
    fixture_open(&f, way, &opts);
    mutex = lock_of_kind(f.b.fixture, HF_KIND_MUTEX);
    grant = client_take(f.b.fixture, mutex);
    candidate_campaign(&f.a);
    client_await_tickets(f.a.fixture, &f.directory, 2);
    tickets = candidate_list(&f.a, HF_TICKETS_ALL);
    assert_int_equal(hf_tickets_at(tickets, 1)->kind, HF_KIND_MUTEX);
    hf_tickets_free(tickets);
    assert_false(hf_election_is_leader(f.a.election));
    assert_int_equal(client_give(f.b.fixture, grant), HF_OK);
    candidate_expect(&f.a, "elected ");
    hf_lock_free(mutex);
    fixture_close(&f);
}

static void must_not_resign(void *arg, const struct hf_result *result)
{
    (void)arg;
    (void)result;
    fail();
}

TEST_IN_EACH_WAY(closing_ends_it)
{
    const struct hf_done silent = {must_not_resign, NULL, NULL};
    struct election_fixture f;

    fixture_open(&f, way, NULL);
    a_leads_b_waits(&f);
    client_close(f.b.fixture);
    assert_string_equal(f.b.received, "ended ");
    assert_int_equal(f.b.error.status, HF_ECLOSED);
    client_close(f.a.fixture);
    assert_string_equal(f.a.received, "elected deposed ended ");
    assert_int_equal(f.a.error.status, HF_ECLOSED);
    assert_false(hf_election_is_leader(f.a.election));
    assert_int_equal(hf_election_campaign_start(f.a.election), HF_ECLOSED);
    assert_int_equal(
        hf_election_resign_start(f.a.election, (struct hf_done){0}), HF_OK);
    assert_int_equal(hf_election_resign_start(f.a.election, silent),
                     HF_ECLOSED);
    assert_int_equal(hf_last_error()->status, HF_ECLOSED);
    assert_string_equal(hf_last_error()->text,
                        "hf_election_resign_start: the client was closed");
    hf_election_free(f.a.election);
    hf_election_free(f.b.election);
    assert_int_equal(f.a.drops + f.b.drops, 2 * CANDIDATE_DROPS);
    assert_int_equal(client_directory_count_tickets(&f.directory), 0);
    client_directory_remove(&f.directory);
}

/* A leader is deposed in its process before another one is elected. */
TEST_IN_EACH_WAY(two_candidates_of_one_client)
{
    struct election_candidate c;
    FIXTURE(f, way, NULL);
    candidate_open(&c, f.a.fixture, NAME, NULL);
    candidate_campaign(&f.a);
    candidate_expect(&f.a, "elected ");
    candidate_campaign(&c);
    client_await_tickets(f.a.fixture, &f.directory, 2);
    assert_false(hf_election_is_leader(c.election));
    assert_int_equal(candidate_resign(&f.a), HF_OK);
    candidate_expect(&c, "elected ");
    assert_false(hf_election_is_leader(f.a.election));
    candidate_free(&c);
}

/* --------------------------------------------------------- the callbacks -- */

static bool leads(void *arg)
{
    return hf_election_is_leader(arg);
}

static bool has_started(void *arg)
{
    return atomic_load(&((struct election_candidate *)arg)->started) > 0;
}

static void *resign_main(void *arg)
{
    struct election_candidate *candidate = arg;

    candidate->status = hf_election_resign(candidate->election);
    atomic_fetch_add(&candidate->ended, 1);
    return NULL;
}

/* A resignation ends when no callback runs. */
TEST(resigning_waits_for_a_callback)
{
    pthread_t thread;
    FIXTURE(f, WAY_THREAD, NULL);
    pthread_mutex_lock(&f.a.callback_lock);
    candidate_campaign(&f.a);
    wait_until(has_started, &f.a);
    thread = start_thread(resign_main, &f.a);
    await_tickets(&f.directory, 0);
    assert_false(candidate_has_resigned(&f.a));
    pthread_mutex_unlock(&f.a.callback_lock);
    pthread_join(thread, NULL);
    assert_int_equal(f.a.status, HF_OK);
    assert_string_equal(f.a.received, "elected ");
}

/* Where nobody runs callbacks, everything else goes on. */
TEST(nobody_has_to_listen)
{
    FIXTURE(f, WAY_DISPATCH, NULL);
    candidate_campaign(&f.a);
    candidate_campaign(&f.b);
    for (int i = 0; i < 4; i++) {
        struct election_candidate *one = i % 2 == 0 ? &f.a : &f.b;

        wait_until(leads, one->election);
        assert_int_equal(hf_election_resign(one->election), HF_OK);
        candidate_campaign(one);
    }
    assert_string_equal(f.a.received, "");
    assert_string_equal(f.b.received, "");
    candidate_expect(&f.a, "elected ");
}

/* A loss that is over before its callback could run is not notified if the
 * program has not seen which leadership that was. */
TEST(a_loss_that_is_over_is_not_notified)
{
    FIXTURE(f, WAY_DISPATCH, NULL);
    candidate_campaign(&f.a);
    wait_until(leads, f.a.election);
    client_directory_remove_tickets(&f.directory);
    await_tickets(&f.directory, 1);
    wait_until(leads, f.a.election);
    candidate_expect(&f.a, "elected ");
    assert_true(hf_election_token(f.a.election) == f.a.token);
    client_directory_remove_tickets(&f.directory);
    await_tickets(&f.directory, 1);
    candidate_expect(&f.a, "elected deposed elected ");
}

static bool has_event(void *arg)
{
    struct client_fixture *fixture = arg;
    struct pollfd readable = {.fd = hf_client_fd(fixture->client),
                              .events = POLLIN};

    return poll(&readable, 1, 0) > 0;
}

/* ${way}: how the program has seen the leadership, 0 by its token, 1 by a wait.
 */
static void lose_what_was_seen(int way)
{
    FIXTURE(f, WAY_DISPATCH, NULL);
    candidate_campaign(&f.a);
    wait_until(leads, f.a.election);
    if (way == 0)
        assert_true(hf_election_token(f.a.election) != 0);
    else
        assert_int_equal(hf_election_wait(f.a.election, HF_FOREVER), HF_OK);
    client_directory_remove_tickets(&f.directory);
    await_tickets(&f.directory, 1);
    wait_until(leads, f.a.election);
    assert_string_equal(f.a.received, "");
    candidate_expect(&f.a, "elected deposed elected ");
    assert_true(hf_election_token(f.a.election) == f.a.token);
}

/* The program may rely on a leadership that it has seen, and waits for its
 * on_deposed. */
TEST(a_loss_of_what_was_seen_is_notified)
{
    lose_what_was_seen(0);
    lose_what_was_seen(1);
}

TEST(it_can_run_again_from_its_end)
{
    struct hf_lock *mutex;
    struct hf_grant *grant;
    FIXTURE(f, WAY_DISPATCH, NULL);
    mutex = lock_of_kind(f.b.fixture, HF_KIND_MUTEX);
    grant = client_take(f.b.fixture, mutex);
    f.a.campaigns_again = true;
    candidate_campaign(&f.a);
    wait_until(has_event, f.a.fixture);
    assert_int_equal(client_give(f.b.fixture, grant), HF_OK);
    candidate_expect(&f.a, "ended elected ");
    hf_lock_free(mutex);
}

/* The next campaign may begin before the end of the last one is reported. */
TEST(an_end_has_its_reason_whatever_follows)
{
    struct hf_lock *mutex;
    struct hf_grant *grant;
    FIXTURE(f, WAY_DISPATCH, NULL);
    mutex = lock_of_kind(f.b.fixture, HF_KIND_MUTEX);
    grant = client_take(f.b.fixture, mutex);
    candidate_campaign(&f.a);
    wait_until(has_event, f.a.fixture);
    assert_int_equal(client_give(f.b.fixture, grant), HF_OK);
    candidate_campaign(&f.a);
    wait_until(leads, f.a.election);
    candidate_expect(&f.a, "ended elected ");
    assert_int_equal(f.a.error.status, HF_EKIND);
    assert_string_not_equal(f.a.error.text, "");
    hf_lock_free(mutex);
}

/* So may the next leadership, which the program has seen. */
TEST(a_loss_behind_an_end_is_notified_behind_it)
{
    struct hf_lock *mutex;
    struct hf_grant *grant;
    FIXTURE(f, WAY_DISPATCH, NULL);
    mutex = lock_of_kind(f.b.fixture, HF_KIND_MUTEX);
    grant = client_take(f.b.fixture, mutex);
    candidate_campaign(&f.a);
    wait_until(has_event, f.a.fixture);
    assert_int_equal(client_give(f.b.fixture, grant), HF_OK);
    candidate_campaign(&f.a);
    assert_int_equal(hf_election_wait(f.a.election, HF_FOREVER), HF_OK);
    client_directory_remove_tickets(&f.directory);
    await_tickets(&f.directory, 1);
    wait_until(leads, f.a.election);
    candidate_expect(&f.a, "ended elected deposed elected ");
    hf_lock_free(mutex);
}

/* ---------------------------------------------------------------- misuse -- */

TEST(wrong_options_are_refused)
{
    struct hf_election_opts opts = HF_ELECTION_OPTS_INIT;
    struct hf_election *election;
    struct election_candidate spare = {.drops = 0};
    char long_id[HF_ELECTION_ID_BYTES + 2] = "";
    FIXTURE(f, WAY_THREAD, NULL);
    candidate_set_callbacks(&spare, &opts);
    opts.kind = HF_KIND_READ;
    assert_int_equal(
        hf_election_open(f.a.fixture->client, NAME, &opts, &election),
        HF_EINVAL);
    assert_null(election);
    assert_int_equal(spare.drops, CANDIDATE_DROPS);
    assert_string_equal(hf_last_error()->text,
                        "hf_election_open: the kind is 1; expected "
                        "HF_KIND_ELECTION or HF_KIND_MUTEX");
    opts = (struct hf_election_opts)HF_ELECTION_OPTS_INIT;
    opts.text = "\n";
    assert_int_equal(
        hf_election_open(f.a.fixture->client, NAME, &opts, &election),
        HF_EINVAL);
    opts.id = "an id";
    opts.text = "a text";
    assert_int_equal(
        hf_election_open(f.a.fixture->client, NAME, &opts, &election),
        HF_EINVAL);
    assert_non_null(strstr(hf_last_error()->text, "a text and an id"));
    opts.text = NULL;
    opts.id = "an\nid";
    assert_int_equal(
        hf_election_open(f.a.fixture->client, NAME, &opts, &election),
        HF_EINVAL);
    assert_non_null(strstr(hf_last_error()->text, "the id "));
    memset(long_id, 'x', sizeof(long_id) - 1);
    opts.id = long_id;
    assert_int_equal(
        hf_election_open(f.a.fixture->client, NAME, &opts, &election),
        HF_EINVAL);
    assert_string_equal(hf_last_error()->text,
                        "hf_election_open: the id has 256 bytes; "
                        "expected 255 at most");
    opts.size = 0;
    assert_int_equal(
        hf_election_open(f.a.fixture->client, NAME, &opts, &election),
        HF_EINVAL);
    assert_int_equal(hf_election_open(f.a.fixture->client, "latch-0000000001",
                                      NULL, &election),
                     HF_ENAME);
}

TEST(a_second_resignation_is_refused)
{
    FIXTURE(f, WAY_DISPATCH, NULL);
    candidate_campaign(&f.a);
    candidate_expect(&f.a, "elected ");
    candidate_begin_resign(&f.a);
    assert_int_equal(hf_election_resign(f.a.election), HF_ESTATE);
    assert_string_equal(hf_last_error()->text,
                        "hf_election_resign: it is resigning already; wait "
                        "for the end of that");
    client_wait_until(f.a.fixture, candidate_has_resigned, &f.a);
    assert_int_equal(hf_election_resign(f.a.election), HF_OK);
}

static _Atomic bool is_frozen, may_go_on;

/* The handler of a signal: the thread stays here until .may_go_on is set. */
static void freeze(int signal)
{
    int before = errno;

    (void)signal;
    atomic_store(&is_frozen, true);
    while (!atomic_load(&may_go_on))
        (void)poll(NULL, 0, 1);
    errno = before;
}

static bool has_frozen(void *arg)
{
    (void)arg;
    return atomic_load(&is_frozen);
}

static enum hf_resignation resignation_of(struct hf_election *election)
{
    enum hf_resignation resignation;

    hf_monitor_lock(&election->client->monitor);
    resignation = election->resignation;
    hf_monitor_unlock(&election->client->monitor);
    return resignation;
}

static bool has_left(void *arg)
{
    return resignation_of(arg) == HF_RESIGNATION_LEFT;
}

static bool is_answered(void *arg)
{
    return !has_left(arg);
}

/* A caller has its answer, but has not woken yet: its answer stays what it
 * is. */
TEST(a_resignation_lasts_until_its_caller_has_the_answer)
{
    const struct sigaction action = {.sa_handler = freeze};
    struct hf_error denied;
    pthread_t thread;
    FIXTURE(f, WAY_THREAD, NULL);
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    pthread_mutex_lock(&f.a.callback_lock);
    candidate_campaign(&f.a);
    wait_until(has_started, &f.a);
    thread = start_thread(resign_main, &f.a);
    wait_until(has_left, f.a.election);
    hf_monitor_lock(&f.a.election->client->monitor);
    hf_error_set(&denied, HF_EDENIED, "the ticket stays"); /* as if it did */
    f.a.election->outcome = denied;
    hf_monitor_unlock(&f.a.election->client->monitor);
    assert_int_equal(pthread_kill(thread, SIGUSR1), 0);
    wait_until(has_frozen, NULL);
    pthread_mutex_unlock(&f.a.callback_lock);
    wait_until(is_answered, f.a.election);
    assert_int_equal(hf_election_resign(f.a.election), HF_ESTATE);
    assert_int_equal(hf_election_campaign_start(f.a.election), HF_ESTATE);
    atomic_store(&may_go_on, true);
    pthread_join(thread, NULL);
    assert_int_equal(f.a.status, HF_EDENIED);
    assert_int_equal(hf_election_resign(f.a.election), HF_OK);
    candidate_campaign(&f.a);
}

static int in_child(void *arg)
{
    struct election_fixture *f = arg;
    struct hf_tickets *tickets;

    CHILD_CHECK(!hf_election_is_leader(f->a.election));
    CHILD_CHECK(hf_election_token(f->a.election) == 0);
    CHILD_CHECK(hf_election_safe_until_ms(f->a.election) == 0);
    CHILD_CHECK(hf_election_campaign_start(f->a.election) == HF_EFORKED);
    CHILD_CHECK(hf_election_resign(f->a.election) == HF_EFORKED);
    CHILD_CHECK(hf_election_tickets(f->a.election, HF_TICKETS_HOLDERS, 0,
                                    &tickets) == HF_EFORKED);
    hf_election_free(f->a.election);
    return 0;
}

TEST(a_child_leads_nothing)
{
    FIXTURE(f, WAY_THREAD, NULL);
    a_leads_b_waits(&f);
    run_in_child(in_child, &f);
    assert_true(hf_election_is_leader(f.a.election));
    assert_int_equal(client_directory_count_tickets(&f.directory), 2);
}
