/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client whose tickets are leased by the clock of a server.  It does no I/O:
 * requests of the core, the time, and answers of a store come in; calls of the
 * store and events for the core go out.  It has no clock, thread or descriptor
 * of its own, so the tests run the same state machine as the real stores.
 *
 * The caller calls hf_leased_tick() when hf_leased_wake_at_ms() has come.
 * ${now_ms} is CLOCK_BOOTTIME and never less than in the call before.  Events
 * are sent by host->event() from inside these calls, and the receiver may call
 * hf_leased_request(), hf_leased_forget() and hf_leased_connect() from there.
 * .now_ms, .loop and .tls of the host are not used.
 *
 * How long the session is safe.  The server extends the leases when it executes
 * a RENEW, and that is later than the RENEW was *sent*.  So when a RENEW, with
 * all its pieces, was answered, every ticket of the session lives until at
 * least one ttl after the first piece was sent.  That time of sending is called
 * the anchor.  Therefore:
 *
 *  - Only answered RENEWs move safe_until, which is computed from the anchor.
 *  - This client considers the session lost one ttl, less a margin, after the
 *    last anchor.  The server lets no ticket expire earlier than that.
 *  - A RENEW does not cover a ticket that is enqueued while the RENEW is under
 *    way; the next RENEW does.  Until then the lease from the ENQUEUE itself is
 *    enough, because it ends later than what the RENEW under way proves.
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
    /* how much the server's clock may drift, in percent; see hf_margin_ms() */
    uint64_t clock_drift;
    /* seeded; for the names of sessions and ids of flags */
    struct hf_random random;
    /* Address of the server for messages, without secrets: "127.0.0.1:6379".
     * Copied. */
    const char *server_address;
    const struct hf_reconnect *reconnect; /* NULL: the default.  Copied */
    size_t servers; /* how many servers the store tries in turn; 0: one */
    /* The most tickets, and the most queues, of one RENEW; 0: no bound.  A
     * larger renewal is sent in pieces, see renewal.h. */
    size_t renewal_piece_max;
    /* Other programs that wait for a lock have no ticket, so no list shows
     * them. */
    bool has_unlisted_waiters;
};

/* Make a client, which begins to connect before this function returns.
 * ${config}, ${host} and ${ops} are copied; ${store} must outlive the client.
 * Returns NULL if memory runs out. */
struct hf_leased *hf_leased_new(const struct hf_leased_config *config,
                                const struct hf_engine_host *host,
                                const struct hf_store_ops *ops,
                                struct hf_store *store, uint64_t now_ms);

/* Free the client and disconnect the store.  Call it after CLOSED or before any
 * request was made, because requests under way are not answered.  (Tests call
 * it at any time.) */
void hf_leased_free(struct hf_leased *leased);

/* The same as hf_engine_ops.request and hf_engine_ops.unwatch. */
void hf_leased_request(struct hf_leased *leased, struct hf_request *request,
                       uint64_t now_ms);
void hf_leased_forget(struct hf_leased *leased, struct hf_request *watch,
                      uint64_t now_ms);

/* The same as hf_engine_ops.connect. */
void hf_leased_connect(struct hf_leased *leased, uint64_t now_ms);

/* Do all that is due at ${now_ms}: renewals, polls, timeouts, and attempts to
 * connect. */
void hf_leased_tick(struct hf_leased *leased, uint64_t now_ms);

/* Returns when the next tick is due, which may be in the past; HF_FOREVER: no
 * tick is due. */
uint64_t hf_leased_wake_at_ms(const struct hf_leased *leased);

/* Leased engines have none of the traits HF_ENGINE_...  A list is cheap, so no
 * waiter watches two tickets to save a list.  A ticket may appear ahead of
 * another one without a notice, so GONE alone admits no waiter, except a GONE
 * that names the first ticket of the queue. */
#define HF_LEASED_TRAITS 0u

/* Returns how long the client waits for the answer to a call before it ends the
 * link. */
uint64_t hf_leased_call_timeout_ms(uint64_t ttl_ms);

/* --------------------------------------------------- called by the store -- */

/* The link is up, and calls can be made.  ${server_ms} is the server's clock,
 * read while the link was made. */
void hf_leased_up(struct hf_leased *leased, uint64_t server_ms,
                  uint64_t now_ms);

/* Returns the name of the session, 32 hexadecimal digits.  A new session gets
 * another name. */
const char *hf_leased_session_name(const struct hf_leased *leased);

/* The server has sent something while the link is being made.  This restarts
 * the timeout of the attempt, at most HF_CONNECTIVITY_ANSWERS_MAX times.
 * Ignored at any other time. */
void hf_leased_making_progress(struct hf_leased *leased, uint64_t now_ms);

/* The link has ended or could not be made.  ${why} is a text for people without
 * the server's address, which the client puts in front of it.  ${status} is
 * HF_EUNREACHABLE if another attempt may succeed; otherwise it names what has
 * to be fixed: HF_EDENIED, HF_EURL, HF_EUNSUPPORTED, ... */
void hf_leased_down(struct hf_leased *leased, hf_status status, const char *why,
                    uint64_t now_ms);

/* ${call} was answered.  If hf_store_answer_check() refuses the answer, the
 * link is ended from inside this function, and ${call} counts as not
 * answered. */
void hf_leased_answered(struct hf_leased *leased, struct hf_store_call *call,
                        const struct hf_store_answer *answer, uint64_t now_ms);

/* Notices may have been lost although the link has not ended, because one of
 * several servers of the store was away.  Polls everything at once if the link
 * is up. */
void hf_leased_notices_lost(struct hf_leased *leased, uint64_t now_ms);

/* The server sent ${notice}. */
void hf_leased_notice(struct hf_leased *leased,
                      const struct hf_store_notice *notice, uint64_t now_ms);

#endif
