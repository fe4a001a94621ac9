/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reporting the end of an operation to its user (struct hf_done).
 */
#ifndef HF_OPERATION_DONE_H
#define HF_OPERATION_DONE_H

#include <holdfast/client.h>

#include "monitor/monitor.h"

/* Call .fn of ${done} with ${result}, and then its .drop; either may be NULL.
 * If ${result} is a failure, hf_last_error() has its text inside of .fn.  May
 * be called only from .run of a callback or from .ended of the monitor, with
 * the lock, which is released meanwhile. */
void hf_done_call(struct hf_monitor *monitor, const struct hf_done *done,
                  const struct hf_result *result);

/* Call .drop of ${done}, which may be NULL.  If an operation was not begun,
 * nothing else of ${done} is called.  Call this without the lock. */
void hf_done_drop(const struct hf_done *done);

/* Returns HF_EINVAL and sets ${error} if ${done} has no function, because the
 * ${result} of the operation would be lost. */
hf_status hf_done_check(const struct hf_done *done, const char *result,
                        struct hf_error *error);

#endif
