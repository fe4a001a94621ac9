/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reentrant front: a count per owner over a grant.  Two owners can be on
 * record at once, one of them with a grant that was lost and that it has not
 * unlocked yet.
 */
#include <assert.h>

#include "core/error.h"
#include "core/memory.h"
#include "host/lock.h"

struct hold {
    uint64_t owner;
    uint64_t count;
    struct hf_grant *grant;
    struct hold *next;
};

struct hf_mutex {
    struct hf_lock *lock;
    struct hf_mutex_opts opts;
    pthread_mutex_t guard; /* of holds; never held while waiting */
    struct hold *holds;
};

/* Thread ids are reused by the kernel, and pthread_t by the C library; an
 * owner must never be mistaken for one that has gone. */
static uint64_t thread_number(void)
{
    static _Atomic uint64_t last;
    static _Thread_local uint64_t mine;

    if (mine == 0)
        mine = atomic_fetch_add(&last, 1) + 1;
    return mine;
}

static uint64_t caller(const struct hf_mutex *mutex)
{
    return mutex->opts.owner != NULL ? mutex->opts.owner(mutex->opts.owner_arg)
                                     : thread_number();
}

/* In a child nothing of the parent's may be touched, least of all the guard,
 * which another thread may have held. */
static bool is_forked(const struct hf_mutex *mutex)
{
    return hf_fork_parted(mutex->lock->client);
}

static hf_status fail_open(struct hf_client *client, struct hf_error *error)
{
    hf_status status = hf_client_enter(client);

    if (status != HF_OK)
        return status;
    status = hf_client_fail(client, "hf_mutex_open", error);
    hf_client_leave(client);
    return status;
}

hf_status hf_mutex_open(struct hf_client *client, const char *name,
                        const struct hf_mutex_opts *opts,
                        struct hf_mutex **mutex)
{
    static const struct hf_mutex_opts defaults = HF_MUTEX_OPTS_INIT;
    struct hf_mutex *made;
    struct hf_error error;
    hf_status status;

    *mutex = NULL;
    if (opts == NULL)
        opts = &defaults;
    if (opts->size != sizeof(*opts)) {
        hf_error_set(&error, HF_EINVAL,
                     "the size of the options is %zu, expected %zu; start "
                     "from HF_MUTEX_OPTS_INIT",
                     opts->size, sizeof(*opts));
        return fail_open(client, &error);
    }
    if ((made = hf_alloc(sizeof(*made))) == NULL) {
        hf_error_set(&error, HF_ENOMEM, "out of memory");
        return fail_open(client, &error);
    }
    status = hf_lock_open_for(client, "hf_mutex_open", name, NULL, &made->lock);
    if (status != HF_OK)
        goto free_mutex;
    made->opts = *opts;
    pthread_mutex_init(&made->guard, NULL);
    *mutex = made;
    return HF_OK;
free_mutex:
    hf_free(made);
    return status;
}

void hf_mutex_free(struct hf_mutex *mutex)
{
    const struct hf_done untold = {NULL, NULL, NULL};
    struct hold *hold;

    if (mutex == NULL || is_forked(mutex))
        return;
    while ((hold = mutex->holds) != NULL) {
        mutex->holds = hold->next;
        (void)!hf_grant_release_start(hold->grant, untold);
        hf_free(hold);
    }
    hf_lock_free(mutex->lock);
    pthread_mutex_destroy(&mutex->guard);
    hf_free(mutex);
}

/* Under the guard. */
static struct hold **find(struct hf_mutex *mutex, uint64_t owner)
{
    struct hold **link = &mutex->holds;

    while (*link != NULL && (*link)->owner != owner)
        link = &(*link)->next;
    return link;
}

/* A hold is only ever taken away by its owner, so it stays valid after the
 * guard is given up. */
static struct hold *find_own(struct hf_mutex *mutex, uint64_t owner)
{
    struct hold *hold;

    pthread_mutex_lock(&mutex->guard);
    hold = *find(mutex, owner);
    pthread_mutex_unlock(&mutex->guard);
    return hold;
}

static hf_status count_up(struct hold *hold)
{
    hf_status status = hf_grant_check(hold->grant);

    if (status == HF_OK)
        hold->count++;
    return status;
}

static hf_status lock_first(struct hf_mutex *mutex, uint64_t owner,
                            uint64_t wait_ms)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hold *hold = hf_alloc(sizeof(*hold));
    hf_status status;

    if (hold == NULL)
        return HF_ENOMEM;
    opts.wait_ms = wait_ms;
    if ((status = hf_acquire(mutex->lock, &opts, &hold->grant)) != HF_OK)
        goto free_hold;
    hold->owner = owner;
    hold->count = 1;
    pthread_mutex_lock(&mutex->guard);
    hold->next = mutex->holds;
    mutex->holds = hold;
    pthread_mutex_unlock(&mutex->guard);
    return HF_OK;
free_hold:
    hf_free(hold);
    return status;
}

hf_status hf_mutex_timedlock(struct hf_mutex *mutex, uint64_t wait_ms)
{
    uint64_t owner = caller(mutex);
    struct hold *hold;

    if (is_forked(mutex))
        return HF_EFORKED;
    hold = find_own(mutex, owner);
    if (hold != NULL)
        return count_up(hold);
    return lock_first(mutex, owner, wait_ms);
}

hf_status hf_mutex_lock(struct hf_mutex *mutex)
{
    return hf_mutex_timedlock(mutex, HF_FOREVER);
}

hf_status hf_mutex_trylock(struct hf_mutex *mutex)
{
    return hf_mutex_timedlock(mutex, 0);
}

static void remove_hold(struct hf_mutex *mutex, struct hold *hold)
{
    struct hold **link;

    pthread_mutex_lock(&mutex->guard);
    link = find(mutex, hold->owner);
    assert(*link == hold);
    *link = hold->next;
    pthread_mutex_unlock(&mutex->guard);
    hf_free(hold);
}

hf_status hf_mutex_unlock(struct hf_mutex *mutex)
{
    struct hold *hold;
    hf_status status;

    if (is_forked(mutex))
        return HF_EFORKED;
    hold = find_own(mutex, caller(mutex));
    if (hold == NULL)
        return HF_EOWNER;
    if (hold->count > 1) {
        status = hf_grant_check(hold->grant);
        if (status != HF_EFORKED)
            hold->count--;
        return status;
    }
    status = hf_grant_release(hold->grant);
    if (status != HF_EREENTRANT && status != HF_EFORKED)
        remove_hold(mutex, hold);
    return status;
}

uint64_t hf_mutex_token(struct hf_mutex *mutex)
{
    struct hold *hold;

    if (is_forked(mutex))
        return 0;
    hold = find_own(mutex, caller(mutex));
    return hold != NULL ? hf_grant_token(hold->grant) : 0;
}
