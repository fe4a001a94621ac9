/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run inside the command of another run.
 *
 * It hands down to its command which locks are held around it (held_locks.h),
 * it names those locks in its own tickets, and it refuses to wait for one of
 * them: that wait could not end, because the outer run holds the lock until
 * the inner one has ended.
 */
#include "cli/supervisor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "client/client.h"
#include "client/client_url.h"
#include "client/grant.h"
#include "client/owner_grants.h"
#include "command/format.h"

/* While it waits, a run looks at the runs around it this long after the look
 * before: the shell that has started it begins to wait for it a moment later.
 * Others look for a deadlock after a second. */
#define OUTER_CHECK_FIRST_MS 25
#define OUTER_CHECK_MAX_MS 1000

/* How many words the command has; 0 if a timer ends this run. */
static uint32_t count_words(const struct hf_run *run)
{
    uint32_t count = 0;

    while (!run->has_timer && run->options->command[count] != NULL)
        count++;
    return count;
}

void hf_supervisor_describe_held(const struct hf_supervisor *supervisor,
                                 struct hf_held_lock *held)
{
    const struct hf_run_options *options = supervisor->run->options;
    char engine[HF_ERROR_TEXT_BYTES];

    *held = (struct hf_held_lock){.pid = getpid(),
                                  .started = hf_process_started(getpid()),
                                  .kind = options->kind,
                                  .permits = options->permits,
                                  .words = count_words(supervisor->run)};
    hf_client_describe(supervisor->client, engine, sizeof engine);
    hf_held_lock_engine(engine, held->engine);
}

/* Called for each lock that a run around this one holds: those of the runs that
 * wait for this one; and the others. */
static void inherit_waiting(void *arg, const struct hf_held_lock *held)
{
    const struct hf_supervisor *supervisor = arg;

    if (hf_outer_waits_have(&supervisor->outer_waits, held->pid))
        hf_owner_grants_inherit(supervisor->client, held->name, held->ticket,
                                true);
}

static void inherit_others(void *arg, const struct hf_held_lock *held)
{
    const struct hf_supervisor *supervisor = arg;

    if (!hf_outer_waits_have(&supervisor->outer_waits, held->pid))
        hf_owner_grants_inherit(supervisor->client, held->name, held->ticket,
                                false);
}

/* Find out which of the runs around this one wait for it, as far as that can be
 * known.  A wait that has a limit ends by itself, so none does. */
static void find_outer_waits(const struct hf_supervisor *supervisor,
                             struct hf_outer_waits *waits)
{
    const struct hf_run *run = supervisor->run;

    waits->count = 0;
    if (run->options->wait_ms == HF_FOREVER && !run->has_timer)
        hf_outer_waits_find(waits, getenv(HF_HELD_LOCKS_VARIABLE),
                            run->launcher);
}

/* Is this run inside of another one? */
static bool is_nested(void)
{
    const char *text = getenv(HF_HELD_LOCKS_VARIABLE);

    return text != NULL && text[0] != '\0';
}

void hf_supervisor_inherit_holdings(struct hf_supervisor *supervisor)
{
    const char *text = getenv(HF_HELD_LOCKS_VARIABLE);
    struct hf_held_lock self;

    if (!is_nested())
        return;
    find_outer_waits(supervisor, &supervisor->outer_waits);
    hf_supervisor_describe_held(supervisor, &self);
    hf_owner_grants_disinherit(supervisor->client);
    hf_held_locks_each(text, self.engine, inherit_waiting, supervisor);
    hf_held_locks_each(text, self.engine, inherit_others, supervisor);
    supervisor->outer_check_ms = OUTER_CHECK_FIRST_MS;
}

uint64_t hf_supervisor_check_outer_waits(struct hf_supervisor *supervisor,
                                         uint64_t now_ms)
{
    struct hf_outer_waits waits;

    if (!is_nested() || !supervisor->queued ||
        supervisor->run->options->wait_ms != HF_FOREVER)
        return HF_FOREVER;
    if (now_ms < supervisor->outer_check_at_ms)
        return supervisor->outer_check_at_ms;
    find_outer_waits(supervisor, &waits);
    if (waits.count != supervisor->outer_waits.count) {
        uint64_t interval_ms = supervisor->outer_check_ms;

        hf_supervisor_inherit_holdings(supervisor);
        supervisor->outer_check_ms = interval_ms;
        hf_grant_describe_again(supervisor->op);
    }
    supervisor->outer_check_at_ms = now_ms + supervisor->outer_check_ms;
    supervisor->outer_check_ms =
        2 * supervisor->outer_check_ms < OUTER_CHECK_MAX_MS
            ? 2 * supervisor->outer_check_ms
            : OUTER_CHECK_MAX_MS;
    return supervisor->outer_check_at_ms;
}

/* Set .failure: ${held} would block this run for ever. */
static void set_blocked(struct hf_supervisor *supervisor,
                        const struct hf_held_lock *held)
{
    if (held->kind == HF_KIND_SEMAPHORE)
        hf_error_set(&supervisor->failure, HF_EINVAL,
                     "%" PRIu32 " of the permits of '%.200s' are held by the "
                     "run that this one is part of (pid %d), so %" PRIu32
                     " of %" PRIu32 " would never be free; take all that is "
                     "needed in the outer run",
                     held->permits, held->name, (int)held->pid,
                     supervisor->run->options->permits,
                     supervisor->run->options->limit);
    else
        hf_error_set(&supervisor->failure, HF_EINVAL,
                     "'%.200s' is held already (%s) by the run that this one "
                     "is part of (pid %d), so the wait would never end; take "
                     "it once, in the outer run",
                     held->name, hf_format_kind(held->kind), (int)held->pid);
}

bool hf_supervisor_refuse_nested(struct hf_supervisor *supervisor)
{
    const char *text = getenv(HF_HELD_LOCKS_VARIABLE);
    struct hf_held_lock wanted, found;

    /* A try does not wait.  As with pthread_mutex_trylock() the result is that
     * the lock is held. */
    if (!text || supervisor->run->options->wait_ms == 0)
        return false;
    hf_supervisor_describe_held(supervisor, &wanted);
    for (size_t i = 0; i < supervisor->lock_count; i++) {
        (void)snprintf(wanted.name, sizeof wanted.name, "%s",
                       hf_lock_name(supervisor->locks[i]));
        if (hf_held_locks_block(text, &wanted, supervisor->run->options->limit,
                                &found)) {
            set_blocked(supervisor, &found);
            return true;
        }
    }
    return false;
}

bool hf_supervisor_waits_for_itself(const struct hf_supervisor *supervisor,
                                    const struct hf_wait *wait)
{
    const char *text = getenv(HF_HELD_LOCKS_VARIABLE);

    return text != NULL && supervisor->run->options->wait_ms != 0 &&
           supervisor->run->options->kind != HF_KIND_SEMAPHORE &&
           hf_held_locks_have_holder(text, wait->name, wait->holder,
                                     hf_clock_now_ms());
}

void hf_supervisor_set_waited_for_itself(struct hf_supervisor *supervisor)
{
    hf_error_set(
        &supervisor->failure, HF_EINVAL,
        "'%.200s' is held already by the run that this one is part of, "
        "so the wait would never end (a reader inside of a reader "
        "waits for the writers in between); take it once, in the "
        "outer run",
        supervisor->held_outside);
}
