/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting until a candidate leads: the list of waits, their deadlines, and the
 * two public calls.
 *
 * All waits of a client are in one list, which an election walks when it ends
 * its own.  Their deadlines are in a heap, because each step of the client
 * reads the first of them.
 */
#include "client/election.h"

#include <assert.h>

#include "base/container_of.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/time_math.h"

/* -------------------------------------------------------------- endings -- */

static struct hf_election_wait *of_user_op(struct hf_user_op *user_op)
{
    return container_of(user_op, struct hf_election_wait, user_op);
}

/* Take ${wait} out of the client's list and heap. */
static void remove_wait(struct hf_election_wait *wait)
{
    struct hf_election_wait **link = &wait->client->election_waits;

    while (*link != wait)
        link = &(*link)->next;
    *link = wait->next;
    hf_heap_remove(&wait->deadline);
}

/* End ${wait} with ${why}: answer its caller, or queue its callback.  HF_OK: it
 * leads, and the program knows. */
static void end_wait(struct hf_election_wait *wait, const struct hf_error *why)
{
    assert(!wait->ended);
    remove_wait(wait);
    wait->ended = true;
    wait->outcome = *why;
    if (why->status == HF_OK)
        atomic_store(&wait->election->token_seen, true);
    if (wait->user_op.completion.waiter == NULL)
        wait->client->pending--;
    hf_user_op_end(&wait->user_op, why->status);
}

/* .next is read first, because the end of a wait may free the wait. */
void hf_election_waits_end(struct hf_election *e, const struct hf_error *why)
{
    struct hf_election_wait *wait, *next;

    for (wait = e->client->election_waits; wait != NULL; wait = next) {
        next = wait->next;
        if (wait->election == e)
            end_wait(wait, why);
    }
}

/* ${reason} becomes the text of the end. */
void hf_election_waits_cancel(struct hf_election *e, const char *reason)
{
    struct hf_error why;

    hf_error_set(&why, HF_ECANCELLED, "%s", reason);
    hf_election_waits_end(e, &why);
}

/* Is another candidate known to be ahead?  While the session is connected, the
 * last list is as good as a new answer, because a change would have been
 * reported. */
static bool is_behind_another(const struct hf_election *e)
{
    const struct hf_acquisition *a = &e->grant->acquisition;

    return e->client->core.session.state == HF_STATE_CONNECTED &&
           hf_acquisition_is_behind(a);
}

void hf_election_waits_end_tries(struct hf_election *e)
{
    struct hf_election_wait *wait, *next;
    struct hf_error why;

    if (e->state != HF_ELECTION_CAMPAIGNING || !is_behind_another(e))
        return;
    hf_acquisition_explain_busy(&e->grant->acquisition, &why);
    for (wait = e->client->election_waits; wait != NULL; wait = next) {
        next = wait->next;
        if (wait->election == e && wait->only_try)
            end_wait(wait, &why);
    }
}

/* The reason is that of the election's acquisition: what it waits for, and
 * since when. */
void hf_election_waits_expire(struct hf_client *client)
{
    struct hf_heap_node *first;
    uint64_t now_ms = hf_now_ms();
    struct hf_error why;

    while ((first = client->election_deadlines.first) != NULL &&
           first->key <= now_ms) {
        struct hf_election_wait *wait =
            container_of(first, struct hf_election_wait, deadline);

        hf_acquisition_explain_timeout(
            &client->core, &wait->election->grant->acquisition,
            now_ms - wait->started_at_ms, wait->only_try, &why);
        end_wait(wait, &why);
    }
}

/* ---------------------------------------------------------- its user_op -- */

/* The .cancel of a wait. */
static void cancel_wait(struct hf_user_op *user_op)
{
    struct hf_election_wait *wait = of_user_op(user_op);
    struct hf_error why;

    hf_error_set(&why, HF_ECANCELLED, "the wait was cancelled");
    if (!wait->ended)
        end_wait(wait, &why);
}

/* The .take of a wait. */
static void take_wait(struct hf_user_op *user_op, struct hf_result *result,
                      struct hf_error *why)
{
    (void)result;
    *why = of_user_op(user_op)->outcome;
}

/* The .destroy of a wait that was started.  A wait that blocks is on the stack,
 * and its caller keeps the last reference. */
static void destroy_wait(struct hf_user_op *user_op)
{
    struct hf_election_wait *wait = of_user_op(user_op);
    struct hf_client *client = wait->client;

    hf_free(wait);
    hf_monitor_dereference(&client->monitor);
}

static const struct hf_user_op_ops op_ops = {
    .cancel = cancel_wait,
    .take = take_wait,
    .destroy = destroy_wait,
};

/* ---------------------------------------------------------------- begin -- */

/* Until when a wait lasts, by hf_now_ms().  One that only tries lasts until the
 * engine has answered, but no longer than a connection may take. */
static uint64_t deadline_at_ms(const struct hf_client *client, uint64_t now_ms,
                               uint64_t wait_ms)
{
    if (wait_ms == 0)
        wait_ms = client->core.config.connect_ms;
    return hf_deadline_ms(now_ms, wait_ms);
}

/* Can the election be waited for?  It can while it campaigns or leads. */
static hf_status check_can_wait(const struct hf_election *e,
                                struct hf_error *error)
{
    if (e->state == HF_ELECTION_CAMPAIGNING || e->state == HF_ELECTION_LEADING)
        return HF_OK;
    if (e->state == HF_ELECTION_LEAVING ||
        e->resignation != HF_RESIGNATION_NONE)
        return hf_error_set(error, HF_ESTATE,
                            "it is resigning; wait for the end of that");
    if (e->idle_reason.status != HF_OK) {
        *error = e->idle_reason;
        return error->status;
    }
    if (e->client->monitor.state != HF_MONITOR_OPEN)
        return hf_monitor_explain_closed(&e->client->monitor, "client", error);
    return hf_error_set(error, HF_ESTATE,
                        "it is not a candidate; call "
                        "hf_election_campaign_start() first");
}

/* Begin ${wait} for ${completion}, with one reference, the caller's.  It may
 * end before this returns. */
static void begin_wait(struct hf_election_wait *wait, struct hf_election *e,
                       uint64_t wait_ms, const struct hf_completion *completion)
{
    const struct hf_error elected = {.status = HF_OK};
    struct hf_client *client = e->client;
    uint64_t at_ms;

    hf_user_op_init(&wait->user_op, &op_ops, &client->monitor, 1);
    hf_user_op_begin(&wait->user_op, completion);
    wait->client = client;
    wait->election = e;
    wait->only_try = wait_ms == 0;
    wait->started_at_ms = hf_now_ms();
    at_ms = deadline_at_ms(client, wait->started_at_ms, wait_ms);
    if (at_ms != HF_FOREVER)
        hf_heap_add(&client->election_deadlines, &wait->deadline, at_ms,
                    wait->started_at_ms);
    wait->next = client->election_waits;
    client->election_waits = wait;
    if (completion->waiter == NULL)
        client->pending++;
    if (e->state == HF_ELECTION_LEADING)
        end_wait(wait, &elected);
    else
        hf_election_waits_end_tries(e);
}

/* ---------------------------------------------------------------- calls -- */

/* If this thread cannot wait, take the wait out of the list and the heap,
 * because it is on the stack. */
static hf_status wait_here(struct hf_election *e, uint64_t wait_ms,
                           struct hf_error *error)
{
    struct hf_waiter waiter = {.done = false};
    const struct hf_completion completion = {.waiter = &waiter};
    struct hf_election_wait wait = {.ended = false};
    struct hf_result result;
    hf_status status;

    begin_wait(&wait, e, wait_ms, &completion);
    status = hf_user_op_await(&wait.user_op, &waiter, &result, error);
    if (!waiter.done)
        remove_wait(&wait);
    return status;
}

hf_status hf_election_wait(struct hf_election *e, uint64_t wait_ms)
{
    static const char api_name[] = "hf_election_wait";
    struct hf_client *client = e->client;
    struct hf_error error;
    hf_status status;

    if (hf_monitor_may_block(&client->monitor, &error) != HF_OK)
        return hf_fail(api_name, &error);
    if ((status = hf_monitor_enter(&client->monitor, api_name)) != HF_OK)
        return status;
    hf_election_reference(e); /* the election may be freed meanwhile */
    if ((status = check_can_wait(e, &error)) == HF_OK)
        status = wait_here(e, wait_ms, &error);
    if (status != HF_OK)
        (void)hf_fail(api_name, &error);
    hf_election_dereference(e);
    hf_monitor_leave(&client->monitor);
    return status;
}

/* A call of the user that starts a wait. */
struct wait_call {
    struct hf_user_call call;
    struct hf_election *election;
    uint64_t wait_ms;
};

static struct hf_user_op *begin_call(struct hf_user_call *call,
                                     const struct hf_completion *completion,
                                     struct hf_error *error)
{
    const struct wait_call *wait_call =
        container_of(call, struct wait_call, call);
    struct hf_election_wait *wait;

    if (check_can_wait(wait_call->election, error) != HF_OK)
        return NULL;
    if (completion->done.fn != NULL &&
        hf_monitor_ensure_poller(call->monitor, error) != HF_OK)
        return NULL;
    if ((wait = hf_alloc(sizeof(*wait))) == NULL) {
        hf_error_set(error, HF_ENOMEM, "out of memory");
        return NULL;
    }
    hf_monitor_reference(call->monitor);
    begin_wait(wait, wait_call->election, wait_call->wait_ms, completion);
    return &wait->user_op;
}

hf_status hf_election_wait_start(struct hf_election *e, uint64_t wait_ms,
                                 struct hf_done done, struct hf_op **op)
{
    struct wait_call call = {
        .call = {.api_name = "hf_election_wait_start",
                 .monitor = &e->client->monitor,
                 .begin = begin_call},
        .election = e,
        .wait_ms = wait_ms,
    };

    return hf_user_op_start(&call.call, done, op);
}
