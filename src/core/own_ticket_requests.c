/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests of a ticket of ours.  Answers note what has become wanted, and
 * hf_own_ticket_pump() requests what is wanted as soon as that can be done.  So
 * nothing is lost to a request that was under way, a connection that was down,
 * or a tick that came late.
 */
#include "core/own_ticket.h"

#include <assert.h>

#include "base/memory.h"
#include "base/time_math.h"
#include "core/core_state.h"

#define STATE(name) HF_OWN_TICKET_##name

/* Hand ${request} of ${kind} to the engine, as an effect. */
static void send_request(struct hf_core *core, struct hf_own_ticket *ticket,
                         struct hf_request *request, enum hf_request_kind kind)
{
    assert(!request->busy && hf_session_usable(&core->session));
    request->kind = kind;
    request->ticket = ticket->id;
    request->busy = true;
    request->engine_data = NULL;
    hf_effect_add_request(&core->effects, request, HF_EFFECT_REQUEST);
}

/* Is there memory for a question?  ${*at_ms}, before which it is not asked, is
 * put off if not; ${tries} counts that. */
static bool can_ask(struct hf_core *core, struct hf_own_ticket *ticket,
                    uint64_t *at_ms, uint32_t *tries)
{
    const struct hf_request *enqueue = &ticket->request;

    assert(ticket->state <= STATE(HELD)); /* not a REMOVE yet */
    if (ticket->question != NULL)
        return true;
    ticket->question = hf_alloc(sizeof *ticket->question);
    if (ticket->question == NULL) {
        *at_ms = hf_core_retry_at_ms(core, tries);
        return false;
    }
    *ticket->question = (struct hf_request){
        .ticket_kind = enqueue->ticket_kind,
        .weight = enqueue->weight,
        .limit = enqueue->limit,
        .entry_mutex = enqueue->entry_mutex,
        .queue = enqueue->queue,
        .payload = *ticket->spec.payload,
        .own_ticket = ticket,
    };
    return true;
}

void hf_own_ticket_enqueue(struct hf_core *core, struct hf_own_ticket *ticket)
{
    assert(ticket->state == STATE(UNQUEUED) && !hf_tree_has(&ticket->by_id));
    ticket->id = hf_ticket_id_random(&core->config.random);
    if (hf_queue_has_roles(ticket->spec.queue))
        hf_ticket_id_set_role(&ticket->id, ticket->spec.role);
    ticket->number = ++core->ticket_number;
    hf_ticket_table_add(&core->tickets, ticket);
    ticket->session = core->session.number;
    hf_own_ticket_move(core, ticket, STATE(ENQUEUING));
    /* Before the ENQUEUE, so that a session that was idle for long is proven
     * by the time at which the position is known. */
    hf_session_want_proof_unless_lazy(&core->session, core->now_ms);
    send_request(core, ticket, &ticket->request, HF_REQUEST_ENQUEUE);
}

/* UNSURE, QUEUED or HELD: request the LIST that is wanted, if it is time. */
static void pump_list(struct hf_core *core, struct hf_own_ticket *ticket)
{
    assert(ticket->state >= STATE(UNSURE) && ticket->state <= STATE(HELD));
    if (!ticket->list_wanted || hf_own_ticket_has_question(ticket) ||
        core->now_ms < ticket->list_at_ms ||
        !can_ask(core, ticket, &ticket->list_at_ms, &ticket->list_tries))
        return;
    ticket->list_wanted = false;
    send_request(core, ticket, ticket->question, HF_REQUEST_LIST);
}

/* QUEUED: request NEW_GENERATION, at most once for each list that has shown
 * enough participants. */
static void pump_generation(struct hf_core *core, struct hf_own_ticket *ticket)
{
    struct hf_own_ticket_queued *queued = hf_own_ticket_queued(ticket);

    if (!queued->generation_wanted || hf_own_ticket_has_question(ticket))
        return;
    assert(ticket->spec.kind == HF_TICKET_PARTICIPANT);
    queued->generation_wanted = false;
    if (can_ask(core, ticket, &ticket->list_at_ms, &ticket->list_tries))
        send_request(core, ticket, ticket->question, HF_REQUEST_NEW_GENERATION);
    else
        ticket->list_wanted = true; /* it shows that it is still wanted */
}

bool hf_own_ticket_is_downgrading(const struct hf_own_ticket *ticket)
{
    return ticket->state == STATE(HELD) &&
           ticket->in.held.downgrade != HF_DOWNGRADE_NONE &&
           ticket->in.held.downgrade != HF_DOWNGRADE_UNKNOWN;
}

/* HELD: should the ticket watch itself?  Not while a DOWNGRADE may be carried
 * out, because the ticket changes its form then.  Before that, while the
 * session cannot be used, the watch stays: the ticket may expire meanwhile. */
static bool watches_itself(const struct hf_own_ticket *ticket, bool usable)
{
    assert(ticket->state == STATE(HELD));
    return !hf_own_ticket_is_downgrading(ticket) ||
           (ticket->in.held.downgrade == HF_DOWNGRADE_DUE && !usable);
}

/* Invariant 6: a ticket watches itself and at most two ahead of it, so a
 * release wakes those next to it and no others.  Out of the queue it watches
 * nothing. */
static void pump_ticket_watches(struct hf_core *core,
                                struct hf_own_ticket *ticket, bool usable)
{
    const struct hf_own_ticket_queued *queued = &ticket->in.queued;
    struct hf_watched_ticket wanted[HF_WATCHED_MAX];
    size_t count = 0;
    enum hf_ticket_kind kind = ticket->spec.kind;
    bool may_ask = usable && core->now_ms >= ticket->watch_at_ms;

    if (ticket->state == STATE(QUEUED)) {
        for (; count < queued->ahead_count; count++)
            wanted[count] = queued->ahead[count];
    }
    if (ticket->state == STATE(QUEUED) ||
        (ticket->state == STATE(HELD) && watches_itself(ticket, usable)))
        wanted[count++] = (struct hf_watched_ticket){ticket->id, kind};
    if (!hf_ticket_watches_update(ticket, &core->effects, wanted, count,
                                  may_ask))
        ticket->watch_at_ms = hf_core_retry_at_ms(core, &ticket->watch_tries);
}

/* Start or stop the watch of the queue, as the state needs it. */
static void pump_queue_watch(struct hf_core *core, struct hf_own_ticket *ticket,
                             bool usable)
{
    struct hf_ticket_queue_watch *watch = ticket->queue_watch;

    if (hf_own_ticket_wants_queue_watch(ticket))
        hf_ticket_queue_watch_start(watch, &core->effects,
                                    usable && core->now_ms >= watch->at_ms);
    else
        hf_ticket_queue_watch_stop(watch, &core->effects);
}

/* HELD, to become a reader: request the DOWNGRADE, if it is due.  Its text is
 * the one that the ticket has now. */
static void pump_downgrade(struct hf_core *core, struct hf_own_ticket *ticket)
{
    const struct hf_text_update *update = ticket->text_update;
    struct hf_own_ticket_held *held = hf_own_ticket_held(ticket);

    if (hf_own_ticket_has_question(ticket) || hf_text_update_is_busy(update) ||
        core->now_ms < held->downgrade_at_ms ||
        !can_ask(core, ticket, &held->downgrade_at_ms, &held->downgrade_tries))
        return;
    assert(ticket->spec.kind == HF_TICKET_WRITE);
    if (held->downgrade == HF_DOWNGRADE_DUE)
        held->downgrade = HF_DOWNGRADE_REQUESTED;
    ticket->question->payload =
        hf_text_update_text(update, *ticket->spec.payload);
    send_request(core, ticket, ticket->question, HF_REQUEST_DOWNGRADE);
}

/* Write the text of the ticket again, if that is wanted and due.  Not while a
 * downgrade is under way; and when the ticket is to go, nothing is wanted. */
static void pump_text_update(struct hf_core *core, struct hf_own_ticket *ticket,
                             bool usable)
{
    bool stays =
        ticket->state == STATE(QUEUED) ||
        (ticket->state == STATE(HELD) && !hf_own_ticket_is_downgrading(ticket));

    if (stays && usable)
        hf_text_update_pump(ticket->text_update, &core->effects,
                            ticket->spec.kind, *ticket->spec.payload,
                            core->now_ms);
    else if (ticket->state > STATE(HELD))
        hf_text_update_end(ticket->text_update, &core->effects);
}

/* Invariant 4: an answer, an event or a tick only notes what is wanted, and
 * this requests it as soon as that can be done.  Each of them ends here.  A
 * watch that the state before needed is taken back here too. */
void hf_own_ticket_pump(struct hf_core *core, struct hf_own_ticket *ticket,
                        bool usable)
{
    unsigned state = ticket->state;
    bool in_queue = state == STATE(QUEUED) || state == STATE(HELD);

    ticket->pumped_ms = core->now_ms;
    if (usable && (in_queue || state == STATE(UNSURE)))
        pump_list(core, ticket);
    if (usable && state == STATE(QUEUED))
        pump_generation(core, ticket);
    if (in_queue || hf_ticket_watches_any(&ticket->watches))
        pump_ticket_watches(core, ticket, usable);
    if (ticket->queue_watch != NULL)
        pump_queue_watch(core, ticket, usable);
    if (usable && hf_own_ticket_is_downgrading(ticket))
        pump_downgrade(core, ticket); /* after its own watch was taken back */
    if (ticket->text_update != NULL)
        pump_text_update(core, ticket, usable);
    if (usable && state == STATE(REMOVING))
        hf_removal_pump(core, ticket);
}

/* A QUEUED ticket is listed, because the list may be out of date.  A HELD one
 * is only marked as stale: it is listed when somebody else is about to rely on
 * it. */
void hf_own_ticket_connected(struct hf_core *core, struct hf_own_ticket *ticket)
{
    assert(core->session.state == HF_STATE_CONNECTED);
    if (ticket->state == STATE(QUEUED)) {
        hf_own_ticket_stale(ticket);
        ticket->list_wanted = true;
        ticket->list_at_ms = 0;
        ticket->watch_at_ms = 0;
    } else if (ticket->state == STATE(HELD)) {
        ticket->in.held.stale = true;
        ticket->list_at_ms = 0;
        /* A list that is under way may be from before the outage. */
        ticket->list_wanted |= hf_own_ticket_has_question(ticket) &&
                               ticket->question->kind == HF_REQUEST_LIST;
    }
    if (ticket->queue_watch != NULL)
        ticket->queue_watch->at_ms = 0;
}

/* A list that is under way is enough.  Another one would put off the decision
 * for ever where reports are due faster than answers come. */
void hf_own_ticket_tick(struct hf_core *core, struct hf_own_ticket *ticket)
{
    uint64_t every_ms = ticket->spec.report_every_ms;

    if (ticket->state != STATE(QUEUED) ||
        core->now_ms < ticket->in.queued.report_at_ms ||
        !hf_session_usable(&core->session))
        return;
    ticket->in.queued.report_at_ms = hf_after_ms(core->now_ms, every_ms);
    ticket->list_wanted |= !hf_own_ticket_has_question(ticket);
}

bool hf_own_ticket_confirm(struct hf_core *core, struct hf_own_ticket *ticket)
{
    if (!hf_own_ticket_held(ticket)->stale)
        return true;
    if (!hf_own_ticket_has_question(ticket)) /* a list under way is enough */
        ticket->list_wanted = true;
    if (hf_session_usable(&core->session))
        pump_list(core, ticket);
    return false;
}

bool hf_own_ticket_watch_queue(struct hf_own_ticket *ticket)
{
    struct hf_own_ticket_held *held = hf_own_ticket_held(ticket);

    if (ticket->queue_watch == NULL)
        ticket->queue_watch = hf_ticket_queue_watch_new(ticket);
    held->watches_queue = ticket->queue_watch != NULL;
    return held->watches_queue;
}

void hf_own_ticket_downgrade(struct hf_own_ticket *ticket)
{
    assert(ticket->spec.kind == HF_TICKET_WRITE &&
           !hf_own_ticket_is_downgrading(ticket));
    *hf_own_ticket_held(ticket) =
        (struct hf_own_ticket_held){.downgrade = HF_DOWNGRADE_DUE};
}

/* The queue is listed again by a new queue watch. */
void hf_own_ticket_set_limit(struct hf_core *core, struct hf_own_ticket *ticket,
                             uint32_t limit)
{
    assert(ticket->spec.kind == HF_TICKET_LEASE);
    ticket->spec.limit = limit;
    ticket->request.limit = limit;
    if (ticket->question != NULL)
        ticket->question->limit = limit;
    ticket->queue_watch->request.limit = limit;
    if (ticket->queue_watch->state == HF_TICKET_QUEUE_WATCH_WATCHING)
        hf_ticket_queue_watch_stop(ticket->queue_watch, &core->effects);
}

/* The earliest of what a pump or a tick could request at some time.  New ticket
 * watches count only if they became due after the last pump.  Those that were
 * due before were requested by that pump, or wait for something other than
 * time.  NEW_GENERATION never waits for a time, so it does not count. */
uint64_t hf_own_ticket_request_at_ms(const struct hf_own_ticket *ticket)
{
    bool in_queue =
        ticket->state == STATE(QUEUED) || ticket->state == STATE(HELD);
    bool downgrading = hf_own_ticket_is_downgrading(ticket);
    uint64_t at_ms = HF_FOREVER;

    if (ticket->state == STATE(REMOVING))
        return hf_removal_wake_at_ms(&ticket->in.removal);
    if ((in_queue || ticket->state == STATE(UNSURE)) && ticket->list_wanted &&
        !hf_own_ticket_has_question(ticket))
        at_ms = ticket->list_at_ms;
    if (in_queue && ticket->watch_at_ms > ticket->pumped_ms)
        at_ms = hf_min_ms(at_ms, ticket->watch_at_ms);
    if (ticket->state == STATE(QUEUED))
        at_ms = hf_min_ms(at_ms, ticket->in.queued.report_at_ms);
    if (ticket->queue_watch != NULL &&
        ticket->queue_watch->state == HF_TICKET_QUEUE_WATCH_NONE &&
        hf_own_ticket_wants_queue_watch(ticket))
        at_ms = hf_min_ms(at_ms, ticket->queue_watch->at_ms);
    if (ticket->text_update != NULL && in_queue && !downgrading &&
        hf_text_update_is_due(ticket->text_update))
        at_ms = hf_min_ms(at_ms, ticket->text_update->at_ms);
    if (downgrading && !hf_own_ticket_has_question(ticket) &&
        !hf_text_update_is_busy(ticket->text_update))
        at_ms = hf_min_ms(at_ms, ticket->in.held.downgrade_at_ms);
    return at_ms;
}
