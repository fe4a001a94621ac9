/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reentrant mutex: a count per owner over a grant.  Owners in one client
 * share a ticket by way of a cohort (core/cohort.h), unless the user asked for
 * a ticket per owner (.handoffs of 0).
 *
 * The records of the owners are in reentrant.c; only the owner itself changes
 * its count, so counting takes no lock.
 *
 * The calls have no twins that are started, because the caller is the owner,
 * usually by its thread, and a callback may run on another thread.
 */
#include <stddef.h>

#include "base/error.h"
#include "base/memory.h"
#include "client/client.h"
#include "client/grant.h"
#include "client/reentrant.h"

/* The handle of the user. */
struct hf_mutex {
    struct hf_lock *lock;          /* in a cohort if tickets are shared */
    struct hf_reentrant reentrant; /* the owners and their counts */
    struct hf_on_mutex_revoke on_revoke;
};

/* The mutex that ${reentrant} is part of. */
static struct hf_mutex *of_reentrant(struct hf_reentrant *reentrant)
{
    return (struct hf_mutex *)((char *)reentrant -
                               offsetof(struct hf_mutex, reentrant));
}

/* In a child of a fork nothing of the parent may be touched, and least of all
 * .guard, which another thread may have held. */
static bool is_forked(const struct hf_mutex *mutex)
{
    return hf_fork_is_child(&mutex->lock->client->monitor.fork);
}

/* Somebody asks ${owner} to release: call the user. */
static void call_on_revoke(struct hf_reentrant *reentrant, uint64_t owner)
{
    struct hf_mutex *mutex = of_reentrant(reentrant);

    mutex->on_revoke.fn(mutex->on_revoke.arg, mutex, owner);
}

/* Free the mutex; the .destroy of its reentrancy. */
static void destroy_mutex(struct hf_reentrant *reentrant)
{
    struct hf_mutex *mutex = of_reentrant(reentrant);

    if (mutex->on_revoke.drop != NULL)
        mutex->on_revoke.drop(mutex->on_revoke.arg);
    hf_lock_free(mutex->lock);
    hf_free(mutex);
}

/* Set ${mutex} as ${opts} say. */
static void init_mutex(struct hf_mutex *mutex, const struct hf_mutex_opts *opts)
{
    mutex->on_revoke = opts->on_revoke;
    mutex->reentrant.owner = opts->owner;
    mutex->reentrant.owner_arg = opts->owner_arg;
    mutex->reentrant.detect_deadlock = opts->detect_deadlock;
    mutex->reentrant.revoked =
        opts->on_revoke.fn != NULL ? call_on_revoke : NULL;
    mutex->reentrant.destroy = destroy_mutex;
    hf_reentrant_init(&mutex->reentrant, opts->text);
}

/* What hf_mutex_open() does, but for the .drop of the callback on failure. */
static hf_status open_mutex(struct hf_client *client, const char *name,
                            const struct hf_mutex_opts *given,
                            struct hf_mutex_opts *opts, struct hf_mutex **mutex)
{
    static const char call[] = "hf_mutex_open";
    struct hf_mutex *made;
    hf_status status;

    status = hf_open_copy_opts(client, call, &hf_mutex_opts_type, given, opts);
    if (status == HF_OK)
        status = hf_open_check_text(client, call, opts->text);
    if (status != HF_OK)
        return status;
    if ((made = hf_open_alloc(client, call, sizeof(*made))) == NULL)
        return HF_ENOMEM;
    status = hf_lock_open_for(client, call, name, NULL, &made->lock);
    if (status != HF_OK)
        goto free_mutex;
    if (opts->handoffs > 0 && !opts->detect_deadlock)
        status = hf_lock_join_cohort(made->lock, call, opts->handoffs);
    if (status != HF_OK)
        goto free_lock;
    init_mutex(made, opts);
    *mutex = made;
    return HF_OK;
free_lock:
    hf_lock_free(made->lock);
free_mutex:
    hf_free(made);
    return status;
}

/* The callback is dropped on failure. */
hf_status hf_mutex_open(struct hf_client *client, const char *name,
                        const struct hf_mutex_opts *opts,
                        struct hf_mutex **mutex)
{
    struct hf_mutex_opts copied;
    hf_status status;

    *mutex = NULL;
    status = open_mutex(client, name, opts, &copied, mutex);
    if (status != HF_OK && copied.on_revoke.drop != NULL)
        copied.on_revoke.drop(copied.on_revoke.arg);
    return status;
}

/* In a child of a fork the handle is left as it is. */
void hf_mutex_free(struct hf_mutex *mutex)
{
    if (mutex == NULL || is_forked(mutex))
        return;
    hf_reentrant_free(&mutex->reentrant);
}

/* Lock for the caller: count, or acquire if it does not hold the mutex.  An
 * owner whose grant was lost keeps its record and is refused until it has
 * unlocked, because it may not know of the loss. */
static hf_status lock_for(struct hf_mutex *mutex, const char *call,
                          uint64_t wait_ms)
{
    struct hf_hold *hold;
    struct hf_error error;
    hf_status status;

    if (is_forked(mutex))
        return HF_EFORKED;
    hold = hf_reentrant_find(&mutex->reentrant);
    if (hold != NULL)
        status = hf_grant_check_now(hold->grant, &error);
    else
        status = hf_reentrant_acquire(&mutex->reentrant, mutex->lock, call,
                                      wait_ms, &hold, &error);
    if (status != HF_OK)
        return hf_reentrant_fail(&mutex->reentrant, call, &error);
    hold->writes++;
    return HF_OK;
}

hf_status hf_mutex_timedlock(struct hf_mutex *mutex, uint64_t wait_ms)
{
    return lock_for(mutex, "hf_mutex_timedlock", wait_ms);
}

hf_status hf_mutex_lock(struct hf_mutex *mutex)
{
    return lock_for(mutex, "hf_mutex_lock", HF_FOREVER);
}

hf_status hf_mutex_trylock(struct hf_mutex *mutex)
{
    return lock_for(mutex, "hf_mutex_trylock", 0);
}

/* Only the last unlock releases.  The others report a loss, but count all the
 * same, because the owner unlocks as often as it locked. */
hf_status hf_mutex_unlock(struct hf_mutex *mutex)
{
    static const char call[] = "hf_mutex_unlock";
    struct hf_hold *hold;
    struct hf_error error;
    hf_status status;

    if (is_forked(mutex))
        return HF_EFORKED;
    hold = hf_reentrant_find(&mutex->reentrant);
    if (hold == NULL)
        return hf_reentrant_fail_not_owner(&mutex->reentrant, call, "lock");
    if (hold->writes == 1)
        status = hf_reentrant_release(&mutex->reentrant, hold, &error);
    else if ((status = hf_grant_check_now(hold->grant, &error)) != HF_EFORKED)
        hold->writes--;
    return status == HF_OK ? HF_OK
                           : hf_reentrant_fail(&mutex->reentrant, call, &error);
}

void hf_mutex_error(const struct hf_mutex *mutex, struct hf_error *error)
{
    if (hf_fork_check(&mutex->lock->client->monitor.fork, error) == HF_OK)
        hf_reentrant_error((struct hf_reentrant *)&mutex->reentrant, error);
}

/* The token of the caller's record; 0 without one. */
uint64_t hf_mutex_token(struct hf_mutex *mutex)
{
    struct hf_hold *hold;

    if (is_forked(mutex))
        return 0;
    hold = hf_reentrant_find(&mutex->reentrant);
    return hold != NULL ? hf_grant_token(hold->grant) : 0;
}

hf_status hf_mutex_cancel(struct hf_mutex *mutex, uint64_t owner)
{
    return hf_reentrant_cancel(&mutex->reentrant, mutex->lock->client,
                               "hf_mutex_cancel", owner);
}

hf_status hf_mutex_tickets(struct hf_mutex *mutex, enum hf_tickets_which which,
                           uint64_t wait_ms, struct hf_tickets **tickets)
{
    return hf_reentrant_list(&mutex->reentrant, mutex->lock, "hf_mutex_tickets",
                             which, wait_ms, tickets);
}
