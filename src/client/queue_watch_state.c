/* SPDX-License-Identifier: Apache-2.0 */
/* The states of a watch, of its queues and of their waits: which moves are
 * legal, and what is true in each state. */
#include <assert.h>

#include "base/state_machine.h"
#include "client/queue_watch.h"

/* --------------------------------------------------------------- a watch -- */

#define STATE(name) HF_QUEUE_WATCH_##name
#define TO(name) (1u << HF_QUEUE_WATCH_##name)
#define TO_END (TO(ENDED) | TO(STOPPED))

static const struct hf_state_machine_state states[] = {
    [STATE(IDLE)] = {"IDLE", TO(PAUSED) | TO_END},
    [STATE(PAUSED)] = {"PAUSED", TO(LISTING) | TO_END},
    [STATE(LISTING)] = {"LISTING", TO(STALE) | TO(REPORTING) | TO_END},
    [STATE(STALE)] = {"STALE", TO(LISTING) | TO_END},
    [STATE(REPORTING)] = {"REPORTING", TO(IDLE) | TO_END},
    [STATE(ENDED)] = {"ENDED", TO(STOPPED)},
    [STATE(STOPPED)] = {"STOPPED", 0},
};

static const struct hf_state_machine table = {"queue watch", states,
                                              sizeof states / sizeof states[0]};

/* PAUSED is being in the client's heap. */
void hf_queue_watch_move(struct hf_queue_watch *watch,
                         enum hf_queue_watch_state state)
{
    hf_state_machine_move(&table, &watch->state, state);
    if (state == STATE(PAUSED))
        hf_heap_add(&watch->client->queue_watch_pauses, &watch->pause,
                    hf_list_pace_next_at_ms(&watch->pace), 0);
    else
        hf_heap_remove(&watch->pause);
}

bool hf_queue_watch_is_listing(const struct hf_queue_watch *watch)
{
    return watch->state == STATE(LISTING) || watch->state == STATE(STALE);
}

bool hf_queue_watch_is_over(const struct hf_queue_watch *watch)
{
    return watch->state == STATE(ENDED) || watch->state == STATE(STOPPED);
}

/* -------------------------------------------------------- its connection -- */

#define LINK(name) HF_WATCH_LINK_##name
#define TO_LINK(name) (1u << HF_WATCH_LINK_##name)

/* An outage that is over before it was reported is only a gap.  If the
 * connection is lost again before RESUMED was reported, it is one outage. */
static const struct hf_state_machine_state links[] = {
    [LINK(UP)] = {"UP", TO_LINK(DOWN)},
    [LINK(DOWN)] = {"DOWN", TO_LINK(DOWN_REPORTED) | TO_LINK(UP)},
    [LINK(DOWN_REPORTED)] = {"DOWN_REPORTED", TO_LINK(BACK)},
    [LINK(BACK)] = {"BACK", TO_LINK(RELISTED) | TO_LINK(DOWN_REPORTED)},
    [LINK(RELISTED)] = {"RELISTED", TO_LINK(UP) | TO_LINK(DOWN_REPORTED)},
};

static const struct hf_state_machine link_table = {
    "link of a queue watch", links, sizeof links / sizeof links[0]};

void hf_queue_watch_move_link(struct hf_queue_watch *watch,
                              enum hf_queue_watch_link link)
{
    hf_state_machine_move(&link_table, &watch->link, link);
}

/* ------------------------------------------------------------- its queues --
 */

#define QUEUE(name) HF_LISTED_##name
#define TO_QUEUE(name) (1u << HF_LISTED_##name)

/* CHOSEN may follow CHOSEN: a refresh begins anew.  A CHOSEN that is CHANGED
 * could not be listed. */
static const struct hf_state_machine_state queue_states[] = {
    [QUEUE(UNUSED)] = {"UNUSED", TO_QUEUE(CHANGED)},
    [QUEUE(CURRENT)] = {"CURRENT", TO_QUEUE(CHANGED) | TO_QUEUE(CHOSEN)},
    [QUEUE(CHANGED)] = {"CHANGED", TO_QUEUE(CHOSEN) | TO_QUEUE(UNUSED)},
    [QUEUE(CHOSEN)] = {"CHOSEN", TO_QUEUE(CURRENT) | TO_QUEUE(CHANGED) |
                                     TO_QUEUE(CHOSEN) | TO_QUEUE(CHOSEN_AGAIN) |
                                     TO_QUEUE(UNUSED)},
    [QUEUE(CHOSEN_AGAIN)] = {"CHOSEN_AGAIN", TO_QUEUE(CHANGED) |
                                                 TO_QUEUE(CHOSEN) |
                                                 TO_QUEUE(UNUSED)},
};

static const struct hf_state_machine queue_table = {
    "queue of a watch", queue_states,
    sizeof queue_states / sizeof queue_states[0]};

void hf_listed_queue_move(struct hf_listed_queue *queue,
                          enum hf_listed_queue_state state)
{
    hf_state_machine_move(&queue_table, &queue->state, state);
}

#define WAIT(name) HF_QUEUE_WAIT_##name
#define TO_WAIT(name) (1u << HF_QUEUE_WAIT_##name)

static const struct hf_state_machine_state waits[] = {
    [WAIT(NONE)] = {"NONE", TO_WAIT(REQUESTED)},
    [WAIT(REQUESTED)] = {"REQUESTED", TO_WAIT(SET) | TO_WAIT(ENDED)},
    [WAIT(SET)] = {"SET", TO_WAIT(ENDED)},
    [WAIT(ENDED)] = {"ENDED", TO_WAIT(NONE)},
};

static const struct hf_state_machine wait_table = {
    "wait for a change", waits, sizeof waits / sizeof waits[0]};

void hf_listed_queue_move_wait(struct hf_listed_queue *queue,
                               enum hf_queue_wait_state wait)
{
    hf_state_machine_move(&wait_table, &queue->wait, wait);
}

/* -------------------------------------------------------------- lifetime -- */

void hf_queue_watch_reference(struct hf_queue_watch *watch)
{
    watch->references++;
}

void hf_queue_watch_dereference(struct hf_queue_watch *watch)
{
    assert(watch->references > 0);
    if (--watch->references == 0)
        hf_monitor_defer_free(&watch->client->monitor, &watch->deferred);
}

/* The callback keeps the watch alive while it is queued. */
void hf_queue_watch_report(struct hf_queue_watch *watch)
{
    if (watch->callback.queued || hf_user_callback_is_retired(&watch->user))
        return;
    hf_queue_watch_reference(watch);
    hf_monitor_queue(&watch->client->monitor, &watch->callback);
}

/* ------------------------------------------------------------ invariants -- */

/* A queue of a watch that is not over. */
static void check_queue(const struct hf_listed_queue *queue)
{
    const struct hf_queue_watch *watch = queue->watch;
    bool chosen =
        queue->state == QUEUE(CHOSEN) || queue->state == QUEUE(CHOSEN_AGAIN);
    bool listing = hf_queue_watch_is_listing(watch);

    assert(queue->state != QUEUE(CHANGED) || watch->state != STATE(IDLE));
    assert(!chosen || listing);
    assert(queue->state != QUEUE(CHOSEN_AGAIN) || queue->list != NULL);
    /* Nobody would report a change. */
    assert(queue->state != QUEUE(CURRENT) || queue->wait == WAIT(SET));
    assert(queue->list == NULL || queue == watch->refresh.current);
    assert(queue->fresh == NULL || listing || watch->state == STATE(REPORTING));
}

void hf_queue_watch_check(const struct hf_queue_watch *watch)
{
    bool changed = false;

    assert(watch->references > 0);
    assert((watch->pause.heap != NULL) == (watch->state == STATE(PAUSED)));
    assert(watch->state != STATE(ENDED) || watch->why.status != HF_OK);
    if (hf_queue_watch_is_over(watch))
        return;
    assert(watch->why.status == HF_OK);
    assert((watch->refresh.current != NULL) ==
           hf_queue_watch_is_listing(watch));
    assert(watch->link != LINK(RELISTED) || watch->state == STATE(REPORTING));
    for (int i = 0; i < HF_LISTED_QUEUES; i++) {
        check_queue(&watch->queues[i]);
        changed = changed || watch->queues[i].state == QUEUE(CHANGED);
    }
    assert(watch->state != STATE(PAUSED) || changed);
    /* Else a later list would count as late. */
    assert(watch->state != STATE(IDLE) || !watch->pace.changed);
}
