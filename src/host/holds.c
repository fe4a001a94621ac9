/* SPDX-License-Identifier: Apache-2.0 */
#include "host/holds.h"

#include <assert.h>

#include "core/error.h"
#include "core/memory.h"

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

static uint64_t caller(const struct hf_holds *holds)
{
    return holds->owner != NULL ? holds->owner(holds->owner_arg)
                                : thread_number();
}

void hf_holds_init(struct hf_holds *holds, uint64_t (*owner)(void *arg),
                   void *owner_arg)
{
    *holds = (struct hf_holds){.owner = owner, .owner_arg = owner_arg};
    pthread_mutex_init(&holds->guard, NULL);
}

void hf_holds_free(struct hf_holds *holds)
{
    const struct hf_done untold = {NULL, NULL, NULL};
    struct hf_hold *hold;

    while ((hold = holds->first) != NULL) {
        holds->first = hold->next;
        (void)!hf_grant_release_start(hold->grant, untold);
        hf_free(hold);
    }
    pthread_mutex_destroy(&holds->guard);
}

/* Under the guard. */
static struct hf_hold **find(struct hf_holds *holds, uint64_t owner)
{
    struct hf_hold **link = &holds->first;

    while (*link != NULL && (*link)->owner != owner)
        link = &(*link)->next;
    return link;
}

struct hf_hold *hf_holds_own(struct hf_holds *holds)
{
    uint64_t owner = caller(holds);
    struct hf_hold *hold;

    pthread_mutex_lock(&holds->guard);
    hold = *find(holds, owner);
    pthread_mutex_unlock(&holds->guard);
    return hold;
}

hf_status hf_holds_take(struct hf_holds *holds, struct hf_lock *lock,
                        uint64_t wait_ms, struct hf_hold **hold)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_hold *made = hf_alloc(sizeof(*made));
    hf_status status;

    if (made == NULL)
        return HF_ENOMEM;
    made->owner = caller(holds);
    opts.wait_ms = wait_ms;
    if ((status = hf_lock_acquire(lock, &opts, &made->grant)) != HF_OK)
        goto free_hold;
    pthread_mutex_lock(&holds->guard);
    made->next = holds->first;
    holds->first = made;
    pthread_mutex_unlock(&holds->guard);
    *hold = made;
    return HF_OK;
free_hold:
    hf_free(made);
    return status;
}

static void remove_hold(struct hf_holds *holds, struct hf_hold *hold)
{
    struct hf_hold **link;

    pthread_mutex_lock(&holds->guard);
    link = find(holds, hold->owner);
    assert(*link == hold);
    *link = hold->next;
    pthread_mutex_unlock(&holds->guard);
    hf_free(hold);
}

hf_status hf_holds_give(struct hf_holds *holds, struct hf_hold *hold)
{
    hf_status status = hf_grant_release(hold->grant);

    if (status != HF_EREENTRANT && status != HF_EFORKED)
        remove_hold(holds, hold);
    return status;
}
