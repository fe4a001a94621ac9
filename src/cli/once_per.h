/* SPDX-License-Identifier: Apache-2.0 */
/* When a job that is to succeed once in a period is due again. */
#ifndef HF_CLI_ONCE_PER_H
#define HF_CLI_ONCE_PER_H

#include <stdbool.h>
#include <stdint.h>

#include <holdfast/success.h>

/* Instead of a period: one day of the calendar. */
#define HF_ONCE_PER_DAY UINT64_MAX

/* A hundred years. */
#define HF_ONCE_PER_MAX_MS (UINT64_C(36525) * 24 * 3600 * 1000)

/* Is a job too early that has succeeded as ${last} says?  Then ${due_in_ms} is
 * how long it has to wait.  A day of the calendar is that of the time zone of
 * this process; both times are of the engine's clock. */
bool hf_once_per_is_early(uint64_t period_ms, const struct hf_success *last,
                          uint64_t *due_in_ms);

#endif
