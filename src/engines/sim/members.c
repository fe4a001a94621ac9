/* SPDX-License-Identifier: Apache-2.0 */
/* What is there of a double barrier. */
#include "engines/sim/model.h"

#include <stdio.h>

void sim_members_changed(struct hf_sim *sim, struct sim_queue *queue)
{
    queue->news++;
    sim_tell_lookers(sim, queue, false);
}

uint64_t sim_looked_at(const struct sim_pending *pending,
                       const struct sim_queue *queue)
{
    if (pending->of_mark)
        return queue->mark.token;
    return pending->of_members ? queue->news : queue->gone;
}

/* As the node is called that it is in an ensemble. */
static void tell_mark(struct hf_sim *sim, const struct sim_queue *queue,
                      bool up)
{
    char name[HF_NAME_BYTES + sizeof "/ready"];

    snprintf(name, sizeof name, "%s/ready", queue->name);
    sim_mark_tell(sim, name, up);
}

static size_t count_members(const struct sim_queue *queue)
{
    size_t count = 0;

    for (const struct sim_ticket *t = queue->first; t != NULL; t = t->next)
        count += t->ticket.kind == HF_TICKET_PARTICIPANT;
    return count;
}

bool sim_members_stamp(struct hf_sim *sim, const struct sim_message *message)
{
    struct sim_queue *queue = sim_queue_find(sim, message->pending->queue);

    if (sim_ticket_find(queue, &message->pending->ticket) == NULL ||
        count_members(queue) < message->limit)
        return false;
    queue->ready = (struct hf_ticket){.sequence = ++queue->sequence,
                                      .token = ++sim->transaction,
                                      .kind = HF_TICKET_READY,
                                      .weight = 1,
                                      .payload = ""};
    sim_line(sim, message->pending->engine, "server stamps %s", queue->name);
    tell_mark(sim, queue, true);
    sim_members_changed(sim, queue);
    return true;
}

bool sim_members_clear(struct hf_sim *sim, struct sim_queue *queue)
{
    if (queue->ready.token == 0 || count_members(queue) > 0)
        return false;
    sim->transaction++;
    queue->ready.token = 0;
    tell_mark(sim, queue, false);
    sim_members_changed(sim, queue);
    return true;
}
