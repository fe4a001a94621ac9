/* SPDX-License-Identifier: Apache-2.0 */
/* The data behind zk_watches.c: the watches of nodes, barriers and queues, and
 * for each watch the requests that wait for it.  One request may wait for
 * several nodes; its waiters then form a ring. */
#ifndef HF_ENGINES_ZOOKEEPER_WATCH_WAITERS_H
#define HF_ENGINES_ZOOKEEPER_WATCH_WAITERS_H

#include "engines/zookeeper/zk_watches.h"
#include "zookeeper/watch_set.h"

/* What a watch is for. */
enum hf_zk_engine_watch_kind {
    HF_ZK_WATCH_NODE,    /* the deletion of a ticket's node */
    HF_ZK_WATCH_BARRIER, /* any change of a barrier node */
    HF_ZK_WATCH_QUEUE,   /* any change of a queue's children */
    HF_ZK_WATCH_MISSING, /* the creation of a queue's node */
};

/* One request that waits for one watch.  .engine_data of the request is one of
 * its waiters. */
struct hf_zk_engine_waiter {
    struct hf_request *request;
    struct hf_zk_engine_waiter *next_of_request; /* the next waiter of the same
                                             request, in a ring */
    bool ready;      /* the server watches this node */
    bool notified;   /* WATCHING, or LISTED, has been reported */
    bool changed;    /* the queue has changed; HF_EVENT_QUEUE_CHANGED must be
                        reported */
    bool revoke_due; /* HF_EVENT_REVOKED must be reported */
    struct hf_zk_engine_waiter *next; /* in .waiters of the watch */
    struct hf_zk_engine_waiter **link;
    struct hf_zk_engine_watch *watch;
};

/* One watch of this client, shared by all requests that wait for the same
 * event.  It lives while a request waits, a read is in flight, or the server
 * may still report the event. */
struct hf_zk_engine_watch {
    struct hf_zk_watcher watcher; /* .user is the client */
    struct hf_zk_engine_waiter *waiters;
    bool reading;    /* a read is in flight, or a function of zk_watches.c keeps
                        the watch from being freed */
    bool revoked;    /* the data asked the owner to release when they were last
                        read */
    int32_t version; /* of the data when they were last read; only for
                        HF_ZK_WATCH_NODE */
    struct hf_zk_call call;           /* the read that sets the watch */
    struct hf_zk_engine_queue *queue; /* the queue, in use by this watch; NULL
                                         for HF_ZK_WATCH_NODE */
    enum hf_zk_engine_watch_kind kind;
    char path[];
};

/* The watch of ${kind} at ${path}, which has ${bytes} bytes, or NULL.
 * hf_zk_engine_watch_find_or_add() makes a watch if there is none, and returns
 * NULL for lack of memory; the events of the watch go to ${fired}. */
struct hf_zk_engine_watch *
hf_zk_engine_watch_find(const struct hf_zk_engine *zk,
                        enum hf_zk_engine_watch_kind kind, const char *path,
                        size_t bytes);
struct hf_zk_engine_watch *hf_zk_engine_watch_find_or_add(
    struct hf_zk_engine *zk, enum hf_zk_engine_watch_kind kind,
    const char *path,
    void (*fired)(struct hf_zk_watcher *watcher,
                  const struct hf_zk_watch_event *event));

/* The first watch of the client, and the next after ${watch}; NULL at the end.
 */
struct hf_zk_engine_watch *
hf_zk_engine_watch_first(const struct hf_zk_engine *zk);
struct hf_zk_engine_watch *
hf_zk_engine_watch_next(const struct hf_zk_engine_watch *watch);

/* Remove the watch from the session's set, so that it is not found any more.
 * If a persistent watch of another listener serves the watch, or the watch is
 * for the creation of a node, the server is asked to remove what only this
 * watch needed. */
void hf_zk_engine_watch_remove(struct hf_zk_engine *zk,
                               struct hf_zk_engine_watch *watch);

/* Free the watch unless a request waits for it, a read is in flight, or the
 * server will still report its event.  A watch for the creation of a node is
 * freed even if the server will report its event, because a node may never be
 * created. */
void hf_zk_engine_watch_free_if_unused(struct hf_zk_engine *zk,
                                       struct hf_zk_engine_watch *watch);

/* Make ${request} wait for the watch, too, and set its .engine_data.
 * ${next_of_request} is another waiter of the same request, or NULL.  Returns
 * NULL for lack of memory. */
struct hf_zk_engine_waiter *
hf_zk_engine_waiter_add(struct hf_zk_engine_watch *watch,
                        struct hf_request *request,
                        struct hf_zk_engine_waiter *next_of_request);
/* Remove and free one waiter.  The watch remains. */
void hf_zk_engine_waiter_free(struct hf_zk_engine_waiter *waiter);

/* Remove and free all waiters of one request, and free their watches if these
 * are unused. */
void hf_zk_engine_waiter_free_all(struct hf_zk_engine *zk,
                                  struct hf_zk_engine_waiter *waiter);

/* Does the server watch all nodes of the request? */
bool hf_zk_engine_waiter_is_ready(const struct hf_zk_engine_waiter *first);

#endif
