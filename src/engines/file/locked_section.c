/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/file/locked_section_private.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/error.h"
#include "engines/file/errno_error.h"
#include "engines/file/syscalls.h"

/* How often the directory may turn out to be another one, or gone, between
 * opening and locking it.  Each time somebody left the lock empty meanwhile. */
#define TRIES 64

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
#define WAITER_FLAGS (O_RDONLY | O_NONBLOCK | O_NOFOLLOW)

enum hf_locked_section_answer
hf_locked_section_fail(struct hf_locked_section *s, const char *what)
{
    hf_error_set_errno(s->error, what, s->path);
    return HF_LOCKED_SECTION_FAILED;
}

/* Unlock the directory, open as ${dir}, and wake who waits for that.  By name:
 * the child of a fork may have a copy of the descriptor.  ${current}: the
 * counter has been found current since it was locked, so that need not be asked
 * again. */
static void unlock(struct hf_root_dir *root_dir, const char *dir_name, int dir,
                   bool current)
{
    struct hf_token_counter *counter = &root_dir->counter;

    (void)hf_sys_flock(dir, LOCK_UN);
    if (current ||
        hf_token_counter_is_current(counter, root_dir->settings->counter_path))
        hf_flock_wake(hf_token_counter_futex(counter, dir_name));
}

static void unlock_current(struct hf_locked_section *s)
{
    unlock(s->root_dir, s->dir_name, s->lock_dir->fd, s->counter_current);
    s->counter_current = false;
}

static void unlock_and_close(struct hf_locked_section *s)
{
    unlock_current(s);
    hf_descriptors_close(s->root_dir->descriptors, &s->lock_dir->fd);
}

/* Make the directory for a ticket; ${created} is false if it is there. */
static enum hf_locked_section_answer make_dir(struct hf_locked_section *s,
                                              bool *created)
{
    *created = false;
    if (s->args->kind != HF_REQUEST_ENQUEUE)
        return HF_LOCKED_SECTION_DONE;
    *created =
        hf_sys_mkdir(s->path,
                     hf_root_settings_dir_mode(s->root_dir->settings)) == 0;
    if (!*created && errno == ENOENT)
        return HF_LOCKED_SECTION_STALE; /* ROOT/locks is not there */
    if (!*created && errno != EEXIST)
        return hf_locked_section_fail(s, "create");
    return HF_LOCKED_SECTION_DONE;
}

/* It is not there: nobody is, unless it was removed again by whoever left the
 * lock empty. */
static enum hf_locked_section_answer
answer_no_dir(const struct hf_locked_section *s)
{
    return s->args->kind == HF_REQUEST_ENQUEUE ? HF_LOCKED_SECTION_BUSY
                                               : HF_LOCKED_SECTION_DONE;
}

/* Open the directory; .fd is -1 with HF_LOCKED_SECTION_DONE if nobody is there.
 */
static enum hf_locked_section_answer open_dir(struct hf_locked_section *s)
{
    const struct hf_root_settings *settings = s->root_dir->settings;
    struct hf_lock_dir *lock_dir = s->lock_dir;
    enum hf_locked_section_answer answer;
    struct stat status;
    bool created;

    answer = make_dir(s, &created);
    if (answer != HF_LOCKED_SECTION_DONE)
        return answer;
    lock_dir->fd = hf_sys_open(s->path, DIR_FLAGS, 0);
    if (lock_dir->fd < 0 && errno == ENOENT)
        return answer_no_dir(s);
    if (lock_dir->fd < 0 ||
        !hf_descriptors_add(s->root_dir->descriptors, lock_dir->fd)) {
        lock_dir->fd = -1;
        (void)hf_locked_section_fail(s, "open");
        if (created)
            (void)hf_sys_rmdir(s->path);
        return HF_LOCKED_SECTION_FAILED;
    }
    if (hf_sys_fstat(lock_dir->fd, &status) != 0)
        return hf_locked_section_fail(s, "examine");
    lock_dir->device = status.st_dev;
    lock_dir->inode = status.st_ino;
    if (created && settings->shared &&
        hf_root_dir_set_mode(lock_dir->fd, hf_root_settings_dir_mode(settings),
                             s->path, s->error) != HF_OK)
        return HF_LOCKED_SECTION_FAILED;
    if (hf_safe_path_check(&s->root_dir->policy, &status, s->path, s->error) ==
        HF_OK)
        return HF_LOCKED_SECTION_DONE;
    /* Closed, so that nobody keeps it and uses it without another check. */
    hf_descriptors_close(s->root_dir->descriptors, &lock_dir->fd);
    return HF_LOCKED_SECTION_FAILED;
}

/* Is the directory that is locked the one that is at its path? */
static bool is_current(const struct hf_locked_section *s)
{
    struct stat status;

    return hf_sys_lstat(s->path, &status) == 0 &&
           status.st_dev == s->lock_dir->device &&
           status.st_ino == s->lock_dir->inode;
}

/* The counter's page is touched only while the counter is current: a page
 * beyond the end of a file that was truncated is a SIGBUS. */
static enum hf_flock_answer take_flock(struct hf_locked_section *s)
{
    struct hf_token_counter *counter = &s->root_dir->counter;
    const struct hf_locked_section_args *args = s->args;
    int fd = s->lock_dir->fd;
    _Atomic uint32_t *futex = NULL;

    if (args->wait == HF_FLOCK_WAIT_NONE)
        return hf_flock_try(fd, s->path, s->error);
    if (hf_token_counter_is_current(counter,
                                    s->root_dir->settings->counter_path))
        futex = hf_token_counter_futex(counter, s->dir_name);
    return hf_flock_lock(fd, s->path, args->wait, futex, args->cancelled,
                         s->error);
}

/* Have the directory that is at the path, locked; .fd is -1 if nobody is there.
 * HF_LOCKED_SECTION_BUSY with no directory left open means: it went away
 * meanwhile, try again. */
static enum hf_locked_section_answer lock(struct hf_locked_section *s)
{
    enum hf_locked_section_answer answer;

    if (s->lock_dir->fd < 0) {
        answer = open_dir(s);
        if (answer != HF_LOCKED_SECTION_DONE || s->lock_dir->fd < 0)
            return answer;
    }
    switch (take_flock(s)) {
    case HF_FLOCK_BUSY:
        return HF_LOCKED_SECTION_BUSY;
    case HF_FLOCK_FAILED:
        return HF_LOCKED_SECTION_FAILED;
    case HF_FLOCK_TAKEN:
        break;
    }
    if (is_current(s))
        return HF_LOCKED_SECTION_DONE;
    unlock_and_close(s);
    return HF_LOCKED_SECTION_BUSY;
}

enum hf_locked_section_answer
hf_locked_section_take_number(struct hf_locked_section *s)
{
    struct hf_token_counter *counter = &s->root_dir->counter;
    const char *path = s->root_dir->settings->counter_path;
    struct hf_ticket *ticket = &s->result->ticket;

    s->counter_current = hf_token_counter_is_current(counter, path);
    if (!s->counter_current)
        return HF_LOCKED_SECTION_STALE;
    if (!hf_token_counter_next(counter, &ticket->sequence)) {
        if (s->args->wait == HF_FLOCK_WAIT_NONE)
            return HF_LOCKED_SECTION_BUSY;
        if (hf_token_counter_reserve(counter, path, s->error) != HF_OK)
            return HF_LOCKED_SECTION_FAILED;
        if (!hf_token_counter_next(counter, &ticket->sequence)) {
            hf_error_set(s->error, HF_EEXHAUSTED,
                         "%s gives no number after a reservation; try again",
                         path);
            return HF_LOCKED_SECTION_FAILED;
        }
    }
    ticket->token = ticket->sequence;
    return HF_LOCKED_SECTION_DONE;
}

static enum hf_locked_section_answer run_kind(struct hf_locked_section *s)
{
    switch (s->args->kind) {
    case HF_REQUEST_NEW_GENERATION:
        return hf_locked_section_start_generation(s);
    case HF_REQUEST_CLEAR_FLAG:
        return hf_locked_section_clear_ready(s);
    default:
        assert(s->args->kind == HF_REQUEST_ENQUEUE);
        return hf_locked_section_enqueue(s);
    }
}

/* HF_LOCKED_SECTION_BUSY with no directory left open: try again. */
static enum hf_locked_section_answer run_once(struct hf_locked_section *s)
{
    enum hf_locked_section_answer answer = lock(s);

    if (answer != HF_LOCKED_SECTION_DONE || s->lock_dir->fd < 0)
        return answer;
    answer = run_kind(s);
    if (answer == HF_LOCKED_SECTION_FAILED && !is_current(s)) {
        unlock_and_close(s); /* removed under our hands */
        return HF_LOCKED_SECTION_BUSY;
    }
    unlock_current(s);
    if (answer == HF_LOCKED_SECTION_DONE && s->args->kind == HF_REQUEST_ENQUEUE)
        return hf_locked_section_finish_enqueue(s);
    return answer;
}

static enum hf_locked_section_answer run_tries(struct hf_locked_section *s)
{
    for (unsigned try = 0; try < TRIES; try++) {
        enum hf_locked_section_answer answer = run_once(s);

        if (answer != HF_LOCKED_SECTION_BUSY || s->lock_dir->fd >= 0)
            return answer;
    }
    if (s->args->wait == HF_FLOCK_WAIT_NONE)
        return HF_LOCKED_SECTION_BUSY;
    hf_error_set(s->error, HF_EDIR,
                 "%s was removed %d times while being opened; what does that?",
                 s->path, TRIES);
    return HF_LOCKED_SECTION_FAILED;
}

static enum hf_listing_scope scope_of(const struct hf_locked_section_args *args)
{
    return args->kind != HF_REQUEST_ENQUEUE ||
                   args->ticket.kind == HF_TICKET_PARTICIPANT
               ? HF_LISTING_PARTICIPANTS
               : HF_LISTING_QUEUE;
}

enum hf_locked_section_answer hf_locked_section_run(
    struct hf_root_dir *root_dir, const struct hf_locked_section_args *args,
    struct hf_lock_dir *lock_dir, struct hf_locked_section_result *result,
    struct hf_error *error)
{
    struct hf_locked_section s = {.root_dir = root_dir,
                                  .args = args,
                                  .lock_dir = lock_dir,
                                  .result = result,
                                  .error = error};
    bool enqueues = args->kind == HF_REQUEST_ENQUEUE;
    enum hf_locked_section_answer answer;

    s.digest = hf_dir_name_format(args->queue, s.dir_name);
    hf_root_settings_path(root_dir->settings, s.dir_name, NULL, s.path);
    *result = (struct hf_locked_section_result){
        .ticket = args->ticket, .fifo = -1, .blocker_fifo = -1};
    result->listing = hf_listing_new(s.dir_name, scope_of(args));
    if (result->listing == NULL) {
        hf_error_set(error, HF_ENOMEM, "no memory to list %s", s.path);
        return HF_LOCKED_SECTION_FAILED;
    }
    answer = run_tries(&s);
    assert((answer == HF_LOCKED_SECTION_DONE && enqueues) ==
           (result->fifo >= 0));
    if (answer == HF_LOCKED_SECTION_DONE && enqueues)
        return answer;
    hf_listing_unref(result->listing);
    result->listing = NULL;
    if (answer == HF_LOCKED_SECTION_FAILED && lock_dir->fd >= 0)
        hf_lock_dir_remove_unused(root_dir, s.dir_name, lock_dir->fd);
    return answer;
}

enum hf_owner_liveness hf_ticket_file_probe(struct hf_descriptors *descriptors,
                                            const char *path, int *fifo,
                                            struct hf_error *error)
{
    int fd = hf_sys_open(path, WAITER_FLAGS, 0);
    enum hf_owner_liveness liveness = HF_OWNER_ALIVE;

    if (fifo != NULL)
        *fifo = -1;
    if (fd < 0 && errno == ENOENT)
        return HF_OWNER_DEAD;
    if (fd < 0 || !hf_descriptors_add(descriptors, fd)) {
        hf_error_set_errno(error, "open", path);
        return HF_OWNER_UNKNOWN;
    }
    if (hf_sys_flock(fd, LOCK_SH | LOCK_NB) == 0) {
        (void)hf_sys_flock(fd, LOCK_UN);
        liveness = HF_OWNER_DEAD;
    } else if (errno != EWOULDBLOCK) {
        hf_error_set_errno(error, "test", path);
        liveness = HF_OWNER_UNKNOWN;
    }
    if (liveness == HF_OWNER_ALIVE && fifo != NULL)
        *fifo = fd;
    else
        hf_descriptors_close(descriptors, &fd);
    return liveness;
}

hf_status hf_ticket_file_remove_fifo(const struct hf_root_settings *settings,
                                     const char *dir_name,
                                     const struct hf_ticket *ticket,
                                     bool *found, struct hf_error *error)
{
    char file[HF_TICKET_FILE_BYTES];
    char path[HF_PATH_BYTES];

    hf_ticket_file_format(ticket, file);
    hf_root_settings_path(settings, dir_name, file, path);
    *found = hf_sys_unlink(path) == 0;
    if (*found || errno == ENOENT)
        return HF_OK;
    return hf_error_set_errno(error, "remove", path);
}

void hf_ticket_file_remove_payload(const struct hf_root_settings *settings,
                                   const char *dir_name,
                                   const struct hf_ticket *ticket)
{
    char file[HF_PAYLOAD_FILE_BYTES];
    char path[HF_PATH_BYTES];

    hf_payload_file_format(ticket, file);
    hf_root_settings_path(settings, dir_name, file, path);
    (void)hf_sys_unlink(path);
}

hf_status hf_ticket_file_remove(const struct hf_root_settings *settings,
                                const char *dir_name,
                                const struct hf_ticket *ticket, bool *found,
                                struct hf_error *error)
{
    hf_status status =
        hf_ticket_file_remove_fifo(settings, dir_name, ticket, found, error);

    if (status == HF_OK)
        hf_ticket_file_remove_payload(settings, dir_name, ticket);
    return status;
}

static bool is_same_dir(int dir, const char *path)
{
    struct stat open_one, at_path;

    return hf_sys_fstat(dir, &open_one) == 0 &&
           hf_sys_lstat(path, &at_path) == 0 &&
           open_one.st_dev == at_path.st_dev &&
           open_one.st_ino == at_path.st_ino;
}

/* Under the directory's lock: remove what only the dead have left.  False if
 * somebody alive has a ticket, or it cannot be told. */
static bool remove_dead(struct hf_root_dir *root_dir,
                        struct hf_listing *listing, int dir)
{
    const struct hf_root_settings *settings = root_dir->settings;
    char file[HF_TICKET_FILE_BYTES];
    char path[HF_PATH_BYTES];
    struct hf_error unused;
    bool found;

    if (hf_listing_read(listing, dir, listing->dir_name, NULL, &unused) !=
        HF_OK)
        return false;
    while (listing->tickets.count > 0) {
        hf_ticket_file_format(listing->tickets.items, file);
        hf_root_settings_path(settings, listing->dir_name, file, path);
        if (hf_ticket_file_probe(root_dir->descriptors, path, NULL, &unused) !=
                HF_OWNER_DEAD ||
            hf_ticket_file_remove(settings, listing->dir_name,
                                  listing->tickets.items, &found,
                                  &unused) != HF_OK)
            return false;
        hf_listing_drop(listing, 0);
    }
    hf_listing_remove_orphans(listing, dir);
    (void)hf_sys_unlinkat(dir, HF_NEW_FILE);
    (void)hf_sys_unlinkat(dir, HF_NAME_FILE);
    return true;
}

void hf_lock_dir_remove_unused(struct hf_root_dir *root_dir,
                               const char *dir_name, int dir)
{
    char path[HF_PATH_BYTES];
    struct hf_listing *listing;

    if (hf_sys_flock(dir, LOCK_EX | LOCK_NB) != 0)
        return; /* somebody is at work in it */
    hf_root_settings_path(root_dir->settings, dir_name, NULL, path);
    /* Not another one that has come to be at the path since. */
    if (is_same_dir(dir, path) && hf_sys_rmdir(path) != 0 &&
        errno == ENOTEMPTY) {
        listing = hf_listing_new(dir_name, HF_LISTING_ALL);
        if (listing != NULL && remove_dead(root_dir, listing, dir))
            (void)hf_sys_rmdir(path);
        hf_listing_unref(listing);
    }
    unlock(root_dir, dir_name, dir, false);
}
