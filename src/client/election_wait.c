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
#include <stddef.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/time_math.h"
#include "operation/done.h"

/* -------------------------------------------------------------- endings -- */

/* Drop a reference of a wait that was started. */
static void dereference_wait(struct hf_election_wait *wait)
{
    struct hf_client *client = wait->client;

    assert(wait->references > 0);
    if (--wait->references > 0)
        return;
    hf_free(wait);
    hf_monitor_dereference(&client->monitor);
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

/* End ${wait} with ${why}: answer its caller, or queue its callback. */
static void end_wait(struct hf_election_wait *wait, const struct hf_error *why)
{
    assert(!wait->ended);
    remove_wait(wait);
    wait->ended = true;
    wait->outcome = *why;
    if (wait->waiter != NULL) {
        hf_waiter_answer(&wait->client->monitor, wait->waiter, why->status);
        return;
    }
    wait->client->pending--;
    if (wait->done.fn != NULL || wait->done.drop != NULL)
        hf_monitor_queue(&wait->client->monitor, &wait->done_callback);
    else
        dereference_wait(wait);
}

/* The next wait is read before, because the end of a wait may free it. */
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

/* Is another candidate ahead?  While the session is connected, the last list is
 * as good as a new answer, because a change would have been reported. */
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

/* The wait that has the deadline ${node}. */
static struct hf_election_wait *of_deadline(struct hf_heap_node *node)
{
    size_t offset = offsetof(struct hf_election_wait, deadline);

    return (struct hf_election_wait *)(void *)((char *)node - offset);
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
        struct hf_election_wait *wait = of_deadline(first);

        hf_acquisition_explain_timeout(
            &client->core, &wait->election->grant->acquisition,
            now_ms - wait->started_at_ms, wait->only_try, &why);
        end_wait(wait, &why);
    }
}

uint64_t hf_election_waits_wake_at_ms(const struct hf_client *client)
{
    const struct hf_heap_node *first = client->election_deadlines.first;

    return first != NULL ? first->key : HF_FOREVER;
}

/* ---------------------------------------------------------------- begin -- */

/* Until when a wait lasts.  One that only tries waits for one answer of the
 * engine. */
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
    if (e->state == HF_ELECTION_LEAVING || e->resigning)
        return hf_error_set(error, HF_ESTATE,
                            "it is resigning; wait for the end of that");
    if (e->idle_reason.status != HF_OK) {
        *error = e->idle_reason;
        return error->status;
    }
    if (e->client->monitor.closing)
        return hf_monitor_explain_closed(&e->client->monitor, "client", error);
    return hf_error_set(error, HF_ESTATE,
                        "it is not a candidate; call "
                        "hf_election_campaign_start() first");
}

/* Begin ${wait}.  It may end at once. */
static void begin_wait(struct hf_election_wait *wait, struct hf_election *e,
                       uint64_t wait_ms)
{
    const struct hf_error elected = {.status = HF_OK};
    struct hf_client *client = e->client;
    uint64_t at_ms;

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
    if (wait->waiter == NULL)
        client->pending++;
    if (e->state == HF_ELECTION_LEADING)
        end_wait(wait, &elected);
    else
        hf_election_waits_end_tries(e);
}

/* ----------------------------------------------------------- its handle -- */

static struct hf_election_wait *of_op(struct hf_op *op)
{
    size_t offset = offsetof(struct hf_election_wait, op);

    return (struct hf_election_wait *)(void *)((char *)op - offset);
}

static void cancel_op(struct hf_op *op)
{
    struct hf_election_wait *wait = of_op(op);
    struct hf_error why;

    hf_error_set(&why, HF_ECANCELLED, "the wait was cancelled");
    if (!wait->ended)
        end_wait(wait, &why);
}

static void dereference_op(struct hf_op *op)
{
    dereference_wait(of_op(op));
}

static const struct hf_op_ops op_ops = {
    .cancel = cancel_op,
    .dereference = dereference_op,
};

/* ---------------------------------------------------------------- calls -- */

/* Wait for the end of ${wait}, which blocks. */
static hf_status await_end(struct hf_election_wait *wait,
                           struct hf_error *error)
{
    hf_status status =
        hf_monitor_wait(&wait->client->monitor, wait->waiter, error);

    if (wait->waiter->done)
        *error = wait->outcome;
    else
        remove_wait(wait);
    return status;
}

/* The wait is on the stack, so it must be out of every list when this
 * returns. */
hf_status hf_election_wait(struct hf_election *e, uint64_t wait_ms)
{
    struct hf_client *client = e->client;
    struct hf_waiter waiter = {.done = false};
    struct hf_election_wait wait = {.waiter = &waiter};
    struct hf_error error;
    hf_status status;

    if ((status = hf_lock_may_block(e->lock, "hf_election_wait", &error)) !=
        HF_OK)
        return status;
    if ((status = hf_monitor_enter(&client->monitor)) != HF_OK)
        return status;
    hf_election_reference(e); /* the election may be freed meanwhile */
    if ((status = check_can_wait(e, &error)) == HF_OK) {
        begin_wait(&wait, e, wait_ms);
        status = await_end(&wait, &error);
    }
    if (status != HF_OK)
        hf_lock_fail(e->lock, "hf_election_wait", &error);
    hf_election_dereference(e);
    hf_monitor_leave(&client->monitor);
    return status;
}

/* The .run of the callback of a wait that was started. */
static void run_done(void *arg)
{
    struct hf_election_wait *wait = arg;
    struct hf_client *client = wait->client;
    struct hf_done done = wait->done;
    struct hf_result result = {.status = wait->outcome.status,
                               .text = wait->outcome.text};

    hf_done_call(&client->monitor, &done, &result);
    dereference_wait(wait);
}

/* Allocate a wait for ${done} and begin it.  With the lock. */
static hf_status start_wait(struct hf_election *e, uint64_t wait_ms,
                            struct hf_done done, struct hf_op **op,
                            struct hf_error *error)
{
    struct hf_client *client = e->client;
    struct hf_election_wait *wait;
    hf_status status;

    if ((status = check_can_wait(e, error)) != HF_OK)
        return status;
    if (done.fn != NULL &&
        (status = hf_monitor_ensure_poller(&client->monitor, error)) != HF_OK)
        return status;
    if ((wait = hf_alloc(sizeof(*wait))) == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    hf_monitor_reference(&client->monitor);
    wait->references = 1; /* the callback's */
    wait->op = (struct hf_op){&op_ops, &client->monitor};
    wait->done = done;
    wait->done_callback = (struct hf_callback){.run = run_done, .arg = wait};
    if (op != NULL) {
        wait->references++;
        *op = &wait->op;
    }
    begin_wait(wait, e, wait_ms);
    return HF_OK;
}

/* On failure ${done} is only dropped. */
hf_status hf_election_wait_start(struct hf_election *e, uint64_t wait_ms,
                                 struct hf_done done, struct hf_op **op)
{
    struct hf_client *client = e->client;
    hf_status status = hf_monitor_enter(&client->monitor);
    struct hf_error error;

    if (op != NULL)
        *op = NULL;
    if (status == HF_OK) {
        status = start_wait(e, wait_ms, done, op, &error);
        if (status != HF_OK)
            hf_lock_fail(e->lock, "hf_election_wait_start", &error);
        hf_monitor_leave(&client->monitor);
    }
    if (status != HF_OK)
        hf_done_drop(&done);
    return status;
}
