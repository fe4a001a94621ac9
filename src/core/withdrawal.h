/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A withdrawal: one ticket id of ours that must not stay in a queue, and the
 * request that takes it out, repeated until it was answered.
 *
 * A ticket whose enqueue got no answer may appear late, after a search that
 * did not find it.  Its withdrawal lurks until it can no longer appear, strikes
 * whenever a list shows it, and a last time when its time is over.
 *
 * An acquisition has one for its last ticket, allocated before the ENQUEUE of
 * that is asked for: taking a ticket out never waits for memory.  Those of
 * earlier tickets are freed when nothing of them is left.
 */
#ifndef HF_CORE_WITHDRAWAL_H
#define HF_CORE_WITHDRAWAL_H

#include <stdbool.h>
#include <stddef.h>
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
    struct hf_withdrawal *next;
};

/* Those of one acquisition; zeroed: none. */
struct hf_withdrawals {
    struct hf_withdrawal
        *own; /* of the last ticket; NULL: that is one of ... */
    struct hf_withdrawal *abandoned; /* ... these, or there was none; the
                                        oldest first */
};

/* See that there is one for the ticket that ${acquisition} is about to ask for;
 * false without the memory for it. */
bool hf_withdrawals_reserve(struct hf_acquisition *acquisition);

/* Have ${ticket}, the last one, taken out.  It is there. */
void hf_withdrawals_begin_own(struct hf_withdrawals *withdrawals,
                              const struct hf_ticket_id *ticket);

/* The same of one that another will follow: it is there, or appears, if at all,
 * before ${appears_until_ms}; ${now}: ask at once, else only lurk. */
void hf_withdrawals_abandon(struct hf_withdrawals *withdrawals,
                            const struct hf_ticket_id *ticket,
                            uint64_t appears_until_ms, bool now);

/* A list shows the tickets of ${snapshot}. */
void hf_withdrawals_look(struct hf_withdrawals *withdrawals,
                         const struct hf_snapshot *snapshot);

/* Ask for those that it is time for; the session is CONNECTED. */
void hf_withdrawals_pump(struct hf_withdrawals *withdrawals,
                         struct hf_effect_queue *effects, uint64_t now_ms);

/* The one whose request is ${request}, and answers to that. */
struct hf_withdrawal *
hf_withdrawals_find(const struct hf_withdrawals *withdrawals,
                    const struct hf_request *request);
void hf_withdrawals_done(struct hf_withdrawals *withdrawals,
                         struct hf_withdrawal *withdrawal, bool found);
void hf_withdrawals_failed(struct hf_withdrawals *withdrawals,
                           struct hf_withdrawal *withdrawal,
                           uint64_t retry_at_ms);

/* The session is over and every ticket of it is gone.  Whether the ticket was
 * there until then is not known, so .found stays false. */
void hf_withdrawals_clear(struct hf_withdrawals *withdrawals,
                          struct hf_effect_queue *effects);

/* Nothing is to be taken out any more, or the core is no more: give the memory
 * back. */
void hf_withdrawals_free(struct hf_withdrawals *withdrawals);

/* Must the last ticket be taken out, and is not known to be gone? */
bool hf_withdrawals_own_lurks(const struct hf_withdrawals *withdrawals);

/* Has an answer said that it was taken out by this request? */
bool hf_withdrawals_own_found(const struct hf_withdrawals *withdrawals);

/* How many earlier tickets may be, or appear, in the queue? */
size_t hf_withdrawals_count_abandoned(const struct hf_withdrawals *withdrawals);

/* Is one asked, or about to be?  False while they only wait for tickets to show
 * themselves. */
bool hf_withdrawals_await_answer(const struct hf_withdrawals *withdrawals);

/* When a pump is wanted while CONNECTED; HF_FOREVER if none is. */
uint64_t hf_withdrawals_wake_at_ms(const struct hf_withdrawals *withdrawals);

#endif
