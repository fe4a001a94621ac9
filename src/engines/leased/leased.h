/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client whose tickets are leased by the clock of a server, without I/O: time
 * and a store's answers in, a store's calls and the core's events out.  It has
 * no clock, thread or descriptor, so that tests and the real stores move the
 * same machine.
 *
 * Whoever moves it calls hf_leased_tick() when hf_leased_wake_at_ms() has come.
 * ${now_ms} is CLOCK_BOOTTIME, never less than in the call before.  Events and
 * answers go to host->event() from inside these calls and may lead back into
 * hf_leased_request(), hf_leased_forget() and hf_leased_connect() from
 * there.  .now_ms, .loop and
 * .tls of the host are not used.
 *
 * The session's clock.  A RENEW that was answered in full, all its pieces,
 * proves that every ticket of the session lives until ttl after the call, or
 * the first of its pieces, was *sent*: the server
 * counts from when it carried it out, which was later.  So
 *
 *  - safe-until moves by answered RENEWs only, and its anchor is their sending;
 *  - the session is LOST for us ttl after the last such anchor, which is never
 *    later than the server lets the tickets run out;
 *  - a ticket that is put in while a RENEW is under way is covered by the next
 *    one that is sent behind it, and no anchor is told that is later than what
 *    its own enqueue promises until then.
 */
#ifndef HF_ENGINES_LEASED_LEASED_H
#define HF_ENGINES_LEASED_LEASED_H

#include "core/engine.h"
#include "core/random.h"
#include "engines/leased/store.h"

struct hf_leased;

/* Of a ttl: what a store may be asked for, and what it is without ttl=. */
#define HF_LEASED_TTL_MIN_MS UINT64_C(1000)
#define HF_LEASED_TTL_MAX_MS UINT64_C(3600000)
#define HF_LEASED_TTL_MS UINT64_C(10000)

struct hf_leased_config {
    uint64_t ttl_ms;
    struct hf_random random; /* seeded; sessions are named by it */
    /* Where the server is, without secrets: "127.0.0.1:6379".  Copied. */
    const char *server_address;
    const struct hf_reconnect *reconnect; /* NULL: the default.  Copied */
    size_t servers; /* that the store tries in turn; 0: one */
    /* One RENEW of the store names at most this many tickets, and as many
     * queues; 0: any number.  See renewal.h. */
    size_t renewal_piece_max;
};

/* ${config}, ${host} and ${ops} are copied.  The first link is wanted at once,
 * from inside this call.  NULL for lack of memory. */
struct hf_leased *hf_leased_new(const struct hf_leased_config *config,
                                const struct hf_engine_host *host,
                                const struct hf_store_ops *ops,
                                struct hf_store *store, uint64_t now_ms);

/* After CLOSED, or before anything was requested, or in a test: requests under
 * way are not answered.  If there is a link it is disconnected. */
void hf_leased_free(struct hf_leased *leased);

/* As hf_engine_ops.request and .forget. */
void hf_leased_request(struct hf_leased *leased, struct hf_request *request,
                       uint64_t now_ms);
void hf_leased_forget(struct hf_leased *leased, struct hf_request *watch,
                      uint64_t now_ms);

/* As hf_engine_ops.connect. */
void hf_leased_connect(struct hf_leased *leased, uint64_t now_ms);

void hf_leased_tick(struct hf_leased *leased, uint64_t now_ms);

/* When the next tick is wanted, HF_FOREVER if none; may be past. */
uint64_t hf_leased_wake_at_ms(const struct hf_leased *leased);

/* The engine's traits: a list is cheap, and who waits behind a ticket may find
 * another there that it was not told of. */
#define HF_LEASED_TRAITS 0u

/* How long the client waits for the answer to a call before it drops the link.
 */
uint64_t hf_leased_call_timeout_ms(uint64_t ttl_ms);

/* ----------------------------------------------------- told by the store -- */

/* The link is there and calls can be made; ${server_ms} is the server's clock,
 * as heard while the link was made. */
void hf_leased_up(struct hf_leased *leased, uint64_t server_ms,
                  uint64_t now_ms);

/* It could not be made or has ended, for the reason ${why}: a text for people
 * without the server's address, which is logged and shown to who waits.
 * ${status} is HF_EUNREACHABLE where trying again may help by itself, and else
 * what has to be put right: HF_EDENIED, HF_EURL, HF_EUNSUPPORTED, ... */
void hf_leased_down(struct hf_leased *leased, hf_status status, const char *why,
                    uint64_t now_ms);

/* One that store.h does not allow (answer_check.h) ends the link, from inside
 * this call, and its request is UNSURE. */
void hf_leased_answered(struct hf_leased *leased, struct hf_store_call *call,
                        const struct hf_store_answer *answer, uint64_t now_ms);

/* Notices may have been lost though the link has not ended: one of the servers
 * of a store that has several was away. */
void hf_leased_notices_lost(struct hf_leased *leased, uint64_t now_ms);

void hf_leased_notice(struct hf_leased *leased,
                      const struct hf_store_notice *notice, uint64_t now_ms);

#endif
