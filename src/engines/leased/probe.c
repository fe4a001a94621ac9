/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/leased/probe.h"

#include <assert.h>

#include "core/memory.h"
#include "core/time_math.h"
#include "engines/leased/private.h"

/* How late a notice that was lost is made good, at most. */
#define POLL_MOST_MS UINT64_C(5000)

/* So that a ticket which runs out has run out when it is asked for. */
#define BEHIND_MS 5

/* After a probe that failed, a sixteenth of the ttl. */
#define FAILED_SHARE 16

static uint64_t poll_ms(const struct hf_leased *leased)
{
    return hf_min_ms(leased->config.ttl_ms / 2, POLL_MOST_MS);
}

void hf_leased_probe_plan(struct hf_leased *leased,
                          struct hf_leased_queue *queue,
                          const struct hf_store_answer *answer)
{
    uint64_t in_ms = poll_ms(leased);

    if (queue->watches == NULL && queue->looks == NULL)
        return;
    for (size_t i = 0; i < answer->count; i++)
        in_ms = hf_min_ms(
            in_ms, hf_after_ms(answer->leases[i].expires_in_ms, BEHIND_MS));
    hf_leased_queue_probe_by(&leased->queues, queue,
                             hf_after_ms(leased->now_ms, in_ms));
}

/* ---------------------------------------------------------------- answer -- */

static const struct hf_ticket *find(const struct hf_store_answer *answer,
                                    const struct hf_ticket_id *id)
{
    for (size_t i = 0; i < answer->count; i++) {
        if (hf_ticket_id_equal(&answer->tickets[i].id, id))
            return &answer->tickets[i];
    }
    return NULL;
}

static void failed(struct hf_leased *leased, struct hf_leased_op *op,
                   const struct hf_store_answer *answer)
{
    uint64_t soon_ms =
        hf_max_ms(leased->config.ttl_ms / FAILED_SHARE, BEHIND_MS);

    if (answer != NULL) /* with a link all is asked for anew */
        hf_leased_queue_probe_by(&leased->queues, op->queue,
                                 hf_after_ms(leased->now_ms, soon_ms));
    hf_leased_watches_fail(leased, op, answer);
}

static void probed(struct hf_leased *leased, struct hf_leased_op *op,
                   const struct hf_store_answer *answer)
{
    if (answer == NULL || !answer->ok) {
        failed(leased, op, answer);
        return;
    }
    hf_leased_probe_plan(leased, op->queue, answer);
    for (size_t i = 0; i < op->call.count; i++) {
        const struct hf_ticket_id *id = &op->call.tickets[i];
        const struct hf_ticket *ticket = find(answer, id);

        if (ticket != NULL)
            hf_leased_watches_seen(leased, op->queue, id, ticket->kind);
        else
            hf_leased_ticket_gone(leased, op->queue->name, id);
    }
    hf_leased_looks_probed(leased, op->queue, op->number, answer);
}

static void relisted(struct hf_leased *leased, struct hf_leased_op *op,
                     const struct hf_store_answer *answer)
{
    if (answer == NULL || !answer->ok) {
        failed(leased, op, answer);
        return;
    }
    hf_leased_probe_plan(leased, op->queue, answer);
    hf_leased_looks_relisted(leased, op->queue, op->number, answer);
}

/* ------------------------------------------------------------------- ask -- */

static struct hf_leased_op *probe_new(struct hf_leased *leased,
                                      const char *queue, size_t count)
{
    struct hf_leased_op *op =
        hf_leased_op_new(leased, HF_STORE_PROBE, queue, NULL);

    if (op == NULL)
        return NULL;
    op->memory = hf_alloc(count * sizeof(struct hf_ticket_id));
    if (op->memory == NULL) {
        hf_leased_op_free(leased, op);
        return NULL;
    }
    op->call.tickets = op->memory;
    return op;
}

static void put(struct hf_leased_op *op, const struct hf_ticket_id *id)
{
    struct hf_ticket_id *ids = op->memory;

    ids[op->call.count++] = *id;
}

bool hf_leased_probe_for(struct hf_leased *leased,
                         struct hf_leased_watch *watch)
{
    struct hf_leased_op *op = probe_new(leased, watch->queue->name, 1);

    if (op == NULL)
        return false;
    put(op, &watch->id);
    watch->op = leased->ops.number + 1;
    hf_leased_op_begin(leased, op, probed);
    assert(watch->op == op->number);
    return true;
}

/* Of our own tickets the renewals tell. */
static bool is_probed(const struct hf_leased *leased,
                      const struct hf_leased_watch *watch)
{
    const struct hf_leased_own *own = hf_leased_own_find(leased, &watch->id);

    return own == NULL || own->state != HF_LEASED_OWN_THERE;
}

static size_t count_of(const struct hf_leased *leased,
                       const struct hf_leased_queue *queue)
{
    const struct hf_leased_watch *watch;
    const struct hf_leased_look *look;
    size_t count = 0;

    for (watch = queue->watches; watch != NULL; watch = watch->next)
        count += is_probed(leased, watch) ? 1 : 0;
    for (look = queue->looks; look != NULL; look = look->next)
        count += look->at_members ? 0 : look->count;
    return count;
}

static void probe_later(struct hf_leased *leased, struct hf_leased_queue *queue)
{
    hf_leased_queue_probe_by(&leased->queues, queue,
                             hf_after_ms(leased->now_ms, poll_ms(leased)));
}

static bool has_look_at_members(const struct hf_leased_queue *queue)
{
    const struct hf_leased_look *look = queue->looks;

    while (look != NULL && !(look->at_members && look->listed))
        look = look->next;
    return look != NULL;
}

/* Who has come is not known by name. */
static void relist_members(struct hf_leased *leased,
                           struct hf_leased_queue *queue)
{
    struct hf_leased_op *op =
        hf_leased_op_new(leased, HF_STORE_LIST, queue->name, NULL);

    if (op == NULL) {
        probe_later(leased, queue);
        return;
    }
    op->call.ticket_kind = HF_TICKET_PARTICIPANT;
    hf_leased_op_begin(leased, op, relisted);
}

static void probe_named(struct hf_leased *leased, struct hf_leased_queue *queue,
                        size_t count)
{
    const struct hf_leased_watch *watch;
    const struct hf_leased_look *look;
    struct hf_leased_op *op;

    op = probe_new(leased, queue->name, count);
    if (op == NULL) {
        probe_later(leased, queue);
        return;
    }
    for (watch = queue->watches; watch != NULL; watch = watch->next) {
        if (is_probed(leased, watch))
            put(op, &watch->id);
    }
    for (look = queue->looks; look != NULL; look = look->next) {
        for (size_t i = 0; i < look->count && !look->at_members; i++)
            put(op, &look->ids[i]);
    }
    hf_leased_op_begin(leased, op, probed);
}

static void probe(struct hf_leased *leased, struct hf_leased_queue *queue)
{
    size_t count = count_of(leased, queue);

    queue->probe_at_ms = HF_FOREVER;
    if (count > 0)
        probe_named(leased, queue, count);
    if (has_look_at_members(queue))
        relist_members(leased, queue);
}

void hf_leased_probe_all(struct hf_leased *leased)
{
    struct hf_leased_queue *queue;

    for (queue = hf_leased_queue_first(&leased->queues); queue != NULL;
         queue = hf_leased_queue_after(queue))
        probe(leased, queue);
}

void hf_leased_probe_tick(struct hf_leased *leased)
{
    struct hf_leased_queue *queue;

    if (leased->now_ms < leased->queues.probe_at_ms)
        return;
    leased->queues.probe_at_ms = HF_FOREVER;
    for (queue = hf_leased_queue_first(&leased->queues); queue != NULL;
         queue = hf_leased_queue_after(queue)) {
        if (queue->probe_at_ms <= leased->now_ms)
            probe(leased, queue);
        else
            hf_leased_queue_probe_by(&leased->queues, queue,
                                     queue->probe_at_ms);
    }
}
