/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An acquisition that looks for deadlocks while it waits.  It looks after 1 s,
 * and then after 2, 4 ... 60 s more.  Each look is a search
 * (deadlock_search.h), whose lists are operations, one after the other.  If the
 * acquisition is the one of the cycle that is to fail, its wait ends with
 * HF_EDEADLK.
 *
 * It only looks if its own ticket says so (the word detect), so that all owners
 * of a cycle know who looks.  The client writes the word if the owner holds
 * something else (client/owner_grants.c).  Without the word no request is made.
 */
#ifndef HF_CORE_DEADLOCK_DETECTION_H
#define HF_CORE_DEADLOCK_DETECTION_H

#include "core/deadlock_search.h"
#include "core/operation.h"

#define HF_DEADLOCK_FIRST_LOOK_MS 1000
#define HF_DEADLOCK_INTERVAL_MS 2000
#define HF_DEADLOCK_INTERVAL_MAX_MS 60000

struct hf_acquisition;
struct hf_core;
struct hf_schedule_entry;

/* The ticket by which an acquisition waits. */
struct hf_deadlock_wait {
    const char *queue;        /* that it is in */
    enum hf_ticket_kind kind; /* HF_TICKET_LEASE: it is in the entry queue of a
                                 semaphore */
    const struct hf_ticket_id *ticket;
    const char *text; /* of the ticket */
};

/* The acquisition that a detection belongs to. */
struct hf_deadlock_detection_listener {
    /* Set ${wait} to the ticket by which ${a} waits behind others; false: it
     * does not wait so. */
    bool (*waits_by)(const struct hf_acquisition *a,
                     struct hf_deadlock_wait *wait);
    /* ${a} is the one that has to fail: end its wait with ${why}, which ends
     * the detection. */
    void (*found)(struct hf_core *core, struct hf_acquisition *a,
                  const struct hf_error *why);
    /* A detection that has ended is busy no longer. */
    void (*idle)(struct hf_core *core, struct hf_acquisition *a);
};

/* Allocated and zeroed by the user of the acquisition, before ACQUIRE; freed by
 * hf_acquisition_free(). */
struct hf_deadlock_detection {
    const struct hf_deadlock_detection_listener *listener;
    struct hf_acquisition *acquisition;
    struct hf_schedule_entry *entry; /* of the acquisition */
    bool ended;                      /* it looks no more */
    uint64_t look_at_ms;             /* CLOCK_BOOTTIME; of the next look */
    uint64_t interval_ms; /* ms; from the next look to the one after it */
    struct hf_deadlock_search *search; /* the look under way; NULL: none */
    bool is_listing;                   /* .operation is handed to the core */
    struct hf_operation operation;
    char queue[HF_DEADLOCK_QUEUE_NAME_BYTES]; /* that .operation lists */
    struct hf_text_range texts;       /* the texts of .queue that are wanted */
    struct hf_deferred_call deferred; /* .operation is DONE */
};

/* ${a}, whose entry in the schedule is ${entry}, begins to wait. */
void hf_deadlock_detection_begin(
    struct hf_core *core, struct hf_deadlock_detection *detection,
    const struct hf_deadlock_detection_listener *listener,
    struct hf_acquisition *a, struct hf_schedule_entry *entry);

/* When to look next (CLOCK_BOOTTIME); HF_FOREVER: a look is under way, or there
 * is no further one, or ${detection} is NULL. */
uint64_t
hf_deadlock_detection_at_ms(const struct hf_deadlock_detection *detection);

/* Look, if it is time. */
void hf_deadlock_detection_tick(struct hf_core *core,
                                struct hf_deadlock_detection *detection);

/* The acquisition waits no longer: end a look that is under way. */
void hf_deadlock_detection_end(struct hf_core *core,
                               struct hf_deadlock_detection *detection);

/* Does the core still have the operation of a look?  If the detection has ended
 * meanwhile, .idle of the listener is called once the operation is DONE. */
bool hf_deadlock_detection_is_busy(
    const struct hf_deadlock_detection *detection);

/* Free ${detection}; NULL is fine. */
void hf_deadlock_detection_free(struct hf_deadlock_detection *detection);

#endif
