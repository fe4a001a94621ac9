/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A watch of everything that is called by one name: who comes into the queue,
 * who is granted, and who goes.
 *
 *     static void on_event(void *arg, const struct hf_queue_event *event)
 *     {
 *         if (event->kind == HF_QUEUE_GRANTED)
 *             printf("%s holds it\n", event->ticket->owner);
 *     }
 *
 *     const struct hf_on_queue_event on = {on_event, NULL, NULL};
 *     struct hf_queue_watch *watch;
 *
 *     if (hf_queue_watch_open(client, "nightly", NULL, on, &watch) != HF_OK)
 *         return;
 *     pause();
 *     hf_queue_watch_free(watch);
 *
 * The queue is listed once, and again after the engine has reported that it has
 * changed.  The events are what differs between two lists.
 *
 * Cost       While nothing changes, ZooKeeper, etcd and files are sent nothing;
 *            Redis and PostgreSQL list the queue again every 5 seconds, or each
 *            ttl/2 if that is less.  The queue is listed at most every 20
 *            milliseconds.  In the long run lists take a tenth of the time at
 *            most, and up to a second more after a quiet time; no pause is
 *            longer than half a minute.  So the watch of a long, busy queue
 *            reports late.
 * Gaps       A ticket that comes and goes between two lists is not seen.
 *            HF_QUEUE_GAP comes before the events of a list that was made more
 *            than 50 milliseconds after the client had noticed the change,
 *            behind a callback that ran for longer, after an outage, or after a
 *            list for which there was no memory.  It comes once, and not before
 *            the first list.  A process that does not run notices nothing.
 *            Files without room for inotify are looked at once a second.
 * Memory     What is known of each ticket, and one list.  No event waits for
 *            a slow callback: the next list is made when it has returned.  On
 *            files a watch takes a descriptor for each of the first 64 tickets,
 *            and the death of a ticket behind them is noticed when it would be
 *            its turn.
 * Texts      The text of each ticket is read once, at most 1,000 with one
 *            list, from the head of the queue on.  A ticket is reported when
 *            its text is there, and not at all if it has gone by then.
 */
#ifndef HOLDFAST_QUEUE_WATCH_H
#define HOLDFAST_QUEUE_WATCH_H

#include <holdfast/tickets.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Opaque: a watch of a name. */
struct hf_queue_watch;

/* The queues of a name.  May be ORed.  Each of them is a watch at the engine,
 * and one list at the beginning. */
enum hf_queue_watch_queues {
    HF_QUEUE_ALL = 0,
    HF_QUEUE_LOCK = 1,        /* mutexes, readers and writers, elections */
    HF_QUEUE_SEMAPHORE = 2,   /* those that have permits, and those that wait */
    HF_QUEUE_PARTICIPANTS = 4 /* of a double barrier */
};

struct hf_queue_watch_opts {
    size_t size;     /* set by HF_QUEUE_WATCH_OPTS_INIT */
    uint64_t queues; /* of enum hf_queue_watch_queues: those to watch */
};
#define HF_QUEUE_WATCH_OPTS_INIT                                               \
    {                                                                          \
        sizeof(struct hf_queue_watch_opts), HF_QUEUE_ALL                       \
    }

/**
 * hf_queue_watch_opts_init(opts, size):
 * As hf_client_opts_init(), to HF_QUEUE_WATCH_OPTS_INIT.
 *   Thread    any.
 */
HF_API void hf_queue_watch_opts_init(struct hf_queue_watch_opts *opts,
                                     size_t size) HF_NONNULL(1);

enum hf_queue_event_kind {
    /* About .ticket: */
    HF_QUEUE_THERE = 1, /* it was there when the watch began */
    HF_QUEUE_CAME = 2,  /* it has entered the queue, and waits */
    /* It holds the lock now, or is inside a double barrier.  It may not have
     * been seen waiting.  Of a semaphore the ticket that waited goes, and
     * another one, which has the permits, is granted. */
    HF_QUEUE_GRANTED = 3,
    HF_QUEUE_CHANGED = 4, /* a writer has become a reader, or the number of
                             permits is another one */
    /* Somebody asks its owner to release it (hf_lock_revoke()).  No engine
     * reports that, so it comes only if a later list shows it, and often not at
     * all. */
    HF_QUEUE_REVOKED = 5,
    /* It was released, given up or removed, or its session is over: the queue
     * does not say which. */
    HF_QUEUE_GONE = 6,
    /* About the watch: */
    HF_QUEUE_LISTED = 7, /* all events of a list have come: those of the first
                            one, even if it was empty, and of each later one
                            that had any */
    /* Tickets may have come and gone unseen: there was no connection, or the
     * list behind the events that follow was late (see Gaps above). */
    HF_QUEUE_GAP = 8,
    /* There is no connection any more.  It comes once for an outage, also for
     * one during which the watch was opened; not before the client has had its
     * first connection, and not if the outage was over by then. */
    HF_QUEUE_SUSPENDED = 9,
    HF_QUEUE_RESUMED = 10, /* after that: there is one again, and the queue was
                              listed */
    HF_QUEUE_ENDED = 11    /* the last event: the watch has failed, see .why */
};

/* An event, with the instant at which it was noticed: when the list came that
 * shows it. */
struct hf_queue_event {
    enum hf_queue_event_kind kind;
    /* As hf_tickets_at() has it; of HF_QUEUE_GONE as it was last.  NULL of an
     * event about the watch. */
    const struct hf_ticket_view *ticket;
    size_t position;            /* in its queue, from 1; 0 of HF_QUEUE_GONE, and
                                   if there is no ticket */
    uint64_t at_ms;             /* CLOCK_BOOTTIME, in milliseconds */
    uint64_t at_utc_ms;         /* since 1970, by the wall clock, for people */
    const struct hf_error *why; /* HF_QUEUE_ENDED; else NULL */
};

/* Called for each event, one at a time.  ${event}, with all that it points to,
 * is valid until it returns. .drop is called when the watch was freed, or not
 * opened. */
struct hf_on_queue_event {
    void (*fn)(void *arg, const struct hf_queue_event *event);
    void *arg;
    void (*drop)(void *arg);
};

/**
 * hf_queue_watch_open(client, name, opts, on_event, watch):
 * Watch those queues of ${name} that ${opts} say (NULL: all).  The first list
 * is requested and not waited for.  No ticket is made for that.  The watch
 * survives a lost connection and a lost session.  A queue that the engine does
 * not support is left out.
 *   Ownership ${name} and ${opts} are copied.  ${watch} must be freed with
 *             hf_queue_watch_free() and keeps the memory of ${client} alive.
 *   Callback  ${on_event}, from then on: perhaps before this returns; ${watch}
 *             is set by then.  HF_QUEUE_ENDED comes with what
 *             hf_lock_tickets() fails with: HF_EUNREACHABLE if the first
 *             connection was not made in .connect_ms of the client, or its
 *             policy of reconnecting (retry=) gives up; HF_ECLOSED when that is
 *             closed; HF_EUNSUPPORTED if the engine supports none of these
 *             queues, or not any more one that was listed.
 *   Fails     HF_EINVAL if ${on_event} has no function or .queues of ${opts}
 *             says anything else; and as hf_lock_open(); ${watch} is then
 *             NULL.
 */
HF_API hf_status hf_queue_watch_open(struct hf_client *client, const char *name,
                                     const struct hf_queue_watch_opts *opts,
                                     struct hf_on_queue_event on_event,
                                     struct hf_queue_watch **watch)
    HF_NONNULL(1, 2, 5) HF_MUST_CHECK;

/**
 * hf_queue_watch_free(watch):
 * Free ${watch} (NULL is fine).  None of its events comes after this: one that
 * runs has returned, those that were due do not come, and .drop has been
 * called.  Inside a callback of this library this does not wait: a call of
 * ${watch} that runs then, this one or one on another thread, goes on, and
 * .drop comes right after it.  It may be freed before or after the client is
 * closed.
 *   Time      until a call of ${watch} that runs on another thread has
 *             returned.
 */
HF_API void hf_queue_watch_free(struct hf_queue_watch *watch);

#ifdef __cplusplus
}
#endif

#endif
