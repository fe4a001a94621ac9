/* SPDX-License-Identifier: Apache-2.0 */
/* See overtakers.h. */
#include "torture/overtakers.h"

#include "base/memory.h"

/* The groups of attempts: apart from their permits, attempts of one group
 * conflict with the same others. */
enum group { READERS, EXCLUSIVE, SEMAPHORES, GROUPS };

/* A node of the tree: the greatest and least values of the attempts below it.
 */
struct hf_overtakers_node {
    uint64_t came_us[GROUPS]; /* the greatest of each group; 0: no attempt of
                                 that group */
    uint32_t permits;         /* the greatest of the semaphores */
    int64_t spare;            /* the least .limit minus .permits of the
                                 semaphores */
};

static enum group group_of(const struct hf_history_attempt *attempt)
{
    if (attempt->kind == HF_KIND_SEMAPHORE)
        return SEMAPHORES;
    return attempt->kind == HF_KIND_READ ? READERS : EXCLUSIVE;
}

static int64_t spare_of(const struct hf_history_attempt *attempt)
{
    return (int64_t)attempt->limit - (int64_t)attempt->permits;
}

static const struct hf_history_attempt *
attempt_of(const struct hf_overtakers *overtakers, size_t index)
{
    return &overtakers->history
                ->attempts[overtakers->intervals->items[index].attempt];
}

/* ----------------------------------------------------------------- build -- */

/* Return when the ticket of the interval ${index} came.  ${before} is the index
 * plus 1 of the previous interval of its client; 0: none. */
static uint64_t came_us(const struct hf_overtakers *overtakers, size_t index,
                        size_t before)
{
    const struct hf_hold_interval *items = overtakers->intervals->items;

    if (before != 0 && items[before - 1].lock == items[index].lock &&
        attempt_of(overtakers, before - 1)->token ==
            attempt_of(overtakers, index)->token)
        return overtakers->came_us[before - 1];
    return attempt_of(overtakers, index)->want_us;
}

/* Fill in .came_us.  Returns false if there is no memory. */
static bool find_tickets(struct hf_overtakers *overtakers)
{
    size_t count = overtakers->intervals->count;
    size_t clients = overtakers->history->clients.count;
    /* by client: its last interval */
    size_t *last = hf_alloc((clients + 1) * sizeof *last);

    overtakers->came_us = hf_alloc((count + 1) * sizeof *overtakers->came_us);
    if (last == NULL || overtakers->came_us == NULL) {
        hf_free(last);
        return false;
    }
    for (size_t i = 0; i < clients; i++)
        last[i] = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t client = attempt_of(overtakers, i)->client;

        overtakers->came_us[i] = came_us(overtakers, i, last[client]);
        last[client] = i + 1;
    }
    hf_free(last);
    return true;
}

static struct hf_overtakers_node node_of(const struct hf_overtakers *overtakers,
                                         size_t index)
{
    const struct hf_history_attempt *attempt = attempt_of(overtakers, index);
    struct hf_overtakers_node node = {.spare = INT64_MAX};

    node.came_us[group_of(attempt)] = overtakers->came_us[index];
    if (attempt->kind == HF_KIND_SEMAPHORE) {
        node.permits = attempt->permits;
        node.spare = spare_of(attempt);
    }
    return node;
}

static void add(struct hf_overtakers_node *to,
                const struct hf_overtakers_node *from)
{
    for (unsigned i = 0; i < GROUPS; i++)
        if (from->came_us[i] > to->came_us[i])
            to->came_us[i] = from->came_us[i];
    if (from->permits > to->permits)
        to->permits = from->permits;
    if (from->spare < to->spare)
        to->spare = from->spare;
}

bool hf_overtakers_init(struct hf_overtakers *overtakers,
                        const struct hf_history *history,
                        const struct hf_hold_intervals *intervals)
{
    size_t leaves = 1;

    while (leaves < intervals->count)
        leaves *= 2;
    *overtakers = (struct hf_overtakers){
        .history = history, .intervals = intervals, .leaves = leaves};
    overtakers->nodes = hf_alloc(2 * leaves * sizeof *overtakers->nodes);
    if (overtakers->nodes == NULL || !find_tickets(overtakers)) {
        hf_overtakers_free(overtakers);
        return false;
    }
    for (size_t i = 0; i < leaves; i++)
        overtakers->nodes[leaves + i] =
            i < intervals->count
                ? node_of(overtakers, i)
                : (struct hf_overtakers_node){.spare = INT64_MAX};
    for (size_t i = leaves; i-- > 1;) {
        overtakers->nodes[i] = overtakers->nodes[2 * i];
        add(&overtakers->nodes[i], &overtakers->nodes[2 * i + 1]);
    }
    return true;
}

void hf_overtakers_free(struct hf_overtakers *overtakers)
{
    hf_free(overtakers->nodes);
    hf_free(overtakers->came_us);
    *overtakers = (struct hf_overtakers){0};
}

/* ---------------------------------------------------------------- search -- */

/* Can an attempt below ${node} have overtaken ${attempt}?  If this is false,
 * none has. */
static bool may_have(const struct hf_overtakers_node *node,
                     const struct hf_history_attempt *attempt)
{
    uint64_t queued_us = attempt->queued_us;

    switch (group_of(attempt)) {
    case READERS:
        return node->came_us[EXCLUSIVE] > queued_us;
    case EXCLUSIVE:
        return node->came_us[EXCLUSIVE] > queued_us ||
               node->came_us[READERS] > queued_us;
    default:
        return node->came_us[SEMAPHORES] > queued_us &&
               (uint64_t)node->permits + attempt->permits > attempt->limit &&
               node->spare < (int64_t)attempt->permits;
    }
}

/* Return the first interval of the lock of ${index} that began after
 * ${after_us}; ${index} if no earlier one did. */
static size_t first_behind(const struct hf_overtakers *overtakers, size_t index,
                           uint64_t after_us)
{
    const struct hf_hold_interval *items = overtakers->intervals->items;
    size_t low = 0;
    size_t high = index;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (items[middle].lock != items[index].lock ||
            items[middle].from_us <= after_us)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool overtook(const struct hf_overtakers *overtakers, size_t other,
                     size_t index)
{
    const struct hf_hold_interval *items = overtakers->intervals->items;
    const struct hf_history_attempt *attempt = attempt_of(overtakers, index);
    const struct hf_history_attempt *that = attempt_of(overtakers, other);

    return items[other].attempt != items[index].attempt &&
           overtakers->came_us[other] > attempt->queued_us &&
           hf_history_attempts_conflict(attempt, attempt->kind, that,
                                        that->kind);
}

/* Return the number of leaves of the greatest subtree whose last leaf is just
 * before ${end}. */
static size_t greatest_before(size_t end)
{
    return end & (~end + 1);
}

size_t hf_overtakers_last(struct hf_overtakers *overtakers, size_t index,
                          size_t before)
{
    const struct hf_history_attempt *attempt = attempt_of(overtakers, index);
    size_t first = first_behind(overtakers, index, attempt->queued_us);
    size_t size = greatest_before(before);
    size_t end = before;

    while (end > first) {
        /* the node whose leaves are the last ${size} before ${end} */
        size_t node = (overtakers->leaves + end - size) / size;

        overtakers->steps++;
        if (size > 1 && may_have(&overtakers->nodes[node], attempt)) {
            size /= 2;
            continue;
        }
        if (size == 1 && overtook(overtakers, end - 1, index))
            return end - 1;
        end -= size;
        size = greatest_before(end);
    }
    return HF_OVERTAKERS_NONE;
}
