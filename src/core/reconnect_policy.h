/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy of reconnecting (struct hf_reconnect) as URLs say it:
 *
 *     retry=forever          as without the option
 *     retry=never            one try
 *     retry=once             one retry, after a second
 *     retry=[Nx]PAUSE[..PAUSE][/TOTAL]
 *
 * N retries at most, each after PAUSE or after pauses that double from one
 * PAUSE to the other, and none later than TOTAL after the first try failed.
 */
#ifndef HF_CORE_RECONNECT_POLICY_H
#define HF_CORE_RECONNECT_POLICY_H

#include <holdfast/holdfast.h>

#include "core/url.h"

#define HF_RECONNECT_OPTION "retry"

/* Pauses of a second at most: a client that waits out a restart should not wait
 * much longer than the restart takes. */
extern const struct hf_reconnect hf_reconnect_default;

/* Set ${policy} to what ${url} says, else to ${given}, else (NULL) to the
 * default.  HF_EURL, with a text that says what is expected. */
hf_status hf_reconnect_choose(const struct hf_url *url,
                              const struct hf_reconnect *given,
                              struct hf_reconnect *policy,
                              struct hf_error *error);

#endif
