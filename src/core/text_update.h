/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a ticket of ours is written again (DESCRIBE) for one of two
 * reasons.  Somebody has asked for its release: people then see in the queue
 * that the owner was asked; and in ZooKeeper such a request overwrites the
 * text, so that otherwise the queue would not say who the owner is.  Or it has
 * become known that the runs around the owner wait for it, or that is known no
 * longer (holds= and outer= in docs/ticket-text.md).  The client composes the
 * text (client/grant_payload.c); ticket_text.h reads the texts of all tickets.
 *
 * Of the other requests of the ticket only a DOWNGRADE waits for it, because
 * both change the ticket.  At most one DESCRIBE is under way for a ticket, so
 * requests that come close together may be shown as one.
 */
#ifndef HF_CORE_TEXT_UPDATE_H
#define HF_CORE_TEXT_UPDATE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/effect.h"
#include "core/engine.h"
#include "core/ticket.h"

struct hf_own_ticket;

/* Allocated when it is first needed, because few tickets ever need it, and
 * freed with the ticket.  A pointer to one may be NULL: the text was never
 * written again. */
struct hf_text_update {
    struct hf_request request; /* .busy until it was answered */
    bool pending;              /* to be requested, not before .at_ms */
    bool retrying;             /* the last one failed: .text stays as it is */
    bool asked;     /* somebody has asked for the release of the ticket */
    bool is_sent;   /* a DESCRIBE was requested, so the ticket counts as having
                       .text */
    uint64_t at_ms; /* CLOCK_BOOTTIME */
    uint32_t tries; /* of the DESCRIBE, that have failed */
    /* The payload of the request.  When the client carries out the effect it
     * writes here what the ticket is to say, unless .retrying. */
    char text[HF_PAYLOAD_BYTES];
};

/* Write the text of ${ticket}, which is in the queue, again.  Without memory
 * the ticket keeps its old text. */
void hf_text_update_want(struct hf_own_ticket *ticket);

/* The same, because somebody has asked for the release of ${ticket}. */
void hf_text_update_asked(struct hf_own_ticket *ticket);

/* What the ticket says by now, if it was enqueued with ${payload}.  ${update}
 * may be NULL. */
const char *hf_text_update_text(const struct hf_text_update *update,
                                const char *payload);

/* Is a DESCRIBE to be requested, now or later?  ${update} is not NULL. */
bool hf_text_update_is_due(const struct hf_text_update *update);

/* Is a DESCRIBE under way? */
bool hf_text_update_is_busy(const struct hf_text_update *update);

/* Request it, if it is time, with ${payload} as the first part of the text.
 * ${update} is not NULL, and the session is CONNECTED. */
void hf_text_update_pump(struct hf_text_update *update,
                         struct hf_effect_queue *effects,
                         enum hf_ticket_kind kind, const char *payload,
                         uint64_t now_ms);

/* DESCRIBED. */
void hf_text_update_answered(struct hf_text_update *update);

/* FAILED; ${retry}: request it again at ${retry_at_ms}. */
void hf_text_update_failed(struct hf_text_update *update, bool retry,
                           uint64_t retry_at_ms);

/* The ticket is to be removed, or is gone: take back a request that the engine
 * has not seen, and want none. */
void hf_text_update_end(struct hf_text_update *update,
                        struct hf_effect_queue *effects);

#endif
