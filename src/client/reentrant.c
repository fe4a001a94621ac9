/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of the owners of one handle, and locking and unlocking for them.
 * Only the owner itself changes its counts, so counting takes no lock.
 */
#include "client/reentrant.h"

#include <assert.h>
#include <string.h>

#include <holdfast/grant.h>

#include "base/error.h"
#include "base/memory.h"
#include "client/client.h"
#include "client/grant.h"
#include "client/list_evict_revoke.h"

/* The record of one owner that holds the lock, or that has lost it and not
 * unlocked it yet.  .owner is set once; only the owner reads and writes the
 * rest, until the handle is freed. */
struct hf_hold {
    uint64_t owner;
    uint64_t counts[HF_ACCESS_COUNT]; /* how often it was locked; not all 0 */
    struct hf_grant *grant;
    struct hf_hold *next; /* in the list; under .guard */
};

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

/* The owner that makes this call. */
static uint64_t caller_owner(const struct hf_reentrant *reentrant)
{
    const struct hf_reentrant_opts *opts = &reentrant->opts;

    return opts->owner != NULL ? opts->owner(opts->owner_arg) : hf_owner_self();
}

/* In a child of a fork nothing of the parent may be touched, and least of all
 * .guard, which another thread may have held. */
static bool is_forked(const struct hf_reentrant *reentrant)
{
    return hf_fork_is_child(&reentrant->client->monitor.fork);
}

/* -------------------------------------------------- opening and freeing -- */

static void close_locks(struct hf_reentrant *reentrant)
{
    for (size_t i = 0; i < HF_ACCESS_COUNT; i++)
        hf_lock_free(reentrant->locks[i]);
}

/* Open the locks of the name, one for each kind of ticket. */
static hf_status open_locks(struct hf_reentrant *reentrant,
                            const char *api_name, const char *name)
{
    const struct hf_reentrant_opts *opts = &reentrant->opts;
    struct hf_lock **writer = &reentrant->locks[HF_ACCESS_WRITE];
    struct hf_lock_opts lock_opts = HF_LOCK_OPTS_INIT;
    hf_status status;

    if (opts->has_readers)
        lock_opts.kind = HF_KIND_WRITE;
    status =
        hf_lock_open_for(reentrant->client, api_name, name, &lock_opts, writer);
    lock_opts.kind = HF_KIND_READ;
    if (status == HF_OK && opts->has_readers)
        status = hf_lock_open_for(reentrant->client, api_name, name, &lock_opts,
                                  &reentrant->locks[HF_ACCESS_READ]);
    if (status == HF_OK && (opts->handoffs > 0 || opts->keep_ms > 0) &&
        !opts->detect_deadlock)
        status = hf_lock_join_cohort(*writer, api_name, opts->handoffs,
                                     opts->keep_ms);
    if (status != HF_OK)
        close_locks(reentrant);
    return status;
}

/* What hf_reentrant_open() does, but for the .drop on failure. */
static hf_status open_reentrant(struct hf_client *client, const char *api_name,
                                const char *name,
                                const struct hf_reentrant_opts *opts,
                                struct hf_reentrant **reentrant)
{
    hf_status status = hf_open_check_text(client, api_name, opts->text);
    struct hf_reentrant *made;

    assert(!opts->has_readers || (opts->handoffs == 0 && opts->keep_ms == 0));
    if (status != HF_OK)
        return status;
    if ((made = hf_open_alloc(api_name, sizeof(*made))) == NULL)
        return HF_ENOMEM;
    made->opts = *opts;
    made->client = client;
    if ((status = open_locks(made, api_name, name)) != HF_OK)
        goto free_made;
    made->references = 1;
    if (opts->text != NULL)
        memcpy(made->text, opts->text, strlen(opts->text) + 1);
    made->opts.text = made->text[0] != '\0' ? made->text : NULL;
    pthread_mutex_init(&made->guard, NULL);
    *reentrant = made;
    return HF_OK;
free_made:
    hf_free(made);
    return status;
}

hf_status hf_reentrant_open(struct hf_client *client, hf_status status,
                            const char *api_name, const char *name,
                            const struct hf_reentrant_opts *opts,
                            struct hf_reentrant **reentrant)
{
    if (status == HF_OK)
        status = open_reentrant(client, api_name, name, opts, reentrant);
    if (status != HF_OK && opts->drop.fn != NULL)
        opts->drop.fn(opts->drop.arg);
    return status;
}

/* Drop a reference; the last one frees the handle.  It is also the .drop of the
 * callback that a grant has. */
static void dereference(void *arg)
{
    struct hf_reentrant *reentrant = arg;
    const struct hf_user_drop *drop = &reentrant->opts.drop;

    if (atomic_fetch_sub(&reentrant->references, 1) > 1)
        return;
    pthread_mutex_destroy(&reentrant->guard);
    if (drop->fn != NULL)
        drop->fn(drop->arg);
    close_locks(reentrant);
    hf_free(reentrant);
}

/* The records need no .guard any more: the user frees a handle that no thread
 * uses. */
void hf_reentrant_free(struct hf_reentrant *reentrant)
{
    const struct hf_done no_done = {NULL, NULL, NULL};
    struct hf_hold *hold;

    if (is_forked(reentrant))
        return;
    while ((hold = reentrant->first) != NULL) {
        reentrant->first = hold->next;
        (void)!hf_grant_release_start(hold->grant, no_done);
        hf_free(hold);
    }
    hf_callback_enter(); /* dereference() may call the user's .drop */
    dereference(reentrant);
    hf_callback_leave();
}

/* ------------------------------------------------------------ its owners -- */

/* The pointer to the record of ${owner}; if it has none, the pointer at the end
 * of the list, which is NULL.  With .guard. */
static struct hf_hold **find_link(struct hf_reentrant *reentrant,
                                  uint64_t owner)
{
    struct hf_hold **link = &reentrant->first;

    while (*link != NULL && (*link)->owner != owner)
        link = &(*link)->next;
    return link;
}

/* The record of ${owner}, which makes this call, or NULL.  The record stays
 * valid, because only its owner removes it. */
static struct hf_hold *find_hold(struct hf_reentrant *reentrant, uint64_t owner)
{
    struct hf_hold *hold;

    pthread_mutex_lock(&reentrant->guard);
    hold = *find_link(reentrant, owner);
    pthread_mutex_unlock(&reentrant->guard);
    return hold;
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

/* -------------------------------------------------------------- locking -- */

/* The .on_revoke of a grant. */
static void call_revoked(void *arg, struct hf_grant *grant)
{
    struct hf_reentrant *reentrant = arg;

    reentrant->opts.revoked(reentrant, grant->owner);
}

/* Options of an acquire.  A callback for revokes holds a reference, because the
 * grant may outlive the handle of the user. */
static struct hf_acquire_opts acquire_opts(struct hf_reentrant *reentrant,
                                           uint64_t wait_ms)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    opts.wait_ms = wait_ms;
    opts.detect_deadlock = reentrant->opts.detect_deadlock;
    opts.text = reentrant->opts.text;
    if (reentrant->opts.revoked == NULL)
        return opts;
    atomic_fetch_add(&reentrant->references, 1);
    opts.on_revoke =
        (struct hf_on_revoke){call_revoked, reentrant, dereference};
    return opts;
}

/* Acquire for ${owner}, which has no record, and set ${hold} to a new one whose
 * counts are 0.  The record is allocated before the lock is acquired, because a
 * grant without a record could not be unlocked. */
static hf_status acquire(struct hf_reentrant *reentrant, uint64_t owner,
                         const char *api_name, enum hf_access access,
                         uint64_t wait_ms, struct hf_hold **hold)
{
    struct hf_hold *made = hf_open_alloc(api_name, sizeof(*made));
    struct hf_acquire_opts opts;
    hf_status status;

    if (made == NULL)
        return HF_ENOMEM;
    made->owner = owner;
    opts = acquire_opts(reentrant, wait_ms);
    status = hf_acquire_for_owner(reentrant->locks[access], api_name, &opts,
                                  owner, &reentrant->waiters, &made->grant);
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

/* May the caller, who has ${hold}, lock once more?  An owner whose grant was
 * lost keeps its record and is refused until it has unlocked, because it may
 * not know of the loss.  A reader may not write, because it would only wait for
 * itself. */
static hf_status check_again(struct hf_hold *hold, const char *api_name,
                             enum hf_access access)
{
    struct hf_error error;
    hf_status status = hf_grant_check_now(hold->grant, &error);

    if (status == HF_OK && access == HF_ACCESS_WRITE &&
        hold->counts[HF_ACCESS_WRITE] == 0)
        status = hf_error_set(&error, HF_EREENTRANT,
                              "the caller reads, and as a writer it could only "
                              "wait for itself; unlock the read first");
    return status == HF_OK ? HF_OK : hf_fail(api_name, &error);
}

hf_status hf_reentrant_lock(struct hf_reentrant *reentrant,
                            const char *api_name, enum hf_access access,
                            uint64_t wait_ms)
{
    struct hf_hold *hold;
    hf_status status;
    uint64_t owner;

    assert(reentrant->locks[access] != NULL);
    if (is_forked(reentrant))
        return hf_fork_fail(api_name);
    owner = caller_owner(reentrant);
    if ((hold = find_hold(reentrant, owner)) != NULL)
        status = check_again(hold, api_name, access);
    else
        status = acquire(reentrant, owner, api_name, access, wait_ms, &hold);
    if (status == HF_OK)
        hold->counts[access]++;
    return status;
}

/* ------------------------------------------------------------ unlocking -- */

/* Fail with HF_EOWNER: the caller has no lock for this ${access}. */
static hf_status fail_not_owner(const struct hf_reentrant *reentrant,
                                const char *api_name, enum hf_access access)
{
    static const char *const accesses[HF_ACCESS_COUNT] = {"write", "read"};
    struct hf_error error;

    hf_error_set(&error, HF_EOWNER,
                 "the caller has no %s to give back; unlock as the owner that "
                 "locked, and only as often",
                 reentrant->opts.has_readers ? accesses[access] : "lock");
    return hf_fail(api_name, &error);
}

/* Does ${status} mean that nothing was begun?  The owner then still holds the
 * lock, and can unlock on another thread. */
static bool is_refused(hf_status status)
{
    return status == HF_EREENTRANT || status == HF_EFORKED;
}

/* Release the grant and remove ${hold}. */
static hf_status release(struct hf_reentrant *reentrant, struct hf_hold *hold,
                         const char *api_name)
{
    hf_status status = hf_grant_release_for(hold->grant, api_name);

    if (!is_refused(status))
        remove_hold(reentrant, hold);
    return status;
}

/* The last unlock releases, and the last one of a write by an owner that also
 * reads downgrades.  The others only report a loss.  All of them count, lost or
 * not, because the owner unlocks as often as it locked. */
static hf_status unlock(struct hf_reentrant *reentrant, struct hf_hold *hold,
                        const char *api_name, enum hf_access access)
{
    uint64_t *count = &hold->counts[access];
    struct hf_error error;
    hf_status status;

    if (hold->counts[HF_ACCESS_WRITE] + hold->counts[HF_ACCESS_READ] == 1)
        return release(reentrant, hold, api_name);
    if (access == HF_ACCESS_WRITE && *count == 1)
        status = hf_grant_downgrade_for(hold->grant, api_name);
    else if ((status = hf_grant_check_now(hold->grant, &error)) != HF_OK)
        (void)hf_fail(api_name, &error);
    if (!is_refused(status))
        --*count;
    return status;
}

/* The count is checked before anything is undone. */
hf_status hf_reentrant_unlock(struct hf_reentrant *reentrant,
                              const char *api_name, enum hf_access access)
{
    struct hf_hold *hold;

    if (is_forked(reentrant))
        return hf_fork_fail(api_name);
    hold = find_hold(reentrant, caller_owner(reentrant));
    if (hold == NULL || hold->counts[access] == 0)
        return fail_not_owner(reentrant, api_name, access);
    return unlock(reentrant, hold, api_name, access);
}

/* ---------------------------------------------------------- other calls -- */

uint64_t hf_reentrant_token(struct hf_reentrant *reentrant)
{
    struct hf_hold *hold;

    if (is_forked(reentrant))
        return 0;
    hold = find_hold(reentrant, caller_owner(reentrant));
    return hold != NULL ? hf_grant_token(hold->grant) : 0;
}

/* Cancel the waits of ${owner}, or of all owners if that is 0.  True if there
 * was one.  With the client's lock. */
static bool cancel_waits(struct hf_reentrant *reentrant, uint64_t owner)
{
    bool found = false;

    for (struct hf_grant_waiter *w = reentrant->waiters; w != NULL;
         w = w->next) {
        if ((owner != 0 && w->owner != owner) ||
            w->grant->user_op.completion.waiter == NULL)
            continue; /* another owner's, or it was answered */
        hf_grant_cancel(w->grant);
        found = true;
    }
    return found;
}

/* A wait that is answered is not cancelled, although its caller has not
 * returned yet. */
hf_status hf_reentrant_cancel(struct hf_reentrant *reentrant,
                              const char *api_name, uint64_t owner)
{
    struct hf_monitor *monitor = &reentrant->client->monitor;
    struct hf_error error;
    hf_status status = hf_monitor_enter(monitor, api_name);
    bool found;

    if (status != HF_OK)
        return status;
    found = cancel_waits(reentrant, owner);
    hf_monitor_leave(monitor);
    if (found)
        return HF_OK;
    hf_error_set(&error, HF_EGONE,
                 "no such owner waits through this handle; expected one that "
                 "is in a call that locks, or 0 for each of them");
    return hf_fail(api_name, &error);
}

/* The kind of the tickets does not matter for a list, so the writer's lock
 * serves for all. */
hf_status hf_reentrant_list(struct hf_reentrant *reentrant,
                            const char *api_name, enum hf_tickets_which which,
                            uint64_t wait_ms, struct hf_tickets **tickets)
{
    return hf_lock_list_for(reentrant->locks[HF_ACCESS_WRITE], api_name, which,
                            wait_ms, tickets);
}
