/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The read/write lock: a reentrant lock (reentrant.h) with readers, whose
 * owners have two counts over one grant.  The grant is a writer's while the
 * count of writes is not 0; with the last unlock of a write it is downgraded.
 *
 * A reader cannot become a writer: two readers that want that would wait for
 * each other.
 */
#include <holdfast/grant.h>
#include <holdfast/mutex.h>

#include "base/container_of.h"
#include "client/client.h"
#include "client/reentrant.h"

/* The .revoked of a read/write lock: somebody asks ${owner} to release. */
static void call_on_revoke(struct hf_reentrant *reentrant, uint64_t owner)
{
    const struct hf_on_rwlock_revoke *on = &reentrant->opts.on_revoke.rwlock;

    on->fn(on->arg, container_of(reentrant, struct hf_rwlock, reentrant),
           owner);
}

hf_status hf_rwlock_open(struct hf_client *client, const char *name,
                         const struct hf_rwlock_opts *given,
                         struct hf_rwlock **rwlock)
{
    static const char api_name[] = "hf_rwlock_open";
    struct hf_reentrant *reentrant = NULL;
    struct hf_rwlock_opts opts;
    hf_status status =
        hf_open_copy_opts(client, api_name, &hf_rwlock_opts_type, given, &opts);
    const struct hf_reentrant_opts copied = {
        .owner = opts.owner,
        .owner_arg = opts.owner_arg,
        .text = opts.text,
        .detect_deadlock = opts.detect_deadlock,
        .has_readers = true,
        .on_revoke.rwlock = opts.on_revoke,
        .revoked = opts.on_revoke.fn != NULL ? call_on_revoke : NULL,
        .drop = {opts.on_revoke.drop, opts.on_revoke.arg},
    };

    status =
        hf_reentrant_open(client, status, api_name, name, &copied, &reentrant);
    *rwlock = container_of_or_null(reentrant, struct hf_rwlock, reentrant);
    return status;
}

void hf_rwlock_free(struct hf_rwlock *rwlock)
{
    if (rwlock != NULL)
        hf_reentrant_free(&rwlock->reentrant);
}

hf_status hf_rwlock_timedrdlock(struct hf_rwlock *rwlock, uint64_t wait_ms)
{
    return hf_reentrant_lock(&rwlock->reentrant, "hf_rwlock_timedrdlock",
                             HF_ACCESS_READ, wait_ms);
}

hf_status hf_rwlock_rdlock(struct hf_rwlock *rwlock)
{
    return hf_reentrant_lock(&rwlock->reentrant, "hf_rwlock_rdlock",
                             HF_ACCESS_READ, HF_FOREVER);
}

hf_status hf_rwlock_tryrdlock(struct hf_rwlock *rwlock)
{
    return hf_reentrant_lock(&rwlock->reentrant, "hf_rwlock_tryrdlock",
                             HF_ACCESS_READ, 0);
}

hf_status hf_rwlock_timedwrlock(struct hf_rwlock *rwlock, uint64_t wait_ms)
{
    return hf_reentrant_lock(&rwlock->reentrant, "hf_rwlock_timedwrlock",
                             HF_ACCESS_WRITE, wait_ms);
}

hf_status hf_rwlock_wrlock(struct hf_rwlock *rwlock)
{
    return hf_reentrant_lock(&rwlock->reentrant, "hf_rwlock_wrlock",
                             HF_ACCESS_WRITE, HF_FOREVER);
}

hf_status hf_rwlock_trywrlock(struct hf_rwlock *rwlock)
{
    return hf_reentrant_lock(&rwlock->reentrant, "hf_rwlock_trywrlock",
                             HF_ACCESS_WRITE, 0);
}

hf_status hf_rwlock_rdunlock(struct hf_rwlock *rwlock)
{
    return hf_reentrant_unlock(&rwlock->reentrant, "hf_rwlock_rdunlock",
                               HF_ACCESS_READ);
}

hf_status hf_rwlock_wrunlock(struct hf_rwlock *rwlock)
{
    return hf_reentrant_unlock(&rwlock->reentrant, "hf_rwlock_wrunlock",
                               HF_ACCESS_WRITE);
}

uint64_t hf_rwlock_token(struct hf_rwlock *rwlock)
{
    return hf_reentrant_token(&rwlock->reentrant);
}

hf_status hf_rwlock_cancel(struct hf_rwlock *rwlock, uint64_t owner)
{
    return hf_reentrant_cancel(&rwlock->reentrant, "hf_rwlock_cancel", owner);
}

hf_status hf_rwlock_tickets(struct hf_rwlock *rwlock,
                            enum hf_tickets_which which, uint64_t wait_ms,
                            struct hf_tickets **tickets)
{
    return hf_reentrant_list(&rwlock->reentrant, "hf_rwlock_tickets", which,
                             wait_ms, tickets);
}
