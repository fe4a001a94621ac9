/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The callback of a watch.  It takes one event after the other from what has
 * changed, and calls the function of the user with each.  Nothing is copied or
 * queued for that: between two rounds nobody else touches what is known of the
 * queues.
 */
#include <assert.h>
#include <time.h>

#include "base/error.h"
#include "client/queue_watch.h"

/* Events that are handed out in a row: then callbacks of others run. */
#define EVENTS_IN_A_ROW 64

/* The part whose events are handed out now; NULL: there is none left. */
static struct hf_watched_part *reported_part(struct hf_queue_watch *watch)
{
    return watch->reporting < HF_QUEUE_PARTS ? &watch->parts[watch->reporting]
                                             : NULL;
}

/* Take in the list that ${part} has brought.  Without memory another one has to
 * be made. */
static void take_list(struct hf_watched_part *part)
{
    struct hf_queue_watch *watch = part->watch;
    bool semaphore = part->lock == watch->semaphore;

    if (part->fresh == NULL)
        return;
    if (!hf_watched_queue_take(&part->known, part->fresh, semaphore,
                               part->listed_at_ms)) {
        part->due = watch->gap = true;
        hf_list_pace_want(&watch->pace);
    }
    hf_tickets_free(part->fresh);
    part->fresh = NULL;
}

/* The next event about a ticket.  False: there is none. */
static bool take_change(struct hf_queue_watch *watch,
                        struct hf_queue_event *event)
{
    struct hf_watched_part *part;
    struct hf_watched_change change;

    for (; (part = reported_part(watch)) != NULL; watch->reporting++) {
        take_list(part);
        if (!hf_watched_queue_next(&part->known, part->listed_at_ms, &change))
            continue;
        *event = (struct hf_queue_event){.kind = change.kind,
                                         .ticket = change.view,
                                         .position = change.position,
                                         .at_ms = part->listed_at_ms,
                                         .at_utc_ms = part->listed_at_utc_ms};
        return true;
    }
    return false;
}

/* Set ${event} to ${kind}, about the watch, now. */
static bool set_event(struct hf_queue_event *event,
                      enum hf_queue_event_kind kind)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_REALTIME, &now);
    *event =
        (struct hf_queue_event){.kind = kind,
                                .at_ms = hf_boottime_ms(),
                                .at_utc_ms = (uint64_t)now.tv_sec * 1000 +
                                             (uint64_t)now.tv_nsec / 1000000};
    return true;
}

/* Set ${*flag} to false: was it true? */
static bool take_flag(bool *flag)
{
    bool was_set = *flag;

    *flag = false;
    return was_set;
}

/* The next event of the round.  False: it had no other, and is over. */
static bool take_of_round(struct hf_queue_watch *watch,
                          struct hf_queue_event *event)
{
    bool first = !watch->first_reported;

    if (take_flag(&watch->round_resumed) &&
        take_flag(&watch->suspended_reported))
        return set_event(event, HF_QUEUE_RESUMED);
    if (take_flag(&watch->round_gap))
        return set_event(event, HF_QUEUE_GAP);
    if (take_change(watch, event))
        return watch->round_had_events = true;
    watch->first_reported = true;
    hf_queue_watch_reported(watch);
    return (take_flag(&watch->round_had_events) || first) &&
           set_event(event, HF_QUEUE_LISTED);
}

/* The next event.  False: there is none now. */
static bool take_event(struct hf_queue_watch *watch,
                       struct hf_queue_event *event)
{
    if (hf_user_callback_is_retired(&watch->user))
        return false;
    if (watch->state == HF_QUEUE_WATCH_REPORTING && take_of_round(watch, event))
        return true;
    if (watch->suspended && !watch->suspended_reported && !watch->ended) {
        watch->suspended_reported = true;
        return set_event(event, HF_QUEUE_SUSPENDED);
    }
    if (!watch->ended || watch->end_reported)
        return false;
    watch->end_reported = true;
    (void)set_event(event, HF_QUEUE_ENDED);
    event->why = &watch->why;
    return true;
}

void hf_queue_watch_run_events(void *arg)
{
    struct hf_queue_watch *watch = arg;
    struct hf_monitor *monitor = &watch->client->monitor;
    struct hf_queue_event event;
    uint64_t began_ms;
    int count = 0;

    while (count < EVENTS_IN_A_ROW && take_event(watch, &event)) {
        count++;
        if (!hf_user_callback_enter(&watch->user, monitor))
            break;
        if (event.why != NULL)
            hf_last_error_report(event.why->status, event.why->text);
        began_ms = hf_boottime_ms();
        watch->on_event.fn(watch->on_event.arg, &event);
        if (!hf_user_callback_leave(&watch->user, monitor))
            return; /* in the child of a fork */
        /* On a borrowed loop nothing was noticed meanwhile. */
        if (hf_boottime_ms() - began_ms > HF_LIST_PACE_LATE_MS)
            watch->gap = true;
    }
    if (count == EVENTS_IN_A_ROW)
        hf_queue_watch_report(watch);
    hf_queue_watch_dereference(watch);
}

const struct hf_ticket_view *
hf_queue_watch_at(const struct hf_queue_watch *watch, size_t index)
{
    static const enum hf_queue_part order[HF_QUEUE_PARTS] = {
        HF_QUEUE_PART_LOCK, HF_QUEUE_PART_HOLDERS, HF_QUEUE_PART_WAITERS,
        HF_QUEUE_PART_PARTICIPANTS};

    for (int i = 0; i < HF_QUEUE_PARTS; i++) {
        const struct hf_watched_queue *known = &watch->parts[order[i]].known;

        if (index < known->count)
            return hf_watched_queue_at(known, index, hf_boottime_ms());
        index -= known->count;
    }
    return NULL;
}
