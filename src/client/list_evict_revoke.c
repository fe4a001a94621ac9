/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listing a queue, evicting a ticket, and asking for a release: each blocking
 * and started.  All of them are arguments for an operation on the queue
 * (queue_op.h).
 *
 * A ${wait_ms} of 0 means one answer of the engine and not a deadline that has
 * passed.
 */
#include "client/list_evict_revoke.h"

#include "client/queue_op.h"

/* -------------------------------------------------------------- looking -- */

/* The arguments for a list.  The list of a double barrier shows its
 * participants. */
static struct hf_queue_op_args list_args(const struct hf_lock *lock,
                                         enum hf_tickets_which which,
                                         uint64_t wait_ms)
{
    struct hf_queue_op_args args = {.kind = HF_REQUEST_LIST,
                                    .which = which,
                                    .only_try = wait_ms == 0,
                                    .wait_ms = wait_ms};

    if (lock->kind == HF_TICKET_PARTICIPANT)
        args.flag_kind = HF_TICKET_PARTICIPANT;
    return args;
}

hf_status hf_lock_list_for(struct hf_lock *lock, const char *api_name,
                           enum hf_tickets_which which, uint64_t wait_ms,
                           struct hf_tickets **tickets)
{
    return hf_queue_op_run(lock, api_name, list_args(lock, which, wait_ms),
                           NULL, tickets);
}

hf_status hf_lock_list_start_for(struct hf_lock *lock, const char *api_name,
                                 enum hf_tickets_which which, uint64_t wait_ms,
                                 struct hf_done done)
{
    return hf_queue_op_start(lock, api_name, list_args(lock, which, wait_ms),
                             NULL, done, NULL);
}

hf_status hf_lock_tickets(struct hf_lock *lock, enum hf_tickets_which which,
                          uint64_t wait_ms, struct hf_tickets **tickets)
{
    return hf_lock_list_for(lock, "hf_lock_tickets", which, wait_ms, tickets);
}

hf_status hf_lock_tickets_start(struct hf_lock *lock,
                                enum hf_tickets_which which, uint64_t wait_ms,
                                struct hf_done done)
{
    return hf_lock_list_start_for(lock, "hf_lock_tickets_start", which, wait_ms,
                                  done);
}

/* ------------------------------------------------------------- changing -- */

/* The arguments for the removal of one ticket. */
static struct hf_queue_op_args evict_args(const char *evicted_by,
                                          uint64_t wait_ms)
{
    return (struct hf_queue_op_args){.kind = HF_REQUEST_REMOVE,
                                     .evicted_by = evicted_by,
                                     .only_try = wait_ms == 0,
                                     .wait_ms = wait_ms};
}

/* The arguments for a request to release: to the owner of one ticket or, if
 * ${id} is NULL, of each that holds. */
static struct hf_queue_op_args revoke_args(const char *id, uint64_t wait_ms)
{
    return (struct hf_queue_op_args){.kind = HF_REQUEST_REVOKE,
                                     .every_holder = id == NULL,
                                     .only_try = wait_ms == 0,
                                     .wait_ms = wait_ms};
}

hf_status hf_lock_evict(struct hf_lock *lock, const char *id,
                        const char *evicted_by, uint64_t wait_ms)
{
    return hf_queue_op_run(lock, "hf_lock_evict",
                           evict_args(evicted_by, wait_ms), id, NULL);
}

hf_status hf_lock_evict_start(struct hf_lock *lock, const char *id,
                              const char *evicted_by, uint64_t wait_ms,
                              struct hf_done done)
{
    return hf_queue_op_start(lock, "hf_lock_evict_start",
                             evict_args(evicted_by, wait_ms), id, done, NULL);
}

hf_status hf_lock_revoke(struct hf_lock *lock, const char *id, uint64_t wait_ms)
{
    return hf_queue_op_run(lock, "hf_lock_revoke", revoke_args(id, wait_ms), id,
                           NULL);
}

hf_status hf_lock_revoke_start(struct hf_lock *lock, const char *id,
                               uint64_t wait_ms, struct hf_done done)
{
    return hf_queue_op_start(lock, "hf_lock_revoke_start",
                             revoke_args(id, wait_ms), id, done, NULL);
}
