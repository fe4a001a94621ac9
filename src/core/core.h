/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The core of one client: a pure machine from events to effects.  It makes no
 * system call, has no thread, no lock and no clock, and it allocates before it
 * asks and cannot fail after.
 *
 * A ticket of ours is allocated before its ENQUEUE is asked for, with what may
 * be needed to take it out, so a release, a loss and the end of a wait never
 * need memory.  Without memory the core asks for no ticket and for no watch, as
 * if the engine had answered that it has none, and tries again later.  Texts
 * are left out.
 *
 *     hf_core_step(core, &event);
 *     while ((effect = hf_core_next_effect(core)) != NULL)
 *         carry it out, which may step again
 *     arm a timer for hf_core_wake_at_ms(core)
 *
 * Effects must be carried out in the order they come.  LOST precedes everything
 * else that the same event causes.  The end of an acquisition without a grant
 * comes after the answer that its ticket is out of the queue; after
 * HF_REMOVAL_WAIT_MS it comes without that answer, and says so.
 */
#ifndef HF_CORE_CORE_H
#define HF_CORE_CORE_H

#include "core/acquisition.h"
#include "core/cohort.h"
#include "core/effect.h"
#include "core/engine.h"
#include "core/enqueue_order.h"
#include "core/instant.h"
#include "core/later.h"
#include "core/operation.h"
#include "core/random.h"
#include "core/removal.h"
#include "core/retry.h"
#include "core/schedule.h"
#include "core/session.h"
#include "core/text.h"
#include "core/ticket_table.h"

struct hf_core_config {
    unsigned traits; /* HF_ENGINE_... of the engine in use */
    uint64_t connect_ms;
    struct hf_retry_policy retry; /* for requests that answer FAILED{RETRY} */
    struct hf_random random;      /* seeded */
    const char *place; /* where the engine is, for error texts; NULL or "":
                          unknown.  Borrowed */
    enum hf_loss_at loss_at;
};

struct hf_core {
    struct hf_core_config config;
    struct hf_session session;
    struct hf_effect_queue effects;
    /* Every acquisition from its WANT until its FORGOTTEN, but for members of
     * a cohort: these are the cohort's, and its tickets are here. */
    struct hf_acquisition *first;
    struct hf_acquisition *last;
    struct hf_ticket_table tickets; /* theirs */
    uint64_t ticket_number;         /* of the last one */
    struct hf_removals removals;    /* those that wait for a ticket to appear */
    struct hf_later_queue later;    /* owners that were told something */
    struct hf_cohort *first_cohort; /* those that have members */
    struct hf_enqueue_order order;
    /* Every operation from its INQUIRE until its FINISHED. */
    struct hf_operation *first_inquiry;
    struct hf_operation *last_inquiry;
    /* Those that are HELD, members too, in the order of the grants: what is
     * granted because of others stands behind these. */
    struct hf_acquisition *first_held;
    struct hf_acquisition *last_held;
    size_t held; /* how many */
    struct hf_schedule schedule;
    struct hf_texts messages; /* of acquisitions */
    struct hf_texts holders;
    struct hf_effect *forget; /* the FORGET that was taken last: its request
                                 is free when the core is called again */
    uint64_t now_ms;          /* of the last event */
    uint64_t visited;         /* how many objects its walks came by: what steps
                                 cost, for tests */
};

/* Each walk over objects whose number is the user's says so for each of them.
 * A count about the core and nothing that it goes by: so readers count too. */
static inline void hf_core_visit(const struct hf_core *core)
{
    ((struct hf_core *)core)->visited++;
}

/* When to repeat what is repeated until it works. */
static inline uint64_t hf_core_again_at_ms(struct hf_core *core,
                                           struct hf_retry_state *state)
{
    struct hf_retry_policy policy = core->config.retry;
    uint64_t at_ms;

    policy.tries = HF_RETRY_UNLIMITED;
    policy.elapsed_ms = HF_FOREVER;
    if (core->session.state != HF_STATE_CONNECTED)
        return core->now_ms; /* the connection is waited for, not the clock */
    at_ms = hf_retry_next(&policy, state, core->now_ms, &core->config.random);
    return hf_later_ms(at_ms, hf_after_ms(core->now_ms, 1));
}

/* ${core} must not be moved from then on. */
void hf_core_init(struct hf_core *core, const struct hf_core_config *config,
                  uint64_t now_ms);

/* Take in one event.  Not from inside itself. */
void hf_core_step(struct hf_core *core, const struct hf_event *event);

/* The next effect to carry out, or NULL. */
struct hf_effect *hf_core_next_effect(struct hf_core *core);

/* The instant at which a TICK is wanted, HF_FOREVER if none; may be past. */
uint64_t hf_core_wake_at_ms(const struct hf_core *core);

/* Safe-until of the grant of ${a}, which was GRANTED; 0 once that has ended.
 * Any thread; async-signal-safe. */
static inline uint64_t hf_core_safe_until_ms(const struct hf_core *core,
                                             const struct hf_acquisition *a)
{
    return hf_safe_until_read(&core->session.published, &a->user.valid);
}

/* Check what must always hold; asserts.  After every step in tests. */
void hf_core_check(const struct hf_core *core);

#endif
