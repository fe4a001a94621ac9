/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renewals: they extend the leases of all tickets of the session, and only they
 * move safe_until.
 *
 * A store may want a large renewal in pieces (hf_leased_config), because its
 * server serves nobody else during a call.  The pieces are sent one after the
 * other, each when the one before was answered, and are one renewal.  When the
 * last piece is answered, the renewal proves the session as of the sending of
 * the first piece, because the leases of the tickets in that piece count from
 * then.  A ticket that is enqueued between two pieces is in the next renewal;
 * its own ENQUEUE promises it a lease that is longer than what this renewal
 * proves.  If a piece fails, the renewal fails.
 */
#ifndef HF_ENGINES_LEASED_RENEWAL_H
#define HF_ENGINES_LEASED_RENEWAL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/engine.h"
#include "engines/leased/calls.h"

struct hf_leased_ticket_sets;

struct hf_leased;

/* What a renewal reports to the session. */
struct hf_leased_renewal_listener {
    /* The renewal whose first piece was sent at ${sent_at_ms} was answered in
     * full: the session is proven.  Returns false if it has sent CONNECTED
     * with that proof, so that no PROVE waits for it. */
    bool (*renewed)(struct hf_leased *leased, uint64_t sent_at_ms);
    /* The renewal was answered in full and proves nothing new, because a
     * ticket was lost and no event reports that (.lost_unseen).  A link that
     * waits for its first RENEW is usable all the same: what was proven before
     * still holds. */
    void (*proved_nothing)(struct hf_leased *leased);
    /* The renewal failed as ${answer} says.  Not called if the link has
     * ended. */
    void (*not_renewed)(struct hf_leased *leased,
                        const struct hf_store_answer *answer);
};

/* When to renew, and the renewal under way. */
struct hf_leased_renewal {
    /* set by leased_session.c */
    const struct hf_leased_renewal_listener *listener;
    bool under_way;
    /* when the next one is due; HF_FOREVER while there is no link or one is
     * under way */
    uint64_t at_ms;
    /* HF_REQUEST_PROVE that waits for the renewal under way, or NULL */
    struct hf_request *prove;
    /* About the renewal under way: */
    /* a copy of our tickets; NULL if no renewal is under way */
    struct hf_leased_ticket_sets *sets;
    uint64_t sent_at_ms; /* when its first piece was sent */
    /* a piece found a ticket missing, and no watch reports that loss now */
    bool lost_unseen;
};

/* Send a renewal if none is under way.  If memory runs out, none is under way
 * behind this, and the next one is due soon. */
void hf_leased_renew(struct hf_leased *leased);

/* Answer HF_REQUEST_PROVE when the renewal under way is answered, or a new one
 * if there is none. */
void hf_leased_prove(struct hf_leased *leased, struct hf_request *request);

/* Send a renewal if it is due. */
void hf_leased_renewal_tick(struct hf_leased *leased);

/* The session is over: a PROVE that waits fails. */
void hf_leased_renewal_clear(struct hf_leased *leased);

#endif
