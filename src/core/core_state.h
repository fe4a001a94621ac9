/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a core, shared by its files: its configuration, the session, the
 * effects that wait to be carried out, and the lists and tables of everything
 * that its user has started. core.h has the functions.
 */
#ifndef HF_CORE_CORE_STATE_H
#define HF_CORE_CORE_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/random.h"
#include "base/retry.h"
#include "base/shared_text.h"
#include "base/time_math.h"
#include "core/effect.h"
#include "core/engine.h"
#include "core/enqueue_order.h"
#include "core/own_ticket.h"
#include "core/schedule.h"
#include "core/session.h"

struct hf_acquisition;
struct hf_cohort;
struct hf_operation;

/* Set by the client when a client is opened; read only afterwards, except
 * .random. */
struct hf_core_config {
    unsigned traits;     /* HF_ENGINE_... of the engine in use */
    uint64_t connect_ms; /* for the first connection; the time of a try */
    struct hf_retry_policy retry; /* of enqueues; other requests have its
                                     backoff, but are repeated without an end */
    struct hf_random random;      /* seeded by the client; for ids and jitter */
    const char
        *engine_name; /* its URL without secrets, for error texts; NULL or
                         "": unknown.  Borrowed */
    enum hf_loss_at loss_at;
};

struct hf_core {
    struct hf_core_config config;
    struct hf_session session;
    struct hf_effect_queue effects; /* not carried out yet */
    /* Every acquisition from its ACQUIRE until it is DONE, except the waiters
     * of cohorts: each cohort has its own; its tickets are here. */
    struct {
        struct hf_acquisition *first;
        struct hf_acquisition *last;
    } acquisitions;
    struct hf_ticket_table tickets;    /* of these acquisitions */
    uint64_t ticket_number;            /* of the last ticket */
    struct hf_removals removals;       /* that wait for a ticket to appear */
    struct hf_deferred_calls deferred; /* until the end of the step */
    struct {
        struct hf_cohort *first;
        struct hf_cohort *last;
    } cohorts; /* those that have a waiter or a ticket */
    struct hf_enqueue_order order;
    /* Every operation from its START_OPERATION until it is DONE. */
    struct {
        struct hf_operation *first;
        struct hf_operation *last;
    } operations;
    /* The acquisitions that are HELD, waiters too, in the order of the grants:
     * a grant that depends on another one is behind it. */
    struct {
        struct hf_acquisition *first;
        struct hf_acquisition *last;
    } held;
    struct hf_schedule schedule;
    struct hf_shared_texts messages; /* of acquisitions */
    uint64_t deadlocks_cut; /* looks for deadlocks that found more than they may
                               look at */
    struct hf_shared_texts
        holders; /* payloads of first tickets, and of tickets of cohorts */
    struct hf_effect *unwatching; /* the UNWATCH that was handed out last: its
                                     request can be used again when the core is
                                     called next */
    uint64_t now_ms;              /* CLOCK_BOOTTIME; of the last event */
    uint64_t visits; /* the number of objects that walks have visited, by which
                        tests measure the cost of a step */
};

/* Count one object of a walk.  Every walk over objects whose number the user
 * decides calls this for each of them, so that tests can bound the cost of a
 * step.  The core never reads the count, so functions that only read the core
 * may count as well. */
static inline void hf_core_count_visit(const struct hf_core *core)
{
    ((struct hf_core *)core)->visits++;
}

/* When to repeat a request that is repeated until it succeeds (CLOCK_BOOTTIME),
 * after ${tries} that have failed, to which this one is added.  Without a
 * connection that is at once: the connection is waited for, and not a time. */
static inline uint64_t hf_core_retry_at_ms(struct hf_core *core,
                                           uint32_t *tries)
{
    const struct hf_retry_policy *policy = &core->config.retry;
    uint64_t delay_ms;

    if (core->session.state != HF_STATE_CONNECTED)
        return core->now_ms;
    delay_ms = hf_retry_delay_ms(policy->base_ms, policy->cap_ms, *tries,
                                 &core->config.random);
    if (*tries < UINT32_MAX)
        ++*tries;
    return hf_after_ms(core->now_ms, hf_max_ms(delay_ms, 1));
}

#endif
