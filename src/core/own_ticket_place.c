/* SPDX-License-Identifier: Apache-2.0 */
/* The place of a ticket of ours: what a queue means for it. */
#include "core/own_ticket.h"

#include <assert.h>
#include <stdio.h>

#include "core/core_state.h"
#include "core/error.h"
#include "core/instant.h"
#include "core/rule.h"

#define STATE(name) HF_OWN_TICKET_##name

static const struct hf_rule *rule_of(const struct hf_own_ticket *ticket)
{
    return hf_rule_of(ticket->spec.kind);
}

static struct hf_rule_ticket mine(const struct hf_own_ticket *ticket)
{
    return (struct hf_rule_ticket){.id = ticket->id,
                                   .kind = ticket->spec.kind,
                                   .weight = ticket->spec.weight,
                                   .limit = ticket->spec.limit,
                                   .token = ticket->token};
}

/* ------------------------------------------------------------ admission -- */

/* Invariant 1: a ticket is HELD only when the rule has found nobody in its way,
 * and the session is proven for long enough. */
void hf_own_ticket_admit(struct hf_core *core, struct hf_own_ticket *ticket)
{
    struct hf_own_ticket_queued *queued = hf_own_ticket_queued(ticket);
    bool waited = queued->waited, revoked = queued->revoked;

    assert(ticket->session == core->session.number);
    queued->blocking = 0;
    hf_session_want_proof(&core->session, core->now_ms);
    if (!hf_session_may_admit(&core->session, core->now_ms)) {
        queued->waited = true;
        queued->admissible = rule_of(ticket)->admits_for_good;
        return;
    }
    hf_own_ticket_unask(core, ticket);
    ticket->list_wanted = false;
    if (!waited)
        ticket->watch_at_ms = hf_after_ms(core->now_ms, HF_OWN_WATCH_AFTER_MS);
    hf_own_ticket_move(core, ticket, STATE(HELD));
    ticket->in.held = (struct hf_own_ticket_held){.downgrade_asked = false};
    ticket->owner->granted(core, ticket, revoked);
}

void hf_own_ticket_proven(struct hf_core *core, struct hf_own_ticket *ticket)
{
    struct hf_own_ticket_queued *queued = hf_own_ticket_queued(ticket);

    assert(queued->blocking == 0);
    if (queued->stale || !hf_session_may_admit(&core->session, core->now_ms))
        return;
    /* A list might take longer than the proof is good for. */
    if (queued->admissible && hf_watches_hear(&ticket->watches, &ticket->id))
        hf_own_ticket_admit(core, ticket);
    else if (!ticket->ask.busy) /* a list under way will do */
        ticket->list_wanted = true;
    ticket->owner->changed(core, ticket->acquisition);
}

/* --------------------------------------------------- the end of the wait -- */

/* What the tickets of each kind belong to, for error texts. */
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

static void end_wrong_kind(struct hf_core *core, struct hf_own_ticket *ticket,
                           const struct hf_ticket *ahead)
{
    const struct hf_ticket_spec *spec = &ticket->spec;
    struct hf_error why;
    char name[256] = "the name", by[256] = "";

    if (spec->role == HF_ROLE_ENTRY || spec->kind == HF_TICKET_LEASE)
        (void)snprintf(name, sizeof name,
                       "\"%.200s\", where this semaphore has its tickets,",
                       spec->queue);
    /* Engines need tell only what the first of a queue says. */
    if (ahead->payload[0] != '\0')
        (void)snprintf(by, sizeof by, " (by \"%.200s\")", ahead->payload);
    hf_error_set(&why, HF_EKIND,
                 "%s is in use as %s%s, and this is %s; use another name or "
                 "the same kind of lock",
                 name, use_of(&ahead->id, ahead->kind), by,
                 use_of(&ticket->id, spec->kind));
    ticket->owner->refused(core, ticket, &why);
}

/* ------------------------------------------------------------- the place -- */

static struct hf_watched watched(const struct hf_ticket *ticket)
{
    return (struct hf_watched){ticket->id, ticket->kind};
}

static void take_place(struct hf_core *core, struct hf_own_ticket *ticket,
                       const struct hf_place *place)
{
    struct hf_own_ticket_queued *queued = hf_own_ticket_queued(ticket);
    const struct hf_admission *admission = &place->admission;

    ticket->owner->placed(core, ticket, admission->ahead, place->holder);
    queued->blocking = admission->blocking;
    queued->admissible = false;
    queued->before_known = admission->before != NULL;
    if (queued->before_known)
        queued->before = watched(admission->before);
    queued->beyond_known = admission->beyond != NULL;
    if (queued->beyond_known)
        queued->beyond = watched(admission->beyond);
    queued->gone_admits = admission->gone_admits;
    queued->stale = core->session.state != HF_STATE_CONNECTED;
    queued->stamp_wanted = place->stamps;
}

static void wait(struct hf_core *core, struct hf_own_ticket *ticket)
{
    uint64_t every_ms = ticket->spec.report_every_ms;

    if (ticket->state == STATE(QUEUED))
        ticket->in.queued.report_at_ms =
            every_ms == 0 ? HF_FOREVER : hf_after_ms(core->now_ms, every_ms);
    ticket->owner->waiting(core, ticket);
}

void hf_own_ticket_decide(struct hf_core *core, struct hf_own_ticket *ticket,
                          const struct hf_snapshot *snapshot)
{
    struct hf_own_ticket_queued *queued = hf_own_ticket_queued(ticket);
    struct hf_rule_ticket own = mine(ticket);
    struct hf_place place = rule_of(ticket)->decide(&own, snapshot);

    if (place.admission.answer == HF_MISSING) {
        hf_own_ticket_remove_unlisted(core, ticket);
        ticket->owner->evicted(core, ticket);
        return;
    }
    take_place(core, ticket, &place);
    if (place.admission.answer == HF_WRONG_KIND) {
        end_wrong_kind(core, ticket, place.admission.before);
        return;
    }
    if (place.admission.answer == HF_ADMITTED) {
        ticket->stamp = place.stamp;
        hf_own_ticket_admit(core, ticket);
    } else if (!place.stamps && !ticket->owner->may_wait(core, ticket)) {
        return;
    }
    if (ticket->state != STATE(QUEUED))
        return;
    queued->waited = true;
    if (queued->blocking <= 1)
        hf_session_want_proof_ahead(&core->session, core->now_ms);
    wait(core, ticket);
}

/* Invariant 2: the token is that of this ticket, as the queue has it.  Another
 * try is another ticket, and brings another token. */
void hf_own_ticket_placed(struct hf_core *core, struct hf_own_ticket *ticket,
                          const struct hf_snapshot *snapshot)
{
    size_t place = hf_snapshot_find(snapshot, &ticket->id);
    struct hf_error why;

    if (place == snapshot->count) {
        hf_error_set(&why, HF_EPROTOCOL,
                     "the ticket was gone as soon as it was in the queue; see "
                     "who removes tickets there");
        ticket->owner->failed(core, ticket, &why, HF_OWN_TICKET_UNLISTED);
        return;
    }
    ticket->token = snapshot->tickets[place].token;
    hf_own_ticket_move(core, ticket, STATE(QUEUED));
    ticket->in.queued =
        (struct hf_own_ticket_queued){.report_at_ms = HF_FOREVER};
    ticket->owner->queued(core, ticket);
    hf_own_ticket_decide(core, ticket, snapshot);
}

void hf_own_ticket_ahead_gone(struct hf_core *core,
                              struct hf_own_ticket *ticket,
                              const struct hf_ticket_id *gone)
{
    struct hf_own_ticket_queued *queued = hf_own_ticket_queued(ticket);
    bool admits = core->config.traits & HF_ENGINE_GONE_ADMITS &&
                  !queued->stale && core->session.state == HF_STATE_CONNECTED &&
                  queued->gone_admits;
    /* Watches of an older place are taken back, and their events not heeded. */
    bool before =
        queued->before_known && hf_ticket_id_equal(gone, &queued->before.id);

    assert(before || (queued->beyond_known &&
                      hf_ticket_id_equal(gone, &queued->beyond.id)));
    if (before)
        queued->before_known = false;
    else
        queued->beyond_known = false;
    assert(queued->blocking > 0);
    queued->blocking--;
    if (queued->blocking == 0 && admits)
        hf_own_ticket_admit(core, ticket);
    if (ticket->state != STATE(QUEUED))
        return;
    if (queued->blocking == 1)
        hf_session_want_proof_ahead(&core->session, core->now_ms);
    ticket->list_wanted = true;
}

/* ------------------------------------------------------------- the queue -- */

void hf_own_ticket_looked(struct hf_core *core, struct hf_own_ticket *ticket,
                          const struct hf_snapshot *snapshot)
{
    struct hf_rule_ticket own = mine(ticket);

    if (ticket->state == STATE(QUEUED)) {
        hf_own_ticket_decide(core, ticket, snapshot);
        return;
    }
    if (hf_admission_not_a_lease(snapshot) != NULL) {
        end_wrong_kind(core, ticket, hf_admission_not_a_lease(snapshot));
        return;
    }
    hf_own_ticket_looking(ticket)->room =
        rule_of(ticket)->has_room(&own, snapshot);
    if (ticket->in.looking.room)
        return;
    ticket->owner->placed(core, ticket, snapshot->count,
                          snapshot->count == 0 ? ""
                                               : snapshot->tickets[0].payload);
    if (ticket->owner->may_wait(core, ticket))
        wait(core, ticket);
}
