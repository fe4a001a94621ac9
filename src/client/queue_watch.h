/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A watch of the queues of a name.  For each of them the core waits until it
 * has changed.  Then the queues that have changed are listed again, which is a
 * refresh: one after the other, the wait is set again, and then the queue is
 * listed.  What has happened is handed out by a callback.  The next refresh
 * begins when that has returned and the pace allows it.
 *
 *   IDLE       no queue has changed
 *   PAUSED     one has changed; the pace has the refresh wait
 *   LISTING    a refresh is under way: the step of .current
 *   STALE      the same, and the connection was lost since it began: after this
 *              step it begins anew, with all queues
 *   REPORTING  the lists have come, and their events are handed out
 *   ENDED      it has failed, and that is to be reported
 *   STOPPED    it was freed, or its end was reported
 *
 * The state of each queue, of its wait and of the connection, as the user knows
 * it, are below.  queue_watch_state.c has the legal moves and the invariants;
 * queue_watch_refresh.c makes refreshes; queue_watch_events.c hands out.
 *
 * A watch is kept alive by the user's handle, by its callback while that is
 * queued or runs, and by each operation of the core, and list, until it is
 * done.
 */
#ifndef HF_CLIENT_QUEUE_WATCH_H
#define HF_CLIENT_QUEUE_WATCH_H

#include <holdfast/queue_watch.h>

#include "base/heap.h"
#include "client/list_pace.h"
#include "client/lock.h"
#include "client/queue_op.h"
#include "client/watched_queue.h"
#include "core/operation.h"
#include "operation/user_callback.h"

/* The queues of one name, in the order in which they are listed.  A semaphore's
 * waiters come before its holders: a waiter that is granted in between is then
 * in both, and not in none. */
enum hf_listed_queue_number {
    HF_LISTED_LOCK,
    HF_LISTED_WAITERS,
    HF_LISTED_HOLDERS,
    HF_LISTED_PARTICIPANTS,
    HF_LISTED_QUEUES /* how many there are */
};

enum hf_listed_queue_state {
    HF_LISTED_UNUSED,  /* it was not asked for, or the engine has no such */
    HF_LISTED_CURRENT, /* it was listed, and nothing was reported since */
    HF_LISTED_CHANGED, /* the next refresh lists it */
    HF_LISTED_CHOSEN,  /* the refresh under way lists it */
    /* The same; and it has changed since its list was requested, so the next
     * one lists it, too. */
    HF_LISTED_CHOSEN_AGAIN
};

/* The wait until a queue has changed. */
enum hf_queue_wait_state {
    HF_QUEUE_WAIT_NONE,
    HF_QUEUE_WAIT_REQUESTED, /* the engine has not answered yet */
    HF_QUEUE_WAIT_SET,       /* a change ends it */
    HF_QUEUE_WAIT_ENDED      /* the core is not done with the operation yet */
};

/* The connection, as the user knows it. */
enum hf_queue_watch_link {
    HF_WATCH_LINK_UP,   /* there is one, or the first one is awaited */
    HF_WATCH_LINK_DOWN, /* there is none, and SUSPENDED was not reported yet */
    HF_WATCH_LINK_DOWN_REPORTED,
    HF_WATCH_LINK_BACK,    /* there is one again; everything is to be listed */
    HF_WATCH_LINK_RELISTED /* REPORTING: that was done; RESUMED comes first */
};

enum hf_queue_watch_state {
    HF_QUEUE_WATCH_IDLE,
    HF_QUEUE_WATCH_PAUSED,
    HF_QUEUE_WATCH_LISTING,
    HF_QUEUE_WATCH_STALE,
    HF_QUEUE_WATCH_REPORTING,
    HF_QUEUE_WATCH_ENDED,
    HF_QUEUE_WATCH_STOPPED
};

/* A queue of the name.  All fields under the client's lock, but .known: the
 * callback has that, and reads .fresh, while it runs. */
struct hf_listed_queue {
    struct hf_queue_watch *watch; /* set once, as the next four */
    struct hf_lock *lock;
    const char *name;
    enum hf_ticket_kind ticket_kind; /* PARTICIPANT, or 0 */
    enum hf_tickets_which which;
    unsigned state;                /* enum hf_listed_queue_state */
    unsigned wait;                 /* enum hf_queue_wait_state */
    struct hf_operation operation; /* the wait, unless that is NONE */
    struct hf_queue_op *list;      /* under way, with a reference; or NULL */
    /* What it brought.  It is compared with .known in REPORTING, and freed at
     * the end of that. */
    struct hf_tickets *fresh;
    struct hf_watched_queue known;
    uint64_t listed_at_ms; /* CLOCK_BOOTTIME; 0: no list has come yet */
    uint64_t listed_at_utc_ms;
};

/* A refresh: valid in LISTING, STALE and REPORTING. */
struct hf_queue_refresh {
    struct hf_listed_queue *current; /* LISTING, STALE: whose step it is */
    bool gap;    /* events may have been missed before its lists */
    bool failed; /* a queue was not listed, or not compared, for lack of
                    memory */
    /* REPORTING: how far the callback has come.  Of the callback, while that
     * runs. */
    unsigned reported; /* the queue whose events are handed out; all: it is at
                          the end */
    bool compared;     /* its list was */
    bool had_events;   /* about tickets */
};

/* All fields under the client's lock, but for what others say. */
struct hf_queue_watch {
    struct hf_client *client; /* set once, as the next two */
    struct hf_lock *lock, *semaphore, *barrier;
    struct hf_on_queue_event on_event;
    unsigned references;
    unsigned state; /* enum hf_queue_watch_state */
    unsigned link;  /* enum hf_queue_watch_link */
    struct hf_listed_queue queues[HF_LISTED_QUEUES];
    struct hf_queue_refresh refresh;
    struct hf_error why; /* ENDED; then until it is freed */

    /* Events may have been missed since the last refresh began. */
    bool missed;
    uint64_t refreshes; /* that have not failed, and were reported */
    uint32_t failures;  /* refreshes in a row that have failed */
    struct hf_list_pace pace;
    struct hf_heap_node pause; /* in the client's heap while PAUSED */

    struct hf_callback callback; /* hands out the events */
    struct hf_user_callback user;
    struct hf_deferred_free deferred;
    struct hf_queue_watch *next; /* in the client's list until ENDED */
    struct hf_queue_watch *previous;
};

/* ------------------------------------------------------ of a client -- */

/* All with the client's lock. */

/* Begin the refreshes of ${client} that are due, by .queue_watch_pauses. */
void hf_queue_watches_run_due(struct hf_client *client);

/* The session of ${client} is ${state} now. */
void hf_queue_watches_notify(struct hf_client *client, enum hf_state state);

/* ${client} is closed, or its descriptors are: end its watches with HF_ECLOSED
 * and ${text}. */
void hf_queue_watches_end(struct hf_client *client, const char *text);

/* Carry out ${effect} of an operation that waits until a queue has changed. */
void hf_queue_watch_handle_effect(const struct hf_effect *effect);

/* ---------------------------------------------- states (_state.c) -- */

/* All with the client's lock. */

/* Keep it alive, and drop a reference. */
void hf_queue_watch_reference(struct hf_queue_watch *watch);
void hf_queue_watch_dereference(struct hf_queue_watch *watch);

/* Something is to be reported: queue the callback. */
void hf_queue_watch_report(struct hf_queue_watch *watch);

/* The only functions that change states.  A move that is not legal aborts. */
void hf_queue_watch_move(struct hf_queue_watch *watch,
                         enum hf_queue_watch_state state);
void hf_queue_watch_move_link(struct hf_queue_watch *watch,
                              enum hf_queue_watch_link link);
void hf_listed_queue_move(struct hf_listed_queue *queue,
                          enum hf_listed_queue_state state);
void hf_listed_queue_move_wait(struct hf_listed_queue *queue,
                               enum hf_queue_wait_state wait);

/* Is a refresh under way, whose lists have not all come: LISTING or STALE?
 * Is it over: ENDED or STOPPED? */
bool hf_queue_watch_is_listing(const struct hf_queue_watch *watch);
bool hf_queue_watch_is_over(const struct hf_queue_watch *watch);

/* Assert the invariants. */
void hf_queue_watch_check(const struct hf_queue_watch *watch);

/* ---------------------------------------- refreshes (_refresh.c) -- */

/* All with the client's lock. */

/* Begin to watch; end that.  The latter may be repeated. */
void hf_queue_watch_start(struct hf_queue_watch *watch);
void hf_queue_watch_stop(struct hf_queue_watch *watch);

/* The list of ${queue} could not be compared for lack of memory. */
void hf_queue_watch_list_failed(struct hf_listed_queue *queue);

/* The events of the refresh were handed out. */
void hf_queue_watch_reported(struct hf_queue_watch *watch);

/* ------------------------------------------- events (_events.c) -- */

/* The .run of the callback: hand out what is to be reported. */
void hf_queue_watch_run_events(void *watch);

/* The ticket at ${index} of all its queues, holders of a semaphore before its
 * waiters; NULL beyond the last.  Only in the callback, at HF_QUEUE_LISTED. */
const struct hf_ticket_view *
hf_queue_watch_at(const struct hf_queue_watch *watch, size_t index);

#endif
