/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the monitor share with one another.  All functions are
 * called with the lock.
 */
#ifndef HF_MONITOR_MONITOR_PRIVATE_H
#define HF_MONITOR_MONITOR_PRIVATE_H

#include "monitor/monitor.h"

/* Release the lock, sleep until the loop's descriptor or ${fd} is readable, and
 * take the lock again.  The loop must be created. */
void hf_monitor_sleep(struct hf_monitor *monitor, int fd);

/* Destroy the deferred objects.  Releases the lock meanwhile. */
void hf_monitor_free_deferred(struct hf_monitor *monitor);

/* Our handles are off the borrowed loop: go on with the end. */
void hf_monitor_borrowed_loop_closed(struct hf_monitor *monitor);

/* Begin to take our handles off the borrowed loop, on the thread that runs
 * it. */
void hf_monitor_close_borrowed_loop(struct hf_monitor *monitor);

/* If the end is reached and no thread polls the loop any more, close the
 * owner's handles on it and the loop.  Each thread that stops using the loop
 * calls this. */
void hf_monitor_try_close_loop(struct hf_monitor *monitor);

/* The .run of the last callback; ${monitor} is the monitor. */
void hf_monitor_run_close(void *monitor);

#endif
