/* SPDX-License-Identifier: Apache-2.0 */
#include "host/holds.h"

#include <assert.h>

#include "core/error.h"
#include "core/memory.h"
#include "host/grant.h"

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
                        const char *call, uint64_t wait_ms,
                        struct hf_hold **hold, struct hf_error *error)
{
    struct hf_hold *made = hf_alloc(sizeof(*made));
    hf_status status;

    if (made == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    made->owner = caller(holds);
    status = hf_acquire_for(lock, call, wait_ms, &made->grant, error);
    if (status != HF_OK)
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

hf_status hf_holds_give(struct hf_holds *holds, struct hf_hold *hold,
                        struct hf_error *error)
{
    hf_status status = hf_grant_release_for(hold->grant, error);

    if (status != HF_EREENTRANT && status != HF_EFORKED)
        remove_hold(holds, hold);
    return status;
}

hf_status hf_holds_fail(struct hf_holds *holds, const char *call,
                        struct hf_error *error)
{
    hf_error_prefix(error, call);
    pthread_mutex_lock(&holds->guard);
    holds->error = *error;
    pthread_mutex_unlock(&holds->guard);
    return error->status;
}

hf_status hf_holds_fail_owner(struct hf_holds *holds, const char *call,
                              const char *what)
{
    struct hf_error error;

    hf_error_set(&error, HF_EOWNER,
                 "the caller has no %s to give back; unlock as the owner that "
                 "locked, and only as often",
                 what);
    return hf_holds_fail(holds, call, &error);
}

void hf_holds_error(struct hf_holds *holds, struct hf_error *error)
{
    pthread_mutex_lock(&holds->guard);
    *error = holds->error;
    pthread_mutex_unlock(&holds->guard);
}
