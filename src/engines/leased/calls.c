/* SPDX-License-Identifier: Apache-2.0 */
/* See calls.h: the list of calls that were sent, and the list of calls that
 * wait until they may be sent. */
#include "engines/leased/calls.h"

#include <assert.h>

#include "base/memory.h"
#include "base/time_math.h"
#include "engines/leased/leased_private.h"

/* Bounds of the timeout of a call.  A renewal is sent 5/16 of a ttl after the
 * last one and times out 1/3 of a ttl later.  Then about 1/3 of the ttl is left
 * to reach the server again.  The minimum gives a busy server time to answer.
 * The maximum is as long as people wait for a server that is gone. */
#define CALL_TIMEOUT_MIN_MS UINT64_C(500)
#define CALL_TIMEOUT_MAX_MS UINT64_C(10000)

uint64_t hf_leased_call_timeout_ms(uint64_t ttl_ms)
{
    return hf_min_ms(hf_max_ms(ttl_ms / 3, CALL_TIMEOUT_MIN_MS),
                     CALL_TIMEOUT_MAX_MS);
}

struct hf_leased_call *hf_leased_call_new(struct hf_leased *leased,
                                          enum hf_store_call_kind kind,
                                          const char *queue,
                                          struct hf_request *request)
{
    struct hf_leased_call *call = hf_alloc(sizeof *call);

    if (call == NULL)
        return NULL;
    call->store_call.kind = kind;
    call->store_call.session = leased->session.name;
    call->store_call.ttl_ms = leased->config.ttl_ms;
    call->request = request;
    if (queue == NULL)
        return call;
    if ((call->queue = hf_leased_queue_ref(&leased->queue_table, queue)) ==
        NULL) {
        hf_free(call);
        return NULL;
    }
    call->store_call.queue = call->queue->name;
    return call;
}

static void append(struct hf_leased_call_list *list,
                   struct hf_leased_call *call)
{
    call->next = NULL;
    call->previous = list->last;
    if (list->last != NULL)
        list->last->next = call;
    else
        list->first = call;
    list->last = call;
}

static void unlink_call(struct hf_leased_call_list *list,
                        struct hf_leased_call *call)
{
    if (call->previous != NULL)
        call->previous->next = call->next;
    else
        list->first = call->next;
    if (call->next != NULL)
        call->next->previous = call->previous;
    else
        list->last = call->previous;
}

/* Returns the latest time, by the server's clock, at which a call that is made
 * now may take effect: one ttl from now.  The server's clock is known from the
 * last answer, and is taken to run as ours since then. */
static uint64_t not_after_ms(const struct hf_leased *leased)
{
    const struct hf_leased_calls *calls = &leased->calls;
    uint64_t since_ms = leased->now_ms - calls->server_clock_at_ms;

    return hf_after_ms(hf_after_ms(calls->server_ms, since_ms),
                       leased->config.ttl_ms);
}

/* Hand ${call} to the store.  Its deadline and .not_after_ms are set here and
 * not in hf_leased_call_begin(), because the call may have waited. */
static void send(struct hf_leased *leased, struct hf_leased_call *call)
{
    assert(leased->session.linked);
    call->sent_at_ms = leased->now_ms;
    call->deadline_at_ms = hf_after_ms(
        leased->now_ms, hf_leased_call_timeout_ms(leased->config.ttl_ms));
    call->store_call.not_after_ms = not_after_ms(leased);
    append(&leased->calls.sent, call);
    leased->calls.sent_count++;
    leased->store_ops.call(leased->store, &call->store_call);
}

static bool may_send(const struct hf_leased *leased)
{
    return leased->calls.sent_count < HF_LEASED_CALLS_SENT_MAX;
}

/* Returns whether ${call} is sent although other calls wait.  For a
 * CLOSE_SESSION that is right: it removes the tickets of all calls that were
 * sent, and the waiting calls, which have enqueued nothing, are not sent any
 * more. */
static bool skips_the_wait(const struct hf_leased_call *call)
{
    return call->store_call.kind == HF_STORE_RENEW ||
           call->store_call.kind == HF_STORE_CLOSE_SESSION;
}

void hf_leased_call_begin(struct hf_leased *leased, struct hf_leased_call *call,
                          hf_leased_answered_fn *answered)
{
    struct hf_leased_calls *calls = &leased->calls;

    call->answered = answered;
    call->number = ++calls->number;
    if (skips_the_wait(call) ||
        (calls->waiting.first == NULL && may_send(leased)))
        send(leased, call);
    else
        append(&calls->waiting, call);
}

/* Send waiting calls while there is room.  Nothing is sent after the session's
 * own CLOSE_SESSION, because an ENQUEUE behind it would leave a ticket. */
static void send_waiting(struct hf_leased *leased)
{
    struct hf_leased_calls *calls = &leased->calls;

    while (calls->waiting.first != NULL && may_send(leased) &&
           hf_leased_session_usable(&leased->session)) {
        struct hf_leased_call *call = calls->waiting.first;

        unlink_call(&calls->waiting, call);
        send(leased, call);
    }
}

void hf_leased_call_free(struct hf_leased *leased, struct hf_leased_call *call)
{
    if (call->queue != NULL)
        hf_leased_queue_unref(&leased->queue_table, call->queue);
    hf_free(call->memory);
    hf_free(call);
}

void hf_leased_call_end(struct hf_leased *leased, struct hf_leased_call *call,
                        const struct hf_store_answer *answer)
{
    assert(leased->calls.sent_count > 0);
    unlink_call(&leased->calls.sent, call);
    leased->calls.sent_count--;
    /* This is the function that was given to hf_leased_call_begin(); for most
     * requests it comes from the table in leased_requests.c. */
    call->answered(leased, call, answer);
    hf_leased_call_free(leased, call);
    send_waiting(leased);
}

/* End a call that was never sent.  It had no effect, so even a write fails as
 * RETRY and not as UNSURE. */
static void end_unsent(struct hf_leased *leased, struct hf_leased_call *call)
{
    const struct hf_store_answer unsent = {
        .failure = HF_FAILURE_RETRY,
        .status = HF_EUNREACHABLE,
        .text = "the connection ended before the request was sent"};

    unlink_call(&leased->calls.waiting, call);
    call->answered(leased, call, &unsent);
    hf_leased_call_free(leased, call);
}

void hf_leased_calls_abort(struct hf_leased *leased)
{
    /* The functions called here cannot begin new calls, because there is no
     * link. */
    while (leased->calls.sent.first != NULL)
        hf_leased_call_end(leased, leased->calls.sent.first, NULL);
    while (leased->calls.waiting.first != NULL)
        end_unsent(leased, leased->calls.waiting.first);
    assert(leased->calls.sent_count == 0);
}

static bool has(const struct hf_leased_call_list *list,
                enum hf_store_call_kind kind, const struct hf_ticket_id *id)
{
    for (const struct hf_leased_call *call = list->first; call != NULL;
         call = call->next)
        if (call->store_call.kind == kind &&
            hf_ticket_id_equal(&call->store_call.ticket, id))
            return true;
    return false;
}

bool hf_leased_calls_has(const struct hf_leased *leased,
                         enum hf_store_call_kind kind,
                         const struct hf_ticket_id *id)
{
    return has(&leased->calls.sent, kind, id) ||
           has(&leased->calls.waiting, kind, id);
}

uint64_t hf_leased_calls_deadline_ms(const struct hf_leased *leased)
{
    const struct hf_leased_call *oldest = leased->calls.sent.first;

    return oldest == NULL ? HF_FOREVER : oldest->deadline_at_ms;
}

void hf_leased_calls_set_server_clock(struct hf_leased *leased,
                                      uint64_t server_ms)
{
    leased->calls.server_ms = server_ms;
    leased->calls.server_clock_at_ms = leased->now_ms;
}
