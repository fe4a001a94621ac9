/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The single barrier.  It is a name and three operations on it: set, clear, and
 * wait until it is clear.  All of them are operations on a queue (queue_op.h),
 * and none of them needs a ticket.
 */
#include <holdfast/barrier.h>

#include "base/memory.h"
#include "client/client.h"
#include "client/queue_op.h"

/* The handle of the user. */
struct hf_barrier {
    struct hf_lock *lock; /* for its name */
};

/* The lock inside is never acquired. */
hf_status hf_barrier_open(struct hf_client *client, const char *name,
                          struct hf_barrier **barrier)
{
    static const char api_name[] = "hf_barrier_open";
    struct hf_barrier *made;
    hf_status status;

    *barrier = NULL;
    if ((made = hf_open_alloc(api_name, sizeof(*made))) == NULL)
        return HF_ENOMEM;
    status = hf_lock_open_for(client, api_name, name, NULL, &made->lock);
    if (status == HF_OK)
        *barrier = made;
    else
        hf_free(made);
    return status;
}

void hf_barrier_free(struct hf_barrier *barrier)
{
    if (barrier == NULL ||
        hf_fork_is_child(&barrier->lock->client->monitor.fork))
        return;
    hf_lock_free(barrier->lock);
    hf_free(barrier);
}

/* The arguments of the operation ${kind}. */
static struct hf_queue_op_args args(enum hf_request_kind kind, uint64_t wait_ms)
{
    return (struct hf_queue_op_args){
        .kind = kind, .only_try = wait_ms == 0, .wait_ms = wait_ms};
}

hf_status hf_barrier_set(struct hf_barrier *barrier, uint64_t wait_ms)
{
    return hf_queue_op_run(barrier->lock, "hf_barrier_set",
                           args(HF_REQUEST_SET_FLAG, wait_ms), NULL, NULL);
}

hf_status hf_barrier_clear(struct hf_barrier *barrier, uint64_t wait_ms)
{
    return hf_queue_op_run(barrier->lock, "hf_barrier_clear",
                           args(HF_REQUEST_CLEAR_FLAG, wait_ms), NULL, NULL);
}

hf_status hf_barrier_wait(struct hf_barrier *barrier, uint64_t wait_ms)
{
    return hf_queue_op_run(barrier->lock, "hf_barrier_wait",
                           args(HF_REQUEST_WATCH_QUEUE, wait_ms), NULL, NULL);
}

hf_status hf_barrier_set_start(struct hf_barrier *barrier, uint64_t wait_ms,
                               struct hf_done done)
{
    return hf_queue_op_start(barrier->lock, "hf_barrier_set_start",
                             args(HF_REQUEST_SET_FLAG, wait_ms), NULL, done,
                             NULL);
}

hf_status hf_barrier_clear_start(struct hf_barrier *barrier, uint64_t wait_ms,
                                 struct hf_done done)
{
    return hf_queue_op_start(barrier->lock, "hf_barrier_clear_start",
                             args(HF_REQUEST_CLEAR_FLAG, wait_ms), NULL, done,
                             NULL);
}

hf_status hf_barrier_wait_start(struct hf_barrier *barrier, uint64_t wait_ms,
                                struct hf_done done, struct hf_op **op)
{
    return hf_queue_op_start(barrier->lock, "hf_barrier_wait_start",
                             args(HF_REQUEST_WATCH_QUEUE, wait_ms), NULL, done,
                             op);
}
