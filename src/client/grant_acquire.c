/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking for a lock, or for several at once: started, and the same waited for.
 * Every public call fills a struct acquire_args, and begin_acquire() hands that
 * to the core.
 */
#include "base/error.h"
#include "client/grant.h"
#include "client/owner_grants.h"
#include "client/owner_text.h"
#include "operation/done.h"
#include "operation/opts_compat.h"

/* Call the .drop of callbacks that no grant has taken over. */
static void drop_callbacks(const struct hf_acquire_opts *opts,
                           const struct hf_done *done)
{
    if (done->drop != NULL)
        done->drop(done->arg);
    if (opts->on_wait.drop != NULL)
        opts->on_wait.drop(opts->on_wait.arg);
    if (opts->on_loss.drop != NULL)
        opts->on_loss.drop(opts->on_loss.arg);
    if (opts->on_revoke.drop != NULL)
        opts->on_revoke.drop(opts->on_revoke.arg);
}

/* What a call asks for.  Options that are refused are reported when it begins,
 * because a failure needs the lock. */
struct acquire_args {
    const char *call;
    struct hf_lock *const *locks;
    size_t count;
    struct hf_acquire_opts opts;
    struct hf_error error;
    uint64_t owner; /* for whom, as in a grant */
    /* The list to be in while it waits, or NULL. */
    struct hf_grant_waiter **waiters;
};

/* Set ${args} for ${call}, which errors name, and check the options
 * ${given}. */
static void init_args(struct acquire_args *args, const char *call,
                      struct hf_lock *const *locks, size_t count,
                      const struct hf_acquire_opts *given)
{
    hf_status status;

    args->call = call;
    args->locks = locks;
    args->count = count;
    args->waiters = NULL;
    status =
        hf_opts_copy(&hf_acquire_opts_type, given, &args->opts, &args->error);
    args->owner = args->opts.owner;
    if (status == HF_OK && args->opts.text != NULL)
        status = hf_owner_text_check(args->opts.text, &args->error);
    args->error.status = status;
}

/* The same for one lock with default options and ${wait_ms}. */
static void init_args_for_one(struct acquire_args *args, const char *call,
                              struct hf_lock *const *lock, uint64_t wait_ms)
{
    init_args(args, call, lock, 1, NULL);
    args->opts.wait_ms = wait_ms;
}

/* May a call do without a poller?  It may if its answer comes at once, the user
 * runs the callbacks, and none can come after the answer. */
static bool may_need_no_poller(const struct acquire_args *args)
{
    return args->locks[0]->client->monitor.callback_queue.runner ==
               HF_RUNNER_DISPATCH &&
           args->opts.on_loss.fn == NULL && args->opts.on_revoke.fn == NULL;
}

/* Hand the acquisition of ${grant} to the core.  Its effects may come before
 * this returns. */
static void start_acquisition(struct hf_grant *grant)
{
    struct hf_event event = {.kind = HF_EVENT_ACQUIRE};

    hf_grant_reference(grant); /* the core's, until it is done with it */
    hf_grant_set_pending(grant, true);
    event.as.acquisition = &grant->acquisition;
    hf_client_step(grant->client, &event);
}

/* Has the acquire of ${grant} ended, as far as its caller can see? */
static bool is_answered(const struct hf_grant *grant,
                        const struct hf_waiter *waiter)
{
    return waiter != NULL ? waiter->done : grant->done_callback.queued;
}

/* Take back an acquire that was begun a moment ago and is not granted, because
 * there is no thread for its callbacks.  The caller reports the failure and
 * drops its callbacks, and has no grant. */
static void detach_grant(struct hf_grant *grant)
{
    hf_grant_unqueue_wait(grant);
    hf_grant_clear_callbacks(grant);
    grant->done = (struct hf_done){NULL, NULL, NULL};
    grant->waiter = NULL;
    hf_grant_cancel(grant);
}

/* With .detect_deadlock: is the owner known, and would it not wait for itself?
 * A try never waits. */
static hf_status check_owner(const struct acquire_args *args,
                             struct hf_error *error)
{
    if (args->owner == 0)
        return hf_error_set(error, HF_EINVAL,
                            "detect_deadlock needs the owner, because a "
                            "deadlock is found by what owners hold; set .owner "
                            "too, for instance to hf_owner_self()");
    for (size_t i = 0; args->opts.wait_ms > 0 && i < args->count; i++) {
        if (hf_owner_grants_conflict(args->owner, args->locks[i]))
            return hf_error_set(error, HF_EDEADLK,
                                "deadlock: this owner holds \"%.200s\" already "
                                "and would wait for itself; release that "
                                "first, or use hf_mutex, which counts",
                                args->locks[i]->name);
    }
    return HF_OK;
}

/* Make a grant for ${args} and begin to acquire it.  ${waiter} or ${done} gets
 * the answer.  With the lock.  On failure ${grant} is not set, and the
 * callbacks still are the caller's. */
static hf_status begin_acquire(const struct acquire_args *args,
                               struct hf_done done, struct hf_waiter *waiter,
                               struct hf_grant **grant, struct hf_error *error)
{
    const struct hf_acquire_opts *opts = &args->opts;
    struct hf_client *client = args->locks[0]->client;
    struct hf_grant *made;
    hf_status status;
    bool calls_back;

    if (args->error.status != HF_OK) {
        *error = args->error;
        return error->status;
    }
    status = hf_grant_items_check(args->locks, args->count, error);
    if (status == HF_OK && opts->detect_deadlock)
        status = check_owner(args, error);
    if (status != HF_OK)
        return status;
    if (client->monitor.closing)
        return hf_monitor_explain_closed(&client->monitor, "client", error);
    calls_back = done.fn != NULL || opts->on_wait.fn != NULL ||
                 opts->on_loss.fn != NULL || opts->on_revoke.fn != NULL;
    if (calls_back && !may_need_no_poller(args) &&
        (status = hf_monitor_ensure_poller(&client->monitor, error)) != HF_OK)
        return status;
    made = hf_grant_new(args->locks, args->count, opts, NULL, done);
    if (made == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    made->waiter = waiter;
    made->owner = args->owner;
    start_acquisition(made);
    if (calls_back && !is_answered(made, waiter) &&
        (status = hf_monitor_ensure_poller(&client->monitor, error)) != HF_OK) {
        detach_grant(made);
        return status;
    }
    *grant = made;
    return HF_OK;
}

/* Wait for the answer.  On failure drop the caller's reference to ${grant}.
 * With the lock. */
static hf_status await_grant(struct hf_grant *grant, struct hf_waiter *waiter,
                             struct hf_error *error)
{
    hf_status status = hf_monitor_wait(&grant->client->monitor, waiter, error);

    if (!waiter->done) {
        hf_grant_cancel(grant);
        if (!waiter->done)
            grant->waiter = NULL; /* its end drops the reference */
        else
            hf_grant_dereference(grant);
        return status;
    }
    if (status != HF_OK) {
        hf_error_set(error, status, "%s",
                     hf_acquisition_text(&grant->acquisition));
        hf_grant_dereference(grant);
    }
    return status;
}

/* The same; meanwhile the wait is in the list of those that its owner can
 * cancel. */
static hf_status await_cancellable(const struct acquire_args *args,
                                   struct hf_grant *grant,
                                   struct hf_waiter *waiter,
                                   struct hf_error *error)
{
    struct hf_grant_waiter entry = {.owner = args->owner, .grant = grant};
    struct hf_grant_waiter **link = args->waiters;
    hf_status status;

    if (link == NULL)
        return await_grant(grant, waiter, error);
    entry.next = *link;
    *link = &entry;
    status = await_grant(grant, waiter, error);
    while (*link != &entry)
        link = &(*link)->next;
    *link = entry.next;
    return status;
}

/* Acquire and wait for the answer.  ${error} is set on failure.  Without the
 * lock. */
static hf_status acquire_and_wait(const struct acquire_args *args,
                                  struct hf_grant **grant,
                                  struct hf_error *error)
{
    const struct hf_done no_done = {NULL, NULL, NULL};
    struct hf_lock *lock = args->locks[0];
    struct hf_client *client = lock->client;
    struct hf_waiter waiter = {.done = false};
    struct hf_grant *made = NULL;
    hf_status status;

    *grant = NULL;
    status = hf_lock_may_block(lock, args->call, error);
    if (status == HF_OK)
        status = hf_monitor_enter(&client->monitor);
    if (status != HF_OK) {
        drop_callbacks(&args->opts, &no_done);
        return status;
    }
    status = begin_acquire(args, no_done, &waiter, &made, error);
    if (status == HF_OK)
        status = await_cancellable(args, made, &waiter, error);
    if (status != HF_OK)
        hf_lock_fail(lock, args->call, error);
    hf_monitor_leave(&client->monitor);
    if (status == HF_OK)
        *grant = made;
    else if (made == NULL)
        drop_callbacks(&args->opts, &no_done);
    return status;
}

hf_status hf_lock_acquire(struct hf_lock *lock,
                          const struct hf_acquire_opts *opts,
                          struct hf_grant **grant)
{
    struct hf_error error;
    struct acquire_args args;

    init_args(&args, "hf_lock_acquire", &lock, 1, opts);
    return acquire_and_wait(&args, grant, &error);
}

/* Without a lock there is no client either, so it is refused before anything is
 * entered. */
hf_status hf_locks_acquire(struct hf_lock *const *locks, size_t count,
                           const struct hf_acquire_opts *opts,
                           struct hf_grant **grant)
{
    const struct hf_done no_done = {NULL, NULL, NULL};
    struct hf_error error;
    struct acquire_args args;

    *grant = NULL;
    init_args(&args, "hf_locks_acquire", locks, count, opts);
    if (count > 0)
        return acquire_and_wait(&args, grant, &error);
    drop_callbacks(&args.opts,
                   &no_done); /* there is no handle to remember why */
    return HF_EINVAL;
}

/* Blocking, for one lock with default options. */
hf_status hf_acquire_for(struct hf_lock *lock, const char *call,
                         uint64_t wait_ms, struct hf_grant **grant,
                         struct hf_error *error)
{
    struct acquire_args args;

    init_args_for_one(&args, call, &lock, wait_ms);
    return acquire_and_wait(&args, grant, error);
}

hf_status hf_acquire_for_owner(struct hf_lock *lock, const char *call,
                               const struct hf_acquire_opts *opts,
                               uint64_t owner, struct hf_grant_waiter **waiters,
                               struct hf_grant **grant, struct hf_error *error)
{
    struct acquire_args args;

    init_args(&args, call, &lock, 1, opts);
    args.owner = owner;
    args.waiters = waiters;
    return acquire_and_wait(&args, grant, error);
}

/* A wait of 0 is one answer of the engine. */
hf_status hf_lock_try_acquire(struct hf_lock *lock, struct hf_grant **grant)
{
    struct hf_error error;

    return hf_acquire_for(lock, "hf_lock_try_acquire", 0, grant, &error);
}

/* Begin to acquire, for a call with _start.  Without the lock. */
static hf_status start_acquire(const struct acquire_args *args,
                               struct hf_done done, struct hf_op **op)
{
    struct hf_client *client = args->locks[0]->client;
    struct hf_grant *made = NULL;
    struct hf_error error = {.status = HF_OK};
    hf_status status;

    if (op != NULL)
        *op = NULL;
    if ((status = hf_monitor_enter(&client->monitor)) != HF_OK) {
        drop_callbacks(&args->opts, &done);
        return status;
    }
    status = hf_done_check(&done, "grant", &error);
    if (status == HF_OK)
        status = begin_acquire(args, done, NULL, &made, &error);
    if (status == HF_OK && op != NULL) {
        hf_grant_reference(made);
        *op = &made->op;
    }
    if (status != HF_OK)
        hf_lock_fail(args->locks[0], args->call, &error);
    hf_monitor_leave(&client->monitor);
    if (status != HF_OK)
        drop_callbacks(&args->opts, &done);
    return status;
}

hf_status hf_lock_acquire_start(struct hf_lock *lock,
                                const struct hf_acquire_opts *opts,
                                struct hf_done done, struct hf_op **op)
{
    struct acquire_args args;

    init_args(&args, "hf_lock_acquire_start", &lock, 1, opts);
    return start_acquire(&args, done, op);
}

hf_status hf_acquire_start_for(struct hf_lock *lock, const char *call,
                               uint64_t wait_ms, struct hf_done done,
                               struct hf_op **op)
{
    struct acquire_args args;

    init_args_for_one(&args, call, &lock, wait_ms);
    return start_acquire(&args, done, op);
}

hf_status hf_locks_acquire_start(struct hf_lock *const *locks, size_t count,
                                 const struct hf_acquire_opts *opts,
                                 struct hf_done done, struct hf_op **op)
{
    struct acquire_args args;

    init_args(&args, "hf_locks_acquire_start", locks, count, opts);
    if (op != NULL)
        *op = NULL;
    if (count > 0)
        return start_acquire(&args, done, op);
    drop_callbacks(&args.opts, &done);
    return HF_EINVAL;
}
