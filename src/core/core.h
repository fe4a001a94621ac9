/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The core of one client: a pure state machine from events to effects (sans
 * I/O).  It makes no system call and has no thread, no lock and no clock.  It
 * allocates before it requests something, and cannot fail after that.
 *
 * A ticket of ours is allocated before its ENQUEUE is requested, together with
 * all that its removal may need, so a release, a loss and the end of a wait
 * never need memory.  Without memory for a ticket or a watch the core requests
 * none and retries later, as if the engine had answered that it has no room.  A
 * text for which there is no memory is left out.
 *
 *     hf_core_step(core, &event);
 *     while ((effect = hf_core_next_effect(core)) != NULL)
 *         carry it out, which may step again
 *     arm a timer for hf_core_wake_at_ms(core)
 *
 * Effects must be carried out in the order in which they come.  LOST precedes
 * every other report to the user that the same event causes, and every request
 * that follows from the loss.  The end of an acquisition without a grant comes
 * after the answer that its ticket is removed; after HF_REMOVAL_WAIT_MS, or
 * when the client closes, it comes without that answer.  Unless the client
 * closes, it then says so.
 *
 * All functions but hf_core_safe_until_ms() need the client's lock.
 */
#ifndef HF_CORE_CORE_H
#define HF_CORE_CORE_H

#include "core/acquisition.h"
#include "core/core_state.h"
#include "core/operation.h"

/* Make ${core} ready, at ${now_ms} on CLOCK_BOOTTIME.  ${config} is copied.
 * ${core} must not be moved from then on. */
void hf_core_init(struct hf_core *core, const struct hf_core_config *config,
                  uint64_t now_ms);

/* Take in one event.  Must not be called from inside itself. */
void hf_core_step(struct hf_core *core, const struct hf_event *event);

/* Return the next effect to carry out, or NULL.  It is valid until the core is
 * called again. */
struct hf_effect *hf_core_next_effect(struct hf_core *core);

/* When a TICK is wanted (CLOCK_BOOTTIME), HF_FOREVER if none is.  May be in the
 * past. */
uint64_t hf_core_wake_at_ms(const struct hf_core *core);

/* Safe-until of the grant of ${a}, which was GRANTED; 0 once the grant has
 * ended.  Any thread; async-signal-safe. */
static inline uint64_t hf_core_safe_until_ms(const struct hf_core *core,
                                             const struct hf_acquisition *a)
{
    return hf_safe_until_read(&core->session.published, &a->user.valid);
}

/* Assert the invariants of the whole core.  Tests call it after every step. */
void hf_core_check(const struct hf_core *core);

#endif
