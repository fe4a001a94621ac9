/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queues that this client uses at present, and its own tickets in them.
 *
 * A ticket of ours has its key from before its enqueue is sent until nothing of
 * it can be in the queue.  The key is made of the lease and a slot, and a slot
 * is used again only after that.  So an enqueue that is repeated puts the same
 * key, and the removal of a ticket whose enqueue got no answer finds it.
 */
#ifndef HF_ENGINES_ETCD_OWN_TICKET_H
#define HF_ENGINES_ETCD_OWN_TICKET_H

#include "base/tree.h"
#include "core/engine.h"
#include "engines/etcd/key_name.h"
#include "engines/etcd/own_value.h"
#include "engines/etcd/queue_snapshot.h"

struct hf_etcd_engine;
struct hf_etcd_engine_request;

/* ---------------------------------------------------------------- queues -- */

/* Requests of a queue that have not begun, or have begun and keep others
 * waiting. */
struct hf_etcd_engine_request_list {
    struct hf_etcd_engine_request *first;
    struct hf_etcd_engine_request *last;
};

/* Is something to be begun in a queue?  See queue_order.h. */
enum hf_etcd_engine_due {
    HF_ETCD_QUEUE_IDLE,
    HF_ETCD_QUEUE_DUE,     /* at the next flush */
    HF_ETCD_QUEUE_BLOCKED, /* when the epoch is known */
};

/* A queue, as long as requests, tickets or watches use it. */
struct hf_etcd_engine_queue {
    struct hf_tree_node by_name;
    unsigned users;
    /* See queue_order.h. */
    struct hf_etcd_engine_request_list ordered;
    struct hf_etcd_engine_request_list removals;
    uint64_t ended; /* how many of .ordered had their turn, and ended */
    struct hf_etcd_engine_queue *next; /* among those that are .due as it is */
    struct hf_etcd_engine_queue *previous;
    unsigned due; /* enum hf_etcd_engine_due */
    /* Our tickets here. */
    struct {
        struct hf_etcd_engine_own_ticket *first;
        struct hf_etcd_engine_own_ticket *last;
    } own;
    const char *name;
    size_t prefix_bytes; /* of .prefix, without the NUL */
    char prefix[];       /* "PREFIX NAME/"; and behind its NUL the name */
};

/* No queue is in use, and no ticket is ours. */
void hf_etcd_engine_tables_init(struct hf_etcd_engine *engine);

/* The queue ${name}, made if necessary, with one more user.  NULL for lack of
 * memory. */
struct hf_etcd_engine_queue *
hf_etcd_engine_queue_use(struct hf_etcd_engine *engine, const char *name);

/* A user is done with ${queue}; frees it after the last one. */
void hf_etcd_engine_queue_release(struct hf_etcd_engine *engine,
                                  struct hf_etcd_engine_queue *queue);

/* The range of all keys of ${queue}; .range_end is written to ${end}. */
struct hf_etcd_range
hf_etcd_engine_queue_range(const struct hf_etcd_engine_queue *queue,
                           char end[HF_ETCD_KEY_BYTES]);

/* ----------------------------------------------------------- own tickets -- */

/* Another ticket, also of ours, that a list for one of ours has shown. */
struct hf_etcd_engine_seen_ticket {
    struct hf_ticket_id id;
    enum hf_ticket_kind kind;
    int64_t create_revision;
    char suffix[HF_ETCD_SUFFIX_BYTES]; /* behind "PREFIX NAME/" */
};

/* The nearest ones, of which the core watches two. */
#define HF_ETCD_SEEN_MAX 4

/* What is known of a ticket of ours. */
enum hf_etcd_engine_own_state {
    HF_ETCD_OWN_ENQUEUING, /* its first enqueue is under way */
    HF_ETCD_OWN_UNSURE,    /* an enqueue got no answer */
    HF_ETCD_OWN_QUEUED,    /* it is there, as far as is known */
};

struct hf_etcd_engine_own_ticket {
    struct hf_tree_node by_id;
    struct hf_etcd_engine_own_ticket *next; /* in its queue */
    struct hf_etcd_engine_own_ticket *previous;
    struct hf_etcd_engine_own_ticket
        *next_proof; /* see hf_etcd_engine_prove() */
    struct hf_etcd_engine_own_ticket *previous_proof;
    struct hf_etcd_engine_queue *queue; /* in use by this ticket */
    struct hf_ticket_id id;
    enum hf_ticket_kind kind; /* READ after a downgrade */
    uint32_t weight;
    uint32_t slot;  /* HF_ETCD_NO_SLOT for an election */
    unsigned state; /* enum hf_etcd_engine_own_state */
    /* From QUEUED on. */
    int64_t create_revision; /* the fencing token, without token_floor= */
    struct hf_etcd_engine_own_value value;
    size_t ahead;          /* by the last list, at most this many are ahead */
    int64_t list_revision; /* of that list */
    struct hf_etcd_engine_seen_ticket *seen; /* .seen_count of them, allocated;
                                                NULL: there are none, or there
                                                was no memory */
    size_t seen_count;
};

/* Our ticket ${id}, or NULL. */
struct hf_etcd_engine_own_ticket *
hf_etcd_engine_own_find(const struct hf_etcd_engine *engine,
                        const struct hf_ticket_id *id);

/* Our ticket in ${queue} that was created at that revision, or NULL. */
struct hf_etcd_engine_own_ticket *
hf_etcd_engine_own_created(const struct hf_etcd_engine_queue *queue,
                           int64_t create_revision);

/* A new ticket for ${request}, an ENQUEUE: ENQUEUING, with a slot that no other
 * one in ${queue} has.  NULL for lack of memory. */
struct hf_etcd_engine_own_ticket *
hf_etcd_engine_own_new(struct hf_etcd_engine *engine,
                       struct hf_etcd_engine_queue *queue,
                       const struct hf_request *request);

/* Give ${own} another slot, because somebody has a key of that name. */
void hf_etcd_engine_own_next_slot(struct hf_etcd_engine_own_ticket *own);

/* ${own} is in the queue, and its key is ${kv}. */
void hf_etcd_engine_own_queued(struct hf_etcd_engine_own_ticket *own,
                               const struct hf_etcd_key_value *kv);

/* Is ${kv}, which has the name of ${own}, that ticket?  False if the key is not
 * there (.create_revision 0). */
bool hf_etcd_engine_own_is(const struct hf_etcd_engine_own_ticket *own,
                           const struct hf_etcd_key_value *kv);

/* Write its key; return the length. */
size_t hf_etcd_engine_own_key(const struct hf_etcd_engine *engine,
                              const struct hf_etcd_engine_own_ticket *own,
                              char key[HF_ETCD_KEY_BYTES]);

/* Remember what ${list}, read at ${revision}, shows of the tickets ahead of
 * ${own}; at most ${ahead} are. */
void hf_etcd_engine_own_listed(struct hf_etcd_engine_own_ticket *own,
                               const struct hf_etcd_engine_list *list,
                               size_t ahead, int64_t revision);

/* The ticket ${id} as a list for one of ours in ${queue} has shown it, with the
 * revision of that list; NULL: none has. */
const struct hf_etcd_engine_seen_ticket *
hf_etcd_engine_own_saw(const struct hf_etcd_engine_queue *queue,
                       const struct hf_ticket_id *id, int64_t *revision);

/* Nothing of ${own} can be in the queue any more: free it.  May free its
 * queue. */
void hf_etcd_engine_own_free(struct hf_etcd_engine *engine,
                             struct hf_etcd_engine_own_ticket *own);

/* Free all of them, because the session has ended. */
void hf_etcd_engine_own_clear(struct hf_etcd_engine *engine);

#endif
