/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A handle: its references, its timers, and the public calls that only read it
 * or pass a call on to the monitor or the listeners.
 */
#include "zookeeper_client/zookeeper_handle.h"

#include <stddef.h>

#include "base/container_of.h"
#include "base/error.h"
#include "base/memory.h"

void hf_zookeeper_changed(struct hf_zookeeper *zookeeper)
{
    hf_zk_io_run_soon(zookeeper->io);
}

void hf_zookeeper_connect_again(struct hf_zookeeper *zookeeper)
{
    if (!zookeeper->queue.given_up || hf_zookeeper_is_closing(zookeeper))
        return;
    hf_zk_op_queue_reconnect(&zookeeper->queue, hf_now_ms());
    hf_zookeeper_changed(zookeeper);
}

const char *hf_zookeeper_connection_error(const struct hf_zookeeper *zookeeper)
{
    return zookeeper->begun ? zookeeper->session->connectivity.error : "";
}

bool hf_zookeeper_is_closing(const struct hf_zookeeper *zookeeper)
{
    return zookeeper->monitor->state != HF_MONITOR_OPEN ||
           zookeeper->shared.closing;
}

/* ------------------------------------------------------------- lifetime -- */

/* Each reference is a reference to the monitor, too.  A handle with a session
 * of its own is freed together with its monitor; a shared handle is freed when
 * .references becomes 0. */
void hf_zookeeper_reference(struct hf_zookeeper *zookeeper)
{
    zookeeper->shared.references++;
    hf_monitor_reference(zookeeper->monitor);
}

/* Drop a reference.  True if the caller has to free ${zookeeper}. */
static bool drop_reference(struct hf_zookeeper *zookeeper)
{
    return --zookeeper->shared.references == 0 &&
           zookeeper->shared.client != NULL;
}

void hf_zookeeper_dereference(struct hf_zookeeper *zookeeper)
{
    struct hf_monitor *monitor = zookeeper->monitor;

    if (drop_reference(zookeeper))
        hf_free(zookeeper);
    hf_monitor_dereference(monitor);
}

void hf_zookeeper_release(struct hf_zookeeper *zookeeper)
{
    struct hf_monitor *monitor = zookeeper->monitor;
    bool last;

    if (hf_fork_is_child(&monitor->fork))
        return;
    pthread_mutex_lock(&monitor->lock);
    last = drop_reference(zookeeper);
    pthread_mutex_unlock(&monitor->lock);
    if (last)
        hf_free(zookeeper);
    hf_monitor_release(monitor);
}

/* ---------------------------------------------------------- public calls -- */

enum hf_state hf_zookeeper_state(const struct hf_zookeeper *zookeeper)
{
    return hf_state_listeners_state(&zookeeper->listeners);
}

hf_status hf_zookeeper_add_listener(struct hf_zookeeper *zookeeper,
                                    struct hf_on_state on_state,
                                    struct hf_listener **listener)
{
    return hf_state_listeners_add(
        &zookeeper->listeners, "hf_zookeeper_add_listener", on_state, listener);
}

void hf_zookeeper_remove_listener(struct hf_zookeeper *zookeeper,
                                  struct hf_listener *listener)
{
    hf_state_listeners_remove(&zookeeper->listeners, listener);
}

bool hf_zookeeper_is_read_only(const struct hf_zookeeper *zookeeper)
{
    struct hf_error error;
    bool read_only;

    if (hf_fork_check(&zookeeper->monitor->fork, &error) != HF_OK)
        return false;
    hf_monitor_lock(zookeeper->monitor);
    read_only = zookeeper->begun && hf_zk_session_read_only(zookeeper->session);
    pthread_mutex_unlock(&zookeeper->monitor->lock);
    return read_only;
}

size_t hf_zookeeper_unreadable(const struct hf_zookeeper *zookeeper)
{
    struct hf_error error;
    size_t unreadable;

    if (hf_fork_check(&zookeeper->monitor->fork, &error) != HF_OK)
        return 0;
    hf_monitor_lock(zookeeper->monitor);
    unreadable = zookeeper->unreadable;
    pthread_mutex_unlock(&zookeeper->monitor->lock);
    return unreadable;
}

int hf_zookeeper_fd(const struct hf_zookeeper *zookeeper)
{
    return hf_monitor_dispatch_fd(zookeeper->monitor);
}

hf_status hf_zookeeper_dispatch(struct hf_zookeeper *zookeeper)
{
    return hf_monitor_dispatch(zookeeper->monitor, "hf_zookeeper_dispatch");
}

/* ---------------------------------------------------------------- timers -- */

/* The timers are in a heap by the time when they are due.  The monitor asks for
 * the earliest one whenever it is about to sleep. */

void hf_zookeeper_timer_set(struct hf_zookeeper *zookeeper,
                            struct hf_zookeeper_timer *timer, uint64_t at_ms)
{
    hf_heap_remove(&timer->node);
    if (at_ms == HF_FOREVER)
        return;
    hf_heap_add(&zookeeper->timers, &timer->node, at_ms, 0);
    /* Notifies a polling thread that it must wake up earlier. */
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
    return hf_heap_first_key(&zookeeper->timers);
}

/* The loop ends because a function that sets its timer again sets it to a later
 * time. */
void hf_zookeeper_timers_run(struct hf_zookeeper *zookeeper)
{
    uint64_t now_ms = hf_now_ms();
    struct hf_heap_node *first;

    while ((first = zookeeper->timers.first) != NULL && first->key <= now_ms) {
        struct hf_zookeeper_timer *timer =
            container_of(first, struct hf_zookeeper_timer, node);

        hf_heap_remove(first);
        timer->fn(timer->arg);
    }
}
