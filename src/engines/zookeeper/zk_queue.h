/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queues that requests under way and tickets of ours are in, by name: the
 * path of each, what was last seen of it, and who waits for more.
 */
#ifndef HF_ENGINES_ZOOKEEPER_ZK_QUEUE_H
#define HF_ENGINES_ZOOKEEPER_ZK_QUEUE_H

#include "core/admission.h"
#include "core/engine.h"
#include "core/tree.h"
#include "engines/zookeeper/node_name.h"
#include "zookeeper/zk_wire.h"

struct hf_zk;

/* A child that is a ticket, or, of a lease, one of its permits. */
struct hf_zk_child {
    struct hf_zk_node node;
    const char *name; /* in .names of the queue */
    int64_t czxid;    /* 0 where nobody asked for it */
    bool ours;        /* a ticket of this session */
    bool gone;        /* it was seen to go since it was listed */
    bool listed; /* cached_list.c: the list that is being taken in has it */
    size_t nearest_other; /* so many children there are up to the nearest one
                     ahead that is not ours; 0: there is none */
};

/* Requests that wait for one and the same answer, in the order of their
 * asking. */
struct hf_zk_request;
struct hf_zk_request_list {
    struct hf_zk_request *first;
    struct hf_zk_request *last;
};

struct hf_zk_queue {
    struct hf_tree_node by_name;  /* first */
    unsigned users;               /* requests under way and own tickets */
    struct hf_zk_child *children; /* of the last list: see children.h */
    size_t count;
    char *names;
    bool unsorted;      /* more is known of children of one number */
    size_t first_live;  /* the first child that is not .gone, or .count */
    size_t gone_count;  /* so many behind that have gone */
    uint64_t listed_on; /* the connection on which it was listed; 0: it does not
                      serve those who wait in it */
    /* get_children.c: who is served by the list that is under way, and who
     * waits for the next one. */
    struct hf_zk_call list_call;
    struct hf_zk_request_list list_requests;
    struct hf_zk_request_list next_list_requests;
    /* list_queue.c: the head that is being asked for, and who waits for that
     * too. */
    struct hf_zk_request *head_reader;
    struct hf_ticket_id head_asked;
    struct hf_zk_request_list head_requests;
    /* What the first ticket says of itself, if anybody asked. */
    struct hf_ticket_id head;
    bool head_known;
    char head_payload[HF_PAYLOAD_BYTES];
    bool permits;     /* of kazoo's kind, see permit.h */
    const char *name; /* behind the path, which is made of it */
    char path[];
};

struct hf_zk_queues {
    struct hf_tree names;       /* queues by name */
    struct hf_ticket *snapshot; /* of the last one that was handed out */
    size_t snapshot_size;
    struct hf_ticket partial[HF_ADMISSION_NEAREST + 2]; /* the same of a part */
};

/* The queue called ${name}, to be given back by _leave(); NULL for lack of
 * memory. */
struct hf_zk_queue *hf_zk_queue_use(struct hf_zk *zk, const char *name);
struct hf_zk_queue *hf_zk_queue_find(const struct hf_zk *zk, const char *name);
void hf_zk_queue_release(struct hf_zk *zk, struct hf_zk_queue *queue);

/* The path of a child, in ${zk}->path until the next one is put together. */
const char *hf_zk_child_path(struct hf_zk *zk, const struct hf_zk_queue *queue,
                             const char *name);

/* hf_zk_node_parse(), or as permits are named where those are, or as
 * participants are. */
bool hf_zk_queue_parse(const struct hf_zk_queue *queue, const char *name,
                       size_t bytes, struct hf_zk_node *node);

void hf_zk_queues_init(struct hf_zk_queues *queues);
void hf_zk_queues_free(struct hf_zk_queues *queues);

#endif
