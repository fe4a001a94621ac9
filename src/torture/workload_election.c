/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workload that campaigns to become the leader, leads for a while and
 * resigns.
 */
#include <holdfast/election.h>

#include "base/container_of.h"
#include "base/memory.h"
#include "command/clock.h"
#include "torture/workload.h"

struct election_workload {
    struct hf_workload workload;
    struct hf_election *election;
    bool gave_up; /* it resigns without having led */
};

/* Return the struct that begins with ${workload}. */
static struct election_workload *election_of(struct hf_workload *workload)
{
    return container_of(workload, struct election_workload, workload);
}

/* ------------------------------------------------------------- callbacks -- */

/* A campaign has begun.  One in ten is given up after a while. */
static void begin_campaign(struct hf_workload *workload)
{
    hf_workload_begin_wait(workload);
    hf_workload_record_want(workload, HF_KIND_ELECTION, 1, 1);
    if (hf_workload_one_in(workload, 10))
        workload->until_ms =
            hf_clock_now_ms() + hf_workload_wait_limit_ms(workload);
}

/* Return until when the leadership that was reported is certain; 0 if it is
 * lost.  The election may already have a new leadership, which has another
 * token. */
static uint64_t safe_until_us(struct hf_workload *workload)
{
    const struct hf_election *election = election_of(workload)->election;
    uint64_t safe_until_ms = hf_election_safe_until_ms(election);

    if (hf_election_token(election) != workload->locks[0].token)
        return 0;
    return hf_workload_safe_until_us(safe_until_ms);
}

/* Callbacks of the election.  hf_client_dispatch() calls them. */
static void on_elected(void *arg, struct hf_election *election, uint64_t token)
{
    struct hf_workload *workload = arg;

    (void)election;
    workload->locks[0].token = token;
    hf_workload_begin_hold(workload);
    hf_workload_record_safe_until(workload, HF_HISTORY_GRANT,
                                  safe_until_us(workload));
}

/* The leadership was lost.  The election campaigns again by itself. */
static void on_deposed(void *arg, struct hf_election *election, uint64_t token)
{
    struct hf_workload *workload = arg;

    (void)election;
    (void)token;
    hf_workload_end_hold(workload);
    hf_workload_record(workload, HF_HISTORY_LOST);
    begin_campaign(workload);
}

static void on_ended(void *arg, struct hf_election *election,
                     const struct hf_error *why)
{
    (void)election;
    hf_workload_give_up(arg, why->status, why->text);
}

/* The resignation has ended.  This worker need not have led. */
static void on_resigned(void *arg, const struct hf_result *result)
{
    struct hf_workload *workload = arg;

    (void)result;
    if (election_of(workload)->gave_up)
        hf_workload_record(workload, HF_HISTORY_GAVEUP);
    hf_workload_idle(workload);
}

/* ------------------------------------------------------------ operations -- */

/* See struct hf_workload_ops. */
static hf_status open_workload(struct hf_workload *workload,
                               struct hf_error *error)
{
    struct hf_election_opts opts = HF_ELECTION_OPTS_INIT;
    hf_status status;

    workload->locks[0].wanted = true;
    opts.on_elected = (struct hf_on_election){on_elected, workload, NULL};
    opts.on_deposed = (struct hf_on_election){on_deposed, workload, NULL};
    opts.on_ended = (struct hf_on_ended){on_ended, workload, NULL};
    status = hf_election_open(workload->worker->client, workload->locks[0].name,
                              &opts, &election_of(workload)->election);
    if (status != HF_OK)
        *error = *hf_last_error();
    return status;
}

static void close_workload(struct hf_workload *workload)
{
    hf_election_free(election_of(workload)->election);
}

/* Start to campaign. */
static void campaign(struct hf_workload *workload)
{
    hf_status status;

    begin_campaign(workload);
    status = hf_election_campaign_start(election_of(workload)->election);
    if (status != HF_OK)
        hf_workload_give_up(workload, status, hf_status_text(status));
}

/* Stop leading or campaigning. */
static void resign(struct hf_workload *workload)
{
    struct hf_done done = {on_resigned, workload, NULL};

    election_of(workload)->gave_up = workload->state == HF_WORKLOAD_WAITING;
    hf_workload_end_hold(workload);
    if (!election_of(workload)->gave_up)
        hf_workload_record(workload, HF_HISTORY_RELEASE);
    if (hf_election_resign_start(election_of(workload)->election, done) !=
        HF_OK)
        hf_workload_idle(workload); /* the client was closed, which ends
                                       everything */
}

/* See struct hf_workload_ops. */
static void advance(struct hf_workload *workload)
{
    bool due = hf_clock_now_ms() >= workload->until_ms || workload->ending;

    if (workload->state == HF_WORKLOAD_IDLE && due && !workload->ending)
        campaign(workload);
    else if (workload->state == HF_WORKLOAD_WAITING && due)
        resign(workload);
    else if (workload->state == HF_WORKLOAD_HOLDING) {
        hf_workload_record_renewal(workload, safe_until_us(workload));
        if (!due)
            return;
        hf_workload_write_fenced(workload);
        resign(workload);
    }
}

struct hf_workload *hf_workload_new_election(void)
{
    static const struct hf_workload_ops ops = {open_workload, advance,
                                               close_workload};
    struct election_workload *self = hf_alloc(sizeof *self);

    if (self == NULL)
        return NULL;
    *self = (struct election_workload){.workload.ops = &ops, .workload.fd = -1};
    return &self->workload;
}
