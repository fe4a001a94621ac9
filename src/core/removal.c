/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of the removals that wait, and the steps of one removal. */
#include "core/removal.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/container_of.h"
#include "base/time_math.h"
#include "core/core_state.h"
#include "core/own_ticket.h"

/* -------------------------------------------- those that wait, by queue -- */

/* The order of the tree.  Two tickets of one acquisition are in the order in
 * which they were enqueued. */
struct removal_key {
    const char *queue;
    uint64_t acquisition;
    uint64_t number;
};

static struct removal_key key_of(const struct hf_own_ticket *ticket)
{
    return (struct removal_key){ticket->spec.queue, ticket->entry->number,
                                ticket->number};
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* By queue, then by acquisition, then by ticket. */
static int compare(const void *key, const struct hf_tree_node *node)
{
    const struct removal_key *a = key;
    struct removal_key b = key_of(
        container_of(node, const struct hf_own_ticket, in.removal.waiting));
    int order = strcmp(a->queue, b.queue);

    if (order == 0)
        order = compare_numbers(a->acquisition, b.acquisition);
    return order != 0 ? order : compare_numbers(a->number, b.number);
}

void hf_removals_init(struct hf_removals *removals)
{
    *removals = (struct hf_removals){.waiting = {.compare = compare}};
}

/* Change the state; only WAITING ones are in the tree. */
static void move(struct hf_core *core, struct hf_own_ticket *ticket,
                 enum hf_removal_state state)
{
    struct hf_removal *removal = hf_own_ticket_removal(ticket);
    struct removal_key key = key_of(ticket);

    if (removal->state == HF_REMOVAL_WAITING)
        hf_tree_remove(&core->removals.waiting, &removal->waiting, &key);
    removal->state = state;
    if (state == HF_REMOVAL_WAITING)
        hf_tree_add(&core->removals.waiting, &removal->waiting, &key);
}

/* ---------------------------------------------------------- one removal -- */

void hf_removal_begin(struct hf_core *core, struct hf_own_ticket *ticket,
                      uint64_t appears_until_ms, bool now, uint32_t weight)
{
    struct hf_removal *removal = hf_own_ticket_removal(ticket);

    assert(removal->state == HF_REMOVAL_NONE);
    assert(!ticket->request.busy);
    ticket->request = (struct hf_request){
        .kind = HF_REQUEST_REMOVE,
        .queue = ticket->spec.queue,
        .ticket = ticket->id,
        .weight = weight,
        .own_ticket = ticket,
    };
    removal->appears_until_ms = appears_until_ms;
    move(core, ticket, now ? HF_REMOVAL_DUE : HF_REMOVAL_WAITING);
}

void hf_removal_pump(struct hf_core *core, struct hf_own_ticket *ticket)
{
    struct hf_removal *removal = hf_own_ticket_removal(ticket);
    bool last = core->now_ms >= removal->appears_until_ms;

    assert(ticket->state == HF_OWN_TICKET_REMOVING);
    if (removal->state == HF_REMOVAL_WAITING && last)
        move(core, ticket, HF_REMOVAL_DUE);
    if (removal->state != HF_REMOVAL_DUE || core->now_ms < removal->at_ms)
        return;
    move(core, ticket, HF_REMOVAL_ASKED);
    removal->last = last;
    ticket->request.busy = true;
    ticket->request.engine_data = NULL;
    hf_effect_add_request(&core->effects, &ticket->request, HF_EFFECT_REQUEST);
}

void hf_removal_done(struct hf_core *core, struct hf_own_ticket *ticket,
                     bool found)
{
    struct hf_removal *removal = hf_own_ticket_removal(ticket);
    bool over = found || removal->last;

    assert(!ticket->request.busy && removal->state == HF_REMOVAL_ASKED);
    removal->tries = 0;
    removal->found = found;
    /* A ticket that was found and removed does not come back, because an
     * enqueue takes effect once. */
    move(core, ticket, over ? HF_REMOVAL_NONE : HF_REMOVAL_WAITING);
}

void hf_removal_failed(struct hf_removal *removal, uint64_t retry_at_ms)
{
    assert(removal->state == HF_REMOVAL_ASKED);
    removal->at_ms = retry_at_ms;
    removal->state = HF_REMOVAL_DUE;
}

void hf_removal_clear(struct hf_core *core, struct hf_own_ticket *ticket)
{
    struct hf_removal *removal = hf_own_ticket_removal(ticket);

    if (removal->state == HF_REMOVAL_NONE)
        return;
    assert(!ticket->request.busy);
    removal->found = false;
    move(core, ticket, HF_REMOVAL_NONE);
}

uint64_t hf_removal_wake_at_ms(const struct hf_removal *removal)
{
    switch (removal->state) {
    case HF_REMOVAL_WAITING:
        return removal->appears_until_ms;
    case HF_REMOVAL_DUE:
        return removal->at_ms;
    case HF_REMOVAL_NONE:
    case HF_REMOVAL_ASKED:
        break;
    }
    return HF_FOREVER;
}

/* ---------------------------------------------------------------- lists -- */

struct hf_own_ticket *hf_removals_find(struct hf_core *core, const char *queue,
                                       const struct hf_snapshot *snapshot,
                                       const struct hf_own_ticket *after)
{
    struct removal_key key =
        after != NULL ? key_of(after) : (struct removal_key){queue, 0, 0};
    struct hf_own_ticket *ticket;

    while ((ticket = container_of_or_null(
                hf_tree_after(&core->removals.waiting, &key),
                struct hf_own_ticket, in.removal.waiting)) != NULL &&
           strcmp(ticket->spec.queue, queue) == 0) {
        hf_core_count_visit(core);
        if (hf_snapshot_find(snapshot, &ticket->id) != snapshot->count) {
            move(core, ticket, HF_REMOVAL_DUE);
            ticket->in.removal.at_ms = 0;
            return ticket;
        }
        key = key_of(ticket);
    }
    return NULL;
}
