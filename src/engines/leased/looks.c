/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/leased/looks.h"

#include <assert.h>
#include <string.h>

#include "core/memory.h"
#include "core/time_math.h"
#include "engines/leased/private.h"

static struct hf_leased_look *look_new(struct hf_leased *leased,
                                       struct hf_request *request)
{
    struct hf_leased_look *look = hf_alloc(sizeof *look);
    char marks[HF_LEASED_MARKS_BYTES];
    struct hf_leased_queue *queue;

    if (look == NULL)
        return NULL;
    queue = hf_leased_queue_use(&leased->queues,
                                hf_leased_queue_of(request, marks));
    if (queue == NULL) {
        hf_free(look);
        return NULL;
    }
    look->request = request;
    look->at_members = request->ticket_kind == HF_TICKET_PARTICIPANT;
    look->queue = queue;
    look->from = &queue->looks;
    look->next = queue->looks;
    if (look->next != NULL)
        look->next->from = &look->next;
    queue->looks = look;
    request->engine_data = look;
    return look;
}

static void look_free(struct hf_leased *leased, struct hf_leased_look *look)
{
    *look->from = look->next;
    if (look->next != NULL)
        look->next->from = look->from;
    look->request->engine_data = NULL;
    hf_leased_queue_leave(&leased->queues, look->queue);
    hf_free(look->ids);
    hf_free(look);
}

void hf_leased_look_forget(struct hf_leased *leased,
                           struct hf_leased_look *look)
{
    look_free(leased, look);
}

static void tell_changed(struct hf_leased *leased, struct hf_leased_look *look)
{
    struct hf_event event = {.kind = HF_EVENT_QUEUE_CHANGED};

    event.as.answer.request = look->request;
    look_free(leased, look);
    hf_leased_tell(leased, &event);
}

/* ----------------------------------------------------------------- lists -- */

static bool remember(struct hf_leased_look *look,
                     const struct hf_store_answer *answer)
{
    if (answer->count == 0)
        return true;
    look->ids = hf_alloc(answer->count * sizeof *look->ids);
    if (look->ids == NULL)
        return false;
    look->count = answer->count;
    for (size_t i = 0; i < answer->count; i++)
        look->ids[i] = answer->tickets[i].id;
    return true;
}

static struct hf_leased_look *find_of_op(struct hf_leased_queue *queue,
                                         uint64_t op)
{
    struct hf_leased_look *look = queue->looks;

    while (look != NULL && look->op != op)
        look = look->next;
    return look;
}

static void listed(struct hf_leased *leased, struct hf_leased_op *op,
                   const struct hf_store_answer *answer)
{
    struct hf_leased_look *look = find_of_op(op->queue, op->number);
    struct hf_request *request;

    if (look == NULL)
        return; /* taken back */
    request = look->request;
    if (answer == NULL || !answer->ok) {
        look_free(leased, look);
        hf_leased_fail_as(leased, request, answer);
        return;
    }
    if (!remember(look, answer)) {
        look_free(leased, look);
        hf_leased_fail_memory(leased, request);
        return;
    }
    look->listed = true;
    look->listed_at = leased->ops.number;
    hf_leased_probe_plan(leased, op->queue, answer);
    hf_leased_tell_snapshot(leased, request, HF_EVENT_LISTED, answer);
    look = find_of_op(op->queue, op->number);
    if (look != NULL && look->changed)
        tell_changed(leased, look);
}

void hf_leased_look(struct hf_leased *leased, struct hf_request *request)
{
    struct hf_leased_look *look = look_new(leased, request);
    struct hf_leased_op *op;

    if (look == NULL) {
        hf_leased_fail_memory(leased, request);
        return;
    }
    op = hf_leased_op_new(leased, HF_STORE_LIST, look->queue->name, NULL);
    if (op == NULL) {
        look_free(leased, look);
        hf_leased_fail_memory(leased, request);
        return;
    }
    op->call.looks = true;
    op->call.ticket_kind = request->ticket_kind;
    look->op = leased->ops.number + 1;
    hf_leased_op_begin(leased, op, listed);
    assert(look->op == op->number);
}

/* ------------------------------------------------------------------ news -- */

static struct hf_leased_look *find_listed(struct hf_leased_queue *queue)
{
    struct hf_leased_look *look = queue->looks;

    while (look != NULL && !look->listed)
        look = look->next;
    return look;
}

void hf_leased_looks_changed(struct hf_leased *leased, const char *queue)
{
    struct hf_leased_queue *place =
        hf_leased_queue_find(&leased->queues, queue);
    struct hf_leased_look *look;

    if (place == NULL)
        return;
    place->users++;
    /* A list under way may be of before or after: told once too often. */
    for (look = place->looks; look != NULL; look = look->next)
        look->changed = true;
    while ((look = find_listed(place)) != NULL && look->changed)
        tell_changed(leased, look);
    hf_leased_queue_leave(&leased->queues, place);
}

static bool is_there(const struct hf_store_answer *answer,
                     const struct hf_ticket_id *id)
{
    for (size_t i = 0; i < answer->count; i++) {
        if (hf_ticket_id_equal(&answer->tickets[i].id, id))
            return true;
    }
    return false;
}

static bool lacks_one(const struct hf_leased_look *look,
                      const struct hf_store_answer *answer)
{
    for (size_t i = 0; i < look->count; i++) {
        if (!is_there(answer, &look->ids[i]))
            return true;
    }
    return false;
}

void hf_leased_looks_probed(struct hf_leased *leased,
                            struct hf_leased_queue *queue, uint64_t op,
                            const struct hf_store_answer *answer)
{
    for (struct hf_leased_look *look = queue->looks; look != NULL;
         look = look->next) {
        if (!look->at_members && look->listed && look->listed_at < op &&
            lacks_one(look, answer)) {
            hf_leased_looks_changed(leased, queue->name);
            return;
        }
    }
}

/* Each mark has an id of its own: the same ones are what it was.  Calls take
 * effect in their order, so that what one of later tells is later. */
void hf_leased_looks_relisted(struct hf_leased *leased,
                              struct hf_leased_queue *queue, uint64_t op,
                              const struct hf_store_answer *answer)
{
    for (struct hf_leased_look *look = queue->looks; look != NULL;
         look = look->next) {
        if (look->at_members && look->listed && look->op < op &&
            (look->count != answer->count || lacks_one(look, answer))) {
            hf_leased_looks_changed(leased, queue->name);
            return;
        }
    }
}

void hf_leased_looks_clear(struct hf_leased *leased)
{
    struct hf_leased_queue *queue, *after;

    for (queue = hf_leased_queue_first(&leased->queues); queue != NULL;
         queue = after) {
        after = hf_leased_queue_after(queue);
        queue->users++;
        while (queue->looks != NULL)
            look_free(leased, queue->looks);
        hf_leased_queue_leave(&leased->queues, queue);
    }
}
