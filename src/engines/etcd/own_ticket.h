/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queues that this client uses at present, and its own tickets in them.
 *
 * A ticket of ours has a key name from before its enqueue is sent until no key
 * of it can be in the queue any more.  The name has the lease and a slot, and
 * the slot is not used again before that.  So an enqueue that is repeated puts
 * the same key, and if an enqueue got no answer, the removal of the ticket
 * finds the key.
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

/* A list of requests of one queue. */
struct hf_etcd_engine_request_list {
    struct hf_etcd_engine_request *first;
    struct hf_etcd_engine_request *last;
};

/* Whether requests of a queue are to be begun.  See queue_order.h. */
enum hf_etcd_engine_due {
    HF_ETCD_QUEUE_IDLE,
    HF_ETCD_QUEUE_DUE,     /* begin at the next flush */
    HF_ETCD_QUEUE_BLOCKED, /* begin when the epoch is known */
};

/* A queue.  It exists as long as requests, tickets or watches use it. */
struct hf_etcd_engine_queue {
    struct hf_tree_node by_name;
    unsigned users;
    /* The requests that keep an order, and the removals: see queue_order.h. */
    struct hf_etcd_engine_request_list ordered;
    struct hf_etcd_engine_request_list removals;
    uint64_t ended; /* how many requests of .ordered have ended their turn */
    struct hf_etcd_engine_queue *next; /* list of the queues with the same
                                          .due */
    struct hf_etcd_engine_queue *previous;
    unsigned due; /* enum hf_etcd_engine_due */
    /* Our tickets in this queue, in the order of their slots. */
    struct {
        struct hf_etcd_engine_own_ticket *first;
        struct hf_etcd_engine_own_ticket *last;
    } own;
    const char *name;
    size_t prefix_bytes; /* length of .prefix without its NUL */
    char prefix[];       /* "PREFIX NAME/"; behind its NUL .name */
};

/* Set up the tables, without a queue and without a ticket. */
void hf_etcd_engine_tables_init(struct hf_etcd_engine *engine);

/* Find or make the queue ${name}, and count one more user.  Returns NULL for
 * lack of memory. */
struct hf_etcd_engine_queue *
hf_etcd_engine_queue_use(struct hf_etcd_engine *engine, const char *name);

/* Count one user of ${queue} less.  Frees it after the last one. */
void hf_etcd_engine_queue_release(struct hf_etcd_engine *engine,
                                  struct hf_etcd_engine_queue *queue);

/* Return the range of all keys of ${queue}.  Its .range_end is written to
 * ${end}. */
struct hf_etcd_range
hf_etcd_engine_queue_range(const struct hf_etcd_engine_queue *queue,
                           char end[HF_ETCD_KEY_BYTES]);

/* ----------------------------------------------------------- own tickets -- */

/* A ticket of anybody that was shown by a list for one of our tickets. */
struct hf_etcd_engine_seen_ticket {
    struct hf_ticket_id id;
    enum hf_ticket_kind kind;
    int64_t create_revision;
    char suffix[HF_ETCD_SUFFIX_BYTES]; /* behind "PREFIX NAME/" */
};

/* How many such tickets are remembered: the nearest ones.  The core watches
 * two. */
#define HF_ETCD_SEEN_MAX 4

/* What is known of a ticket of ours. */
enum hf_etcd_engine_own_state {
    HF_ETCD_OWN_ENQUEUING, /* the first enqueue is under way */
    HF_ETCD_OWN_UNSURE,    /* an enqueue got no answer */
    HF_ETCD_OWN_QUEUED,    /* the ticket is there, as far as is known */
};

struct hf_etcd_engine_own_ticket {
    struct hf_tree_node by_id;
    struct hf_etcd_engine_own_ticket *next; /* list of the tickets of .queue */
    struct hf_etcd_engine_own_ticket *previous;
    struct hf_etcd_engine_own_ticket
        *next_proof; /* list in the order of comparison, see
                        hf_etcd_engine_prove() */
    struct hf_etcd_engine_own_ticket *previous_proof;
    struct hf_etcd_engine_queue *queue; /* counts this ticket as a user */
    struct hf_ticket_id id;
    enum hf_ticket_kind kind; /* READ after a downgrade */
    uint32_t weight;
    uint32_t slot;  /* HF_ETCD_NO_SLOT for an election */
    unsigned state; /* enum hf_etcd_engine_own_state */
    /* Known from QUEUED on. */
    int64_t create_revision; /* fencing token before token_floor= is added */
    struct hf_etcd_engine_own_value value;
    size_t ahead;          /* how many tickets were ahead at most, by the
                              last list */
    int64_t list_revision; /* revision of that list */
    struct hf_etcd_engine_seen_ticket *seen; /* array of .seen_count tickets;
                                                NULL: none, or no memory */
    size_t seen_count;
};

/* Return our ticket ${id}, or NULL. */
struct hf_etcd_engine_own_ticket *
hf_etcd_engine_own_find(const struct hf_etcd_engine *engine,
                        const struct hf_ticket_id *id);

/* Return our ticket in ${queue} that was created at ${create_revision}, or
 * NULL. */
struct hf_etcd_engine_own_ticket *
hf_etcd_engine_own_created(const struct hf_etcd_engine_queue *queue,
                           int64_t create_revision);

/* Make a ticket for ${request}, an ENQUEUE.  Its state is ENQUEUING, and no
 * other ticket of ours in ${queue} has its slot.  Returns NULL for lack of
 * memory. */
struct hf_etcd_engine_own_ticket *
hf_etcd_engine_own_new(struct hf_etcd_engine *engine,
                       struct hf_etcd_engine_queue *queue,
                       const struct hf_request *request);

/* Give ${own} another slot, because somebody else has put the key of its slot.
 */
void hf_etcd_engine_own_next_slot(struct hf_etcd_engine_own_ticket *own);

/* Note that ${own} is in the queue, and that its key is ${kv}. */
void hf_etcd_engine_own_queued(struct hf_etcd_engine_own_ticket *own,
                               const struct hf_etcd_key_value *kv);

/* Is ${kv}, whose key is that of ${own}, really this ticket?  False if the key
 * is not there (.create_revision is 0). */
bool hf_etcd_engine_own_is(const struct hf_etcd_engine_own_ticket *own,
                           const struct hf_etcd_key_value *kv);

/* Write the key of ${own} to ${key}, and return its length. */
size_t hf_etcd_engine_own_key(const struct hf_etcd_engine *engine,
                              const struct hf_etcd_engine_own_ticket *own,
                              char key[HF_ETCD_KEY_BYTES]);

/* Remember what ${list}, read at ${revision}, shows of the tickets ahead of
 * ${own}.  At most ${ahead} tickets are ahead. */
void hf_etcd_engine_own_listed(struct hf_etcd_engine_own_ticket *own,
                               const struct hf_etcd_engine_list *list,
                               size_t ahead, int64_t revision);

/* Return the ticket ${id} if a list for one of our tickets in ${queue} has
 * shown it, and set ${revision} to that of the list.  Otherwise return NULL. */
const struct hf_etcd_engine_seen_ticket *
hf_etcd_engine_own_saw(const struct hf_etcd_engine_queue *queue,
                       const struct hf_ticket_id *id, int64_t *revision);

/* Free ${own}, because no key of it can be in the queue any more.  May free its
 * queue, too. */
void hf_etcd_engine_own_free(struct hf_etcd_engine *engine,
                             struct hf_etcd_engine_own_ticket *own);

/* Free all own tickets, because the session has ended. */
void hf_etcd_engine_own_clear(struct hf_etcd_engine *engine);

#endif
