/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a ticket goes by, by its kind: a row of the table in admission_rule.c
 * for each.
 *
 *   mutex, read,     enters the queue at once; waits for single tickets ahead
 *   write, election
 *   lease            enters when there is room, and waits for the queue to
 *                    change
 *   participant      of a double barrier: enters at once, and waits for the
 *                    queue to change
 *
 * Which tickets ahead are in the way is in admission.h, and who is let into a
 * double barrier in double_barrier_rule.h.
 */
#ifndef HF_CORE_ADMISSION_RULE_H
#define HF_CORE_ADMISSION_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include <holdfast/holdfast.h>

#include "core/admission.h"
#include "core/ticket.h"

/* What the rules read of a ticket of ours. */
struct hf_admission_ticket {
    struct hf_ticket_id id;
    enum hf_ticket_kind kind;
    uint32_t weight; /* LEASE: N permits ... */
    uint32_t limit;  /* ... of so many; PARTICIPANT: N are waited for */
    uint64_t token;  /* once it is in the queue */
};

/* What a queue means for a ticket in it. */
struct hf_admission_decision {
    struct hf_admission admission; /* .blocking of a PARTICIPANT: how many are
                                      missing, and one more until it has a
                                      stamp */
    uint64_t generation; /* HF_ADMITTED of a PARTICIPANT: the stamp that lets it
                            in */
    bool starts_generation; /* HF_WAIT_FOR of a PARTICIPANT: it is to stamp the
                               queue */
    const char *holder; /* payload of who is first, "" if that is this ticket;
                           NULL: nobody is ahead of anybody */
};

struct hf_admission_rule {
    /* Before the enqueue: is there room in the queue?  NULL: that does not
     * matter. */
    bool (*has_room)(const struct hf_admission_ticket *own,
                     const struct hf_snapshot *snapshot);
    /* In the queue. */
    struct hf_admission_decision (*decide)(
        const struct hf_admission_ticket *own,
        const struct hf_snapshot *snapshot);
    /* It waits for any change of the queue, and not for single tickets. */
    bool watches_queue;
    /* Once nobody is in its way nobody can come into it again. */
    bool admission_is_final;
};

/* The rule of ${kind}, which is none that is only seen. */
const struct hf_admission_rule *hf_admission_rule_of(enum hf_ticket_kind kind);

#endif
