/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of events, and the callback that calls the user with them.
 */
#include "client/lock_events.h"

#include <string.h>

#include "base/memory.h"
#include "monitor/monitor.h"

struct hf_waiting_lock_event {
    struct hf_waiting_lock_event *next;
    struct hf_lock_event event; /* .name is .text */
    char text[];
};

/* ------------------------------------------------------------ the user -- */

/* Take all events out of the queue.  The first of them. */
static struct hf_waiting_lock_event *take(struct hf_lock_events *events)
{
    struct hf_waiting_lock_event *taken = events->first;

    events->first = NULL;
    events->end = &events->first;
    events->count = 0;
    return taken;
}

static void warn_of_lost(struct hf_lock_events *events)
{
    if (events->lost == 0)
        return;
    hf_log_write(&events->monitor->log, HF_LOG_WARNING,
                 "%u events of locks were not reported, because %d waited for "
                 "'on_event' to return, or memory was short",
                 events->lost, HF_LOCK_EVENTS_MAX);
    events->lost = 0;
}

/* Call the user with each, and free it.  In the child of a call that forked the
 * rest is the parent's.  Without the lock. */
static void call(const struct hf_on_event *on_event,
                 const struct hf_monitor *monitor,
                 struct hf_waiting_lock_event *waiting)
{
    struct hf_waiting_lock_event *next;

    for (; waiting != NULL; waiting = next) {
        next = waiting->next;
        on_event->fn(on_event->arg, &waiting->event);
        if (hf_fork_is_child(&monitor->fork))
            return;
        hf_free(waiting);
    }
}

/* The .run of the callback. */
static void run(void *arg)
{
    struct hf_lock_events *events = arg;
    struct hf_monitor *monitor = events->monitor;
    const struct hf_on_event on_event = events->on_event;
    struct hf_waiting_lock_event *taken = take(events);

    warn_of_lost(events);
    if (taken == NULL)
        return;
    hf_monitor_unlock(monitor);
    call(&on_event, monitor, taken);
    hf_monitor_lock(monitor);
}

/* ----------------------------------------------------------- the queue -- */

void hf_lock_events_init(struct hf_lock_events *events,
                         struct hf_monitor *monitor,
                         struct hf_on_event on_event)
{
    *events = (struct hf_lock_events){.monitor = monitor,
                                      .on_event = on_event,
                                      .callback = {.run = run, .arg = events}};
    events->end = &events->first;
}

void hf_lock_events_add(struct hf_lock_events *events,
                        const struct hf_lock_event *event)
{
    size_t bytes = strlen(event->name) + 1;
    struct hf_waiting_lock_event *waiting = NULL;

    if (events->on_event.fn == NULL)
        return;
    if (events->count < HF_LOCK_EVENTS_MAX)
        waiting = hf_alloc(sizeof(*waiting) + bytes);
    if (waiting == NULL) {
        events->lost++;
    } else {
        waiting->next = NULL;
        waiting->event = *event;
        waiting->event.name = waiting->text;
        memcpy(waiting->text, event->name, bytes);
        *events->end = waiting;
        events->end = &waiting->next;
        events->count++;
    }
    hf_monitor_queue(events->monitor, &events->callback);
}

void hf_lock_events_close(struct hf_lock_events *events)
{
    if (events->on_event.fn == NULL)
        return;
    hf_callback_queue_remove(&events->monitor->callback_queue,
                             &events->callback);
    run(events);
    events->on_event.fn = NULL;
}
