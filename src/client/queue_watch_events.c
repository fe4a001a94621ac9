/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The callback of a watch.  It takes one event after the other from what has
 * changed, and calls the function of the user with each.  Nothing is copied or
 * queued for that: between two refreshes nobody else touches what is known of
 * the queues.  So the lists are compared without the lock as well: those of a
 * long queue take a while, and no other user of the client waits for that.
 */
#include <assert.h>
#include <time.h>

#include "base/error.h"
#include "client/queue_watch.h"

/* Events that are handed out in a row: then callbacks of others run. */
#define EVENTS_IN_A_ROW 64

/* ------------------------------------------------- events about tickets -- */

enum outcome {
    EVENT,     /* the event is there */
    NO_EVENT,  /* no ticket has another one */
    NO_MEMORY, /* the list of .reported cannot be compared */
};

/* Compare the list that ${queue} has brought, if it has.  False: no memory. */
static bool compare_list(struct hf_listed_queue *queue)
{
    bool semaphore = queue->lock == queue->watch->semaphore;

    return queue->fresh == NULL ||
           hf_watched_queue_take(&queue->known, queue->fresh, semaphore,
                                 queue->listed_at_ms);
}

/* The next event about a ticket of ${queue}.  False: there is none. */
static bool take_change(struct hf_listed_queue *queue,
                        struct hf_queue_event *event)
{
    struct hf_watched_change change;

    if (!hf_watched_queue_next(&queue->known, queue->listed_at_ms, &change))
        return false;
    *event = (struct hf_queue_event){.kind = change.kind,
                                     .ticket = change.view,
                                     .position = change.position,
                                     .at_ms = queue->listed_at_ms,
                                     .at_utc_ms = queue->listed_at_utc_ms};
    return true;
}

/* The next event about a ticket.  Without the lock. */
static enum outcome take_ticket_event(struct hf_queue_watch *watch,
                                      struct hf_queue_event *event)
{
    struct hf_queue_refresh *refresh = &watch->refresh;

    while (refresh->reported < HF_LISTED_QUEUES) {
        struct hf_listed_queue *queue = &watch->queues[refresh->reported];
        bool was_compared = refresh->compared;

        refresh->compared = true;
        if (!was_compared && !compare_list(queue))
            return NO_MEMORY;
        if (take_change(queue, event)) {
            refresh->had_events = true;
            return EVENT;
        }
        refresh->reported++;
        refresh->compared = false;
    }
    return NO_EVENT;
}

/* ---------------------------------------------- events about the watch -- */

/* Set ${event} to ${kind}, about the watch, now. */
static void set_event(struct hf_queue_event *event,
                      enum hf_queue_event_kind kind)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_REALTIME, &now);
    *event =
        (struct hf_queue_event){.kind = kind,
                                .at_ms = hf_boottime_ms(),
                                .at_utc_ms = (uint64_t)now.tv_sec * 1000 +
                                             (uint64_t)now.tv_nsec / 1000000};
}

/* All events about tickets were handed out: is LISTED to follow? */
static bool end_refresh(struct hf_queue_watch *watch)
{
    const struct hf_queue_refresh *refresh = &watch->refresh;
    bool is_first = watch->refreshes == 0 && !refresh->failed;

    hf_queue_watch_reported(watch);
    return is_first || refresh->had_events;
}

/* REPORTING: the next event of the refresh, as choose_event().  False: it has
 * no other. */
static bool choose_of_refresh(struct hf_queue_watch *watch,
                              struct hf_queue_event *event)
{
    struct hf_queue_refresh *refresh = &watch->refresh;

    if (watch->link == HF_WATCH_LINK_RELISTED) {
        hf_queue_watch_move_link(watch, HF_WATCH_LINK_UP);
        set_event(event, HF_QUEUE_RESUMED);
    } else if (refresh->gap) {
        refresh->gap = false;
        set_event(event, HF_QUEUE_GAP);
    } else if (refresh->reported < HF_LISTED_QUEUES) {
        *event = (struct hf_queue_event){.kind = 0};
    } else if (end_refresh(watch)) {
        set_event(event, HF_QUEUE_LISTED);
    } else {
        return false;
    }
    return true;
}

/* Choose the next event; .kind 0: it is one about a ticket, if there is any.
 * False: there is nothing to report.  With the lock. */
static bool choose_event(struct hf_queue_watch *watch,
                         struct hf_queue_event *event)
{
    if (hf_user_callback_is_retired(&watch->user))
        return false;
    if (watch->state == HF_QUEUE_WATCH_REPORTING &&
        choose_of_refresh(watch, event))
        return true;
    if (watch->state == HF_QUEUE_WATCH_ENDED) {
        hf_queue_watch_move(watch, HF_QUEUE_WATCH_STOPPED);
        set_event(event, HF_QUEUE_ENDED);
        event->why = &watch->why;
        return true;
    }
    if (watch->link != HF_WATCH_LINK_DOWN || hf_queue_watch_is_over(watch))
        return false;
    hf_queue_watch_move_link(watch, HF_WATCH_LINK_DOWN_REPORTED);
    set_event(event, HF_QUEUE_SUSPENDED);
    return true;
}

/* ------------------------------------------------------------- callback -- */

/* Hand out ${event}, or the next one about a ticket.  Without the lock. */
static enum outcome hand_out(struct hf_queue_watch *watch,
                             struct hf_queue_event *event)
{
    enum outcome outcome = EVENT;

    if (event->kind == 0)
        outcome = take_ticket_event(watch, event);
    if (outcome != EVENT)
        return outcome;
    if (event->why != NULL)
        hf_last_error_report(event->why->status, event->why->text);
    watch->on_event.fn(watch->on_event.arg, event);
    return EVENT;
}

/* The watch may have ended meanwhile.  On a borrowed loop nothing was noticed
 * since ${began_ms}. */
static void handed_out(struct hf_queue_watch *watch, enum outcome outcome,
                       uint64_t began_ms)
{
    if (outcome == NO_MEMORY && watch->state == HF_QUEUE_WATCH_REPORTING)
        hf_queue_watch_list_failed(&watch->queues[watch->refresh.reported]);
    if (hf_boottime_ms() - began_ms > HF_LIST_PACE_LATE_MS)
        watch->missed = true;
}

void hf_queue_watch_run_events(void *arg)
{
    struct hf_queue_watch *watch = arg;
    struct hf_monitor *monitor = &watch->client->monitor;
    struct hf_queue_event event;
    int count = 0;

    while (count < EVENTS_IN_A_ROW && choose_event(watch, &event)) {
        uint64_t began_ms = hf_boottime_ms();
        enum outcome outcome;

        count++;
        if (!hf_user_callback_enter(&watch->user, monitor))
            break;
        outcome = hand_out(watch, &event);
        if (!hf_user_callback_leave(&watch->user, monitor))
            return; /* in the child of a fork */
        handed_out(watch, outcome, began_ms);
    }
    if (count == EVENTS_IN_A_ROW)
        hf_queue_watch_report(watch);
    hf_queue_watch_dereference(watch);
}

const struct hf_ticket_view *
hf_queue_watch_at(const struct hf_queue_watch *watch, size_t index)
{
    static const enum hf_listed_queue_number order[HF_LISTED_QUEUES] = {
        HF_LISTED_LOCK, HF_LISTED_HOLDERS, HF_LISTED_WAITERS,
        HF_LISTED_PARTICIPANTS};

    for (int i = 0; i < HF_LISTED_QUEUES; i++) {
        const struct hf_watched_queue *known = &watch->queues[order[i]].known;

        if (index < known->count)
            return hf_watched_queue_at(known, index, hf_boottime_ms());
        index -= known->count;
    }
    return NULL;
}
