/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watching another's ticket: its FIFO, open for reading, hangs up when the last
 * copy of the owner's descriptor is closed, whether by a withdrawal, an exit or
 * a kill; the kernel wakes whoever waits, and nobody else.
 */
#include <poll.h>
#include <string.h>

#include "core/memory.h"
#include "engines/file/engine.h"
#include "engines/file/sys.h"

struct hf_watch *hf_watch_new(struct hf_engine *engine,
                              struct hf_request *request)
{
    struct hf_watch *watch = hf_alloc(sizeof(*watch));

    if (watch == NULL)
        return NULL;
    watch->engine = engine;
    watch->request = request;
    watch->fifo = -1;
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

static void unlink_watch(struct hf_watch *watch)
{
    *watch->link = watch->next;
    if (watch->next != NULL)
        watch->next->link = watch->link;
    watch->request->engine_data = NULL;
}

static void on_closed(uv_handle_t *handle)
{
    struct hf_watch *watch = handle->data;
    struct hf_engine *engine = watch->engine;

    hf_free(watch);
    hf_engine_handle_closed(engine);
}

void hf_watch_end(struct hf_watch *watch)
{
    struct hf_engine *engine = watch->engine;

    unlink_watch(watch);
    if (watch->own != NULL) {
        hf_own_forget(watch);
        hf_free(watch);
        return;
    }
    engine->handles++;
    uv_close((uv_handle_t *)&watch->poll, on_closed);
    hf_descriptors_close(&engine->descriptors, &watch->fifo);
}

void hf_watch_gone(struct hf_watch *watch)
{
    struct hf_engine *engine = watch->engine;
    struct hf_request *request = watch->request;

    hf_watch_end(watch);
    hf_engine_answer(engine, request, HF_EVENT_GONE);
}

/* Is there nothing but bytes in a FIFO that is in its place? */
static bool only_written_to(const struct hf_watch *watch)
{
    struct pollfd state = {.fd = watch->fifo, .events = POLLIN};
    struct stat status;

    return poll(&state, 1, 0) > 0 && (state.revents & POLLHUP) == 0 &&
           hf_sys_fstat(watch->fifo, &status) == 0 && status.st_nlink > 0;
}

/* The owner is gone; if it was killed, its ticket is not, and goes before
 * anybody is admitted on that account.  Or the ticket was taken away from it:
 * see others.c. */
static void leave(struct hf_watch *watch)
{
    struct hf_engine *engine = watch->engine;
    uv_poll_t *poll = &watch->poll;
    char entry[HF_ENTRY_BYTES];
    struct hf_error error;
    bool found = false;

    memcpy(entry, watch->entry, sizeof(entry));
    if (hf_section_remove(&engine->site, watch->entry, &watch->ticket, &found,
                          &error) != HF_OK)
        engine->host.log(engine->host.host, HF_LOG_WARNING,
                         "a dead ticket stays in the way: %s", error.text);
    if (found)
        hf_warm_left(&engine->warm, watch->entry);
    hf_own_drain(engine);
    hf_own_look(engine, entry);
    /* That may have had this watch forgotten, or the engine ended. */
    if (!uv_is_closing((uv_handle_t *)poll))
        hf_watch_gone(watch);
    hf_own_wake(engine, entry);
    hf_own_look(engine, entry); /* gone before the waking: not told of */
}

/* Bytes of somebody who took nothing away: they stay, for others wait too, and
 * are not listened to any more. */
static void on_event(uv_poll_t *poll, int failure, int events)
{
    struct hf_watch *watch = poll->data;

    (void)events;
    /* If the poll itself failed the core lists and watches anew. */
    if (failure == 0 && only_written_to(watch))
        (void)uv_poll_start(poll, UV_DISCONNECT, on_event);
    else
        leave(watch);
}

static bool wait_for_hang_up(struct hf_watch *watch, uv_loop_t *loop)
{
    if (uv_poll_init(loop, &watch->poll, watch->fifo) != 0)
        return false;
    watch->poll.data = watch;
    uv_unref((uv_handle_t *)&watch->poll);
    (void)uv_poll_start(&watch->poll, UV_READABLE | UV_DISCONNECT, on_event);
    return true;
}

static void watch_alive(struct hf_engine *engine, struct hf_request *request,
                        const struct hf_ticket *ticket, const char *entry,
                        int fifo)
{
    static const struct hf_error no_loop = {
        HF_ELIMIT, "cannot wait for a ticket: no memory or descriptor for the "
                   "event loop; raise this process's limits (ulimit -n)"};
    uv_loop_t *loop = engine->host.loop(engine->host.host);
    struct hf_watch *watch =
        loop == NULL ? NULL : hf_watch_new(engine, request);

    if (watch == NULL)
        goto close_fifo;
    watch->ticket = *ticket;
    watch->fifo = fifo;
    memcpy(watch->entry, entry, strlen(entry) + 1);
    if (!wait_for_hang_up(watch, loop))
        goto free_watch;
    hf_engine_answer(engine, request, HF_EVENT_WATCHING);
    return;

free_watch:
    unlink_watch(watch);
    hf_free(watch);
close_fifo:
    hf_descriptors_close(&engine->descriptors, &fifo);
    hf_engine_fail(engine, request, HF_FAILURE_RETRY, &no_loop);
}

void hf_watch_other(struct hf_engine *engine, struct hf_request *request)
{
    char entry[HF_ENTRY_BYTES];
    char file[HF_TICKET_FILE_BYTES];
    char path[HF_PATH_BYTES];
    struct hf_ticket ticket;
    struct hf_error error;
    bool found;
    int fifo;

    if (hf_engine_find(engine, request->queue, &request->ticket, &ticket,
                       &found, &error) != HF_OK) {
        hf_engine_fail(engine, request, HF_FAILURE_RETRY, &error);
        return;
    }
    if (!found || ticket.kind != request->ticket_kind) {
        hf_engine_answer(engine, request, HF_EVENT_GONE);
        return;
    }
    hf_entry_format(request->queue, entry);
    hf_ticket_file_format(&ticket, file);
    hf_site_path(&engine->site, entry, file, path);
    switch (hf_section_probe(&engine->descriptors, path, &fifo, &error)) {
    case HF_LIFE_ALIVE:
        watch_alive(engine, request, &ticket, entry, fifo);
        return;
    case HF_LIFE_DEAD:
        if (hf_section_remove(&engine->site, entry, &ticket, &found, &error) ==
            HF_OK) {
            hf_warm_left(&engine->warm, entry);
            hf_engine_answer(engine, request, HF_EVENT_GONE);
            return;
        }
        break;
    case HF_LIFE_UNKNOWN:
        break;
    }
    hf_engine_fail(engine, request, HF_FAILURE_RETRY, &error);
}
