/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client whose tickets are leased by the clock of a server, without I/O.
 * Time and a store's answers come in; calls of the store and events of the core
 * go out.  It has no clock, thread or descriptor of its own, so that the tests
 * and the real stores use the same state machine.
 *
 * The caller calls hf_leased_tick() when hf_leased_wake_at_ms() has come.
 * ${now_ms} is CLOCK_BOOTTIME and never less than in the call before.  Events
 * go to host->event() from inside these calls, and the receiver may call
 * hf_leased_request(), hf_leased_forget() and hf_leased_connect() from there.
 * .now_ms, .loop and .tls of the host are not used.
 *
 * The session's clock.  An answered RENEW, all its pieces included, proves that
 * every ticket of the session lives until one ttl after the first piece was
 * *sent*, because the server counts from when it executed the call, which was
 * later. Therefore:
 *
 *  - safe_until moves only by answered RENEWs, and its anchor is the time of
 *    sending.
 *  - The session is lost for this client one ttl, less a margin, after the last
 *    such anchor.  That is never later than the server lets the tickets expire.
 *  - A ticket that is enqueued while a RENEW is under way is covered by the
 *    next RENEW.  Its own ENQUEUE promises it a lease that lasts longer than
 *    what the RENEW under way proves.
 */
#ifndef HF_ENGINES_LEASED_LEASED_H
#define HF_ENGINES_LEASED_LEASED_H

#include "base/random.h"
#include "core/engine.h"

struct hf_leased;
struct hf_store;
struct hf_store_answer;
struct hf_store_call;
struct hf_store_notice;
struct hf_store_ops;

/* Bounds of ttl=, and its default, in milliseconds. */
#define HF_LEASED_TTL_MIN_MS UINT64_C(1000)
#define HF_LEASED_TTL_MAX_MS UINT64_C(3600000)
#define HF_LEASED_TTL_MS UINT64_C(10000)

/* Options of a client. */
struct hf_leased_config {
    uint64_t ttl_ms;
    uint64_t clock_drift;    /* of the server, in percent: hf_margin_ms() */
    struct hf_random random; /* seeded; makes the names of sessions */
    /* Address of the server for messages, without secrets: "127.0.0.1:6379".
     * Copied. */
    const char *server_address;
    const struct hf_reconnect *reconnect; /* NULL: the default.  Copied */
    size_t servers; /* number that the store tries in turn; 0: one */
    /* A RENEW has at most this many tickets, and this many queues; 0: no bound.
     * A larger renewal is sent in pieces, see renewal.h. */
    size_t renewal_piece_max;
    /* Programs that wait for the lock have no ticket, so no list shows them. */
    bool has_unlisted_waiters;
};

/* Make a client and begin to connect from inside this call.  ${config}, ${host}
 * and ${ops} are copied; ${store} must outlive the client.  NULL if memory runs
 * out. */
struct hf_leased *hf_leased_new(const struct hf_leased_config *config,
                                const struct hf_engine_host *host,
                                const struct hf_store_ops *ops,
                                struct hf_store *store, uint64_t now_ms);

/* Call it after CLOSED, or before anything was requested, or in a test:
 * requests under way are never answered.  Disconnects the store if there is a
 * link. */
void hf_leased_free(struct hf_leased *leased);

/* The same as hf_engine_ops.request and .unwatch. */
void hf_leased_request(struct hf_leased *leased, struct hf_request *request,
                       uint64_t now_ms);
void hf_leased_forget(struct hf_leased *leased, struct hf_request *watch,
                      uint64_t now_ms);

/* The same as hf_engine_ops.connect. */
void hf_leased_connect(struct hf_leased *leased, uint64_t now_ms);

/* Do all that is due at ${now_ms}: renewals, polls, timeouts, attempts to
 * connect. */
void hf_leased_tick(struct hf_leased *leased, uint64_t now_ms);

/* When the next tick is due; may be in the past.  HF_FOREVER: never. */
uint64_t hf_leased_wake_at_ms(const struct hf_leased *leased);

/* The engine has none of the traits HF_ENGINE_...: a list is cheap, so nobody
 * watches two tickets to save one; and a ticket may appear ahead of another
 * without a notice, so a GONE alone admits nobody.  A notice that names the
 * first ticket does. */
#define HF_LEASED_TRAITS 0u

/* How long the client waits for the answer to a call before it drops the
 * link. */
uint64_t hf_leased_call_timeout_ms(uint64_t ttl_ms);

/* --------------------------------------------------- called by the store -- */

/* The link is there and calls can be made.  ${server_ms} is the server's clock,
 * read while the link was made. */
void hf_leased_up(struct hf_leased *leased, uint64_t server_ms,
                  uint64_t now_ms);

/* The name of the session, 32 hexadecimal digits, until it is lost. */
const char *hf_leased_session_name(const struct hf_leased *leased);

/* The server has sent something while the link is made: the timeout of the
 * attempt begins again, HF_CONNECTIVITY_ANSWERS_MAX times at most.  Ignored at
 * any other time. */
void hf_leased_making_progress(struct hf_leased *leased, uint64_t now_ms);

/* The link could not be made or has ended.  ${why} is a text for people; it
 * does not have the server's address, which is put in front of it where it is
 * logged and shown to waiters.  ${status} is HF_EUNREACHABLE if another
 * attempt may succeed.  Otherwise it names what has to be fixed: HF_EDENIED,
 * HF_EURL, HF_EUNSUPPORTED, ... */
void hf_leased_down(struct hf_leased *leased, hf_status status, const char *why,
                    uint64_t now_ms);

/* ${call} was answered.  An answer that hf_store_answer_check() refuses ends
 * the link from inside this call, and ${call} counts as not answered. */
void hf_leased_answered(struct hf_leased *leased, struct hf_store_call *call,
                        const struct hf_store_answer *answer, uint64_t now_ms);

/* Notices may have been lost although the link has not ended, because one of a
 * store's several servers was away.  Polls everything at once if the link is
 * up. */
void hf_leased_notices_lost(struct hf_leased *leased, uint64_t now_ms);

/* The server sent ${notice}. */
void hf_leased_notice(struct hf_leased *leased,
                      const struct hf_store_notice *notice, uint64_t now_ms);

#endif
