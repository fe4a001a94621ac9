/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios of queue views, eviction, requests to let go, and elections. */
#include <stdio.h>

#include "scenario.h"

struct queue_fixture {
    struct sweep_fixture *fixture;
    struct hf_client *a_client, *b_client;
    struct hf_lock *a, *b;
    struct hf_grant *grant;
    struct pending_op waiting;
    _Atomic unsigned asked;
    _Atomic unsigned lost;
};

static void on_revoke(void *arg, struct hf_grant *grant)
{
    struct queue_fixture *queue_fixture = arg;

    CHECK(queue_fixture->fixture, grant != NULL);
    atomic_fetch_add(&queue_fixture->asked, 1);
}

static void on_loss(void *arg, struct hf_grant *grant)
{
    struct queue_fixture *queue_fixture = arg;

    CHECK(queue_fixture->fixture, grant != NULL);
    atomic_fetch_add(&queue_fixture->lost, 1);
}

/* True if the ticket that was listed last may have been one that came to
 * nothing.  Then the request to its owner is made again. */
static bool is_doubtful(const struct sweep_fixture *fixture)
{
    return fixture->lists_late && atomic_load(&fixture->report->met) > 0;
}

static bool was_asked(void *arg)
{
    struct queue_fixture *queue_fixture = arg;

    if (atomic_load(&queue_fixture->asked) == 0 &&
        is_doubtful(queue_fixture->fixture))
        EXPECT_OK(queue_fixture->fixture,
                  hf_lock_revoke(queue_fixture->b, NULL, SCENARIO_TIMEOUT_MS));
    return atomic_load(&queue_fixture->asked) > 0;
}

static void evict(struct queue_fixture *queue_fixture);

static bool was_lost(void *arg)
{
    struct queue_fixture *queue_fixture = arg;

    if (atomic_load(&queue_fixture->lost) == 0 &&
        is_doubtful(queue_fixture->fixture))
        evict(queue_fixture);
    return atomic_load(&queue_fixture->lost) > 0;
}

/* One client holds and gets callbacks; the other waits. */
static void set(struct queue_fixture *queue_fixture,
                struct sweep_fixture *fixture)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    queue_fixture->fixture = fixture;
    atomic_store(&queue_fixture->asked, 0);
    atomic_store(&queue_fixture->lost, 0);
    queue_fixture->a_client = scenario_open_client(fixture, HF_DELIVER_THREAD);
    queue_fixture->a = scenario_lock(fixture, queue_fixture->a_client,
                                     "nightly", HF_KIND_MUTEX);
    queue_fixture->b_client = scenario_open_client(fixture, HF_DELIVER_THREAD);
    queue_fixture->b = scenario_lock(fixture, queue_fixture->b_client,
                                     "nightly", HF_KIND_MUTEX);
    opts.wait_ms = SCENARIO_TIMEOUT_MS;
    opts.on_revoke = (struct hf_on_revoke){on_revoke, queue_fixture, NULL};
    opts.on_loss = (struct hf_on_loss){on_loss, queue_fixture, NULL};
    EXPECT_OK(fixture,
              hf_lock_acquire(queue_fixture->a, &opts, &queue_fixture->grant));
    pending_op_init(&queue_fixture->waiting, fixture);
    pending_op_acquire(&queue_fixture->waiting, queue_fixture->b);
}

/* The other client is admitted, and both release. */
static void evict_holder(struct queue_fixture *queue_fixture)
{
    struct hf_grant *grant =
        pending_op_grant(&queue_fixture->waiting, queue_fixture->b);

    scenario_release(queue_fixture->fixture, grant);
    hf_lock_free(queue_fixture->a);
    hf_lock_free(queue_fixture->b);
    scenario_close_client(queue_fixture->fixture, queue_fixture->a_client);
    scenario_close_client(queue_fixture->fixture, queue_fixture->b_client);
}

/* --------------------------------------------------------------- looking -- */

static bool lists_both(void *arg)
{
    struct queue_fixture *queue_fixture = arg;
    struct hf_tickets *all;
    size_t count;

    EXPECT_OK(queue_fixture->fixture,
              hf_lock_tickets(queue_fixture->b, HF_TICKETS_ALL,
                              SCENARIO_TIMEOUT_MS, &all));
    count = hf_tickets_count(all);
    hf_tickets_free(all);
    return count == 2;
}

static void a_queue_is_looked_at(struct sweep_fixture *fixture)
{
    struct hf_tickets *all, *holders, *waiters;
    struct queue_fixture queue_fixture;

    set(&queue_fixture, fixture);
    if (is_doubtful(fixture))
        scenario_until(fixture, lists_both, &queue_fixture,
                       "a list of the two");
    EXPECT_OK(fixture, hf_lock_tickets(queue_fixture.b, HF_TICKETS_ALL,
                                       SCENARIO_TIMEOUT_MS, &all));
    EXPECT_OK(fixture, hf_lock_tickets(queue_fixture.b, HF_TICKETS_HOLDERS,
                                       SCENARIO_TIMEOUT_MS, &holders));
    EXPECT_OK(fixture, hf_lock_tickets(queue_fixture.b, HF_TICKETS_WAITERS,
                                       SCENARIO_TIMEOUT_MS, &waiters));
    CHECK(fixture, hf_tickets_count(all) == 2);
    CHECK(fixture, hf_tickets_count(holders) == 1);
    CHECK(fixture, hf_tickets_count(waiters) == 1);
    CHECK(fixture, hf_tickets_at(waiters, 0)->own);
    hf_tickets_free(all);
    hf_tickets_free(holders);
    hf_tickets_free(waiters);
    scenario_release(fixture, queue_fixture.grant);
    evict_holder(&queue_fixture);
}

/* ----------------------------------------------------------- asked, evicted */

/* Evict the ticket that is listed as the holder, unless the other client
 * holds the lock by now. */
static void evict(struct queue_fixture *queue_fixture)
{
    struct sweep_fixture *fixture = queue_fixture->fixture;
    struct hf_tickets *holders;
    hf_status status;

    EXPECT_OK(fixture, hf_lock_tickets(queue_fixture->b, HF_TICKETS_HOLDERS,
                                       SCENARIO_TIMEOUT_MS, &holders));
    if (is_doubtful(fixture) &&
        (hf_tickets_count(holders) != 1 || hf_tickets_at(holders, 0)->own)) {
        hf_tickets_free(holders);
        return;
    }
    CHECK(fixture, hf_tickets_count(holders) == 1);
    status = hf_lock_evict(queue_fixture->b, hf_tickets_at(holders, 0)->id,
                           NULL, SCENARIO_TIMEOUT_MS);
    if (!scenario_is_ok(fixture, "hf_lock_evict", status)) {
        status = hf_lock_evict(queue_fixture->b, hf_tickets_at(holders, 0)->id,
                               NULL, SCENARIO_TIMEOUT_MS);
        CHECK(fixture, status == HF_OK || status == HF_EGONE);
    }
    hf_tickets_free(holders);
}

static void a_holder_is_asked_to_let_go(struct sweep_fixture *fixture)
{
    struct queue_fixture queue_fixture;

    set(&queue_fixture, fixture);
    EXPECT_OK(fixture,
              hf_lock_revoke(queue_fixture.b, NULL, SCENARIO_TIMEOUT_MS));
    scenario_until(fixture, was_asked, &queue_fixture, "the request to let go");
    scenario_release(fixture, queue_fixture.grant);
    evict_holder(&queue_fixture);
}

static void a_holder_is_evicted(struct sweep_fixture *fixture)
{
    struct queue_fixture queue_fixture;

    set(&queue_fixture, fixture);
    evict(&queue_fixture);
    scenario_until(fixture, was_lost, &queue_fixture,
                   "the loss of an evicted grant");
    CHECK(fixture, hf_grant_check(queue_fixture.grant) == HF_ELOST);
    CHECK(fixture, hf_grant_release(queue_fixture.grant) == HF_ELOST);
    evict_holder(&queue_fixture);
}

/* -------------------------------------------------------------- election -- */

struct candidate {
    struct sweep_fixture *fixture;
    struct hf_client *client;
    struct hf_election *election;
    _Atomic unsigned elected;
    _Atomic unsigned ended;
    _Atomic unsigned dropped;
};

static void on_elected(void *arg, struct hf_election *election, uint64_t token)
{
    struct candidate *candidate = arg;

    CHECK(candidate->fixture, election != NULL && token != 0);
    atomic_fetch_add(&candidate->elected, 1);
}

static void on_ended(void *arg, struct hf_election *election,
                     const struct hf_error *why)
{
    struct candidate *candidate = arg;

    (void)election;
    (void)scenario_ended_ok(candidate->fixture, "hf_election_campaign_start",
                            why->status, why->text);
    atomic_fetch_add(&candidate->ended, 1);
}

static void on_drop(void *arg)
{
    atomic_fetch_add(&((struct candidate *)arg)->dropped, 1);
}

static void campaign(struct candidate *candidate, struct sweep_fixture *fixture,
                     const char *name)
{
    struct hf_election_opts opts = HF_ELECTION_OPTS_INIT;
    hf_status status;

    *candidate = (struct candidate){.fixture = fixture};
    candidate->client = scenario_open_client(fixture, HF_DELIVER_THREAD);
    opts.on_elected = (struct hf_on_election){on_elected, candidate, on_drop};
    opts.on_ended = (struct hf_on_ended){on_ended, candidate, on_drop};
    status =
        hf_election_open(candidate->client, name, &opts, &candidate->election);
    if (scenario_is_ok(fixture, "hf_election_open", status))
        return;
    CHECK(fixture, atomic_load(&candidate->dropped) == 2);
    atomic_store(&candidate->dropped, 0);
    CHECK(fixture, hf_election_open(candidate->client, name, &opts,
                                    &candidate->election) == HF_OK);
}

static bool leads(void *arg)
{
    struct candidate *candidate = arg;

    if (atomic_exchange(&candidate->ended, 0) > 0)
        EXPECT_OK(candidate->fixture,
                  hf_election_campaign_start(candidate->election));
    return atomic_load(&candidate->elected) > 0;
}

static void resign(struct candidate *candidate)
{
    EXPECT_OK(candidate->fixture, hf_election_resign(candidate->election));
    CHECK(candidate->fixture, !hf_election_is_leader(candidate->election));
    hf_election_free(candidate->election);
    scenario_close_client(candidate->fixture, candidate->client);
    CHECK(candidate->fixture, atomic_load(&candidate->dropped) == 2);
}

static void one_leads_after_the_other(struct sweep_fixture *fixture)
{
    struct hf_lock_opts traced = HF_LOCK_OPTS_INIT;
    const char *name;
    struct hf_tickets *leader;
    struct candidate a, b;

    traced.kind = HF_KIND_ELECTION;
    name = scenario_name(fixture, "leader", &traced);
    campaign(&a, fixture, name);
    campaign(&b, fixture, name);
    EXPECT_OK(fixture, hf_election_campaign_start(a.election));
    scenario_until(fixture, leads, &a, "an election");
    EXPECT_OK(fixture, hf_election_campaign_start(b.election));
    EXPECT_OK(fixture, hf_election_tickets(b.election, HF_TICKETS_HOLDERS,
                                           SCENARIO_TIMEOUT_MS, &leader));
    CHECK(fixture, hf_tickets_count(leader) == 1);
    hf_tickets_free(leader);
    resign(&a);
    scenario_until(fixture, leads, &b, "another leader after a resignation");
    resign(&b);
}

const struct scenario scenarios_of_queues[] = {
    {"a_queue_is_looked_at", a_queue_is_looked_at},
    {"a_holder_is_asked_to_let_go", a_holder_is_asked_to_let_go},
    {"a_holder_is_evicted", a_holder_is_evicted},
    {"one_leads_after_the_other", one_leads_after_the_other},
    {NULL, NULL},
};
