/* SPDX-License-Identifier: Apache-2.0 */
/* Heaps of entries, and a list of those that were touched. */
#include "core/schedule.h"

#include <assert.h>
#include <stddef.h>

#include "base/container_of.h"
#include "base/time_math.h"
#include "core/core_state.h"

/* Take ${entry} out of the list of touched ones. */
static void remove_touched(struct hf_core *core,
                           struct hf_schedule_entry *entry)
{
    if (!entry->touched)
        return;
    entry->touched = false;
    if (entry->previous_touched != NULL)
        entry->previous_touched->next_touched = entry->next_touched;
    else
        core->schedule.touched = entry->next_touched;
    if (entry->next_touched != NULL)
        entry->next_touched->previous_touched = entry->previous_touched;
}

/* -------------------------------------------------------------- entries -- */

void hf_schedule_enter(struct hf_core *core, struct hf_schedule_entry *entry,
                       const struct hf_schedule_ops *ops)
{
    assert(entry->number == 0);
    entry->ops = ops;
    entry->number = ++core->schedule.entries;
    hf_schedule_touch(core, entry);
}

/* Have ${heap} contain ${node} with ${key}, or not contain it if that is
 * HF_FOREVER. */
static void set_heap_node(struct hf_heap *heap, struct hf_heap_node *node,
                          uint64_t key, uint64_t number)
{
    if (node->heap == heap && node->key == key)
        return;
    hf_heap_remove(node);
    if (key != HF_FOREVER)
        hf_heap_add(heap, node, key, number);
}

/* Bring the heaps, and the number of entries that need a proof, in line with
 * ${keys}. */
static void set_keys(struct hf_core *core, struct hf_schedule_entry *entry,
                     const struct hf_schedule_keys *keys)
{
    struct hf_schedule *schedule = &core->schedule;
    uint64_t number = entry->number;

    assert(number > 0);
    set_heap_node(&schedule->deadlines, &entry->deadline, keys->deadline_ms,
                  number);
    set_heap_node(&schedule->requests, &entry->request, keys->request_ms,
                  number);
    set_heap_node(&schedule->proofs, &entry->proof,
                  keys->waits_for_proof ? 0 : HF_FOREVER, number);
    if (keys->needs_proof != entry->needs_proof)
        schedule->needs_proof += keys->needs_proof ? 1 : (size_t)-1;
    entry->needs_proof = keys->needs_proof;
}

void hf_schedule_leave(struct hf_core *core, struct hf_schedule_entry *entry)
{
    static const struct hf_schedule_keys none = {.deadline_ms = HF_FOREVER,
                                                 .request_ms = HF_FOREVER};

    set_keys(core, entry, &none);
    remove_touched(core, entry);
    entry->number = 0;
}

/* Invariant 15: only touched entries are computed anew, so an event costs
 * nothing for objects that it does not concern. */
void hf_schedule_touch(struct hf_core *core, struct hf_schedule_entry *entry)
{
    struct hf_schedule_entry *first = core->schedule.touched;

    if (entry->touched || entry->number == 0)
        return;
    entry->touched = true;
    entry->previous_touched = NULL;
    entry->next_touched = first;
    if (first != NULL)
        first->previous_touched = entry;
    core->schedule.touched = entry;
}

void hf_schedule_update(struct hf_core *core)
{
    struct hf_schedule_entry *entry;

    while ((entry = core->schedule.touched) != NULL) {
        struct hf_schedule_keys keys = entry->ops->keys(core, entry);

        hf_core_count_visit(core);
        remove_touched(core, entry);
        set_keys(core, entry, &keys);
    }
}

/* ---------------------------------------------------------------- clock -- */

uint64_t hf_schedule_wake_at_ms(const struct hf_core *core)
{
    uint64_t at_ms = hf_heap_first_key(&core->schedule.deadlines);

    assert(core->schedule.touched == NULL);
    if (hf_session_usable(&core->session))
        at_ms = hf_min_ms(at_ms, hf_heap_first_key(&core->schedule.requests));
    return at_ms;
}

/* Move ${entry} to the heap of what is due in this tick.  Its node for the
 * deadline stands for it there. */
static void collect_due(struct hf_core *core, struct hf_schedule_entry *entry)
{
    struct hf_schedule *schedule = &core->schedule;

    hf_schedule_touch(core, entry);
    assert(entry->number > 0);
    if (entry->deadline.heap == &schedule->due)
        return;
    hf_heap_remove(&entry->deadline);
    hf_heap_add(&schedule->due, &entry->deadline, 0, entry->number);
}

/* All that is due is taken out before any of it is worked off.  Otherwise an
 * entry that can go on only after another one would come first again and again.
 */
void hf_schedule_tick(struct hf_core *core)
{
    struct hf_schedule *schedule = &core->schedule;
    struct hf_schedule_entry *entry;

    while (hf_heap_first_key(&schedule->deadlines) <= core->now_ms)
        collect_due(core, container_of(schedule->deadlines.first,
                                       struct hf_schedule_entry, deadline));
    while (hf_session_usable(&core->session) &&
           hf_heap_first_key(&schedule->requests) <= core->now_ms) {
        entry = container_of(schedule->requests.first, struct hf_schedule_entry,
                             request);
        hf_heap_remove(&entry->request);
        collect_due(core, entry);
    }
    while (schedule->due.first != NULL) {
        entry = container_of(schedule->due.first, struct hf_schedule_entry,
                             deadline);
        hf_heap_remove(&entry->deadline);
        hf_core_count_visit(core);
        entry->ops->tick(core, entry);
    }
}

void hf_schedule_proven(struct hf_core *core)
{
    struct hf_schedule_entry *entry;

    while (core->schedule.proofs.first != NULL) {
        entry = container_of(core->schedule.proofs.first,
                             struct hf_schedule_entry, proof);
        hf_heap_remove(&entry->proof);
        hf_schedule_touch(core, entry);
        hf_core_count_visit(core);
        entry->ops->proven(core, entry);
    }
}

/* ------------------------------------------------------- deferred calls -- */

void hf_deferred_calls_init(struct hf_deferred_calls *calls)
{
    calls->first = NULL;
    calls->end = &calls->first;
}

void hf_deferred_call_add(struct hf_deferred_calls *calls,
                          struct hf_deferred_call *call)
{
    if (call->queued)
        return;
    assert(call->run != NULL);
    call->queued = true;
    call->next = NULL;
    *calls->end = call;
    calls->end = &call->next;
}

void hf_deferred_calls_run(struct hf_deferred_calls *calls,
                           struct hf_core *core)
{
    struct hf_deferred_call *call;

    while ((call = calls->first) != NULL) {
        calls->first = call->next;
        if (calls->first == NULL)
            calls->end = &calls->first;
        call->queued = false;
        call->run(core, call);
    }
}

/* ----------------------------------------------------------- invariants -- */

static void check_node(const struct hf_heap *heap,
                       const struct hf_heap_node *node, uint64_t key,
                       uint64_t number)
{
    assert(node->heap == (key == HF_FOREVER ? NULL : heap));
    assert(key == HF_FOREVER || (node->key == key && node->number == number));
    assert(key >= hf_heap_first_key(heap));
}

void hf_schedule_check_entry(const struct hf_core *core,
                             const struct hf_schedule_entry *entry)
{
    const struct hf_schedule *schedule = &core->schedule;
    struct hf_schedule_keys keys = entry->ops->keys(core, entry);
    uint64_t number = entry->number;

    assert(number > 0 && !entry->touched);
    check_node(&schedule->deadlines, &entry->deadline, keys.deadline_ms,
               number);
    check_node(&schedule->requests, &entry->request, keys.request_ms, number);
    check_node(&schedule->proofs, &entry->proof,
               keys.waits_for_proof ? 0 : HF_FOREVER, number);
    assert(entry->needs_proof == keys.needs_proof);
}
