/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the monitor share with one another.  All functions are
 * called with the lock.
 *
 * In the list dispatch.c, loop_poller.c, close.c, waiter.c, monitor.c,
 * poller.c, ready.c, descriptors.c, lifetime.c, monitor_lock.c each calls only
 * those behind it.
 */
#ifndef HF_MONITOR_MONITOR_PRIVATE_H
#define HF_MONITOR_MONITOR_PRIVATE_H

#include "monitor/monitor.h"

/* The lock was taken, also by a wait on a condition: nothing is known of what
 * happened before. */
void hf_monitor_locked(struct hf_monitor *monitor);

/* Are the descriptors still those of the monitor?  If the program has closed
 * them, everything is given up.  Ask before the loop is run and before a
 * descriptor is used after a sleep; they are looked at once while the lock is
 * held. */
bool hf_monitor_has_descriptors(struct hf_monitor *monitor);

/* Release the lock, sleep until the loop's descriptor or ${fd} is readable, the
 * descriptors are closed, or it is time to look whether they are, and take the
 * lock again.  The loop must be created, and may be gone afterwards. */
void hf_monitor_sleep(struct hf_monitor *monitor, int fd);

/* Emit the log lines that were written.  Releases the lock meanwhile. */
void hf_monitor_emit_log(struct hf_monitor *monitor);

/* Release the lock, then destroy the deferred objects.  This may free the
 * monitor. */
void hf_monitor_unlock_and_free(struct hf_monitor *monitor);

/* Destroy the deferred objects.  Releases the lock meanwhile. */
void hf_monitor_free_deferred(struct hf_monitor *monitor);

/* Our handles are off the borrowed loop: go on with the end. */
void hf_monitor_borrowed_loop_closed(struct hf_monitor *monitor);

/* If the end is reached and no thread polls the loop any more, close the
 * owner's handles on it and the loop.  Each thread that stops using the loop
 * calls this. */
void hf_monitor_try_close_loop(struct hf_monitor *monitor);

#endif
