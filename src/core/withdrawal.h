/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A withdrawal: one ticket id of ours that must not stay in a queue, and the
 * request that takes it out, repeated until it was answered.
 *
 * A ticket whose enqueue got no answer may appear late, after a search that
 * did not find it.  Its withdrawal lurks until it can no longer appear, strikes
 * whenever a list shows it, and a last time when its time is over.
 */
#ifndef HF_CORE_WITHDRAWAL_H
#define HF_CORE_WITHDRAWAL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/effect.h"
#include "core/engine.h"
#include "core/retry.h"
#include "core/ticket.h"

enum hf_withdrawal_state {
    HF_WITHDRAWAL_NONE,
    HF_WITHDRAWAL_LURKS, /* nothing to do unless it shows itself */
    HF_WITHDRAWAL_DUE,   /* to be asked, not before .at_ms */
    HF_WITHDRAWAL_ASKED
};

struct hf_withdrawal {
    enum hf_withdrawal_state state;
    uint64_t appears_until_ms; /* 0: cannot appear again once it is out */
    uint64_t at_ms;
    bool last; /* asked when it could no longer appear */
    /* An answer said that this request took the ticket out.  Stays false when
     * the answer was lost and the ticket was gone afterwards, or when the
     * session ended first: somebody else may have removed it. */
    bool found;
    struct hf_retry_state retry;
    struct hf_request request;
    struct hf_effect effect;
};

void hf_withdrawal_init(struct hf_withdrawal *withdrawal,
                        struct hf_acquisition *acquisition, const char *queue);

/* Have ${ticket} taken out.  It is there, or appears, if at all, before
 * ${appears_until_ms}; ${now}: ask at once, else only lurk. */
void hf_withdrawal_begin(struct hf_withdrawal *withdrawal,
                         const struct hf_ticket_id *ticket,
                         uint64_t appears_until_ms, bool now);

/* A list shows the tickets of ${snapshot}. */
void hf_withdrawal_look(struct hf_withdrawal *withdrawal,
                        const struct hf_snapshot *snapshot);

/* Ask if it is time to; the session is CONNECTED. */
void hf_withdrawal_pump(struct hf_withdrawal *withdrawal,
                        struct hf_effect_queue *effects, uint64_t now_ms);

/* Answers to the request. */
void hf_withdrawal_done(struct hf_withdrawal *withdrawal, bool found);
void hf_withdrawal_failed(struct hf_withdrawal *withdrawal,
                          uint64_t retry_at_ms);

/* The session is over and every ticket of it is gone.  Whether the ticket was
 * there until then is not known, so .found stays false. */
void hf_withdrawal_clear(struct hf_withdrawal *withdrawal,
                         struct hf_effect_queue *effects);

/* Is it asked, or about to be?  False while it only waits for the ticket to
 * show itself. */
bool hf_withdrawal_awaits_answer(const struct hf_withdrawal *withdrawal);

/* When a pump is wanted while CONNECTED; HF_FOREVER if none is. */
uint64_t hf_withdrawal_wake_at_ms(const struct hf_withdrawal *withdrawal);

#endif
