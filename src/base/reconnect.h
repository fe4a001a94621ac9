/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When to connect again, for engines whose sessions go on after a connection is
 * lost.  This file has the policy of the user (struct hf_reconnect), as URLs
 * give it, and the arithmetic that connectivity.h uses.
 *
 *     retry=forever          the default
 *     retry=never            one attempt at each server
 *     retry=once             one more attempt at each, after a second
 *     retry=[Nx]PAUSE[..PAUSE][/TOTAL]
 *
 * The last form allows at most N retries, each after PAUSE, or after pauses
 * that double from the first PAUSE to the second.  No retry is later than TOTAL
 * after the first round of attempts has failed.
 *
 * The attempts that have failed in a row make up *rounds*: a round is one
 * attempt at each server.  Within a round the next server is tried at once.
 * After a round the policy says whether there is another round, and after which
 * pause.
 *
 * Nothing here reads a clock or keeps a timer: the caller passes the time
 * (CLOCK_BOOTTIME in ms) and waits until the returned instant.
 */
#ifndef HF_BASE_RECONNECT_H
#define HF_BASE_RECONNECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <holdfast/client.h>
#include <holdfast/status.h>

#include "base/random.h"
#include "base/url.h"

/* ----------------------------------------------- the policy of the user -- */

#define HF_RECONNECT_OPTION "retry"

/* No pause is longer than a second, because a client that waits for a restart
 * of its server should not wait much longer than the restart takes. */
extern const struct hf_reconnect hf_reconnect_default;

/* Set ${policy} to the one in ${url}; without one there, to ${given}; if that
 * is NULL, to the default.  Fails with HF_EURL and a text that says what is
 * expected. */
hf_status hf_reconnect_choose(const struct hf_url *url,
                              const struct hf_reconnect *given,
                              struct hf_reconnect *policy,
                              struct hf_error *error);

/* -------------------------------------------------------------- backoff -- */

/* The state of the backoff of one engine. */
struct hf_reconnect_backoff {
    struct hf_reconnect policy;
    size_t servers;           /* attempts of a round, at least 1 */
    size_t failures;          /* attempts that have failed in a row */
    uint32_t retries;         /* rounds begun after the first one */
    uint32_t pauses_taken;    /* pauses before these rounds; begins at 1
                                 after a steady connection to a single server
                                 was lost */
    uint64_t first_failed_ms; /* when the first round failed */
    hf_status status;         /* of the last failed attempt */
    size_t same_status;       /* attempts in a row that failed with .status */
    size_t refusals;          /* attempts in a row that failed for a reason
                                 that waiting does not mend */
};

/* Set up ${backoff}.  ${policy} is copied; NULL: hf_reconnect_default. */
void hf_reconnect_backoff_init(struct hf_reconnect_backoff *backoff,
                               const struct hf_reconnect *policy,
                               size_t servers);

/* Forget all failures: the next attempt begins a first round. */
void hf_reconnect_backoff_reset(struct hf_reconnect_backoff *backoff);

/* From now on there are ${servers} other servers.  Forget all failures, and let
 * a round have ${servers} attempts. */
void hf_reconnect_backoff_set_servers(struct hf_reconnect_backoff *backoff,
                                      size_t servers);

/* A steady connection was lost, which does not count as a failed attempt.
 * Returns when the next attempt is due: at once if there are other servers,
 * else after the first pause of the default policy. */
uint64_t hf_reconnect_backoff_lost(struct hf_reconnect_backoff *backoff,
                                   uint64_t now_ms, struct hf_random *random);

/* An attempt has failed with ${status}.  Returns when the next attempt is due:
 * ${now_ms} within a round, HF_FOREVER if the policy allows no further attempt.
 */
uint64_t hf_reconnect_backoff_failed(struct hf_reconnect_backoff *backoff,
                                     hf_status status, uint64_t now_ms,
                                     struct hf_random *random);

/* Return why there is no connection: the last status if all servers failed with
 * it, or if all refused us, even for different reasons; else HF_EUNREACHABLE.
 */
hf_status
hf_reconnect_backoff_status(const struct hf_reconnect_backoff *backoff);

/* Did all servers fail for reasons that waiting does not mend?  An engine says
 * so by the status that it gives to a cause; docs/engines.md has the table of
 * all causes.  HF_EDENIED, HF_EURL and HF_EUNSUPPORTED are such reasons.
 * HF_EPROTOCOL, an answer that makes no sense, is one after
 * HF_RECONNECT_PROTOCOL_ROUNDS rounds, because a balancer, or a server that is
 * starting, may close a connection in the middle of an answer.  Every other
 * status may pass. */
bool hf_reconnect_backoff_is_final(const struct hf_reconnect_backoff *backoff);
#define HF_RECONNECT_PROTOCOL_ROUNDS 3

#endif
