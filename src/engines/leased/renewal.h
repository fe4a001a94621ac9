/* SPDX-License-Identifier: Apache-2.0 */
/* Renewals: that all tickets of the session live on, which is the only thing
 * that moves safe-until.
 *
 * A store may want a large one in pieces (hf_leased_config), because its server
 * serves nobody else during a call.  They are sent one after the other, each
 * when the one before has been answered, and are one renewal: it proves
 * something when the last piece was answered, and then as of when the first was
 * sent, since what that one names has been safe no longer.  A ticket that is
 * put in between two pieces is in the next renewal, and its own ENQUEUE
 * promises more than this one proves.  A piece that fails fails the whole. */
#ifndef HF_ENGINES_LEASED_RENEWAL_H
#define HF_ENGINES_LEASED_RENEWAL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/engine.h"
#include "engines/leased/calls.h"

struct hf_leased_ticket_sets;

struct hf_leased_renewal {
    bool under_way;
    uint64_t at_ms;           /* the next one; HF_FOREVER while there is no
                                 link or one is under way */
    struct hf_request *prove; /* waits for the one that is under way */
    /* The renewal under way: */
    struct hf_leased_ticket_sets *sets; /* what it names; else NULL */
    uint64_t sent_at_ms;                /* its first piece */
    bool lost_unseen; /* a piece has missed a ticket, and nobody is told that
                         now */
};

/* Send one, unless one is under way. */
void hf_leased_renew(struct hf_leased *leased);

/* HF_REQUEST_PROVE */
void hf_leased_prove(struct hf_leased *leased, struct hf_request *request);

void hf_leased_renewal_tick(struct hf_leased *leased);

/* The session is over: whoever waits for a proof waits in vain. */
void hf_leased_renewal_clear(struct hf_leased *leased);

/* An operation that takes out all that the session has. */
struct hf_leased_call *hf_leased_close_session_new(struct hf_leased *leased);

#endif
