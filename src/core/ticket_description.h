/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a ticket of ours, written once more because its owner has heard a
 * request to release it: for people, who read in the queue that he was asked.
 * In ZooKeeper such a request overwrites the text, so that without this the
 * queue does not say who the owner is.
 *
 * Nothing waits for it but the next change of the same ticket's form, a
 * downgrade.  At most one is under way for a ticket, so requests that come
 * close together may be shown as one.
 */
#ifndef HF_CORE_TICKET_DESCRIPTION_H
#define HF_CORE_TICKET_DESCRIPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/effect.h"
#include "core/engine.h"
#include "core/retry.h"
#include "core/ticket.h"

struct hf_own_ticket;

/* Allocated by the first request to release, because few are ever asked, and
 * freed with the ticket.  A pointer to one may be NULL: there was no such
 * request. */
struct hf_ticket_description {
    struct hf_request request; /* .busy until it was answered */
    struct hf_effect effect;
    bool pending;   /* to be asked for, not before .at_ms */
    bool retrying;  /* an answer said that it may work later: .text stays */
    bool is_sent;   /* .text is that of the ticket as it is now */
    uint64_t at_ms; /* CLOCK_BOOTTIME */
    struct hf_retry_state retry;
    /* The request's.  The host, when it carries out the effect, appends what is
     * to be said besides the payload of the acquisition. */
    char text[HF_PAYLOAD_BYTES];
};

/* The owner of ${ticket}, which is in the queue, has heard a request to
 * release. Without memory nothing is asked for. */
void hf_ticket_description_want(struct hf_own_ticket *ticket);

/* Is there one to be asked for, once it is time? */
bool hf_ticket_description_is_due(
    const struct hf_ticket_description *description);

/* Has the engine one that it has not answered? */
bool hf_ticket_description_is_busy(
    const struct hf_ticket_description *description);

/* Ask for it, if it is due by now, with ${payload} in front; the session is
 * CONNECTED. */
void hf_ticket_description_pump(struct hf_ticket_description *description,
                                struct hf_effect_queue *effects,
                                enum hf_ticket_kind kind, const char *payload,
                                uint64_t now_ms);

/* Answers.  _failed(): to be asked for again at ${retry_at_ms}, if ${again}. */
void hf_ticket_description_answered(struct hf_ticket_description *description);
void hf_ticket_description_failed(struct hf_ticket_description *description,
                                  bool retry, uint64_t retry_at_ms);

/* Take back a request that the engine has not seen, and want none: the ticket
 * is to go, or has gone. */
void hf_ticket_description_end(struct hf_ticket_description *description,
                               struct hf_effect_queue *effects);

#endif
