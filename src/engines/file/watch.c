/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See watch.h.  The watches are in a list for each kind, those of own tickets
 * also in a list for each ticket, and those of other sessions' tickets in a
 * tree in the order of the queues.  The tree shows whether a ticket ahead of
 * one of ours is watched.
 */
#include "engines/file/watch.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/container_of.h"
#include "base/memory.h"
#include "engines/file/engine.h"
#include "engines/file/fifo_watch.h"
#include "engines/file/inotify.h"
#include "engines/file/own_tickets.h"

/* ----------------------------------------------------------- by position -- */

/* A key in the tree of watches of other sessions' tickets. */
struct position_key {
    const char *dir_name;
    struct hf_ticket ticket;
    uint64_t number;
};

/* Returns the watch of a node, or NULL for NULL. */
static struct hf_file_watch *of_position(const struct hf_tree_node *node)
{
    return container_of_or_null(node, struct hf_file_watch,
                                as.other.by_position);
}

/* Compares by directory, then by the position of the ticket in its queue, then
 * by the number of the watch. */
static int compare(const void *a, const struct hf_tree_node *node)
{
    const struct hf_file_watch *watch =
        container_of(node, const struct hf_file_watch, as.other.by_position);
    const struct position_key *key = a;
    int order = strcmp(key->dir_name, watch->dir_name);

    if (order == 0)
        order = hf_ticket_compare(&key->ticket,
                                  &watch->as.other.fifo_watch->ticket);
    if (order == 0)
        order = (key->number > watch->number) - (key->number < watch->number);
    return order;
}

void hf_file_watch_init_others(struct hf_tree *other_watches)
{
    other_watches->compare = compare;
}

static struct position_key key_of(const struct hf_file_watch *watch)
{
    return (struct position_key){
        watch->dir_name, watch->as.other.fifo_watch->ticket, watch->number};
}

/* A zeroed ticket comes before all others. */
const struct hf_ticket *
hf_file_watch_first_other(const struct hf_engine *engine, const char *dir_name)
{
    const struct position_key key = {.dir_name = dir_name};
    const struct hf_file_watch *watch =
        of_position(hf_tree_after(&engine->other_watches, &key));

    if (watch == NULL || strcmp(watch->dir_name, dir_name) != 0)
        return NULL;
    return &watch->as.other.fifo_watch->ticket;
}

void hf_file_watch_set_other(struct hf_file_watch *watch,
                             struct hf_file_fifo_watch *fifo_watch)
{
    struct position_key key;

    assert(watch->kind == HF_FILE_WATCH_OTHER &&
           watch->as.other.fifo_watch == NULL);
    watch->as.other.fifo_watch = fifo_watch;
    key = key_of(watch);
    hf_tree_add(&watch->engine->other_watches, &watch->as.other.by_position,
                &key);
}

/* ----------------------------------------------------------- own tickets -- */

void hf_file_watch_set_own(struct hf_file_watch *watch,
                           struct hf_file_ticket *own_ticket)
{
    struct hf_file_own_watch *own = &watch->as.own;

    assert(watch->kind == HF_FILE_WATCH_OWN && own->ticket == NULL);
    own->ticket = own_ticket;
    own->reported_mtime = own_ticket->created_mtime;
    own->next = own_ticket->watches;
    own->link = &own_ticket->watches;
    if (own->next != NULL)
        own->next->as.own.link = &own->next;
    own_ticket->watches = watch;
}

void hf_file_watch_add_to_arm(struct hf_file_watch *watch)
{
    struct hf_file_watch **to_arm = &watch->engine->inotify.to_arm;
    struct hf_file_own_watch *own = &watch->as.own;

    assert(watch->kind == HF_FILE_WATCH_OWN &&
           watch->state != HF_FILE_WATCH_ARMED);
    if (watch->state == HF_FILE_WATCH_TO_ARM)
        return;
    watch->state = HF_FILE_WATCH_TO_ARM;
    own->next_to_arm = *to_arm;
    own->to_arm = to_arm;
    if (*to_arm != NULL)
        (*to_arm)->as.own.to_arm = &own->next_to_arm;
    *to_arm = watch;
}

void hf_file_watch_cancel_arm(struct hf_file_watch *watch)
{
    struct hf_file_own_watch *own = &watch->as.own;

    if (watch->state != HF_FILE_WATCH_TO_ARM)
        return;
    if (watch->wd >= 0 && watch->dir_wd >= 0)
        watch->state = HF_FILE_WATCH_ARMED;
    else
        watch->state = watch->engine->inotify.timer_fd >= 0
                           ? HF_FILE_WATCH_TIMED
                           : HF_FILE_WATCH_UNARMED;
    *own->to_arm = own->next_to_arm;
    if (own->next_to_arm != NULL)
        own->next_to_arm->as.own.to_arm = own->to_arm;
}

/* --------------------------------------------------------------- watches -- */

struct hf_file_watch *hf_file_watch_new(struct hf_engine *engine,
                                        struct hf_request *request,
                                        enum hf_file_watch_kind kind,
                                        const char *dir_name)
{
    size_t name_bytes = strlen(dir_name) + 1;
    struct hf_file_watch *watch = hf_alloc(sizeof(*watch) + name_bytes);

    if (watch == NULL)
        return NULL;
    watch->engine = engine;
    watch->request = request;
    watch->kind = kind;
    watch->number = ++engine->watch_number;
    watch->wd = -1;
    watch->dir_wd = -1;
    memcpy(watch->dir_name, dir_name, name_bytes);
    watch->next = engine->watches[kind];
    watch->link = &engine->watches[kind];
    if (watch->next != NULL)
        watch->next->link = &watch->next;
    engine->watches[kind] = watch;
    request->engine_data = watch;
    return watch;
}

/* Release what a watch of an own ticket uses. */
static void end_own(struct hf_file_watch *watch)
{
    struct hf_file_own_watch *own = &watch->as.own;

    if (own->ticket == NULL)
        return;
    *own->link = own->next;
    if (own->next != NULL)
        own->next->as.own.link = own->link;
    hf_file_watch_cancel_arm(watch);
}

/* The same for a watch of another session's ticket. */
static void end_other(struct hf_file_watch *watch)
{
    struct position_key key;

    if (watch->as.other.fifo_watch == NULL)
        return;
    key = key_of(watch);
    hf_tree_remove(&watch->engine->other_watches, &watch->as.other.by_position,
                   &key);
    hf_file_fifo_watch_stop(watch->as.other.fifo_watch);
}

/* The same for a watch of a queue. */
static void end_queue(struct hf_file_watch *watch)
{
    while (watch->as.queue.fifo_watches != NULL) {
        struct hf_file_fifo_watch *fifo_watch = watch->as.queue.fifo_watches;

        watch->as.queue.fifo_watches = fifo_watch->next;
        hf_file_fifo_watch_stop(fifo_watch);
    }
}

void hf_file_watch_end(struct hf_file_watch *watch)
{
    assert(watch->request->engine_data == watch);
    *watch->link = watch->next;
    if (watch->next != NULL)
        watch->next->link = watch->link;
    watch->request->engine_data = NULL;
    switch (watch->kind) {
    case HF_FILE_WATCH_OWN:
        end_own(watch);
        break;
    case HF_FILE_WATCH_OTHER:
        end_other(watch);
        break;
    case HF_FILE_WATCH_QUEUE:
        end_queue(watch);
        break;
    case HF_FILE_WATCH_BARRIER:
        break;
    }
    hf_file_inotify_disarm(watch);
    hf_free(watch);
}

void hf_file_watch_answer(struct hf_file_watch *watch)
{
    struct hf_engine *engine = watch->engine;
    struct hf_request *request = watch->request;
    enum hf_file_watch_kind kind = watch->kind;
    char why[HF_EVICTED_WHY_BYTES];

    if (kind == HF_FILE_WATCH_OWN)
        hf_file_ticket_read_why(engine, watch->as.own.ticket, why);
    hf_file_watch_end(watch);
    if (kind == HF_FILE_WATCH_OWN)
        hf_file_answer_own_gone(engine, request, why);
    else
        hf_file_answer(engine, request,
                       kind == HF_FILE_WATCH_OTHER ? HF_EVENT_GONE
                                                   : HF_EVENT_QUEUE_CHANGED);
}

/* Starts again at the first watch after each answer, because the core may
 * forget any watch when it gets the answer.  A watch that is made meanwhile is
 * not marked. */
void hf_file_watches_answer_changed(struct hf_engine *engine,
                                    enum hf_file_watch_kind kind)
{
    struct hf_file_watch *watch = engine->watches[kind];

    while (watch != NULL) {
        if (watch->state == HF_FILE_WATCH_CHANGED) {
            hf_file_watch_answer(watch);
            /* because the core may have ended others */
            watch = engine->watches[kind];
        } else {
            watch = watch->next;
        }
    }
}

void hf_file_watches_end_all(struct hf_engine *engine)
{
    for (int kind = 0; kind < HF_FILE_WATCH_KINDS; kind++)
        while (engine->watches[kind] != NULL)
            hf_file_watch_end(engine->watches[kind]);
}
