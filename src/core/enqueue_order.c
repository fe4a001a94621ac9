/* SPDX-License-Identifier: Apache-2.0 */
/* A doubly linked line for each queue, and a tree of the first ones by queue.
 * Those whose turn may have come are noted, and pumped at the end of the step.
 */
#include "core/enqueue_order.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/container_of.h"
#include "core/core_state.h"

static int compare(const void *queue, const struct hf_tree_node *node)
{
    return strcmp(
        queue, container_of(node, const struct hf_enqueue_turn, node)->queue);
}

void hf_enqueue_order_init(struct hf_enqueue_order *order,
                           hf_enqueue_turn_is_asking *is_asking)
{
    *order = (struct hf_enqueue_order){.lines = {.compare = compare},
                                       .is_asking = is_asking};
}

/* The first turn in line for ${queue}, or NULL. */
static struct hf_enqueue_turn *first_in_line(const struct hf_core *core,
                                             const char *queue)
{
    return container_of_or_null(hf_tree_find(&core->order.lines, queue),
                                struct hf_enqueue_turn, node);
}

/* ---------------------------------------------------------------- turns -- */

/* Note that the turn of ${turn} may have come. */
static void add_ready(struct hf_core *core, struct hf_enqueue_turn *turn)
{
    struct hf_enqueue_turn **link = &core->order.ready;

    assert(turn->in_line);
    if (turn->is_ready)
        return;
    for (; *link != NULL; link = &(*link)->next)
        hf_core_count_visit(core);
    turn->is_ready = true;
    turn->next = NULL;
    *link = turn;
}

/* Take ${turn} out of the list of those that are ready. */
static void remove_ready(struct hf_core *core, struct hf_enqueue_turn *turn)
{
    struct hf_enqueue_turn **link = &core->order.ready;

    if (!turn->is_ready)
        return;
    for (; *link != turn; link = &(*link)->next)
        hf_core_count_visit(core);
    *link = turn->next;
    turn->is_ready = false;
}

/* One that may not enqueue yet lets those behind it pass. */
static bool is_delayed(const struct hf_core *core,
                       const struct hf_enqueue_turn *turn)
{
    return turn->not_before_ms > core->now_ms;
}

/* The turn behind ${turn} may have come; and the next one too if that one may
 * not enqueue yet. */
static void wake_next(struct hf_core *core, const struct hf_enqueue_turn *turn)
{
    struct hf_enqueue_turn *next = turn->behind;

    while (next != NULL) {
        add_ready(core, next);
        next = is_delayed(core, next) ? next->behind : NULL;
    }
}

/* The queue took a ticket: all behind ${turn} may enqueue.  Stop at the first
 * turn that knows this already: those behind it learn it when that one has its
 * ticket in the queue.  So N enqueues cost one walk and not N. */
static void allow_pipelining(const struct hf_core *core,
                             struct hf_enqueue_turn *turn)
{
    while ((turn = turn->behind) != NULL && !turn->may_pipeline) {
        hf_core_count_visit(core);
        turn->may_pipeline = true;
    }
}

/* Something failed: ${turn} and all behind it enqueue one by one. */
static void stop_pipelining(const struct hf_core *core,
                            struct hf_enqueue_turn *turn)
{
    for (; turn != NULL; turn = turn->behind) {
        hf_core_count_visit(core);
        turn->may_pipeline = false;
    }
}

/* ----------------------------------------------------------------- line -- */

/* ${turn} is the first in line, and ${last} the last. */
static void set_first(struct hf_core *core, struct hf_enqueue_turn *turn,
                      struct hf_enqueue_turn *last)
{
    assert(turn->before == NULL && last->behind == NULL);
    turn->last = last;
    hf_tree_add(&core->order.lines, &turn->node, turn->queue);
}

static void drop_first(struct hf_core *core, struct hf_enqueue_turn *turn)
{
    hf_tree_remove(&core->order.lines, &turn->node, turn->queue);
}

/* Stand in line by the number of the ACQUIRE: an acquisition that comes back
 * takes its old place. */
static void join_line(struct hf_core *core, struct hf_enqueue_turn *turn)
{
    struct hf_enqueue_turn *first = first_in_line(core, turn->queue);
    struct hf_enqueue_turn *before = first != NULL ? first->last : NULL;

    assert(!turn->in_line && turn->number > 0);
    while (before != NULL && before->number > turn->number) {
        hf_core_count_visit(core);
        before = before->before;
    }
    turn->before = before;
    turn->behind = before != NULL ? before->behind : first;
    turn->may_pipeline = false;
    turn->in_line = true;
    if (turn->behind != NULL)
        turn->behind->before = turn;
    else if (first != NULL)
        first->last = turn;
    if (before != NULL) {
        before->behind = turn;
        return;
    }
    if (first != NULL)
        drop_first(core, first);
    set_first(core, turn, first != NULL ? first->last : turn);
}

static void leave_line(struct hf_core *core, struct hf_enqueue_turn *turn)
{
    struct hf_enqueue_turn *before = turn->before, *behind = turn->behind;

    assert(turn->in_line);
    remove_ready(core, turn);
    wake_next(core, turn);
    if (behind != NULL)
        behind->before = before;
    else if (before != NULL)
        first_in_line(core, turn->queue)->last = before;
    if (before != NULL)
        before->behind = behind;
    else
        drop_first(core, turn);
    if (before == NULL && behind != NULL)
        set_first(core, behind, turn->last);
    turn->in_line = false;
}

void hf_enqueue_order_register(struct hf_core *core,
                               struct hf_enqueue_turn *turn, const char *queue,
                               uint64_t not_before_ms)
{
    *turn = (struct hf_enqueue_turn){
        .queue = queue,
        .not_before_ms = not_before_ms,
        .number = ++core->order.last_number,
    };
}

void hf_enqueue_order_update(struct hf_core *core, struct hf_enqueue_turn *turn,
                             bool wants)
{
    bool belongs = wants && turn->failures < HF_ENQUEUE_ORDER_FAILURES;

    if (turn->in_line && !belongs)
        leave_line(core, turn);
    else if (!turn->in_line && belongs)
        join_line(core, turn);
}

void hf_enqueue_order_queued(struct hf_core *core, struct hf_enqueue_turn *turn)
{
    turn->failures = 0;
    if (!turn->in_line)
        return;
    allow_pipelining(core, turn);
    leave_line(core, turn);
}

void hf_enqueue_order_failed(struct hf_core *core, struct hf_enqueue_turn *turn)
{
    if (turn->in_line)
        stop_pipelining(core, turn);
    if (core->session.state == HF_STATE_CONNECTED)
        turn->failures++; /* an outage does not count */
    hf_enqueue_order_update(core, turn, turn->in_line);
}

void hf_enqueue_order_asked(struct hf_core *core, struct hf_enqueue_turn *turn)
{
    struct hf_enqueue_turn *next = turn->in_line ? turn->behind : NULL;

    assert(core->order.is_asking(turn));
    if (next != NULL && next->may_pipeline)
        add_ready(core, next);
}

/* Invariant 14: none in the line enqueues before those in the line that were
 * started earlier, unless these are delayed. */
const struct hf_enqueue_turn *
hf_enqueue_order_before(const struct hf_core *core,
                        const struct hf_enqueue_turn *turn)
{
    const struct hf_enqueue_turn *before = turn->before;

    if (!turn->in_line)
        return NULL;
    while (before != NULL && is_delayed(core, before)) {
        hf_core_count_visit(core);
        before = before->before;
    }
    if (before != NULL && turn->may_pipeline && core->order.is_asking(before))
        return NULL;
    return before;
}

struct hf_enqueue_turn *hf_enqueue_order_next_ready(struct hf_core *core)
{
    struct hf_enqueue_turn *turn = core->order.ready;

    if (turn != NULL)
        remove_ready(core, turn);
    return turn;
}

void hf_enqueue_order_check(const struct hf_core *core,
                            const struct hf_enqueue_turn *turn)
{
    const struct hf_enqueue_turn *before = turn->before;

    assert(!turn->is_ready);
    if (!turn->in_line)
        return;
    if (before == NULL)
        assert(first_in_line(core, turn->queue) == turn);
    else
        assert(before->behind == turn && before->number < turn->number &&
               strcmp(before->queue, turn->queue) == 0);
    assert(turn->behind != NULL ||
           first_in_line(core, turn->queue)->last == turn);
}
