/* SPDX-License-Identifier: Apache-2.0 */
/* Asking for a lock: started, and the same waited for. */
#include "core/error.h"
#include "host/grant.h"
#include "host/opts_compat.h"
#include "host/owner_text.h"

/* The .drop of callbacks that no grant has taken over. */
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

/* The locks that a call wants, and its options, or why those are refused. */
struct acquire_args {
    const char *call;
    struct hf_lock *const *locks;
    size_t count;
    struct hf_acquire_opts opts;
    struct hf_error error;
    uint64_t owner;                   /* as in a grant */
    struct hf_grant_waiter **waiters; /* to be one of meanwhile, or NULL */
};

static void init_args(struct acquire_args *acquire_args, const char *call,
                      struct hf_lock *const *locks, size_t count,
                      const struct hf_acquire_opts *given)
{
    hf_status status;

    acquire_args->call = call;
    acquire_args->locks = locks;
    acquire_args->count = count;
    acquire_args->waiters = NULL;
    status = hf_opts_copy(&hf_acquire_opts_type, given, &acquire_args->opts,
                          &acquire_args->error);
    acquire_args->owner = acquire_args->opts.owner;
    if (status == HF_OK && acquire_args->opts.text != NULL)
        status =
            hf_owner_text_check(acquire_args->opts.text, &acquire_args->error);
    acquire_args->error.status = status;
}

static void init_args_for_one(struct acquire_args *acquire_args,
                              const char *call, struct hf_lock *const *lock,
                              uint64_t wait_ms)
{
    init_args(acquire_args, call, lock, 1, NULL);
    acquire_args->opts.wait_ms = wait_ms;
}

/* A call needs no thread if its answer comes at once, the user runs the
 * callbacks, and none may follow the answer. */
static bool may_need_no_poller(const struct acquire_args *acquire_args)
{
    return acquire_args->locks[0]->client->monitor.callback_queue.runner ==
               HF_RUNNER_DISPATCH &&
           acquire_args->opts.on_loss.fn == NULL &&
           acquire_args->opts.on_revoke.fn == NULL;
}

static void start_acquisition(struct hf_grant *grant)
{
    struct hf_event event = {.kind = HF_EVENT_ACQUIRE};

    hf_grant_reference(grant); /* the core's, until DONE */
    hf_grant_set_pending(grant, true);
    event.as.acquisition = &grant->acquisition;
    hf_client_step(grant->client, &event);
}

static bool is_answered(const struct hf_grant *grant,
                        const struct hf_waiter *waiter)
{
    return waiter != NULL ? waiter->done : grant->done_callback.queued;
}

/* Take back what was asked for a moment ago and is not granted: the caller
 * answers for it, drops its callbacks, and has it no more. */
static void detach_grant(struct hf_grant *grant)
{
    hf_grant_unqueue_wait(grant);
    hf_grant_clear_callbacks(grant);
    grant->done = (struct hf_done){NULL, NULL, NULL};
    grant->waiter = NULL;
    hf_grant_cancel(grant);
}

/* With the lock: hand ${wish} to the core as ${grant}. */
static hf_status begin_acquire(const struct acquire_args *acquire_args,
                               struct hf_done done, struct hf_waiter *waiter,
                               struct hf_grant **grant, struct hf_error *error)
{
    const struct hf_acquire_opts *opts = &acquire_args->opts;
    struct hf_client *client = acquire_args->locks[0]->client;
    struct hf_grant *made;
    hf_status status;
    bool calls_back;

    if (acquire_args->error.status != HF_OK) {
        *error = acquire_args->error;
        return error->status;
    }
    status =
        hf_grant_items_check(acquire_args->locks, acquire_args->count, error);
    if (status != HF_OK)
        return status;
    if (client->monitor.closing)
        return hf_error_set(error, HF_ECLOSED, "the client was closed");
    calls_back = done.fn != NULL || opts->on_wait.fn != NULL ||
                 opts->on_loss.fn != NULL || opts->on_revoke.fn != NULL;
    if (calls_back && !may_need_no_poller(acquire_args) &&
        (status = hf_monitor_ensure_poller(&client->monitor, error)) != HF_OK)
        return status;
    made = hf_grant_new(acquire_args->locks, acquire_args->count, opts, NULL,
                        done);
    if (made == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    made->waiter = waiter;
    made->owner = acquire_args->owner;
    start_acquisition(made);
    if (calls_back && !is_answered(made, waiter) &&
        (status = hf_monitor_ensure_poller(&client->monitor, error)) != HF_OK) {
        detach_grant(made);
        return status;
    }
    *grant = made;
    return HF_OK;
}

/* With the lock: the answer to ${waiter}.  On failure gives ${grant} up. */
static hf_status await_grant(struct hf_grant *grant, struct hf_waiter *waiter,
                             struct hf_error *error)
{
    hf_status status = hf_monitor_wait(&grant->client->monitor, waiter);

    if (!waiter->done) {
        hf_grant_cancel(grant);
        if (!waiter->done)
            grant->waiter = NULL; /* its end gives it up */
        else
            hf_grant_dereference(grant);
        return hf_error_set(error, status,
                            "no descriptors to wait with; raise the limit on "
                            "open files");
    }
    if (status != HF_OK) {
        hf_error_set(error, status, "%s",
                     hf_acquisition_text(&grant->acquisition));
        hf_grant_dereference(grant);
    }
    return status;
}

/* The same, as one of those who wait. */
static hf_status await_cancellable(const struct acquire_args *acquire_args,
                                   struct hf_grant *grant,
                                   struct hf_waiter *waiter,
                                   struct hf_error *error)
{
    struct hf_grant_waiter entry = {.owner = acquire_args->owner,
                                    .grant = grant};
    struct hf_grant_waiter **link = acquire_args->waiters;
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

/* ${error} is filled on failure. */
static hf_status acquire_and_wait(const struct acquire_args *acquire_args,
                                  struct hf_grant **grant,
                                  struct hf_error *error)
{
    const struct hf_done no_done = {NULL, NULL, NULL};
    struct hf_lock *lock = acquire_args->locks[0];
    struct hf_client *client = lock->client;
    struct hf_waiter waiter = {.done = false};
    struct hf_grant *made = NULL;
    hf_status status;

    *grant = NULL;
    status = hf_lock_may_block(lock, acquire_args->call, error);
    if (status == HF_OK)
        status = hf_monitor_enter(&client->monitor);
    if (status != HF_OK) {
        drop_callbacks(&acquire_args->opts, &no_done);
        return status;
    }
    status = begin_acquire(acquire_args, no_done, &waiter, &made, error);
    if (status == HF_OK)
        status = await_cancellable(acquire_args, made, &waiter, error);
    if (status != HF_OK)
        hf_lock_fail(lock, acquire_args->call, error);
    hf_monitor_leave(&client->monitor);
    if (status == HF_OK)
        *grant = made;
    else if (made == NULL)
        drop_callbacks(&acquire_args->opts, &no_done);
    return status;
}

hf_status hf_lock_acquire(struct hf_lock *lock,
                          const struct hf_acquire_opts *opts,
                          struct hf_grant **grant)
{
    struct hf_error error;
    struct acquire_args acquire_args;

    init_args(&acquire_args, "hf_lock_acquire", &lock, 1, opts);
    return acquire_and_wait(&acquire_args, grant, &error);
}

hf_status hf_locks_acquire(struct hf_lock *const *locks, size_t count,
                           const struct hf_acquire_opts *opts,
                           struct hf_grant **grant)
{
    const struct hf_done no_done = {NULL, NULL, NULL};
    struct hf_error error;
    struct acquire_args acquire_args;

    *grant = NULL;
    init_args(&acquire_args, "hf_locks_acquire", locks, count, opts);
    if (count > 0)
        return acquire_and_wait(&acquire_args, grant, &error);
    drop_callbacks(&acquire_args.opts,
                   &no_done); /* nor is there a handle to say why */
    return HF_EINVAL;
}

hf_status hf_acquire_for(struct hf_lock *lock, const char *call,
                         uint64_t wait_ms, struct hf_grant **grant,
                         struct hf_error *error)
{
    struct acquire_args acquire_args;

    init_args_for_one(&acquire_args, call, &lock, wait_ms);
    return acquire_and_wait(&acquire_args, grant, error);
}

hf_status hf_acquire_for_owner(struct hf_lock *lock, const char *call,
                               const struct hf_acquire_opts *opts,
                               uint64_t owner, struct hf_grant_waiter **waiters,
                               struct hf_grant **grant, struct hf_error *error)
{
    struct acquire_args acquire_args;

    init_args(&acquire_args, call, &lock, 1, opts);
    acquire_args.owner = owner;
    acquire_args.waiters = waiters;
    return acquire_and_wait(&acquire_args, grant, error);
}

hf_status hf_lock_try_acquire(struct hf_lock *lock, struct hf_grant **grant)
{
    struct hf_error error;

    return hf_acquire_for(lock, "hf_lock_try_acquire", 0, grant, &error);
}

static hf_status start_acquire(const struct acquire_args *acquire_args,
                               struct hf_done done, struct hf_op **op)
{
    struct hf_client *client = acquire_args->locks[0]->client;
    struct hf_grant *made = NULL;
    struct hf_error error = {.status = HF_OK};
    hf_status status;

    if (op != NULL)
        *op = NULL;
    if ((status = hf_monitor_enter(&client->monitor)) != HF_OK) {
        drop_callbacks(&acquire_args->opts, &done);
        return status;
    }
    if (done.fn == NULL)
        status = hf_error_set(&error, HF_EINVAL,
                              "the callback is NULL, and the grant would be "
                              "lost with it; pass a function");
    else
        status = begin_acquire(acquire_args, done, NULL, &made, &error);
    if (status == HF_OK && op != NULL) {
        hf_grant_reference(made);
        *op = &made->op;
    }
    if (status != HF_OK)
        hf_lock_fail(acquire_args->locks[0], acquire_args->call, &error);
    hf_monitor_leave(&client->monitor);
    if (status != HF_OK)
        drop_callbacks(&acquire_args->opts, &done);
    return status;
}

hf_status hf_lock_acquire_start(struct hf_lock *lock,
                                const struct hf_acquire_opts *opts,
                                struct hf_done done, struct hf_op **op)
{
    struct acquire_args acquire_args;

    init_args(&acquire_args, "hf_lock_acquire_start", &lock, 1, opts);
    return start_acquire(&acquire_args, done, op);
}

hf_status hf_acquire_start_for(struct hf_lock *lock, const char *call,
                               uint64_t wait_ms, struct hf_done done,
                               struct hf_op **op)
{
    struct acquire_args acquire_args;

    init_args_for_one(&acquire_args, call, &lock, wait_ms);
    return start_acquire(&acquire_args, done, op);
}

hf_status hf_locks_acquire_start(struct hf_lock *const *locks, size_t count,
                                 const struct hf_acquire_opts *opts,
                                 struct hf_done done, struct hf_op **op)
{
    struct acquire_args acquire_args;

    init_args(&acquire_args, "hf_locks_acquire_start", locks, count, opts);
    if (op != NULL)
        *op = NULL;
    if (count > 0)
        return start_acquire(&acquire_args, done, op);
    drop_callbacks(&acquire_args.opts, &done);
    return HF_EINVAL;
}
