/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HF_REQUEST_WATCH of a ticket of another session: its end is reported by its
 * FIFO. And UNWATCH of any HF_REQUEST_WATCH.
 */
#include <string.h>

#include "engines/file/engine.h"
#include "engines/file/fifo_watch.h"
#include "engines/file/inotify.h"
#include "engines/file/own_watch.h"
#include "engines/file/predecessor.h"
#include "engines/file/queue.h"
#include "engines/file/requests.h"
#include "engines/file/ticket_watch.h"

void hf_file_ticket_watch_forget(struct hf_engine *engine,
                                 struct hf_request *request)
{
    struct hf_file_ticket_watch *watch = request->engine_data;
    char dir_name[HF_DIR_NAME_BYTES] = "";

    if (watch == NULL)
        return;
    if (watch->fifo_watch != NULL)
        memcpy(dir_name, watch->fifo_watch->dir_name,
               strlen(watch->fifo_watch->dir_name) + 1);
    hf_file_ticket_watch_end(watch);
    if (dir_name[0] != '\0')
        hf_file_own_watch_other_forgotten(engine, dir_name);
}

/* A ticket has gone for which the core waits.  Before that is answered, the
 * tickets behind it are checked: one that was removed in the meantime must not
 * be admitted because of the answer.  Then it is noted for
 * hf_file_predecessor_own_is_first(). */
static void on_ticket_gone(struct hf_file_fifo_watch *fifo_watch)
{
    struct hf_engine *engine = fifo_watch->engine;
    const struct hf_ticket_id gone = fifo_watch->ticket.id;
    bool removed = fifo_watch->removed;

    hf_file_inotify_read(engine);
    hf_file_own_watch_blocker_gone(engine, &gone);
    if (removed)
        hf_file_predecessor_gone(engine, &gone);
    /* The core may have forgotten this watch, or ended the session, meanwhile.
     */
    if (!hf_file_fifo_watch_is_stopped(fifo_watch))
        hf_file_ticket_watch_answer_gone(fifo_watch->arg);
}

/* Wait for ${ticket}, which was found in ${dir_name}, and answer.  ${watch} is
 * ended unless the owner of the ticket is alive. */
static void start_watch(struct hf_file_ticket_watch *watch,
                        const char *dir_name, const struct hf_ticket *ticket)
{
    struct hf_engine *engine = watch->engine;
    struct hf_request *request = watch->request;
    struct hf_error error;

    switch (hf_file_fifo_watch_start(engine, dir_name, ticket, on_ticket_gone,
                                     watch, &watch->fifo_watch, &error)) {
    case HF_OWNER_ALIVE:
        hf_file_ticket_watch_set_other(watch);
        hf_file_answer(engine, request, HF_EVENT_WATCHING);
        return;
    case HF_OWNER_DEAD:
        hf_file_ticket_watch_end(watch);
        hf_file_dir_cache_ticket_gone(&engine->dir_cache, dir_name);
        hf_file_answer(engine, request, HF_EVENT_GONE);
        return;
    case HF_OWNER_UNKNOWN:
        hf_file_ticket_watch_end(watch);
        hf_file_fail(engine, request, HF_FAILURE_RETRY, &error);
        return;
    }
}

void hf_file_watch_other(struct hf_engine *engine, struct hf_request *request)
{
    static const struct hf_error no_memory = {HF_ENOMEM,
                                              "no memory to watch a ticket"};
    char dir_name[HF_DIR_NAME_BYTES];
    struct hf_file_ticket_watch *watch;
    struct hf_ticket ticket;
    struct hf_error error;
    bool found;

    if (hf_file_find_ticket(engine, request->queue, &request->ticket, &ticket,
                            &found, &error) != HF_OK) {
        hf_file_fail(engine, request, HF_FAILURE_RETRY, &error);
        return;
    }
    if (!found || ticket.kind != request->ticket_kind) {
        hf_file_answer(engine, request, HF_EVENT_GONE);
        return;
    }
    watch = hf_file_ticket_watch_new(engine, request);
    if (watch == NULL) {
        hf_file_fail(engine, request, HF_FAILURE_RETRY, &no_memory);
        return;
    }
    hf_file_dir_name_format(request->queue, dir_name);
    start_watch(watch, dir_name, &ticket);
}
