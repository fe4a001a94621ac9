/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A handle of a user on a ZooKeeper session: the session, its I/O, the
 * operations under way, and the listeners.  A monitor guards all of it, as it
 * does for a client of locks (client/client.h).  All of it is the handle's own;
 * or the session, its I/O and the monitor are those of a client of locks
 * (zookeeper_shared.c).
 */
#ifndef HF_ZOOKEEPER_CLIENT_ZOOKEEPER_HANDLE_H
#define HF_ZOOKEEPER_CLIENT_ZOOKEEPER_HANDLE_H

#include <holdfast/zookeeper.h>

#include "base/heap.h"
#include "client/client.h"
#include "monitor/monitor.h"
#include "operation/state_listener.h"
#include "zookeeper/op_queue.h"
#include "zookeeper/zk_url.h"
#include "zookeeper_io/zk_io.h"

/* The fields that only a handle on the session of a client of locks needs. */
struct hf_zookeeper_shared {
    struct hf_client *client;    /* NULL: the session is the handle's own */
    struct hf_session_user user; /* .client has it until the close has ended */
    /* The user's, one of each object that uses the handle (operation, watch,
     * retry, registration, cache, wait), and one of the queue until nothing is
     * unanswered. */
    unsigned references;
    bool closing;         /* the close has begun */
    bool closed;          /* all callbacks have run */
    bool awaited;         /* a thread waits in hf_zookeeper_close() and drops
                             the user's reference */
    uint64_t close_by_ms; /* while .closing: what is unanswered then ends */
    struct hf_waiter *waiter; /* of that thread; NULL: none, or answered */
    struct hf_callback closed_callback; /* the last callback of the handle */
};

/* A timer of a part of a handle, such as the next attempt of a registration.
 * It is embedded in the object that it is about, so that setting it needs no
 * memory.  Set .fn and .arg; zeroed otherwise, it is not set.  Under the
 * monitor's lock. */
struct hf_zookeeper_timer {
    void (*fn)(void *arg); /* with the lock, once for each time it was set */
    void *arg;
    struct hf_heap_node node; /* in .timers of the handle */
};

struct hf_zookeeper_retry;

/* The retries of a handle (zookeeper_retry.h), and what they know of the
 * session. */
struct hf_zookeeper_retries {
    struct hf_zookeeper_retry *first;
    size_t background_count; /* retries that may go on although nobody waits for
                                them */
    int64_t session;         /* the id of the session that was connected last */
    int64_t previous; /* the id of the session before that; 0: there was none */
    uint64_t timeout_ms; /* of .session, in milliseconds */
};
struct hf_zookeeper_registration;

/* All fields are used under the monitor's lock, unless something else is
 * said. */
struct hf_zookeeper {
    struct hf_monitor *monitor;
    struct hf_zk_session *session;
    struct hf_zk_io *io;
    bool begun; /* .session is there, and not closed if it is a client's */
    struct hf_zookeeper_shared shared;
    struct { /* what the pointers above point to; a shared handle uses only the
                path and the access list in .config */
        struct hf_monitor monitor;
        struct hf_zk_url_config config; /* .session has a pointer to it */
        struct hf_zk_session session;
        struct hf_zk_io io;
    } own;
    struct hf_engine_host host; /* of .io */
    char *description;          /* the URL without credentials and options */
    struct hf_zk_op_queue queue;
    struct hf_zookeeper_retries retries;
    struct hf_zk_listener listener; /* of .session, after that of .queue */
    /* Notified of .up, .suspended, .gave_up and .closed, the last of which
     * comes when the handle is closed, too. */
    struct hf_zk_listeners parts;
    struct hf_state_listeners listeners;
    struct hf_zk_op_context context;
    size_t unreadable;     /* watches whose .unreadable is set */
    struct hf_heap timers; /* by their instants */
    struct hf_zookeeper_registration *registrations;
    uint64_t connect_ms;
    struct hf_reconnect reconnect; /* the user's policy */
    struct hf_done close_done;     /* of hf_zookeeper_close_start() */
};

/* Why ${zookeeper} has no connection; "" while it has one, or if that is not
 * known.  With the lock. */
const char *hf_zookeeper_connection_error(const struct hf_zookeeper *zookeeper);

/* Has the close of the handle, or of the client whose session it uses, begun?
 * With the lock. */
bool hf_zookeeper_is_closing(const struct hf_zookeeper *zookeeper);

/* Add a reference, which keeps ${zookeeper} and its monitor alive; drop it.  As
 * hf_monitor_reference(), hf_monitor_dereference() and hf_monitor_release(). */
void hf_zookeeper_reference(struct hf_zookeeper *zookeeper);
void hf_zookeeper_dereference(struct hf_zookeeper *zookeeper);
void hf_zookeeper_release(struct hf_zookeeper *zookeeper);

/* The session was given something to send: have the loop send it.  With the
 * lock. */
void hf_zookeeper_changed(struct hf_zookeeper *zookeeper);

/* If the reconnect policy has given up, have the session connect again.  With
 * the lock. */
void hf_zookeeper_connect_again(struct hf_zookeeper *zookeeper);

/* ------------------------------------------------- timers, with the lock -- */

/* Have .fn of ${timer} called at ${at_ms} (HF_FOREVER: never), by hf_now_ms(),
 * instead of the time that it was set to before. */
void hf_zookeeper_timer_set(struct hf_zookeeper *zookeeper,
                            struct hf_zookeeper_timer *timer, uint64_t at_ms);

/* Unset ${timer}, so that .fn is not called.  Does nothing if it is not set. */
void hf_zookeeper_timer_stop(struct hf_zookeeper_timer *timer);

bool hf_zookeeper_timer_is_set(const struct hf_zookeeper_timer *timer);

/* The first one returns when the first timer is due, or HF_FOREVER; the second
 * one calls those that are due. */
uint64_t hf_zookeeper_timers_due_at_ms(const struct hf_zookeeper *zookeeper);
void hf_zookeeper_timers_run(struct hf_zookeeper *zookeeper);

/* What the monitor calls. */
extern const struct hf_monitor_ops hf_zookeeper_monitor_ops;

#endif
