/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order in which the acquisitions of one client enter a queue: that in
 * which they were wanted.
 *
 * Those that want a ticket in a queue and have none stand in line for it, by
 * the number of their WANT.  The first of them asks for a ticket, and the next
 * one asks when the ticket of the first is in the queue.  So the order does not
 * depend on what an engine has to do for a first enqueue, such as to make
 * parents.
 *
 * Once one has a ticket the queue is known to take them, and all that stand
 * behind it then ask at once: an engine carries out what it is asked for in
 * that order. So a thousand readers enter in two round trips.  A failure ends
 * that, and the line goes on one by one.  An enqueue that fails alone among
 * those under way may be overtaken by them: only waiting for each answer could
 * prevent that. It is the same where the engine sends it again itself, because
 * the server deleted the node of an empty queue while it was on its way.
 *
 * It ends, because the first one waits for nothing but answers and its own
 * backoff (one that may not ask before a time lets those behind it pass), and
 * neither for a place in another queue nor for another client. It leaves the
 * line with its ticket, when it gives up, while as many earlier tickets are
 * being removed as may be, and after HF_ENQUEUE_ORDER_FAILURES failures: from
 * then on it tries beside the line, and others may overtake it.
 *
 * A lease stands in no line, because only the holder of the entry mutex wants
 * one, and that mutex keeps the order.
 */
#ifndef HF_CORE_ENQUEUE_ORDER_H
#define HF_CORE_ENQUEUE_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/tree.h"

struct hf_core;
struct hf_enqueue_turn;

/* After this many failures a turn leaves the line, so that its backoff delays
 * no other turn. */
#define HF_ENQUEUE_ORDER_FAILURES 8

/* Has the acquisition of ${turn} asked for a ticket, and has no answer yet? */
typedef bool hf_enqueue_turn_is_asking(const struct hf_enqueue_turn *turn);

/* The part of the core. */
struct hf_enqueue_order {
    hf_enqueue_turn_is_asking *is_asking;
    struct hf_tree lines; /* of each queue the first in line, by its name */
    uint64_t wants;       /* the number of the last one */
    struct hf_enqueue_turn *ready; /* those whose turn may have come */
};

/* The part of an acquisition; all zero before its WANT. */
struct hf_enqueue_turn {
    const char *queue;      /* lives as long */
    uint64_t not_before_ms; /* CLOCK_BOOTTIME; it asks for no ticket earlier */
    uint64_t number;        /* of its WANT */
    unsigned failures;      /* since it last had a ticket in the queue */
    bool in_line;
    bool may_pipeline; /* the queue takes tickets: one in front of it has its
                   own, and nothing failed since */
    bool is_ready;     /* it is in the list of those whose turn may have come */
    struct hf_enqueue_turn *before; /* in line for the same queue */
    struct hf_enqueue_turn *behind;
    struct hf_tree_node node;     /* of the first in line, ... */
    struct hf_enqueue_turn *last; /* ... which knows the last one */
    struct hf_enqueue_turn *next;
};

void hf_enqueue_order_init(struct hf_enqueue_order *order,
                           hf_enqueue_turn_is_asking *is_asking);

/* The acquisition of ${turn} is wanted: give it its number. */
void hf_enqueue_order_register(struct hf_core *core,
                               struct hf_enqueue_turn *turn, const char *queue,
                               uint64_t not_before_ms);

/* After each change of the state of the acquisition, or of its tickets.
 * ${wants}: it wants a ticket in the queue, and has none there.  ${queued}: its
 * ticket is in the queue, not admitted yet. */
void hf_enqueue_order_update(struct hf_core *core, struct hf_enqueue_turn *turn,
                             bool wants, bool queued);

/* It has asked for its ticket. */
void hf_enqueue_order_asked(struct hf_core *core, struct hf_enqueue_turn *turn);

/* Its enqueue, or the search for its ticket, failed; it tries again. */
void hf_enqueue_order_failed(struct hf_core *core,
                             struct hf_enqueue_turn *turn);

/* The turn in front that ${turn} waits for; NULL: it may ask for its ticket
 * now. In a queue that is known to take tickets it waits only until the one in
 * front has asked; else until that one has its ticket in the queue. */
const struct hf_enqueue_turn *
hf_enqueue_order_before(const struct hf_core *core,
                        const struct hf_enqueue_turn *turn);

/* The next whose turn has come, to be pumped when a step ends; or NULL. */
struct hf_enqueue_turn *hf_enqueue_order_next_ready(struct hf_core *core);

void hf_enqueue_order_check(const struct hf_core *core,
                            const struct hf_enqueue_turn *turn);

#endif
