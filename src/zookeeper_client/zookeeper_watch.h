/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A watch of a user: a watcher in the session's set (zookeeper/watch_set.h),
 * and the callbacks that report its events.
 *
 * For each event a callback is allocated and queued.  So events and the ends of
 * operations are reported in the order in which they came.  If there is no
 * memory for an event, or too many wait, the callback .resync, which is part of
 * the watch, reports a RESYNC instead: the user must read everything again.
 * While .resync is queued, no event is queued.
 */
#ifndef HF_ZOOKEEPER_CLIENT_ZOOKEEPER_WATCH_H
#define HF_ZOOKEEPER_CLIENT_ZOOKEEPER_WATCH_H

#include "monitor/callback_queue.h"
#include "operation/user_callback.h"
#include "zookeeper/zk_op.h"
#include "zookeeper_client/zookeeper_operation.h"

/* Events of one watch that may wait to be reported. */
#define HF_ZOOKEEPER_EVENTS_MAX 4096

/* The callback for an event of a watch that the library has for itself.  It is
 * called with the lock, from within the session, in the order of events and
 * answers.  It may begin operations, and may free other watches, but not this
 * one.  ${path} is the path of the node without the chroot, and has ${bytes}
 * bytes. */
struct hf_zookeeper_on_fired {
    void (*fn)(void *arg, enum hf_zookeeper_event_kind kind, const char *path,
               size_t bytes);
    void *arg;
};

/* All fields are used with the monitor's lock. */
struct hf_zookeeper_watch {
    struct hf_zk_watcher watcher;
    struct hf_zookeeper *zookeeper;
    enum hf_zookeeper_watch_kind kind;
    struct hf_zookeeper_on_event on_event;
    struct hf_zookeeper_on_fired on_fired; /* for watches of the library itself;
                                              .fn is NULL in watches of users */
    struct hf_callback resync;             /* reports a RESYNC instead of events
                                              that could not be kept */
    struct hf_zk_op set_again; /* the AddWatch that sets it in a new session */
    bool setting_again;        /* .set_again is under way */
    unsigned references;       /* one for the user, one for each event, one for
                                  .resync while it is queued, and one for .set_again
                                  while it is under way */
    size_t events;             /* events that wait to be reported */
    struct hf_user_callback callback; /* guards the calls of .on_event.fn */
    bool unreadable; /* the watch is set, but the handle had no permission to
                        read the node when it last tried, so servers may send no
                        events */
    /* Operations under way that set this watch. */
    struct hf_zookeeper_operation *operations;
    struct hf_deferred_free deferred;
    const char *user_path; /* the path as the user gave it, which is the end of
                              .path */
    char path[];           /* with the chroot */
};

/* Make a watch for the library itself, whose events go to ${on_fired}; else as
 * hf_zookeeper_watch_open().  ${path} must be valid.  NULL: no memory.  Called
 * with the lock. */
struct hf_zookeeper_watch *
hf_zookeeper_watch_new(struct hf_zookeeper *zookeeper, const char *path,
                       enum hf_zookeeper_watch_kind kind,
                       struct hf_zookeeper_on_fired on_fired);

/* Free a watch that hf_zookeeper_watch_new() made; it may be NULL.  Must not be
 * called from its own .on_fired.  Called with the lock. */
void hf_zookeeper_watch_delete(struct hf_zookeeper_watch *watch);

/* Check that ${op} can set its watch; HF_EINVAL if not.  Sets .path of an
 * ADD_WATCH to that of the watch.  Called with the lock. */
hf_status hf_zookeeper_watch_check(const struct hf_zookeeper *zookeeper,
                                   struct hf_zookeeper_op *op,
                                   struct hf_error *error);

/* Note that ${operation} is to set ${watch}.  Called with the lock. */
void hf_zookeeper_watch_use(struct hf_zookeeper_watch *watch,
                            struct hf_zookeeper_operation *operation);

/* Undo hf_zookeeper_watch_use(), because ${operation} has ended or was not
 * started.  Called with the lock. */
void hf_zookeeper_watch_operation_ended(
    struct hf_zookeeper_operation *operation);

/* Set .unreadable of all watches of ${zookeeper} at ${path}, which is .path of
 * a struct hf_zookeeper_operation.  To be called when a read of that node was
 * answered.  Called with the lock. */
void hf_zookeeper_watches_put_unreadable(struct hf_zookeeper *zookeeper,
                                         const char *path, bool unreadable);

/* Take all watches of ${zookeeper} out of the session.  Called with the
 * lock. */
void hf_zookeeper_watches_leave(struct hf_zookeeper *zookeeper);

/* To be called when a session is connected: set the persistent watches again
 * that were lost with an earlier session.  Called with the lock. */
void hf_zookeeper_watches_set_again(struct hf_zookeeper *zookeeper);

#endif
