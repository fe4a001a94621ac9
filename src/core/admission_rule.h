/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule by which a ticket of ours is admitted, by its kind: a row of the
 * table in admission_rule.c.
 *
 *     mutex, read,     enqueued at once; waits for single tickets ahead
 *     write, election
 *     lease            enqueued when there is room; waits for the queue
 *     participant      enqueued at once; waits for the queue
 *
 * Which tickets block which is in admission.h, and who may enter a double
 * barrier in double_barrier_rule.h.
 */
#ifndef HF_CORE_ADMISSION_RULE_H
#define HF_CORE_ADMISSION_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include <holdfast/holdfast.h>

#include "core/admission.h"
#include "core/ticket.h"

/* The properties of our ticket that rules read. */
struct hf_admission_ticket {
    struct hf_ticket_id id;
    enum hf_ticket_kind kind;
    uint32_t weight; /* LEASE: its permits */
    uint32_t limit;  /* LEASE: the permits of the semaphore; PARTICIPANT: the
                        number of participants that are waited for */
    uint64_t token;  /* once it is in the queue */
};

/* The meaning of a queue for the ticket. */
struct hf_admission_decision {
    struct hf_admission admission; /* of a PARTICIPANT .blocking is the number
                                      that is missing, plus one until a
                                      generation admits it */
    uint64_t generation; /* HF_ADMITTED of a PARTICIPANT: the one that admits it
                          */
    bool starts_generation; /* HF_WAIT_FOR of a PARTICIPANT: it is to request
                               NEW_GENERATION */
    const char *holder;     /* payload of the first ticket; "": that is this
                               ticket; NULL: the queue has no order */
};

/* A rule: functions of the ticket and the queue, and two properties. */
struct hf_admission_rule {
    /* Before the enqueue: is there room in the queue?  NULL: always. */
    bool (*has_room)(const struct hf_admission_ticket *own,
                     const struct hf_snapshot *snapshot);
    /* In the queue: decide by the queue ${snapshot}. */
    struct hf_admission_decision (*decide)(
        const struct hf_admission_ticket *own,
        const struct hf_snapshot *snapshot);
    /* It waits for any change of the queue, and not for single tickets. */
    bool watches_queue;
    /* Once nothing blocks the ticket, nothing will block it again. */
    bool admission_is_final;
};

/* The rule for ${kind}, which must be a kind that can be enqueued. */
const struct hf_admission_rule *hf_admission_rule_of(enum hf_ticket_kind kind);

#endif
