/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resigning from an election: started, and the same waited for.  A resignation
 * is answered when nothing of the candidacy can be in the queue any more and no
 * callback of the election runs.
 */
#include "base/error.h"
#include "client/candidacy.h"
#include "client/election.h"
#include "client/election_events.h"
#include "client/election_wait.h"
#include "operation/done.h"

/* The .run of its callback. */
static void run_resign_done(void *arg)
{
    struct hf_election *e = arg;
    struct hf_client *client = e->client;
    struct hf_done done = e->done;
    struct hf_error outcome = e->outcome;
    struct hf_result result = {.status = outcome.status, .text = outcome.text};

    e->done = (struct hf_done){NULL, NULL, NULL};
    hf_done_call(&client->monitor, &done, &result);
    hf_election_dereference(e);
}

/* Begin a resignation for ${waiter} or ${done}.  With the lock. */
static hf_status begin_resign(struct hf_election *e, struct hf_waiter *waiter,
                              struct hf_done done, const char *call)
{
    const struct hf_error idle = {.status = HF_OK};
    struct hf_error error;

    if (e->resigning || e->done_callback.queued) {
        hf_error_set(&error, HF_ESTATE,
                     "it is resigning already; wait for the end of that");
        return hf_lock_fail(e->lock, call, &error);
    }
    e->resigning = true;
    e->has_left_queue = false;
    e->waiter = waiter;
    e->done = done;
    e->done_callback = (struct hf_callback){.run = run_resign_done, .arg = e};
    e->idle_reason = idle;
    hf_election_discard_events(e);
    hf_election_waits_cancel(e, "it resigned");
    if (e->state == HF_ELECTION_IDLE)
        hf_candidacy_left(e, &idle);
    else
        hf_candidacy_leave(e);
    return HF_OK;
}

/* If this thread cannot wait, the resignation goes on all the same. */
hf_status hf_election_resign(struct hf_election *e)
{
    static const char call[] = "hf_election_resign";
    const struct hf_done no_done = {NULL, NULL, NULL};
    struct hf_client *client = e->client;
    struct hf_waiter waiter = {.done = false};
    struct hf_error error;
    hf_status status;

    if ((status = hf_lock_may_block(e->lock, call, &error)) != HF_OK)
        return status;
    if ((status = hf_monitor_enter(&client->monitor)) != HF_OK)
        return status;
    status = begin_resign(e, &waiter, no_done, call);
    if (status == HF_OK) {
        status = hf_monitor_wait(&client->monitor, &waiter, &error);
        if (waiter.done)
            error = e->outcome;
        else
            e->waiter = NULL; /* it goes on, and its end is not reported */
        if (status != HF_OK)
            hf_lock_fail(e->lock, call, &error);
    }
    hf_monitor_leave(&client->monitor);
    return status;
}

/* Is there a thread that can call ${done}, if it has a function? */
static hf_status check_done(struct hf_election *e, struct hf_done done,
                            const char *call)
{
    hf_status status = HF_OK;
    struct hf_error error;

    if (done.fn != NULL && e->client->monitor.ended)
        status = hf_error_set(&error, HF_ECLOSED, "the client was closed");
    else if (done.fn != NULL)
        status = hf_monitor_ensure_poller(&e->client->monitor, &error);
    if (status != HF_OK)
        hf_lock_fail(e->lock, call, &error);
    return status;
}

/* After the end of the client ${done} is only dropped, because there is nothing
 * to resign from. */
hf_status hf_election_resign_start(struct hf_election *e, struct hf_done done)
{
    static const char call[] = "hf_election_resign_start";
    struct hf_client *client = e->client;
    hf_status status = hf_monitor_enter(&client->monitor);
    bool calls_nobody = false;

    if (status == HF_OK) {
        /* After the end of the client there is nothing to resign from. */
        calls_nobody = client->monitor.ended;
        status = check_done(e, done, call);
        if (status == HF_OK && !calls_nobody)
            status = begin_resign(e, NULL, done, call);
        hf_monitor_leave(&client->monitor);
    }
    if (status != HF_OK || calls_nobody)
        hf_done_drop(&done);
    return status;
}
