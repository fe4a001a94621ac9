/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work of a locked section, under the lock of the directory.
 *
 * An enqueue makes a ticket with the next number.  The ticket is made under a
 * temporary name, opened and locked, and appears in one step by a rename.  Then
 * the queue is listed.  What needs no lock is done after the unlock: dead
 * tickets ahead are removed, and the payload of the first ticket is read.
 *
 * A double barrier has two sections.  One starts a generation: it counts the
 * participants that are alive and writes the next number into READY.  The other
 * removes READY when no participant is left.  READY is made under a temporary
 * name and replaces the old one by a rename, so that one of the two is always
 * there.
 */
#include "engines/file/locked_section_work.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/quote.h"
#include "core/admission.h"
#include "engines/file/listing.h"
#include "engines/file/success.h"
#include "engines/file/syscalls.h"
#include "engines/file/ticket_file.h"

/* ---------------------------------------------------- number and failure -- */

enum hf_file_locked_section_answer
hf_file_locked_section_fail(struct hf_file_locked_section *s, const char *what)
{
    hf_file_error_set_errno(s->error, what, s->path);
    return HF_LOCKED_SECTION_FAILED;
}

/* Take the next number, which is the position of the ticket in the queue and
 * its token.  If a block of numbers must be reserved, this waits for the
 * disk. */
static enum hf_file_locked_section_answer
take_number(struct hf_file_locked_section *s)
{
    struct hf_file_token_counter *counter = &s->root_dir->counter;
    const char *path = s->root_dir->settings->counter_path;
    enum hf_file_flock_wait wait = s->args->wait;
    uint64_t *number = &s->result->ticket.sequence;
    enum hf_file_token_counter_answer answer = hf_file_token_counter_take(
        counter, path, wait, s->args->cancelled, number, s->error);

    if (answer == HF_TOKEN_COUNTER_USED_UP && wait != HF_FLOCK_WAIT_NONE) {
        if (hf_file_token_counter_reserve(counter, path, s->error) != HF_OK)
            return HF_LOCKED_SECTION_FAILED;
        answer = hf_file_token_counter_take(
            counter, path, wait, s->args->cancelled, number, s->error);
    }
    switch (answer) {
    case HF_TOKEN_COUNTER_TAKEN:
        s->result->ticket.token = *number;
        s->counter_current = true;
        return HF_LOCKED_SECTION_DONE;
    case HF_TOKEN_COUNTER_USED_UP:
        if (wait == HF_FLOCK_WAIT_NONE)
            return HF_LOCKED_SECTION_BUSY;
        hf_error_set(s->error, HF_EEXHAUSTED,
                     "%s gives no number after a reservation; try again", path);
        return HF_LOCKED_SECTION_FAILED;
    case HF_TOKEN_COUNTER_BUSY:
        return HF_LOCKED_SECTION_BUSY;
    case HF_TOKEN_COUNTER_STALE:
        return HF_LOCKED_SECTION_STALE;
    case HF_TOKEN_COUNTER_FAILED:
        break;
    }
    return HF_LOCKED_SECTION_FAILED;
}

/* --------------------------------------------------------------- enqueue -- */

#define OWNER_FLAGS (O_RDWR | O_NONBLOCK | O_NOFOLLOW)

/* If the directory's name has a digest, check that the directory belongs to
 * this very lock, so that two locks never share one, even if SHA-256 were
 * broken. */
static enum hf_file_locked_section_answer
check_name(struct hf_file_locked_section *s)
{
    const char *queue = s->args->queue;
    size_t bytes = strlen(queue);
    char there[HF_QUEUE_BYTES + 1];
    ssize_t got;

    if (!s->args->digest)
        return HF_LOCKED_SECTION_DONE;
    if (hf_file_sys_symlinkat(queue, s->lock_dir->fd, HF_NAME_FILE) == 0)
        return HF_LOCKED_SECTION_DONE;
    if (errno != EEXIST)
        return hf_file_locked_section_fail(s, "write the name in");
    got = hf_file_sys_readlinkat(s->lock_dir->fd, HF_NAME_FILE, there,
                                 sizeof(there));
    if (got < 0)
        return hf_file_locked_section_fail(s, "read the name in");
    if ((size_t)got == bytes && memcmp(there, queue, bytes) == 0)
        return HF_LOCKED_SECTION_DONE;
    hf_error_set(s->error, HF_EDIR,
                 "%s belongs to the lock %s; remove it if nobody uses that",
                 s->path, hf_quote(there, (size_t)got).text);
    return HF_LOCKED_SECTION_FAILED;
}

/* Make the FIFO under its temporary name.  Returns 0, or -1 with errno. */
static int make_fifo(struct hf_file_locked_section *s)
{
    mode_t mode = s->root_dir->settings->file_mode;
    int dir = s->lock_dir->fd;

    if (hf_file_sys_mkfifoat(dir, HF_NEW_FILE, mode) == 0)
        return 0;
    if (errno != EEXIST)
        return -1;
    /* left by a process that was killed at this point */
    if (hf_file_sys_unlinkat(dir, HF_NEW_FILE) != 0)
        return -1;
    return hf_file_sys_mkfifoat(dir, HF_NEW_FILE, mode);
}

/* Open and lock the FIFO, and note its time.  Nobody tests or touches it under
 * its temporary name.  Returns 0, or -1 with errno. */
static int open_fifo(struct hf_file_locked_section *s)
{
    const struct hf_file_root_settings *settings = s->root_dir->settings;
    int fd = hf_file_sys_openat(s->lock_dir->fd, HF_NEW_FILE, OWNER_FLAGS, 0);

    if (fd < 0 || !hf_file_descriptors_add(s->root_dir->descriptors, fd))
        return -1;
    s->result->fifo = fd;
    if (hf_file_fifo_prepare(settings, fd, &s->result->fifo_stat) != 0)
        return -1;
    return hf_file_sys_flock(fd, LOCK_EX | LOCK_NB);
}

/* Make the payload and the FIFO.  From the rename on, the ticket exists. */
static enum hf_file_locked_section_answer
make_ticket(struct hf_file_locked_section *s)
{
    const char *payload = s->args->ticket.payload;
    int dir = s->lock_dir->fd;
    enum hf_file_locked_section_answer answer;

    hf_file_name_format(&s->result->ticket, s->result->file);
    hf_file_payload_name_of(s->result->file, s->payload_file);
    if (payload[0] != '\0' &&
        hf_file_sys_symlinkat(payload, dir, s->payload_file) != 0)
        return hf_file_locked_section_fail(s, "write a payload in");
    if (make_fifo(s) != 0) {
        answer = hf_file_locked_section_fail(s, "make a ticket in");
        goto remove_payload;
    }
    if (open_fifo(s) != 0) {
        answer = hf_file_locked_section_fail(s, "open a ticket in");
        goto remove_fifo;
    }
    if (hf_file_sys_renameat(dir, HF_NEW_FILE, s->result->file) == 0)
        return HF_LOCKED_SECTION_DONE;
    answer = hf_file_locked_section_fail(s, "name a ticket in");

remove_fifo:
    hf_file_descriptors_close(s->root_dir->descriptors, &s->result->fifo);
    (void)hf_file_sys_unlinkat(dir, HF_NEW_FILE);
remove_payload:
    if (payload[0] != '\0')
        (void)hf_file_sys_unlinkat(dir, s->payload_file);
    return answer;
}

/* Undo make_ticket() after the rename, and close the FIFO of the blocker. */
static void remove_new_ticket(struct hf_file_locked_section *s)
{
    (void)hf_file_sys_unlinkat(s->lock_dir->fd, s->result->file);
    hf_file_descriptors_close(s->root_dir->descriptors, &s->result->fifo);
    hf_file_descriptors_close(s->root_dir->descriptors,
                              &s->result->blocker_fifo);
    if (s->args->ticket.payload[0] != '\0')
        (void)hf_file_sys_unlinkat(s->lock_dir->fd, s->payload_file);
}

enum hf_file_locked_section_answer
hf_file_locked_section_enqueue(struct hf_file_locked_section *s)
{
    struct hf_file_listing *listing = s->result->listing;
    enum hf_file_locked_section_answer answer = check_name(s);

    if (answer == HF_LOCKED_SECTION_DONE)
        answer = take_number(s);
    if (answer == HF_LOCKED_SECTION_DONE)
        answer = make_ticket(s);
    if (answer != HF_LOCKED_SECTION_DONE)
        return answer;
    if (hf_file_listing_read(listing, s->lock_dir->fd, s->path,
                             &s->root_dir->counter, s->error) != HF_OK) {
        remove_new_ticket(s);
        return HF_LOCKED_SECTION_FAILED;
    }
    hf_file_listing_remove_orphans(listing, s->lock_dir->fd);
    return HF_LOCKED_SECTION_DONE;
}

/* Remove the ticket at ${index}, whose files were just removed, from the
 * listing.  If it was a writer's, a read ticket may have replaced it, so the
 * directory is read again. */
static hf_status drop_dead_at(struct hf_file_locked_section *s, size_t index)
{
    struct hf_file_listing *listing = s->result->listing;

    if (listing->tickets.items[index].kind != HF_TICKET_WRITE) {
        hf_file_listing_drop(listing, index);
        return HF_OK;
    }
    return hf_file_listing_read(listing, s->lock_dir->fd, s->path,
                                &s->root_dir->counter, s->error);
}

/* Remove the dead tickets that the new ticket would wait for, so that a list
 * never shows a lock as taken that nobody has.  hf_admission_decide() says for
 * which ticket it waits.  That is the nearest one, so if the owners in the
 * queue are alive, one probe is enough.  The FIFO of that ticket is kept for
 * its watch. */
static hf_status drop_dead_ahead(struct hf_file_locked_section *s)
{
    struct hf_file_listing *listing = s->result->listing;
    const struct hf_file_root_settings *settings = s->root_dir->settings;
    hf_status status = HF_OK;
    struct hf_error unused;
    bool found;

    if (s->args->ticket.kind == HF_TICKET_PARTICIPANT)
        return HF_OK; /* a participant waits for nobody */
    for (size_t left = listing->tickets.count; left > 0 && status == HF_OK;
         left--) {
        struct hf_snapshot snapshot = hf_file_listing_snapshot(listing);
        struct hf_admission admission = hf_admission_decide(
            &snapshot, &s->args->ticket.id, s->args->ticket.kind);
        char path[HF_PATH_BYTES];

        if (admission.answer != HF_WAIT_FOR)
            break;
        hf_file_fifo_path(settings, s->args->dir_name, admission.nearest, path);
        s->result->blocker = admission.nearest->id;
        if (hf_file_fifo_probe(s->root_dir->descriptors, path,
                               &s->result->blocker_fifo,
                               &unused) != HF_OWNER_DEAD ||
            hf_file_fifo_and_payload_remove(path, &found, &unused) != HF_OK)
            break; /* it is alive, or a watch of it will report the error */
        status = drop_dead_at(
            s, (size_t)(admission.nearest - listing->tickets.items));
    }
    return status;
}

enum hf_file_locked_section_answer
hf_file_locked_section_finish_enqueue(struct hf_file_locked_section *s)
{
    struct hf_file_listing *listing = s->result->listing;
    const struct hf_file_ticket_list *tickets = &listing->tickets;
    hf_status status = drop_dead_ahead(s);
    bool first = tickets->count > 0 &&
                 hf_ticket_id_equal(&tickets->items[0].id, &s->args->ticket.id);

    /* if our own ticket is the first, its payload is known */
    if (status == HF_OK)
        status = hf_file_listing_read_texts(listing, s->lock_dir->fd, s->path,
                                            first ? 0 : 1, s->error);
    if (status == HF_OK)
        return HF_LOCKED_SECTION_DONE;
    remove_new_ticket(s);
    return HF_LOCKED_SECTION_FAILED;
}

/* ------------------------------------------------------- double barriers -- */

/* Check whether the owner of the participant at ${index} is alive, and if not,
 * remove the participant.  After HF_OK, ${alive} has the result. */
static hf_status probe_participant(struct hf_file_locked_section *s,
                                   size_t index, bool *alive)
{
    const struct hf_ticket *ticket = &s->result->listing->tickets.items[index];
    const struct hf_file_root_settings *settings = s->root_dir->settings;
    char path[HF_PATH_BYTES];
    struct hf_error unused;
    enum hf_file_owner_liveness liveness;
    bool found;

    hf_file_fifo_path(settings, s->args->dir_name, ticket, path);
    liveness =
        hf_file_fifo_probe(s->root_dir->descriptors, path, NULL, s->error);
    if (liveness == HF_OWNER_UNKNOWN)
        return s->error->status;
    if (liveness == HF_OWNER_DEAD)
        (void)hf_file_fifo_and_payload_remove(path, &found, &unused);
    *alive = liveness == HF_OWNER_ALIVE;
    return HF_OK;
}

/* Count in .participants the living participants other than the one at
 * ${own_index} (SIZE_MAX: all), up to ${max}. */
static hf_status count_others(struct hf_file_locked_section *s,
                              size_t own_index, uint32_t max)
{
    struct hf_file_locked_section_result *result = s->result;
    hf_status status = HF_OK;
    bool alive = false;

    for (size_t i = 0;
         i < result->listing->tickets.count && result->participants < max;
         i++) {
        if (i == own_index)
            continue;
        status = probe_participant(s, i, &alive);
        if (status != HF_OK)
            break;
        result->participants += alive;
    }
    return status;
}

static hf_status list_participants(struct hf_file_locked_section *s)
{
    s->result->participants = 0;
    return hf_file_listing_read(s->result->listing, s->lock_dir->fd, s->path,
                                &s->root_dir->counter, s->error);
}

/* Count the living participants, up to the number that is needed.
 * .participants is 0 if the participant that asks is not among them. */
static hf_status count_participants(struct hf_file_locked_section *s)
{
    struct hf_snapshot snapshot;
    hf_status status = list_participants(s);
    bool alive = false;
    size_t own_index;

    if (status != HF_OK)
        return status;
    snapshot = hf_file_listing_snapshot(s->result->listing);
    own_index = hf_snapshot_find(&snapshot, &s->args->ticket.id);
    if (own_index < snapshot.count)
        status = probe_participant(s, own_index, &alive);
    if (status != HF_OK || !alive)
        return status;
    s->result->participants = 1;
    return count_others(s, own_index, s->args->limit);
}

/* Make a symbolic link under the temporary name.  Returns 0, or -1 with
 * errno. */
static int make_temporary(int dir, const char *text)
{
    if (hf_file_sys_symlinkat(text, dir, HF_NEW_FILE) == 0)
        return 0;
    if (errno != EEXIST)
        return -1;
    /* left by a process that was killed at this point */
    if (hf_file_sys_unlinkat(dir, HF_NEW_FILE) != 0)
        return -1;
    return hf_file_sys_symlinkat(text, dir, HF_NEW_FILE);
}

/* Replace READY by one with the new number. */
static enum hf_file_locked_section_answer
make_ready(struct hf_file_locked_section *s)
{
    char text[HF_READY_TEXT_BYTES];
    int dir = s->lock_dir->fd;
    enum hf_file_locked_section_answer answer;
    struct stat before;

    hf_file_ready_format(&s->result->ticket, text);
    s->result->found = hf_file_sys_lstatat(dir, HF_READY_FILE, &before) == 0;
    if (make_temporary(dir, text) != 0)
        return hf_file_locked_section_fail(s, "make ready in");
    if (hf_file_sys_renameat(dir, HF_NEW_FILE, HF_READY_FILE) == 0)
        return HF_LOCKED_SECTION_DONE;
    answer = hf_file_locked_section_fail(s, "rename ready in");
    (void)hf_file_sys_unlinkat(dir, HF_NEW_FILE);
    return answer;
}

enum hf_file_locked_section_answer
hf_file_locked_section_start_generation(struct hf_file_locked_section *s)
{
    enum hf_file_locked_section_answer answer;

    if (count_participants(s) != HF_OK)
        return HF_LOCKED_SECTION_FAILED;
    if (s->result->participants < s->args->limit)
        return HF_LOCKED_SECTION_DONE;
    answer = take_number(s);
    return answer == HF_LOCKED_SECTION_DONE ? make_ready(s) : answer;
}

enum hf_file_locked_section_answer
hf_file_locked_section_clear_ready(struct hf_file_locked_section *s)
{
    if (list_participants(s) != HF_OK || count_others(s, SIZE_MAX, 1) != HF_OK)
        return HF_LOCKED_SECTION_FAILED;
    if (s->result->participants > 0)
        return HF_LOCKED_SECTION_DONE;
    s->result->found =
        hf_file_sys_unlinkat(s->lock_dir->fd, HF_READY_FILE) == 0;
    if (!s->result->found && errno != ENOENT)
        return hf_file_locked_section_fail(s, "remove ready from");
    return HF_LOCKED_SECTION_DONE;
}

/* --------------------------------------------------------------- success -- */

/* Returns whether the ticket of the holder is there: its FIFO is at its
 * path. */
static bool holder_is_present(const struct hf_file_locked_section *s)
{
    struct stat status;

    return hf_file_sys_lstatat(s->lock_dir->fd, s->args->holder_file,
                               &status) == 0 &&
           status.st_dev == s->args->holder_device &&
           status.st_ino == s->args->holder_inode;
}

/* If the holder's ticket was removed, there may be another holder.  That one
 * reads under the lock, too, so it sees what was written while this ticket was
 * there. */
enum hf_file_locked_section_answer
hf_file_locked_section_read_success(struct hf_file_locked_section *s)
{
    struct hf_file_locked_section_result *result = s->result;

    result->found = holder_is_present(s);
    if (!result->found)
        return HF_LOCKED_SECTION_DONE;
    return hf_file_success_read(s->root_dir->settings, s->lock_dir->fd,
                                s->args->queue, &result->success,
                                s->error) == HF_OK
               ? HF_LOCKED_SECTION_DONE
               : HF_LOCKED_SECTION_FAILED;
}

/* This waits for the disk, so a thread that must not wait gets BUSY. */
enum hf_file_locked_section_answer
hf_file_locked_section_write_success(struct hf_file_locked_section *s)
{
    struct hf_file_locked_section_result *result = s->result;

    if (s->args->wait == HF_FLOCK_WAIT_NONE)
        return HF_LOCKED_SECTION_BUSY;
    result->found = holder_is_present(s);
    if (!result->found)
        return HF_LOCKED_SECTION_DONE;
    return hf_file_success_write(s->root_dir, s->lock_dir->fd, s->path,
                                 s->args->queue, s->args->success_token,
                                 &result->found, s->error) == HF_OK
               ? HF_LOCKED_SECTION_DONE
               : HF_LOCKED_SECTION_FAILED;
}
