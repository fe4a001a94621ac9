/* SPDX-License-Identifier: Apache-2.0 */
#include "core/enqueue_order.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "core/acquisition.h"
#include "core/core.h"

static struct hf_acquisition *of_node(struct hf_tree_node *node)
{
    size_t offset = offsetof(struct hf_acquisition, own.turn.node);

    if (node == NULL)
        return NULL;
    return (struct hf_acquisition *)(void *)((char *)node - offset);
}

static int compare(const void *queue, const struct hf_tree_node *node)
{
    return strcmp(queue, of_node((struct hf_tree_node *)node)->queue);
}

void hf_enqueue_order_init(struct hf_enqueue_order *order)
{
    *order = (struct hf_enqueue_order){.lines = {.compare = compare}};
}

static struct hf_acquisition *first_in_line(const struct hf_core *core,
                                            const char *queue)
{
    return of_node(hf_tree_find(&core->order.lines, queue));
}

/* ------------------------------------------------------------------ turns --
 */

static void add_next(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_acquisition **link = &core->order.next;

    if (a->own.turn.is_next)
        return;
    for (; *link != NULL; link = &(*link)->own.turn.next)
        hf_core_visit(core);
    a->own.turn.is_next = true;
    a->own.turn.next = NULL;
    *link = a;
}

static void drop_next(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_acquisition **link = &core->order.next;

    if (!a->own.turn.is_next)
        return;
    for (; *link != a; link = &(*link)->own.turn.next)
        hf_core_visit(core);
    *link = a->own.turn.next;
    a->own.turn.is_next = false;
}

/* One that may not ask yet lets those behind it pass. */
static bool lets_pass(const struct hf_core *core,
                      const struct hf_acquisition *a)
{
    return a->not_before_ms > core->now_ms;
}

static void pass_on(struct hf_core *core, const struct hf_acquisition *a)
{
    struct hf_acquisition *next = a->own.turn.behind;

    while (next != NULL) {
        add_next(core, next);
        next = lets_pass(core, next) ? next->own.turn.behind : NULL;
    }
}

/* The queue took a ticket: all behind ${a} may ask.  Those behind one that was
 * told before hear it from that one, so that this is no walk for each ticket.
 */
static void set_known(const struct hf_core *core, struct hf_acquisition *a)
{
    while ((a = a->own.turn.behind) != NULL && !a->own.turn.known) {
        hf_core_visit(core);
        a->own.turn.known = true;
    }
}

static void clear_known(const struct hf_core *core, struct hf_acquisition *a)
{
    for (; a != NULL; a = a->own.turn.behind) {
        hf_core_visit(core);
        a->own.turn.known = false;
    }
}

/* ------------------------------------------------------------------- line --
 */

static void set_first(struct hf_core *core, struct hf_acquisition *a,
                      struct hf_acquisition *last)
{
    a->own.turn.last = last;
    hf_tree_add(&core->order.lines, &a->own.turn.node, a->queue);
}

static void drop_first(struct hf_core *core, struct hf_acquisition *a)
{
    hf_tree_remove(&core->order.lines, &a->own.turn.node, a->queue);
}

/* An acquisition that comes back takes its old place in the line. */
static void join(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_acquisition *first = first_in_line(core, a->queue);
    struct hf_acquisition *before = first != NULL ? first->own.turn.last : NULL;

    while (before != NULL && before->own.turn.number > a->own.turn.number) {
        hf_core_visit(core);
        before = before->own.turn.before;
    }
    a->own.turn.before = before;
    a->own.turn.behind = before != NULL ? before->own.turn.behind : first;
    a->own.turn.known = false;
    a->own.turn.in_line = true;
    if (a->own.turn.behind != NULL)
        a->own.turn.behind->own.turn.before = a;
    else if (first != NULL)
        first->own.turn.last = a;
    if (before != NULL) {
        before->own.turn.behind = a;
        return;
    }
    if (first != NULL)
        drop_first(core, first);
    set_first(core, a, first != NULL ? first->own.turn.last : a);
}

static void leave(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_acquisition *before = a->own.turn.before,
                          *behind = a->own.turn.behind;

    drop_next(core, a);
    if (hf_acquisition_is_queued(a))
        set_known(core, a);
    pass_on(core, a);
    if (behind != NULL)
        behind->own.turn.before = before;
    else if (before != NULL)
        first_in_line(core, a->queue)->own.turn.last = before;
    if (before != NULL)
        before->own.turn.behind = behind;
    else
        drop_first(core, a);
    if (before == NULL && behind != NULL)
        set_first(core, behind, a->own.turn.last);
    a->own.turn.in_line = false;
}

void hf_enqueue_order_want(struct hf_core *core, struct hf_acquisition *a)
{
    a->own.turn = (struct hf_enqueue_turn){
        .number = ++core->order.wants,
    };
}

void hf_enqueue_order_update(struct hf_core *core, struct hf_acquisition *a,
                             bool wants)
{
    bool belongs = wants && a->own.turn.failures < HF_ENQUEUE_ORDER_FAILURES;

    if (hf_acquisition_is_queued(a))
        a->own.turn.failures = 0;
    if (belongs == a->own.turn.in_line)
        return;
    if (a->own.turn.in_line)
        leave(core, a);
    else
        join(core, a);
}

void hf_enqueue_order_failed(struct hf_core *core, struct hf_acquisition *a)
{
    if (a->own.turn.in_line)
        clear_known(core, a);
    if (core->session.state == HF_STATE_CONNECTED)
        a->own.turn.failures++; /* a link that dropped counts for nothing */
    hf_enqueue_order_update(core, a, a->own.turn.in_line);
}

void hf_enqueue_order_asked(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_acquisition *next =
        a->own.turn.in_line ? a->own.turn.behind : NULL;

    if (next != NULL && next->own.turn.known)
        add_next(core, next);
}

const struct hf_acquisition *
hf_enqueue_order_before(const struct hf_core *core,
                        const struct hf_acquisition *a)
{
    const struct hf_acquisition *before = a->own.turn.before;

    if (!a->own.turn.in_line)
        return NULL;
    while (before != NULL && lets_pass(core, before)) {
        hf_core_visit(core);
        before = before->own.turn.before;
    }
    if (before != NULL && a->own.turn.known && before->own.ticket != NULL &&
        hf_own_ticket_enqueue_unanswered(before->own.ticket))
        return NULL;
    return before;
}

struct hf_acquisition *hf_enqueue_order_take(struct hf_core *core)
{
    struct hf_acquisition *a = core->order.next;

    if (a != NULL)
        drop_next(core, a);
    return a;
}

void hf_enqueue_order_check(const struct hf_core *core,
                            const struct hf_acquisition *a)
{
    const struct hf_acquisition *before = a->own.turn.before;

    assert(!a->own.turn.is_next);
    if (!a->own.turn.in_line)
        return;
    if (before == NULL)
        assert(first_in_line(core, a->queue) == a);
    else
        assert(before->own.turn.behind == a &&
               before->own.turn.number < a->own.turn.number &&
               strcmp(before->queue, a->queue) == 0);
    assert(a->own.turn.behind != NULL ||
           first_in_line(core, a->queue)->own.turn.last == a);
}
