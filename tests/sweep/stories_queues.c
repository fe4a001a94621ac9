/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of those who look at a queue and meddle with it, and of elections. */
#include <stdio.h>

#include "story.h"

struct scene {
    struct cast *cast;
    struct hf_client *a_client, *b_client;
    struct hf_lock *a, *b;
    struct hf_grant *grant;
    struct later waiting;
    _Atomic unsigned asked;
    _Atomic unsigned lost;
};

static void on_revoke(void *arg, struct hf_grant *grant)
{
    struct scene *scene = arg;

    CHECK(scene->cast, grant != NULL);
    atomic_fetch_add(&scene->asked, 1);
}

static void on_loss(void *arg, struct hf_grant *grant)
{
    struct scene *scene = arg;

    CHECK(scene->cast, grant != NULL);
    atomic_fetch_add(&scene->lost, 1);
}

/* May what was listed last have been a ticket that came to nothing?  Then
 * whoever wants something of the holder asks again. */
static bool is_doubtful(const struct cast *cast)
{
    return cast->lists_late && atomic_load(&cast->report->met) > 0;
}

static bool was_asked(void *arg)
{
    struct scene *scene = arg;

    if (atomic_load(&scene->asked) == 0 && is_doubtful(scene->cast))
        WELL(scene->cast, hf_lock_revoke(scene->b, NULL, STORY_PATIENCE_MS),
             text_of_lock, scene->b);
    return atomic_load(&scene->asked) > 0;
}

static void evict(struct scene *scene);

static bool was_lost(void *arg)
{
    struct scene *scene = arg;

    if (atomic_load(&scene->lost) == 0 && is_doubtful(scene->cast))
        evict(scene);
    return atomic_load(&scene->lost) > 0;
}

/* One holds, and may be told of this and that; the other waits. */
static void set(struct scene *scene, struct cast *cast)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    scene->cast = cast;
    atomic_store(&scene->asked, 0);
    atomic_store(&scene->lost, 0);
    scene->a_client = story_join(cast, HF_DELIVER_THREAD);
    scene->a = story_lock(cast, scene->a_client, "nightly", HF_KIND_MUTEX);
    scene->b_client = story_join(cast, HF_DELIVER_THREAD);
    scene->b = story_lock(cast, scene->b_client, "nightly", HF_KIND_MUTEX);
    opts.wait_ms = STORY_PATIENCE_MS;
    opts.on_revoke = (struct hf_on_revoke){on_revoke, scene, NULL};
    opts.on_loss = (struct hf_on_loss){on_loss, scene, NULL};
    WELL(cast, hf_lock_acquire(scene->a, &opts, &scene->grant), text_of_lock,
         scene->a);
    later_init(&scene->waiting, cast);
    later_acquire(&scene->waiting, scene->b);
}

/* The other one is admitted, and all go home. */
static void strike(struct scene *scene)
{
    struct hf_grant *grant = later_grant(&scene->waiting, scene->b);

    story_release(scene->cast, grant);
    hf_lock_free(scene->a);
    hf_lock_free(scene->b);
    story_leave(scene->cast, scene->a_client);
    story_leave(scene->cast, scene->b_client);
}

/* ---------------------------------------------------------------- looking --
 */

static bool lists_both(void *arg)
{
    struct scene *scene = arg;
    struct hf_tickets *all;
    size_t count;

    WELL(scene->cast,
         hf_lock_tickets(scene->b, HF_TICKETS_ALL, STORY_PATIENCE_MS, &all),
         text_of_lock, scene->b);
    count = hf_tickets_count(all);
    hf_tickets_free(all);
    return count == 2;
}

static void a_queue_is_looked_at(struct cast *cast)
{
    struct hf_tickets *all, *holders, *waiters;
    struct scene scene;

    set(&scene, cast);
    if (is_doubtful(cast))
        story_until(cast, lists_both, &scene, "a list of the two");
    WELL(cast,
         hf_lock_tickets(scene.b, HF_TICKETS_ALL, STORY_PATIENCE_MS, &all),
         text_of_lock, scene.b);
    WELL(cast,
         hf_lock_tickets(scene.b, HF_TICKETS_HOLDERS, STORY_PATIENCE_MS,
                         &holders),
         text_of_lock, scene.b);
    WELL(cast,
         hf_lock_tickets(scene.b, HF_TICKETS_WAITERS, STORY_PATIENCE_MS,
                         &waiters),
         text_of_lock, scene.b);
    CHECK(cast, hf_tickets_count(all) == 2);
    CHECK(cast, hf_tickets_count(holders) == 1);
    CHECK(cast, hf_tickets_count(waiters) == 1);
    CHECK(cast, hf_tickets_at(waiters, 0)->own);
    hf_tickets_free(all);
    hf_tickets_free(holders);
    hf_tickets_free(waiters);
    story_release(cast, scene.grant);
    strike(&scene);
}

/* ----------------------------------------------------------- asked, evicted */

/* Whoever is listed as the holder, unless the other one is it by now. */
static void evict(struct scene *scene)
{
    struct cast *cast = scene->cast;
    struct hf_tickets *holders;
    hf_status status;

    WELL(cast,
         hf_lock_tickets(scene->b, HF_TICKETS_HOLDERS, STORY_PATIENCE_MS,
                         &holders),
         text_of_lock, scene->b);
    if (is_doubtful(cast) &&
        (hf_tickets_count(holders) != 1 || hf_tickets_at(holders, 0)->own)) {
        hf_tickets_free(holders);
        return;
    }
    CHECK(cast, hf_tickets_count(holders) == 1);
    status = hf_lock_evict(scene->b, hf_tickets_at(holders, 0)->id,
                           STORY_PATIENCE_MS);
    if (!story_went_well(cast, "hf_lock_evict", status, text_of_lock,
                         scene->b)) {
        status = hf_lock_evict(scene->b, hf_tickets_at(holders, 0)->id,
                               STORY_PATIENCE_MS);
        CHECK(cast, status == HF_OK || status == HF_EGONE);
    }
    hf_tickets_free(holders);
}

static void a_holder_is_asked_to_let_go(struct cast *cast)
{
    struct scene scene;

    set(&scene, cast);
    WELL(cast, hf_lock_revoke(scene.b, NULL, STORY_PATIENCE_MS), text_of_lock,
         scene.b);
    story_until(cast, was_asked, &scene, "the request to let go");
    story_release(cast, scene.grant);
    strike(&scene);
}

static void a_holder_is_evicted(struct cast *cast)
{
    struct scene scene;

    set(&scene, cast);
    evict(&scene);
    story_until(cast, was_lost, &scene, "the loss of an evicted grant");
    CHECK(cast, hf_grant_check(scene.grant) == HF_ELOST);
    CHECK(cast, hf_grant_release(scene.grant) == HF_ELOST);
    strike(&scene);
}

/* --------------------------------------------------------------- election --
 */

struct candidate {
    struct cast *cast;
    struct hf_client *client;
    struct hf_election *election;
    _Atomic unsigned elected;
    _Atomic unsigned ended;
    _Atomic unsigned dropped;
};

static void on_elected(void *arg, struct hf_election *election, uint64_t token)
{
    struct candidate *candidate = arg;

    CHECK(candidate->cast, election != NULL && token != 0);
    atomic_fetch_add(&candidate->elected, 1);
}

static void on_ended(void *arg, struct hf_election *election,
                     const struct hf_error *why)
{
    struct candidate *candidate = arg;

    (void)election;
    (void)story_ended_well(candidate->cast, "hf_election_campaign_start",
                           why->status, why->text);
    atomic_fetch_add(&candidate->ended, 1);
}

static void on_drop(void *arg)
{
    atomic_fetch_add(&((struct candidate *)arg)->dropped, 1);
}

static void nominate(struct candidate *candidate, struct cast *cast,
                     const char *name)
{
    struct hf_election_opts opts = HF_ELECTION_OPTS_INIT;
    hf_status status;

    *candidate = (struct candidate){.cast = cast};
    candidate->client = story_join(cast, HF_DELIVER_THREAD);
    opts.on_elected = (struct hf_on_election){on_elected, candidate, on_drop};
    opts.on_ended = (struct hf_on_ended){on_ended, candidate, on_drop};
    status =
        hf_election_open(candidate->client, name, &opts, &candidate->election);
    if (story_went_well(cast, "hf_election_open", status, text_of_client,
                        candidate->client))
        return;
    CHECK(cast, atomic_load(&candidate->dropped) == 2);
    atomic_store(&candidate->dropped, 0);
    CHECK(cast, hf_election_open(candidate->client, name, &opts,
                                 &candidate->election) == HF_OK);
}

static bool leads(void *arg)
{
    struct candidate *candidate = arg;

    if (atomic_exchange(&candidate->ended, 0) > 0)
        WELL(candidate->cast, hf_election_campaign_start(candidate->election),
             text_of_election, candidate->election);
    return atomic_load(&candidate->elected) > 0;
}

static void dismiss(struct candidate *candidate)
{
    WELL(candidate->cast, hf_election_resign(candidate->election),
         text_of_election, candidate->election);
    CHECK(candidate->cast, !hf_election_is_leader(candidate->election));
    hf_election_free(candidate->election);
    story_leave(candidate->cast, candidate->client);
    CHECK(candidate->cast, atomic_load(&candidate->dropped) == 2);
}

static void one_leads_after_the_other(struct cast *cast)
{
    struct hf_lock_opts traced = HF_LOCK_OPTS_INIT;
    const char *name;
    struct hf_tickets *leader;
    struct candidate a, b;

    traced.kind = HF_KIND_ELECTION;
    name = story_name(cast, "leader", &traced);
    nominate(&a, cast, name);
    nominate(&b, cast, name);
    WELL(cast, hf_election_campaign_start(a.election), text_of_election,
         a.election);
    story_until(cast, leads, &a, "an election");
    WELL(cast, hf_election_campaign_start(b.election), text_of_election,
         b.election);
    WELL(cast,
         hf_election_tickets(b.election, HF_TICKETS_HOLDERS, STORY_PATIENCE_MS,
                             &leader),
         text_of_election, b.election);
    CHECK(cast, hf_tickets_count(leader) == 1);
    hf_tickets_free(leader);
    dismiss(&a);
    story_until(cast, leads, &b, "another leader after a resignation");
    dismiss(&b);
}

const struct story stories_of_queues[] = {
    {"a_queue_is_looked_at", a_queue_is_looked_at},
    {"a_holder_is_asked_to_let_go", a_holder_is_asked_to_let_go},
    {"a_holder_is_evicted", a_holder_is_evicted},
    {"one_leads_after_the_other", one_leads_after_the_other},
    {NULL, NULL},
};
