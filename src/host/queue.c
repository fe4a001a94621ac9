/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at a queue, and at those in it: started, and the same waited for. */
#include "host/queue.h"

#include "host/errand.h"

/* -------------------------------------------------------------- looking -- */

static struct hf_errand_order
list(const struct hf_lock *lock, enum hf_tickets_which which, uint64_t wait_ms)
{
    struct hf_errand_order order = {
        .kind = HF_REQUEST_LIST, .which = which, .wait_ms = wait_ms};

    if (lock->kind == HF_TICKET_MEMBER)
        order.mark = HF_TICKET_MEMBER;
    return order;
}

hf_status hf_queue_list(struct hf_lock *lock, const char *call,
                        enum hf_tickets_which which, uint64_t wait_ms,
                        struct hf_tickets **tickets)
{
    return hf_errand_run(lock, call, list(lock, which, wait_ms), NULL, tickets);
}

hf_status hf_queue_list_start(struct hf_lock *lock, const char *call,
                              enum hf_tickets_which which, uint64_t wait_ms,
                              struct hf_done done)
{
    return hf_errand_start(lock, call, list(lock, which, wait_ms), NULL, done,
                           NULL);
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
    return hf_errand_run(lock, "hf_lock_evict", evict(wait_ms), id, NULL);
}

hf_status hf_lock_evict_start(struct hf_lock *lock, const char *id,
                              uint64_t wait_ms, struct hf_done done)
{
    return hf_errand_start(lock, "hf_lock_evict_start", evict(wait_ms), id,
                           done, NULL);
}

hf_status hf_lock_request_release(struct hf_lock *lock, const char *id,
                                  uint64_t wait_ms)
{
    return hf_errand_run(lock, "hf_lock_request_release",
                         request_release(id, wait_ms), id, NULL);
}

hf_status hf_lock_request_release_start(struct hf_lock *lock, const char *id,
                                        uint64_t wait_ms, struct hf_done done)
{
    return hf_errand_start(lock, "hf_lock_request_release_start",
                           request_release(id, wait_ms), id, done, NULL);
}
