/* SPDX-License-Identifier: Apache-2.0 */
/* WATCH: of another's ticket by its hang-up, of one's own as own.c has it. */
#include <string.h>

#include "core/memory.h"
#include "engines/file/engine.h"

struct hf_watch *hf_watch_new(struct hf_engine *engine,
                              struct hf_request *request)
{
    struct hf_watch *watch = hf_alloc(sizeof(*watch));

    if (watch == NULL)
        return NULL;
    watch->engine = engine;
    watch->request = request;
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
        hf_own_forget(watch);
    if (watch->hang_up != NULL)
        hf_hang_up_end(watch->hang_up);
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
        memcpy(entry, watch->hang_up->entry, sizeof(entry));
    hf_watch_end(watch);
    if (entry[0] != '\0')
        hf_own_wake(engine, entry);
}

static void heard(struct hf_hang_up *hang_up)
{
    struct hf_engine *engine = hang_up->engine;
    const struct hf_ticket_id gone = hang_up->ticket.id;

    hf_own_drain(engine);
    hf_own_moved_up(engine, &gone);
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
