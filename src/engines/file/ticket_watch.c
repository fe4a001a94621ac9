/* SPDX-License-Identifier: Apache-2.0 */
/* WATCH: of another's ticket by its hang-up, of one's own as own_watch.c has
 * it. */
#include <stddef.h>
#include <string.h>

#include "core/memory.h"
#include "engines/file/engine.h"

/* ------------------------------------------------------------- by place -- */

struct position_key {
    const char *dir_name;
    struct hf_ticket ticket;
    uint64_t number;
};

static struct hf_ticket_watch *of_position(const struct hf_tree_node *node)
{
    size_t offset = offsetof(struct hf_ticket_watch, by_position);

    if (node == NULL)
        return NULL;
    return (struct hf_ticket_watch *)(void *)((char *)node - offset);
}

/* In each directory in the order of the tickets. */
static int compare(const void *a, const struct hf_tree_node *node)
{
    const struct hf_ticket_watch *watch = of_position(node);
    const struct position_key *key = a;
    int args = strcmp(key->dir_name, watch->fifo_watch->dir_name);

    if (args == 0)
        args = hf_ticket_compare(&key->ticket, &watch->fifo_watch->ticket);
    if (args == 0)
        args = (key->number > watch->number) - (key->number < watch->number);
    return args;
}

void hf_ticket_watch_init_others(struct hf_tree *other_watches)
{
    other_watches->compare = compare;
}

static struct position_key key_of(const struct hf_ticket_watch *watch)
{
    return (struct position_key){watch->fifo_watch->dir_name,
                                 watch->fifo_watch->ticket, watch->number};
}

const struct hf_ticket *
hf_ticket_watch_first_other(const struct hf_engine *engine,
                            const char *dir_name)
{
    const struct position_key key = {.dir_name = dir_name};
    const struct hf_ticket_watch *watch =
        of_position(hf_tree_after(&engine->other_watches, &key));

    if (watch == NULL || strcmp(watch->fifo_watch->dir_name, dir_name) != 0)
        return NULL;
    return &watch->fifo_watch->ticket;
}

static void add_other(struct hf_ticket_watch *watch)
{
    const struct position_key key = key_of(watch);

    hf_tree_add(&watch->engine->other_watches, &watch->by_position, &key);
}

static void end_other(struct hf_ticket_watch *watch)
{
    const struct position_key key = key_of(watch);

    hf_tree_remove(&watch->engine->other_watches, &watch->by_position, &key);
    hf_fifo_watch_stop(watch->fifo_watch);
}

/* ---------------------------------------------------------------- watches --
 */

void hf_ticket_watch_set_own(struct hf_ticket_watch *watch,
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

static void end_own(struct hf_ticket_watch *watch)
{
    *watch->link_of_ticket = watch->next_of_ticket;
    if (watch->next_of_ticket != NULL)
        watch->next_of_ticket->link_of_ticket = watch->link_of_ticket;
    hf_inotify_unwatch_ticket(watch);
}

struct hf_ticket_watch *hf_ticket_watch_new(struct hf_engine *engine,
                                            struct hf_request *request)
{
    struct hf_ticket_watch *watch = hf_alloc(sizeof(*watch));

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

void hf_ticket_watch_end(struct hf_ticket_watch *watch)
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

void hf_ticket_watch_answer_gone(struct hf_ticket_watch *watch)
{
    struct hf_engine *engine = watch->engine;
    struct hf_request *request = watch->request;
    bool own_ticket = watch->own_ticket != NULL;

    hf_ticket_watch_end(watch);
    if (own_ticket)
        hf_engine_answer_own_gone(engine, request);
    else
        hf_engine_answer(engine, request, HF_EVENT_GONE);
}

void hf_ticket_watch_forget(struct hf_engine *engine,
                            struct hf_request *request)
{
    struct hf_ticket_watch *watch = request->engine_data;
    char dir_name[HF_DIR_NAME_BYTES] = "";

    if (watch == NULL)
        return;
    if (watch->fifo_watch != NULL)
        memcpy(dir_name, watch->fifo_watch->dir_name,
               strlen(watch->fifo_watch->dir_name) + 1);
    hf_ticket_watch_end(watch);
    if (dir_name[0] != '\0')
        hf_own_watch_other_forgotten(engine, dir_name);
}

static void on_ticket_gone(struct hf_fifo_watch *fifo_watch)
{
    struct hf_engine *engine = fifo_watch->engine;
    const struct hf_ticket_id gone = fifo_watch->ticket.id;
    bool removed = fifo_watch->removed;

    hf_inotify_read(engine);
    hf_own_watch_blocker_gone(engine, &gone);
    if (removed)
        hf_predecessor_gone(engine, &gone);
    /* That may have had this watch forgotten, or the engine ended. */
    if (!hf_fifo_watch_is_stopped(fifo_watch))
        hf_ticket_watch_answer_gone(fifo_watch->arg);
}

/* ${ticket} was found in ${dir_name}; ${watch} is ended unless it lives. */
static void start_watch(struct hf_ticket_watch *watch, const char *dir_name,
                        const struct hf_ticket *ticket)
{
    struct hf_engine *engine = watch->engine;
    struct hf_request *request = watch->request;
    struct hf_error error;

    switch (hf_fifo_watch_start(engine, dir_name, ticket, on_ticket_gone, watch,
                                &watch->fifo_watch, &error)) {
    case HF_OWNER_ALIVE:
        add_other(watch);
        hf_engine_answer(engine, request, HF_EVENT_WATCHING);
        return;
    case HF_OWNER_DEAD:
        hf_ticket_watch_end(watch);
        hf_dir_cache_ticket_gone(&engine->dir_cache, dir_name);
        hf_engine_answer(engine, request, HF_EVENT_GONE);
        return;
    case HF_OWNER_UNKNOWN:
        hf_ticket_watch_end(watch);
        hf_engine_fail(engine, request, HF_FAILURE_RETRY, &error);
        return;
    }
}

void hf_engine_watch_other(struct hf_engine *engine, struct hf_request *request)
{
    static const struct hf_error no_memory = {HF_ENOMEM,
                                              "no memory to watch a ticket"};
    char dir_name[HF_DIR_NAME_BYTES];
    struct hf_ticket_watch *watch;
    struct hf_ticket ticket;
    struct hf_error error;
    bool found;

    if (hf_engine_find_ticket(engine, request->queue, &request->ticket, &ticket,
                              &found, &error) != HF_OK) {
        hf_engine_fail(engine, request, HF_FAILURE_RETRY, &error);
        return;
    }
    if (!found || ticket.kind != request->ticket_kind) {
        hf_engine_answer(engine, request, HF_EVENT_GONE);
        return;
    }
    watch = hf_ticket_watch_new(engine, request);
    if (watch == NULL) {
        hf_engine_fail(engine, request, HF_FAILURE_RETRY, &no_memory);
        return;
    }
    hf_dir_name_format(request->queue, dir_name);
    start_watch(watch, dir_name, &ticket);
}
