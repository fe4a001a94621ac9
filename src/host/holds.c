/* SPDX-License-Identifier: Apache-2.0 */
#include "host/holds.h"

#include <assert.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "host/grant.h"
#include "host/queue.h"

/* Thread ids are reused by the kernel, and pthread_t by the C library; an
 * owner must never be mistaken for one that has gone. */
uint64_t hf_owner_self(void)
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
                                : hf_owner_self();
}

void hf_holds_init(struct hf_holds *holds, const char *text)
{
    holds->references = 1;
    if (text != NULL)
        memcpy(holds->text, text, strlen(text) + 1);
    pthread_mutex_init(&holds->guard, NULL);
}

/* The .drop of a callback in a grant, too. */
static void dereference(void *arg)
{
    struct hf_holds *holds = arg;

    if (atomic_fetch_sub(&holds->references, 1) > 1)
        return;
    pthread_mutex_destroy(&holds->guard);
    hf_failure_drop(&holds->texts, &holds->failure);
    holds->destroy(holds);
}

static void hear_revoke(void *arg, struct hf_grant *grant)
{
    struct hf_holds *holds = arg;

    holds->revoked(holds, grant->owner);
}

void hf_holds_free(struct hf_holds *holds)
{
    const struct hf_done no_done = {NULL, NULL, NULL};
    struct hf_hold *hold;

    while ((hold = holds->first) != NULL) {
        holds->first = hold->next;
        (void)!hf_grant_release_start(hold->grant, no_done);
        hf_free(hold);
    }
    hf_delivery_begin(); /* for the .drop of the user's callback */
    dereference(holds);
    hf_delivery_end();
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

static struct hf_acquire_opts describe(struct hf_holds *holds, uint64_t wait_ms)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    opts.wait_ms = wait_ms;
    if (holds->text[0] != '\0')
        opts.text = holds->text;
    if (holds->revoked == NULL)
        return opts;
    atomic_fetch_add(&holds->references, 1);
    opts.on_revoke = (struct hf_on_revoke){hear_revoke, holds, dereference};
    return opts;
}

hf_status hf_holds_take(struct hf_holds *holds, struct hf_lock *lock,
                        const char *call, uint64_t wait_ms,
                        struct hf_hold **hold, struct hf_error *error)
{
    struct hf_acquire_opts opts;
    struct hf_hold *made = hf_alloc(sizeof(*made));
    hf_status status;

    if (made == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    made->owner = caller(holds);
    opts = describe(holds, wait_ms);
    status = hf_acquire_as(lock, call, &opts, made->owner, &holds->waiters,
                           &made->grant, error);
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

/* Is there any?  With the client's lock. */
static bool cancel(struct hf_holds *holds, uint64_t owner)
{
    bool found = false;

    for (struct hf_grant_waiter *w = holds->waiters; w != NULL; w = w->next) {
        if ((owner != 0 && w->owner != owner) || w->grant->waiter == NULL)
            continue; /* another one, or answered */
        hf_grant_cancel(w->grant);
        found = true;
    }
    return found;
}

hf_status hf_holds_cancel(struct hf_holds *holds, struct hf_client *client,
                          const char *call, uint64_t owner)
{
    struct hf_error error;
    hf_status status = hf_monitor_enter(&client->monitor);
    bool found;

    if (status != HF_OK)
        return status;
    found = cancel(holds, owner);
    hf_monitor_leave(&client->monitor);
    if (found)
        return HF_OK;
    hf_error_set(&error, HF_EGONE,
                 "no such owner waits through this handle; expected one that "
                 "is in a call that locks, or 0 for each of them");
    return hf_holds_fail(holds, call, &error);
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

static void remember(struct hf_holds *holds, const char *call,
                     const struct hf_error *error)
{
    pthread_mutex_lock(&holds->guard);
    hf_failure_keep(&holds->texts, &holds->failure, call, error);
    pthread_mutex_unlock(&holds->guard);
}

hf_status hf_holds_fail(struct hf_holds *holds, const char *call,
                        const struct hf_error *error)
{
    remember(holds, call, error);
    return error->status;
}

/* The lock has its text; another owner's failure may be there by now, and is
 * then the last one of this handle as well. */
hf_status hf_holds_list(struct hf_holds *holds, struct hf_lock *lock,
                        const char *call, enum hf_tickets_which which,
                        uint64_t wait_ms, struct hf_tickets **tickets)
{
    hf_status status = hf_queue_list(lock, call, which, wait_ms, tickets);
    struct hf_error error;

    if (status == HF_OK || status == HF_EFORKED)
        return status;
    hf_lock_error(lock, &error);
    remember(holds, NULL, &error);
    return status;
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
    hf_failure_copy(&holds->failure, error);
    pthread_mutex_unlock(&holds->guard);
}
