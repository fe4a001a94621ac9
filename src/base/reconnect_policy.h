/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy of reconnecting (struct hf_reconnect), as URLs give it:
 *
 *     retry=forever          the default
 *     retry=never            one attempt
 *     retry=once             one retry, after a second
 *     retry=[Nx]PAUSE[..PAUSE][/TOTAL]
 *
 * At most N retries, each after PAUSE, or after pauses that double from the
 * first PAUSE to the second, and none later than TOTAL after the first attempt
 * failed.
 */
#ifndef HF_BASE_RECONNECT_POLICY_H
#define HF_BASE_RECONNECT_POLICY_H

#include <holdfast/holdfast.h>

#include "base/url.h"

#define HF_RECONNECT_OPTION "retry"

/* No pause is longer than a second, because a client that waits for a restart
 * of its server should not wait much longer than the restart takes. */
extern const struct hf_reconnect hf_reconnect_default;

/* Set ${policy} to what ${url} says, else to ${given}, else (NULL) to the
 * default.  HF_EURL, with a text that says what is expected. */
hf_status hf_reconnect_choose(const struct hf_url *url,
                              const struct hf_reconnect *given,
                              struct hf_reconnect *policy,
                              struct hf_error *error);

#endif
