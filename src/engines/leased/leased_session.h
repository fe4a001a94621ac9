/* SPDX-License-Identifier: Apache-2.0 */
/* The session and the links that carry it: when there is one, since when it is
 * proven, when it is over for us, what the server's clock shows, and the
 * goodbye. */
#ifndef HF_ENGINES_LEASED_LEASED_SESSION_H
#define HF_ENGINES_LEASED_LEASED_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/engine.h"
#include "core/reconnect_backoff.h"
#include "engines/leased/calls.h"

/* The server and its story; that alone; and either fits into an error. */
#define HF_LEASED_CONNECTION_ERROR_BYTES 352
#define HF_LEASED_WHY_BYTES 224

enum hf_leased_session_state {
    HF_LEASED_IDLE,       /* the policy gave up: for hf_leased_connect() */
    HF_LEASED_WAITING,    /* for the next attempt to make a link */
    HF_LEASED_OPENING,    /* a link is being made */
    HF_LEASED_CONFIRMING, /* it is there, and the session is being renewed */
    HF_LEASED_UP,
    HF_LEASED_ENDING, /* we have said goodbye */
    HF_LEASED_ENDED,
};

struct hf_leased_session {
    unsigned state;
    char name[HF_STORE_SESSION_BYTES];
    bool linked;        /* the store has a link, or makes one */
    bool was_connected; /* CONNECTED was told: it can be lost */
    /* When it is over for us: a ttl, less a margin, after the last proof.
     * HF_FOREVER while it is not known. */
    uint64_t lost_at_ms;
    uint64_t anchor_ms;      /* when that was sent; of no use while not known */
    uint64_t state_until_ms; /* WAITING: the next attempt; OPENING, CONFIRMING,
                          ENDING: the end of our patience */
    uint64_t up_at_ms;
    size_t silent_attempts; /* attempts in a row in which nothing was heard */
    struct hf_reconnect_backoff attempts;
    /* The server's clock as last heard, and when. */
    uint64_t server_ms;
    uint64_t server_clock_at_ms;
    /* What the session before this one had, to be taken out; or NULL. */
    struct hf_leased_call *old_session_close;
    struct hf_request *end;
    bool notifying; /* drop or lose is telling: an END waits for them */
    char connection_error[HF_LEASED_CONNECTION_ERROR_BYTES]; /* why there is no
                                                                link, or "" */
    uint64_t logged; /* digest of the last one logged */
};

struct hf_leased;

/* Want the first link. */
void hf_leased_session_begin(struct hf_leased *leased);

/* As hf_engine_ops.connect. */
void hf_leased_session_connect(struct hf_leased *leased);

/* May requests be made? */
bool hf_leased_session_usable(const struct hf_leased_session *session);

/* The link is there. */
void hf_leased_session_up(struct hf_leased *leased, uint64_t server_ms);

/* A RENEW that was sent at ${sent_at_ms} was answered in full, or failed.  True
 * if that remains to be told: with CONNECTED it has been. */
bool hf_leased_session_renewed(struct hf_leased *leased, uint64_t sent_at_ms);
void hf_leased_session_not_renewed(struct hf_leased *leased,
                                   const struct hf_store_answer *answer);

/* A RENEW was answered that proves nothing: what was proven before goes on over
 * a link that waits for it. */
void hf_leased_session_confirm(struct hf_leased *leased);

/* The server's clock showed ${server_ms}, not later than now. */
void hf_leased_session_set_server_clock(struct hf_leased *leased,
                                        uint64_t server_ms);

/* A call that is made now must not take effect behind this instant of the
 * server's clock: not later than a ttl after it was given up. */
uint64_t hf_leased_session_not_after_ms(const struct hf_leased *leased);

/* The link has ended, or is of no use any more; ${status} as in
 * hf_leased_down(). */
void hf_leased_session_link_lost(struct hf_leased *leased, hf_status status,
                                 const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* HF_REQUEST_END */
void hf_leased_session_end(struct hf_leased *leased,
                           struct hf_request *request);

void hf_leased_session_tick(struct hf_leased *leased);
uint64_t hf_leased_session_wake_at_ms(const struct hf_leased *leased);

#endif
