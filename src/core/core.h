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
#include "core/core_state.h"
#include "core/operation.h"

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
