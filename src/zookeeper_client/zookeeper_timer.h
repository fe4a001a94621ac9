/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timers of the parts of a handle, such as the next attempt of a registration.
 * Each is embedded in the object that it is about, so that setting it needs no
 * memory.
 */
#ifndef HF_ZOOKEEPER_CLIENT_ZOOKEEPER_TIMER_H
#define HF_ZOOKEEPER_CLIENT_ZOOKEEPER_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/heap.h"

struct hf_zookeeper;

/* Set .fn and .arg; zeroed otherwise, it is not set.  Under the monitor's
 * lock. */
struct hf_zookeeper_timer {
    void (*fn)(void *arg); /* with the lock, once for each time it was set */
    void *arg;
    struct hf_heap_node node; /* in .timers of the handle */
};

/* All with the lock. */

/* Have .fn of ${timer} called at ${at_ms} (HF_FOREVER: never), by hf_now_ms(),
 * instead of when it was set to before. */
void hf_zookeeper_timer_set(struct hf_zookeeper *zookeeper,
                            struct hf_zookeeper_timer *timer, uint64_t at_ms);

/* Have it not called.  Nothing happens if it is not set. */
void hf_zookeeper_timer_stop(struct hf_zookeeper_timer *timer);

bool hf_zookeeper_timer_is_set(const struct hf_zookeeper_timer *timer);

/* When the first timer is due, or HF_FOREVER; call those that are due. */
uint64_t hf_zookeeper_timers_due_at_ms(const struct hf_zookeeper *zookeeper);
void hf_zookeeper_timers_run(struct hf_zookeeper *zookeeper);

#endif
