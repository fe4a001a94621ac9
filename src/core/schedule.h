/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When something is due, and for which acquisition, waiter or operation.  Each
 * of these has one entry.
 *
 *     deadlines  when a wait has to end, or its end to be reported
 *     requests   when a request is due; looked at only while the session is
 *                usable, so no entry changes when that begins or ends
 *     proofs     entries that wait only for a proof of the session
 *
 * What is due is noted in these heaps and nowhere else, and one function
 * (.keys) computes it from the object.  Each function that changes an object
 * touches its entry, and touched entries are computed anew before anything is
 * read here. hf_core_check() computes all of them and compares.
 *
 * Entries that are due in the same tick are worked off in the order in which
 * their objects were started, so that the shape of a heap decides nothing.
 * Safe-until and the next proof are in the session.
 *
 * All instants are CLOCK_BOOTTIME in ms; HF_FOREVER: never.
 */
#ifndef HF_CORE_SCHEDULE_H
#define HF_CORE_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/heap.h"

struct hf_core;
struct hf_schedule_entry;

/* The keys of an object, computed from its state. */
struct hf_schedule_keys {
    uint64_t deadline_ms; /* when it is due even without a session */
    uint64_t request_ms;  /* when it is due while the session is usable */
    bool waits_for_proof; /* it waits for a proof, and for nothing else */
    bool needs_proof;     /* its grant, or the one that may come, needs
                             safe-until */
};

/* The functions for a kind of object. */
struct hf_schedule_ops {
    /* Compute the keys. */
    struct hf_schedule_keys (*keys)(const struct hf_core *core,
                                    const struct hf_schedule_entry *entry);
    /* It is due. */
    void (*tick)(struct hf_core *core, struct hf_schedule_entry *entry);
    /* Safe-until has moved.  NULL: it never waits for a proof. */
    void (*proven)(struct hf_core *core, struct hf_schedule_entry *entry);
};

/* The part of an object.  Zeroed before the object is started. */
struct hf_schedule_entry {
    const struct hf_schedule_ops *ops;
    uint64_t number; /* in the order of the starts; 0: not entered */
    struct hf_heap_node deadline;
    struct hf_heap_node request;
    struct hf_heap_node proof;
    bool needs_proof; /* as last computed */
    bool touched;     /* in the list of these */
    struct hf_schedule_entry *next_touched;
    struct hf_schedule_entry *previous_touched;
};

/* The part of the core. */
struct hf_schedule {
    struct hf_heap deadlines;
    struct hf_heap requests;
    struct hf_heap proofs;
    struct hf_heap due; /* within a tick: the entries that are due, by number */
    size_t needs_proof; /* the number of entries that do */
    uint64_t entries;   /* the number of the last one */
    struct hf_schedule_entry *touched;
};

/* The object of ${entry} was started. */
void hf_schedule_enter(struct hf_core *core, struct hf_schedule_entry *entry,
                       const struct hf_schedule_ops *ops);

/* Nothing of the object can be due any more. */
void hf_schedule_leave(struct hf_core *core, struct hf_schedule_entry *entry);

/* The object, or something that it depends on, has changed.  Nothing if it was
 * not entered. */
void hf_schedule_touch(struct hf_core *core, struct hf_schedule_entry *entry);

/* Compute the touched entries anew. */
void hf_schedule_update(struct hf_core *core);

/* For the following functions hf_schedule_update() was called. */

/* When a tick is wanted. */
uint64_t hf_schedule_wake_at_ms(const struct hf_core *core);

/* Tick every entry that is due now. */
void hf_schedule_tick(struct hf_core *core);

/* Safe-until has moved: call .proven of every entry that waits for a proof. */
void hf_schedule_proven(struct hf_core *core);

/* Assert that the heaps have the keys of ${entry}. */
void hf_schedule_check_entry(const struct hf_core *core,
                             const struct hf_schedule_entry *entry);

/* ------------------------------------------------------- deferred calls -- */

/* Calls that are deferred to the end of a step.  A listener that is notified in
 * the middle of a step only notes that, because the core is not in order yet,
 * and acts when its deferred call runs.  First added, first called. */

/* Embedded in the object that it is for.  Zeroed, except .run, before it is
 * first added. */
struct hf_deferred_call {
    void (*run)(struct hf_core *core, struct hf_deferred_call *deferred);
    bool queued;
    struct hf_deferred_call *next;
};

struct hf_deferred_calls {
    struct hf_deferred_call *first;
    struct hf_deferred_call **end;
};

/* Make ${calls} empty. */
void hf_deferred_calls_init(struct hf_deferred_calls *calls);

/* Add ${call}; nothing if it is queued. */
void hf_deferred_call_add(struct hf_deferred_calls *calls,
                          struct hf_deferred_call *call);

/* Run all calls, also those that are added meanwhile.  It ends, because each
 * call moves acquisitions on towards their ends. */
void hf_deferred_calls_run(struct hf_deferred_calls *calls,
                           struct hf_core *core);

#endif
