/* SPDX-License-Identifier: Apache-2.0 */
/* The queues that are in use, by name: the path of each, what its children's
 * names mean, its children as last listed, and the requests that wait for a
 * list of it.  A queue exists while requests, own tickets or watches use it. */
#ifndef HF_ENGINES_ZOOKEEPER_ZK_QUEUE_H
#define HF_ENGINES_ZOOKEEPER_ZK_QUEUE_H

#include "base/tree.h"
#include "core/admission.h"
#include "core/engine.h"
#include "engines/zookeeper/node_name.h"
#include "zookeeper/zk_wire.h"

struct hf_zk_engine;

/* Room for the chroot, a lock's name, and a suffix. */
#define HF_ZK_QUEUE_PATH_BYTES 2560

/* What kazoo appends to the name of a semaphore for its entry mutex. */
#define HF_ZK_ENTRY_MUTEX "-__lock__"

/* How many warnings are remembered, so that each is logged only once.  After
 * more of them the oldest may be logged again. */
#define HF_ZK_REPORTS_MAX 64

/* The warnings that were logged, see hf_zk_engine_report_unknown_node(). */
struct hf_zk_engine_reports {
    uint64_t reported[HF_ZK_REPORTS_MAX]; /* digests of path and subject */
    size_t count;                         /* reports made so far */
};

/* A child that is a ticket, or one permit of a lease. */
struct hf_zk_engine_child {
    struct hf_zk_engine_node node;
    const char *name; /* in .names of the queue */
    int64_t czxid;    /* 0 if it was not asked for; negative: a participant
                         whose node was gone when it was asked for */
    bool ours;        /* a ticket of this session */
    bool gone;        /* it has gone since it was listed */
    bool listed; /* used by list_children.c: the child is in the new list that
                    is compared with this one */
    size_t nearest_other; /* 1 + the index of the nearest child ahead that is
                             not ours; 0: there is none */
};

/* Requests that wait for the same answer, in the order in which they came. */
struct hf_zk_engine_request;
struct hf_zk_engine_request_list {
    struct hf_zk_engine_request *first;
    struct hf_zk_engine_request *last;
};

/* One queue. */
struct hf_zk_engine_queue {
    struct hf_tree_node by_name;
    unsigned users; /* reference count */
    /* The children as last listed, sorted; see children.h. */
    struct hf_zk_engine_child *children;
    size_t count;
    char *names;       /* the children's names, each with its NUL */
    bool unsorted;     /* some children have the same number, and their order is
                          not known before their czxids are */
    size_t first_live; /* index of the first child that is not .gone, or
                          .count */
    size_t gone_count; /* how many behind .first_live are .gone */
    uint64_t listed_on; /* the number of the connection on which it was
                           listed.  0: the list must not be used as a cached
                           list. */
    /* Used by list_children.c: the list in flight, the requests that it is for,
     * and the requests that wait for the next one. */
    struct hf_zk_call list_call;
    struct hf_zk_engine_request_list list_requests;
    struct hf_zk_engine_request_list next_list_requests;
    /* Used by answer_list.c: the request that is reading the data of the head
     * (the first ticket), the ticket that it reads, and the other requests that
     * wait for these data. */
    struct hf_zk_engine_request *head_reader;
    struct hf_ticket_id head_asked;
    struct hf_zk_engine_request_list head_requests;
    /* The ticket that was the head when its payload was last read, and that
     * payload.  NULL: no payload was read, or there was no memory for it; the
     * next request that needs it reads it. */
    struct hf_ticket_id head;
    char *head_payload;
    bool permits;     /* its children are kazoo's permits, see node_name.h */
    const char *name; /* points behind .path */
    char path[];
};

/* All queues of a client, and the memory of the last snapshot. */
struct hf_zk_engine_queues {
    struct hf_tree names;       /* the queues, by name */
    struct hf_ticket *snapshot; /* the tickets of the last full snapshot */
    size_t snapshot_size;       /* tickets allocated */
    /* The tickets of the last partial snapshot, see queue_snapshot.h. */
    struct hf_ticket partial[HF_ADMISSION_NEAREST + 2];
};

/* The queue ${name}, made if necessary.  Each hf_zk_engine_queue_use() needs
 * one hf_zk_engine_queue_release(); the last one frees the queue.  NULL for
 * lack of memory.  hf_zk_engine_queue_find() does not count as a use. */
struct hf_zk_engine_queue *hf_zk_engine_queue_use(struct hf_zk_engine *zk,
                                                  const char *name);
struct hf_zk_engine_queue *
hf_zk_engine_queue_find(const struct hf_zk_engine *zk, const char *name);
void hf_zk_engine_queue_release(struct hf_zk_engine *zk,
                                struct hf_zk_engine_queue *queue);

/* True if ${request}, which creates a ticket or a flag, is not for a semaphore,
 * but has the name of a semaphore's queue.  With layout=kazoo such a queue is
 * at another path than its name says, so kazoo would not find a lock of that
 * name.  Always false with other layouts. */
bool hf_zk_engine_name_is_reserved(enum hf_zk_engine_dialect layout,
                                   const struct hf_request *request);

/* Write the path of the queue ${name} below ${chroot}.  True if its children
 * are permits of kazoo's form. */
bool hf_zk_engine_queue_path(enum hf_zk_engine_dialect layout,
                             const char *chroot, const char *name,
                             char path[HF_ZK_QUEUE_PATH_BYTES]);

/* The path of the child ${name}, in ${zk}->path.  Valid until the next path is
 * made. */
const char *hf_zk_engine_child_path(struct hf_zk_engine *zk,
                                    const struct hf_zk_engine_queue *queue,
                                    const char *name);

/* Parse a child's name as hf_zk_engine_node_parse(),
 * hf_zk_engine_permit_parse() or hf_zk_engine_participant_parse(), whichever
 * fits the queue. */
bool hf_zk_engine_queue_parse(const struct hf_zk_engine_queue *queue,
                              const char *name, size_t bytes,
                              struct hf_zk_engine_node *node);

/* The number of permits in the ${data} of the semaphore's node.  0 if the data
 * are not a number; kazoo ignores such data, too. */
uint32_t hf_zk_engine_permits_parse(struct hf_jute_piece data);

/* Warnings about children of a lock's node that an operator should look at.
 * Each of these functions logs one warning for each path.
 *
 * A child that is no ticket is an unknown node, and is ignored.  A ticket may
 * belong to a program that does not recognise our tickets.  We wait for its
 * ticket, although it does not wait for ours. */

/* Report that ${name}, a child of the queue, is no ticket. */
void hf_zk_engine_report_unknown_node(struct hf_zk_engine *zk,
                                      const struct hf_zk_engine_queue *queue,
                                      struct hf_jute_piece name);

/* Report the ticket ${name}, parsed to ${node}, if the program that made it
 * does not recognise our tickets. */
void hf_zk_engine_report_unseen_layout(struct hf_zk_engine *zk,
                                       const struct hf_zk_engine_queue *queue,
                                       struct hf_jute_piece name,
                                       const struct hf_zk_engine_node *node);

/* Initialise an empty table.  hf_zk_engine_queues_free() needs all queues to be
 * released. */
void hf_zk_engine_queues_init(struct hf_zk_engine_queues *queues);
void hf_zk_engine_queues_free(struct hf_zk_engine_queues *queues);

#endif
