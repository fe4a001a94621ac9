/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A user's handle on a ZooKeeper session: the session, its I/O, the operations
 * under way, and the listeners.  A monitor (a lock, and the thread or loop that
 * runs callbacks) guards all of it, as for a client of locks (client/client.h).
 * A handle either has a session, I/O and monitor of its own, or it shares those
 * of a client of locks (zookeeper_shared.c).
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

/* The fields of a handle that shares the session of a client of locks.  Other
 * handles use only .references. */
struct hf_zookeeper_shared {
    struct hf_client *client;    /* the client of locks; NULL: the session is
                                    the handle's own */
    struct hf_session_user user; /* by which .client knows the handle, until the
                                    close has ended */
    /* Reference count: one for the user, one for each object that uses the
     * handle (operation, watch, retry, registration, cache, wait), and one for
     * the queue until all that was sent is answered. */
    unsigned references;
    bool closing;         /* the close has begun */
    bool closed;          /* all callbacks have run */
    bool awaited;         /* a thread waits in hf_zookeeper_close() and drops
                             the user's reference */
    uint64_t close_by_ms; /* while .closing: at this time what is not answered
                             yet ends */
    struct hf_waiter *waiter; /* by which that thread waits; NULL: none, or
                                 answered */
    struct hf_callback closed_callback; /* the last callback of the handle */
};

/* A timer of an object of the handle, for example for the next attempt of a
 * registration.  It is embedded in that object, so that setting it needs no
 * memory.  Zero it, and set .fn and .arg; it is then not running.  Used with
 * the monitor's lock. */
struct hf_zookeeper_timer {
    void (*fn)(void *arg); /* called with the lock, once for each time that the
                              timer was set */
    void *arg;
    struct hf_heap_node node; /* in .timers of the handle */
};

struct hf_zookeeper_retry;

/* The retries of a handle (zookeeper_retry.h), and what they know of the
 * session. */
struct hf_zookeeper_retries {
    struct hf_zookeeper_retry *first;
    size_t background_count; /* retries that may go on after their user has
                                stopped waiting */
    int64_t session;         /* the id of the session that was connected last */
    int64_t previous; /* the id of the session before that; 0: there was none */
    uint64_t timeout_ms; /* of .session, in milliseconds */
};
struct hf_zookeeper_registration;

/* A handle.  All fields are used with the monitor's lock. */
struct hf_zookeeper {
    struct hf_monitor *monitor;
    struct hf_zk_session *session;
    struct hf_zk_io *io;
    bool begun; /* .session may be used: it was begun, and has not been closed
                   by the client of locks */
    struct hf_zookeeper_shared shared;
    struct { /* what the pointers above point to if the session is the handle's
                own.  Otherwise only the chroot and the access list of .config
                are used */
        struct hf_monitor monitor;
        struct hf_zk_url_config config; /* .session has a pointer to it */
        struct hf_zk_session session;
        struct hf_zk_io io;
    } own;
    struct hf_engine_host host; /* of .io */
    char *description;          /* the URL without credentials and options */
    struct hf_zk_op_queue queue;
    struct hf_zookeeper_retries retries;
    struct hf_zk_listener listener; /* a listener of .session, behind that of
                                       .queue */
    /* Listeners of the objects of the handle, such as caches.  They are
     * notified of .up, .suspended, .gave_up and .closed.  .closed comes also
     * when only the handle is closed. */
    struct hf_zk_listeners parts;
    struct hf_state_listeners listeners;
    struct hf_zk_op_context context;
    size_t unreadable;     /* watches whose .unreadable is set */
    struct hf_heap timers; /* the timers that are set, by the time when they are
                              due */
    struct hf_zookeeper_registration *registrations;
    uint64_t connect_ms;
    struct hf_reconnect reconnect; /* the user's policy */
    struct hf_done close_done;     /* of hf_zookeeper_close_start() */
};

/* Why ${zookeeper} has no connection; "" while it has one, or if the reason is
 * not known.  Called with the lock. */
const char *hf_zookeeper_connection_error(const struct hf_zookeeper *zookeeper);

/* Has the close of the handle begun, or that of the client of locks whose
 * session it uses?  Called with the lock. */
bool hf_zookeeper_is_closing(const struct hf_zookeeper *zookeeper);

/* hf_zookeeper_reference() adds a reference, which keeps ${zookeeper} and its
 * monitor alive.  hf_zookeeper_dereference() drops one with the lock held,
 * hf_zookeeper_release() without. */
void hf_zookeeper_reference(struct hf_zookeeper *zookeeper);
void hf_zookeeper_dereference(struct hf_zookeeper *zookeeper);
void hf_zookeeper_release(struct hf_zookeeper *zookeeper);

/* To be called after something was written to the session: have the loop send
 * it.  Called with the lock. */
void hf_zookeeper_changed(struct hf_zookeeper *zookeeper);

/* If the reconnect policy has given up, have the session connect again.  Called
 * with the lock. */
void hf_zookeeper_connect_again(struct hf_zookeeper *zookeeper);

/* ------------------------------------------------- timers, with the lock -- */

/* Have .fn of ${timer} called at ${at_ms}, a time of hf_now_ms(); HF_FOREVER:
 * never.  Replaces the time to which ${timer} was set before. */
void hf_zookeeper_timer_set(struct hf_zookeeper *zookeeper,
                            struct hf_zookeeper_timer *timer, uint64_t at_ms);

/* Unset ${timer}, so that .fn is not called.  Does nothing if it is not set. */
void hf_zookeeper_timer_stop(struct hf_zookeeper_timer *timer);

bool hf_zookeeper_timer_is_set(const struct hf_zookeeper_timer *timer);

/* hf_zookeeper_timers_due_at_ms() returns when the first timer is due, or
 * HF_FOREVER.  hf_zookeeper_timers_run() calls .fn of the timers that are
 * due. */
uint64_t hf_zookeeper_timers_due_at_ms(const struct hf_zookeeper *zookeeper);
void hf_zookeeper_timers_run(struct hf_zookeeper *zookeeper);

/* The functions by which the monitor drives a handle with a session of its
 * own. */
extern const struct hf_monitor_ops hf_zookeeper_monitor_ops;

#endif
