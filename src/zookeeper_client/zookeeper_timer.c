/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timers of a handle, in a heap by their instant.  The monitor asks for the
 * first one whenever it is about to sleep.
 */
#include "zookeeper_client/zookeeper_timer.h"

#include <stddef.h>

#include "zookeeper_client/zookeeper_handle.h"

void hf_zookeeper_timer_set(struct hf_zookeeper *zookeeper,
                            struct hf_zookeeper_timer *timer, uint64_t at_ms)
{
    hf_heap_remove(&timer->node);
    if (at_ms == HF_FOREVER)
        return;
    hf_heap_add(&zookeeper->timers, &timer->node, at_ms, 0);
    /* A thread that polls has to know of an earlier instant. */
    if (zookeeper->timers.first == &timer->node)
        zookeeper->monitor->events++;
}

void hf_zookeeper_timer_stop(struct hf_zookeeper_timer *timer)
{
    hf_heap_remove(&timer->node);
}

bool hf_zookeeper_timer_is_set(const struct hf_zookeeper_timer *timer)
{
    return timer->node.heap != NULL;
}

uint64_t hf_zookeeper_timers_due_at_ms(const struct hf_zookeeper *zookeeper)
{
    const struct hf_heap_node *first = zookeeper->timers.first;

    return first != NULL ? first->key : HF_FOREVER;
}

/* This ends, because a timer that its own function sets again is due later. */
void hf_zookeeper_timers_run(struct hf_zookeeper *zookeeper)
{
    size_t offset = offsetof(struct hf_zookeeper_timer, node);
    uint64_t now_ms = hf_now_ms();
    struct hf_heap_node *first;

    while ((first = zookeeper->timers.first) != NULL && first->key <= now_ms) {
        struct hf_zookeeper_timer *timer =
            (struct hf_zookeeper_timer *)(void *)((char *)first - offset);

        hf_heap_remove(first);
        timer->fn(timer->arg);
    }
}
