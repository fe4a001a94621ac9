/* SPDX-License-Identifier: Apache-2.0 */
/* Elections on an engine that obeys: what a candidate is told when its session
 * comes, goes silent, and goes, in each way to use a client. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "kit.h"
#include "scripted.h"
#include "witness.h"

#define TIMEOUT_MS 400

struct world {
    struct front front;
    struct witness a;
    int pipe[2];
    pthread_mutex_t guard;
    char order[512]; /* states and what a was told, as they came */
};

static void on_state(void *arg, enum hf_state state)
{
    struct world *w = arg;

    pthread_mutex_lock(&w->guard);
    if (state == HF_STATE_LOST)
        (void)snprintf(w->order, sizeof(w->order), "%s", w->a.told);
    pthread_mutex_unlock(&w->guard);
}

static void world_open_with(struct world *w, enum way way, int timeout_ms,
                            enum hf_loss_at loss_at)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    char url[64];

    memset(w, 0, sizeof(*w));
    pthread_mutex_init(&w->guard, NULL);
    assert_int_equal(pipe2(w->pipe, O_CLOEXEC | O_NONBLOCK), 0);
    snprintf(url, sizeof(url), "scripted:?fd=%d&timeout=%d", w->pipe[0],
             timeout_ms);
    opts.on_state = (struct hf_on_state){on_state, w, NULL};
    opts.loss_at = loss_at;
    front_open_with(&w->front, way, url, &opts);
    witness_open(&w->a, &w->front, "scheduler", NULL);
}

static void world_open(struct world *w, enum way way, int timeout_ms)
{
    world_open_with(w, way, timeout_ms, HF_LOSS_AT_LOST);
}

static void world_close(struct world *w)
{
    witness_free(&w->a);
    front_close(&w->front);
    close(w->pipe[0]);
    close(w->pipe[1]);
    /* Behind the last callback, in the memory's order as well. */
    pthread_mutex_lock(&w->guard);
    pthread_mutex_unlock(&w->guard);
    pthread_mutex_destroy(&w->guard);
}

static void say(struct world *w, char command)
{
    assert_int_equal(write(w->pipe[1], &command, 1), 1);
}

static bool is_obeyed(void *arg)
{
    struct world *w = arg;
    int unread;

    assert_int_equal(ioctl(w->pipe[0], FIONREAD, &unread), 0);
    return unread == 0;
}

/* Commands are obeyed under the client's lock, which is taken after that. */
static void say_first(struct world *w, char command)
{
    struct hf_error unused;

    say(w, command);
    front_until(&w->front, is_obeyed, w);
    hf_client_error(w->front.client, &unused);
}

static bool leads(void *arg)
{
    return hf_election_is_leader(arg);
}

static bool leads_not(void *arg)
{
    return !hf_election_is_leader(arg);
}

static void win(struct world *w)
{
    say(w, SCRIPTED_CONNECT);
    witness_runs(&w->a);
    witness_hears(&w->a, "elected ");
    assert_true(leads(w->a.election));
}

static void expect_empty_queue(struct world *w)
{
    struct hf_tickets *tickets = witness_lists(&w->a, HF_TICKETS_ALL);

    assert_int_equal(hf_tickets_count(tickets), 0);
    hf_tickets_free(tickets);
}

/* ---------------------------------------------------------------------- */

/* Told ahead of the state, and standing again without being asked to. */
static void fn19_a_leader_without_session_is_deposed(enum way way)
{
    struct world w;
    uint64_t token;

    world_open(&w, way, 0);
    win(&w);
    token = w.a.token;
    say_first(&w, SCRIPTED_SUSPEND);
    assert_true(leads(w.a.election));
    say_first(&w, SCRIPTED_LOSE);
    assert_false(leads(w.a.election));
    assert_true(hf_election_token(w.a.election) == 0);
    witness_hears(&w.a, "elected deposed ");
    say(&w, SCRIPTED_CONNECT);
    witness_hears(&w.a, "elected deposed elected ");
    assert_true(hf_election_token(w.a.election) > token);
    pthread_mutex_lock(&w.guard);
    assert_string_equal(w.order, "elected deposed ");
    pthread_mutex_unlock(&w.guard);
    world_close(&w);
}

/* As Curator's LeaderLatch is with its standard policy. */
static void
a_leader_without_a_link_is_deposed_where_that_is_wanted(enum way way)
{
    struct world w;
    uint64_t token;

    world_open_with(&w, way, 0, HF_LOSS_AT_SUSPENDED);
    win(&w);
    token = w.a.token;
    say_first(&w, SCRIPTED_SUSPEND);
    assert_false(leads(w.a.election));
    assert_true(hf_election_safe_until_ms(w.a.election) == 0);
    witness_hears(&w.a, "elected deposed ");
    say(&w, SCRIPTED_CONNECT);
    witness_hears(&w.a, "elected deposed elected ");
    assert_true(hf_election_token(w.a.election) > token);
    world_close(&w);
}

struct promise {
    const struct hf_election *election;
    uint64_t more_than_ms;
};

static bool is_promised_longer(void *arg)
{
    struct promise *promise = arg;

    return hf_election_safe_until_ms(promise->election) > promise->more_than_ms;
}

static void safe_until_moves_and_ends(enum way way)
{
    struct world w;
    struct promise promise;

    world_open(&w, way, TIMEOUT_MS);
    win(&w);
    promise.election = w.a.election;
    for (int i = 0; i < 3; i++) {
        promise.more_than_ms = hf_election_safe_until_ms(w.a.election);
        assert_true(promise.more_than_ms > kit_now_ms());
        front_until(&w.front, is_promised_longer, &promise);
    }
    say(&w, SCRIPTED_DOUBT);
    front_until(&w.front, leads_not, w.a.election);
    witness_hears(&w.a, "elected deposed ");
    assert_true(hf_election_safe_until_ms(w.a.election) == 0);
    world_close(&w);
}

static void a_candidate_rides_out_everything(enum way way)
{
    struct hf_election_opts opts = HF_ELECTION_OPTS_INIT;
    struct world w;

    world_open(&w, way, TIMEOUT_MS);
    witness_free(&w.a);
    opts.kind = HF_KIND_MUTEX; /* as the stranger's ticket */
    witness_open(&w.a, &w.front, "scheduler", &opts);
    witness_runs(&w.a); /* before there is a session */
    say_first(&w, SCRIPTED_BLOCK);
    say_first(&w, SCRIPTED_CONNECT);
    say_first(&w, SCRIPTED_SUSPEND);
    say_first(&w, SCRIPTED_CONNECT);
    say_first(&w, SCRIPTED_LOSE);
    say_first(&w, SCRIPTED_CONNECT);
    witness_hears(&w.a, "elected ");
    world_close(&w);
}

/* Curator's LeaderLatch, closed while its create is under way, leaves the node
 * where it is for ever. */
static void fn35_resigning_while_the_ticket_is_made_leaves_none(enum way way)
{
    struct world w;

    world_open(&w, way, 0);
    say_first(&w, SCRIPTED_CONNECT);
    say_first(&w, SCRIPTED_MUTE);
    witness_runs(&w.a);
    witness_begins_to_resign(&w.a);
    assert_int_equal(hf_election_campaign_start(w.a.election), HF_ESTATE);
    say_first(&w, SCRIPTED_MUTE); /* the loop has turned */
    assert_false(witness_has_resigned(&w.a));
    say(&w, SCRIPTED_SPEAK);
    front_until(&w.front, witness_has_resigned, &w.a);
    assert_int_equal(w.a.status, HF_OK);
    expect_empty_queue(&w);
    assert_string_equal(w.a.told, "");
    witness_runs(&w.a);
    witness_hears(&w.a, "elected ");
    world_close(&w);
}

/* The same, and the answer never comes. */
static void fn35_nor_when_its_create_gets_no_answer(enum way way)
{
    struct world w;

    world_open(&w, way, 0);
    say_first(&w, SCRIPTED_CONNECT);
    say_first(&w, SCRIPTED_MUTE);
    witness_runs(&w.a);
    witness_begins_to_resign(&w.a);
    say_first(&w, SCRIPTED_SUSPEND);
    assert_false(witness_has_resigned(&w.a));
    say_first(&w, SCRIPTED_LOSE);
    front_until(&w.front, witness_has_resigned, &w.a);
    assert_int_equal(w.a.status, HF_OK);
    assert_string_equal(w.a.told, "");
    world_close(&w);
}

static void a_resignation_is_not_a_deposal(enum way way)
{
    struct world w;

    world_open(&w, way, 0);
    win(&w);
    say_first(&w, SCRIPTED_SUSPEND);
    witness_begins_to_resign(&w.a);
    assert_false(leads(w.a.election));
    say_first(&w, SCRIPTED_LOSE);
    front_until(&w.front, witness_has_resigned, &w.a);
    assert_int_equal(w.a.status, HF_OK);
    assert_string_equal(w.a.told, "elected ");
    world_close(&w);
}

static void closing_without_a_connection_ends_it(enum way way)
{
    struct world w;

    world_open(&w, way, TIMEOUT_MS);
    witness_runs(&w.a);
    front_close(&w.front);
    assert_string_equal(w.a.told, "ended ");
    assert_int_equal(w.a.why.status, HF_ECLOSED);
    hf_election_free(w.a.election);
    close(w.pipe[0]);
    close(w.pipe[1]);
}

#define STORIES(X)                                                             \
    X(fn19_a_leader_without_session_is_deposed)                                \
    X(a_leader_without_a_link_is_deposed_where_that_is_wanted)                 \
    X(safe_until_moves_and_ends)                                               \
    X(a_candidate_rides_out_everything)                                        \
    X(fn35_resigning_while_the_ticket_is_made_leaves_none)                     \
    X(fn35_nor_when_its_create_gets_no_answer)                                 \
    X(a_resignation_is_not_a_deposal)                                          \
    X(closing_without_a_connection_ends_it)

#include "in_each_way.h"

/* Although the listener has not heard of what came before yet. */
static void a_lost_session_is_told_after_what_it_took_along(void **state)
{
    struct world w;

    (void)state;
    world_open(&w, WAY_DISPATCH, 0);
    win(&w);
    say(&w, SCRIPTED_SUSPEND);
    say(&w, SCRIPTED_LOSE);
    kit_until(is_obeyed, &w);
    kit_until(leads_not, w.a.election);
    witness_hears(&w.a, "elected deposed ");
    assert_int_equal(hf_client_dispatch(w.front.client), HF_OK);
    assert_string_equal(w.order, "elected deposed ");
    world_close(&w);
}

struct reader {
    pthread_t thread;
    const struct hf_election *election;
    atomic_bool stop;
    uint64_t furthest_ms; /* what it read, from then on */
};

static void *read_on(void *arg)
{
    struct reader *reader = arg;

    while (!atomic_load(&reader->stop)) {
        uint64_t until_ms = hf_election_safe_until_ms(reader->election);
        uint64_t now_ms = kit_now_ms();

        if (until_ms > now_ms && until_ms - now_ms > reader->furthest_ms)
            reader->furthest_ms = until_ms - now_ms;
    }
    return NULL;
}

/* Sessions come and go meanwhile; and threads may look how they do. */
static void a_thread_reads_safe_until_all_the_while(void **state)
{
    struct world w;
    struct reader reader = {.election = NULL};

    (void)state;
    world_open(&w, WAY_THREAD, TIMEOUT_MS);
    reader.election = w.a.election;
    assert_int_equal(pthread_create(&reader.thread, NULL, read_on, &reader), 0);
    win(&w);
    for (int i = 0; i < 10; i++) {
        say_first(&w, SCRIPTED_LOSE);
        front_until(&w.front, leads_not, w.a.election);
        assert_true(hf_election_safe_until_ms(w.a.election) == 0);
        say(&w, SCRIPTED_CONNECT);
        front_until(&w.front, leads, w.a.election);
    }
    atomic_store(&reader.stop, true);
    assert_int_equal(pthread_join(reader.thread, NULL), 0);
    assert_in_range(reader.furthest_ms, 1, TIMEOUT_MS);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORIES(STORY_TESTS) /* each in four ways */
        cmocka_unit_test(a_lost_session_is_told_after_what_it_took_along),
        cmocka_unit_test(a_thread_reads_safe_until_all_the_while),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
