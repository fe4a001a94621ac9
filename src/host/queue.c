/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at a queue, and at those in it: started, and the same waited for. */
#include "host/queue.h"

#include <string.h>

#include "core/error.h"
#include "host/errand.h"

static const struct hf_done no_done = {NULL, NULL, NULL};

static hf_status parse_id(const char *text, struct hf_errand_order *order,
                          struct hf_error *error)
{
    if (text == NULL || hf_ticket_id_parse(&order->ticket, text, strlen(text)))
        return HF_OK;
    return hf_error_set(error, HF_EINVAL,
                        "'%.80s' is no id of a ticket; expected one as "
                        "hf_lock_tickets() gives them, 8-4-4-4-12 digits in "
                        "lower-case hexadecimal",
                        text);
}

/* With the lock: the end of ${errand}, whose text goes to ${error}. */
static hf_status await(struct hf_errand *errand, struct hf_slot *slot,
                       struct hf_tickets **tickets, struct hf_error *error)
{
    hf_status status = hf_client_wait(errand->lock->client, slot);

    if (!slot->done) {
        errand->slot = NULL; /* it goes on, and end() gives it up */
        return hf_error_set(error, status,
                            "no descriptors to wait with; raise the limit on "
                            "open files");
    }
    *error = errand->outcome;
    if (tickets != NULL) {
        *tickets = errand->tickets;
        errand->tickets = NULL;
    }
    hf_errand_dereference(errand);
    return status;
}

/* ${id} may be NULL. */
static hf_status run(struct hf_lock *lock, const char *call,
                     struct hf_errand_order order, const char *id,
                     struct hf_tickets **tickets)
{
    struct hf_client *client = lock->client;
    struct hf_slot slot = {.done = false};
    struct hf_error error = {.status = HF_OK};
    struct hf_errand *errand;
    hf_status status;

    if (tickets != NULL)
        *tickets = NULL;
    if ((status = hf_client_may_block(client)) == HF_OK)
        status = hf_client_enter(client);
    if (status != HF_OK)
        return status;
    status = parse_id(id, &order, &error);
    if (status == HF_OK)
        status = hf_errand_begin(lock, &order, &slot, no_done, &errand, &error);
    if (status == HF_OK)
        status = await(errand, &slot, tickets, &error);
    if (status != HF_OK)
        hf_lock_fail(lock, call, &error);
    hf_client_leave(client);
    return status;
}

static hf_status start(struct hf_lock *lock, const char *call,
                       struct hf_errand_order order, const char *id,
                       struct hf_done done)
{
    struct hf_client *client = lock->client;
    struct hf_error error = {.status = HF_OK};
    struct hf_errand *errand;
    hf_status status = hf_client_enter(client);

    if (status != HF_OK)
        goto drop;
    status = parse_id(id, &order, &error);
    if (status == HF_OK && order.kind == HF_REQUEST_LIST && done.fn == NULL)
        status = hf_error_set(&error, HF_EINVAL,
                              "the callback is NULL, and the list would be "
                              "lost with it; pass a function");
    if (status == HF_OK)
        status = hf_errand_begin(lock, &order, NULL, done, &errand, &error);
    if (status != HF_OK)
        hf_lock_fail(lock, call, &error);
    hf_client_leave(client);
    if (status == HF_OK)
        return HF_OK;
drop:
    if (done.drop != NULL)
        done.drop(done.arg);
    return status;
}

/* -------------------------------------------------------------- looking -- */

static struct hf_errand_order list(enum hf_tickets_which which,
                                   uint64_t wait_ms)
{
    return (struct hf_errand_order){
        .kind = HF_REQUEST_LIST, .which = which, .wait_ms = wait_ms};
}

hf_status hf_queue_list(struct hf_lock *lock, const char *call,
                        enum hf_tickets_which which, uint64_t wait_ms,
                        struct hf_tickets **tickets)
{
    return run(lock, call, list(which, wait_ms), NULL, tickets);
}

hf_status hf_queue_list_start(struct hf_lock *lock, const char *call,
                              enum hf_tickets_which which, uint64_t wait_ms,
                              struct hf_done done)
{
    return start(lock, call, list(which, wait_ms), NULL, done);
}

hf_status hf_lock_tickets(struct hf_lock *lock, uint64_t wait_ms,
                          struct hf_tickets **tickets)
{
    return hf_queue_list(lock, "hf_lock_tickets", HF_TICKETS_ALL, wait_ms,
                         tickets);
}

hf_status hf_lock_holders(struct hf_lock *lock, uint64_t wait_ms,
                          struct hf_tickets **tickets)
{
    return hf_queue_list(lock, "hf_lock_holders", HF_TICKETS_HOLDERS, wait_ms,
                         tickets);
}

hf_status hf_lock_waiters(struct hf_lock *lock, uint64_t wait_ms,
                          struct hf_tickets **tickets)
{
    return hf_queue_list(lock, "hf_lock_waiters", HF_TICKETS_WAITERS, wait_ms,
                         tickets);
}

hf_status hf_lock_tickets_start(struct hf_lock *lock, uint64_t wait_ms,
                                struct hf_done done)
{
    return hf_queue_list_start(lock, "hf_lock_tickets_start", HF_TICKETS_ALL,
                               wait_ms, done);
}

hf_status hf_lock_holders_start(struct hf_lock *lock, uint64_t wait_ms,
                                struct hf_done done)
{
    return hf_queue_list_start(lock, "hf_lock_holders_start",
                               HF_TICKETS_HOLDERS, wait_ms, done);
}

hf_status hf_lock_waiters_start(struct hf_lock *lock, uint64_t wait_ms,
                                struct hf_done done)
{
    return hf_queue_list_start(lock, "hf_lock_waiters_start",
                               HF_TICKETS_WAITERS, wait_ms, done);
}

/* ------------------------------------------------------------ meddling -- */

static struct hf_errand_order evict(uint64_t wait_ms)
{
    return (struct hf_errand_order){.kind = HF_REQUEST_WITHDRAW,
                                    .wait_ms = wait_ms};
}

static struct hf_errand_order request_release(const char *id, uint64_t wait_ms)
{
    return (struct hf_errand_order){
        .kind = HF_REQUEST_REVOKE, .each = id == NULL, .wait_ms = wait_ms};
}

hf_status hf_lock_evict(struct hf_lock *lock, const char *id, uint64_t wait_ms)
{
    return run(lock, "hf_lock_evict", evict(wait_ms), id, NULL);
}

hf_status hf_lock_evict_start(struct hf_lock *lock, const char *id,
                              uint64_t wait_ms, struct hf_done done)
{
    return start(lock, "hf_lock_evict_start", evict(wait_ms), id, done);
}

hf_status hf_lock_request_release(struct hf_lock *lock, const char *id,
                                  uint64_t wait_ms)
{
    return run(lock, "hf_lock_request_release", request_release(id, wait_ms),
               id, NULL);
}

hf_status hf_lock_request_release_start(struct hf_lock *lock, const char *id,
                                        uint64_t wait_ms, struct hf_done done)
{
    return start(lock, "hf_lock_request_release_start",
                 request_release(id, wait_ms), id, done);
}
