/* SPDX-License-Identifier: Apache-2.0 */
/* Polls: ask the server whether the watched tickets are still there, and
 * whether a watched queue has changed since it was listed.  Usually a notice
 * comes first.  But a notice can be lost, and no notice is sent for an expired
 * ticket until somebody uses its queue.
 *
 * A poll is an EXISTS of the watched tickets, and a LIST of a watched queue,
 * because the ids of new tickets are not known.  The watches get the answer.
 * This file also begins ticket watches, because a watch may begin with a
 * poll. */
#include <assert.h>

#include "base/memory.h"
#include "base/time_math.h"
#include "engines/leased/leased_private.h"

/* After a failed poll, the next poll comes 1/16 of a ttl later. */
#define RETRY_TTL_SHARE 16

/* --------------------------------------------------------------- answers -- */

static const struct hf_ticket *find_ticket(const struct hf_store_answer *answer,
                                           const struct hf_ticket_id *id)
{
    for (size_t i = 0; i < answer->count; i++) {
        if (hf_ticket_id_equal(&answer->tickets[i].id, id))
            return &answer->tickets[i];
    }
    return NULL;
}

/* A poll failed: poll again soon.  Each WATCH that waits for this poll
 * fails. */
static void failed(struct hf_leased *leased, struct hf_leased_call *call,
                   const struct hf_store_answer *answer)
{
    uint64_t soon_ms = hf_max_ms(leased->config.ttl_ms / RETRY_TTL_SHARE,
                                 HF_LEASED_EXPIRY_SLACK_MS);

    /* NULL means that the link ended; the next link polls everything */
    if (answer != NULL)
        hf_leased_queue_poll_by(&leased->queue_table, call->queue,
                                hf_after_ms(leased->now_ms, soon_ms));
    hf_leased_watches_fail(leased, call, answer);
}

/* Handle the answer to an EXISTS: tickets that it does not have are gone. */
static void polled(struct hf_leased *leased, struct hf_leased_call *call,
                   const struct hf_store_answer *answer)
{
    if (answer == NULL || !answer->ok) {
        failed(leased, call, answer);
        return;
    }
    hf_leased_poll_plan(leased, call->queue, answer);
    for (size_t i = 0; i < call->store_call.count; i++) {
        const struct hf_ticket_id *id = &call->store_call.tickets[i];
        const struct hf_ticket *ticket = find_ticket(answer, id);

        if (ticket != NULL)
            hf_leased_watches_found(leased, call->queue, id, ticket->kind);
        else
            hf_leased_ticket_gone(leased, call->queue->name, id,
                                  HF_LEASED_MISSING, NULL);
    }
}

/* Handle the answer to a LIST of a watched queue, or of its participants. */
static void relisted(struct hf_leased *leased, struct hf_leased_call *call,
                     const struct hf_store_answer *answer)
{
    if (answer == NULL || !answer->ok) {
        failed(leased, call, answer);
        return;
    }
    hf_leased_poll_plan(leased, call->queue, answer);
    hf_leased_queue_watches_relisted(leased, call, answer);
}

/* ----------------------------------------------------------------- calls -- */

/* Make an EXISTS with room for ${count} ids.  Returns NULL if memory runs
 * out. */
static struct hf_leased_call *exists_call_new(struct hf_leased *leased,
                                              const char *queue, size_t count)
{
    struct hf_leased_call *call =
        hf_leased_call_new(leased, HF_STORE_EXISTS, queue, NULL);

    if (call == NULL)
        return NULL;
    call->memory = hf_alloc(count * sizeof(struct hf_ticket_id));
    if (call->memory == NULL) {
        hf_leased_call_free(leased, call);
        return NULL;
    }
    call->store_call.tickets = call->memory;
    return call;
}

static void add_id(struct hf_leased_call *call, const struct hf_ticket_id *id)
{
    struct hf_ticket_id *ids = call->memory;

    ids[call->store_call.count++] = *id;
}

/* Poll for the ticket of ${watch} now; the answer decides its WATCH.  Returns
 * false if memory runs out. */
static bool poll_for(struct hf_leased *leased, struct hf_leased_watch *watch)
{
    struct hf_leased_call *call =
        exists_call_new(leased, watch->queue->name, 1);

    assert(!watch->watching && watch->call_number == 0);
    if (call == NULL)
        return false;
    add_id(call, &watch->id);
    watch->call_number = leased->calls.number + 1;
    hf_leased_call_begin(leased, call, polled);
    assert(watch->call_number == call->number);
    return true;
}

/* Returns whether a poll must ask for the ticket of ${watch}.  Renewals show
 * whether our own tickets are there, so these need no poll. */
static bool needs_poll(const struct hf_leased *leased,
                       const struct hf_leased_watch *watch)
{
    const struct hf_leased_ticket *ticket =
        hf_leased_ticket_find(leased, &watch->id);

    return ticket == NULL || ticket->state != HF_LEASED_TICKET_PRESENT;
}

/* Returns the number of ids that a poll of ${queue} must ask for. */
static size_t count_polled(const struct hf_leased *leased,
                           const struct hf_leased_queue *queue)
{
    const struct hf_leased_watch *watch;
    size_t count = 0;

    for (watch = queue->watches; watch != NULL; watch = watch->next)
        count += needs_poll(leased, watch) ? 1 : 0;
    return count;
}

/* Send a LIST of the participants of ${queue}, or of its tickets, if a queue
 * watch has listed them. */
static void relist(struct hf_leased *leased, struct hf_leased_queue *queue,
                   bool participants)
{
    const struct hf_leased_queue_watch *queue_watch =
        hf_leased_queue_watch_listed(queue, participants);
    struct hf_leased_call *call;

    if (queue_watch == NULL)
        return;
    call = hf_leased_call_new(leased, HF_STORE_LIST, queue->name, NULL);
    if (call == NULL) {
        hf_leased_poll_later(leased, queue);
        return;
    }
    call->store_call.ticket_kind = queue_watch->request->ticket_kind;
    hf_leased_call_begin(leased, call, relisted);
}

/* Send an EXISTS for the ${count} tickets of ${queue} that a poll must ask
 * for. */
static void poll_tickets(struct hf_leased *leased,
                         struct hf_leased_queue *queue, size_t count)
{
    const struct hf_leased_watch *watch;
    struct hf_leased_call *call;

    call = exists_call_new(leased, queue->name, count);
    if (call == NULL) {
        hf_leased_poll_later(leased, queue);
        return;
    }
    for (watch = queue->watches; watch != NULL; watch = watch->next) {
        if (needs_poll(leased, watch))
            add_id(call, &watch->id);
    }
    hf_leased_call_begin(leased, call, polled);
}

static void poll_queue(struct hf_leased *leased, struct hf_leased_queue *queue)
{
    size_t count = count_polled(leased, queue);

    queue->poll_at_ms = HF_FOREVER;
    if (count > 0)
        poll_tickets(leased, queue, count);
    relist(leased, queue, false);
    relist(leased, queue, true);
}

void hf_leased_poll_all(struct hf_leased *leased)
{
    struct hf_leased_queue *queue;

    for (queue = leased->queue_table.first; queue != NULL; queue = queue->next)
        poll_queue(leased, queue);
}

void hf_leased_poll_tick(struct hf_leased *leased)
{
    struct hf_leased_queue *queue;

    if (leased->now_ms < leased->queue_table.poll_at_ms)
        return;
    leased->queue_table.poll_at_ms = HF_FOREVER;
    for (queue = leased->queue_table.first; queue != NULL;
         queue = queue->next) {
        if (queue->poll_at_ms <= leased->now_ms)
            poll_queue(leased, queue);
        else
            hf_leased_queue_poll_by(&leased->queue_table, queue,
                                    queue->poll_at_ms);
    }
}

/* ----------------------------------------------- beginning of a watch -- */

/* Returns whether the ticket is ours and was at the server by the last
 * answer. */
static bool is_present(const struct hf_leased_ticket *ticket)
{
    return ticket != NULL && ticket->state == HF_LEASED_TICKET_PRESENT;
}

void hf_leased_watch(struct hf_leased *leased, struct hf_request *request)
{
    struct hf_leased_ticket *ticket =
        hf_leased_ticket_find(leased, &request->ticket);
    struct hf_leased_watch *watch = hf_leased_watch_new(leased, request);

    if (watch == NULL) {
        hf_leased_fail_no_memory(leased, request);
        return;
    }
    if (!is_present(ticket)) {
        if (!poll_for(leased, watch)) {
            hf_leased_watch_forget(leased, watch);
            hf_leased_fail_no_memory(leased, request);
        }
        return;
    }
    if (ticket->loss_unreported) {
        char *why = ticket->why;

        ticket->why = NULL;
        hf_leased_ticket_remove(leased, ticket);
        hf_leased_watch_notify_gone(
            leased, watch, why != NULL ? why : HF_LEASED_MISSING, NULL);
        hf_free(why);
        return;
    }
    if (watch->kind == HF_TICKET_WRITE && ticket->kind == HF_TICKET_READ) {
        hf_leased_watch_notify_gone(leased, watch, NULL, NULL);
        return;
    }
    hf_leased_watch_notify_watching(leased, watch);
    ticket = hf_leased_ticket_find(leased, &request->ticket);
    if (ticket != NULL)
        hf_leased_watches_notify_revoked(leased, ticket);
}
