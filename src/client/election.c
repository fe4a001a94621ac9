/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening an election and freeing it, and what any thread may read of it
 * without the lock.  An election is a lock with a candidacy in the background;
 * opening it begins nothing.
 */
#include "client/election.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "client/client.h"
#include "client/list_evict_revoke.h"
#include "client/owner_text.h"

/* The .destroy of an election: without the lock, after its last reference is
 * gone. */
static void destroy_election(struct hf_deferred_free *object)
{
    struct hf_election *e =
        (struct hf_election *)((char *)object -
                               offsetof(struct hf_election, deferred));
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

/* An election with one reference and copies of the texts in ${opts}; NULL if
 * out of memory. */
static struct hf_election *new_election(struct hf_client *client,
                                        const struct hf_election_opts *opts)
{
    struct hf_election *e = hf_alloc(sizeof(*e));

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
    static const char call[] = "hf_election_open";
    struct hf_lock_opts lock_opts = HF_LOCK_OPTS_INIT;
    struct hf_election *made;
    struct hf_error error;
    hf_status status;

    if (check_opts(given, opts, &error) != HF_OK)
        return hf_client_fail_unlocked(client, call, &error);
    if ((made = new_election(client, opts)) == NULL) {
        hf_error_set(&error, HF_ENOMEM, "out of memory");
        return hf_client_fail_unlocked(client, call, &error);
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
    struct hf_election_opts copied;
    hf_status status;

    *election = NULL;
    status = open_election(client, name, opts, &copied, election);
    if (status != HF_OK)
        hf_election_drop_opts(&copied);
    return status;
}

/* Events are discarded first, then waits are ended, then the candidacy.  If a
 * callback runs on another thread, wait until it has returned; if it runs on
 * this one, it drops the callbacks itself. */
void hf_election_free(struct hf_election *e)
{
    struct hf_client *client;

    if (e == NULL || hf_monitor_enter(&e->client->monitor) != HF_OK)
        return;
    client = e->client;
    e->freed = true;
    hf_election_discard_events(e);
    hf_election_waits_cancel(e, "the election was freed");
    hf_candidacy_leave(e);
    if (e->notifying)
        hf_monitor_await_callback(&client->monitor, &e->free_waiter);
    if (!e->notifying)
        hf_election_drop_callbacks(e);
    hf_election_dereference(e);
    hf_monitor_leave(&client->monitor);
}

/* -------------------------------------------------------------- looking -- */

/* Safe-until of this leadership by the clock of the core, without the lock.
 * The token is read before and after, because leaderships follow one another: a
 * value that was read before this one began may belong to the session before,
 * and may be later than what this one has. */
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

/* 0 in a child of a fork, where nothing is led. */
uint64_t hf_election_token(const struct hf_election *e)
{
    return hf_fork_is_child(&e->client->monitor.fork) ? 0
                                                      : atomic_load(&e->token);
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

void hf_election_error(const struct hf_election *e, struct hf_error *error)
{
    hf_lock_error(e->lock, error);
}
