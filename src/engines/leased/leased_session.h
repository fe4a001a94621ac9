/* SPDX-License-Identifier: Apache-2.0 */
/* The session and the links that carry it: when there is a link, until when the
 * session lives, and how the session is closed. */
#ifndef HF_ENGINES_LEASED_LEASED_SESSION_H
#define HF_ENGINES_LEASED_LEASED_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/connectivity.h"
#include "core/engine.h"
#include "engines/leased/calls.h"
#include "engines/leased/session_close.h"

/* Sizes of "ADDRESS: message" and of the message alone.  Both fit into an error
 * text. */
#define HF_LEASED_CONNECTION_ERROR_BYTES 352
#define HF_LEASED_WHY_BYTES 224

/* The session and its link. */
struct hf_leased_session {
    /* The state of the link, and when it is made again.  HANDSHAKING: the
     * first RENEW over it is under way; CLOSING: CLOSE_SESSION is under way;
     * CLOSED: the session has ended, and nothing happens any more. */
    struct hf_connectivity connectivity;
    /* Random, and new after each loss. */
    char name[HF_STORE_SESSION_BYTES];
    bool linked;        /* the store has a link or makes one */
    bool was_connected; /* CONNECTED was sent, so the session can be lost */
    /* When the session is lost: a ttl, less a margin, after .anchor_ms.
     * HF_FOREVER until the first proof. */
    uint64_t lost_at_ms;
    uint64_t anchor_ms; /* when the last RENEW that proved something was sent */
    struct hf_leased_session_close close;
    /* HF_REQUEST_END, once it was requested; else NULL. */
    struct hf_request *end;
    /* events about the end of a link or session are being sent: END waits */
    bool notifying;
};

struct hf_leased;

/* Name the first session and begin to make a link. */
void hf_leased_session_begin(struct hf_leased *leased);

/* The same as hf_engine_ops.connect. */
void hf_leased_session_connect(struct hf_leased *leased);

/* Is the link up, so that requests can be carried out? */
static inline bool
hf_leased_session_usable(const struct hf_leased_session *session)
{
    return hf_connectivity_is_up(&session->connectivity);
}

/* The store has made the link: begin the first RENEW over it. */
void hf_leased_session_up(struct hf_leased *leased, uint64_t server_ms);

/* The link has ended or cannot be used any more.  ${status} as in
 * hf_leased_down(); ${format} makes the message. */
void hf_leased_session_link_lost(struct hf_leased *leased, hf_status status,
                                 const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Close the session: HF_REQUEST_END. */
void hf_leased_session_end(struct hf_leased *leased,
                           struct hf_request *request);

/* The session's part of hf_leased_tick() and hf_leased_wake_at_ms(). */
void hf_leased_session_tick(struct hf_leased *leased);
uint64_t hf_leased_session_wake_at_ms(const struct hf_leased *leased);

#endif
