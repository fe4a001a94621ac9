/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The read/write lock: two counts per owner over one grant.  The grant is a
 * writer's while the count of writes is not 0; with the last unlock of a write
 * it is downgraded.
 *
 * A reader cannot become a writer: two readers that want that would wait for
 * each other.  The records of the owners are in reentrant.c; only the owner
 * itself changes its counts, so counting takes no lock.
 */
#include <stddef.h>

#include "base/error.h"
#include "base/memory.h"
#include "client/client.h"
#include "client/grant.h"
#include "client/reentrant.h"

/* The handle of the user. */
struct hf_rwlock {
    struct hf_lock *reader;        /* its tickets are readers' */
    struct hf_lock *writer;        /* its tickets are writers' */
    struct hf_reentrant reentrant; /* the owners and their counts */
    struct hf_on_rwlock_revoke on_revoke;
};

/* The lock that ${reentrant} is part of. */
static struct hf_rwlock *of_reentrant(struct hf_reentrant *reentrant)
{
    return (struct hf_rwlock *)((char *)reentrant -
                                offsetof(struct hf_rwlock, reentrant));
}

/* In a child of a fork nothing of the parent may be touched; see mutex.c. */
static bool is_forked(const struct hf_rwlock *rwlock)
{
    return hf_fork_is_child(&rwlock->reader->client->monitor.fork);
}

/* Open the lock for tickets of ${kind}. */
static hf_status open_for(struct hf_client *client, const char *name,
                          enum hf_kind kind, struct hf_lock **lock)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;

    opts.kind = kind;
    return hf_lock_open_for(client, "hf_rwlock_open", name, &opts, lock);
}

/* Open the two locks of the name, one for each kind of ticket. */
static hf_status open_locks(struct hf_client *client, const char *name,
                            struct hf_rwlock *rwlock)
{
    hf_status status = open_for(client, name, HF_KIND_READ, &rwlock->reader);

    if (status != HF_OK)
        return status;
    status = open_for(client, name, HF_KIND_WRITE, &rwlock->writer);
    if (status != HF_OK)
        hf_lock_free(rwlock->reader);
    return status;
}

/* Somebody asks ${owner} to release: call the user. */
static void call_on_revoke(struct hf_reentrant *reentrant, uint64_t owner)
{
    struct hf_rwlock *rwlock = of_reentrant(reentrant);

    rwlock->on_revoke.fn(rwlock->on_revoke.arg, rwlock, owner);
}

/* Free the lock; the .destroy of its reentrancy. */
static void destroy_rwlock(struct hf_reentrant *reentrant)
{
    struct hf_rwlock *rwlock = of_reentrant(reentrant);

    if (rwlock->on_revoke.drop != NULL)
        rwlock->on_revoke.drop(rwlock->on_revoke.arg);
    hf_lock_free(rwlock->reader);
    hf_lock_free(rwlock->writer);
    hf_free(rwlock);
}

/* Set ${rwlock} as ${opts} say. */
static void init_rwlock(struct hf_rwlock *rwlock,
                        const struct hf_rwlock_opts *opts)
{
    rwlock->on_revoke = opts->on_revoke;
    rwlock->reentrant.owner = opts->owner;
    rwlock->reentrant.owner_arg = opts->owner_arg;
    rwlock->reentrant.detect_deadlock = opts->detect_deadlock;
    rwlock->reentrant.revoked =
        opts->on_revoke.fn != NULL ? call_on_revoke : NULL;
    rwlock->reentrant.destroy = destroy_rwlock;
    hf_reentrant_init(&rwlock->reentrant, opts->text);
}

/* What hf_rwlock_open() does, but for the .drop of the callback on failure. */
static hf_status open_rwlock(struct hf_client *client, const char *name,
                             const struct hf_rwlock_opts *given,
                             struct hf_rwlock_opts *opts,
                             struct hf_rwlock **rwlock)
{
    static const char call[] = "hf_rwlock_open";
    struct hf_rwlock *made;
    hf_status status;

    status = hf_open_copy_opts(client, call, &hf_rwlock_opts_type, given, opts);
    if (status == HF_OK)
        status = hf_open_check_text(client, call, opts->text);
    if (status != HF_OK)
        return status;
    if ((made = hf_open_alloc(client, call, sizeof(*made))) == NULL)
        return HF_ENOMEM;
    if ((status = open_locks(client, name, made)) != HF_OK)
        goto free_rwlock;
    init_rwlock(made, opts);
    *rwlock = made;
    return HF_OK;
free_rwlock:
    hf_free(made);
    return status;
}

hf_status hf_rwlock_open(struct hf_client *client, const char *name,
                         const struct hf_rwlock_opts *opts,
                         struct hf_rwlock **rwlock)
{
    struct hf_rwlock_opts copied;
    hf_status status;

    *rwlock = NULL;
    status = open_rwlock(client, name, opts, &copied, rwlock);
    if (status != HF_OK && copied.on_revoke.drop != NULL)
        copied.on_revoke.drop(copied.on_revoke.arg);
    return status;
}

void hf_rwlock_free(struct hf_rwlock *rwlock)
{
    if (rwlock == NULL || is_forked(rwlock))
        return;
    hf_reentrant_free(&rwlock->reentrant);
}

void hf_rwlock_error(const struct hf_rwlock *rwlock, struct hf_error *error)
{
    if (hf_fork_check(&rwlock->reader->client->monitor.fork, error) == HF_OK)
        hf_reentrant_error((struct hf_reentrant *)&rwlock->reentrant, error);
}

/* -------------------------------------------------------------- locking -- */

/* Lock to read for the caller: count, or acquire if it holds nothing. */
static hf_status read_for(struct hf_rwlock *rwlock, const char *call,
                          uint64_t wait_ms)
{
    struct hf_hold *hold;
    struct hf_error error;
    hf_status status;

    if (is_forked(rwlock))
        return HF_EFORKED;
    hold = hf_reentrant_find(&rwlock->reentrant);
    if (hold != NULL)
        status = hf_grant_check_now(hold->grant, &error);
    else
        status = hf_reentrant_acquire(&rwlock->reentrant, rwlock->reader, call,
                                      wait_ms, &hold, &error);
    if (status != HF_OK)
        return hf_reentrant_fail(&rwlock->reentrant, call, &error);
    hold->reads++;
    return HF_OK;
}

hf_status hf_rwlock_timedrdlock(struct hf_rwlock *rwlock, uint64_t wait_ms)
{
    return read_for(rwlock, "hf_rwlock_timedrdlock", wait_ms);
}

hf_status hf_rwlock_rdlock(struct hf_rwlock *rwlock)
{
    return read_for(rwlock, "hf_rwlock_rdlock", HF_FOREVER);
}

hf_status hf_rwlock_tryrdlock(struct hf_rwlock *rwlock)
{
    return read_for(rwlock, "hf_rwlock_tryrdlock", 0);
}

/* May the caller, who has ${hold}, lock to write?  A reader may not, because it
 * would only wait for itself. */
static hf_status check_write(struct hf_hold *hold, struct hf_error *error)
{
    hf_status status = hf_grant_check_now(hold->grant, error);

    if (status == HF_OK && hold->writes == 0)
        status = hf_error_set(error, HF_EREENTRANT,
                              "the caller reads, and as a writer it could only "
                              "wait for itself; unlock the read first");
    return status;
}

/* Lock to write for the caller: count, or acquire if it holds nothing. */
static hf_status write_for(struct hf_rwlock *rwlock, const char *call,
                           uint64_t wait_ms)
{
    struct hf_hold *hold;
    struct hf_error error;
    hf_status status;

    if (is_forked(rwlock))
        return HF_EFORKED;
    hold = hf_reentrant_find(&rwlock->reentrant);
    if (hold != NULL)
        status = check_write(hold, &error);
    else
        status = hf_reentrant_acquire(&rwlock->reentrant, rwlock->writer, call,
                                      wait_ms, &hold, &error);
    if (status != HF_OK)
        return hf_reentrant_fail(&rwlock->reentrant, call, &error);
    hold->writes++;
    return HF_OK;
}

hf_status hf_rwlock_timedwrlock(struct hf_rwlock *rwlock, uint64_t wait_ms)
{
    return write_for(rwlock, "hf_rwlock_timedwrlock", wait_ms);
}

hf_status hf_rwlock_wrlock(struct hf_rwlock *rwlock)
{
    return write_for(rwlock, "hf_rwlock_wrlock", HF_FOREVER);
}

hf_status hf_rwlock_trywrlock(struct hf_rwlock *rwlock)
{
    return write_for(rwlock, "hf_rwlock_trywrlock", 0);
}

/* ------------------------------------------------------------ unlocking -- */

/* Does ${status} mean that the call could not be begun? */
static bool is_refused(hf_status status)
{
    return status == HF_EREENTRANT || status == HF_EFORKED;
}

/* Decrement ${count}, a count of ${hold} that is not 0: release with the last
 * one of both, and downgrade with the last write. */
static hf_status unlock(struct hf_rwlock *rwlock, struct hf_hold *hold,
                        uint64_t *count, struct hf_error *error)
{
    hf_status status;

    if (hold->writes + hold->reads == 1)
        return hf_reentrant_release(&rwlock->reentrant, hold, error);
    if (count == &hold->writes && hold->writes == 1)
        status = hf_grant_downgrade_for(hold->grant, error);
    else
        status = hf_grant_check_now(hold->grant, error);
    if (!is_refused(status))
        --*count;
    return status;
}

/* The count is checked before anything is undone. */
hf_status hf_rwlock_rdunlock(struct hf_rwlock *rwlock)
{
    static const char call[] = "hf_rwlock_rdunlock";
    struct hf_hold *hold;
    struct hf_error error;

    if (is_forked(rwlock))
        return HF_EFORKED;
    hold = hf_reentrant_find(&rwlock->reentrant);
    if (hold == NULL || hold->reads == 0)
        return hf_reentrant_fail_not_owner(&rwlock->reentrant, call, "read");
    if (unlock(rwlock, hold, &hold->reads, &error) == HF_OK)
        return HF_OK;
    return hf_reentrant_fail(&rwlock->reentrant, call, &error);
}

/* As hf_rwlock_rdunlock(), for the other count. */
hf_status hf_rwlock_wrunlock(struct hf_rwlock *rwlock)
{
    static const char call[] = "hf_rwlock_wrunlock";
    struct hf_hold *hold;
    struct hf_error error;

    if (is_forked(rwlock))
        return HF_EFORKED;
    hold = hf_reentrant_find(&rwlock->reentrant);
    if (hold == NULL || hold->writes == 0)
        return hf_reentrant_fail_not_owner(&rwlock->reentrant, call, "write");
    if (unlock(rwlock, hold, &hold->writes, &error) == HF_OK)
        return HF_OK;
    return hf_reentrant_fail(&rwlock->reentrant, call, &error);
}

uint64_t hf_rwlock_token(struct hf_rwlock *rwlock)
{
    struct hf_hold *hold;

    if (is_forked(rwlock))
        return 0;
    hold = hf_reentrant_find(&rwlock->reentrant);
    return hold != NULL ? hf_grant_token(hold->grant) : 0;
}

hf_status hf_rwlock_cancel(struct hf_rwlock *rwlock, uint64_t owner)
{
    return hf_reentrant_cancel(&rwlock->reentrant, rwlock->reader->client,
                               "hf_rwlock_cancel", owner);
}

/* The kind of the lock does not matter for a list, so the reader's serves for
 * both. */
hf_status hf_rwlock_tickets(struct hf_rwlock *rwlock,
                            enum hf_tickets_which which, uint64_t wait_ms,
                            struct hf_tickets **tickets)
{
    return hf_reentrant_list(&rwlock->reentrant, rwlock->reader,
                             "hf_rwlock_tickets", which, wait_ms, tickets);
}
