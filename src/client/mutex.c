/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reentrant mutex: a reentrant lock (reentrant.h) that nobody reads.
 * Owners in one client share a ticket by way of a cohort (core/cohort.h),
 * unless the user asked for a ticket per owner (.handoffs of 0, and none is
 * kept).
 *
 * The calls have no twins that are started, because the caller is the owner,
 * usually by its thread, and a callback may run on another thread.
 */
#include <holdfast/grant.h>
#include <holdfast/mutex.h>

#include "base/container_of.h"
#include "client/client.h"
#include "client/reentrant.h"

/* The .revoked of a mutex: somebody asks ${owner} to release. */
static void call_on_revoke(struct hf_reentrant *reentrant, uint64_t owner)
{
    const struct hf_on_mutex_revoke *on = &reentrant->opts.on_revoke.mutex;

    on->fn(on->arg, container_of(reentrant, struct hf_mutex, reentrant), owner);
}

hf_status hf_mutex_open(struct hf_client *client, const char *name,
                        const struct hf_mutex_opts *given,
                        struct hf_mutex **mutex)
{
    static const char api_name[] = "hf_mutex_open";
    struct hf_reentrant *reentrant = NULL;
    struct hf_mutex_opts opts;
    hf_status status =
        hf_open_copy_opts(client, api_name, &hf_mutex_opts_type, given, &opts);
    const struct hf_reentrant_opts copied = {
        .owner = opts.owner,
        .owner_arg = opts.owner_arg,
        .text = opts.text,
        .detect_deadlock = opts.detect_deadlock,
        .handoffs = opts.handoffs,
        .keep_ms = opts.keep_ms,
        .on_revoke.mutex = opts.on_revoke,
        .revoked = opts.on_revoke.fn != NULL ? call_on_revoke : NULL,
        .drop = {opts.on_revoke.drop, opts.on_revoke.arg},
    };

    status =
        hf_reentrant_open(client, status, api_name, name, &copied, &reentrant);
    *mutex = container_of_or_null(reentrant, struct hf_mutex, reentrant);
    return status;
}

void hf_mutex_free(struct hf_mutex *mutex)
{
    if (mutex != NULL)
        hf_reentrant_free(&mutex->reentrant);
}

hf_status hf_mutex_timedlock(struct hf_mutex *mutex, uint64_t wait_ms)
{
    return hf_reentrant_lock(&mutex->reentrant, "hf_mutex_timedlock",
                             HF_ACCESS_WRITE, wait_ms);
}

hf_status hf_mutex_lock(struct hf_mutex *mutex)
{
    return hf_reentrant_lock(&mutex->reentrant, "hf_mutex_lock",
                             HF_ACCESS_WRITE, HF_FOREVER);
}

hf_status hf_mutex_trylock(struct hf_mutex *mutex)
{
    return hf_reentrant_lock(&mutex->reentrant, "hf_mutex_trylock",
                             HF_ACCESS_WRITE, 0);
}

hf_status hf_mutex_unlock(struct hf_mutex *mutex)
{
    return hf_reentrant_unlock(&mutex->reentrant, "hf_mutex_unlock",
                               HF_ACCESS_WRITE);
}

uint64_t hf_mutex_token(struct hf_mutex *mutex)
{
    return hf_reentrant_token(&mutex->reentrant);
}

hf_status hf_mutex_cancel(struct hf_mutex *mutex, uint64_t owner)
{
    return hf_reentrant_cancel(&mutex->reentrant, "hf_mutex_cancel", owner);
}

hf_status hf_mutex_tickets(struct hf_mutex *mutex, enum hf_tickets_which which,
                           uint64_t wait_ms, struct hf_tickets **tickets)
{
    return hf_reentrant_list(&mutex->reentrant, "hf_mutex_tickets", which,
                             wait_ms, tickets);
}
