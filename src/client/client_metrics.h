/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client counts: its session and its requests.  Its grants are in
 * grant_metrics.c.  A client that does not count has no block, and counting
 * ends with that one comparison.
 *
 * And the events of locks that the user is to be called with (.on_event).  They
 * happen with the client's lock, where nobody may wait for the user, so they
 * are kept in a bounded queue that a callback empties.
 *
 * All with the client's lock, where nothing else is said.
 */
#ifndef HF_CLIENT_CLIENT_METRICS_H
#define HF_CLIENT_CLIENT_METRICS_H

#include <holdfast/client.h>

#include "core/engine.h"
#include "metrics/metrics_file.h"
#include "monitor/callback_queue.h"

/* How many events may wait: enough for a client that is closed with that many
 * locks. */
#define HF_LOCK_EVENTS_MAX 65536

struct hf_monitor;
struct hf_client;
struct hf_waiting_lock_event;

/* All fields under the client's lock, where nothing else is said. */
struct hf_lock_events {
    struct hf_monitor *monitor;  /* the client's; set once */
    struct hf_on_event on_event; /* the user's; .fn is NULL: none, or no more */
    struct hf_callback callback;
    struct hf_waiting_lock_event *first, **end;
    unsigned count; /* events in the queue */
    unsigned lost;  /* found no room or no memory since the callback ran */
};

struct hf_client_metrics {
    struct hf_metrics_file file; /* .block is NULL: nothing is counted */
    struct hf_metrics_name name; /* the user's */
    struct hf_lock_events events;
    bool connected; /* there was a connection */
    /* The request whose answer is timed, one at a time as BSD's TCP does it
     * (t_rtttime); NULL: none.  It is only compared. */
    const struct hf_request *timed;
    uint64_t timed_us; /* of hf_boottime_us(); when it was sent */
};

/* Begin to count, if ${opts} ask for it, and to report events.  If that is
 * impossible in the directory, log it.
 *   Fails     HF_ENOMEM. */
hf_status hf_client_metrics_open(struct hf_client *client,
                                 const struct hf_client_opts *opts,
                                 struct hf_error *error);

/* Count and report nothing from now on, after what waits to be reported.
 * Releases the lock meanwhile.  Idempotent. */
void hf_client_metrics_close(struct hf_client *client);

bool hf_client_metrics_on(const struct hf_client *client);

/* Set ${ref} to the name in metrics of a lock called ${name}; the text of
 * ${ref} is written to ${text}.  Calls the user, so no lock may be held. */
void hf_client_metrics_name(const struct hf_client *client, const char *name,
                            char text[HF_METRICS_NAME_BYTES],
                            struct hf_metrics_name_ref *ref);

/* Counters have changed: keep them in the file, if there is one. */
void hf_client_metrics_keep(struct hf_client *client);

/* ${request} is handed to the engine. */
void hf_client_metrics_request(struct hf_client *client,
                               const struct hf_request *request);

/* The core has taken a step.  If it has cut searches for deadlocks short,
 * because they would have had to read too much, count them, and log the first
 * one. */
void hf_client_metrics_cut_searches(struct hf_client *client);

/* The engine reports ${event}, and the core has not seen it yet. */
void hf_client_metrics_event(struct hf_client *client,
                             const struct hf_event *event);

/* ------------------------------------------------------ events of locks -- */

void hf_lock_events_init(struct hf_lock_events *events,
                         struct hf_monitor *monitor,
                         struct hf_on_event on_event);

/* Queue a copy of ${event} and of its name for the user's function; nothing if
 * there is no such function.  Without room or memory the event is counted as
 * lost. */
void hf_lock_events_add(struct hf_lock_events *events,
                        const struct hf_lock_event *event);

/* All callbacks have run: call the user's function with what is left, and never
 * again.  Releases the lock meanwhile.  Idempotent. */
void hf_lock_events_close(struct hf_lock_events *events);

#endif
