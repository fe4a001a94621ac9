/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An operation: a request of a client about a queue that needs no ticket of its
 * own.  List the queue for people, name the queues that there are, examine the
 * service, remove a ticket, ask for the release of a ticket, set or clear a
 * barrier, wait until a barrier is clear, wait until a participant may leave a
 * double barrier, wait until the queue has changed, read or write the success
 * of the queue.  It is requested as soon as there is a session; an EXAMINE is
 * requested at once, and waits for a session only after an answer that it did
 * not happen.  It is requested again after an answer that it did not happen,
 * or may not have: each of these requests does no harm if it is done twice.
 *
 *   IDLE      not handed to the core yet
 *   PENDING   waits for a session or for the next retry
 *   ASKED     the engine has the request
 *   WATCHING  a wait that is not over: the engine reports the next change
 *   DRAINING  its user was notified; the engine still has the request
 *   DONE      nothing of it is left
 *
 * A wait until the queue has changed (HF_WAIT_CHANGE) reports when its watch is
 * set, with OPERATION_WATCHING.  A list that is requested after that misses
 * nothing: what it does not show ends the wait.  Such a watch belongs to one
 * session.  It survives SUSPENDED, and ends with HF_ELOST when the session is
 * over, because nobody watches then; its user lists and watches anew.
 *
 * If the clock of the engine was set back, the success may be of the future.
 * Until that clock has caught up, each holder that reads it would take it for a
 * recent one.  So a holder's READ_SUCCESS writes such a success again, with its
 * token and the present time.
 *
 * What a detailed LIST, a NAMES or an EXAMINE brings belongs to the engine and
 * is gone after the event that brings it.  The program that runs the core
 * copies from that event what it needs before it steps the core with it.
 */
#ifndef HF_CORE_OPERATION_H
#define HF_CORE_OPERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/effect.h"
#include "core/engine.h"
#include "core/schedule.h"

struct hf_core;
struct hf_operation;

/* The reports of an operation that an object of the core has begun, from within
 * a step.  They may only take notes (schedule.h). */
struct hf_operation_listener {
    /* The answer to a LIST. */
    void (*listed)(struct hf_operation *operation,
                   const struct hf_snapshot *snapshot);
    /* It is DONE; .status says how it has ended. */
    void (*done)(struct hf_core *core, struct hf_operation *operation);
};

/* What a WATCH_QUEUE waits for. */
enum hf_operation_wait {
    HF_WAIT_BARRIER, /* a barrier is clear */
    /* The participants of a double barrier, to leave the round that .generation
     * has admitted.  LEAVE: one's own ticket is still there, and HF_EBUSY says
     * that it is to be removed before the wait goes on without it, as LEFT. */
    HF_WAIT_LEAVE,
    HF_WAIT_LEFT,
    /* The queue of tickets, or of .flag_kind, has changed.  Without
     * .only_try. */
    HF_WAIT_CHANGE
};

/* The wait for a barrier to be cleared: it is over once the barrier was clear
 * at some moment since the wait began.  An event only says that something may
 * have changed; each new list decides.  A list that shows another flag than the
 * one before it proves that the barrier was clear in between, however soon it
 * was set again.  All zero at the start. */
struct hf_barrier_wait_state {
    bool was_set;           /* the last list showed the flag */
    struct hf_ticket_id id; /* of that flag */
    uint64_t token;         /* of that flag */
};

/* The worst that earlier tries of an operation may have done. */
enum hf_operation_tries {
    HF_TRIES_NONE,   /* none was answered */
    HF_TRIES_FAILED, /* they did not take effect */
    HF_TRIES_UNSURE, /* one may have taken effect */
};

/* Zeroed by its user, who then sets the first fields, before START_OPERATION.
 */
struct hf_operation {
    /* Set before START_OPERATION; the text must live until OPERATION_DONE. */
    enum hf_request_kind
        kind; /* LIST, which is detailed; NAMES; EXAMINE; REMOVE; REVOKE;
                 SET_FLAG; CLEAR_FLAG; WATCH_QUEUE, to wait; READ_SUCCESS;
                 WRITE_SUCCESS */
    const char *queue;
    const struct hf_names_request *names; /* NAMES; lives as .queue */
    struct hf_ticket_id ticket;           /* REMOVE, REVOKE; WATCH_QUEUE for
                                             LEAVE and LEFT, READ_SUCCESS of a
                                             holder, WRITE_SUCCESS: one's own */
    uint64_t token;                       /* WRITE_SUCCESS: of one's ticket */
    const char *evicted_by; /* REMOVE: as in struct hf_request; lives as
                               .queue */
    enum hf_operation_wait waits_for; /* WATCH_QUEUE */
    uint64_t generation;              /* LEAVE, LEFT: that has admitted us */
    enum hf_ticket_kind flag_kind;    /* SET_FLAG, CLEAR_FLAG: the flag, 0 is
                                         BARRIER; LIST, CHANGE: PARTICIPANT, or
                                         0 */
    struct hf_text_range texts;       /* LIST: as in struct hf_request */
    uint64_t deadline_at_ms;          /* CLOCK_BOOTTIME; HF_FOREVER: none */
    bool only_try; /* the deadline is config.connect_ms after START_OPERATION;
                      WATCH_QUEUE: end with HF_EBUSY instead of waiting for
                      others */
    /* It gets the answer.  NULL: the user gets it, as an effect. */
    const struct hf_operation_listener *listener;

    /* To be read with OPERATION_ANSWERED. */
    hf_status status;
    char text[HF_ERROR_TEXT_BYTES]; /* of a status other than HF_OK */
    bool found;                     /* the ticket or the flag was there, or may
                                       have been */
    struct hf_success success;      /* READ_SUCCESS */

    /* For the core only. */
    unsigned state; /* enum hf_operation_state */
    struct hf_operation *next;
    struct hf_operation *previous;
    struct hf_schedule_entry entry;
    uint64_t started_at_ms; /* CLOCK_BOOTTIME */
    uint64_t connect_by_ms; /* CLOCK_BOOTTIME; a second deadline, until there
                               was a first connection */
    uint64_t request_at_ms; /* CLOCK_BOOTTIME; PENDING: not requested before */
    enum hf_operation_tries tries;
    struct hf_barrier_wait_state barrier_wait; /* WATCH_QUEUE of a barrier */
    uint32_t retries;                          /* since the last answer */
    struct hf_request request;
    struct hf_effect watching_effect; /* of a wait for CHANGE */
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

/* For core.c, within a step.  Each may make ${operation} DONE, which takes it
 * out of the core's list. */

/* START_OPERATION: IDLE becomes PENDING. */
void hf_operation_start(struct hf_core *core, struct hf_operation *operation);

/* Take in ${event}, the answer to its request. */
void hf_operation_answered(struct hf_core *core, struct hf_operation *operation,
                           const struct hf_event *event);

/* CANCEL_OPERATION: end it with HF_ECANCELLED, unless it is DRAINING.  It is
 * not DONE. */
void hf_operation_cancel(struct hf_core *core, struct hf_operation *operation);

/* The session is over, and with it every watch, without an event. */
void hf_operation_session_over(struct hf_core *core,
                               struct hf_operation *operation);

/* The engine has returned from the UNWATCH of its WATCH_QUEUE. */
void hf_operation_unwatched(struct hf_core *core,
                            struct hf_operation *operation);

/* Request it, if that can be done now. */
void hf_operation_pump(struct hf_core *core, struct hf_operation *operation);

/* End it with ${why}, unless it is DRAINING.  It is not DONE. */
void hf_operation_give_up(struct hf_core *core, struct hf_operation *operation,
                          const struct hf_error *why);

/* Assert the invariants of the operation. */
void hf_operation_check(const struct hf_core *core,
                        const struct hf_operation *operation);

#endif
