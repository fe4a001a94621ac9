/* SPDX-License-Identifier: Apache-2.0 */
/* The reentrant front: a count per owner over a grant.  Owners of one client
 * queue locally, see core/cohort.h. */
#include <stddef.h>

#include "core/error.h"
#include "core/memory.h"
#include "host/grant_check.h"
#include "host/holds.h"
#include "host/opening.h"

struct hf_mutex {
    struct hf_lock *lock;
    struct hf_holds holds;
    struct hf_on_mutex_revoke on_revoke;
};

static struct hf_mutex *of_holds(struct hf_holds *holds)
{
    return (struct hf_mutex *)((char *)holds -
                               offsetof(struct hf_mutex, holds));
}

/* In a child nothing of the parent's may be touched, least of all the guard,
 * which another thread may have held. */
static bool is_forked(const struct hf_mutex *mutex)
{
    return hf_fork_parted(&mutex->lock->client->monitor.fork);
}

static void revoked(struct hf_holds *holds, uint64_t owner)
{
    struct hf_mutex *mutex = of_holds(holds);

    mutex->on_revoke.fn(mutex->on_revoke.arg, mutex, owner);
}

static void destroy(struct hf_holds *holds)
{
    struct hf_mutex *mutex = of_holds(holds);

    if (mutex->on_revoke.drop != NULL)
        mutex->on_revoke.drop(mutex->on_revoke.arg);
    hf_lock_free(mutex->lock);
    hf_free(mutex);
}

static void init(struct hf_mutex *mutex, const struct hf_mutex_opts *opts)
{
    mutex->on_revoke = opts->on_revoke;
    mutex->holds.owner = opts->owner;
    mutex->holds.owner_arg = opts->owner_arg;
    mutex->holds.revoked = opts->on_revoke.fn != NULL ? revoked : NULL;
    mutex->holds.destroy = destroy;
    hf_holds_init(&mutex->holds, opts->text);
}

static hf_status open_(struct hf_client *client, const char *name,
                       const struct hf_mutex_opts *given,
                       struct hf_mutex_opts *opts, struct hf_mutex **mutex)
{
    static const char call[] = "hf_mutex_open";
    struct hf_mutex *made;
    hf_status status;

    status = hf_opening_opts(client, call, &hf_mutex_opts_type, given, opts);
    if (status == HF_OK)
        status = hf_opening_check_text(client, call, opts->text);
    if (status != HF_OK)
        return status;
    if ((made = hf_opening_alloc(client, call, sizeof(*made))) == NULL)
        return HF_ENOMEM;
    status = hf_lock_open_for(client, call, name, NULL, &made->lock);
    if (status != HF_OK)
        goto free_mutex;
    if (opts->handoffs > 0)
        status = hf_lock_share(made->lock, call, opts->handoffs);
    if (status != HF_OK)
        goto free_lock;
    init(made, opts);
    *mutex = made;
    return HF_OK;
free_lock:
    hf_lock_free(made->lock);
free_mutex:
    hf_free(made);
    return status;
}

hf_status hf_mutex_open(struct hf_client *client, const char *name,
                        const struct hf_mutex_opts *opts,
                        struct hf_mutex **mutex)
{
    struct hf_mutex_opts taken;
    hf_status status;

    *mutex = NULL;
    status = open_(client, name, opts, &taken, mutex);
    if (status != HF_OK && taken.on_revoke.drop != NULL)
        taken.on_revoke.drop(taken.on_revoke.arg);
    return status;
}

void hf_mutex_free(struct hf_mutex *mutex)
{
    if (mutex == NULL || is_forked(mutex))
        return;
    hf_holds_free(&mutex->holds);
}

static hf_status lock_for(struct hf_mutex *mutex, const char *call,
                          uint64_t wait_ms)
{
    struct hf_hold *hold;
    struct hf_error error;
    hf_status status;

    if (is_forked(mutex))
        return HF_EFORKED;
    hold = hf_holds_own(&mutex->holds);
    if (hold != NULL)
        status = hf_grant_check_known(hold->grant, &error);
    else
        status = hf_holds_take(&mutex->holds, mutex->lock, call, wait_ms, &hold,
                               &error);
    if (status != HF_OK)
        return hf_holds_fail(&mutex->holds, call, &error);
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

hf_status hf_mutex_unlock(struct hf_mutex *mutex)
{
    static const char call[] = "hf_mutex_unlock";
    struct hf_hold *hold;
    struct hf_error error;
    hf_status status;

    if (is_forked(mutex))
        return HF_EFORKED;
    hold = hf_holds_own(&mutex->holds);
    if (hold == NULL)
        return hf_holds_fail_owner(&mutex->holds, call, "lock");
    if (hold->writes == 1)
        status = hf_holds_give(&mutex->holds, hold, &error);
    else if ((status = hf_grant_check_known(hold->grant, &error)) != HF_EFORKED)
        hold->writes--;
    return status == HF_OK ? HF_OK : hf_holds_fail(&mutex->holds, call, &error);
}

void hf_mutex_error(const struct hf_mutex *mutex, struct hf_error *error)
{
    if (hf_fork_check(&mutex->lock->client->monitor.fork, error) == HF_OK)
        hf_holds_error((struct hf_holds *)&mutex->holds, error);
}

uint64_t hf_mutex_token(struct hf_mutex *mutex)
{
    struct hf_hold *hold;

    if (is_forked(mutex))
        return 0;
    hold = hf_holds_own(&mutex->holds);
    return hold != NULL ? hf_grant_token(hold->grant) : 0;
}

hf_status hf_mutex_cancel(struct hf_mutex *mutex, uint64_t owner)
{
    return hf_holds_cancel(&mutex->holds, mutex->lock->client,
                           "hf_mutex_cancel", owner);
}

hf_status hf_mutex_tickets(struct hf_mutex *mutex, enum hf_tickets_which which,
                           uint64_t wait_ms, struct hf_tickets **tickets)
{
    return hf_holds_list(&mutex->holds, mutex->lock, "hf_mutex_tickets", which,
                         wait_ms, tickets);
}
