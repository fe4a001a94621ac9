/* SPDX-License-Identifier: Apache-2.0 */
#include "host/grant.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/error.h"
#include "core/memory.h"
#include "core/multi_lock.h"
#include "host/election.h"
#include "host/grant_check.h"
#include "host/owner.h"

/* ----------------------------------------------------------- callbacks -- */

/* Why it was not acquired, or not released. */
static void explain_end(struct hf_grant *grant, struct hf_error *why)
{
    if (grant->released) {
        hf_grant_explain_release(grant, grant->done_status, why);
        hf_failure_keep(&grant->client->failures, &grant->failure, NULL, why);
    } else {
        hf_error_set(why, grant->done_status, "%s",
                     hf_acquisition_text(&grant->acquisition));
    }
}

static void run_done(void *arg)
{
    struct hf_grant *grant = arg;
    struct hf_client *client = grant->client;
    struct hf_error why = {.text = ""};
    struct hf_done done = grant->done;
    struct hf_result result = {.status = grant->done_status, .text = why.text};

    if (!grant->released && grant->done_status == HF_OK)
        result.grant = grant;
    if (grant->done_status != HF_OK)
        explain_end(grant, &why);
    grant->done = (struct hf_done){NULL, NULL, NULL};
    hf_monitor_unlock(&client->monitor);
    if (done.fn != NULL)
        done.fn(done.arg, &result);
    if (done.drop != NULL)
        done.drop(done.arg);
    hf_monitor_lock(&client->monitor);
    /* A grant is the user's from here on; anything else was the operation's.
     */
    if (result.grant == NULL)
        hf_grant_dereference(grant);
    hf_grant_dereference(grant);
}

void hf_grant_queue(struct hf_grant *grant, struct hf_callback *callback)
{
    if (callback->queued)
        return;
    hf_grant_reference(grant);
    hf_monitor_queue(&grant->client->monitor, callback);
}

/* ------------------------------------------------------------- lifetime -- */

static void limit(struct hf_grant *grant, const struct hf_acquire_opts *opts)
{
    struct hf_acquisition *acquisition = &grant->acquisition;
    uint64_t now_ms = hf_now_ms();

    acquisition->payload = grant->payload;
    acquisition->only_try = opts->wait_ms == 0;
    acquisition->deadline_at_ms = HF_FOREVER;
    /* One more, because now_ms was rounded down. */
    if (opts->wait_ms != 0 && opts->wait_ms < HF_FOREVER - 1 - now_ms)
        acquisition->deadline_at_ms = now_ms + opts->wait_ms + 1;
    acquisition->report_every_ms =
        opts->on_wait.fn != NULL ? opts->on_wait_every_ms : 0;
}

/* A bundle of several tickets, the list of the locks, callbacks, and what the
 * tickets say, with room for a limit, lie behind the grant. */
static struct hf_grant *make(size_t tickets, size_t count, bool calls_back,
                             const char *payload)
{
    struct hf_acquisition *parts;
    struct hf_multi_lock *bundle = NULL;
    size_t bundle_bytes =
        tickets == 1 ? 0 : tickets * sizeof(*parts) + sizeof(*bundle);
    size_t callbacks_bytes = calls_back ? sizeof(struct hf_grant_callbacks) : 0;
    size_t bytes = strlen(payload);
    size_t size = bytes + (tickets == count ? 0 : HF_OWNER_LIMIT_BYTES) + 1;
    struct hf_grant *grant =
        hf_alloc(sizeof(*grant) + bundle_bytes +
                 count * sizeof(grant->members[0]) + callbacks_bytes + size);

    if (grant == NULL)
        return NULL;
    if (tickets > 1) { /* what is aligned most comes first */
        parts = (void *)(grant + 1);
        bundle = (void *)(parts + tickets);
        bundle->children = parts;
        bundle->count = tickets;
    }
    if (bundle != NULL)
        hf_acquisition_use_multi_lock(&grant->acquisition, bundle);
    grant->members = (void *)((char *)(grant + 1) + bundle_bytes);
    grant->member_count = count;
    if (calls_back)
        grant->callbacks = (void *)(grant->members + count);
    grant->payload = (char *)(grant->members + count) + callbacks_bytes;
    grant->payload_bytes = bytes;
    grant->payload_size = size;
    memcpy(grant->payload, payload, bytes);
    return grant;
}

/* Of any grant that there is: the core need not have it any more. */
static void keep_loss_fd(struct hf_grant *grant, int fd)
{
    struct hf_grant **first = &grant->client->loss_fds;

    grant->loss_fd = fd;
    grant->next_loss_fd = *first;
    grant->loss_fd_link = first;
    if (*first != NULL)
        (*first)->loss_fd_link = &grant->next_loss_fd;
    *first = grant;
}

static void close_loss_fd(struct hf_grant *grant)
{
    if (grant->loss_fd < 0)
        return;
    *grant->loss_fd_link = grant->next_loss_fd;
    if (grant->next_loss_fd != NULL)
        grant->next_loss_fd->loss_fd_link = grant->loss_fd_link;
    close(grant->loss_fd);
}

static void free_texts(struct hf_grant *grant)
{
    const struct hf_multi_lock *bundle =
        hf_acquisition_multi_lock(&grant->acquisition);
    struct hf_client *client = grant->client;

    hf_acquisition_free(&client->core, &grant->acquisition);
    for (size_t i = 0; bundle != NULL && i < bundle->count; i++)
        hf_acquisition_free(&client->core, &bundle->children[i]);
    hf_failure_drop(&client->failures, &grant->failure);
}

static void destroy(struct hf_deferred_free *object)
{
    struct hf_grant *grant =
        (struct hf_grant *)((char *)object -
                            offsetof(struct hf_grant, deferred));
    struct hf_client *client = grant->client;

    hf_grant_drop_callbacks(grant);
    if (hf_fork_parted(&client->monitor.fork))
        return;
    hf_monitor_lock(&client->monitor);
    close_loss_fd(grant);
    for (size_t i = 0; i < grant->member_count; i++)
        hf_lock_dereference(grant->members[i].lock);
    free_texts(grant);
    pthread_mutex_unlock(&client->monitor.lock);
    hf_free(grant->downgrade);
    hf_free(grant->payload_larger);
    hf_free(grant);
    hf_monitor_release(&client->monitor);
}

static struct hf_grant *of_op(struct hf_op *op)
{
    return (struct hf_grant *)((char *)op - offsetof(struct hf_grant, op));
}

static void cancel_op(struct hf_op *op)
{
    hf_grant_cancel(of_op(op));
}

static void dereference_op(struct hf_op *op)
{
    hf_grant_dereference(of_op(op));
}

static const struct hf_op_ops op_ops = {
    .cancel = cancel_op,
    .dereference = dereference_op,
};

struct hf_grant *hf_grant_new(struct hf_lock *const *locks, size_t count,
                              const struct hf_acquire_opts *opts,
                              const char *words, struct hf_done done)
{
    size_t tickets = hf_members_parts(locks, count);
    char payload[HF_PAYLOAD_BYTES];
    struct hf_grant *grant;

    if (words != NULL)
        hf_payload_copy(payload, words);
    else
        hf_owner_describe(payload, hf_now_ms(), opts->text);
    if ((grant = make(tickets, count, hf_grant_has_callbacks(opts), payload)) ==
        NULL)
        return NULL;
    grant->client = locks[0]->client;
    grant->lock = locks[0];
    grant->references = 1;
    grant->op = (struct hf_op){&op_ops, grant->client};
    grant->loss_fd = -1;
    grant->deferred.destroy = destroy;
    grant->done = done;
    grant->done_callback = (struct hf_callback){.run = run_done, .arg = grant};
    hf_grant_set_callbacks(grant, opts);
    for (size_t i = 0; i < count; i++)
        hf_lock_reference(locks[i]);
    hf_monitor_reference(&grant->client->monitor);
    limit(grant, opts);
    hf_members_want(grant, locks);
    return grant;
}

void hf_grant_reference(struct hf_grant *grant)
{
    grant->references++;
}

void hf_grant_dereference(struct hf_grant *grant)
{
    assert(grant->references > 0);
    if (--grant->references > 0)
        return;
    hf_monitor_defer_free(&grant->client->monitor, &grant->deferred);
}

void hf_grant_cancel(struct hf_grant *grant)
{
    struct hf_event event = {.kind = HF_EVENT_CANCEL};

    event.as.acquisition = &grant->acquisition;
    hf_client_step(grant->client, &event);
}

void hf_grant_after_fork(struct hf_client *client)
{
    const struct hf_grant *grant;

    for (grant = client->loss_fds; grant != NULL; grant = grant->next_loss_fd)
        close(grant->loss_fd);
}

/* -------------------------------------------------------------- effects -- */

void hf_grant_set_unsettled(struct hf_grant *grant, bool unsettled)
{
    if (grant->unsettled == unsettled)
        return;
    grant->unsettled = unsettled;
    if (unsettled)
        grant->client->unsettled++;
    else
        grant->client->unsettled--;
}

/* Tell whoever waits for the acquire or the release how it ended. */
static void complete(struct hf_grant *grant, hf_status status)
{
    struct hf_waiter *waiter = grant->waiter;

    grant->done_status = status;
    grant->waiter = NULL;
    if (grant->election != NULL)
        return; /* it hears of every effect */
    if (waiter != NULL)
        hf_waiter_answer(&grant->client->monitor, waiter, status);
    else if (grant->done.fn != NULL || grant->done.drop != NULL)
        hf_grant_queue(grant, &grant->done_callback);
    else
        hf_grant_dereference(grant); /* a release that nobody waits for */
}

void hf_grant_disown(struct hf_grant *grant)
{
    hf_grant_untell_wait(grant);
    hf_grant_clear_callbacks(grant);
    grant->done = (struct hf_done){NULL, NULL, NULL};
    grant->waiter = NULL;
    hf_grant_cancel(grant);
}

static void show_loss(const struct hf_grant *grant)
{
    uint64_t one = 1;
    ssize_t done;

    if (grant->loss_fd < 0)
        return;
    done = write(grant->loss_fd, &one, sizeof(one));
    assert(done == sizeof(one) || errno == EAGAIN);
}

static void lose(struct hf_grant *grant)
{
    struct hf_error why;

    grant->lost = true;
    grant->lost_lock = hf_grant_find_lost(grant);
    hf_grant_explain_loss(grant, &why);
    hf_failure_keep(&grant->client->failures, &grant->failure, NULL, &why);
    show_loss(grant);
    hf_log_write(&grant->client->monitor.log, HF_LOG_WARNING,
                 "%s; its token was %llu", why.text,
                 (unsigned long long)grant->acquisition.token);
    hf_grant_checks_answer(grant->client, grant);
    hf_grant_untell_revoke(grant);
    if (!grant->released)
        hf_grant_tell_loss(grant);
}

/* A blocking call has nobody left to tell. */
static void end_waiting(struct hf_grant *grant)
{
    if (grant->waiter == NULL && hf_grant_owes_wait(grant))
        hf_grant_tell_wait(grant);
    else
        hf_grant_untell_wait(grant);
}

/* A wait that was in vain may have been so because of a wrong limit. */
static void explain_limits(struct hf_grant *grant)
{
    struct hf_acquisition *a = &grant->acquisition;
    struct hf_error why = {.status = a->status};

    if (a->status != HF_ETIMEDOUT && a->status != HF_EBUSY)
        return;
    hf_members_compare_limits(grant); /* a try is never told that it waits */
    (void)snprintf(why.text, sizeof(why.text), "%s", hf_acquisition_text(a));
    for (size_t i = 0; i < grant->member_count; i++)
        hf_lock_explain_limit(grant->members[i].lock, &why);
    hf_acquisition_set_text(&grant->client->core, a, why.text);
}

void hf_grant_effect(struct hf_grant *grant, const struct hf_effect *effect)
{
    struct hf_election *election = grant->election;

    switch (effect->kind) {
    case HF_EFFECT_LOST:
        hf_holdings_remove(grant);
        hf_grant_set_unsettled(grant, true);
        lose(grant);
        break;
    case HF_EFFECT_GRANTED:
        grant->granted = true;
        hf_holdings_add(grant);
        hf_members_compare_limits(grant);
        hf_grant_set_unsettled(grant, false);
        end_waiting(grant);
        complete(grant, HF_OK);
        break;
    case HF_EFFECT_ENDED:
        explain_limits(grant);
        hf_grant_untell_wait(grant);
        complete(grant, grant->acquisition.status);
        break;
    case HF_EFFECT_WAITING:
        hf_members_compare_limits(grant);
        hf_grant_tell_wait(grant);
        break;
    case HF_EFFECT_REVOKED:
        hf_log_write(&grant->client->monitor.log, HF_LOG_INFO,
                     "somebody asks for \"%s\" to be released",
                     grant->lock->name);
        if (!grant->released)
            hf_grant_tell_revoke(grant);
        break;
    case HF_EFFECT_RELEASED:
        if (grant->acquisition.status == HF_EDENIED)
            hf_log_write(&grant->client->monitor.log, HF_LOG_WARNING,
                         "the ticket of \"%s\" cannot leave its queue before "
                         "this client is closed: %s",
                         grant->lock->name,
                         hf_acquisition_text(&grant->acquisition));
        complete(grant, grant->acquisition.status);
        break;
    case HF_EFFECT_DOWNGRADED:
        hf_grant_downgraded(grant);
        break;
    case HF_EFFECT_FORGOTTEN:
        hf_grant_set_unsettled(grant, false);
        hf_members_forgotten(grant);
        hf_grant_dereference(grant);
        break;
    case HF_EFFECT_REQUEST:
    case HF_EFFECT_FORGET:
    case HF_EFFECT_CONNECT:
    case HF_EFFECT_PROVEN:
    case HF_EFFECT_STATE:
    case HF_EFFECT_ANSWERED:
    case HF_EFFECT_FINISHED:
        assert(false);
    }
    if (election != NULL)
        hf_election_heed(election, grant, effect->kind);
}

/* ------------------------------------------------------------ the grant -- */

uint64_t hf_grant_token(const struct hf_grant *grant)
{
    return grant->acquisition.token;
}

uint64_t hf_grant_token_of(const struct hf_grant *grant,
                           const struct hf_lock *lock)
{
    const struct hf_acquisition *a = hf_members_find(grant, lock);

    return a != NULL ? a->token : 0;
}

const struct hf_ticket_id *hf_grant_ticket_id(const struct hf_grant *grant,
                                              const struct hf_lock *lock)
{
    const struct hf_acquisition *a = hf_members_find(grant, lock);

    assert(a != NULL && grant->granted);
    return &a->ticket_id;
}

uint64_t hf_grant_safe_until_ms(const struct hf_grant *grant)
{
    return hf_core_safe_until_ms(&grant->client->core, &grant->acquisition);
}

static hf_status make_loss_fd(struct hf_grant *grant, struct hf_error *error)
{
    hf_status status;
    int fd;

    if (grant->loss_fd >= 0)
        return HF_OK;
    if ((status = hf_monitor_ensure_driver(&grant->client->monitor, error)) !=
        HF_OK)
        return status;
    fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0)
        return hf_error_set(error, HF_ELIMIT,
                            "no descriptor is left to show a loss; raise the "
                            "limit on open files");
    keep_loss_fd(grant, fd);
    if (grant->lost)
        show_loss(grant);
    return HF_OK;
}

hf_status hf_grant_loss_fd(struct hf_grant *grant, int *fd)
{
    struct hf_error error;
    hf_status status = hf_monitor_enter(&grant->client->monitor);

    *fd = -1;
    if (status != HF_OK)
        return status;
    status = make_loss_fd(grant, &error);
    *fd = grant->loss_fd;
    hf_monitor_leave(&grant->client->monitor);
    if (status != HF_OK)
        hf_grant_fail(grant, "hf_grant_loss_fd", &error);
    return status;
}

/* With the lock. */
static hf_status hold(struct hf_grant *grant, const struct hf_lock *lock,
                      int *fd, struct hf_error *error)
{
    const struct hf_acquisition *a = hf_members_find(grant, lock);
    struct hf_client *client = grant->client;
    hf_status status;

    if (a == NULL)
        return hf_error_set(error, HF_EINVAL,
                            "the grant is not of \"%.120s\"; pass a lock that "
                            "was acquired with it",
                            lock->name);
    if (!hf_grant_is_valid(grant))
        return hf_grant_explain_loss(grant, error);
    if (client->ops->hold == NULL)
        return hf_error_set(error, HF_EUNSUPPORTED,
                            "tickets of this engine belong to a session, and "
                            "no descriptor keeps them; only the file engine "
                            "has such");
    status = client->ops->hold(client->engine, &a->ticket_id, fd);
    if (status != HF_OK)
        hf_error_set(error, status, "%s", hf_status_text(status));
    return status;
}

hf_status hf_grant_hold_fd_of(struct hf_grant *grant,
                              const struct hf_lock *lock, int *fd)
{
    struct hf_client *client = grant->client;
    struct hf_error error;
    hf_status status = hf_monitor_enter(&client->monitor);

    *fd = -1;
    if (status != HF_OK)
        return status;
    hf_monitor_run_ready(&client->monitor);
    status = hold(grant, lock, fd, &error);
    hf_monitor_leave(&client->monitor);
    if (status != HF_OK)
        hf_grant_fail(grant, "hf_grant_hold_fd", &error);
    return status;
}

hf_status hf_grant_hold_fd(struct hf_grant *grant, int *fd)
{
    return hf_grant_hold_fd_of(grant, grant->lock, fd);
}

/* -------------------------------------------------------------- release -- */

static void step_release(struct hf_grant *grant)
{
    struct hf_event event = {.kind = HF_EVENT_RELEASE};

    assert(grant->granted && !grant->released);
    grant->released = true;
    hf_holdings_remove(grant);
    hf_grant_untell_loss(grant);
    hf_grant_untell_revoke(grant);
    hf_grant_set_unsettled(grant, true);
    event.as.acquisition = &grant->acquisition;
    hf_client_step(grant->client, &event);
}

void hf_grant_let_go(struct hf_grant *grant)
{
    if (grant->granted)
        step_release(grant);
    else
        hf_grant_cancel(grant);
}

/* The grant is consumed, so what went wrong is kept at the lock. */
hf_status hf_grant_release_for(struct hf_grant *grant, struct hf_error *error)
{
    struct hf_client *client = grant->client;
    struct hf_waiter waiter = {.done = false};
    hf_status status;

    if ((status = hf_monitor_may_block(&client->monitor, error)) != HF_OK)
        return status;
    (void)hf_monitor_enter(&client->monitor);
    grant->waiter = &waiter;
    step_release(grant);
    status = hf_monitor_wait(&client->monitor, &waiter);
    if (status != HF_OK) {
        hf_grant_explain_release(grant, status, error);
        hf_lock_fail(grant->lock, "hf_grant_release", error);
    }
    if (waiter.done)
        hf_grant_dereference(grant);
    else
        grant->waiter = NULL; /* goes on, and complete() gives it up */
    hf_monitor_leave(&client->monitor);
    return status;
}

hf_status hf_grant_release(struct hf_grant *grant)
{
    struct hf_error error;
    hf_status status = hf_grant_release_for(grant, &error);

    if (status == HF_EREENTRANT)
        hf_grant_fail(grant, "hf_grant_release", &error);
    return status;
}

hf_status hf_grant_release_start(struct hf_grant *grant, struct hf_done done)
{
    static const char call[] = "hf_grant_release_start";
    struct hf_client *client = grant->client;
    struct hf_error error;
    hf_status status = hf_monitor_enter(&client->monitor);

    if (status == HF_OK && client->monitor.ended && done.fn != NULL) {
        hf_monitor_leave(&client->monitor);
        status = hf_error_set(&error, HF_ECLOSED,
                              "the client was closed, and has nowhere to call "
                              "back; pass no function");
        hf_grant_fail(grant, call, &error);
    }
    if (status != HF_OK) {
        if (done.drop != NULL)
            done.drop(done.arg);
        return status;
    }
    grant->done = done;
    hf_grant_reference(grant); /* the operation's, given up in run_done */
    step_release(grant);
    hf_grant_dereference(grant);
    hf_monitor_leave(&client->monitor);
    return HF_OK;
}
