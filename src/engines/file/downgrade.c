/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HF_REQUEST_DOWNGRADE: a write ticket becomes a read ticket.
 *
 * A second FIFO is made for the read ticket; then the first FIFO is removed and
 * closed.  So the ticket is in the queue all the time.  A session that waits
 * for the write ticket sees its FIFO hang up, lists again and finds a reader.
 * A rename of the first FIFO would wake nobody.
 *
 * No lock is needed.  The read ticket has the number and the id of the write
 * ticket, and a list that has both shows only the writer (listing.c), so nobody
 * tests the second FIFO before it is locked.  But a list that is read meanwhile
 * could miss both: it passes the position of the second FIFO before that is
 * there, and the position of the first when that is gone.  So the rename is
 * noted in the page of the counter between the two steps, and such a list is
 * read again.
 *
 * A request to release touches the first FIFO (removal.c) as long as it has its
 * name.  The time of the first FIFO is read after that name was removed.  If
 * the FIFO was touched, the read ticket counts as touched.
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

/* The state of a downgrade. */
struct downgrade {
    struct hf_engine *engine;
    struct hf_file_ticket *own_ticket;
    const char *payload;
    struct hf_error *error;
    struct hf_ticket reader;  /* the ticket as it will be: a read ticket */
    int dir;                  /* directory of the lock; -1: not open */
    int fifo;                 /* FIFO of the read ticket; -1: not open */
    struct stat fifo_stat;    /* of .fifo, before anybody else could touch it */
    char path[HF_PATH_BYTES]; /* path of the directory */
    char file[HF_TICKET_FILE_BYTES]; /* file name of the read ticket */
    char payload_file[HF_PAYLOAD_FILE_BYTES];
};

/* Set the error of a downgrade: fail_errno() from errno; fail_removed() because
 * somebody has removed the ticket. */
static hf_status fail_errno(const struct downgrade *d, const char *what)
{
    return hf_file_error_set_errno(d->error, what, d->path);
}

static hf_status fail_removed(const struct downgrade *d)
{
    return hf_error_set(d->error, HF_ELOST, "the ticket was removed from %s",
                        d->path);
}

/* Open the directory that has the write ticket.  Fails with HF_ELOST if the
 * ticket is not in the directory at that path. */
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

/* Make the payload of the read ticket, if there is one. */
static hf_status make_payload(struct downgrade *d)
{
    if (d->payload[0] == '\0' ||
        hf_file_sys_symlinkat(d->payload, d->dir, d->payload_file) == 0 ||
        errno == EEXIST) /* left by an earlier attempt */
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

/* Returns whether somebody has touched the write ticket to ask its owner to
 * release.  Returns true if that is unknown, because no such request may be
 * lost. */
static bool was_touched(const struct hf_file_ticket *writer)
{
    struct stat status;

    return hf_file_sys_fstat(writer->fifo, &status) != 0 ||
           status.st_mtim.tv_sec != writer->created_mtime.tv_sec ||
           status.st_mtim.tv_nsec != writer->created_mtime.tv_nsec;
}

/* Remove the name of the write ticket.  Returns HF_ELOST if somebody else has
 * removed it, because for them the ticket is gone, or another error if the
 * rename cannot be noted.  If only the name cannot be removed, logs that and
 * returns HF_OK: sessions will find the write ticket dead. */
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

/* Make the read ticket our ticket, and close the FIFO of the write ticket,
 * which wakes the sessions that wait for it.  That is done only after its name
 * was removed, so that nobody finds it dead. */
static void replace_writer(struct downgrade *d)
{
    /* No file has this time, so the next watch sees that the ticket was
     * touched. */
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

/* Make the read ticket and remove the write ticket.  If somebody removed the
 * write ticket meanwhile, undoes it.  A ticket with copies of its descriptor
 * cannot be downgraded. */
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

/* Returns the first watch that is of the write ticket, or NULL. */
static struct hf_file_watch *
first_writer_watch(const struct hf_file_ticket *own_ticket)
{
    struct hf_file_watch *watch = own_ticket->watches;

    while (watch != NULL &&
           watch->request->ticket_kind == own_ticket->ticket.kind)
        watch = watch->as.own.next;
    return watch;
}

/* Answer the watches of the write ticket.  The ticket is searched again each
 * time, because the core may remove it, or watch the read ticket, when it gets
 * the answer. */
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
        /* Before the answer, because the core may remove the ticket when it
         * gets it. */
        end_writer_watches(engine, &request->ticket);
        hf_file_answer(engine, request, HF_EVENT_DOWNGRADED);
        hf_file_queue_watches_changed(engine, dir_name);
    }
}
