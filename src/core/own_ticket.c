/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states of a ticket of ours, its beginning and its end; and what a list of
 * the queue means for it: the rule of its kind is applied to the list, and then
 * the ticket is admitted, waits, or its wait ends.  No list is needed if the
 * last ticket that blocked is gone and nobody can have come ahead meanwhile.
 * own_ticket_requests.c has the requests and their answers.
 */
#include "core/own_ticket.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/container_of.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/time_math.h"
#include "core/admission.h"
#include "core/core_state.h"

#define STATE(name) HF_OWN_TICKET_##name
#define TO(name) (1u << HF_OWN_TICKET_##name)

/* The legal moves.  From REMOVING a ticket can only become GONE, so a ticket
 * that must not stay is never granted. */
static const struct hf_state_machine_state states[] = {
    [STATE(UNQUEUED)] = {"UNQUEUED", TO(ENQUEUING) | TO(GONE)},
    [STATE(ENQUEUING)] = {"ENQUEUING",
                          TO(QUEUED) | TO(UNSURE) | TO(REMOVING) | TO(GONE)},
    [STATE(UNSURE)] = {"UNSURE", TO(QUEUED) | TO(REMOVING) | TO(GONE)},
    [STATE(QUEUED)] = {"QUEUED", TO(HELD) | TO(REMOVING) | TO(GONE)},
    [STATE(HELD)] = {"HELD", TO(REMOVING) | TO(GONE)},
    [STATE(REMOVING)] = {"REMOVING", TO(GONE)},
    [STATE(GONE)] = {"GONE", 0},
};

static const struct hf_state_machine table = {"ticket", states,
                                              sizeof states / sizeof states[0]};

/* ------------------------------------------------- beginning and memory -- */

struct hf_own_ticket *
hf_own_ticket_new(const struct hf_ticket_spec *spec,
                  const struct hf_ticket_listener *listener)
{
    const struct hf_admission_rule *rule = hf_admission_rule_of(spec->kind);
    struct hf_own_ticket *ticket = hf_alloc(sizeof *ticket);

    if (ticket == NULL)
        return NULL;
    ticket->spec = *spec;
    ticket->listener = listener;
    ticket->request = (struct hf_request){
        .ticket_kind = spec->kind,
        .weight = spec->kind == HF_TICKET_LEASE ? spec->weight : 1,
        .limit = rule->watches_queue ? spec->limit : 0,
        .queue = spec->queue,
        .payload = *spec->payload,
        .own_ticket = ticket,
        .effect = &ticket->request_effect,
    };
    ticket->request_effect.request = &ticket->request;
    if (!rule->watches_queue)
        return ticket;
    ticket->queue_watch = hf_queue_watch_new(ticket);
    if (ticket->queue_watch != NULL)
        return ticket;
    hf_free(ticket);
    return NULL;
}

void hf_own_ticket_free(struct hf_own_ticket *ticket)
{
    hf_ticket_watches_free(&ticket->watches);
    hf_free(ticket->queue_watch);
    hf_free(ticket->description);
    hf_free(ticket);
}

/* ---------------------------------------------- the tickets of a client -- */

static int compare_ids(const void *id, const struct hf_tree_node *node)
{
    const struct hf_own_ticket *ticket =
        container_of(node, const struct hf_own_ticket, by_id);

    return memcmp(id, &ticket->id, sizeof ticket->id);
}

void hf_ticket_table_init(struct hf_ticket_table *tickets)
{
    *tickets = (struct hf_ticket_table){.ids = {.compare = compare_ids}};
}

void hf_ticket_table_add(struct hf_ticket_table *tickets,
                         struct hf_own_ticket *ticket)
{
    hf_tree_add(&tickets->ids, &ticket->by_id, &ticket->id);
}

void hf_ticket_table_remove(struct hf_ticket_table *tickets,
                            struct hf_own_ticket *ticket)
{
    if (hf_tree_has(&ticket->by_id))
        hf_tree_remove(&tickets->ids, &ticket->by_id, &ticket->id);
}

struct hf_own_ticket *
hf_ticket_table_find(const struct hf_ticket_table *tickets,
                     const struct hf_ticket_id *id)
{
    return container_of_or_null(hf_tree_find(&tickets->ids, id),
                                struct hf_own_ticket, by_id);
}

/* --------------------------------------------------------------- states -- */

/* The schedule depends on the state. */
void hf_own_ticket_move(struct hf_core *core, struct hf_own_ticket *ticket,
                        enum hf_own_ticket_state state)
{
    hf_state_machine_move(&table, &ticket->state, state);
    hf_schedule_touch(core, ticket->entry);
}

struct hf_own_ticket_unqueued *
hf_own_ticket_unqueued(struct hf_own_ticket *ticket)
{
    assert(ticket->state == STATE(UNQUEUED));
    return &ticket->in.unqueued;
}

struct hf_own_ticket_queued *hf_own_ticket_queued(struct hf_own_ticket *ticket)
{
    assert(ticket->state == STATE(QUEUED));
    return &ticket->in.queued;
}

struct hf_own_ticket_held *hf_own_ticket_held(struct hf_own_ticket *ticket)
{
    assert(ticket->state == STATE(HELD));
    return &ticket->in.held;
}

bool hf_own_ticket_wants_queue_watch(const struct hf_own_ticket *ticket)
{
    if (ticket->queue_watch == NULL)
        return false;
    return (ticket->state == STATE(UNQUEUED) &&
            !ticket->in.unqueued.has_room) ||
           (ticket->state == STATE(QUEUED) && ticket->in.queued.blocking > 0);
}

void hf_own_ticket_cancel_request(struct hf_core *core,
                                  struct hf_own_ticket *ticket)
{
    if (!ticket->request_effect.queued)
        return;
    hf_effect_remove(&core->effects, &ticket->request_effect);
    ticket->request.busy = false;
}

bool hf_own_ticket_awaits_removal(const struct hf_own_ticket *ticket)
{
    return ticket->state == STATE(REMOVING) &&
           ticket->removal.state != HF_REMOVAL_WAITING;
}

bool hf_own_ticket_is_finished(const struct hf_own_ticket *ticket)
{
    return ticket->state == STATE(GONE) && !ticket->request.busy &&
           !hf_ticket_description_is_busy(ticket->description);
}

bool hf_own_ticket_can_be_freed(const struct hf_own_ticket *ticket)
{
    const struct hf_queue_watch *watch = ticket->queue_watch;

    return hf_own_ticket_is_finished(ticket) &&
           hf_ticket_watches_idle(&ticket->watches) &&
           (watch == NULL || watch->state == HF_QUEUE_WATCH_NONE);
}

/* -------------------------------------------------------------- removal -- */

/* Become REMOVING and begin the removal. */
static void begin_removal(struct hf_core *core, struct hf_own_ticket *ticket,
                          uint64_t appears_until_ms, bool now, uint32_t weight)
{
    assert(hf_tree_has(&ticket->by_id)); /* it has an id */
    if (ticket->state != STATE(REMOVING))
        hf_own_ticket_move(core, ticket, STATE(REMOVING));
    hf_removal_begin(core, ticket, appears_until_ms, now, weight);
    hf_schedule_touch(core, ticket->entry);
}

/* Invariant 5: from here a ticket that is in the queue, or may appear there,
 * goes to REMOVING, and from REMOVING only to GONE. */
void hf_own_ticket_remove(struct hf_core *core, struct hf_own_ticket *ticket)
{
    if (ticket->state != STATE(HELD)) /* see end_downgrade() */
        hf_own_ticket_cancel_request(core, ticket);
    switch (ticket->state) {
    case STATE(UNQUEUED):
        hf_own_ticket_move(core, ticket, STATE(GONE));
        break;
    case STATE(ENQUEUING):
        hf_own_ticket_move(core, ticket,
                           hf_own_ticket_enqueue_unanswered(ticket)
                               ? STATE(REMOVING)
                               : STATE(GONE));
        break;
    case STATE(UNSURE):
        hf_own_ticket_remove_unanswered(core, ticket, true);
        break;
    case STATE(QUEUED):
    case STATE(HELD):
    case STATE(REMOVING): /* the ENQUEUE was answered */
        begin_removal(core, ticket, 0, true, ticket->request.weight);
        break;
    default:
        break;
    }
}

/* A create whose reply was lost may still take effect for one session timeout
 * of the server (the contract of ENQUEUE in engine.h), so its id is remembered
 * that long.  An engine without leases needs no such time: the next request
 * shows whether the ticket exists. */
void hf_own_ticket_remove_unanswered(struct hf_core *core,
                                     struct hf_own_ticket *ticket, bool now)
{
    const struct hf_session *session = &core->session;
    uint64_t until_ms =
        session->timeout_ms == HF_FOREVER
            ? 0
            : hf_after_ms(core->now_ms, hf_outlasting_ms(session->timeout_ms,
                                                         session->clock_drift));

    assert(!hf_own_ticket_enqueue_unanswered(ticket) &&
           (ticket->state == STATE(ENQUEUING) ||
            ticket->state == STATE(UNSURE) ||
            ticket->state == STATE(REMOVING)));
    /* Any number of permits that the REMOVE finds will do. */
    begin_removal(core, ticket, until_ms, now, 0);
}

void hf_own_ticket_remove_unlisted(struct hf_core *core,
                                   struct hf_own_ticket *ticket)
{
    assert(ticket->state == STATE(ENQUEUING) ||
           ticket->state == STATE(UNSURE) || ticket->state == STATE(QUEUED));
    begin_removal(core, ticket, 0, true, 0);
}

void hf_own_ticket_end(struct hf_core *core, struct hf_own_ticket *ticket,
                       enum hf_own_ticket_end end)
{
    assert(!hf_own_ticket_enqueue_unanswered(ticket));
    switch (end) {
    case HF_OWN_TICKET_NOT_CREATED:
        hf_own_ticket_move(core, ticket, STATE(GONE));
        break;
    case HF_OWN_TICKET_MAY_APPEAR:
        hf_own_ticket_remove_unanswered(core, ticket, false);
        break;
    case HF_OWN_TICKET_UNLISTED:
        hf_own_ticket_remove_unlisted(core, ticket);
        break;
    }
}

void hf_own_ticket_session_over(struct hf_core *core,
                                struct hf_own_ticket *ticket)
{
    hf_own_ticket_cancel_request(core, ticket);
    hf_ticket_description_end(ticket->description, &core->effects);
    /* The engine answers every request before it reports this. */
    assert(!ticket->request.busy &&
           !hf_ticket_description_is_busy(ticket->description));
    hf_ticket_watches_clear(&ticket->watches, &core->effects);
    if (ticket->queue_watch != NULL)
        hf_queue_watch_clear(ticket->queue_watch, &core->effects);
    hf_removal_clear(core, ticket);
    if (ticket->state != STATE(GONE))
        hf_own_ticket_move(core, ticket, STATE(GONE));
}

/* ------------------------------------------------------------- the rule -- */

/* The rule for the kind of ${ticket}. */
static const struct hf_admission_rule *
rule_of(const struct hf_own_ticket *ticket)
{
    return hf_admission_rule_of(ticket->spec.kind);
}

/* The properties of ${ticket} that rules read. */
static struct hf_admission_ticket rule_input(const struct hf_own_ticket *ticket)
{
    return (struct hf_admission_ticket){.id = ticket->id,
                                        .kind = ticket->spec.kind,
                                        .weight = ticket->spec.weight,
                                        .limit = ticket->spec.limit,
                                        .token = ticket->token};
}

/* ------------------------------------------------------------ admission -- */

/* Invariant 1: a ticket is HELD only when the rule has found nobody that blocks
 * it, and the session is proven for long enough.  Without that proof it waits:
 * hf_own_ticket_proven() comes here again. */
void hf_own_ticket_admit(struct hf_core *core, struct hf_own_ticket *ticket)
{
    struct hf_own_ticket_queued *queued = hf_own_ticket_queued(ticket);
    bool waited = queued->waited, revoked = queued->revoked;

    assert(ticket->session == core->session.number);
    assert(ticket->spec.kind != HF_TICKET_PARTICIPANT ||
           ticket->generation > ticket->token);
    queued->blocking = 0;
    hf_session_want_proof(&core->session, core->now_ms);
    if (!hf_session_may_admit(&core->session, core->now_ms)) {
        queued->waited = true;
        queued->admissible = rule_of(ticket)->admission_is_final;
        return;
    }
    hf_own_ticket_cancel_request(core, ticket);
    ticket->list_wanted = false;
    if (!waited)
        ticket->watch_at_ms = hf_after_ms(core->now_ms, HF_OWN_WATCH_AFTER_MS);
    hf_own_ticket_move(core, ticket, STATE(HELD));
    ticket->in.held = (struct hf_own_ticket_held){.stale = false};
    ticket->listener->granted(core, ticket, revoked);
}

/* If the rule has admitted the ticket for good, and its own watch says that it
 * is still there, it is admitted now.  Else it is listed first, because its
 * queue may have changed since. */
void hf_own_ticket_proven(struct hf_core *core, struct hf_own_ticket *ticket)
{
    struct hf_own_ticket_queued *queued = hf_own_ticket_queued(ticket);

    assert(queued->blocking == 0);
    if (queued->stale || !hf_session_may_admit(&core->session, core->now_ms))
        return;
    /* A list might take longer than the proof lasts. */
    if (queued->admissible &&
        hf_ticket_watches_is_set(&ticket->watches, &ticket->id))
        hf_own_ticket_admit(core, ticket);
    else if (!ticket->request.busy) /* a list under way is enough */
        ticket->list_wanted = true;
    ticket->listener->changed(core, ticket->acquisition);
}

/* -------------------------------------------------- the end of the wait -- */

/* The lock that tickets of each kind belong to, for error texts. */
static const char *const lock_texts[] = {
    [HF_TICKET_MUTEX] = "a mutex",
    [HF_TICKET_READ] = "a read/write lock",
    [HF_TICKET_WRITE] = "a read/write lock",
    [HF_TICKET_LEASE] = "a semaphore",
    [HF_TICKET_ELECTION] = "an election",
    [HF_TICKET_EXCLUSIVE] = "a mutex",
};

/* The text of the lock that a ticket belongs to.  An entry mutex belongs to a
 * semaphore. */
static const char *lock_text(const struct hf_ticket_id *id,
                             enum hf_ticket_kind kind)
{
    bool is_entry = hf_ticket_id_role(id) == HF_ROLE_ENTRY;

    return lock_texts[is_entry ? HF_TICKET_LEASE : kind];
}

/* End the wait with HF_EKIND: the ticket ${ahead} belongs to another kind of
 * lock, which uses this name. */
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
    /* Engines need give only the payload of the first ticket. */
    if (ahead->payload[0] != '\0')
        (void)snprintf(by, sizeof by, " (by \"%.200s\")", ahead->payload);
    hf_error_set(&why, HF_EKIND,
                 "%s is in use as %s%s, and this is %s; use another name or "
                 "the same kind of lock",
                 name, lock_text(&ahead->id, ahead->kind), by,
                 lock_text(&ticket->id, spec->kind));
    ticket->listener->refused(core, ticket, &why);
}

/* --------------------------------------------------------- the position -- */

/* What a watch needs to know of ${ticket}. */
static struct hf_watched_ticket watched_of(const struct hf_ticket *ticket)
{
    return (struct hf_watched_ticket){ticket->id, ticket->kind};
}

/* QUEUED: keep what the rule has found, and report the position. */
static void set_position(struct hf_core *core, struct hf_own_ticket *ticket,
                         const struct hf_admission_decision *position)
{
    struct hf_own_ticket_queued *queued = hf_own_ticket_queued(ticket);
    const struct hf_admission *admission = &position->admission;

    assert((admission->answer != HF_WAIT_FOR) || admission->blocking > 0);
    assert(admission->second == NULL || admission->nearest != NULL);
    ticket->listener->position_changed(core, ticket, admission->ahead,
                                       position->holder);
    queued->blocking = admission->blocking;
    queued->admissible = false;
    queued->nearest_known = admission->nearest != NULL;
    if (queued->nearest_known)
        queued->nearest = watched_of(admission->nearest);
    queued->second_known = admission->second != NULL;
    if (queued->second_known)
        queued->second = watched_of(admission->second);
    queued->gone_admits = admission->gone_admits;
    queued->stale = core->session.state != HF_STATE_CONNECTED;
    queued->generation_wanted = position->starts_generation;
}

/* Report that the ticket waits, and when to report that again. */
static void report_waiting(struct hf_core *core, struct hf_own_ticket *ticket)
{
    uint64_t every_ms = ticket->spec.report_every_ms;

    assert(ticket->state == STATE(QUEUED) ||
           (ticket->state == STATE(UNQUEUED) && ticket->queue_watch != NULL));
    if (ticket->state == STATE(QUEUED))
        ticket->in.queued.report_at_ms =
            every_ms == 0 ? HF_FOREVER : hf_after_ms(core->now_ms, every_ms);
    ticket->listener->waiting(core, ticket);
}

/* A ticket that the list does not show was removed by somebody: it is evicted.
 */
void hf_own_ticket_decide(struct hf_core *core, struct hf_own_ticket *ticket,
                          const struct hf_snapshot *snapshot)
{
    struct hf_own_ticket_queued *queued = hf_own_ticket_queued(ticket);
    struct hf_admission_ticket input = rule_input(ticket);
    struct hf_admission_decision position =
        rule_of(ticket)->decide(&input, snapshot);

    if (position.admission.answer == HF_MISSING) {
        hf_own_ticket_remove_unlisted(core, ticket);
        ticket->listener->evicted(core, ticket);
        return;
    }
    set_position(core, ticket, &position);
    if (position.admission.answer == HF_WRONG_KIND) {
        end_wrong_kind(core, ticket, position.admission.nearest);
        return;
    }
    if (position.admission.answer == HF_ADMITTED) {
        ticket->generation = position.generation;
        hf_own_ticket_admit(core, ticket);
    } else if (!position.starts_generation &&
               !ticket->listener->may_wait(core, ticket)) {
        return;
    }
    if (ticket->state != STATE(QUEUED))
        return;
    queued->waited = true;
    if (queued->blocking <= 1)
        hf_session_want_proof_unless_lazy(&core->session, core->now_ms);
    report_waiting(core, ticket);
}

/* Invariant 2: the token is that of this ticket, as the queue has it.  Another
 * try is another ticket with another token. */
void hf_own_ticket_joined(struct hf_core *core, struct hf_own_ticket *ticket,
                          const struct hf_snapshot *snapshot)
{
    size_t position = hf_snapshot_find(snapshot, &ticket->id);
    struct hf_error why;

    assert(ticket->state == STATE(ENQUEUING) || ticket->state == STATE(UNSURE));
    if (position == snapshot->count) {
        hf_error_set(&why, HF_EPROTOCOL,
                     "the ticket was gone as soon as it was in the queue; see "
                     "who removes tickets there");
        ticket->listener->failed(core, ticket, &why, HF_OWN_TICKET_UNLISTED);
        return;
    }
    ticket->token = snapshot->tickets[position].token;
    hf_own_ticket_move(core, ticket, STATE(QUEUED));
    ticket->in.queued =
        (struct hf_own_ticket_queued){.report_at_ms = HF_FOREVER};
    ticket->listener->queued(core, ticket);
    hf_own_ticket_decide(core, ticket, snapshot);
}

/* The queue is listed in any case, to learn the new position.  Before that the
 * ticket is admitted if nobody can have come ahead: the engine has
 * HF_ENGINE_GONE_ADMITS, the rule allows it, and there was no outage since the
 * last list. */
void hf_own_ticket_ahead_gone(struct hf_core *core,
                              struct hf_own_ticket *ticket,
                              const struct hf_ticket_id *gone)
{
    struct hf_own_ticket_queued *queued = hf_own_ticket_queued(ticket);
    bool admits = core->config.traits & HF_ENGINE_GONE_ADMITS &&
                  !queued->stale && core->session.state == HF_STATE_CONNECTED &&
                  queued->gone_admits;
    /* Watches of an older position were taken back; their events do not get
     * here. */
    bool before =
        queued->nearest_known && hf_ticket_id_equal(gone, &queued->nearest.id);

    assert(before || (queued->second_known &&
                      hf_ticket_id_equal(gone, &queued->second.id)));
    if (before)
        queued->nearest_known = false;
    else
        queued->second_known = false;
    assert(queued->blocking > 0);
    queued->blocking--;
    if (queued->blocking == 0 && admits)
        hf_own_ticket_admit(core, ticket);
    if (ticket->state != STATE(QUEUED))
        return;
    if (queued->blocking == 1)
        hf_session_want_proof_unless_lazy(&core->session, core->now_ms);
    ticket->list_wanted = true;
}

/* ------------------------------------------------------------ the queue -- */

/* A lease that is not enqueued yet looks for room.  A ticket of another kind
 * among the leases ends the wait. */
void hf_own_ticket_queue_listed(struct hf_core *core,
                                struct hf_own_ticket *ticket,
                                const struct hf_snapshot *snapshot)
{
    struct hf_admission_ticket input = rule_input(ticket);

    assert(rule_of(ticket)->watches_queue);
    if (ticket->state == STATE(QUEUED)) {
        hf_own_ticket_decide(core, ticket, snapshot);
        return;
    }
    if (hf_admission_not_a_lease(snapshot) != NULL) {
        end_wrong_kind(core, ticket, hf_admission_not_a_lease(snapshot));
        return;
    }
    hf_own_ticket_unqueued(ticket)->has_room =
        rule_of(ticket)->has_room(&input, snapshot);
    if (ticket->in.unqueued.has_room)
        return;
    ticket->listener->position_changed(
        core, ticket, snapshot->count,
        snapshot->count == 0 ? "" : snapshot->tickets[0].payload);
    if (ticket->listener->may_wait(core, ticket))
        report_waiting(core, ticket);
}

/* ----------------------------------------------------------- invariants -- */

/* The state of the removal follows from that of the ticket. */
static void check_removal(const struct hf_own_ticket *ticket)
{
    const struct hf_removal *removal = &ticket->removal;

    if (ticket->state != STATE(REMOVING))
        assert(removal->state == HF_REMOVAL_NONE);
    else
        assert((removal->state == HF_REMOVAL_NONE) ==
               hf_own_ticket_enqueue_unanswered(ticket));
    assert(hf_tree_has(&removal->waiting) ==
           (removal->state == HF_REMOVAL_WAITING));
}

void hf_own_ticket_check(const struct hf_core *core,
                         const struct hf_own_ticket *ticket)
{
    bool in_queue =
        ticket->state == STATE(QUEUED) || ticket->state == STATE(HELD);
    const struct hf_queue_watch *watch = ticket->queue_watch;

    assert(!in_queue || ticket->session == core->session.number);
    assert(!in_queue || hf_session_alive(&core->session));
    assert(in_queue || !hf_ticket_watches_any(&ticket->watches));
    assert(hf_own_ticket_wants_queue_watch(ticket) || watch == NULL ||
           watch->state == HF_QUEUE_WATCH_NONE ||
           watch->state == HF_QUEUE_WATCH_ENDING);
    assert((ticket->state == STATE(ENQUEUING)) <=
           hf_own_ticket_enqueue_unanswered(ticket));
    assert(!hf_own_ticket_enqueue_unanswered(ticket) ||
           ticket->state == STATE(ENQUEUING) ||
           ticket->state == STATE(REMOVING));
    assert(!ticket->request_effect.queued || ticket->request.busy);
    assert(ticket->state != STATE(QUEUED) || ticket->in.queued.blocking > 0 ||
           !ticket->in.queued.nearest_known);
    assert(ticket->state < STATE(ENQUEUING) || ticket->state == STATE(GONE) ||
           hf_ticket_table_find(&core->tickets, &ticket->id) == ticket);
    check_removal(ticket);
}
