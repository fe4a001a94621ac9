/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of a program that has no .on_log: lines on stderr, if HOLDFAST_LOG
 * asks for them.
 *
 *     HOLDFAST_LOG=debug        holdfast[4711]: debug: "a" was granted ...
 *     HOLDFAST_LOG=info,json    {"time":"2026-11-21T16:33:00Z", ...}
 */
#ifndef HF_MONITOR_LOG_DEFAULT_H
#define HF_MONITOR_LOG_DEFAULT_H

#include <holdfast/client.h>

/* ${on_log} if it has a function.  Otherwise the one that HOLDFAST_LOG asks
 * for, or none.  A set-user-id program ignores the variable. */
struct hf_on_log hf_log_choose(struct hf_on_log on_log);

/* Does HOLDFAST_LOG ask for a log? */
bool hf_log_is_chosen(void);

#endif
