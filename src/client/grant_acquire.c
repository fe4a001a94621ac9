/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking for a lock, or for several at once: started, and the same waited for.
 * The options are checked here; until when a grant waits, and what its tickets
 * say, is set where the grant is made (hf_grant_new() of grant.c).
 */
#include "base/container_of.h"
#include "base/error.h"
#include "client/grant.h"
#include "client/owner_grants.h"
#include "client/owner_text.h"
#include "operation/opts_compat.h"

/* Call the .drop of callbacks that no grant has taken over. */
static void drop_callbacks(const struct hf_acquire_opts *opts)
{
    if (opts->on_wait.drop != NULL)
        opts->on_wait.drop(opts->on_wait.arg);
    if (opts->on_loss.drop != NULL)
        opts->on_loss.drop(opts->on_loss.arg);
    if (opts->on_revoke.drop != NULL)
        opts->on_revoke.drop(opts->on_revoke.arg);
}

/* A call of the user that acquires.  Options that are refused are reported when
 * it begins, because in a child of a fork HF_EFORKED is to be reported
 * instead. */
struct acquire_call {
    struct hf_user_call call;
    struct hf_lock *const *locks;
    size_t count;
    struct hf_acquire_opts opts;
    struct hf_error error; /* why the options are refused */
    /* True: the grant has the callbacks of .opts, and calls their .drop. */
    bool has_begun;
    struct hf_grant_waiter entry; /* its owner; in .waiters while it waits */
    struct hf_grant_waiter **waiters; /* a list to be in meanwhile, or NULL */
};

/* --------------------------------------------------------- beginning it -- */

/* May a call do without a poller?  It may if its answer comes at once, the user
 * runs the callbacks, and none can come after the answer. */
static bool may_need_no_poller(const struct acquire_call *acquire)
{
    return acquire->call.monitor->callback_queue.runner == HF_RUNNER_DISPATCH &&
           acquire->opts.on_loss.fn == NULL &&
           acquire->opts.on_revoke.fn == NULL;
}

/* Has the acquire of ${grant} ended, as far as its caller can see? */
static bool is_answered(const struct hf_grant *grant,
                        const struct hf_completion *completion)
{
    return completion->waiter != NULL ? completion->waiter->done
                                      : grant->user_op.callback.queued;
}

/* Take back an acquire that was begun a moment ago and is not granted, because
 * there is no thread for its callbacks.  They stay the caller's, who drops them
 * and reports the failure. */
static void detach_grant(struct hf_grant *grant)
{
    hf_grant_unqueue_wait(grant);
    hf_grant_clear_callbacks(grant);
    grant->user_op.completion = (struct hf_completion){.waiter = NULL};
    hf_grant_cancel(grant);
    hf_user_op_dereference(&grant->user_op);
}

/* Before an acquire with .detect_deadlock: HF_EINVAL if its owner is not known,
 * HF_EDEADLK if the owner would wait for itself.  A try never waits. */
static hf_status check_owner(const struct acquire_call *acquire,
                             struct hf_error *error)
{
    uint64_t owner = acquire->entry.owner;

    if (owner == 0)
        return hf_error_set(error, HF_EINVAL,
                            "detect_deadlock needs the owner, because a "
                            "deadlock is found by what owners hold; set .owner "
                            "too, for instance to hf_owner_self()");
    for (size_t i = 0; acquire->opts.wait_ms > 0 && i < acquire->count; i++) {
        if (hf_owner_grants_conflict(owner, acquire->locks[i]))
            return hf_error_set(error, HF_EDEADLK,
                                "deadlock: this owner holds \"%.200s\" already "
                                "and would wait for itself; release that "
                                "first, or use hf_mutex, which counts",
                                acquire->locks[i]->name);
    }
    return HF_OK;
}

/* May the acquire begin?  HF_OK, or why not. */
static hf_status check_call(const struct acquire_call *acquire,
                            const struct hf_completion *completion,
                            struct hf_error *error)
{
    hf_status status = acquire->error.status;

    if (completion->waiter == NULL &&
        hf_done_check(&completion->done, "grant", error) != HF_OK)
        return error->status;
    if (status != HF_OK)
        *error = acquire->error;
    else
        status = hf_grant_items_check(acquire->locks, acquire->count, error);
    if (status == HF_OK && acquire->opts.detect_deadlock)
        status = check_owner(acquire, error);
    if (status == HF_OK && acquire->call.monitor->state != HF_MONITOR_OPEN)
        status =
            hf_monitor_explain_closed(acquire->call.monitor, "client", error);
    return status;
}

/* The .begin of an acquire: make a grant and hand its acquisition to the
 * core. */
static struct hf_user_op *begin_call(struct hf_user_call *call,
                                     const struct hf_completion *completion,
                                     struct hf_error *error)
{
    struct acquire_call *acquire =
        container_of(call, struct acquire_call, call);
    const struct hf_acquire_opts *opts = &acquire->opts;
    bool calls_back = completion->done.fn != NULL || opts->on_wait.fn != NULL ||
                      opts->on_loss.fn != NULL || opts->on_revoke.fn != NULL;
    struct hf_grant *grant;

    if (check_call(acquire, completion, error) != HF_OK)
        return NULL;
    if (calls_back && !may_need_no_poller(acquire) &&
        hf_monitor_ensure_poller(call->monitor, error) != HF_OK)
        return NULL;
    grant = hf_grant_new(acquire->locks, acquire->count, opts, NULL);
    if (grant == NULL) {
        hf_error_set(error, HF_ENOMEM, "out of memory");
        return NULL;
    }
    grant->owner = acquire->entry.owner;
    hf_user_op_begin(&grant->user_op, completion);
    hf_grant_start(grant);
    if (calls_back && !is_answered(grant, completion) &&
        hf_monitor_ensure_poller(call->monitor, error) != HF_OK) {
        detach_grant(grant);
        return NULL;
    }
    acquire->has_begun = true;
    if (acquire->waiters != NULL) {
        acquire->entry.grant = grant;
        acquire->entry.next = *acquire->waiters;
        *acquire->waiters = &acquire->entry;
    }
    return &grant->user_op;
}

/* The .leave of an acquire.  If it has not ended, this thread could not wait:
 * cancel it, because nobody would get the grant. */
static void leave_call(struct hf_user_call *call, struct hf_user_op *op,
                       bool ended)
{
    struct acquire_call *acquire =
        container_of(call, struct acquire_call, call);
    struct hf_grant_waiter **link = acquire->waiters;

    if (link != NULL) {
        while (*link != &acquire->entry)
            link = &(*link)->next;
        *link = acquire->entry.next;
    }
    if (!ended)
        op->ops->cancel(op);
}

/* ---------------------------------------------------------------- calls -- */

/* Set ${acquire} for ${api_name}, which errors name, and check the options
 * ${given}.  If ${count} is 0 there is no client, and ${acquire} must be
 * neither run nor started. */
static void init_call(struct acquire_call *acquire, const char *api_name,
                      struct hf_lock *const *locks, size_t count,
                      const struct hf_acquire_opts *given)
{
    hf_status status;

    *acquire = (struct acquire_call){
        .call = {.api_name = api_name,
                 .monitor = count > 0 ? &locks[0]->client->monitor : NULL,
                 .begin = begin_call,
                 .leave = leave_call},
        .locks = locks,
        .count = count,
    };
    status = hf_opts_copy(&hf_acquire_opts_type, given, &acquire->opts,
                          &acquire->error);
    acquire->entry.owner = acquire->opts.owner;
    if (status == HF_OK && acquire->opts.text != NULL)
        status = hf_owner_text_check(acquire->opts.text, &acquire->error);
    acquire->error.status = status;
}

/* Without a lock there is no client to run or start it with. */
static hf_status fail_no_lock(const struct acquire_call *acquire)
{
    struct hf_error error;

    hf_error_set(&error, HF_EINVAL, "no locks; expected 1 to %d", HF_LOCKS_MAX);
    return hf_fail(acquire->call.api_name, &error);
}

/* Acquire and wait for the answer. */
static hf_status run_call(struct acquire_call *acquire, struct hf_grant **grant)
{
    struct hf_result result = {.grant = NULL};
    hf_status status = acquire->count > 0
                           ? hf_user_op_run(&acquire->call, &result)
                           : fail_no_lock(acquire);

    *grant = result.grant;
    if (!acquire->has_begun)
        drop_callbacks(&acquire->opts);
    return status;
}

/* Begin to acquire, for a call with _start. */
static hf_status start_call(struct acquire_call *acquire, struct hf_done done,
                            struct hf_op **op)
{
    hf_status status;

    if (acquire->count > 0) {
        status = hf_user_op_start(&acquire->call, done, op);
    } else {
        status = fail_no_lock(acquire);
        if (op != NULL)
            *op = NULL;
        hf_done_drop(&done);
    }
    if (!acquire->has_begun)
        drop_callbacks(&acquire->opts);
    return status;
}

hf_status hf_locks_acquire(struct hf_lock *const *locks, size_t count,
                           const struct hf_acquire_opts *opts,
                           struct hf_grant **grant)
{
    struct acquire_call acquire;

    init_call(&acquire, "hf_locks_acquire", locks, count, opts);
    return run_call(&acquire, grant);
}

hf_status hf_lock_acquire(struct hf_lock *lock,
                          const struct hf_acquire_opts *opts,
                          struct hf_grant **grant)
{
    struct acquire_call acquire;

    init_call(&acquire, "hf_lock_acquire", &lock, 1, opts);
    return run_call(&acquire, grant);
}

hf_status hf_acquire_for(struct hf_lock *lock, const char *api_name,
                         uint64_t wait_ms, struct hf_grant **grant)
{
    struct acquire_call acquire;

    init_call(&acquire, api_name, &lock, 1, NULL);
    acquire.opts.wait_ms = wait_ms;
    return run_call(&acquire, grant);
}

hf_status hf_acquire_for_owner(struct hf_lock *lock, const char *api_name,
                               const struct hf_acquire_opts *opts,
                               uint64_t owner, struct hf_grant_waiter **waiters,
                               struct hf_grant **grant)
{
    struct acquire_call acquire;

    init_call(&acquire, api_name, &lock, 1, opts);
    acquire.entry.owner = owner;
    acquire.waiters = waiters;
    return run_call(&acquire, grant);
}

/* A wait of 0 is one answer of the engine. */
hf_status hf_lock_try_acquire(struct hf_lock *lock, struct hf_grant **grant)
{
    return hf_acquire_for(lock, "hf_lock_try_acquire", 0, grant);
}

hf_status hf_locks_acquire_start(struct hf_lock *const *locks, size_t count,
                                 const struct hf_acquire_opts *opts,
                                 struct hf_done done, struct hf_op **op)
{
    struct acquire_call acquire;

    init_call(&acquire, "hf_locks_acquire_start", locks, count, opts);
    return start_call(&acquire, done, op);
}

hf_status hf_lock_acquire_start(struct hf_lock *lock,
                                const struct hf_acquire_opts *opts,
                                struct hf_done done, struct hf_op **op)
{
    struct acquire_call acquire;

    init_call(&acquire, "hf_lock_acquire_start", &lock, 1, opts);
    return start_call(&acquire, done, op);
}

hf_status hf_acquire_start_for(struct hf_lock *lock, const char *api_name,
                               uint64_t wait_ms, struct hf_done done,
                               struct hf_op **op)
{
    struct acquire_call acquire;

    init_call(&acquire, api_name, &lock, 1, NULL);
    acquire.opts.wait_ms = wait_ms;
    return start_call(&acquire, done, op);
}
