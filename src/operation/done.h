/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reporting the end of an operation to its user (struct hf_done).
 */
#ifndef HF_OPERATION_DONE_H
#define HF_OPERATION_DONE_H

#include <holdfast/client.h>

#include "monitor/monitor.h"

/* Call .fn of ${done} with ${result}, and then its .drop; either may be NULL.
 * In .fn hf_last_error() says the failure, if ${result} is one.  Only from the
 * .run of a callback, or from .ended of the monitor.  With the lock, which is
 * released meanwhile. */
void hf_done_call(struct hf_monitor *monitor, const struct hf_done *done,
                  const struct hf_result *result);

/* Call .drop of ${done}, which may be NULL.  If nothing was begun, that is all
 * that is called.  Without the lock. */
void hf_done_drop(const struct hf_done *done);

/* HF_EINVAL with ${error} if ${done} has no function: "the ${result} would be
 * lost". */
hf_status hf_done_check(const struct hf_done *done, const char *result,
                        struct hf_error *error);

#endif
