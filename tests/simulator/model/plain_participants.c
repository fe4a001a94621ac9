/* SPDX-License-Identifier: Apache-2.0 */
/* Participants of a double barrier in the plain model, and the node READY,
 * which one of them sets when all have come. */
#include "simulator/model/sim_internal.h"

#include <stdio.h>

#include <holdfast/holdfast.h>

void plain_participants_changed(struct hf_sim *sim, struct sim_queue *queue)
{
    queue->participant_changes++;
    plain_notify_queue_watches(sim, queue, HF_TICKET_PARTICIPANT);
}

uint64_t plain_watched_version(const struct plain_pending *pending,
                               const struct sim_queue *queue)
{
    if (pending->of_barrier)
        return queue->barrier.token;
    return pending->of_participants ? queue->participant_changes
                                    : queue->changed_count;
}

/* The observer knows READY by the name of its node in the ZooKeeper model. */
static void observe_ready(struct hf_sim *sim, const struct sim_queue *queue,
                          bool up)
{
    char name[HF_NAME_BYTES + sizeof "/ready"];

    snprintf(name, sizeof name, "%s/ready", queue->name);
    sim_observe_barrier(sim, name, up);
}

static size_t count_participants(const struct sim_queue *queue)
{
    size_t count = 0;

    for (const struct sim_ticket *t = queue->first; t != NULL; t = t->next)
        count += t->ticket.kind == HF_TICKET_PARTICIPANT;
    return count;
}

/* READY gets a token of its own, so that a participant can distinguish one
 * generation from the next. */
bool plain_ready_set(struct hf_sim *sim, const struct plain_message *message)
{
    struct sim_queue *queue = sim_queue_find(sim, message->pending->queue);

    if (sim_ticket_find(queue, &message->pending->ticket) == NULL ||
        count_participants(queue) < message->limit)
        return false;
    queue->ready = (struct hf_ticket){.sequence = ++queue->sequence,
                                      .token = ++sim->transaction,
                                      .kind = HF_TICKET_READY,
                                      .weight = 1,
                                      .payload = ""};
    sim_trace(sim, message->pending->engine, "server sets ready of %s",
              queue->name);
    observe_ready(sim, queue, true);
    plain_participants_changed(sim, queue);
    return true;
}

bool plain_ready_clear(struct hf_sim *sim, struct sim_queue *queue)
{
    if (queue->ready.token == 0 || count_participants(queue) > 0)
        return false;
    sim->transaction++;
    queue->ready.token = 0;
    observe_ready(sim, queue, false);
    plain_participants_changed(sim, queue);
    return true;
}
