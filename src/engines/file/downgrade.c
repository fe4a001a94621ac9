/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HF_REQUEST_DOWNGRADE: a write ticket becomes a read ticket.
 *
 * A second FIFO, for the read ticket, is made beside the first; then the first
 * is removed and closed.  So the place in the queue is never empty, and a
 * session that waits for the write ticket sees its FIFO hang up, lists again
 * and finds a reader. A rename would wake nobody.
 *
 * No lock is needed.  The read ticket has the number and the id of the write
 * ticket, and a list that has both shows the writer (listing.c), so nobody
 * tests the second FIFO before it is locked.  A list that is read meanwhile
 * could pass the place of the second before it is there, and that of the first
 * when it is gone.  So the rename is noted in the page of the counter in
 * between, and such a list is read again.
 *
 * A request to let go touches the first FIFO (removal.c) until its name is
 * gone. The time of the first FIFO is read after that, and if it was touched
 * the read ticket counts as touched.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#include "base/error.h"
#include "engines/file/engine.h"
#include "engines/file/inotify.h"
#include "engines/file/own_tickets.h"
#include "engines/file/requests.h"
#include "engines/file/syscalls.h"
#include "engines/file/ticket_file.h"
#include "engines/file/watch.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
#define OWNER_FLAGS (O_RDWR | O_NONBLOCK | O_NOFOLLOW)

/* A downgrade that is being carried out. */
struct downgrade {
    struct hf_engine *engine;
    struct hf_file_ticket *own_ticket;
    const char *payload;
    struct hf_error *error;
    struct hf_ticket reader;  /* the ticket as it will be */
    int dir;                  /* of the lock; -1: not open */
    int fifo;                 /* the reader's; -1: not open */
    struct stat fifo_stat;    /* of .fifo, before anybody else could touch it */
    char path[HF_PATH_BYTES]; /* of the directory */
    char file[HF_TICKET_FILE_BYTES]; /* the reader's */
    char payload_file[HF_PAYLOAD_FILE_BYTES];
};

/* The errors of a downgrade: from errno; and that somebody has removed the
 * ticket. */
static hf_status fail_errno(const struct downgrade *d, const char *what)
{
    return hf_file_error_set_errno(d->error, what, d->path);
}

static hf_status fail_removed(const struct downgrade *d)
{
    return hf_error_set(d->error, HF_ELOST, "the ticket was removed from %s",
                        d->path);
}

/* Open the directory that has the write ticket.  HF_ELOST if the ticket is not
 * in the directory at its path. */
static hf_status open_directory(struct downgrade *d)
{
    struct stat there, open_one;
    bool found;

    d->dir = hf_file_sys_open(d->path, DIR_FLAGS, 0);
    if (d->dir < 0 && errno == ENOENT)
        return hf_error_set(d->error, HF_ELOST, "%s was removed", d->path);
    if (d->dir < 0 ||
        !hf_file_descriptors_add(&d->engine->descriptors, d->dir)) {
        d->dir = -1;
        return fail_errno(d, "open");
    }
    if (hf_file_sys_fstat(d->own_ticket->fifo, &open_one) != 0)
        return fail_errno(d, "examine a ticket of");
    found = hf_file_sys_lstatat(d->dir, d->own_ticket->file, &there) == 0;
    if (!found && errno != ENOENT)
        return fail_errno(d, "examine a ticket of");
    if (!found || there.st_dev != open_one.st_dev ||
        there.st_ino != open_one.st_ino)
        return fail_removed(d);
    return HF_OK;
}

/* Give the read ticket the payload, if there is any. */
static hf_status make_payload(struct downgrade *d)
{
    if (d->payload[0] == '\0' ||
        hf_file_sys_symlinkat(d->payload, d->dir, d->payload_file) == 0 ||
        errno == EEXIST) /* of an attempt before this one */
        return HF_OK;
    return fail_errno(d, "write a payload in");
}

/* Make, open and lock the FIFO of the read ticket. */
static hf_status make_fifo(struct downgrade *d)
{
    mode_t mode = d->engine->settings.file_mode;

    if (hf_file_sys_mkfifoat(d->dir, d->file, mode) != 0 && errno != EEXIST)
        return fail_errno(d, "make a ticket in");
    d->fifo = hf_file_sys_openat(d->dir, d->file, OWNER_FLAGS, 0);
    if (d->fifo < 0 ||
        !hf_file_descriptors_add(&d->engine->descriptors, d->fifo)) {
        d->fifo = -1;
        return fail_errno(d, "open a ticket in");
    }
    if (hf_file_fifo_prepare(&d->engine->settings, d->fifo, &d->fifo_stat) !=
            0 ||
        hf_file_sys_flock(d->fifo, LOCK_EX | LOCK_NB) != 0)
        return fail_errno(d, "lock a ticket in");
    return HF_OK;
}

/* Undo make_reader(). */
static void drop_reader(struct downgrade *d)
{
    (void)hf_file_sys_unlinkat(d->dir, d->file);
    (void)hf_file_sys_unlinkat(d->dir, d->payload_file);
    hf_file_descriptors_close(&d->engine->descriptors, &d->fifo);
}

/* Make the read ticket beside the write ticket. */
static hf_status make_reader(struct downgrade *d)
{
    hf_status status = open_directory(d);

    if (status != HF_OK)
        return status;
    if ((status = make_payload(d)) == HF_OK)
        status = make_fifo(d);
    if (status != HF_OK)
        drop_reader(d);
    return status;
}

/* Has anybody touched the write ticket, to ask its owner to let go?  Where that
 * is unknown, yes, because no such request may be lost. */
static bool was_touched(const struct hf_file_ticket *writer)
{
    struct stat status;

    return hf_file_sys_fstat(writer->fifo, &status) != 0 ||
           status.st_mtim.tv_sec != writer->created_mtime.tv_sec ||
           status.st_mtim.tv_nsec != writer->created_mtime.tv_nsec;
}

/* Take the name of the write ticket away.  HF_ELOST if somebody else has done
 * so: for them the ticket is gone.  Another error if the rename cannot be
 * noted.  If the name cannot be taken away, that is logged, and HF_OK: the
 * write ticket will be found dead. */
static hf_status remove_writer(struct downgrade *d)
{
    struct hf_engine *engine = d->engine;

    if (hf_file_token_counter_is_current(&engine->root_dir->counter,
                                         engine->settings.counter_path) &&
        hf_file_token_counter_note_rename(
            &engine->root_dir->counter, d->reader.sequence,
            engine->settings.counter_path, d->error) != HF_OK)
        return d->error->status;
    if (hf_file_sys_unlinkat(d->dir, d->own_ticket->file) == 0)
        return HF_OK;
    if (errno == ENOENT)
        return fail_removed(d);
    engine->host.log(engine->host.host, HF_LOG_WARNING,
                     "a write ticket is left to be found dead in %s", d->path);
    return HF_OK;
}

/* From now on our ticket is the read ticket.  The FIFO of the write ticket is
 * closed after its name has gone, so that nobody takes it for a dead one; then
 * those who wait for it go on. */
static void replace_writer(struct downgrade *d)
{
    /* No file has this time, so the next watch takes the ticket for touched. */
    static const struct timespec touched_before = {0, -1};
    struct hf_engine *engine = d->engine;
    struct hf_file_ticket *own_ticket = d->own_ticket;
    char payload_file[HF_PAYLOAD_FILE_BYTES];
    int fifo = own_ticket->fifo;
    bool touched;

    hf_file_payload_name_of(own_ticket->file, payload_file);
    touched = was_touched(own_ticket);
    hf_file_ticket_set_stat(own_ticket, &d->fifo_stat);
    if (touched)
        own_ticket->created_mtime = touched_before;
    own_ticket->ticket.kind = HF_TICKET_READ;
    memcpy(own_ticket->file, d->file, sizeof(own_ticket->file));
    own_ticket->fifo = d->fifo;
    hf_file_descriptors_close(&engine->descriptors, &fifo);
    (void)hf_file_sys_unlinkat(d->dir, payload_file);
    hf_file_inotify_put_fifo_above(engine, own_ticket);
}

/* Make the reader, remove the writer; undone if the writer was removed
 * meanwhile. A ticket with copies of its descriptor stays as it is. */
static hf_status run_downgrade(struct downgrade *d)
{
    hf_status status;

    if (d->own_ticket->copied)
        return hf_error_set(d->error, HF_ESTATE,
                            "copies of the write ticket's descriptor were "
                            "given out (hf_grant_hold_fd), and would not keep "
                            "the read ticket in the queue");
    hf_file_root_settings_path(&d->engine->settings, d->own_ticket->dir_name,
                               NULL, d->path);
    d->reader = d->own_ticket->ticket;
    d->reader.kind = HF_TICKET_READ;
    hf_file_name_format(&d->reader, d->file);
    hf_file_payload_name_of(d->file, d->payload_file);
    status = make_reader(d);
    if (status == HF_OK && (status = remove_writer(d)) != HF_OK)
        drop_reader(d);
    if (status == HF_OK)
        replace_writer(d);
    hf_file_descriptors_close(&d->engine->descriptors, &d->dir);
    return status;
}

/* The first watch that is of the write ticket, or NULL. */
static struct hf_file_watch *
first_writer_watch(const struct hf_file_ticket *own_ticket)
{
    struct hf_file_watch *watch = own_ticket->watches;

    while (watch != NULL &&
           watch->request->ticket_kind == own_ticket->ticket.kind)
        watch = watch->as.own.next;
    return watch;
}

/* Answer the watches of the write ticket.  The ticket is found anew each time,
 * because the core may remove it, and may watch the reader, in the answer. */
static void end_writer_watches(struct hf_engine *engine,
                               const struct hf_ticket_id *id)
{
    const struct hf_file_ticket *own_ticket;
    struct hf_file_watch *watch;

    while ((own_ticket = hf_file_own_ticket(engine, id)) != NULL &&
           (watch = first_writer_watch(own_ticket)) != NULL)
        hf_file_watch_answer(watch);
}

void hf_file_downgrade(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_file_ticket *own_ticket =
        hf_file_own_ticket(engine, &request->ticket);
    char dir_name[HF_DIR_NAME_BYTES];
    struct hf_error error;
    struct downgrade downgrade = {.engine = engine,
                                  .own_ticket = own_ticket,
                                  .payload = request->payload,
                                  .error = &error,
                                  .dir = -1,
                                  .fifo = -1};

    if (own_ticket == NULL) {
        hf_error_set(&error, HF_ELOST, "the ticket is not in its queue");
        hf_file_fail(engine, request, HF_FAILURE_FATAL, &error);
    } else if (own_ticket->ticket.kind == HF_TICKET_READ) {
        hf_file_answer(engine, request, HF_EVENT_DOWNGRADED);
    } else if (run_downgrade(&downgrade) != HF_OK) {
        hf_file_fail(engine, request, HF_FAILURE_FATAL, &error);
    } else {
        hf_file_dir_name_format(request->queue, dir_name);
        /* Before the answer, because the core may remove the ticket in it. */
        end_writer_watches(engine, &request->ticket);
        hf_file_answer(engine, request, HF_EVENT_DOWNGRADED);
        hf_file_queue_watches_changed(engine, dir_name);
    }
}
