/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A watch of a user: a watcher of the session, and the callbacks that report
 * its events.
 *
 * Each event has a callback of its own, which is allocated, so that events are
 * reported one by one and in the order in which they came among the ends of
 * operations.  If an event cannot be kept, a RESYNC is reported by the callback
 * that is embedded in the watch.  While that is queued no event is queued,
 * because it says that everything has to be read again.
 */
#ifndef HF_ZOOKEEPER_CLIENT_ZOOKEEPER_WATCH_H
#define HF_ZOOKEEPER_CLIENT_ZOOKEEPER_WATCH_H

#include "monitor/callback_queue.h"
#include "operation/user_callback.h"
#include "zookeeper/zk_op.h"
#include "zookeeper_client/zookeeper_operation.h"

/* Events of one watch that may wait to be reported. */
#define HF_ZOOKEEPER_EVENTS_MAX 4096

/* Notified of an event of a watch that a part of the library has for itself:
 * with the lock, before anything that came later, while the session is at work.
 * It may begin operations, and free watches, but not this one.  ${path}, of
 * ${bytes} bytes, is that of the node, without the chroot. */
struct hf_zookeeper_on_fired {
    void (*fn)(void *arg, enum hf_zookeeper_event_kind kind, const char *path,
               size_t bytes);
    void *arg;
};

/* All fields under the monitor's lock. */
struct hf_zookeeper_watch {
    struct hf_zk_watcher watcher;
    struct hf_zookeeper *zookeeper;
    enum hf_zookeeper_watch_kind kind;
    struct hf_zookeeper_on_event on_event;
    struct hf_zookeeper_on_fired on_fired; /* for watches of the library; .fn is
                                              NULL in those of users */
    struct hf_callback resync;             /* the RESYNC for lack of memory */
    struct hf_zk_op set_again; /* the AddWatch that sets it in a new session */
    bool setting_again;        /* .set_again is under way */
    unsigned references; /* the user's, and one of each event, of .resync while
                            it is queued, and of .set_again under way */
    size_t events;       /* that wait to be reported */
    struct hf_user_callback callback; /* around .on_event.fn */
    bool unreadable; /* the watch is set, and the handle was not allowed to read
                        the node when it last tried */
    /* Operations under way that are to set the watch. */
    struct hf_zookeeper_operation *operations;
    struct hf_deferred_free deferred;
    const char *user_path; /* the end of .path: without the chroot */
    char path[];           /* as servers know it */
};

/* A watch of a part of the library, which ${on_fired} notifies; as
 * hf_zookeeper_watch_open().  ${path} is a valid one.  NULL: no memory.  With
 * the lock. */
struct hf_zookeeper_watch *
hf_zookeeper_watch_new(struct hf_zookeeper *zookeeper, const char *path,
                       enum hf_zookeeper_watch_kind kind,
                       struct hf_zookeeper_on_fired on_fired);

/* Free such a watch (NULL is fine), as hf_zookeeper_watch_free(); not from its
 * own function.  With the lock. */
void hf_zookeeper_watch_delete(struct hf_zookeeper_watch *watch);

/* Can ${op} set its watch?  HF_EINVAL.  Sets .path of an ADD_WATCH.  With the
 * lock. */
hf_status hf_zookeeper_watch_check(const struct hf_zookeeper *zookeeper,
                                   struct hf_zookeeper_op *op,
                                   struct hf_error *error);

/* ${operation} is to set ${watch}.  With the lock. */
void hf_zookeeper_watch_use(struct hf_zookeeper_watch *watch,
                            struct hf_zookeeper_operation *operation);

/* ${operation}, which was to set a watch, has ended, or was not started.  With
 * the lock. */
void hf_zookeeper_watch_operation_ended(
    struct hf_zookeeper_operation *operation);

/* A read of ${path}, which is that of a struct hf_zookeeper_operation, was
 * answered.  ${unreadable}: ${zookeeper} may not read the node.  With the
 * lock. */
void hf_zookeeper_watches_put_unreadable(struct hf_zookeeper *zookeeper,
                                         const char *path, bool unreadable);

/* Take all watches of ${zookeeper} out of the session.  With the lock. */
void hf_zookeeper_watches_leave(struct hf_zookeeper *zookeeper);

/* A session is connected: set the persistent watches that an earlier session
 * has lost.  With the lock. */
void hf_zookeeper_watches_set_again(struct hf_zookeeper *zookeeper);

#endif
