/* SPDX-License-Identifier: Apache-2.0 */
/* A request of the core under way: what it takes in calls, until every one of
 * them is answered. */
#ifndef HF_ENGINES_ZOOKEEPER_ZK_REQUEST_H
#define HF_ENGINES_ZOOKEEPER_ZK_REQUEST_H

#include "engines/zookeeper/zk_private.h"

/* The most calls that one step makes: a list, and then its own node, the head,
 * and so many that have the same number. */
#define HF_ZK_TIES_MAX 4
#define HF_ZK_REQUEST_CALLS (2 + HF_ZK_TIES_MAX)

/* How often a node may vanish between our making it and our putting another
 * below it.  A container goes when it is empty, by a timer of a minute: once is
 * bad luck. */
#define HF_ZK_ATTEMPTS_MAX 8

struct detailed_list;

struct hf_zk_request {
    struct hf_request *request; /* NULL if it was taken back */
    struct hf_zk_queue *queue;  /* NULL for PROVE */
    struct hf_zk_call calls[HF_ZK_REQUEST_CALLS];
    size_t call_count; /* calls of this step */
    size_t pending;    /* of them not answered */
    /* What to do when the last of them is. */
    void (*next_step)(struct hf_zk *zk, struct hf_zk_request *req);
    enum hf_zk_error error; /* of the call that decides; HF_ZK_OK */
    enum hf_zk_error list_error;
    enum hf_zk_error sync_error; /* of the sync before the list */
    unsigned attempts; /* how often the create, or the delete, was tried */
    /* parent_nodes.c */
    bool parents_missing;       /* they are created with the node */
    bool containers;            /* and are of that kind, in this step */
    size_t parents_bytes;       /* so many bytes of the path are parents */
    struct hf_zk_call *parents; /* one for each of them, from the top; NULL:
                                   none was created yet */
    size_t parent_level;        /* that which .parent_error is about, from 1;
                                   0: none, no node was there to create it in */
    enum hf_zk_error parent_error;
    bool earlier_unsure; /* DOWNGRADE: an earlier one may have happened */
    /* DOWNGRADE: the text of the write node, in this version, asks its owner to
     * let go. */
    bool revoked;
    int32_t version;
    /* LIST: which child each call is about. */
    struct hf_ticket_id ids[HF_ZK_REQUEST_CALLS];
    bool head_watched;
    bool several;        /* nodes are being deleted, not one */
    bool listed;         /* what is being deleted was found in a list */
    bool partly_removed; /* somebody else had deleted some of them */
    /* Of kazoo's permits. */
    bool
        entry_mutex_gone; /* ENQUEUE: the lock in front of them was not there */
    uint32_t
        permits; /* WATCH_QUEUE: so many there are by their node; 0: unknown */
    void (*after_removal)(struct hf_zk *zk, struct hf_zk_request *req);
    struct hf_zk_request *next_in_list; /* of those that wait for one answer */
    struct hf_zk_request
        *next_cancellable;          /* WATCH, WATCH_QUEUE: of those that look */
    struct detailed_list *detailed; /* LIST: one for people */
    int64_t czxid;                  /* of a barrier node */
    bool ready_known;               /* it has been asked for */
    bool has_children;              /* it has children, and is none */
};

/* For ${request}; NULL, having answered FAILED, for lack of memory. */
struct hf_zk_request *hf_zk_request_new(struct hf_zk *zk,
                                        struct hf_request *request);

/* A call for the current step, whose answer goes to ${answered} and then to
 * hf_zk_request_answered(). */
struct hf_zk_call *hf_zk_request_call(struct hf_zk_request *req,
                                      hf_zk_answered *answered);

/* Begin a step: when its calls are answered, ${then} goes on. */
void hf_zk_request_step(struct hf_zk_request *req,
                        void (*then)(struct hf_zk *zk,
                                     struct hf_zk_request *req));

/* Put it on the list of those that a UNWATCH may take back, and off it. */
void hf_zk_request_allow_cancel(struct hf_zk *zk, struct hf_zk_request *req);
void hf_zk_request_end_cancel(struct hf_zk *zk, struct hf_zk_request *req);

/* ${request} is taken back.  If one of that list is about it, its .request is
 * NULL from here on, and it ends without an answer. */
void hf_zk_request_cancel(struct hf_zk *zk, const struct hf_request *request);

/* One call of the step less to wait for. */
void hf_zk_request_answered(struct hf_zk *zk, struct hf_zk_request *req);

/* An answer of which only the error counts: for .error; and, to the sync before
 * something is read, for .sync_error.  If that failed, what was read behind it
 * may be older than what was looked for. */
void hf_zk_request_error_answered(void *user, struct hf_zk_call *call,
                                  const struct hf_zk_reply *reply);
void hf_zk_request_sync_answered(void *user, struct hf_zk_call *call,
                                 const struct hf_zk_reply *reply);

/* Wait, in the current step, for what others of the line wait for too. */
void hf_zk_request_list_add(struct hf_zk_request_list *list,
                            struct hf_zk_request *req);

/* The first of the line, taken out of it, or NULL. */
struct hf_zk_request *hf_zk_request_list_take(struct hf_zk_request_list *list);

/* It has come: hf_zk_request_answered() for each of them.  Any of them may be
 * the last to use the queue that ${line} was taken from. */
void hf_zk_request_list_answered(struct hf_zk *zk,
                                 struct hf_zk_request_list *list);

/* Give it back; the request has been answered. */
void hf_zk_request_free(struct hf_zk *zk, struct hf_zk_request *req);

/* FAILED as hf_zk_fail_with_error() has it, and free the rest. */
void hf_zk_request_fail(struct hf_zk *zk, struct hf_zk_request *req,
                        enum hf_zk_error error, const char *what,
                        const char *path);

/* Take the request to answer it, and free the rest. */
struct hf_request *hf_zk_request_end(struct hf_zk *zk,
                                     struct hf_zk_request *req);

#endif
