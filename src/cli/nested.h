/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run or a hold inside the command of a run.
 *
 * It names the locks that are held around it in its own tickets, so that others
 * can detect a deadlock through it.  And it refuses to wait for one of them:
 * that wait could not end, because the outer run holds the lock until this
 * process has ended.
 */
#ifndef HF_CLI_NESTED_H
#define HF_CLI_NESTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <holdfast/lock.h>
#include <holdfast/status.h>

#include "cli/held_locks.h"
#include "cli/outer_waits.h"
#include "cli/run_options.h"

struct hf_nested {
    const struct hf_run_options *options;
    struct hf_client *client;
    /* The process that a run around this one may wait for: the launcher of a
     * run, or this process itself. */
    pid_t waited_for;
    /* The wait for the lock may end although nobody releases the lock: it has a
     * limit, a timer may end the process, or standard input may end. */
    bool ends_by_itself;
    struct hf_outer_waits outer_waits; /* what the tickets say */
    uint64_t check_at_ms;              /* when to look at the runs around */
    uint64_t check_ms;                 /* the pause after that look */
};

/* Fill what is the same in ${held} for all locks that ${options} ask ${client}
 * for: all but .words, .ticket and .name. */
void hf_nested_describe(struct hf_client *client,
                        const struct hf_run_options *options,
                        struct hf_held_lock *held);

/* Have the tickets of ${nested}->client name the locks that runs around this
 * process hold.  Before the acquire, whose owner must be known. */
void hf_nested_inherit(struct hf_nested *nested);

/* The acquire ${op} is under way and has a ticket.  If not the same runs wait
 * for this process as its ticket says, change the ticket.  Returns when to look
 * again. */
uint64_t hf_nested_check(struct hf_nested *nested, struct hf_op *op,
                         uint64_t now_ms);

/* Is one of the ${locks} that ${options} ask ${client} for held by a run around
 * this process, so that the wait would never end?  True with ${failure}. */
bool hf_nested_refuse(const struct hf_run_options *options,
                      struct hf_client *client, struct hf_lock *const *locks,
                      size_t lock_count, struct hf_error *failure);

/* Does the ticket at the head of the queue of ${wait} belong to a run around
 * this process?  Needed beside hf_nested_refuse(), because a reader inside a
 * reader waits only once a writer has come in between. */
bool hf_nested_waits_for_itself(const struct hf_run_options *options,
                                const struct hf_wait *wait);

/* Set ${failure} for a wait for ${name} that was cancelled because of that. */
void hf_nested_set_waited_for_itself(const char *name,
                                     struct hf_error *failure);

#endif
