/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When something is due of what the core has: of acquisitions, waiters of
 * cohorts and operations, each with one entry.
 *
 *   limits     when a wait has to end, or its end to be told, whatever comes
 *   requests   when a request is due; looked at only while the session can be
 *              used, so nothing changes here when that stops or begins
 *   proofs     what waits for a proof of the session only
 *
 * An instant is kept in these heaps and nowhere else, and one function computes
 * it from the object.  Each function that changes an object touches its entry;
 * touched entries are computed anew before anything here is read.
 * hf_core_check() computes all of them and compares.
 *
 * Entries that are due at one instant are worked off in the order of the WANTs,
 * so that the shape of a heap decides nothing.  Safe-until and the next proof
 * are the session's, and not in here.
 */
#ifndef HF_CORE_SCHEDULE_H
#define HF_CORE_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/heap.h"

struct hf_core;
struct hf_schedule_entry;

/* What follows from the state of an object. */
struct hf_schedule_keys {
    uint64_t deadline_ms; /* HF_FOREVER: none */
    uint64_t request_ms;  /* the same */
    bool waits_for_proof; /* and for nothing else */
    bool needs_proof;     /* its grant, or the one to come, needs safe-until */
};

/* What a kind of object does. */
struct hf_schedule_ops {
    struct hf_schedule_keys (*keys)(const struct hf_core *core,
                                    const struct hf_schedule_entry *entry);
    void (*tick)(struct hf_core *core, struct hf_schedule_entry *entry);
    /* NULL if it never waits for a proof. */
    void (*proven)(struct hf_core *core, struct hf_schedule_entry *entry);
};

/* Zeroed before its object is wanted. */
struct hf_schedule_entry {
    const struct hf_schedule_ops *ops;
    uint64_t number; /* of its WANT; 0: not entered */
    struct hf_heap_node deadline;
    struct hf_heap_node request;
    struct hf_heap_node proof;
    bool needs_proof; /* as .keys said last */
    bool touched;     /* in the list of these */
    struct hf_schedule_entry *next_touched;
    struct hf_schedule_entry *previous_touched;
};

struct hf_schedule {
    struct hf_heap deadlines;
    struct hf_heap requests;
    struct hf_heap proofs;
    struct hf_heap due; /* within a tick: what it has found due, by number */
    size_t needs_proof; /* so many entries */
    uint64_t entries;   /* the number of the last one */
    struct hf_schedule_entry *touched;
};

/* The object of ${entry} is wanted. */
void hf_schedule_enter(struct hf_core *core, struct hf_schedule_entry *entry,
                       const struct hf_schedule_ops *ops);

/* Nothing of it can be due any more. */
void hf_schedule_leave(struct hf_core *core, struct hf_schedule_entry *entry);

/* The object has changed, or what it depends on.  Nothing if it has not been
 * entered. */
void hf_schedule_touch(struct hf_core *core, struct hf_schedule_entry *entry);

/* Compute anew what was touched. */
void hf_schedule_update(struct hf_core *core);

/* Below: nothing is touched. */

/* When a tick is wanted. */
uint64_t hf_schedule_wake_at_ms(const struct hf_core *core);

/* Tick all that is due by now. */
void hf_schedule_tick(struct hf_core *core);

/* Tell all that waits for a proof that there is one. */
void hf_schedule_proven(struct hf_core *core);

void hf_schedule_check_entry(const struct hf_core *core,
                             const struct hf_schedule_entry *entry);

#endif
