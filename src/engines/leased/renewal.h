/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renewals: they extend the leases of all tickets of the session.  Nothing else
 * moves safe_until.
 *
 * A store may want a large renewal in pieces
 * (hf_leased_config.renewal_piece_max), because its server serves nobody else
 * while it runs a call.  Each piece is sent when the one before was answered,
 * and all pieces together are one renewal.  When the last piece is answered,
 * the session is proven as of the time when the first piece was sent, because
 * the leases of the tickets in that piece count from then.
 *
 * A ticket that is enqueued between two pieces is in the next renewal.  Until
 * then the lease from its ENQUEUE is enough, because it ends later than what
 * this renewal proves.  If one piece fails, the whole renewal fails.
 */
#ifndef HF_ENGINES_LEASED_RENEWAL_H
#define HF_ENGINES_LEASED_RENEWAL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/engine.h"
#include "engines/leased/calls.h"

struct hf_leased_ticket_sets;

struct hf_leased;

/* Functions of the session that a renewal calls. */
struct hf_leased_renewal_listener {
    /* All pieces were answered, and the renewal, whose first piece was sent at
     * ${sent_at_ms}, proves the session.  Returns false if this made the link
     * usable: then CONNECTED has reported the proof, and no PROVE waits for
     * it. */
    bool (*renewed)(struct hf_leased *leased, uint64_t sent_at_ms);
    /* All pieces were answered, but the renewal proves nothing new, because a
     * ticket was lost and no event reports that (.lost_unseen).  A link that
     * waits for its first RENEW becomes usable all the same, with the proof
     * that the session had before. */
    void (*proved_nothing)(struct hf_leased *leased);
    /* The renewal failed as ${answer} says.  Not called if the link has
     * ended. */
    void (*not_renewed)(struct hf_leased *leased,
                        const struct hf_store_answer *answer);
};

/* The renewal that is under way, and when the next one is due. */
struct hf_leased_renewal {
    /* functions of leased_session.c */
    const struct hf_leased_renewal_listener *listener;
    bool under_way;
    /* when the next renewal is due; HF_FOREVER if there is no link, or while a
     * renewal is under way */
    uint64_t at_ms;
    /* an HF_REQUEST_PROVE that the renewal under way will answer, or NULL */
    struct hf_request *prove;
    /* About the renewal under way: */
    /* a copy of our tickets; NULL if no renewal is under way */
    struct hf_leased_ticket_sets *sets;
    uint64_t sent_at_ms; /* when the first piece was sent */
    /* a ticket was found missing whose loss no watch reports now */
    bool lost_unseen;
};

/* Begin a renewal, unless one is under way.  If memory runs out, none is under
 * way afterwards, and the next one is due soon. */
void hf_leased_renew(struct hf_leased *leased);

/* Begin a renewal, unless one is under way, and answer HF_REQUEST_PROVE when
 * the renewal is answered. */
void hf_leased_prove(struct hf_leased *leased, struct hf_request *request);

/* Begin a renewal if one is due. */
void hf_leased_renewal_tick(struct hf_leased *leased);

/* Plan no renewal and fail a PROVE that waits, because the session is over. */
void hf_leased_renewal_clear(struct hf_leased *leased);

#endif
