/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public calls on an election: opening and freeing it, campaigning,
 * resigning, and what any thread may read of it without the lock.  An election
 * is a lock with a candidacy in the background (election_candidacy.c); opening
 * it begins nothing.
 */
#include "client/election.h"

#include <assert.h>
#include <string.h>

#include "base/container_of.h"
#include "base/error.h"
#include "base/memory.h"
#include "client/client.h"
#include "client/list_evict_revoke.h"
#include "client/owner_text.h"

/* The .destroy of an election: without the lock, after its last reference is
 * gone. */
static void destroy_election(struct hf_deferred_free *object)
{
    struct hf_election *e = container_of(object, struct hf_election, deferred);
    struct hf_client *client = e->client;

    if (hf_fork_is_child(&client->monitor.fork))
        return;
    hf_lock_free(e->lock); /* this may free the client */
    hf_free(e);
}

/* Set ${opts} to what ${given} says, and check it. */
static hf_status check_opts(const struct hf_election_opts *given,
                            struct hf_election_opts *opts,
                            struct hf_error *error)
{
    hf_status status = hf_opts_copy(&hf_election_opts_type, given, opts, error);

    if (status != HF_OK)
        return status;
    if (opts->kind != HF_KIND_ELECTION && opts->kind != HF_KIND_MUTEX)
        return hf_error_set(error, HF_EINVAL,
                            "the kind is %u; expected HF_KIND_ELECTION or "
                            "HF_KIND_MUTEX",
                            (unsigned)opts->kind);
    if (opts->text != NULL && opts->id != NULL)
        return hf_error_set(error, HF_EINVAL,
                            "there are a text and an id, of which a ticket "
                            "says one; leave the other NULL");
    if (opts->id != NULL)
        return hf_owner_text_check_value("id", opts->id, HF_ELECTION_ID_BYTES,
                                         error);
    return opts->text != NULL ? hf_owner_text_check(opts->text, error) : HF_OK;
}

/* An election with one reference and copies of the texts in ${opts}; NULL: out
 * of memory, which was reported (hf_open_alloc()). */
static struct hf_election *new_election(struct hf_client *client,
                                        const char *api_name,
                                        const struct hf_election_opts *opts)
{
    struct hf_election *e = hf_open_alloc(api_name, sizeof(*e));

    if (e == NULL)
        return NULL;
    e->client = client;
    e->references = 1;
    e->opts = *opts;
    if (opts->text != NULL)
        e->opts.text =
            memcpy(e->text_or_id, opts->text, strlen(opts->text) + 1);
    if (opts->id != NULL)
        e->opts.id = memcpy(e->text_or_id, opts->id, strlen(opts->id) + 1);
    hf_election_init_events(e);
    e->deferred.destroy = destroy_election;
    return e;
}

/* What hf_election_open() does, but for the .drop of callbacks on failure. */
static hf_status open_election(struct hf_client *client, const char *name,
                               const struct hf_election_opts *given,
                               struct hf_election_opts *opts,
                               struct hf_election **election)
{
    static const char api_name[] = "hf_election_open";
    struct hf_lock_opts lock_opts = HF_LOCK_OPTS_INIT;
    struct hf_election *made;
    struct hf_error error;
    hf_status status;

    if (check_opts(given, opts, &error) != HF_OK)
        return hf_open_fail(client, api_name, &error);
    if ((made = new_election(client, api_name, opts)) == NULL)
        return HF_ENOMEM;
    lock_opts.kind = opts->kind;
    status = hf_lock_open_for(client, api_name, name, &lock_opts, &made->lock);
    if (status != HF_OK)
        goto free_election;
    *election = made;
    return HF_OK;
free_election:
    hf_free(made);
    return status;
}

hf_status hf_election_open(struct hf_client *client, const char *name,
                           const struct hf_election_opts *opts,
                           struct hf_election **election)
{
    struct hf_election_opts copied;
    hf_status status;

    *election = NULL;
    status = open_election(client, name, opts, &copied, election);
    if (status != HF_OK)
        hf_election_drop_opts(&copied);
    return status;
}

/* Events are discarded first, then waits are ended, then the candidacy.  A
 * callback that runs on another thread is waited for, if this thread may wait.
 * Otherwise the callbacks are dropped when the one that runs has returned. */
void hf_election_free(struct hf_election *e)
{
    struct hf_user_drop drop;
    struct hf_client *client;

    if (e == NULL || hf_monitor_enter(&e->client->monitor, NULL) != HF_OK)
        return;
    client = e->client;
    hf_user_callback_retire(&e->user);
    hf_election_discard_events(e);
    hf_election_waits_cancel(e, "the election was freed");
    hf_candidacy_leave(e);
    drop = hf_user_callback_await(&e->user, &client->monitor);
    hf_monitor_unlock(&client->monitor);
    hf_user_drop_call(&drop);
    hf_monitor_lock(&client->monitor);
    hf_election_dereference(e);
    hf_monitor_leave(&client->monitor);
}

/* ------------------------------------------------------------- campaign -- */

/* Begin the first candidacy, unless there is one. */
static hf_status begin_campaign(struct hf_election *e, struct hf_error *error)
{
    hf_status status;

    if (e->client->monitor.state != HF_MONITOR_OPEN)
        return hf_monitor_explain_closed(&e->client->monitor, "client", error);
    if (e->resignation != HF_RESIGNATION_NONE)
        return hf_error_set(error, HF_ESTATE,
                            "it is resigning; wait for the end of that");
    if (e->state != HF_ELECTION_IDLE)
        return HF_OK;
    if ((status = hf_monitor_ensure_poller(&e->client->monitor, error)) !=
        HF_OK)
        return status;
    e->campaign_tries = 0;
    return hf_candidacy_begin(e, 0, error);
}

/* A second call while the election campaigns or leads does nothing. */
hf_status hf_election_campaign_start(struct hf_election *e)
{
    struct hf_client *client = e->client;
    hf_status status =
        hf_monitor_enter(&client->monitor, "hf_election_campaign_start");
    struct hf_error error;

    if (status != HF_OK)
        return status;
    if ((status = begin_campaign(e, &error)) != HF_OK)
        (void)hf_fail("hf_election_campaign_start", &error);
    hf_monitor_leave(&client->monitor);
    return status;
}

/* ------------------------------------------------------------ resigning -- */

static struct hf_election *of_resign_op(struct hf_user_op *op)
{
    return container_of(op, struct hf_election, resign_op);
}

/* The .take of a resignation.  From now on another one may begin. */
static void take_resign(struct hf_user_op *op, struct hf_result *result,
                        struct hf_error *why)
{
    struct hf_election *e = of_resign_op(op);

    (void)result;
    *why = e->outcome;
    if (e->resignation == HF_RESIGNATION_ANSWERED)
        e->resignation = HF_RESIGNATION_NONE;
}

/* The .destroy of a resignation, which kept the election alive. */
static void destroy_resign(struct hf_user_op *op)
{
    hf_election_dereference(of_resign_op(op));
}

/* A user gets no handle of a resignation, so there is no .cancel. */
static const struct hf_user_op_ops resign_ops = {
    .take = take_resign,
    .destroy = destroy_resign,
};

/* Begin a resignation, and add a reference for the caller. */
static void begin_resign(struct hf_election *e,
                         const struct hf_completion *completion)
{
    const struct hf_error idle = {.status = HF_OK};

    assert(e->resignation == HF_RESIGNATION_NONE);
    e->resignation = HF_RESIGNATION_LEAVING;
    if (e->resign_op.references == 0) {
        hf_election_reference(e);
        hf_user_op_init(&e->resign_op, &resign_ops, &e->client->monitor, 0);
    } /* else the last one has not dropped all its references yet */
    hf_user_op_begin(&e->resign_op, completion);
    e->resign_op.references++; /* the caller's */
    e->idle_reason = idle;
    hf_election_discard_events(e);
    hf_election_waits_cancel(e, "it resigned");
    if (e->state == HF_ELECTION_IDLE)
        hf_candidacy_left(e, &idle);
    else
        hf_candidacy_leave(e);
}

/* A call of the user that resigns. */
struct resign_call {
    struct hf_user_call call;
    struct hf_election *election;
};

/* A callback with a function needs a thread that calls it. */
static struct hf_user_op *begin_call(struct hf_user_call *call,
                                     const struct hf_completion *completion,
                                     struct hf_error *error)
{
    struct hf_election *e =
        container_of(call, struct resign_call, call)->election;

    if (completion->done.fn != NULL && call->monitor->state == HF_MONITOR_ENDED)
        hf_error_set(error, HF_ECLOSED, "the client was closed");
    else if (completion->done.fn != NULL)
        (void)hf_monitor_ensure_poller(call->monitor, error);
    if (error->status == HF_OK &&
        (e->resignation != HF_RESIGNATION_NONE || e->resign_op.callback.queued))
        hf_error_set(error, HF_ESTATE,
                     "it is resigning already; wait for the end of that");
    if (error->status != HF_OK)
        return NULL;
    begin_resign(e, completion);
    return &e->resign_op;
}

static struct resign_call make_call(struct hf_election *e, const char *api_name)
{
    return (struct resign_call){
        .call = {.api_name = api_name,
                 .monitor = &e->client->monitor,
                 .begin = begin_call},
        .election = e,
    };
}

/* If this thread cannot wait, the resignation goes on all the same. */
hf_status hf_election_resign(struct hf_election *e)
{
    struct resign_call call = make_call(e, "hf_election_resign");
    struct hf_result result;

    return hf_user_op_run(&call.call, &result);
}

/* Has the client ended?  Then there is nothing to resign from.  False in the
 * child of a fork: hf_user_op_start() reports that. */
static bool is_over(struct hf_election *e)
{
    bool ended;

    if (hf_monitor_enter(&e->client->monitor, NULL) != HF_OK)
        return false;
    ended = e->client->monitor.state == HF_MONITOR_ENDED;
    hf_monitor_leave(&e->client->monitor);
    return ended;
}

hf_status hf_election_resign_start(struct hf_election *e, struct hf_done done)
{
    struct resign_call call = make_call(e, "hf_election_resign_start");

    if (done.fn != NULL || !is_over(e))
        return hf_user_op_start(&call.call, done, NULL);
    hf_done_drop(&done);
    return HF_OK;
}

/* -------------------------------------------------------------- looking -- */

/* Safe-until of this leadership by the clock of the core; 0: it does not lead.
 * Without the lock.  The token is read before and after, because leaderships
 * follow one another: a value that was read before this one began may belong to
 * the session before, and be later than this leadership's own. */
static uint64_t safe_until_ms(const struct hf_election *e)
{
    const struct hf_safe_until *word = &e->client->core.session.published;
    uint64_t token = atomic_load(&e->token);
    uint64_t until_ms = hf_safe_until_read(word, &e->valid);

    return token != 0 && token == atomic_load(&e->token) ? until_ms : 0;
}

/* In a lazy session a leadership outlasts safe-until, so it is over only when
 * safe-until reads as 0, which it does as soon as the token or .valid is
 * gone. */
bool hf_election_is_leader(const struct hf_election *e)
{
    uint64_t until_ms = safe_until_ms(e);

    if (hf_session_is_lazy(&e->client->core.session))
        return until_ms != 0;
    return until_ms > hf_now_ms();
}

/* 0 in a child of a fork, where nothing is led.  The token is read again after
 * .token_seen was set: if it is the same, its loss is still to come, and will
 * be reported.  It goes round once more only if the leadership has changed. */
uint64_t hf_election_token(const struct hf_election *e)
{
    _Atomic bool *seen = &((struct hf_election *)(uintptr_t)e)->token_seen;
    uint64_t token;

    if (hf_fork_is_child(&e->client->monitor.fork))
        return 0;
    do {
        token = atomic_load(&e->token);
        if (token != 0 && !atomic_load(seen))
            atomic_store(seen, true);
    } while (token != atomic_load(&e->token));
    return token;
}

uint64_t hf_election_safe_until_ms(const struct hf_election *e)
{
    return hf_boottime_of_ms(safe_until_ms(e));
}

hf_status hf_election_tickets(struct hf_election *e,
                              enum hf_tickets_which which, uint64_t wait_ms,
                              struct hf_tickets **tickets)
{
    return hf_lock_list_for(e->lock, "hf_election_tickets", which, wait_ms,
                            tickets);
}

hf_status hf_election_tickets_start(struct hf_election *e,
                                    enum hf_tickets_which which,
                                    uint64_t wait_ms, struct hf_done done)
{
    return hf_lock_list_start_for(e->lock, "hf_election_tickets_start", which,
                                  wait_ms, done);
}
