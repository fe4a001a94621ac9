/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watches of tickets: the list of all, the lists of each own ticket, and
 * the tree of those of others' tickets.
 */
#include "engines/file/ticket_watch.h"

#include <stddef.h>
#include <string.h>

#include "base/memory.h"
#include "engines/file/engine.h"
#include "engines/file/fifo_watch.h"
#include "engines/file/inotify.h"
#include "engines/file/own_tickets.h"

/* ----------------------------------------------------------- by position -- */

/* A place in the tree of the watches of others' tickets. */
struct position_key {
    const char *dir_name;
    struct hf_ticket ticket;
    uint64_t number;
};

/* The watch of a node; NULL stays NULL. */
static struct hf_file_ticket_watch *of_position(const struct hf_tree_node *node)
{
    size_t offset = offsetof(struct hf_file_ticket_watch, by_position);

    if (node == NULL)
        return NULL;
    return (struct hf_file_ticket_watch *)(void *)((char *)node - offset);
}

/* By directory, in each by ticket as in its queue, and watches of one ticket by
 * number. */
static int compare(const void *a, const struct hf_tree_node *node)
{
    const struct hf_file_ticket_watch *watch = of_position(node);
    const struct position_key *key = a;
    int order = strcmp(key->dir_name, watch->fifo_watch->dir_name);

    if (order == 0)
        order = hf_ticket_compare(&key->ticket, &watch->fifo_watch->ticket);
    if (order == 0)
        order = (key->number > watch->number) - (key->number < watch->number);
    return order;
}

void hf_file_ticket_watch_init_others(struct hf_tree *other_watches)
{
    other_watches->compare = compare;
}

static struct position_key key_of(const struct hf_file_ticket_watch *watch)
{
    return (struct position_key){watch->fifo_watch->dir_name,
                                 watch->fifo_watch->ticket, watch->number};
}

/* A zeroed ticket comes before all others. */
const struct hf_ticket *
hf_file_ticket_watch_first_other(const struct hf_engine *engine,
                                 const char *dir_name)
{
    const struct position_key key = {.dir_name = dir_name};
    const struct hf_file_ticket_watch *watch =
        of_position(hf_tree_after(&engine->other_watches, &key));

    if (watch == NULL || strcmp(watch->fifo_watch->dir_name, dir_name) != 0)
        return NULL;
    return &watch->fifo_watch->ticket;
}

void hf_file_ticket_watch_set_other(struct hf_file_ticket_watch *watch)
{
    const struct position_key key = key_of(watch);

    hf_tree_add(&watch->engine->other_watches, &watch->by_position, &key);
}

/* Give up what a watch of another's ticket uses. */
static void end_other(struct hf_file_ticket_watch *watch)
{
    const struct position_key key = key_of(watch);

    hf_tree_remove(&watch->engine->other_watches, &watch->by_position, &key);
    hf_file_fifo_watch_stop(watch->fifo_watch);
}

/* --------------------------------------------------------------- watches -- */

void hf_file_ticket_watch_set_own(struct hf_file_ticket_watch *watch,
                                  struct hf_file_ticket *own_ticket)
{
    watch->own_ticket = own_ticket;
    watch->reported_mtime = own_ticket->created_mtime;
    watch->next_of_ticket = own_ticket->watches;
    watch->link_of_ticket = &own_ticket->watches;
    if (watch->next_of_ticket != NULL)
        watch->next_of_ticket->link_of_ticket = &watch->next_of_ticket;
    own_ticket->watches = watch;
}

void hf_file_ticket_watch_cancel_arm(struct hf_file_ticket_watch *watch)
{
    if (watch->to_arm == NULL)
        return;
    *watch->to_arm = watch->next_to_arm;
    if (watch->next_to_arm != NULL)
        watch->next_to_arm->to_arm = watch->to_arm;
    watch->to_arm = NULL;
}

/* Give up what a watch of an own ticket uses. */
static void end_own(struct hf_file_ticket_watch *watch)
{
    *watch->link_of_ticket = watch->next_of_ticket;
    if (watch->next_of_ticket != NULL)
        watch->next_of_ticket->link_of_ticket = watch->link_of_ticket;
    hf_file_ticket_watch_cancel_arm(watch);
    hf_file_inotify_unwatch_ticket(watch);
}

struct hf_file_ticket_watch *
hf_file_ticket_watch_new(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_file_ticket_watch *watch = hf_alloc(sizeof(*watch));

    if (watch == NULL)
        return NULL;
    watch->engine = engine;
    watch->request = request;
    watch->number = ++engine->watch_number;
    watch->ticket_wd = -1;
    watch->dir_wd = -1;
    watch->next = engine->watches;
    watch->link = &engine->watches;
    if (watch->next != NULL)
        watch->next->link = &watch->next;
    engine->watches = watch;
    request->engine_data = watch;
    return watch;
}

void hf_file_ticket_watch_end(struct hf_file_ticket_watch *watch)
{
    *watch->link = watch->next;
    if (watch->next != NULL)
        watch->next->link = watch->link;
    watch->request->engine_data = NULL;
    if (watch->own_ticket != NULL)
        end_own(watch);
    if (watch->fifo_watch != NULL)
        end_other(watch);
    hf_free(watch);
}

void hf_file_ticket_watch_answer_gone(struct hf_file_ticket_watch *watch)
{
    struct hf_engine *engine = watch->engine;
    struct hf_request *request = watch->request;
    bool is_own = watch->own_ticket != NULL;
    char why[HF_EVICTED_WHY_BYTES];

    if (is_own)
        hf_file_ticket_read_why(engine, watch->own_ticket, why);
    hf_file_ticket_watch_end(watch);
    if (is_own)
        hf_file_answer_own_gone(engine, request, why);
    else
        hf_file_answer(engine, request, HF_EVENT_GONE);
}
