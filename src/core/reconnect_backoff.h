/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attempts to make a connection, of engines whose sessions outlive connections.
 *
 * The attempts in a row that have failed make up *rounds*: a round is one
 * attempt at each server.  Within a round the next server is tried at once.
 * After a round the user's policy (struct hf_reconnect) says whether there is
 * another one, and after which pause.
 */
#ifndef HF_CORE_RECONNECT_BACKOFF_H
#define HF_CORE_RECONNECT_BACKOFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <holdfast/holdfast.h>

#include "core/random.h"
#include "core/reconnect_policy.h"

/* A connection that stayed up this long counts as a success: its loss begins
 * the rounds anew. */
#define HF_RECONNECT_STEADY_MS 1000

/* How long a goodbye may take. */
#define HF_CLOSE_TIMEOUT_MS 1000

struct hf_reconnect_backoff {
    struct hf_reconnect policy;
    size_t servers;   /* of a round, at least 1 */
    size_t failures;  /* attempts in a row that have failed */
    uint32_t retries; /* rounds that the policy has allowed since */
    uint32_t
        pauses_taken; /* of them and, if it had one, the first after a loss */
    uint64_t first_at_ms; /* when the first round had failed */
    hf_status status;     /* why the last attempt failed */
    size_t same_status;   /* that many in a row failed with that status */
};

/* ${policy} (NULL: hf_reconnect_default) is copied. */
void hf_reconnect_backoff_init(struct hf_reconnect_backoff *backoff,
                               const struct hf_reconnect *policy,
                               size_t servers);

/* The next attempt is the first of a first round. */
void hf_reconnect_backoff_reset(struct hf_reconnect_backoff *backoff);

/* A steady connection was lost, which counts as no failed try.  Returns when
 * the next attempt is due: at once if there are other servers, or else after
 * the first pause of the default policy. */
uint64_t hf_reconnect_backoff_lost(struct hf_reconnect_backoff *backoff,
                                   uint64_t now_ms, struct hf_random *random);

/* An attempt has failed.  Returns when the next one is due: ${now_ms} within a
 * round, HF_FOREVER if the policy gives up. */
uint64_t hf_reconnect_backoff_failed(struct hf_reconnect_backoff *backoff,
                                     hf_status status, uint64_t now_ms,
                                     struct hf_random *random);

/* Why there is no connection, as far as all servers agree; HF_EUNREACHABLE
 * where they do not. */
hf_status
hf_reconnect_backoff_status(const struct hf_reconnect_backoff *backoff);

/* Did all servers fail for one reason that waiting does not mend?  HF_EDENIED
 * and HF_EURL are such reasons.  HF_EPROTOCOL, an answer that makes no sense,
 * is one after HF_RECONNECT_PROTOCOL_ROUNDS rounds, because a balancer or a
 * server that is being started may close a connection in the middle. */
bool hf_reconnect_backoff_is_final(const struct hf_reconnect_backoff *backoff);
#define HF_RECONNECT_PROTOCOL_ROUNDS 3

/* How long one attempt may take, after ${silences} in a row in which nothing
 * was heard: so that each of ${servers} can be tried twice while a session of
 * ${session_ms} lasts, but no less than a busy one may need.  The first ones
 * are shorter: a server that is just starting may leave a connection open that
 * it will never answer, as ZooKeeper's of 3.8 does, and serve the next one. */
uint64_t hf_connect_timeout_ms(uint64_t session_ms, size_t servers,
                               size_t unanswered);

/* Is ${text}, of what went wrong, worth a line of the log, for it was not the
 * last one?  ${last} knows that; 0 at the start. */
bool hf_log_text_changed(uint64_t *digest, const char *text);

#endif
