/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A watch of the queues of a name.  Each of them is a part, with a wait of the
 * core until it has changed.  When one has changed, a round begins: for each
 * part that has, one after the other, the wait is set again, and then the queue
 * is listed.  What has happened is handed out by a callback.  The next round
 * begins when that has returned and the pace allows it.
 *
 *   IDLE       every part was listed, and waits for a change; or one has
 *              changed, and the pace has the round wait
 *   LISTING    a round is under way: the step of .current
 *   REPORTING  it has ended, and its events are handed out
 *   STOPPED    it was freed, or has failed; nothing is begun any more
 *
 * A watch is kept alive by the user's handle, by its callback while that is
 * queued or runs, and by each operation of the core, and list, until it is
 * done.
 */
#ifndef HF_CLIENT_QUEUE_WATCH_H
#define HF_CLIENT_QUEUE_WATCH_H

#include <holdfast/queue_watch.h>

#include "client/list_pace.h"
#include "client/lock.h"
#include "client/queue_op.h"
#include "client/watched_queue.h"
#include "core/operation.h"
#include "operation/user_callback.h"

/* The queues of one name, in the order in which they are listed.  A semaphore's
 * waiters come before its holders: a waiter that is granted in between is then
 * in both, and not in none. */
enum hf_queue_part {
    HF_QUEUE_PART_LOCK,
    HF_QUEUE_PART_WAITERS,
    HF_QUEUE_PART_HOLDERS,
    HF_QUEUE_PART_PARTICIPANTS,
    HF_QUEUE_PARTS
};

/* The wait of a part until it has changed. */
enum hf_queue_wait {
    HF_QUEUE_WAIT_NONE,
    HF_QUEUE_WAIT_ASKED, /* the engine has not answered yet */
    HF_QUEUE_WAIT_SET,   /* a change ends it */
    HF_QUEUE_WAIT_ENDED  /* the core is not done with the operation yet */
};

enum hf_queue_watch_state {
    HF_QUEUE_WATCH_IDLE,
    HF_QUEUE_WATCH_LISTING,
    HF_QUEUE_WATCH_REPORTING,
    HF_QUEUE_WATCH_STOPPED
};

/* All fields under the client's lock, but .known: the callback has that while
 * it runs. */
struct hf_watched_part {
    struct hf_queue_watch *watch; /* set once, as the next four */
    struct hf_lock *lock;
    const char *queue;
    enum hf_ticket_kind ticket_kind; /* PARTICIPANT, or 0 */
    enum hf_tickets_which which;
    bool used;     /* it was asked for, and the engine has such queues */
    bool due;      /* it is to be listed in the next round */
    bool in_round; /* it has to be listed in the round under way */
    enum hf_queue_wait wait;
    struct hf_operation operation; /* the wait, unless that is NONE */
    struct hf_queue_op *list;      /* under way, with a reference; or NULL */
    struct hf_tickets *fresh;      /* what it brought; the report takes it */
    struct hf_watched_queue known;
    uint64_t listed_at_ms; /* CLOCK_BOOTTIME */
    uint64_t listed_at_utc_ms;
};

/* All fields under the client's lock. */
struct hf_queue_watch {
    struct hf_client *client; /* set once, as the next two */
    struct hf_lock *lock, *semaphore, *barrier;
    struct hf_on_queue_event on_event;
    unsigned references;
    enum hf_queue_watch_state state;
    struct hf_watched_part parts[HF_QUEUE_PARTS];
    struct hf_watched_part *current; /* LISTING: whose step is under way */
    bool again; /* LISTING: begin the round anew after this step, because there
                   was no connection meanwhile */
    struct hf_list_pace pace;

    /* Events may have been missed: since the last round began; and before the
     * list of the round under way, as .round_resumed. */
    bool gap, round_gap;
    bool suspended; /* there is no connection */
    bool suspended_reported;
    bool resumed, round_resumed; /* there is one again */
    bool first_reported;         /* the first round was */
    bool round_had_events;       /* one was handed out */
    int reporting;               /* the part whose events are handed out */
    bool ended;                  /* it has failed: .why */
    bool end_reported;
    struct hf_error why;

    struct hf_callback callback; /* hands out the events */
    struct hf_user_callback user;
    struct hf_deferred_free deferred;
    struct hf_queue_watch *next; /* in the client's list, unless STOPPED */
};

/* ------------------------------------------------------ of a client -- */

/* All with the client's lock. */

/* When a round of one of the watches of ${client} is due; begin those that
 * are. */
uint64_t hf_queue_watches_due_at_ms(const struct hf_client *client);
void hf_queue_watches_run_due(struct hf_client *client);

/* The session of ${client} is ${state} now. */
void hf_queue_watches_notify(struct hf_client *client, enum hf_state state);

/* ${client} is closed, or its descriptors are: end its watches with HF_ECLOSED
 * and ${text}. */
void hf_queue_watches_end(struct hf_client *client, const char *text);

/* Carry out ${effect} of an operation that waits until a queue has changed. */
void hf_queue_watch_handle_effect(const struct hf_effect *effect);

/* ----------------------------------------------------- rounds and report -- */

/* Keep it alive, and drop a reference.  With the lock. */
void hf_queue_watch_reference(struct hf_queue_watch *watch);
void hf_queue_watch_dereference(struct hf_queue_watch *watch);

/* Begin to watch; end that.  The latter may be repeated.  With the lock. */
void hf_queue_watch_start(struct hf_queue_watch *watch);
void hf_queue_watch_stop(struct hf_queue_watch *watch);

/* Something is to be reported: queue the callback.  With the lock. */
void hf_queue_watch_report(struct hf_queue_watch *watch);

/* The events of the round were handed out.  With the lock. */
void hf_queue_watch_reported(struct hf_queue_watch *watch);

/* The .run of the callback: hand out what is to be reported. */
void hf_queue_watch_run_events(void *watch);

/* The ticket at ${index} of all its queues, holders of a semaphore before its
 * waiters; NULL beyond the last.  Only in the callback, at HF_QUEUE_LISTED. */
const struct hf_ticket_view *
hf_queue_watch_at(const struct hf_queue_watch *watch, size_t index);

#endif
