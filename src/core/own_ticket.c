/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states of a ticket of ours, its beginning and its end, and the table of
 * all tickets of a client.
 */
#include "core/own_ticket.h"

#include <assert.h>
#include <string.h>

#include "base/container_of.h"
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
    ticket->rule = rule;
    ticket->listener = listener;
    ticket->in.unqueued.has_room = rule->has_room == NULL;
    ticket->request = (struct hf_request){
        .ticket_kind = spec->kind,
        .weight = spec->kind == HF_TICKET_LEASE ? spec->weight : 1,
        .limit = rule->watches_queue ? spec->limit : 0,
        .entry_mutex = spec->entry_mutex,
        .queue = spec->queue,
        .payload = *spec->payload,
        .own_ticket = ticket,
    };
    if (!rule->watches_queue)
        return ticket;
    ticket->queue_watch = hf_ticket_queue_watch_new(ticket);
    if (ticket->queue_watch != NULL)
        return ticket;
    hf_free(ticket);
    return NULL;
}

void hf_own_ticket_free(struct hf_own_ticket *ticket)
{
    hf_ticket_watches_free(&ticket->watches);
    hf_free(ticket->question);
    hf_free(ticket->queue_watch);
    hf_free(ticket->text_update);
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

/* The schedule depends on the state.  A ticket that is no longer wanted has a
 * removal instead of the data of its state before. */
void hf_own_ticket_move(struct hf_core *core, struct hf_own_ticket *ticket,
                        enum hf_own_ticket_state state)
{
    bool was_wanted = ticket->state < STATE(REMOVING);

    hf_state_machine_move(&table, &ticket->state, state);
    if (was_wanted && state >= STATE(REMOVING))
        ticket->in.removal = (struct hf_removal){.state = HF_REMOVAL_NONE};
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
    assert(ticket->queue_watch != NULL);
    if (ticket->state == STATE(HELD))
        return ticket->in.held.watches_queue;
    if (!ticket->rule->watches_queue)
        return false;
    return (ticket->state == STATE(UNQUEUED) &&
            !ticket->in.unqueued.has_room) ||
           (ticket->state == STATE(QUEUED) && ticket->in.queued.blocking > 0);
}

static void cancel(struct hf_core *core, struct hf_request *request)
{
    if (!request->effect.queued)
        return;
    hf_effect_remove(&core->effects, &request->effect);
    request->busy = false;
}

void hf_own_ticket_cancel_question(struct hf_core *core,
                                   struct hf_own_ticket *ticket)
{
    if (ticket->question != NULL)
        cancel(core, ticket->question);
}

/* The same with .request. */
static void cancel_all(struct hf_core *core, struct hf_own_ticket *ticket)
{
    cancel(core, &ticket->request);
    hf_own_ticket_cancel_question(core, ticket);
}

bool hf_own_ticket_awaits_removal(const struct hf_own_ticket *ticket)
{
    return ticket->state == STATE(REMOVING) &&
           ticket->in.removal.state != HF_REMOVAL_WAITING;
}

bool hf_own_ticket_is_finished(const struct hf_own_ticket *ticket)
{
    return ticket->state == STATE(GONE) && !ticket->request.busy &&
           !hf_own_ticket_has_question(ticket) &&
           !hf_text_update_is_busy(ticket->text_update);
}

bool hf_own_ticket_can_be_freed(const struct hf_own_ticket *ticket)
{
    const struct hf_ticket_queue_watch *watch = ticket->queue_watch;

    return hf_own_ticket_is_finished(ticket) &&
           hf_ticket_watches_idle(&ticket->watches) &&
           (watch == NULL || watch->state == HF_TICKET_QUEUE_WATCH_NONE);
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
        cancel_all(core, ticket);
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
    cancel_all(core, ticket);
    hf_text_update_end(ticket->text_update, &core->effects);
    /* The engine answers every request before it reports this. */
    assert(!ticket->request.busy && !hf_own_ticket_has_question(ticket) &&
           !hf_text_update_is_busy(ticket->text_update));
    hf_ticket_watches_clear(&ticket->watches, &core->effects);
    if (ticket->queue_watch != NULL)
        hf_ticket_queue_watch_clear(ticket->queue_watch, &core->effects);
    if (ticket->state == STATE(REMOVING))
        hf_removal_clear(core, ticket);
    if (ticket->state != STATE(GONE))
        hf_own_ticket_move(core, ticket, STATE(GONE));
}

/* ----------------------------------------------------------- invariants -- */

/* The state of the removal follows from that of the ticket. */
static void check_removal(const struct hf_own_ticket *ticket)
{
    const struct hf_removal *removal = &ticket->in.removal;

    if (ticket->state < STATE(REMOVING))
        return;
    if (ticket->state == STATE(GONE))
        assert(removal->state == HF_REMOVAL_NONE);
    else
        assert((removal->state == HF_REMOVAL_NONE) ==
               hf_own_ticket_enqueue_unanswered(ticket));
    assert(hf_tree_has(&removal->waiting) ==
           (removal->state == HF_REMOVAL_WAITING));
}

/* The position and the tickets ahead say the same. */
static void check_position(const struct hf_own_ticket *ticket)
{
    const struct hf_own_ticket_queued *queued = &ticket->in.queued;

    assert(ticket->state == STATE(QUEUED));
    assert(queued->ahead_count <= queued->blocking &&
           queued->ahead_count <= HF_AHEAD_MAX);
    switch (queued->position) {
    case HF_POSITION_NEW:
        assert(false && "a ticket in the queue that was not decided on");
        break;
    case HF_POSITION_STALE:
        break;
    case HF_POSITION_BEHIND:
    case HF_POSITION_NEXT:
        assert(queued->blocking > 0);
        break;
    case HF_POSITION_CLEAR:
    case HF_POSITION_ADMISSIBLE:
        assert(queued->blocking == 0);
        break;
    }
}

void hf_own_ticket_check(const struct hf_core *core,
                         const struct hf_own_ticket *ticket)
{
    bool in_queue =
        ticket->state == STATE(QUEUED) || ticket->state == STATE(HELD);
    const struct hf_ticket_queue_watch *watch = ticket->queue_watch;

    assert(!in_queue || ticket->session == core->session.number);
    assert(!in_queue || hf_session_alive(&core->session));
    assert(in_queue || !hf_ticket_watches_any(&ticket->watches));
    assert(watch == NULL || hf_own_ticket_wants_queue_watch(ticket) ||
           watch->state == HF_TICKET_QUEUE_WATCH_NONE ||
           watch->state == HF_TICKET_QUEUE_WATCH_ENDING);
    assert((ticket->state == STATE(ENQUEUING)) <=
           hf_own_ticket_enqueue_unanswered(ticket));
    assert(!hf_own_ticket_enqueue_unanswered(ticket) ||
           ticket->state == STATE(ENQUEUING) ||
           ticket->state == STATE(REMOVING));
    assert(!ticket->request.effect.queued || ticket->request.busy);
    assert(ticket->request.busy ==
           (ticket->state == STATE(ENQUEUING) ||
            (ticket->state == STATE(REMOVING) &&
             (ticket->in.removal.state == HF_REMOVAL_NONE ||
              ticket->in.removal.state == HF_REMOVAL_ASKED))));
    if (ticket->state == STATE(QUEUED))
        check_position(ticket);
    assert(ticket->state < STATE(ENQUEUING) || ticket->state == STATE(GONE) ||
           hf_ticket_table_find(&core->tickets, &ticket->id) == ticket);
    check_removal(ticket);
}
