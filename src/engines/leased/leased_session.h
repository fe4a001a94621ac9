/* SPDX-License-Identifier: Apache-2.0 */
/* The session and the links that carry it: makes the link, knows when the
 * session is lost, and closes the session. */
#ifndef HF_ENGINES_LEASED_LEASED_SESSION_H
#define HF_ENGINES_LEASED_LEASED_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/connectivity.h"
#include "core/engine.h"
#include "engines/leased/calls.h"
#include "engines/leased/session_close.h"

/* The sizes of "ADDRESS: message", and of the message alone.  Both must fit
 * into an error text. */
#define HF_LEASED_CONNECTION_ERROR_BYTES 352
#define HF_LEASED_WHY_BYTES 224

/* The session and its link; only leased_session.c writes it. */
struct hf_leased_session {
    /* The state of the link, and the time of the next attempt.  HANDSHAKING:
     * the first RENEW on the link is under way.  CLOSING: CLOSE_SESSION is
     * under way.  CLOSED: the session has ended, and nothing happens any
     * more. */
    struct hf_connectivity connectivity;
    /* The name of the session: random, and new after each loss. */
    char name[HF_STORE_SESSION_BYTES];
    /* connect() of the store was called, so there is a link or an attempt */
    bool linked;
    /* CONNECTED was sent, so the session may have tickets to lose */
    bool was_connected;
    /* When the session is lost: one ttl, less a margin, after .anchor_ms.
     * HF_FOREVER until the first RENEW was answered. */
    uint64_t lost_at_ms;
    /* when the last RENEW that proved the session was sent */
    uint64_t anchor_ms;
    struct hf_leased_session_close close;
    /* The HF_REQUEST_END that was made, or NULL. */
    struct hf_request *end;
    /* events about the end of a link or session are being sent; END must
     * wait */
    bool notifying;
};

struct hf_leased;

/* Name the first session and begin to make a link. */
void hf_leased_session_begin(struct hf_leased *leased);

/* The same as hf_engine_ops.connect. */
void hf_leased_session_connect(struct hf_leased *leased);

/* Returns whether the link is up, so that requests can be carried out. */
static inline bool
hf_leased_session_usable(const struct hf_leased_session *session)
{
    return hf_connectivity_is_up(&session->connectivity);
}

/* The store has made the link: send the first RENEW. */
void hf_leased_session_up(struct hf_leased *leased, uint64_t server_ms);

/* End the link, because it has failed or cannot be used any more.  ${status} is
 * that of hf_leased_down(); ${format} makes the message. */
void hf_leased_session_link_lost(struct hf_leased *leased, hf_status status,
                                 const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Carry out HF_REQUEST_END: close the session. */
void hf_leased_session_end(struct hf_leased *leased,
                           struct hf_request *request);

/* The session's part of hf_leased_tick() and hf_leased_wake_at_ms(). */
void hf_leased_session_tick(struct hf_leased *leased);
uint64_t hf_leased_session_wake_at_ms(const struct hf_leased *leased);

#endif
