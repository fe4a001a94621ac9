/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An acquisition: from wanting a lock to its ticket being gone.  It may take
 * several tickets, one after the other, before one is granted.
 *
 *   IDLE         not handed to the core yet
 *   PAUSED       no ticket in the queue; waits for a session or a retry
 *   ENQUEUING    asked for a place, no answer yet
 *   UNSURE       the ticket may or may not be there; looking for it
 *   QUEUED       a ticket in the queue, watching the one before
 *   HELD         admitted, the grant is valid
 *   LOST         the grant ended before its release
 *   RELEASING    released by its owner, the ticket not yet known to be gone
 *   WITHDRAWING  given up without a grant, the ticket not yet known to be gone
 *   DONE         nothing of it can be, or appear, in the queue
 */
#ifndef HF_CORE_ACQUISITION_H
#define HF_CORE_ACQUISITION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/effect.h"
#include "core/engine.h"
#include "core/retry.h"
#include "core/ticket.h"

struct hf_core;

/* How many ids of tickets whose enqueue got no answer are remembered, each
 * until it can no longer appear.  With all in use the next attempt waits for
 * the oldest: bounded, and each takes a lost answer to fill. */
#define HF_ABANDONED_MAX 4

struct hf_acquisition {
    /* Set before WANT; the text must live until FORGOTTEN. */
    const char *queue;
    const char *payload;
    enum hf_ticket_kind kind;
    bool only_try;            /* end with HF_EBUSY instead of waiting */
    uint64_t deadline_at_ms;  /* HF_FOREVER: none */
    uint64_t report_every_ms; /* emit WAITING at least this often while
                                 queued; 0: only when the place was looked up
                                 anyway */

    /* To be read with the effects. */
    hf_status status;               /* ENDED, RELEASED */
    char text[HF_ERROR_TEXT_BYTES]; /* ENDED: the story */
    uint64_t started_at_ms;
    uint32_t ahead;                /* WAITING */
    char holder[HF_PAYLOAD_BYTES]; /* WAITING: payload of the head */
    struct hf_ticket_id ticket;    /* GRANTED */
    uint64_t token;                /* GRANTED */
    /* Safe-until of this grant: rises while HELD, 0 after.  Readable from any
     * thread and from signal handlers. */
    _Atomic uint64_t promise_ms;

    /* The core's own; see acquisition.c. */
    unsigned state;
};

#endif
