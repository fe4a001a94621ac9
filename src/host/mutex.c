/* SPDX-License-Identifier: Apache-2.0 */
/* The reentrant front: a count per owner over a grant.  Owners of one client
 * queue locally, see core/cohort.h, unless no ticket is handed on. */
#include "core/error.h"
#include "core/memory.h"
#include "host/holds.h"
#include "host/opening.h"

struct hf_mutex {
    struct hf_lock *lock;
    struct hf_holds holds;
};

/* In a child nothing of the parent's may be touched, least of all the guard,
 * which another thread may have held. */
static bool is_forked(const struct hf_mutex *mutex)
{
    return hf_fork_parted(mutex->lock->client);
}

hf_status hf_mutex_open(struct hf_client *client, const char *name,
                        const struct hf_mutex_opts *opts,
                        struct hf_mutex **mutex)
{
    static const char call[] = "hf_mutex_open";
    static const struct hf_mutex_opts defaults = HF_MUTEX_OPTS_INIT;
    struct hf_mutex *made;
    hf_status status;

    *mutex = NULL;
    if (opts == NULL)
        opts = &defaults;
    status = hf_opening_check_size(client, call, opts->size, sizeof(*opts),
                                   "HF_MUTEX_OPTS_INIT");
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
    hf_holds_init(&made->holds, opts->owner, opts->owner_arg);
    *mutex = made;
    return HF_OK;
free_lock:
    hf_lock_free(made->lock);
free_mutex:
    hf_free(made);
    return status;
}

void hf_mutex_free(struct hf_mutex *mutex)
{
    if (mutex == NULL || is_forked(mutex))
        return;
    hf_holds_free(&mutex->holds);
    hf_lock_free(mutex->lock);
    hf_free(mutex);
}

hf_status hf_mutex_timedlock(struct hf_mutex *mutex, uint64_t wait_ms)
{
    struct hf_hold *hold;
    hf_status status;

    if (is_forked(mutex))
        return HF_EFORKED;
    hold = hf_holds_own(&mutex->holds);
    if (hold != NULL)
        status = hf_grant_check(hold->grant);
    else
        status = hf_holds_take(&mutex->holds, mutex->lock, wait_ms, &hold);
    if (status == HF_OK)
        hold->writes++;
    return status;
}

hf_status hf_mutex_lock(struct hf_mutex *mutex)
{
    return hf_mutex_timedlock(mutex, HF_FOREVER);
}

hf_status hf_mutex_trylock(struct hf_mutex *mutex)
{
    return hf_mutex_timedlock(mutex, 0);
}

hf_status hf_mutex_unlock(struct hf_mutex *mutex)
{
    struct hf_hold *hold;
    hf_status status;

    if (is_forked(mutex))
        return HF_EFORKED;
    hold = hf_holds_own(&mutex->holds);
    if (hold == NULL)
        return HF_EOWNER;
    if (hold->writes == 1)
        return hf_holds_give(&mutex->holds, hold);
    status = hf_grant_check(hold->grant);
    if (status != HF_EFORKED)
        hold->writes--;
    return status;
}

uint64_t hf_mutex_token(struct hf_mutex *mutex)
{
    struct hf_hold *hold;

    if (is_forked(mutex))
        return 0;
    hold = hf_holds_own(&mutex->holds);
    return hold != NULL ? hf_grant_token(hold->grant) : 0;
}
