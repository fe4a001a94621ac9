/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An operation: one question or order of a client about a queue that it need
 * not stand in.  List the whole queue, take somebody's ticket out, ask somebody
 * to let go, raise a barrier or lower it, wait until it is down, or until one
 * may leave a double barrier.  It is asked as soon as there is a session, and
 * again after an answer that says it did not happen or may not have: each of
 * them may be done twice without harm.
 *
 *   IDLE      not handed to the core yet
 *   PENDING    waits for a session or a retry
 *   ASKED     the engine has the request
 *   WATCHING  a wait: it is not over yet, and the engine will tell of a change
 *   DRAINING      its user was told how it ended; the engine still has the
 * request DONE      nothing of it is left
 *
 * The snapshot of a whole LIST is the engine's and gone after the event that
 * brings it.  Whoever runs the core takes out of that event what it wants to
 * keep, before the core is stepped with it.
 */
#ifndef HF_CORE_OPERATION_H
#define HF_CORE_OPERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/barrier_wait.h"
#include "core/effect.h"
#include "core/engine.h"
#include "core/retry.h"
#include "core/schedule.h"

struct hf_core;

/* Zeroed, then set, before OPERATE. */
struct hf_operation {
    /* Set before OPERATE; the text must live until FINISHED. */
    enum hf_request_kind kind; /* LIST, which is whole, REMOVE or REVOKE; of
                                  a barrier RAISE, LOWER, or LOOK, to wait */
    const char *queue;
    struct hf_ticket_id ticket; /* REMOVE, REVOKE; LOOK with a .stamp: one's
                                   own */
    /* LOOK: not at a barrier but at the participants of a double barrier, to
     * leave the round that was let in by this stamp.  If .keeps, one's own
     * ticket is there still, and HF_EBUSY says that it is to be taken out and
     * the wait to go on without. */
    uint64_t generation;
    bool keeps_ticket;
    enum hf_ticket_kind flag_kind; /* RAISE, LOWER: 0 is a barrier;
                                 LIST: PARTICIPANT, or 0 */
    uint64_t deadline_at_ms;       /* HF_FOREVER: none */
    bool only_try; /* end by the connect_ms of the client, whatever
                      the deadline; LOOK: end with HF_EBUSY instead
                      of waiting for others */

    /* To be read with ANSWERED. */
    hf_status status;
    char text[HF_ERROR_TEXT_BYTES];
    bool found; /* the ticket was there, as far as the answers tell */

    /* The core's own; see operation.c. */
    unsigned state;
    struct hf_operation *next;
    struct hf_operation *previous;
    struct hf_schedule_entry entry;
    uint64_t started_at_ms;
    uint64_t connect_by_ms; /* as long as there never was a connection */
    uint64_t request_at_ms; /* PENDING: not before */
    bool unsure;            /* an earlier try may have found the ticket */
    struct hf_barrier_wait_state barrier_wait; /* LOOK */
    struct hf_retry_state retry;
    struct hf_request request;
    struct hf_effect request_effect;
    struct hf_effect answered_effect;
    struct hf_effect finished_effect;
};

enum hf_operation_state {
    HF_OPERATION_IDLE,
    HF_OPERATION_PENDING,
    HF_OPERATION_ASKED,
    HF_OPERATION_WATCHING,
    HF_OPERATION_DRAINING,
    HF_OPERATION_DONE
};

/* Below: for core.c, within a step.  Each may finish ${operation}, which then
 * is no longer in the core's list. */

void hf_operation_start(struct hf_core *core, struct hf_operation *operation);
void hf_operation_answered(struct hf_core *core, struct hf_operation *operation,
                           const struct hf_event *event);

/* The user wants no answer any more. */
void hf_operation_cancel(struct hf_core *core, struct hf_operation *operation);

/* The session is over and with it, in silence, every watch. */
void hf_operation_session_over(struct hf_core *core,
                               struct hf_operation *operation);

/* The engine has returned from the FORGET of its LOOK. */
void hf_operation_unwatched(struct hf_core *core,
                            struct hf_operation *operation);

/* Ask if it can be asked now. */
void hf_operation_pump(struct hf_core *core, struct hf_operation *operation);

/* End it, unless it has ended, as ${why} tells. */
void hf_operation_give_up(struct hf_core *core, struct hf_operation *operation,
                          const struct hf_error *why);

void hf_operation_check(const struct hf_core *core,
                        const struct hf_operation *operation);

#endif
