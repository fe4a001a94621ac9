/* SPDX-License-Identifier: Apache-2.0 */
/* A run inside of another: what the command is told of the locks that are held
 * around it, and the wait for one of them, which would never end. */
#include "cli/keeper.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/words.h"
#include "core/error.h"
#include "host/client.h"
#include "host/grant.h"

/* The part that is the same for all locks of this run. */
static void describe_held(const struct hf_keeper *keeper, struct hf_held *held)
{
    const struct hf_run_options *options = keeper->run->options;
    char engine[HF_ERROR_TEXT_BYTES];

    *held = (struct hf_held){.pid = getpid(),
                             .started = hf_process_started(getpid()),
                             .kind = options->kind,
                             .permits = options->permits};
    hf_client_describe(keeper->client, engine, sizeof engine);
    hf_held_engine(engine, held->engine);
}

bool hf_keeper_environment(const struct hf_keeper *keeper,
                           struct hf_environment *environment)
{
    const char *url = keeper->run->options->url;
    struct hf_environment_facts facts = {.count = keeper->lock_count};

    facts.url = url ? url : hf_client_default_url();
    describe_held(keeper, &facts.held);
    for (size_t i = 0; i < keeper->lock_count; i++) {
        const struct hf_lock *lock = keeper->locks[i];
        char id[HF_TICKET_ID_TEXT_BYTES];

        facts.names[i] = hf_lock_name(lock);
        facts.tokens[i] = hf_grant_token_of(keeper->grant, lock);
        hf_ticket_id_format(hf_grant_ticket_id(keeper->grant, lock), id);
        (void)snprintf(facts.tickets[i], HF_HELD_TICKET_BYTES, "%.8s", id);
    }
    return hf_environment_make(&facts, environment);
}

static void inherit(void *arg, const struct hf_held *held)
{
    hf_holdings_inherit(arg, held->name, held->ticket);
}

void hf_keeper_inherit(const struct hf_keeper *keeper)
{
    struct hf_held self;

    describe_held(keeper, &self);
    hf_held_each(getenv(HF_HELD_VARIABLE), self.engine, inherit,
                 keeper->client);
}

static void set_blocked(struct hf_keeper *keeper, const struct hf_held *held)
{
    if (held->kind == HF_KIND_SEMAPHORE)
        hf_error_set(&keeper->failure, HF_EINVAL,
                     "%" PRIu32 " of the permits of '%.200s' are held by the "
                     "run that this one is part of (pid %d), so %" PRIu32
                     " of %" PRIu32 " would never be free; take all that is "
                     "needed in the outer run",
                     held->permits, held->name, (int)held->pid,
                     keeper->run->options->permits,
                     keeper->run->options->limit);
    else
        hf_error_set(&keeper->failure, HF_EINVAL,
                     "'%.200s' is held already (%s) by the run that this one "
                     "is part of (pid %d), so the wait would never end; take "
                     "it once, in the outer run",
                     held->name, hf_words_kind(held->kind), (int)held->pid);
}

bool hf_keeper_refuse_nested(struct hf_keeper *keeper)
{
    const char *text = getenv(HF_HELD_VARIABLE);
    struct hf_held wanted, found;

    /* As pthread_mutex_trylock(), a try answers that the lock is held. */
    if (!text || keeper->run->options->wait_ms == 0)
        return false;
    describe_held(keeper, &wanted);
    for (size_t i = 0; i < keeper->lock_count; i++) {
        (void)snprintf(wanted.name, sizeof wanted.name, "%s",
                       hf_lock_name(keeper->locks[i]));
        if (hf_held_blocks(text, &wanted, keeper->run->options->limit,
                           &found)) {
            set_blocked(keeper, &found);
            return true;
        }
    }
    return false;
}

bool hf_keeper_waits_for_itself(const struct hf_keeper *keeper,
                                const char *holder)
{
    const char *text = getenv(HF_HELD_VARIABLE);

    if (!text || keeper->run->options->wait_ms == 0 ||
        keeper->run->options->kind == HF_KIND_SEMAPHORE)
        return false;
    for (size_t i = 0; i < keeper->lock_count; i++)
        if (hf_held_is_holder(text, hf_lock_name(keeper->locks[i]), holder,
                              hf_clock_now_ms()))
            return true;
    return false;
}

void hf_keeper_set_waited_for_itself(struct hf_keeper *keeper)
{
    hf_error_set(
        &keeper->failure, HF_EINVAL,
        "'%.200s' is held already by the run that this one is part of, "
        "so the wait would never end (a reader inside of a reader "
        "waits for the writers in between); take it once, in the "
        "outer run",
        keeper->run->options->label);
}
