/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts to have a link to a server, of engines whose sessions outlive
 * links. */
#ifndef HF_CORE_ATTEMPT_H
#define HF_CORE_ATTEMPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/retry.h"

/* A link that lasted so long was one: the next attempt is a first. */
#define HF_ATTEMPT_STEADY_MS 1000

/* How long a goodbye may take. */
#define HF_GOODBYE_MS 1000

/* Between attempts, or rounds through all servers.  A second at most: whoever
 * waits out a restart should not wait much longer than it takes. */
extern const struct hf_retry_policy hf_attempt_pauses;

/* How long one attempt may take, after ${silences} in a row in which nothing
 * was heard: so that each of ${servers} can be tried twice while a session of
 * ${session_ms} lasts, but no less than a busy one may need.  The first ones
 * are shorter: a server that is just starting may leave a connection open that
 * it will never answer, as ZooKeeper's of 3.8 does, and serve the next one. */
uint64_t hf_attempt_ms(uint64_t session_ms, size_t servers, size_t silences);

/* Is ${text}, of what went wrong, worth a line of the log, for it was not the
 * last one?  ${last} knows that; 0 at the start. */
bool hf_attempt_is_news(uint64_t *last, const char *text);

#endif
