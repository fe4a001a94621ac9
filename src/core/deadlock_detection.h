/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An acquisition that looks for deadlocks while it waits.  It looks after 1 s,
 * and then after 2, 4 ... 60 s more.  Each look is a search
 * (deadlock_search.h), whose lists are operations, one after the other.  If the
 * acquisition is the one of the cycle that is to fail, its wait ends with
 * HF_EDEADLK.
 *
 * It only looks if its own ticket says so (the word detect), so that all
 * owners of a cycle know who looks.  The host writes the word if the owner
 * holds something else; without that it makes no request.
 */
#ifndef HF_CORE_DEADLOCK_DETECTION_H
#define HF_CORE_DEADLOCK_DETECTION_H

#include "core/deadlock_search.h"
#include "core/deferred_call.h"
#include "core/operation.h"

#define HF_DEADLOCK_FIRST_LOOK_MS 1000
#define HF_DEADLOCK_INTERVAL_MS 2000
#define HF_DEADLOCK_INTERVAL_MAX_MS 60000

struct hf_acquisition;
struct hf_core;

/* Allocated and zeroed by the user of the acquisition, before ACQUIRE; freed by
 * hf_acquisition_free(). */
struct hf_deadlock_detection {
    struct hf_acquisition *acquisition;
    uint64_t look_at_ms;               /* CLOCK_BOOTTIME; of the next look */
    uint64_t interval_ms;              /* from that to the one after it */
    struct hf_deadlock_search *search; /* the look under way; NULL: none */
    bool is_listing;                   /* .operation is handed to the core */
    struct hf_operation operation;
    char queue[HF_DEADLOCK_QUEUE_NAME_BYTES]; /* that it lists */
    struct hf_deferred_call deferred;         /* it has ended */
};

/* ${a}, which has a detection, begins to wait. */
void hf_deadlock_detection_begin(struct hf_core *core,
                                 struct hf_acquisition *a);

/* When ${a} is to look next (CLOCK_BOOTTIME); HF_FOREVER: it does not. */
uint64_t hf_deadlock_detection_at_ms(const struct hf_acquisition *a);

/* Look, if it is time. */
void hf_deadlock_detection_tick(struct hf_core *core, struct hf_acquisition *a);

/* ${a} waits no longer: end a look that is under way. */
void hf_deadlock_detection_end(struct hf_core *core, struct hf_acquisition *a);

/* May ${a} not be DONE yet, because the engine still has a request of a look?
 * When it has answered, hf_acquisition_finish() is called. */
bool hf_deadlock_detection_is_busy(const struct hf_acquisition *a);

/* Free ${detection}; NULL is fine. */
void hf_deadlock_detection_free(struct hf_deadlock_detection *detection);

#endif
