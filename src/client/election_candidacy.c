/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The candidacies of an election, one after the other, and the states that they
 * give it: the effects of the core move a candidacy to leadership or to its
 * end, and a loss begins the next one.
 */
#include "client/election.h"

#include <assert.h>

#include <holdfast/grant.h>

#include "base/error.h"
#include "base/state_machine.h"

/* A leadership that lasted this long counts as a success and resets the
 * backoff. */
#define LASTING_LEADERSHIP_MS 10000

/* --------------------------------------------------------------- states -- */

#define STATE(name) HF_ELECTION_##name
#define TO(name) (1u << HF_ELECTION_##name)

/* IDLE may follow IDLE: an election that is idle can resign, which ends at
 * once. */
static const struct hf_state_machine_state states[] = {
    [STATE(IDLE)] = {"IDLE", TO(IDLE) | TO(CAMPAIGNING)},
    [STATE(CAMPAIGNING)] = {"CAMPAIGNING",
                            TO(LEADING) | TO(LEAVING) | TO(IDLE)},
    [STATE(LEADING)] = {"LEADING", TO(LEAVING) | TO(IDLE)},
    [STATE(LEAVING)] = {"LEAVING", TO(IDLE)},
};

static const struct hf_state_machine table = {"election", states,
                                              sizeof states / sizeof states[0]};

static void move(struct hf_election *e, enum hf_election_state state)
{
    hf_state_machine_move(&table, &e->state, state);
}

/* Assert that the fields fit the state. */
static void check(const struct hf_election *e)
{
    assert((e->grant == NULL) == (e->state == HF_ELECTION_IDLE));
    assert((atomic_load(&e->token) != 0) == (e->state == HF_ELECTION_LEADING));
    assert(!e->revoke_pending || e->state == HF_ELECTION_LEADING);
    assert(e->resignation != HF_RESIGNATION_LEAVING ||
           e->state == HF_ELECTION_LEAVING);
}

/* ----------------------------------------------------------- leadership -- */

/* The candidacy was granted.  .valid is true only while .token is set: so it is
 * set after the token here, and cleared before it in stop_leading(). */
static void start_leading(struct hf_election *e)
{
    const struct hf_error elected = {.status = HF_OK};

    move(e, HF_ELECTION_LEADING);
    e->elected_at_ms = hf_now_ms();
    atomic_store(&e->token_seen, false);
    atomic_store(&e->token, hf_grant_token(e->grant));
    e->grant->acquisition.user.valid_copy = &e->valid;
    atomic_store(&e->valid, atomic_load(&e->grant->acquisition.user.valid));
    hf_log_write(&e->client->monitor.log, HF_LOG_INFO,
                 "elected for \"%s\", with token %llu", e->lock->name,
                 (unsigned long long)hf_grant_token(e->grant));
    hf_election_notify(e);
    hf_election_waits_end(e, &elected);
}

/* The opposite, in the opposite order: .valid is cleared first. */
static void stop_leading(struct hf_election *e)
{
    e->grant->acquisition.user.valid_copy = NULL;
    atomic_store(&e->valid, false);
    atomic_store(&e->token, 0);
    e->revoke_pending = false;
}

/* ------------------------------------------------------------ candidacy -- */

/* The end of the candidacy's grant goes to the election and not to the user. */
hf_status hf_candidacy_begin(struct hf_election *e, uint64_t not_before_ms,
                             struct hf_error *error)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    assert(e->state == HF_ELECTION_IDLE && e->grant == NULL);
    opts.text = e->opts.text;
    if ((e->grant = hf_grant_new(&e->lock, 1, &opts, e->opts.id)) == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    move(e, HF_ELECTION_CAMPAIGNING);
    e->grant->election = e;
    e->grant->acquisition.user.waits_for_removal = true;
    e->grant->acquisition.not_before_ms = not_before_ms;
    /* The candidacy's, until the core is done with it. */
    hf_election_reference(e);
    hf_grant_start(e->grant);
    return HF_OK;
}

/* A leadership ends here, before its ticket is removed, so that no thread
 * relies on it while another candidate may be elected. */
void hf_candidacy_leave(struct hf_election *e)
{
    if (e->state == HF_ELECTION_IDLE || e->state == HF_ELECTION_LEAVING)
        return;
    if (e->state == HF_ELECTION_LEADING)
        stop_leading(e);
    move(e, HF_ELECTION_LEAVING);
    hf_grant_release_or_cancel(e->grant);
}

/* Report ${why} only if it is HF_EDENIED, because with any other reason nothing
 * is left in the queue. */
void hf_candidacy_left(struct hf_election *e, const struct hf_error *why)
{
    move(e, HF_ELECTION_IDLE);
    if (e->resignation == HF_RESIGNATION_LEAVING)
        e->resignation = HF_RESIGNATION_LEFT;
    e->outcome = (struct hf_error){.status = HF_OK};
    if (why->status == HF_EDENIED)
        e->outcome = *why;
    hf_election_answer_resign(e);
}

/* The candidacy ended with ${why}, although the user did not resign: there is
 * no next one. */
static void end_candidacy(struct hf_election *e, const struct hf_error *why)
{
    move(e, HF_ELECTION_IDLE);
    e->idle_reason = *why;
    e->end_report = HF_END_REPORT_DUE;
    hf_election_notify(e);
    hf_election_waits_end(e, why);
}

/* When the next candidacy may request its ticket, by hf_now_ms().  After a
 * short leadership not before the backoff has passed, because otherwise two
 * candidates that evict each other would do so without end. */
static uint64_t campaign_again_at_ms(struct hf_election *e)
{
    if (hf_now_ms() - e->elected_at_ms >= LASTING_LEADERSHIP_MS)
        e->campaign_tries = 0;
    return hf_core_retry_at_ms(&e->client->core, &e->campaign_tries);
}

/* The leadership ${token} is over, and .token is cleared already: so
 * hf_election_token() returns 0, or this sees .token_seen.  Remember ${why} for
 * on_deposed.  If on_elected has not reported the leadership but the program
 * has seen it, they report it both: behind the end of an earlier candidacy, if
 * that is to be reported yet. */
static void remember_loss(struct hf_election *e, uint64_t token,
                          const struct hf_error *why)
{
    bool missed = e->notified_token == 0 && atomic_load(&e->token_seen);

    if (missed && e->missed_token == 0 && e->end_report == HF_END_REPORT_DUE)
        e->end_report = HF_END_REPORT_DUE_FIRST;
    if (missed)
        e->missed_token = token;
    if (missed || e->notified_token == token)
        e->loss = *why;
}

/* The leadership was lost: notify the user, release the old grant, and begin
 * the next candidacy. */
static void handle_loss(struct hf_election *e)
{
    uint64_t token = atomic_load(&e->token);
    struct hf_grant *grant = e->grant;
    struct hf_error why;

    assert(e->state == HF_ELECTION_LEADING);
    hf_error_set(&why, HF_ELOST, "the leadership of \"%.120s\" was lost: %s",
                 e->lock->name, hf_acquisition_text(&grant->acquisition));
    stop_leading(e);
    remember_loss(e, token, &why);
    move(e, HF_ELECTION_IDLE);
    e->grant = NULL;
    hf_election_notify(e);
    hf_grant_release_or_cancel(grant);
    if (e->client->monitor.state != HF_MONITOR_OPEN)
        (void)hf_monitor_explain_closed(&e->client->monitor, "client", &why);
    else
        (void)hf_candidacy_begin(e, campaign_again_at_ms(e), &why);
    if (e->grant == NULL)
        end_candidacy(e, &why);
}

/* The acquisition or the release of ${grant} has ended: its ticket has left the
 * queue, or its status says why not.  If ${grant} was lost before, the next
 * candidacy has taken its place, and only the reference to ${grant} is
 * dropped. */
static void candidacy_over(struct hf_election *e, struct hf_grant *grant)
{
    struct hf_error why = {.status = HF_OK};

    if (e->grant == grant) {
        if (grant->acquisition.status != HF_OK)
            hf_error_set(&why, grant->acquisition.status, "%s",
                         hf_acquisition_text(&grant->acquisition));
        e->grant = NULL;
        if (e->state == HF_ELECTION_LEAVING)
            hf_candidacy_left(e, &why);
        else
            end_candidacy(e, &why);
    }
    hf_user_op_dereference(&grant->user_op);
}

/* HF_EFFECT_GRANTED may come after a resignation has begun; the grant is then
 * released. */
void hf_candidacy_handle_effect(struct hf_election *e, struct hf_grant *grant,
                                enum hf_effect_kind kind)
{
    check(e);
    switch (kind) {
    case HF_EFFECT_GRANTED:
        if (e->state == HF_ELECTION_LEAVING)
            /* It was granted before it could be cancelled. */
            hf_grant_release_or_cancel(grant);
        else
            start_leading(e);
        break;
    case HF_EFFECT_LOST:
        handle_loss(e);
        break;
    case HF_EFFECT_REVOKED:
        e->revoke_pending = e->state == HF_ELECTION_LEADING;
        hf_election_notify(e);
        break;
    case HF_EFFECT_WAITING:
        hf_election_waits_end_tries(e);
        break;
    case HF_EFFECT_ENDED:
    case HF_EFFECT_RELEASED:
        candidacy_over(e, grant);
        break;
    case HF_EFFECT_ACQUISITION_DONE:
        hf_election_dereference(e);
        break;
    default:
        break;
    }
}
