/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of an election. */
#include "host/election.h"

#include <assert.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "host/election_wait.h"
#include "host/opening.h"
#include "host/owner.h"
#include "host/queue.h"

/* ------------------------------------------------------------- lifetime -- */

void hf_election_reference(struct hf_election *e)
{
    e->references++;
}

void hf_election_dereference(struct hf_election *e)
{
    assert(e->references > 0);
    if (--e->references == 0)
        hf_monitor_defer_free(&e->client->monitor, &e->deferred);
}

static void drop_all(const struct hf_election_opts *opts)
{
    if (opts->on_elected.drop != NULL)
        opts->on_elected.drop(opts->on_elected.arg);
    if (opts->on_deposed.drop != NULL)
        opts->on_deposed.drop(opts->on_deposed.arg);
    if (opts->on_revoke.drop != NULL)
        opts->on_revoke.drop(opts->on_revoke.arg);
    if (opts->on_ended.drop != NULL)
        opts->on_ended.drop(opts->on_ended.arg);
}

void hf_election_drop_callbacks(struct hf_election *e)
{
    static const struct hf_election_opts silent = HF_ELECTION_OPTS_INIT;
    struct hf_election_opts opts = e->opts;

    assert(e->freed && !e->telling);
    e->opts = silent;
    hf_monitor_unlock(&e->client->monitor);
    hf_delivery_begin();
    drop_all(&opts);
    hf_delivery_end();
    hf_monitor_lock(&e->client->monitor);
}

static void destroy(struct hf_deferred_free *object)
{
    struct hf_election *e =
        (struct hf_election *)((char *)object -
                               offsetof(struct hf_election, deferred));
    struct hf_client *client = e->client;

    if (hf_fork_parted(&client->monitor.fork))
        return;
    hf_lock_free(e->lock); /* and perhaps the client with it */
    hf_free(e);
}

/* Tell how the resignation ended. */
static void run_done(void *arg)
{
    struct hf_election *e = arg;
    struct hf_client *client = e->client;
    struct hf_done done = e->done;
    struct hf_error outcome = e->outcome;
    struct hf_result result = {.status = outcome.status, .text = outcome.text};

    e->done = (struct hf_done){NULL, NULL, NULL};
    hf_monitor_unlock(&client->monitor);
    if (done.fn != NULL)
        done.fn(done.arg, &result);
    if (done.drop != NULL)
        done.drop(done.arg);
    hf_monitor_lock(&client->monitor);
    hf_election_dereference(e);
}

/* Set ${opts} to what ${given} says. */
static hf_status take_opts(const struct hf_election_opts *given,
                           struct hf_election_opts *opts,
                           struct hf_error *error)
{
    hf_status status = hf_opts_take(&hf_election_opts_type, given, opts, error);

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
        return hf_owner_check_words("id", opts->id, HF_ELECTION_ID_BYTES,
                                    error);
    return opts->text != NULL ? hf_owner_check_text(opts->text, error) : HF_OK;
}

static struct hf_election *make(struct hf_client *client,
                                const struct hf_election_opts *opts)
{
    struct hf_election *e = hf_alloc(sizeof(*e));

    if (e == NULL)
        return NULL;
    e->client = client;
    e->references = 1;
    e->opts = *opts;
    if (opts->text != NULL)
        e->opts.text = memcpy(e->words, opts->text, strlen(opts->text) + 1);
    if (opts->id != NULL)
        e->opts.id = memcpy(e->words, opts->id, strlen(opts->id) + 1);
    e->news_callback =
        (struct hf_callback){.run = hf_election_run_news, .arg = e};
    e->done_callback = (struct hf_callback){.run = run_done, .arg = e};
    e->deferred.destroy = destroy;
    return e;
}

static hf_status open_(struct hf_client *client, const char *name,
                       const struct hf_election_opts *given,
                       struct hf_election_opts *opts,
                       struct hf_election **election)
{
    static const char call[] = "hf_election_open";
    struct hf_lock_opts lock_opts = HF_LOCK_OPTS_INIT;
    struct hf_election *made;
    struct hf_error error;
    hf_status status;

    if (take_opts(given, opts, &error) != HF_OK)
        return hf_opening_fail(client, call, &error);
    if ((made = make(client, opts)) == NULL) {
        hf_error_set(&error, HF_ENOMEM, "out of memory");
        return hf_opening_fail(client, call, &error);
    }
    lock_opts.kind = opts->kind;
    status = hf_lock_open_for(client, call, name, &lock_opts, &made->lock);
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
    struct hf_election_opts taken;
    hf_status status;

    *election = NULL;
    status = open_(client, name, opts, &taken, election);
    if (status != HF_OK)
        drop_all(&taken);
    return status;
}

void hf_election_free(struct hf_election *e)
{
    struct hf_client *client;

    if (e == NULL || hf_monitor_enter(&e->client->monitor) != HF_OK)
        return;
    client = e->client;
    e->freed = true;
    hf_election_hush(e);
    hf_election_waits_cancel(e, "the election was freed");
    hf_election_leave(e);
    if (e->telling)
        hf_monitor_await_callback(&client->monitor, &e->free_waiter);
    if (!e->telling)
        hf_election_drop_callbacks(e);
    hf_election_dereference(e);
    hf_monitor_leave(&client->monitor);
}

/* ------------------------------------------------------------------ run -- */

static hf_status run(struct hf_election *e, struct hf_error *error)
{
    hf_status status;

    if (e->client->monitor.closing)
        return hf_error_set(error, HF_ECLOSED, "the client was closed");
    if (e->resigning)
        return hf_error_set(error, HF_ESTATE,
                            "it is resigning; wait for the end of that");
    if (e->state != HF_ELECTION_RESTING)
        return HF_OK;
    if ((status = hf_monitor_ensure_driver(&e->client->monitor, error)) !=
        HF_OK)
        return status;
    e->again = (struct hf_retry_state){0};
    e->end = (struct hf_error){.status = HF_OK};
    return hf_election_stand(e, 0, error);
}

hf_status hf_election_campaign_start(struct hf_election *e)
{
    struct hf_client *client = e->client;
    hf_status status = hf_monitor_enter(&client->monitor);
    struct hf_error error;

    if (status != HF_OK)
        return status;
    if ((status = run(e, &error)) != HF_OK)
        hf_lock_fail(e->lock, "hf_election_campaign_start", &error);
    hf_monitor_leave(&client->monitor);
    return status;
}

/* --------------------------------------------------------------- resign -- */

void hf_election_answer(struct hf_election *e)
{
    if (!e->resigning || !e->out || e->telling)
        return;
    e->resigning = false;
    if (e->waiter != NULL) {
        hf_waiter_answer(&e->client->monitor, e->waiter, e->outcome.status);
        e->waiter = NULL;
    } else if (e->done.fn != NULL || e->done.drop != NULL) {
        hf_election_reference(e);
        hf_monitor_queue(&e->client->monitor, &e->done_callback);
    }
}

void hf_election_left(struct hf_election *e, const struct hf_error *why)
{
    e->state = HF_ELECTION_RESTING;
    e->out = true;
    e->outcome = (struct hf_error){.status = HF_OK};
    if (why->status == HF_EDENIED)
        e->outcome = *why;
    hf_election_answer(e);
}

static hf_status begin(struct hf_election *e, struct hf_waiter *waiter,
                       struct hf_done done, const char *call)
{
    const struct hf_error rested = {.status = HF_OK};
    struct hf_error error;

    if (e->resigning || e->done_callback.queued) {
        hf_error_set(&error, HF_ESTATE,
                     "it is resigning already; wait for the end of that");
        return hf_lock_fail(e->lock, call, &error);
    }
    e->resigning = true;
    e->out = false;
    e->waiter = waiter;
    e->done = done;
    e->end = rested;
    hf_election_hush(e);
    hf_election_waits_cancel(e, "it resigned");
    if (e->state == HF_ELECTION_RESTING)
        hf_election_left(e, &rested);
    else
        hf_election_leave(e);
    return HF_OK;
}

hf_status hf_election_resign(struct hf_election *e)
{
    static const char call[] = "hf_election_resign";
    const struct hf_done untold = {NULL, NULL, NULL};
    struct hf_client *client = e->client;
    struct hf_waiter waiter = {.done = false};
    struct hf_error error;
    hf_status status;

    if ((status = hf_lock_may_block(e->lock, call, &error)) != HF_OK)
        return status;
    if ((status = hf_monitor_enter(&client->monitor)) != HF_OK)
        return status;
    status = begin(e, &waiter, untold, call);
    if (status == HF_OK) {
        status = hf_monitor_wait(&client->monitor, &waiter);
        error = e->outcome;
        if (!waiter.done) {
            e->waiter = NULL; /* it goes on, and nobody is told */
            hf_error_set(&error, status,
                         "no descriptors to wait with; raise the limit on "
                         "open files");
        }
        if (status != HF_OK)
            hf_lock_fail(e->lock, call, &error);
    }
    hf_monitor_leave(&client->monitor);
    return status;
}

/* Is there somebody to call ${done}, if it is to be called? */
static hf_status check_done(struct hf_election *e, struct hf_done done,
                            const char *call)
{
    hf_status status = HF_OK;
    struct hf_error error;

    if (done.fn != NULL && e->client->monitor.ended)
        status = hf_error_set(&error, HF_ECLOSED, "the client was closed");
    else if (done.fn != NULL)
        status = hf_monitor_ensure_driver(&e->client->monitor, &error);
    if (status != HF_OK)
        hf_lock_fail(e->lock, call, &error);
    return status;
}

hf_status hf_election_resign_start(struct hf_election *e, struct hf_done done)
{
    static const char call[] = "hf_election_resign_start";
    struct hf_client *client = e->client;
    hf_status status = hf_monitor_enter(&client->monitor);
    bool told_nowhere = false;

    if (status == HF_OK) {
        told_nowhere =
            client->monitor.ended; /* and nothing is left to resign */
        status = check_done(e, done, call);
        if (status == HF_OK && !told_nowhere)
            status = begin(e, NULL, done, call);
        hf_monitor_leave(&client->monitor);
    }
    if ((status != HF_OK || told_nowhere) && done.drop != NULL)
        done.drop(done.arg);
    return status;
}

/* -------------------------------------------------------------- looking -- */

/* In a lazy session a leadership outlasts safe-until.  It is over when that is
 * 0, or when its token is; a token is there before a promise is. */
bool hf_election_is_leader(const struct hf_election *e)
{
    uint64_t until_ms = hf_election_safe_until_ms(e);

    if (hf_session_is_lazy(&e->client->core.session))
        return until_ms != 0;
    return until_ms > hf_now_ms();
}

/* In a child of a fork nobody leads. */
uint64_t hf_election_token(const struct hf_election *e)
{
    return hf_fork_parted(&e->client->monitor.fork) ? 0
                                                    : atomic_load(&e->token);
}

/* Leaderships follow one another: a value that was loaded before this one began
 * may be of the session before, and later than what this one has. */
uint64_t hf_election_safe_until_ms(const struct hf_election *e)
{
    const struct hf_safe_until *word = &e->client->core.session.published;
    uint64_t token = atomic_load(&e->token);
    uint64_t until_ms = hf_safe_until_read(word, &e->valid);

    return token != 0 && token == atomic_load(&e->token) ? until_ms : 0;
}

hf_status hf_election_tickets(struct hf_election *e,
                              enum hf_tickets_which which, uint64_t wait_ms,
                              struct hf_tickets **tickets)
{
    return hf_queue_list(e->lock, "hf_election_tickets", which, wait_ms,
                         tickets);
}

hf_status hf_election_tickets_start(struct hf_election *e,
                                    enum hf_tickets_which which,
                                    uint64_t wait_ms, struct hf_done done)
{
    return hf_queue_list_start(e->lock, "hf_election_tickets_start", which,
                               wait_ms, done);
}

void hf_election_error(const struct hf_election *e, struct hf_error *error)
{
    hf_lock_error(e->lock, error);
}
