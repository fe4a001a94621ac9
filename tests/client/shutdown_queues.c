/* SPDX-License-Identifier: Apache-2.0 */
/* Scripts for the shutdown sweep: listing a queue, evicting a ticket, asking
 * a holder to release. */
#include "shutdown_script.h"

#include <stdio.h>

#define QUEUE_ENDINGS                                                          \
    (END(END_CLOSE) | END(END_RELEASE) | END(END_FREE) | END(END_TIMEOUT) |    \
     END(END_LOSS))

/* One holds it and one waits. */
static void with_waiter(struct script_run *run)
{
    run->locks[0] = script_lock(run, "a", HF_KIND_MUTEX, 1, 1);
    CASE_CHECK(run->test_case,
               hf_lock_open(run->test_case->fixture.client, run->queues[0].name,
                            NULL, &run->rival) == HF_OK);
    (void)operation_finish(run, &op_acquire, RIVAL, NULL);
    run->operations[0].releases_on_revoke = true;
    (void)operation_begin(run, &op_acquire, RIVAL, NULL);
    while (case_step(run->test_case))
        continue;
}

/* A semaphore has two queues. */
static void semaphore_held(struct script_run *run)
{
    run->locks[0] = script_lock(run, "a", HF_KIND_SEMAPHORE, 1, 1);
    (void)operation_finish(run, &op_acquire, 0, NULL);
}

static void with_known_ticket(struct script_run *run)
{
    struct shutdown_operation *operation;

    with_waiter(run);
    operation = operation_finish(run, &op_holders, 0, NULL);
    CASE_CHECK(run->test_case, hf_tickets_count(operation->tickets) == 1);
    (void)snprintf(run->id, sizeof(run->id), "%s",
                   hf_tickets_at(operation->tickets, 0)->id);
}

static void holder_releases(struct script_run *run)
{
    (void)script_rival_releases(run);
}

#define BEGINS(name)                                                           \
    static void name(struct script_run *run)                                   \
    {                                                                          \
        script_begin(run, &op_##name, 0, NULL);                                \
    }
BEGINS(tickets)
BEGINS(holders)
BEGINS(waiters)
BEGINS(evict)
BEGINS(request_release)

#define LISTS(called, made, begun)                                             \
    {                                                                          \
        .name = called, .prepare = made, .begin = begun,                       \
        .release = holder_releases, .endings = QUEUE_ENDINGS                   \
    }
#define ASKS(called, made, begun)                                              \
    {                                                                          \
        .name = called, .prepare = made, .begin = begun,                       \
        .release = holder_releases, .endings = QUEUE_ENDINGS,                  \
        .other_status = {HF_EGONE},                                            \
    }

const struct shutdown_script scripts_queues[] = {
    LISTS("tickets", with_waiter, tickets),
    LISTS("tickets-semaphore", semaphore_held, tickets),
    LISTS("holders", with_waiter, holders),
    LISTS("waiters", with_waiter, waiters),
    ASKS("evict", with_known_ticket, evict),
    ASKS("request-release", with_waiter, request_release),
};
const int scripts_queues_count =
    sizeof(scripts_queues) / sizeof(scripts_queues[0]);
