/* SPDX-License-Identifier: Apache-2.0 */
/* See nested.h.  What is held around is in the environment: held_locks.h. */
#include "cli/nested.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/process.h"
#include "client/client.h"
#include "client/grant.h"
#include "client/owner_grants.h"
#include "command/clock.h"
#include "command/format.h"

/* While it waits, a run looks again whether the runs around it wait for it.
 * The first look comes soon, because the shell that has started the run begins
 * to wait a moment later.  The pauses are doubled up to a second, after which
 * others begin to look for a deadlock. */
#define OUTER_CHECK_FIRST_MS 25
#define OUTER_CHECK_MAX_MS 1000

void hf_nested_describe(struct hf_client *client,
                        const struct hf_run_options *options,
                        struct hf_held_lock *held)
{
    char engine[HF_ERROR_TEXT_BYTES];

    *held = (struct hf_held_lock){.pid = getpid(),
                                  .started = hf_process_started(getpid()),
                                  .kind = options->kind,
                                  .permits = options->permits};
    hf_client_describe(client, engine, sizeof engine);
    hf_held_lock_engine(engine, held->engine);
}

/* Called for each lock that a run around this one holds.  This function takes
 * the locks of the runs that wait for this one, the next one all others. */
static void inherit_waiting(void *arg, const struct hf_held_lock *held)
{
    const struct hf_nested *nested = arg;

    if (hf_outer_waits_have(&nested->outer_waits, held->pid))
        hf_owner_grants_inherit(nested->client, held->name, held->ticket, true);
}

static void inherit_others(void *arg, const struct hf_held_lock *held)
{
    const struct hf_nested *nested = arg;

    if (!hf_outer_waits_have(&nested->outer_waits, held->pid))
        hf_owner_grants_inherit(nested->client, held->name, held->ticket,
                                false);
}

/* Find out which of the runs around this one wait for it, as far as that can be
 * known.  If our own wait ends by itself, none counts as waiting. */
static void find_outer_waits(const struct hf_nested *nested,
                             struct hf_outer_waits *waits)
{
    waits->count = 0;
    if (!nested->ends_by_itself)
        hf_outer_waits_find(waits, getenv(HF_HELD_LOCKS_VARIABLE),
                            nested->waited_for);
}

/* Is this process inside of a run? */
static bool is_nested(void)
{
    const char *text = getenv(HF_HELD_LOCKS_VARIABLE);

    return text != NULL && text[0] != '\0';
}

/* Have the tickets say what ${nested}->outer_waits says. */
static void inherit(struct hf_nested *nested)
{
    const char *text = getenv(HF_HELD_LOCKS_VARIABLE);
    struct hf_held_lock self;

    hf_nested_describe(nested->client, nested->options, &self);
    hf_owner_grants_disinherit(nested->client);
    hf_held_locks_each(text, self.engine, inherit_waiting, nested);
    hf_held_locks_each(text, self.engine, inherit_others, nested);
}

void hf_nested_inherit(struct hf_nested *nested)
{
    if (!is_nested())
        return;
    find_outer_waits(nested, &nested->outer_waits);
    inherit(nested);
    nested->check_ms = OUTER_CHECK_FIRST_MS;
}

uint64_t hf_nested_check(struct hf_nested *nested, struct hf_op *op,
                         uint64_t now_ms)
{
    struct hf_outer_waits waits;

    if (!is_nested() || nested->ends_by_itself)
        return HF_FOREVER;
    if (now_ms < nested->check_at_ms)
        return nested->check_at_ms;
    find_outer_waits(nested, &waits);
    if (waits.count != nested->outer_waits.count) {
        nested->outer_waits = waits;
        inherit(nested);
        hf_grant_describe_again(op);
    }
    nested->check_at_ms = now_ms + nested->check_ms;
    nested->check_ms = 2 * nested->check_ms < OUTER_CHECK_MAX_MS
                           ? 2 * nested->check_ms
                           : OUTER_CHECK_MAX_MS;
    return nested->check_at_ms;
}

/* Set ${failure}: ${held} would block the wait for ever. */
static void set_blocked(const struct hf_run_options *options,
                        const struct hf_held_lock *held,
                        struct hf_error *failure)
{
    if (held->kind == HF_KIND_SEMAPHORE)
        hf_error_set(failure, HF_EINVAL,
                     "%" PRIu32 " of the permits of '%.200s' are held by the "
                     "run that this one is part of (pid %d), so %" PRIu32
                     " of %" PRIu32 " would never be free; take all that is "
                     "needed in the outer run",
                     held->permits, held->name, (int)held->pid,
                     options->permits, options->limit);
    else
        hf_error_set(failure, HF_EINVAL,
                     "'%.200s' is held already (%s) by the run that this one "
                     "is part of (pid %d), so the wait would never end; take "
                     "it once, in the outer run",
                     held->name, hf_format_kind(held->kind), (int)held->pid);
}

bool hf_nested_refuse(const struct hf_run_options *options,
                      struct hf_client *client, struct hf_lock *const *locks,
                      size_t lock_count, struct hf_error *failure)
{
    const char *text = getenv(HF_HELD_LOCKS_VARIABLE);
    struct hf_held_lock wanted, found;

    /* A try does not wait.  As with pthread_mutex_trylock() the result is that
     * the lock is held. */
    if (!text || options->wait_ms == 0)
        return false;
    hf_nested_describe(client, options, &wanted);
    for (size_t i = 0; i < lock_count; i++) {
        (void)snprintf(wanted.name, sizeof wanted.name, "%s",
                       hf_lock_name(locks[i]));
        if (hf_held_locks_block(text, &wanted, options->limit, &found)) {
            set_blocked(options, &found, failure);
            return true;
        }
    }
    return false;
}

bool hf_nested_waits_for_itself(const struct hf_run_options *options,
                                const struct hf_wait *wait)
{
    const char *text = getenv(HF_HELD_LOCKS_VARIABLE);

    return text != NULL && options->wait_ms != 0 &&
           options->kind != HF_KIND_SEMAPHORE &&
           hf_held_locks_have_holder(text, wait->name, wait->holder,
                                     hf_clock_now_ms());
}

void hf_nested_set_waited_for_itself(const char *name, struct hf_error *failure)
{
    hf_error_set(
        failure, HF_EINVAL,
        "'%.200s' is held already by the run that this one is part of, "
        "so the wait would never end (a reader inside of a reader "
        "waits for the writers in between); take it once, in the "
        "outer run",
        name);
}
