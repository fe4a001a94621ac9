/* SPDX-License-Identifier: Apache-2.0 */
/* Places: what a queue means for the ticket in it. */
#include "core/acquisition_private.h"

#include <assert.h>
#include <stdio.h>

#include "core/admission.h"
#include "core/core.h"
#include "core/error.h"
#include "core/instant.h"

/* The room for permits and the number of members may change again. */
static bool lets_in_for_good(enum hf_ticket_kind kind)
{
    return kind != HF_TICKET_LEASE && kind != HF_TICKET_MEMBER;
}

void hf_acquisition_admit(struct hf_core *core, struct hf_acquisition *a)
{
    assert(a->state == STATE(QUEUED) && a->session == core->session.number);
    a->blocking = 0;
    hf_session_want_proof(&core->session, core->now_ms);
    if (!hf_session_may_admit(&core->session, core->now_ms)) {
        a->waited = true;
        a->admissible = lets_in_for_good(a->kind);
        return;
    }
    hf_acquisition_unask(core, a);
    a->list_wanted = false;
    a->before_known = a->beyond_known = false;
    if (!a->waited)
        a->watch_at_ms = hf_after_ms(core->now_ms, HF_OWN_WATCH_AFTER_MS);
    hf_acquisition_move(core, a, STATE(HELD));
    hf_acquisition_tell(core, a, &a->answer_effect, HF_EFFECT_GRANTED);
    if (a->revoked)
        hf_acquisition_tell(core, a, &a->loss_effect, HF_EFFECT_REVOKED);
    a->revoked = false;
}

void hf_acquisition_displaced(struct hf_acquisition *a)
{
    a->placeless = true;
    if (a->whole != NULL)
        a->whole->placeless = true;
}

/* Counted with the new place: what is told before is of the old one. */
static void count_place(struct hf_acquisition *a)
{
    if (a->placeless)
        a->displaced++;
    a->placeless = false;
}

/* The ticket is gone though nobody here withdrew it.  Back to the tail, but
 * not faster than a retry, lest we fight with whoever removes it. */
void hf_acquisition_evicted(struct hf_core *core, struct hf_acquisition *a)
{
    hf_acquisition_displaced(a);
    hf_acquisition_unask(core, a);
    a->before_known = a->beyond_known = false;
    hf_acquisition_move(core, a, STATE(PAUSED));
    a->enqueue_at_ms = hf_acquisition_again_at_ms(core, &a->enqueue_retry);
}

/* Those that wait for each other, or turn one another away. */
static const char *const kind_texts[] = {
    [HF_TICKET_MUTEX] = "a mutex",
    [HF_TICKET_READ] = "a read/write lock",
    [HF_TICKET_WRITE] = "a read/write lock",
    [HF_TICKET_LEASE] = "a semaphore",
    [HF_TICKET_ELECTION] = "an election",
    [HF_TICKET_EXCLUSIVE] = "a mutex",
};

/* The entry mutex of a semaphore is nobody's mutex. */
static const char *use_of(const struct hf_ticket_id *id,
                          enum hf_ticket_kind kind)
{
    bool is_entry = hf_ticket_id_role(id) == HF_ROLE_ENTRY;

    return kind_texts[is_entry ? HF_TICKET_LEASE : kind];
}

static void end_wrong_kind(struct hf_core *core, struct hf_acquisition *a,
                           const struct hf_ticket *ahead)
{
    struct hf_error why;
    char name[256] = "the name", by[256] = "";

    if (a->gate || a->kind == HF_TICKET_LEASE)
        (void)snprintf(name, sizeof name,
                       "\"%.200s\", where this semaphore has its tickets,",
                       a->queue);
    /* Engines need tell only what the first of a queue says. */
    if (ahead->payload[0] != '\0')
        (void)snprintf(by, sizeof by, " (by \"%.200s\")", ahead->payload);
    hf_error_set(&why, HF_EKIND,
                 "%s is in use as %s%s, and this is %s; use another name or "
                 "the same kind of lock",
                 name, use_of(&ahead->id, ahead->kind), by,
                 use_of(&a->ticket, a->kind));
    hf_acquisition_give_up(core, a, &why);
}

void hf_acquisition_explain_busy(const struct hf_acquisition *a,
                                 struct hf_error *why)
{
    if (a->holder == NULL)
        hf_error_set(why, HF_EBUSY, "somebody else is ahead in the queue");
    else
        hf_error_set(why, HF_EBUSY, "held by \"%s\"", hf_text_of(a->holder));
}

void hf_acquisition_end_busy(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_error why;

    hf_acquisition_explain_busy(a, &why);
    hf_acquisition_give_up(core, a, &why);
}

/* Note the place for whoever wants to hear of it. */
static void describe_place(struct hf_core *core, struct hf_acquisition *a,
                           const struct hf_admission *admission,
                           const struct hf_snapshot *snapshot)
{
    a->ahead = (uint32_t)admission->ahead;
    /* The head may be we. */
    hf_acquisition_set_holder(
        core, a, admission->ahead == 0 ? "" : snapshot->tickets[0].payload);
}

static struct hf_watched watched(const struct hf_ticket *ticket)
{
    return (struct hf_watched){ticket->id, ticket->kind};
}

static void take_place(struct hf_core *core, struct hf_acquisition *a,
                       const struct hf_admission *admission)
{
    a->blocking = admission->blocking;
    a->admissible = false;
    a->before_known = admission->before != NULL;
    if (a->before_known)
        a->before = watched(admission->before);
    a->beyond_known = admission->beyond != NULL;
    if (a->beyond_known)
        a->beyond = watched(admission->beyond);
    a->gone_admits = admission->gone_admits;
    a->stale = core->session.state != HF_STATE_CONNECTED;
}

void hf_acquisition_report(struct hf_core *core, struct hf_acquisition *a)
{
    if (!a->waiting_effect.queued)
        hf_acquisition_tell(core, a, &a->waiting_effect, HF_EFFECT_WAITING);
    a->report_at_ms = a->report_every_ms == 0
                          ? HF_FOREVER
                          : hf_after_ms(core->now_ms, a->report_every_ms);
}

/* The ticket is in the queue and this is the queue: go by the rule. */
void hf_acquisition_decide(struct hf_core *core, struct hf_acquisition *a,
                           const struct hf_snapshot *snapshot)
{
    struct hf_admission admission;

    assert(a->state == STATE(QUEUED));
    if (a->kind == HF_TICKET_MEMBER) {
        hf_acquisition_decide_member(core, a, snapshot);
        return;
    }
    admission = a->kind == HF_TICKET_LEASE
                    ? hf_admission_decide_lease(snapshot, &a->ticket, a->limit)
                    : hf_admission_decide(snapshot, &a->ticket, a->kind);
    if (admission.answer == HF_MISSING) {
        hf_acquisition_disown(a);
        hf_acquisition_evicted(core, a);
        return;
    }
    describe_place(core, a, &admission, snapshot);
    take_place(core, a, &admission);
    if (admission.answer == HF_WRONG_KIND) {
        end_wrong_kind(core, a, admission.before);
        return;
    }
    if (admission.answer == HF_ADMITTED)
        hf_acquisition_admit(core, a);
    else if (a->only_try)
        hf_acquisition_end_busy(core, a);
    if (a->state != STATE(QUEUED))
        return;
    a->waited = true;
    if (a->blocking <= 1)
        hf_session_want_proof_ahead(&core->session, core->now_ms);
    hf_acquisition_report(core, a);
}

/* ${why} is worth a retry of the enqueue, if the policy allows another. */
void hf_acquisition_enqueue_again(struct hf_core *core,
                                  struct hf_acquisition *a,
                                  const struct hf_error *why)
{
    uint64_t at_ms = core->now_ms;

    hf_acquisition_keep_story(core, a, why); /* told if time runs out first */
    hf_enqueue_order_failed(core, a);
    /* A link that dropped is waited for and counts for nothing. */
    if (core->session.state == HF_STATE_CONNECTED) {
        at_ms = hf_retry_next(&core->config.retry, &a->enqueue_retry,
                              core->now_ms, &core->config.random);
        at_ms = hf_later_ms(at_ms, hf_after_ms(core->now_ms, 1));
    }
    if (a->state != STATE(PAUSED))
        hf_acquisition_move(core, a, STATE(PAUSED));
    a->enqueue_at_ms = at_ms;
    if (at_ms == HF_FOREVER)
        hf_acquisition_give_up(core, a, why);
}

/* The ticket was put into the queue, or found there.  A queue without it
 * means that it has gone again. */
void hf_acquisition_placed(struct hf_core *core, struct hf_acquisition *a,
                           const struct hf_snapshot *snapshot)
{
    size_t place = hf_snapshot_find(snapshot, &a->ticket);
    struct hf_error why;

    if (place == snapshot->count) {
        hf_error_set(&why, HF_EPROTOCOL,
                     "the ticket was gone as soon as it was in the queue; see "
                     "who removes tickets there");
        hf_acquisition_disown(a);
        hf_acquisition_enqueue_again(core, a, &why);
        return;
    }
    count_place(a);
    if (a->whole != NULL)
        count_place(a->whole);
    a->enqueue_retry = (struct hf_retry_state){0};
    a->token = snapshot->tickets[place].token;
    a->watch_at_ms = 0;
    a->watch_retry = (struct hf_retry_state){0};
    hf_acquisition_move(core, a, STATE(QUEUED));
    hf_acquisition_decide(core, a, snapshot);
}

/* One of the tickets ahead is gone. */
void hf_acquisition_one_less(struct hf_core *core, struct hf_acquisition *a,
                             const struct hf_ticket_id *gone)
{
    bool admits = core->config.traits & HF_ENGINE_GONE_ADMITS && !a->stale &&
                  core->session.state == HF_STATE_CONNECTED && a->gone_admits;
    /* Watches of an older place are taken back, and their news not heeded. */
    bool watched = a->before_known && hf_ticket_id_equal(gone, &a->before.id);

    assert(watched ||
           (a->beyond_known && hf_ticket_id_equal(gone, &a->beyond.id)));
    if (watched)
        a->before_known = false;
    else
        a->beyond_known = false;
    assert(a->blocking > 0);
    a->blocking--;
    if (a->blocking == 0 && admits)
        hf_acquisition_admit(core, a);
    if (a->state != STATE(QUEUED))
        return;
    if (a->blocking == 1)
        hf_session_want_proof_ahead(&core->session, core->now_ms);
    a->list_wanted = true;
}

/* ------------------------------------------------------------------ room -- */

bool hf_acquisition_has_lookout(const struct hf_acquisition *a)
{
    return a->kind == HF_TICKET_LEASE || a->kind == HF_TICKET_MEMBER;
}

bool hf_acquisition_wants_room(const struct hf_acquisition *a)
{
    if (!hf_acquisition_has_lookout(a))
        return false;
    return (a->state == STATE(LOOKING) && !a->room) ||
           (a->state == STATE(QUEUED) && a->blocking > 0);
}

void hf_acquisition_looked_for_room(struct hf_core *core,
                                    struct hf_acquisition *a,
                                    const struct hf_snapshot *leases)
{
    if (a->state == STATE(QUEUED)) {
        hf_acquisition_decide(core, a, leases);
        return;
    }
    assert(a->state == STATE(LOOKING));
    if (hf_admission_not_a_lease(leases) != NULL) {
        end_wrong_kind(core, a, hf_admission_not_a_lease(leases));
        return;
    }
    a->room = hf_admission_has_room(leases, a->weight, a->limit);
    if (a->room)
        return;
    a->ahead = (uint32_t)leases->count;
    hf_acquisition_set_holder(
        core, a, leases->count == 0 ? "" : leases->tickets[0].payload);
    if (a->only_try)
        hf_acquisition_end_busy(core, a);
    else
        hf_acquisition_report(core, a);
}
