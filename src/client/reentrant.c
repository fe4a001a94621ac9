/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of the owners of one handle, and acquiring and releasing for
 * them.
 */
#include "client/reentrant.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "client/grant.h"
#include "client/list_evict_revoke.h"

/* A number for the calling thread that is never reused.  Thread ids are reused
 * by the kernel and pthread_t by the C library, and an owner must never be
 * mistaken for one that has gone. */
uint64_t hf_owner_self(void)
{
    static _Atomic uint64_t last;
    static _Thread_local uint64_t mine;

    if (mine == 0)
        mine = atomic_fetch_add(&last, 1) + 1;
    return mine;
}

/* The owner that calls. */
static uint64_t caller_owner(const struct hf_reentrant *reentrant)
{
    return reentrant->owner != NULL ? reentrant->owner(reentrant->owner_arg)
                                    : hf_owner_self();
}

void hf_reentrant_init(struct hf_reentrant *reentrant, const char *text)
{
    reentrant->references = 1;
    if (text != NULL)
        memcpy(reentrant->text, text, strlen(text) + 1);
    pthread_mutex_init(&reentrant->guard, NULL);
}

/* Drop a reference; the last one destroys the handle.  It is also the .drop of
 * the callback that a grant has. */
static void dereference(void *arg)
{
    struct hf_reentrant *reentrant = arg;

    if (atomic_fetch_sub(&reentrant->references, 1) > 1)
        return;
    pthread_mutex_destroy(&reentrant->guard);
    hf_last_error_free(&reentrant->texts, &reentrant->last_error);
    reentrant->destroy(reentrant);
}

/* The .on_revoke of a grant. */
static void call_revoked(void *arg, struct hf_grant *grant)
{
    struct hf_reentrant *reentrant = arg;

    reentrant->revoked(reentrant, grant->owner);
}

/* The records need no .guard any more: the user frees a handle that no thread
 * uses. */
void hf_reentrant_free(struct hf_reentrant *reentrant)
{
    const struct hf_done no_done = {NULL, NULL, NULL};
    struct hf_hold *hold;

    while ((hold = reentrant->first) != NULL) {
        reentrant->first = hold->next;
        (void)!hf_grant_release_start(hold->grant, no_done);
        hf_free(hold);
    }
    hf_callback_enter(); /* because of the .drop of the user's callback */
    dereference(reentrant);
    hf_callback_leave();
}

/* The pointer to the record of ${owner}, or to the NULL at the end.  With
 * .guard. */
static struct hf_hold **find_link(struct hf_reentrant *reentrant,
                                  uint64_t owner)
{
    struct hf_hold **link = &reentrant->first;

    while (*link != NULL && (*link)->owner != owner)
        link = &(*link)->next;
    return link;
}

/* The list has those owners that hold the lock, or have lost it and not
 * unlocked it yet. */
struct hf_hold *hf_reentrant_find(struct hf_reentrant *reentrant)
{
    uint64_t owner = caller_owner(reentrant);
    struct hf_hold *hold;

    pthread_mutex_lock(&reentrant->guard);
    hold = *find_link(reentrant, owner);
    pthread_mutex_unlock(&reentrant->guard);
    return hold;
}

/* Options of an acquire.  A callback for revokes holds a reference, because the
 * grant may outlive the handle of the user. */
static struct hf_acquire_opts make_opts(struct hf_reentrant *reentrant,
                                        uint64_t wait_ms)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    opts.wait_ms = wait_ms;
    opts.detect_deadlock = reentrant->detect_deadlock;
    if (reentrant->text[0] != '\0')
        opts.text = reentrant->text;
    if (reentrant->revoked == NULL)
        return opts;
    atomic_fetch_add(&reentrant->references, 1);
    opts.on_revoke =
        (struct hf_on_revoke){call_revoked, reentrant, dereference};
    return opts;
}

/* The record is allocated before the lock is acquired, because a grant without
 * a record could not be unlocked. */
hf_status hf_reentrant_acquire(struct hf_reentrant *reentrant,
                               struct hf_lock *lock, const char *call,
                               uint64_t wait_ms, struct hf_hold **hold,
                               struct hf_error *error)
{
    struct hf_acquire_opts opts;
    struct hf_hold *made = hf_alloc(sizeof(*made));
    hf_status status;

    if (made == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    made->owner = caller_owner(reentrant);
    opts = make_opts(reentrant, wait_ms);
    status = hf_acquire_for_owner(lock, call, &opts, made->owner,
                                  &reentrant->waiters, &made->grant, error);
    if (status != HF_OK)
        goto free_hold;
    pthread_mutex_lock(&reentrant->guard);
    made->next = reentrant->first;
    reentrant->first = made;
    pthread_mutex_unlock(&reentrant->guard);
    *hold = made;
    return HF_OK;
free_hold:
    hf_free(made);
    return status;
}

/* Cancel the waits of ${owner}, or of all owners if that is 0.  True if there
 * was one.  With the client's lock. */
static bool cancel_waits(struct hf_reentrant *reentrant, uint64_t owner)
{
    bool found = false;

    for (struct hf_grant_waiter *w = reentrant->waiters; w != NULL;
         w = w->next) {
        if ((owner != 0 && w->owner != owner) || w->grant->waiter == NULL)
            continue; /* another owner's, or it was answered */
        hf_grant_cancel(w->grant);
        found = true;
    }
    return found;
}

/* A wait that is answered is not cancelled, although its caller has not
 * returned yet. */
hf_status hf_reentrant_cancel(struct hf_reentrant *reentrant,
                              struct hf_client *client, const char *call,
                              uint64_t owner)
{
    struct hf_error error;
    hf_status status = hf_monitor_enter(&client->monitor);
    bool found;

    if (status != HF_OK)
        return status;
    found = cancel_waits(reentrant, owner);
    hf_monitor_leave(&client->monitor);
    if (found)
        return HF_OK;
    hf_error_set(&error, HF_EGONE,
                 "no such owner waits through this handle; expected one that "
                 "is in a call that locks, or 0 for each of them");
    return hf_reentrant_fail(reentrant, call, &error);
}

/* Take ${hold} out of the list and free it. */
static void remove_hold(struct hf_reentrant *reentrant, struct hf_hold *hold)
{
    struct hf_hold **link;

    pthread_mutex_lock(&reentrant->guard);
    link = find_link(reentrant, hold->owner);
    assert(*link == hold);
    *link = hold->next;
    pthread_mutex_unlock(&reentrant->guard);
    hf_free(hold);
}

/* A call that could not be begun keeps the record, so that the owner can unlock
 * on another thread. */
hf_status hf_reentrant_release(struct hf_reentrant *reentrant,
                               struct hf_hold *hold, struct hf_error *error)
{
    hf_status status = hf_grant_release_for(hold->grant, error);

    if (status != HF_EREENTRANT && status != HF_EFORKED)
        remove_hold(reentrant, hold);
    return status;
}

/* Remember ${error} as the last one of the handle. */
static void keep_error(struct hf_reentrant *reentrant, const char *call,
                       const struct hf_error *error)
{
    pthread_mutex_lock(&reentrant->guard);
    hf_last_error_set(&reentrant->texts, &reentrant->last_error, call, error);
    pthread_mutex_unlock(&reentrant->guard);
}

hf_status hf_reentrant_fail(struct hf_reentrant *reentrant, const char *call,
                            const struct hf_error *error)
{
    keep_error(reentrant, call, error);
    return error->status;
}

/* The lock remembers the text of the failure.  Another owner's failure may be
 * there by now; it is then the last one of this handle too. */
hf_status hf_reentrant_list(struct hf_reentrant *reentrant,
                            struct hf_lock *lock, const char *call,
                            enum hf_tickets_which which, uint64_t wait_ms,
                            struct hf_tickets **tickets)
{
    hf_status status = hf_lock_list_for(lock, call, which, wait_ms, tickets);
    struct hf_error error;

    if (status == HF_OK || status == HF_EFORKED)
        return status;
    hf_lock_error(lock, &error);
    keep_error(reentrant, NULL, &error);
    return status;
}

hf_status hf_reentrant_fail_not_owner(struct hf_reentrant *reentrant,
                                      const char *call, const char *what)
{
    struct hf_error error;

    hf_error_set(&error, HF_EOWNER,
                 "the caller has no %s to give back; unlock as the owner that "
                 "locked, and only as often",
                 what);
    return hf_reentrant_fail(reentrant, call, &error);
}

void hf_reentrant_error(struct hf_reentrant *reentrant, struct hf_error *error)
{
    pthread_mutex_lock(&reentrant->guard);
    hf_last_error_copy(&reentrant->last_error, error);
    pthread_mutex_unlock(&reentrant->guard);
}
