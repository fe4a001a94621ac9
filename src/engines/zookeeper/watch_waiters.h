/* SPDX-License-Identifier: Apache-2.0 */
/* Behind zk_watches.c: what is watched of nodes, barriers and queues, and the
 * requests that wait for it. */
#ifndef HF_ENGINES_ZOOKEEPER_WATCH_WAITERS_H
#define HF_ENGINES_ZOOKEEPER_WATCH_WAITERS_H

#include "engines/zookeeper/zk_watches.h"
#include "zookeeper/watch_set.h"

enum hf_zk_watch_kind {
    HF_ZK_WATCH_NODE,    /* its end */
    HF_ZK_WATCH_BARRIER, /* whatever happens to it */
    HF_ZK_WATCH_QUEUE,   /* its children */
};

/* A request that waits, at one of the nodes that it waits for.  Its
 * .engine_data, any of them if there are more. */
struct hf_zk_waiter {
    struct hf_request *request;
    struct hf_zk_waiter *next_of_request; /* at another node, in a ring */
    bool ready;                           /* this node is watched */
    bool notified;                        /* of WATCHING or LISTED */
    bool changed;                         /* QUEUE_CHANGED is to follow */
    bool revoke_due;                      /* REVOKED is to follow */
    struct hf_zk_waiter *next;
    struct hf_zk_waiter **link;
    struct hf_zk_watch *watch;
};

struct hf_zk_watch {
    struct hf_zk_watcher watcher; /* first; .user is the client */
    struct hf_zk_waiter *waiters;
    bool reading;    /* a getData is under way */
    bool revoked;    /* the data asked to let go when it was last seen */
    int32_t version; /* of the data then; of NODE */
    struct hf_zk_call call;
    struct hf_zk_queue *queue; /* of BARRIER and QUEUE: in use by this */
    enum hf_zk_watch_kind kind;
    char path[];
};

/* The watch of ${bytes} of ${path}, or NULL; _or_add: NULL for lack of memory.
 * Events go to ${fired}, as it was when the watch was added. */
struct hf_zk_watch *hf_zk_watch_find(const struct hf_zk *zk,
                                     enum hf_zk_watch_kind kind,
                                     const char *path, size_t bytes);
struct hf_zk_watch *hf_zk_watch_find_or_add(
    struct hf_zk *zk, enum hf_zk_watch_kind kind, const char *path,
    void (*fired)(struct hf_zk_watcher *watcher, enum hf_zk_event_type type));

/* The first of all, and the one after ${watch}; NULL: there are no more. */
struct hf_zk_watch *hf_zk_watch_first(const struct hf_zk *zk);
struct hf_zk_watch *hf_zk_watch_next(const struct hf_zk_watch *watch);

/* Nobody can find it any more. */
void hf_zk_watch_remove(struct hf_zk *zk, struct hf_zk_watch *watch);

/* Free a watch that nobody waits for, unless an answer is to come for it. */
void hf_zk_watch_free_if_unused(struct hf_zk *zk, struct hf_zk_watch *watch);

/* Have ${request} wait for it, too; ${beside}: a wait of the same request, or
 * NULL.  NULL for lack of memory. */
struct hf_zk_waiter *hf_zk_waiter_add(struct hf_zk_watch *watch,
                                      struct hf_request *request,
                                      struct hf_zk_waiter *next_of_request);
void hf_zk_waiter_drop(struct hf_zk_waiter *waiter);

/* Drop ${wait} and those beside it, and settle what they waited for. */
void hf_zk_waiter_drop_all(struct hf_zk *zk, struct hf_zk_waiter *waiter);

/* Are all its nodes watched? */
bool hf_zk_waiter_is_ready(const struct hf_zk_waiter *first);

#endif
