/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers note what has become wanted; hf_acquisition_pump() asks for what is
 * wanted as soon as it can be asked.  So nothing is lost to a request that was
 * under way, a link that was down, or a tick that came late.
 */
#include "core/acquisition.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "core/admission.h"
#include "core/core.h"
#include "core/error.h"
#include "core/instant.h"
#include "core/plant.h"
#include "core/utf8.h"

#define STATE(name) HF_ACQUISITION_##name
#define TO(name) (1u << HF_ACQUISITION_##name)

static const struct hf_machine_state states[] = {
    [STATE(IDLE)] = {"IDLE", TO(PAUSED)},
    [STATE(PAUSED)] = {"PAUSED", TO(ENQUEUING) | TO(WITHDRAWING)},
    [STATE(ENQUEUING)] = {"ENQUEUING", TO(QUEUED) | TO(UNSURE) | TO(PAUSED) |
                                           TO(WITHDRAWING)},
    [STATE(UNSURE)] = {"UNSURE", TO(QUEUED) | TO(PAUSED) | TO(WITHDRAWING)},
    [STATE(QUEUED)] = {"QUEUED", TO(HELD) | TO(PAUSED) | TO(WITHDRAWING)},
    [STATE(HELD)] = {"HELD", TO(LOST) | TO(RELEASING)},
    [STATE(LOST)] = {"LOST", TO(RELEASING)},
    [STATE(RELEASING)] = {"RELEASING", TO(DONE)},
    [STATE(WITHDRAWING)] = {"WITHDRAWING", TO(DONE)},
    [STATE(DONE)] = {"DONE", 0},
};

static const struct hf_machine_table table = {"acquisition", states,
                                              sizeof states / sizeof states[0]};

static void move(struct hf_core *core, struct hf_acquisition *a,
                 enum hf_acquisition_state state)
{
    if (a->state == STATE(HELD))
        core->held--;
    hf_machine_move(&table, &core->config.trace, a, &a->state, state);
    if (a->state == STATE(HELD))
        core->held++;
}

/* Is it on its way to a grant? */
static bool is_waiting(const struct hf_acquisition *a)
{
    return a->state == STATE(PAUSED) || a->state == STATE(ENQUEUING) ||
           a->state == STATE(UNSURE) || a->state == STATE(QUEUED);
}

/* Backoff for what is repeated until it works. */
static uint64_t again_at_ms(struct hf_core *core, struct hf_retry_state *state)
{
    struct hf_retry_policy policy = core->config.retry;
    uint64_t at_ms;

    policy.tries = HF_RETRY_UNLIMITED;
    policy.elapsed_ms = HF_FOREVER;
    if (core->session.state != HF_STATE_CONNECTED)
        return core->now_ms; /* the connection is waited for, not the clock */
    at_ms = hf_retry_next(&policy, state, core->now_ms, &core->config.random);
    return hf_later_ms(at_ms, hf_after_ms(core->now_ms, 1));
}

/* ------------------------------------------------------------- requests -- */

static void ask(struct hf_core *core, struct hf_acquisition *a,
                enum hf_request_kind kind)
{
    assert(!a->ask.busy && hf_session_usable(&core->session));
    a->ask.kind = kind;
    a->ask.ticket = a->ticket;
    a->ask.busy = true;
    a->ask.engine_data = NULL;
    hf_effect_add(&core->effects, &a->ask_effect, HF_EFFECT_REQUEST);
}

/* Take back a request that the engine has not heard of. */
static void unask(struct hf_core *core, struct hf_acquisition *a)
{
    if (!a->ask_effect.queued)
        return;
    hf_effect_remove(&core->effects, &a->ask_effect);
    a->ask.busy = false;
}

static bool enqueue_unanswered(const struct hf_acquisition *a)
{
    return a->ask.busy && a->ask.kind == HF_REQUEST_ENQUEUE;
}

static struct hf_withdrawal *free_abandoned(struct hf_acquisition *a)
{
    for (size_t i = 0; i < HF_ABANDONED_MAX; i++) {
        if (a->abandoned[i].state == HF_WITHDRAWAL_NONE)
            return &a->abandoned[i];
    }
    return NULL;
}

/* The last enqueue got no answer: remember its id for as long as it can
 * appear.  Without a lease there is no such time: the first request after it
 * sees it or it never was. */
static void abandon(struct hf_core *core, struct hf_acquisition *a, bool now)
{
    uint64_t timeout_ms = core->session.timeout_ms;
    uint64_t until_ms = timeout_ms == HF_FOREVER
                            ? 0
                            : hf_after_ms(a->enqueued_at_ms, timeout_ms);

    if (HF_PLANTED(ABANDONED_FORGOTTEN))
        return;
    hf_withdrawal_begin(free_abandoned(a), &a->ticket, until_ms, now);
}

static void pump_enqueue(struct hf_core *core, struct hf_acquisition *a)
{
    /* One slot is kept for this very enqueue, should it get no answer. */
    if (a->ask.busy || core->now_ms < a->enqueue_at_ms ||
        free_abandoned(a) == NULL)
        return;
    a->ticket = hf_random_ticket_id(&core->config.random);
    a->session = core->session.number;
    a->enqueued_at_ms = core->now_ms;
    a->waited = false;
    a->list_wanted = false;
    move(core, a, STATE(ENQUEUING));
    /* Before the ENQUEUE: a session that was idle for long is then proven by
     * the time the place is known. */
    hf_session_want_proof(&core->session, core->now_ms);
    ask(core, a, HF_REQUEST_ENQUEUE);
}

static void pump_list(struct hf_core *core, struct hf_acquisition *a)
{
    if (!a->list_wanted || a->ask.busy || core->now_ms < a->list_at_ms)
        return;
    a->list_wanted = false;
    ask(core, a, HF_REQUEST_LIST);
}

static void pump_watches(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_ticket_id ids[HF_WATCHED_MAX];
    size_t count = 0;
    bool may_ask =
        hf_session_usable(&core->session) && core->now_ms >= a->watch_at_ms;

    if (a->state == STATE(QUEUED)) {
        if (a->before_known && !HF_PLANTED(WATCH_OWN_ONLY))
            ids[count++] = a->before;
        if (a->beyond_known && core->config.traits & HF_ENGINE_LOOKS_AHEAD)
            ids[count++] = a->beyond;
    }
    if (a->state == STATE(QUEUED) || a->state == STATE(HELD))
        ids[count++] = a->ticket;
    hf_watches_follow(&a->watches, &core->effects, ids, count, may_ask);
}

static void pump_withdrawals(struct hf_core *core, struct hf_acquisition *a)
{
    if (!hf_session_usable(&core->session))
        return;
    hf_withdrawal_pump(&a->own, &core->effects, core->now_ms);
    for (size_t i = 0; i < HF_ABANDONED_MAX; i++)
        hf_withdrawal_pump(&a->abandoned[i], &core->effects, core->now_ms);
}

/* ------------------------------------------------------------ the end -- */

static void link_last(struct hf_core *core, struct hf_acquisition *a)
{
    a->previous = core->last;
    a->next = NULL;
    if (core->last != NULL)
        core->last->next = a;
    else
        core->first = a;
    core->last = a;
}

static void unlink(struct hf_core *core, struct hf_acquisition *a)
{
    if (a->previous != NULL)
        a->previous->next = a->next;
    else
        core->first = a->next;
    if (a->next != NULL)
        a->next->previous = a->previous;
    else
        core->last = a->previous;
}

bool hf_acquisition_lurks(const struct hf_acquisition *a)
{
    bool lurks = a->own.state != HF_WITHDRAWAL_NONE;

    for (size_t i = 0; i < HF_ABANDONED_MAX; i++)
        lurks |= a->abandoned[i].state != HF_WITHDRAWAL_NONE;
    return lurks;
}

/* Tell the owner, if it is time. */
static void tell(struct hf_core *core, struct hf_acquisition *a)
{
    if (a->told)
        return;
    if (a->state == STATE(RELEASING)) {
        if (a->own.state != HF_WITHDRAWAL_NONE)
            return;
        if (a->status == HF_OK && !a->own.found)
            a->status = HF_ELOST; /* somebody had removed it */
        hf_effect_add(&core->effects, &a->released_effect, HF_EFFECT_RELEASED);
    } else {
        if (enqueue_unanswered(a) && core->now_ms < a->tell_at_ms &&
            !core->session.closing)
            return;
        hf_effect_add(&core->effects, &a->answer_effect, HF_EFFECT_ENDED);
    }
    a->told = true;
}

/* Finish when nothing of it can be, or appear, in the queue, and the engine
 * has no request of it.  A FORGET on its way precedes FORGOTTEN. */
static void settle(struct hf_core *core, struct hf_acquisition *a)
{
    if (a->state != STATE(RELEASING) && a->state != STATE(WITHDRAWING))
        return;
    tell(core, a);
    if (!a->told || a->ask.busy || hf_acquisition_lurks(a))
        return;
    assert(!hf_watches_any(&a->watches));
    move(core, a, STATE(DONE));
    unlink(core, a);
    hf_effect_add(&core->effects, &a->forgotten_effect, HF_EFFECT_FORGOTTEN);
}

void hf_acquisition_pump(struct hf_core *core, struct hf_acquisition *a)
{
    if (hf_session_usable(&core->session)) {
        if (a->state == STATE(PAUSED))
            pump_enqueue(core, a);
        if (a->state == STATE(QUEUED) || a->state == STATE(UNSURE))
            pump_list(core, a);
    }
    pump_watches(core, a);
    pump_withdrawals(core, a);
    settle(core, a);
}

static void keep_story(struct hf_acquisition *a, const struct hf_error *why)
{
    a->status = why->status;
    memcpy(a->text, why->text, strlen(why->text) + 1);
}

void hf_acquisition_give_up(struct hf_core *core, struct hf_acquisition *a,
                            const struct hf_error *why)
{
    unsigned from = a->state;

    if (!is_waiting(a))
        return;
    unask(core, a);
    keep_story(a, why);
    if (HF_PLANTED(TEXT_MISSING))
        a->text[0] = '\0';
    a->tell_at_ms = hf_after_ms(core->now_ms, HF_PATIENCE_MS);
    if (from == STATE(UNSURE))
        abandon(core, a, true);
    if (from == STATE(QUEUED) && !HF_PLANTED(CANCEL_KEEPS_TICKET))
        hf_withdrawal_begin(&a->own, &a->ticket, 0, true);
    move(core, a, STATE(WITHDRAWING));
    hf_acquisition_pump(core, a);
}

/* ---------------------------------------------------------------- grants -- */

static void admit(struct hf_core *core, struct hf_acquisition *a)
{
    assert(a->state == STATE(QUEUED) && a->session == core->session.number);
    a->blocking = 0;
    hf_session_want_proof(&core->session, core->now_ms);
    if (!hf_session_may_admit(&core->session, core->now_ms)) {
        a->waited = true;
        return;
    }
    unask(core, a);
    a->list_wanted = false;
    a->before_known = a->beyond_known = false;
    if (!a->waited)
        a->watch_at_ms = hf_after_ms(core->now_ms, HF_OWN_WATCH_AFTER_MS);
    move(core, a, STATE(HELD));
    atomic_store(&a->promise_ms, core->session.safe_until_ms);
    hf_effect_add(&core->effects, &a->answer_effect, HF_EFFECT_GRANTED);
}

void hf_acquisition_lose(struct hf_core *core, struct hf_acquisition *a,
                         bool ticket_lives)
{
    assert(a->state == STATE(HELD));
    if (!HF_PLANTED(PROMISE_KEPT))
        atomic_store(&a->promise_ms, 0);
    move(core, a, STATE(LOST));
    if (ticket_lives)
        hf_withdrawal_begin(&a->own, &a->ticket, 0, true);
    if (HF_PLANTED(LOST_AFTER_WITHDRAW))
        hf_acquisition_pump(core, a);
    hf_effect_add(&core->effects, &a->lost_effect, HF_EFFECT_LOST);
}

/* ---------------------------------------------------------------- places -- */

/* The ticket is gone though nobody here withdrew it.  Back to the tail, but
 * not faster than a retry, lest we fight with whoever removes it. */
static void evicted(struct hf_core *core, struct hf_acquisition *a)
{
    unask(core, a);
    a->before_known = a->beyond_known = false;
    move(core, a, STATE(PAUSED));
    a->enqueue_at_ms = again_at_ms(core, &a->enqueue_retry);
}

static void end_wrong_kind(struct hf_core *core, struct hf_acquisition *a,
                           const struct hf_ticket *ahead)
{
    struct hf_error why;

    hf_error_set(&why, HF_EKIND,
                 "the name is in use %s (by \"%.200s\"), and this is %s; use "
                 "another name or the same kind of lock",
                 ahead->kind == HF_TICKET_MUTEX ? "as a mutex"
                                                : "as a read/write lock",
                 ahead->payload,
                 a->kind == HF_TICKET_MUTEX ? "a mutex" : "a read/write lock");
    hf_acquisition_give_up(core, a, &why);
}

static void end_busy(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_error why;

    if (a->holder[0] == '\0')
        hf_error_set(&why, HF_EBUSY, "somebody else is ahead in the queue");
    else
        hf_error_set(&why, HF_EBUSY, "held by \"%s\"", a->holder);
    hf_acquisition_give_up(core, a, &why);
}

/* Note the place for whoever wants to hear of it. */
static void describe_place(struct hf_acquisition *a,
                           const struct hf_admission *admission,
                           const struct hf_snapshot *snapshot)
{
    const char *payload = snapshot->tickets[0].payload;
    size_t bytes = strlen(payload);

    a->ahead = (uint32_t)admission->ahead;
    if (admission->ahead == 0)
        bytes = 0; /* that is us */
    if (bytes >= sizeof a->holder)
        bytes = hf_utf8_cut(payload, sizeof a->holder - 1);
    memcpy(a->holder, payload, bytes);
    a->holder[bytes] = '\0';
}

static void take_place(struct hf_core *core, struct hf_acquisition *a,
                       const struct hf_admission *admission)
{
    a->blocking = admission->blocking;
    a->before_known = admission->before != NULL;
    if (a->before_known)
        a->before = admission->before->id;
    a->beyond_known = admission->beyond != NULL;
    if (a->beyond_known)
        a->beyond = admission->beyond->id;
    a->gone_admits = admission->gone_admits;
    a->stale = core->session.state != HF_STATE_CONNECTED;
}

static void report(struct hf_core *core, struct hf_acquisition *a)
{
    if (!a->waiting_effect.queued)
        hf_effect_add(&core->effects, &a->waiting_effect, HF_EFFECT_WAITING);
    a->report_at_ms = a->report_every_ms == 0
                          ? HF_FOREVER
                          : hf_after_ms(core->now_ms, a->report_every_ms);
}

/* The ticket is in the queue and this is the queue: go by the rule. */
static void decide(struct hf_core *core, struct hf_acquisition *a,
                   const struct hf_snapshot *snapshot)
{
    struct hf_admission admission = hf_admission_decide(snapshot, &a->ticket);

    assert(a->state == STATE(QUEUED));
    if (admission.answer == HF_MISSING) {
        evicted(core, a);
        return;
    }
    describe_place(a, &admission, snapshot);
    take_place(core, a, &admission);
    if (admission.answer == HF_WRONG_KIND) {
        end_wrong_kind(core, a, admission.before);
        return;
    }
    if (admission.answer == HF_ADMITTED ||
        (a->only_try && HF_PLANTED(TRY_BARGES)))
        admit(core, a);
    else if (a->only_try)
        end_busy(core, a);
    if (a->state != STATE(QUEUED))
        return;
    a->waited = true;
    if (a->blocking <= 1)
        hf_session_want_proof(&core->session, core->now_ms);
    report(core, a);
}

/* ${why} is worth a retry of the enqueue, if the policy allows another. */
static void enqueue_again(struct hf_core *core, struct hf_acquisition *a,
                          const struct hf_error *why)
{
    uint64_t at_ms = core->now_ms;

    /* A link that dropped is waited for and counts for nothing. */
    if (core->session.state == HF_STATE_CONNECTED) {
        at_ms = hf_retry_next(&core->config.retry, &a->enqueue_retry,
                              core->now_ms, &core->config.random);
        at_ms = hf_later_ms(at_ms, hf_after_ms(core->now_ms, 1));
    }
    move(core, a, STATE(PAUSED));
    a->enqueue_at_ms = at_ms;
    if (at_ms == HF_FOREVER)
        hf_acquisition_give_up(core, a, why);
}

/* The ticket was put into the queue, or found there.  A queue without it
 * means that it has gone again. */
static void placed(struct hf_core *core, struct hf_acquisition *a,
                   const struct hf_snapshot *snapshot)
{
    size_t place = hf_snapshot_find(snapshot, &a->ticket);
    struct hf_error why;

    if (place == snapshot->count) {
        hf_error_set(&why, HF_EPROTOCOL,
                     "the ticket was gone as soon as it was in the queue; see "
                     "who removes tickets there");
        enqueue_again(core, a, &why);
        return;
    }
    a->enqueue_retry = (struct hf_retry_state){0};
    if (!HF_PLANTED(TOKEN_KEPT) || a->token == 0)
        a->token = snapshot->tickets[place].token;
    a->watch_at_ms = 0;
    a->watch_retry = (struct hf_retry_state){0};
    move(core, a, STATE(QUEUED));
    decide(core, a, snapshot);
}

/* --------------------------------------------------------------- answers -- */

static void story(struct hf_error *why, const struct hf_event *event)
{
    hf_status status = event->as.answer.status;

    hf_error_set(why, status == HF_OK ? HF_EPROTOCOL : status, "%s",
                 event->as.answer.text);
}

static void enqueued(struct hf_core *core, struct hf_acquisition *a,
                     const struct hf_snapshot *snapshot)
{
    if (a->state == STATE(ENQUEUING))
        placed(core, a, snapshot);
    else if (!HF_PLANTED(CANCEL_KEEPS_TICKET)) /* given up meanwhile */
        hf_withdrawal_begin(&a->own, &a->ticket, 0, true);
}

static void enqueue_failed(struct hf_core *core, struct hf_acquisition *a,
                           const struct hf_event *event)
{
    bool unsure = event->as.answer.failure == HF_FAILURE_UNSURE;
    struct hf_error why;

    if (a->state != STATE(ENQUEUING)) { /* given up meanwhile */
        if (unsure)
            abandon(core, a, true);
        return;
    }
    story(&why, event);
    if (event->as.answer.failure == HF_FAILURE_FATAL) {
        hf_acquisition_give_up(core, a, &why);
    } else if (unsure) {
        keep_story(a, &why); /* told if no retry is left */
        a->list_wanted = true;
        a->list_at_ms = 0;
        move(core, a, STATE(UNSURE));
    } else {
        enqueue_again(core, a, &why);
    }
}

/* Looked for the ticket of an enqueue without an answer. */
static void looked(struct hf_core *core, struct hf_acquisition *a,
                   const struct hf_snapshot *snapshot)
{
    struct hf_error why;

    if (hf_snapshot_find(snapshot, &a->ticket) != snapshot->count) {
        placed(core, a, snapshot);
        return;
    }
    hf_error_set(&why, a->status, "%s", a->text);
    if (core->session.timeout_ms != HF_FOREVER)
        abandon(core, a, false);
    enqueue_again(core, a, &why);
}

static void listed(struct hf_core *core, struct hf_acquisition *a,
                   const struct hf_snapshot *snapshot)
{
    a->list_retry = (struct hf_retry_state){0};
    if (a->list_wanted)
        return; /* out of date already; the pump lists again */
    if (a->state == STATE(UNSURE))
        looked(core, a, snapshot);
    else if (a->state == STATE(QUEUED))
        decide(core, a, snapshot);
    else if (a->state == STATE(HELD) &&
             hf_snapshot_find(snapshot, &a->ticket) == snapshot->count)
        hf_acquisition_lose(core, a, false);
    else if (a->state == STATE(HELD) && HF_PLANTED(GRANTED_TWICE) &&
             !a->answer_effect.queued)
        hf_effect_add(&core->effects, &a->answer_effect, HF_EFFECT_GRANTED);
}

static void list_failed(struct hf_core *core, struct hf_acquisition *a,
                        const struct hf_event *event)
{
    struct hf_error why;

    if (a->state != STATE(UNSURE) && a->state != STATE(QUEUED))
        return;
    if (event->as.answer.failure == HF_FAILURE_FATAL) {
        story(&why, event);
        hf_acquisition_give_up(core, a, &why);
        return;
    }
    a->list_wanted = true;
    a->list_at_ms = again_at_ms(core, &a->list_retry);
}

/* One of the tickets ahead is gone. */
static void one_less(struct hf_core *core, struct hf_acquisition *a,
                     const struct hf_ticket_id *gone)
{
    bool admits = core->config.traits & HF_ENGINE_GONE_ADMITS && !a->stale &&
                  a->gone_admits;

    if (a->before_known && hf_ticket_id_equal(gone, &a->before))
        a->before_known = false;
    else if (a->beyond_known && hf_ticket_id_equal(gone, &a->beyond))
        a->beyond_known = false;
    else
        return; /* of an older place */
    assert(a->blocking > 0);
    a->blocking--;
    if (HF_PLANTED(GONE_SKIPS_ONE) && a->blocking == 1)
        a->blocking = 0;
    if ((a->blocking == 0 && admits) || HF_PLANTED(ADMIT_ON_ANY_GONE))
        admit(core, a);
    if (a->state != STATE(QUEUED))
        return;
    if (a->blocking == 1)
        hf_session_want_proof(&core->session, core->now_ms);
    a->list_wanted = !HF_PLANTED(NO_LIST_AFTER_GONE);
}

static void gone(struct hf_core *core, struct hf_acquisition *a,
                 struct hf_request *request)
{
    struct hf_ticket_id id = request->ticket;
    bool own = hf_ticket_id_equal(&id, &a->ticket);

    if (HF_PLANTED(GONE_FORGOTTEN) && a->ask.busy)
        return;
    if (!hf_watches_end(&a->watches, &core->effects, request))
        return;
    if (a->state == STATE(HELD) && own)
        hf_acquisition_lose(core, a, false);
    else if (a->state == STATE(QUEUED) && own)
        evicted(core, a);
    else if (a->state == STATE(QUEUED))
        one_less(core, a, &id);
}

static void watch_failed(struct hf_core *core, struct hf_acquisition *a,
                         const struct hf_event *event)
{
    struct hf_error why;

    if (!hf_watches_end(&a->watches, &core->effects, event->as.answer.request))
        return;
    if (event->as.answer.failure == HF_FAILURE_FATAL &&
        a->state == STATE(QUEUED)) {
        story(&why, event);
        hf_acquisition_give_up(core, a, &why);
        return;
    }
    a->watch_at_ms = again_at_ms(core, &a->watch_retry);
}

static struct hf_withdrawal *withdrawal_of(struct hf_acquisition *a,
                                           const struct hf_request *request)
{
    if (request == &a->own.request)
        return &a->own;
    for (size_t i = 0; i < HF_ABANDONED_MAX; i++) {
        if (request == &a->abandoned[i].request)
            return &a->abandoned[i];
    }
    assert(!"a withdraw that is none of this acquisition's");
    return NULL;
}

static void failed(struct hf_core *core, struct hf_acquisition *a,
                   const struct hf_event *event)
{
    struct hf_withdrawal *withdrawal;

    switch (event->as.answer.request->kind) {
    case HF_REQUEST_ENQUEUE:
        a->ask.busy = false;
        enqueue_failed(core, a, event);
        break;
    case HF_REQUEST_LIST:
        a->ask.busy = false;
        list_failed(core, a, event);
        break;
    case HF_REQUEST_WATCH:
        watch_failed(core, a, event);
        break;
    case HF_REQUEST_WITHDRAW:
        withdrawal = withdrawal_of(a, event->as.answer.request);
        hf_withdrawal_failed(withdrawal, event->as.answer.failure,
                             again_at_ms(core, &withdrawal->retry));
        break;
    case HF_REQUEST_PROVE:
    case HF_REQUEST_END:
        assert(!"a request of the session's");
    }
}

void hf_acquisition_answered(struct hf_core *core, struct hf_acquisition *a,
                             const struct hf_event *event)
{
    struct hf_request *request = event->as.answer.request;

    assert(request->acquisition == a);
    assert(!request->effect->queued ||
           request->effect->kind == HF_EFFECT_FORGET);
    switch (event->kind) {
    case HF_EVENT_ENQUEUED:
        assert(request == &a->ask && a->ask.busy);
        a->ask.busy = false;
        enqueued(core, a, &event->as.answer.snapshot);
        break;
    case HF_EVENT_LISTED:
        assert(request == &a->ask && a->ask.busy);
        a->ask.busy = false;
        listed(core, a, &event->as.answer.snapshot);
        break;
    case HF_EVENT_WATCHING:
        request->busy = false;
        a->watch_retry = (struct hf_retry_state){0};
        break;
    case HF_EVENT_GONE:
        gone(core, a, request);
        break;
    case HF_EVENT_WITHDRAWN:
        hf_withdrawal_done(withdrawal_of(a, request), event->as.answer.found);
        break;
    case HF_EVENT_FAILED:
        failed(core, a, event);
        break;
    default:
        assert(!"not an answer to an acquisition");
    }
    hf_acquisition_pump(core, a);
}

/* ------------------------------------------------------------- the user -- */

static void init(struct hf_core *core, struct hf_acquisition *a)
{
    const struct hf_session *session = &core->session;

    a->started_at_ms = core->now_ms;
    a->connect_by_ms = hf_after_ms(core->now_ms, core->config.connect_ms);
    if (core->now_ms < session->connect_by_ms && !session->ever_connected)
        a->connect_by_ms = session->connect_by_ms;
    a->report_at_ms = HF_FOREVER;
    a->ask.queue = a->queue;
    a->ask.payload = a->payload;
    a->ask.ticket_kind = a->kind;
    a->ask.acquisition = a;
    a->ask.effect = &a->ask_effect;
    a->ask_effect.request = &a->ask;
    a->ask_effect.acquisition = a;
    a->answer_effect.acquisition = a;
    a->lost_effect.acquisition = a;
    a->waiting_effect.acquisition = a;
    a->released_effect.acquisition = a;
    a->forgotten_effect.acquisition = a;
    hf_watches_init(&a->watches, a, a->queue);
    hf_withdrawal_init(&a->own, a, a->queue);
    for (size_t i = 0; i < HF_ABANDONED_MAX; i++)
        hf_withdrawal_init(&a->abandoned[i], a, a->queue);
}

void hf_acquisition_want(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_error why;

    assert(a->state == STATE(IDLE) && a->queue != NULL && a->payload != NULL);
    init(core, a);
    link_last(core, a);
    move(core, a, STATE(PAUSED));
    if (core->session.closing) {
        hf_error_set(&why, HF_ECLOSED, "the client is closed");
        hf_acquisition_give_up(core, a, &why);
        return;
    }
    hf_acquisition_pump(core, a);
}

void hf_acquisition_cancel(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_error why;

    if (HF_PLANTED(ENDED_AFTER_GRANTED) && a->state == STATE(HELD) &&
        !a->answer_effect.queued)
        hf_effect_add(&core->effects, &a->answer_effect, HF_EFFECT_ENDED);
    hf_error_set(&why, HF_ECANCELLED, "the wait was cancelled");
    hf_acquisition_give_up(core, a, &why);
}

void hf_acquisition_release(struct hf_core *core, struct hf_acquisition *a)
{
    assert(a->state == STATE(HELD) || a->state == STATE(LOST));
    a->status = a->state == STATE(HELD) ? HF_OK : HF_ELOST;
    hf_effect_remove(&core->effects, &a->lost_effect);
    if (a->state == STATE(HELD)) {
        atomic_store(&a->promise_ms, 0);
        hf_withdrawal_begin(&a->own, &a->ticket, 0, true);
    }
    move(core, a, STATE(RELEASING));
    hf_acquisition_pump(core, a);
}

/* ----------------------------------------------------------- the session -- */

void hf_acquisition_connected(struct hf_core *core, struct hf_acquisition *a)
{
    if (a->state == STATE(QUEUED)) {
        a->stale = true;
        a->list_wanted = true;
        a->list_at_ms = 0;
        a->watch_at_ms = 0;
    }
    hf_acquisition_pump(core, a);
}

void hf_acquisition_suspended(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_error why;

    a->stale = true;
    if (HF_PLANTED(SUSPENDED_ENDS)) {
        hf_error_set(&why, HF_EUNREACHABLE, "planted");
        hf_acquisition_give_up(core, a, &why);
    }
}

void hf_acquisition_proven(struct hf_core *core, struct hf_acquisition *a)
{
    if (a->state == STATE(HELD))
        atomic_store(&a->promise_ms, core->session.safe_until_ms);
    if (a->state != STATE(QUEUED) || a->blocking > 0 || a->stale ||
        HF_PLANTED(PROOF_NOT_HEARD) ||
        !hf_session_may_admit(&core->session, core->now_ms))
        return;
    a->list_wanted = true;
    hf_acquisition_pump(core, a);
}

void hf_acquisition_session_over(struct hf_core *core, struct hf_acquisition *a)
{
    assert(a->state != STATE(HELD));
    unask(core, a);
    /* The engine has answered everything before it reported this. */
    assert(!a->ask.busy);
    hf_watches_clear(&a->watches, &core->effects);
    hf_withdrawal_clear(&a->own, &core->effects);
    for (size_t i = 0; i < HF_ABANDONED_MAX; i++)
        hf_withdrawal_clear(&a->abandoned[i], &core->effects);
    if (is_waiting(a) && a->state != STATE(PAUSED)) {
        a->before_known = a->beyond_known = false;
        a->enqueue_at_ms = 0;
        move(core, a, STATE(PAUSED));
    }
    settle(core, a);
}

void hf_acquisition_look(struct hf_acquisition *a,
                         const struct hf_snapshot *snapshot)
{
    for (size_t i = 0; i < HF_ABANDONED_MAX; i++)
        hf_withdrawal_look(&a->abandoned[i], snapshot);
}

bool hf_acquisition_needs_proof(const struct hf_acquisition *a)
{
    return a->state == STATE(HELD) || a->state == STATE(ENQUEUING) ||
           (a->state == STATE(QUEUED) && a->blocking <= 1);
}

/* ------------------------------------------------------------- the clock -- */

/* When the wait has to end, whatever comes. */
static uint64_t limit_ms(const struct hf_core *core,
                         const struct hf_acquisition *a)
{
    uint64_t at_ms = a->deadline_at_ms;

    if (core->session.closing)
        return HF_FOREVER;
    if (a->only_try)
        at_ms = hf_after_ms(a->started_at_ms, core->config.connect_ms);
    if (!core->session.ever_connected)
        at_ms = hf_earlier_ms(at_ms, a->connect_by_ms);
    return at_ms;
}

static void end_overdue(struct hf_core *core, struct hf_acquisition *a)
{
    uint64_t waited_ms = core->now_ms - a->started_at_ms;
    struct hf_error why;

    if (!core->session.ever_connected)
        hf_error_set(&why, HF_EUNREACHABLE,
                     "no connection to the engine within %" PRIu64
                     " ms; see that it runs and that the URL is right",
                     waited_ms);
    else if (a->only_try)
        hf_error_set(&why, HF_EUNREACHABLE,
                     "the engine gave no answer within %" PRIu64
                     " ms; the session is %s",
                     waited_ms, hf_state_name(core->session.state));
    else if (a->state != STATE(QUEUED))
        hf_error_set(&why, HF_ETIMEDOUT,
                     "not in the queue after %" PRIu64 " ms; the session is %s",
                     waited_ms, hf_state_name(core->session.state));
    else
        hf_error_set(&why, HF_ETIMEDOUT,
                     "waited %" PRIu64 " ms; ahead: %" PRIu32
                     ", held by \"%s\"",
                     waited_ms, a->ahead, a->holder);
    hf_acquisition_give_up(core, a, &why);
}

void hf_acquisition_tick(struct hf_core *core, struct hf_acquisition *a)
{
    if (is_waiting(a) && core->now_ms >= limit_ms(core, a)) {
        end_overdue(core, a);
        return;
    }
    if (a->state == STATE(QUEUED) && core->now_ms >= a->report_at_ms &&
        hf_session_usable(&core->session)) {
        a->report_at_ms = hf_after_ms(core->now_ms, a->report_every_ms);
        a->list_wanted = true;
    }
    hf_acquisition_pump(core, a);
}

/* When a request is due, which can be asked only while CONNECTED. */
static uint64_t request_at_ms(const struct hf_core *core,
                              const struct hf_acquisition *a)
{
    uint64_t at_ms = hf_withdrawal_wake_at_ms(&a->own);

    for (size_t i = 0; i < HF_ABANDONED_MAX; i++)
        at_ms =
            hf_earlier_ms(at_ms, hf_withdrawal_wake_at_ms(&a->abandoned[i]));
    if (a->state == STATE(PAUSED) && a->enqueue_at_ms > core->now_ms)
        at_ms = hf_earlier_ms(at_ms, a->enqueue_at_ms);
    if ((a->state == STATE(QUEUED) || a->state == STATE(UNSURE)) &&
        a->list_wanted && !a->ask.busy)
        at_ms = hf_earlier_ms(at_ms, a->list_at_ms);
    if ((a->state == STATE(QUEUED) || a->state == STATE(HELD)) &&
        a->watch_at_ms > core->now_ms)
        at_ms = hf_earlier_ms(at_ms, a->watch_at_ms);
    if (a->state == STATE(QUEUED))
        at_ms = hf_earlier_ms(at_ms, a->report_at_ms);
    return at_ms;
}

uint64_t hf_acquisition_wake_at_ms(const struct hf_core *core,
                                   const struct hf_acquisition *a)
{
    uint64_t at_ms = HF_FOREVER;

    if (hf_session_usable(&core->session))
        at_ms = request_at_ms(core, a);
    if (is_waiting(a))
        at_ms = hf_earlier_ms(at_ms, limit_ms(core, a));
    if (a->state == STATE(WITHDRAWING) && !a->told)
        at_ms = hf_earlier_ms(at_ms, a->tell_at_ms);
    if (a->state == STATE(HELD))
        at_ms = hf_earlier_ms(at_ms, core->session.safe_until_ms);
    return at_ms;
}

/* ------------------------------------------------------------ invariants -- */

void hf_acquisition_check(const struct hf_core *core,
                          const struct hf_acquisition *a)
{
    uint64_t promise_ms = atomic_load(&a->promise_ms);
    bool in_queue = a->state == STATE(QUEUED) || a->state == STATE(HELD);

    assert(a->state > STATE(IDLE) && a->state < STATE(DONE));
    assert(promise_ms ==
           (a->state == STATE(HELD) ? core->session.safe_until_ms : 0));
    assert(a->state != STATE(HELD) || promise_ms > 0);
    assert(!in_queue || a->session == core->session.number);
    assert(!in_queue || hf_session_alive(&core->session));
    assert(in_queue || !hf_watches_any(&a->watches));
    assert((a->state == STATE(ENQUEUING)) <= enqueue_unanswered(a));
    assert(!enqueue_unanswered(a) || a->state == STATE(ENQUEUING) ||
           a->state == STATE(WITHDRAWING));
    assert(!a->ask_effect.queued || a->ask.busy);
    assert(a->own.state == HF_WITHDRAWAL_NONE || a->state >= STATE(LOST));
    assert(!a->told || a->state >= STATE(RELEASING));
    assert(a->state != STATE(QUEUED) || a->blocking > 0 || !a->before_known);
    assert(!is_waiting(a) || !core->session.closing);
}
