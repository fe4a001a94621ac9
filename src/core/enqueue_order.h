/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order in which the acquisitions of one client enter a queue: the order of
 * their ACQUIREs.
 *
 * Acquisitions that want a ticket in a queue, and have none there, stand in
 * line for that queue.  The first of them enqueues a ticket, and the next one
 * does so when the ticket of the first is in the queue.  So the order does not
 * depend on what an engine has to do for a first enqueue, such as to make
 * parents.
 *
 * Once one has its ticket, the queue is known to take tickets, and all that
 * stand behind it then enqueue at once (pipelining), because an engine carries
 * out enqueues in the order of the requests.  So a thousand readers enter in
 * two round trips.  A failure ends that, and the line goes on one by one.  An
 * enqueue that fails alone among those under way may be overtaken by them: only
 * waiting for each answer could prevent that.  It is the same if the engine
 * sends an enqueue again, because the server deleted the node of an empty queue
 * meanwhile.
 *
 * Nobody waits for ever, because the first one in line waits only for answers
 * and for its own backoff, and neither for a position in another queue nor for
 * another client.  (One that may not enqueue before a given time lets those
 * behind it pass.) An acquisition leaves the line with its ticket, when it
 * gives up, while it has as many earlier tickets under removal as are allowed,
 * and after HF_ENQUEUE_ORDER_FAILURES failures: from then on it tries beside
 * the line, and others may overtake it.
 *
 * A lease stands in no line, because only the holder of the entry mutex wants
 * one, and the queue of that mutex keeps the order.
 */
#ifndef HF_CORE_ENQUEUE_ORDER_H
#define HF_CORE_ENQUEUE_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/tree.h"

struct hf_core;
struct hf_enqueue_turn;

/* After this many failures an acquisition leaves the line, so that its backoff
 * delays no other one. */
#define HF_ENQUEUE_ORDER_FAILURES 8

/* Is the ENQUEUE of the acquisition of ${turn} under way? */
typedef bool hf_enqueue_turn_is_asking(const struct hf_enqueue_turn *turn);

/* The part of the core. */
struct hf_enqueue_order {
    hf_enqueue_turn_is_asking *is_asking;
    struct hf_tree lines; /* the first turn of each line, by the queue's name */
    uint64_t last_number; /* the number of the last ACQUIRE */
    struct hf_enqueue_turn *ready; /* those whose turn may have come, linked by
                                      .next */
};

/* The part of an acquisition; all zero before its ACQUIRE. */
struct hf_enqueue_turn {
    const char *queue;      /* its name */
    uint64_t not_before_ms; /* CLOCK_BOOTTIME; no enqueue before */
    uint64_t number;        /* of its ACQUIRE */
    unsigned failures;      /* since it last had a ticket in the queue */
    bool in_line;
    bool may_pipeline; /* the queue takes tickets: one in front has its own, and
                          nothing has failed since */
    bool is_ready;     /* it is in the list of those whose turn may have come */
    struct hf_enqueue_turn *before; /* in line for the same queue */
    struct hf_enqueue_turn *behind;
    struct hf_tree_node node;     /* in use if it is the first in line */
    struct hf_enqueue_turn *last; /* the last in line, if it is the first */
    struct hf_enqueue_turn *next; /* in the list of those that are ready */
};

/* Make ${order} empty. */
void hf_enqueue_order_init(struct hf_enqueue_order *order,
                           hf_enqueue_turn_is_asking *is_asking);

/* The acquisition of ${turn} was started: give it its number.  ${queue} is
 * borrowed and must live as long as the acquisition. */
void hf_enqueue_order_register(struct hf_core *core,
                               struct hf_enqueue_turn *turn, const char *queue,
                               uint64_t not_before_ms);

/* To be called in each pump, and when the session is over.  ${wants}: it wants
 * a ticket in the queue, and has none there. */
void hf_enqueue_order_update(struct hf_core *core, struct hf_enqueue_turn *turn,
                             bool wants);

/* Its ticket is in the queue. */
void hf_enqueue_order_queued(struct hf_core *core,
                             struct hf_enqueue_turn *turn);

/* It has requested its ENQUEUE. */
void hf_enqueue_order_asked(struct hf_core *core, struct hf_enqueue_turn *turn);

/* Its ENQUEUE, or the search for its ticket, failed; it tries again. */
void hf_enqueue_order_failed(struct hf_core *core,
                             struct hf_enqueue_turn *turn);

/* The turn in front for which ${turn} waits; NULL: it may enqueue now.  With
 * .may_pipeline it waits only until the one in front has requested its ENQUEUE;
 * else until that one has its ticket in the queue. */
const struct hf_enqueue_turn *
hf_enqueue_order_before(const struct hf_core *core,
                        const struct hf_enqueue_turn *turn);

/* The next one whose turn may have come, or NULL.  To be pumped at the end of a
 * step. */
struct hf_enqueue_turn *hf_enqueue_order_next_ready(struct hf_core *core);

/* Assert the invariants of ${turn} and its neighbours. */
void hf_enqueue_order_check(const struct hf_core *core,
                            const struct hf_enqueue_turn *turn);

#endif
