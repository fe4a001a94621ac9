/* SPDX-License-Identifier: Apache-2.0 */
/* The table behind watches.c: what is watched, by kind and path, and who waits
 * for it. */
#ifndef HF_ENGINES_ZOOKEEPER_WATCH_TABLE_H
#define HF_ENGINES_ZOOKEEPER_WATCH_TABLE_H

#include "engines/zookeeper/watches.h"

struct hf_zk;

enum hf_zk_watch_kind {
    HF_ZK_WATCH_NODE, /* its end */
    HF_ZK_WATCH_MARK, /* whatever happens to it; listed with those of NODE */
    HF_ZK_WATCH_CHILDREN, /* of a queue */
};

/* A request that waits, at one of the nodes that it waits for.  Its
 * .engine_data, any of them if there are more. */
struct hf_zk_watcher {
    struct hf_request *request;
    struct hf_zk_watcher *beside; /* at another node, in a ring */
    bool ready;                   /* this node is watched */
    bool told;                    /* WATCHING, LISTED */
    bool news;                    /* for who is not told yet */
    bool asked;                   /* REVOKED is to be told */
    struct hf_zk_watcher *next;
    struct hf_zk_watcher **link;
    struct hf_zk_watch *watch;
};

struct hf_zk_watch {
    struct hf_tree_node by_path; /* first */
    struct hf_zk_watch *next;
    struct hf_zk_watch **link;
    struct hf_zk_watcher *watchers;
    bool asking;     /* a getData is under way */
    bool armed;      /* the server has it */
    bool revoked;    /* the data asked to let go when it was last seen */
    int32_t version; /* of the data then; of NODE */
    struct hf_zk_call call;
    struct hf_zk_queue *queue; /* of MARK and CHILDREN, in use by this */
    enum hf_zk_watch_kind kind;
    size_t bytes;
    char path[];
};

/* The watch of ${bytes} of ${path}, or NULL; _or_add: NULL for lack of
 * memory. */
struct hf_zk_watch *hf_zk_watch_find(const struct hf_zk_watches *watches,
                                     enum hf_zk_watch_kind kind,
                                     const char *path, size_t bytes);
struct hf_zk_watch *hf_zk_watch_find_or_add(struct hf_zk_watches *watches,
                                            enum hf_zk_watch_kind kind,
                                            const char *path);

/* Nobody can find it any more. */
void hf_zk_watch_take_out(struct hf_zk_watches *watches,
                          struct hf_zk_watch *watch);

/* Free a watch that nobody waits for, unless an answer is to come for it. */
void hf_zk_watch_settle(struct hf_zk *zk, struct hf_zk_watch *watch);

/* watches.c: read the data of the node and set the watch. */
void hf_zk_watch_read(struct hf_zk *zk, struct hf_zk_watch *watch);

/* Have ${request} wait for it, too; ${beside}: a watcher of the same request,
 * or NULL.  NULL for lack of memory. */
struct hf_zk_watcher *hf_zk_watcher_add(struct hf_zk_watch *watch,
                                        struct hf_request *request,
                                        struct hf_zk_watcher *beside);
void hf_zk_watcher_drop(struct hf_zk_watcher *watcher);

/* Drop ${watcher} and those beside it, and settle what they waited for. */
void hf_zk_watcher_drop_ring(struct hf_zk *zk, struct hf_zk_watcher *watcher);

/* Are all its nodes watched? */
bool hf_zk_watcher_is_ready(const struct hf_zk_watcher *first);

#endif
