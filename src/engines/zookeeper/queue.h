/* SPDX-License-Identifier: Apache-2.0 */
/* Queues as they were last listed, and our own tickets in them. */
#ifndef HF_ENGINES_ZOOKEEPER_QUEUE_H
#define HF_ENGINES_ZOOKEEPER_QUEUE_H

#include "core/admission.h"
#include "core/engine.h"
#include "core/tree.h"
#include "engines/zookeeper/node.h"
#include "zookeeper/wire.h"

struct hf_zk;

/* A child that is a ticket, or, of a lease, one of its permits. */
struct hf_zk_child {
    struct hf_zk_node node;
    const char *name; /* in .names of the queue */
    int64_t czxid;    /* 0 where nobody asked for it */
    /* kept_list.c */
    bool ours;    /* a ticket of this session */
    bool gone;    /* it was seen to go since it was listed */
    bool listed;  /* the list that is being taken in has it */
    size_t other; /* so many children there are up to the nearest one ahead
                     that is not ours; 0: there is none */
};

/* Requests that wait for one and the same answer, in the order of their
 * asking. */
struct hf_zk_op;
struct hf_zk_line {
    struct hf_zk_op *first;
    struct hf_zk_op *last;
};

struct hf_zk_queue {
    struct hf_tree_node by_name;  /* first */
    unsigned users;               /* requests under way and own tickets */
    struct hf_zk_child *children; /* of the last list, in order */
    size_t count;
    char *names;
    bool unsorted; /* more is known of children of one number */
    size_t live;   /* the first child that is not .gone, or .count */
    size_t holes;  /* so many behind that have gone */
    uint64_t kept; /* the connection on which it was listed; 0: it does not
                      serve those who wait in it */
    /* list_call.c: who is served by the list that is under way, and who waits
     * for the next one. */
    struct hf_zk_call list_call;
    struct hf_zk_line listing;
    struct hf_zk_line waiting;
    /* list.c: the head that is being asked for, and who waits for that too. */
    struct hf_zk_op *head_reader;
    struct hf_ticket_id head_asked;
    struct hf_zk_line head_waiting;
    /* What the first ticket says of itself, if anybody asked. */
    struct hf_ticket_id head;
    bool head_known;
    char head_payload[HF_PAYLOAD_BYTES];
    bool permits;     /* of kazoo's kind, see permit.h */
    const char *name; /* behind the path, which is made of it */
    char path[];
};

/* A ticket of this session: a node, or, of a lease, as many as it has permits,
 * made at once and numbered one after the other. */
struct hf_zk_own {
    struct hf_tree_node by_id; /* first */
    struct hf_zk_own *next;    /* in the order of proofs */
    struct hf_zk_own **link;
    struct hf_zk_queue *queue;
    struct hf_ticket_id id;
    enum hf_ticket_kind kind;
    int64_t czxid;    /* of the node that was enqueued */
    int32_t sequence; /* of its first node; 0 of permits */
    uint32_t weight;
    bool leaving; /* its delete is under way, or got no answer */
    /* Its downgrade is under way, or got no answer: it has .prefix, a write
     * ticket's, or already that of the read ticket. */
    bool downgrading;
    size_t prefix_bytes;           /* none of permits and members */
    char prefix[HF_ZK_NODE_BYTES]; /* of all its nodes' names */
};

struct hf_zk_queues {
    struct hf_tree names;       /* queues by name */
    struct hf_tree ids;         /* our tickets by id, ... */
    struct hf_zk_own *own;      /* ... and those that go to the proof first,
                                   first */
    struct hf_zk_own **own_end; /* where the next one is linked; NULL: .own */
    struct hf_ticket *snapshot; /* of the last one that was handed out */
    size_t snapshot_size;
    struct hf_ticket part[HF_ADMISSION_NEAREST + 2]; /* the same of a part */
};

/* The queue called ${name}, to be given back by _leave(); NULL for lack of
 * memory. */
struct hf_zk_queue *hf_zk_queue_use(struct hf_zk *zk, const char *name);
struct hf_zk_queue *hf_zk_queue_find(const struct hf_zk *zk, const char *name);
void hf_zk_queue_leave(struct hf_zk *zk, struct hf_zk_queue *queue);

/* The path of a child, in ${zk}->path until the next one is put together. */
const char *hf_zk_child_path(struct hf_zk *zk, const struct hf_zk_queue *queue,
                             const char *name);

/* Take in the answer to a getChildren, whose ${error} is passed on: an empty
 * list for NoNode.  HF_ZK_NONSENSE if it makes no sense or there is no memory,
 * then nothing has changed. */
enum hf_zk_error hf_zk_queue_take(struct hf_zk *zk, struct hf_zk_queue *queue,
                                  enum hf_zk_error error,
                                  struct hf_jute_reader *body);

/* A string of no byte is as short as an element of a list gets. */
#define HF_ZK_CHILD_LEAST_BYTES 4

/* hf_zk_node_parse(), or as permits are named where those are, or as members
 * are. */
bool hf_zk_queue_parse(const struct hf_zk_queue *queue, const char *name,
                       size_t bytes, struct hf_zk_node *node);

/* Put the children in order again, now that more is known of them. */
void hf_zk_queue_sort(const struct hf_zk *zk, struct hf_zk_queue *queue);

/* The place of the ticket in the last list, or .count.  One of ours is found by
 * its number, which does not walk the list. */
size_t hf_zk_queue_place(const struct hf_zk *zk,
                         const struct hf_zk_queue *queue,
                         const struct hf_ticket_id *id);

/* The place of the child called ${id} with that number, or .count. */
size_t hf_zk_queue_numbered(const struct hf_zk_queue *queue, int32_t sequence,
                            const struct hf_ticket_id *id);

/* So many nodes the ticket has in the last list, one after the other in number;
 * 0: it is not there.  And so many nodes there have its id. */
uint32_t hf_zk_queue_weight(const struct hf_zk *zk,
                            const struct hf_zk_queue *queue,
                            const struct hf_ticket_id *id);
size_t hf_zk_queue_nodes(const struct hf_zk_queue *queue,
                         const struct hf_ticket_id *id);

/* It is not what its nodes' names say: somebody else's, or no whole ticket. */
void hf_zk_queue_disown(struct hf_zk_queue *queue,
                        const struct hf_ticket_id *id);

/* Write the data of a node as a payload: text without NUL, quoted if it is
 * none.  The bytes of it. */
size_t hf_zk_payload_copy(char payload[HF_PAYLOAD_BYTES],
                          struct hf_jute_piece data);

/* What the ticket at the head says of itself. */
void hf_zk_queue_learn_head(struct hf_zk_queue *queue,
                            const struct hf_ticket_id *id,
                            struct hf_jute_piece payload);

/* The last list, valid until the next call of this.  False for lack of
 * memory. */
bool hf_zk_queue_snapshot(struct hf_zk *zk, const struct hf_zk_queue *queue,
                          struct hf_snapshot *snapshot);

/* The part of it that hf_admission_trim() would leave for ${mine} of ${kind},
 * put together without the rest; valid until the next call of this. */
void hf_zk_queue_part(struct hf_zk *zk, const struct hf_zk_queue *queue,
                      const struct hf_ticket_id *mine, enum hf_ticket_kind kind,
                      struct hf_snapshot *snapshot);

/* kept_list.c: the last list has been taken in, or put in another order.  What
 * has gone since is left out. */
void hf_zk_kept_begin(struct hf_zk_queue *queue);

/* Does it serve our ticket ${own} in place of a new one?  What has gone is then
 * no more in it. */
bool hf_zk_kept_serves(struct hf_zk *zk, struct hf_zk_queue *queue,
                       const struct hf_zk_own *own);

/* The list ${body} has come for those in ${line}, whose tickets are in the one
 * that is kept: leave out what has gone ahead of the last of them, at the cost
 * of what it has there.  False, with nothing changed, if it is to be taken in
 * as a whole. */
bool hf_zk_kept_update(struct hf_zk *zk, struct hf_zk_queue *queue,
                       const struct hf_zk_line *line,
                       struct hf_jute_reader body);

/* Our ticket ${own} has gone, and the node at ${path} of the queue called
 * ${name}. */
void hf_zk_kept_own_gone(const struct hf_zk_own *own);
void hf_zk_kept_node_gone(struct hf_zk *zk, const char *name, const char *path);

/* Our ticket called ${id}, or NULL. */
struct hf_zk_own *hf_zk_own_find(const struct hf_zk *zk,
                                 const struct hf_ticket_id *id);

/* The child called ${name} is ours, with ${weight} - 1 more that follow it in
 * number.  NULL for lack of memory or if it is not what we call our tickets. */
struct hf_zk_own *hf_zk_own_add(struct hf_zk *zk, struct hf_zk_queue *queue,
                                const char *name, size_t bytes, uint32_t weight,
                                int64_t czxid);
void hf_zk_own_drop(struct hf_zk *zk, struct hf_zk_own *own);

/* The path of its ${nth} node, as hf_zk_child_path(). */
const char *hf_zk_own_path(struct hf_zk *zk, const struct hf_zk_own *own,
                           uint32_t nth);

/* What the node of ${own}, a write ticket, is called as a read ticket's; and
 * that it is. */
void hf_zk_own_read_name(const struct hf_zk *zk, const struct hf_zk_own *own,
                         char name[HF_ZK_NODE_BYTES]);
void hf_zk_own_downgraded(const struct hf_zk *zk, struct hf_zk_own *own);

/* The node at ${path} is gone; perhaps it was of a ticket of ours, which has
 * then gone as a whole. */
void hf_zk_own_gone(struct hf_zk *zk, const char *path);

/* Have ${own} deleted, by ${call}. */
void hf_zk_own_delete(struct hf_zk *zk, const struct hf_zk_own *own,
                      struct hf_zk_call *call);

/* Put ${own} behind all others in the order of proofs. */
void hf_zk_own_rotate(struct hf_zk *zk, struct hf_zk_own *own);

void hf_zk_queues_init(struct hf_zk_queues *queues);

/* Forget lists and tickets.  Queues that requests under way use stay. */
void hf_zk_queues_clear(struct hf_zk_queues *queues);
void hf_zk_queues_free(struct hf_zk_queues *queues);

#endif
