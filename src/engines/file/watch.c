/* SPDX-License-Identifier: Apache-2.0 */
/* WATCH: of another's ticket by its hang-up, of one's own as own.c has it. */
#include <stddef.h>
#include <string.h>

#include "core/memory.h"
#include "engines/file/engine.h"

/* ------------------------------------------------------------- by place -- */

struct place_key {
    const char *entry;
    struct hf_ticket ticket;
    uint64_t number;
};

static struct hf_watch *of_place(const struct hf_tree_node *node)
{
    size_t offset = offsetof(struct hf_watch, by_place);

    if (node == NULL)
        return NULL;
    return (struct hf_watch *)(void *)((char *)node - offset);
}

/* In each directory in the order of the tickets. */
static int compare(const void *a, const struct hf_tree_node *node)
{
    const struct hf_watch *watch = of_place(node);
    const struct place_key *key = a;
    int order = strcmp(key->entry, watch->hang_up->entry);

    if (order == 0)
        order = hf_ticket_compare(&key->ticket, &watch->hang_up->ticket);
    if (order == 0)
        order = (key->number > watch->number) - (key->number < watch->number);
    return order;
}

void hf_watch_others_init(struct hf_tree *others)
{
    others->compare = compare;
}

static struct place_key key_of(const struct hf_watch *watch)
{
    return (struct place_key){watch->hang_up->entry, watch->hang_up->ticket,
                              watch->number};
}

const struct hf_ticket *hf_watch_first_other(const struct hf_engine *engine,
                                             const char *entry)
{
    const struct place_key key = {.entry = entry};
    const struct hf_watch *watch =
        of_place(hf_tree_after(&engine->others, &key));

    if (watch == NULL || strcmp(watch->hang_up->entry, entry) != 0)
        return NULL;
    return &watch->hang_up->ticket;
}

static void add_other(struct hf_watch *watch)
{
    const struct place_key key = key_of(watch);

    hf_tree_add(&watch->engine->others, &watch->by_place, &key);
}

static void end_other(struct hf_watch *watch)
{
    const struct place_key key = key_of(watch);

    hf_tree_remove(&watch->engine->others, &watch->by_place, &key);
    hf_hang_up_end(watch->hang_up);
}

/* ---------------------------------------------------------------- watches --
 */

void hf_watch_is_of_own(struct hf_watch *watch, struct hf_file_ticket *own)
{
    watch->own = own;
    watch->seen = own->made_at;
    watch->next_of_own = own->watches;
    watch->of_own = &own->watches;
    if (watch->next_of_own != NULL)
        watch->next_of_own->of_own = &watch->next_of_own;
    own->watches = watch;
}

static void end_own(struct hf_watch *watch)
{
    *watch->of_own = watch->next_of_own;
    if (watch->next_of_own != NULL)
        watch->next_of_own->of_own = watch->of_own;
    hf_own_forget(watch);
}

struct hf_watch *hf_watch_new(struct hf_engine *engine,
                              struct hf_request *request)
{
    struct hf_watch *watch = hf_alloc(sizeof(*watch));

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

void hf_watch_end(struct hf_watch *watch)
{
    *watch->link = watch->next;
    if (watch->next != NULL)
        watch->next->link = watch->link;
    watch->request->engine_data = NULL;
    if (watch->own != NULL)
        end_own(watch);
    if (watch->hang_up != NULL)
        end_other(watch);
    hf_free(watch);
}

void hf_watch_gone(struct hf_watch *watch)
{
    struct hf_engine *engine = watch->engine;
    struct hf_request *request = watch->request;
    bool own = watch->own != NULL;

    hf_watch_end(watch);
    if (own)
        hf_own_answer_gone(engine, request);
    else
        hf_engine_answer(engine, request, HF_EVENT_GONE);
}

void hf_watch_forget(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_watch *watch = request->engine_data;
    char entry[HF_ENTRY_BYTES] = "";

    if (watch == NULL)
        return;
    if (watch->hang_up != NULL)
        memcpy(entry, watch->hang_up->entry, strlen(watch->hang_up->entry) + 1);
    hf_watch_end(watch);
    if (entry[0] != '\0')
        hf_own_wake(engine, entry);
}

static void heard(struct hf_hang_up *hang_up)
{
    struct hf_engine *engine = hang_up->engine;
    const struct hf_ticket_id gone = hang_up->ticket.id;
    bool removed = hang_up->removed;

    hf_own_drain(engine);
    hf_own_moved_up(engine, &gone);
    if (removed)
        hf_ahead_gone(engine, &gone);
    /* That may have had this watch forgotten, or the engine ended. */
    if (!hf_hang_up_is_over(hang_up))
        hf_watch_gone(hang_up->arg);
}

/* ${ticket} was found in ${entry}; ${watch} is ended unless it lives. */
static void watch_found(struct hf_watch *watch, const char *entry,
                        const struct hf_ticket *ticket)
{
    struct hf_engine *engine = watch->engine;
    struct hf_request *request = watch->request;
    struct hf_error error;

    switch (hf_hang_up_begin(engine, entry, ticket, heard, watch,
                             &watch->hang_up, &error)) {
    case HF_LIFE_ALIVE:
        add_other(watch);
        hf_engine_answer(engine, request, HF_EVENT_WATCHING);
        return;
    case HF_LIFE_DEAD:
        hf_watch_end(watch);
        hf_warm_left(&engine->warm, entry);
        hf_engine_answer(engine, request, HF_EVENT_GONE);
        return;
    case HF_LIFE_UNKNOWN:
        hf_watch_end(watch);
        hf_engine_fail(engine, request, HF_FAILURE_RETRY, &error);
        return;
    }
}

void hf_watch_other(struct hf_engine *engine, struct hf_request *request)
{
    static const struct hf_error no_memory = {HF_ENOMEM,
                                              "no memory to watch a ticket"};
    char entry[HF_ENTRY_BYTES];
    struct hf_watch *watch;
    struct hf_ticket ticket;
    struct hf_error error;
    bool found;

    if (hf_engine_find(engine, request->queue, &request->ticket, &ticket,
                       &found, &error) != HF_OK) {
        hf_engine_fail(engine, request, HF_FAILURE_RETRY, &error);
        return;
    }
    if (!found || ticket.kind != request->ticket_kind) {
        hf_engine_answer(engine, request, HF_EVENT_GONE);
        return;
    }
    watch = hf_watch_new(engine, request);
    if (watch == NULL) {
        hf_engine_fail(engine, request, HF_FAILURE_RETRY, &no_memory);
        return;
    }
    hf_entry_format(request->queue, entry);
    watch_found(watch, entry, &ticket);
}
