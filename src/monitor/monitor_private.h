/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a monitor have of one another.  All with the lock. */
#ifndef HF_MONITOR_MONITOR_PRIVATE_H
#define HF_MONITOR_MONITOR_PRIVATE_H

#include "monitor/monitor.h"

/* Give the lock up, sleep until the loop, which is made, or ${fd} has
 * something, take the lock again. */
void hf_monitor_sleep(struct hf_monitor *monitor, int fd);

/* Destroy what was deferred, giving the lock up meanwhile. */
void hf_monitor_free_deferred(struct hf_monitor *monitor);

/* The borrowed loop has no handles of ours any more: go on with the end. */
void hf_monitor_borrowed_loop_closed(struct hf_monitor *monitor);

/* Begin to take our handles off the borrowed loop, on its thread. */
void hf_monitor_close_borrowed_loop(struct hf_monitor *monitor);

/* If the end has come and nobody polls the loop any more: free that. */
void hf_monitor_try_close_loop(struct hf_monitor *monitor);

/* The last callback. */
void hf_monitor_run_close(void *monitor);

#endif
