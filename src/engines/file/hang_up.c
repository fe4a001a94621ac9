/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/file/hang_up.h"

#include <poll.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "engines/file/engine.h"
#include "engines/file/sys.h"

static void on_closed(uv_handle_t *handle)
{
    struct hf_hang_up *hang_up = handle->data;
    struct hf_engine *engine = hang_up->engine;

    hf_free(hang_up);
    hf_engine_handle_closed(engine);
}

void hf_hang_up_end(struct hf_hang_up *hang_up)
{
    struct hf_engine *engine = hang_up->engine;

    engine->handles++;
    uv_close((uv_handle_t *)&hang_up->poll, on_closed);
    hf_descriptors_close(&engine->descriptors, &hang_up->fifo);
}

bool hf_hang_up_is_over(const struct hf_hang_up *hang_up)
{
    return uv_is_closing((const uv_handle_t *)&hang_up->poll);
}

/* Is there nothing but bytes in a FIFO that is in its place? */
static bool only_written_to(const struct hf_hang_up *hang_up)
{
    struct pollfd state = {.fd = hang_up->fifo, .events = POLLIN};
    struct stat status;

    return poll(&state, 1, 0) > 0 && (state.revents & POLLHUP) == 0 &&
           hf_sys_fstat(hang_up->fifo, &status) == 0 && status.st_nlink > 0;
}

/* It has no name any more: its owner, or who took it out, has removed it. */
static bool was_removed(const struct hf_hang_up *hang_up)
{
    struct stat status;

    return hf_sys_fstat(hang_up->fifo, &status) == 0 && status.st_nlink == 0;
}

/* The ticket of an owner that was killed; false if it stays. */
static bool remove_dead(struct hf_hang_up *hang_up)
{
    struct hf_engine *engine = hang_up->engine;
    struct hf_error error;
    bool found;

    if (hf_section_remove(&engine->site, hang_up->entry, &hang_up->ticket,
                          &found, &error) != HF_OK) {
        engine->host.log(engine->host.host, HF_LOG_WARNING,
                         "a dead ticket stays in the way: %s", error.text);
        return false;
    }
    if (found)
        hf_warm_left(&engine->warm, hang_up->entry);
    return true;
}

/* The owner is gone; if it was killed, its ticket is not, and goes before
 * anybody is admitted on that account.  Or the ticket was taken away from it:
 * see others.c. */
static void leave(struct hf_hang_up *hang_up)
{
    hang_up->removed = was_removed(hang_up) || remove_dead(hang_up);
    hang_up->heard(hang_up);
}

/* Bytes of somebody who took nothing away: they stay, for others wait too, and
 * are not listened to any more. */
static void on_event(uv_poll_t *poll, int failure, int events)
{
    struct hf_hang_up *hang_up = poll->data;

    /* If the poll itself failed the core lists and watches anew. */
    if (failure == 0 && (events & UV_DISCONNECT) == 0 &&
        only_written_to(hang_up))
        (void)uv_poll_start(poll, UV_DISCONNECT, on_event);
    else
        leave(hang_up);
}

static bool wait_for_it(struct hf_hang_up *hang_up, uv_loop_t *loop)
{
    if (uv_poll_init(loop, &hang_up->poll, hang_up->fifo) != 0)
        return false;
    hang_up->poll.data = hang_up;
    uv_unref((uv_handle_t *)&hang_up->poll);
    (void)uv_poll_start(&hang_up->poll, UV_READABLE | UV_DISCONNECT, on_event);
    return true;
}

/* Takes over ${fifo}; NULL if that fails. */
static struct hf_hang_up *hang_up_new(struct hf_engine *engine,
                                      const char *entry,
                                      const struct hf_ticket *ticket, int fifo,
                                      struct hf_error *error)
{
    uv_loop_t *loop = engine->host.loop(engine->host.host);
    size_t entry_bytes = strlen(entry) + 1;
    struct hf_hang_up *mine = hf_alloc(sizeof(*mine) + entry_bytes);

    if (mine == NULL) {
        (void)hf_error_set(error, HF_ENOMEM, "no memory to wait for a ticket");
        goto close_fifo;
    }
    mine->engine = engine;
    mine->ticket = *ticket;
    mine->ticket.payload = "";
    memcpy(mine->entry, entry, entry_bytes);
    mine->fifo = fifo;
    if (loop != NULL && wait_for_it(mine, loop))
        return mine;
    (void)hf_error_set(error, HF_ELIMIT,
                       "cannot wait for a ticket: no memory or descriptor for "
                       "the event loop; raise this process's limits "
                       "(ulimit -n)");
    hf_free(mine);

close_fifo:
    hf_descriptors_close(&engine->descriptors, &fifo);
    return NULL;
}

enum hf_life hf_hang_up_begin(struct hf_engine *engine, const char *entry,
                              const struct hf_ticket *ticket,
                              hf_hang_up_fn *heard, void *arg,
                              struct hf_hang_up **hang_up,
                              struct hf_error *error)
{
    char file[HF_TICKET_FILE_BYTES];
    char path[HF_PATH_BYTES];
    enum hf_life life = HF_LIFE_ALIVE;
    int fifo = hf_file_tickets_take_found(&engine->tickets, &ticket->id);
    bool found;

    *hang_up = NULL;
    hf_ticket_file_format(ticket, file);
    hf_site_path(&engine->site, entry, file, path);
    if (fifo < 0)
        life = hf_section_probe(&engine->descriptors, path, &fifo, error);
    if (life == HF_LIFE_DEAD &&
        hf_section_remove(&engine->site, entry, ticket, &found, error) != HF_OK)
        return HF_LIFE_UNKNOWN;
    if (life != HF_LIFE_ALIVE)
        return life;
    *hang_up = hang_up_new(engine, entry, ticket, fifo, error);
    if (*hang_up == NULL)
        return HF_LIFE_UNKNOWN;
    (*hang_up)->heard = heard;
    (*hang_up)->arg = arg;
    return HF_LIFE_ALIVE;
}
