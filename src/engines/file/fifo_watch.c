/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See fifo_watch.h.  libuv polls the FIFO of the ticket for a hang-up and for
 * bytes.  If bytes come, the link count shows whether they mean an eviction or
 * are stray.
 */
#include "engines/file/fifo_watch.h"

#include <poll.h>

#include "base/error.h"
#include "base/memory.h"
#include "engines/file/engine.h"
#include "engines/file/own_tickets.h"
#include "engines/file/syscalls.h"
#include "engines/file/ticket_file.h"
#include "engines/file/watch.h"

/* libuv has closed the handle: free the memory. */
static void on_closed(uv_handle_t *handle)
{
    struct hf_file_fifo_watch *fifo_watch = handle->data;
    struct hf_engine *engine = fifo_watch->engine;

    hf_free(fifo_watch);
    hf_file_handle_closed(engine);
}

void hf_file_fifo_watch_stop(struct hf_file_fifo_watch *fifo_watch)
{
    struct hf_engine *engine = fifo_watch->engine;

    engine->handles++;
    uv_close((uv_handle_t *)&fifo_watch->poll, on_closed);
    hf_file_descriptors_close(&engine->descriptors, &fifo_watch->fifo);
}

bool hf_file_fifo_watch_is_stopped(const struct hf_file_fifo_watch *fifo_watch)
{
    return uv_is_closing((const uv_handle_t *)&fifo_watch->poll);
}

/* Returns whether the FIFO only has bytes in it, while it still has its name
 * and its owner has it open. */
static bool has_only_bytes(const struct hf_file_fifo_watch *fifo_watch)
{
    struct pollfd state = {.fd = fifo_watch->fifo, .events = POLLIN};
    struct stat status;

    return poll(&state, 1, 0) > 0 && (state.revents & POLLHUP) == 0 &&
           hf_file_sys_fstat(fifo_watch->fifo, &status) == 0 &&
           status.st_nlink > 0;
}

/* Returns whether the FIFO has no name any more, because its owner or an
 * evicting session has removed it. */
static bool was_removed(const struct hf_file_fifo_watch *fifo_watch)
{
    struct stat status;

    return hf_file_sys_fstat(fifo_watch->fifo, &status) == 0 &&
           status.st_nlink == 0;
}

/* Remove the ticket of an owner that was killed.  Returns false if that
 * fails. */
static bool remove_dead(struct hf_file_fifo_watch *fifo_watch)
{
    struct hf_engine *engine = fifo_watch->engine;
    char path[HF_PATH_BYTES];
    struct hf_error error;
    bool found;

    hf_file_fifo_path(&engine->settings, fifo_watch->watch->dir_name,
                      &fifo_watch->ticket, path);
    if (hf_file_fifo_and_payload_remove(path, &found, &error) != HF_OK) {
        engine->host.log(engine->host.host, HF_LOG_WARNING,
                         "a dead ticket stays in the way: %s", error.text);
        return false;
    }
    if (found)
        hf_file_dir_cache_ticket_gone(&engine->dir_cache,
                                      fifo_watch->watch->dir_name);
    return true;
}

/* Handle the end of the ticket.  If its owner was killed, its files are still
 * there, and are removed before anybody is admitted because of its end.  If it
 * was evicted (removal.c), they are gone already. */
static void finish(struct hf_file_fifo_watch *fifo_watch)
{
    fifo_watch->removed = was_removed(fifo_watch) || remove_dead(fifo_watch);
    fifo_watch->on_gone(fifo_watch);
}

/* Handle an event of the FIFO.  Stray bytes are no eviction.  They are left in
 * the FIFO, because other sessions read it, too, and from now on only the
 * hang-up is polled for. */
static void on_event(uv_poll_t *poll, int failure, int events)
{
    struct hf_file_fifo_watch *fifo_watch = poll->data;

    /* A poll that has failed counts as the end of the ticket, too. */
    if (failure == 0 && (events & UV_DISCONNECT) == 0 &&
        has_only_bytes(fifo_watch))
        (void)uv_poll_start(poll, UV_DISCONNECT, on_event);
    else
        finish(fifo_watch);
}

/* Have the loop poll the FIFO.  The poll does not keep the loop running. */
static bool start_poll(struct hf_file_fifo_watch *fifo_watch, uv_loop_t *loop)
{
    if (uv_poll_init(loop, &fifo_watch->poll, fifo_watch->fifo) != 0)
        return false;
    fifo_watch->poll.data = fifo_watch;
    uv_unref((uv_handle_t *)&fifo_watch->poll);
    (void)uv_poll_start(&fifo_watch->poll, UV_READABLE | UV_DISCONNECT,
                        on_event);
    return true;
}

/* Make a FIFO watch for ${watch}, which owns ${fifo} from now on.  On failure
 * closes ${fifo} and returns NULL. */
static struct hf_file_fifo_watch *fifo_watch_new(struct hf_file_watch *watch,
                                                 const struct hf_ticket *ticket,
                                                 int fifo,
                                                 struct hf_error *error)
{
    struct hf_engine *engine = watch->engine;
    uv_loop_t *loop = engine->host.loop(engine->host.host);
    struct hf_file_fifo_watch *created = hf_alloc(sizeof(*created));

    if (created == NULL) {
        (void)hf_error_set(error, HF_ENOMEM, "no memory to wait for a ticket");
        goto close_fifo;
    }
    created->engine = engine;
    created->watch = watch;
    created->ticket = *ticket;
    created->ticket.payload = "";
    created->fifo = fifo;
    if (loop != NULL && start_poll(created, loop))
        return created;
    (void)hf_error_set(error, HF_ELIMIT,
                       "cannot wait for a ticket: no memory or descriptor for "
                       "the event loop; raise this process's limits "
                       "(ulimit -n)");
    hf_free(created);

close_fifo:
    hf_file_descriptors_close(&engine->descriptors, &fifo);
    return NULL;
}

enum hf_file_owner_liveness hf_file_fifo_watch_start(
    struct hf_file_watch *watch, const struct hf_ticket *ticket,
    hf_file_fifo_watch_fn *on_gone, struct hf_file_fifo_watch **fifo_watch,
    struct hf_error *error)
{
    struct hf_engine *engine = watch->engine;
    char path[HF_PATH_BYTES];
    enum hf_file_owner_liveness liveness = HF_OWNER_ALIVE;
    int fifo = hf_file_tickets_take_probed(&engine->tickets, &ticket->id);
    bool found;

    *fifo_watch = NULL;
    hf_file_fifo_path(&engine->settings, watch->dir_name, ticket, path);
    if (fifo < 0)
        liveness = hf_file_fifo_probe(&engine->descriptors, path, &fifo, error);
    if (liveness == HF_OWNER_DEAD &&
        hf_file_fifo_and_payload_remove(path, &found, error) != HF_OK)
        return HF_OWNER_UNKNOWN;
    if (liveness != HF_OWNER_ALIVE)
        return liveness;
    *fifo_watch = fifo_watch_new(watch, ticket, fifo, error);
    if (*fifo_watch == NULL)
        return HF_OWNER_UNKNOWN;
    (*fifo_watch)->on_gone = on_gone;
    return HF_OWNER_ALIVE;
}
