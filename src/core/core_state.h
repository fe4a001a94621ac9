/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a core, which its files share: what it was configured with, the
 * session, the effects that wait to be carried out, and the lists and tables of
 * all that its user wants.  What is done with it is in core.h.
 */
#ifndef HF_CORE_CORE_STATE_H
#define HF_CORE_CORE_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "core/deferred_call.h"
#include "core/effect.h"
#include "core/engine.h"
#include "core/enqueue_order.h"
#include "core/random.h"
#include "core/removal.h"
#include "core/retry.h"
#include "core/schedule.h"
#include "core/session.h"
#include "core/shared_text.h"
#include "core/ticket_table.h"
#include "core/time_math.h"

struct hf_acquisition;
struct hf_cohort;
struct hf_operation;

struct hf_core_config {
    unsigned traits; /* HF_ENGINE_... of the engine in use */
    uint64_t connect_ms;
    struct hf_retry_policy retry; /* for requests that answer FAILED{RETRY} */
    struct hf_random random;      /* seeded */
    const char *engine_name; /* its URL without secrets, for error texts; NULL
                          or "": unknown.  Borrowed */
    enum hf_loss_at loss_at;
};

struct hf_core {
    struct hf_core_config config;
    struct hf_session session;
    struct hf_effect_queue effects;
    /* Every acquisition from its WANT until its FORGOTTEN, but for waiters of
     * a cohort: these are the cohort's, and its tickets are here. */
    struct hf_acquisition *first;
    struct hf_acquisition *last;
    struct hf_ticket_table tickets; /* theirs */
    uint64_t ticket_number;         /* of the last one */
    struct hf_removals removals;    /* those that wait for a ticket to appear */
    struct hf_deferred_calls deferred; /* owners that were notified */
    struct hf_cohort *first_cohort;    /* those that have waiters */
    struct hf_enqueue_order order;
    /* Every operation from its OPERATE until its FINISHED. */
    struct hf_operation *first_operation;
    struct hf_operation *last_operation;
    /* Those that are HELD, waiters too, in the order of the grants: what is
     * granted because of others stands behind these. */
    struct hf_acquisition *first_held;
    struct hf_acquisition *last_held;
    size_t held; /* how many */
    struct hf_schedule schedule;
    struct hf_shared_texts messages; /* of acquisitions */
    struct hf_shared_texts holders;
    struct hf_effect *unwatching; /* the FORGET that was taken last: its request
                                 is free when the core is called again */
    uint64_t now_ms;              /* of the last event */
    uint64_t visits; /* how many objects its walks came by: what steps
                         cost, for tests */
};

/* Every walk over objects whose number the user decides calls this once for
 * each of them.  The core never reads the count, so functions that only read
 * the core may count as well. */
static inline void hf_core_count_visit(const struct hf_core *core)
{
    ((struct hf_core *)core)->visits++;
}

/* When to repeat what is repeated until it works. */
static inline uint64_t hf_core_retry_at_ms(struct hf_core *core,
                                           struct hf_retry_state *state)
{
    struct hf_retry_policy policy = core->config.retry;
    uint64_t at_ms;

    policy.tries = HF_RETRY_UNLIMITED;
    policy.elapsed_ms = HF_FOREVER;
    if (core->session.state != HF_STATE_CONNECTED)
        return core->now_ms; /* the connection is waited for, not the clock */
    at_ms = hf_retry_next(&policy, state, core->now_ms, &core->config.random);
    return hf_max_ms(at_ms, hf_after_ms(core->now_ms, 1));
}

#endif
