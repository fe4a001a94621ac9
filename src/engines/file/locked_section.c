/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame of a locked section: opens and locks the directory, calls the
 * function that does the work, and unlocks.  If somebody removes the directory
 * meanwhile, tries again.
 */
#include "engines/file/locked_section.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/error.h"
#include "engines/file/listing.h"
#include "engines/file/locked_section_work.h"
#include "engines/file/syscalls.h"

/* How often the directory may be removed or replaced between the open and the
 * lock.  Each time somebody has left the queue of the lock empty meanwhile. */
#define TRIES 64

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW)

/* Release the flock() of the directory, which stays open. */
static void unlock(struct hf_file_locked_section *s)
{
    hf_file_lock_dir_unlock(s->root_dir, s->args->dir_name, s->lock_dir->fd,
                            s->counter_current);
    s->counter_current = false;
}

static void unlock_and_close(struct hf_file_locked_section *s)
{
    unlock(s);
    hf_file_descriptors_close(s->root_dir->descriptors, &s->lock_dir->fd);
}

/* Make the directory if a ticket is to be added.  ${created} is false if it was
 * there. */
static enum hf_file_locked_section_answer
make_dir(struct hf_file_locked_section *s, bool *created)
{
    *created = false;
    if (s->args->kind != HF_REQUEST_ENQUEUE)
        return HF_LOCKED_SECTION_DONE;
    *created = hf_file_sys_mkdir(s->path, s->root_dir->settings->dir_mode) == 0;
    if (!*created && errno == ENOENT)
        return HF_LOCKED_SECTION_STALE; /* ROOT/locks does not exist */
    if (!*created && errno != EEXIST)
        return hf_file_locked_section_fail(s, "create");
    return HF_LOCKED_SECTION_DONE;
}

/* Returns the answer if the directory does not exist.  An enqueue has just made
 * it, so somebody has removed it as unused: try again.  For any other section
 * it means that there are no tickets. */
static enum hf_file_locked_section_answer
answer_no_dir(const struct hf_file_locked_section *s)
{
    return s->args->kind == HF_REQUEST_ENQUEUE ? HF_LOCKED_SECTION_AGAIN
                                               : HF_LOCKED_SECTION_NO_DIR;
}

/* Open the directory and check who owns it. */
static enum hf_file_locked_section_answer
open_dir(struct hf_file_locked_section *s)
{
    const struct hf_file_root_settings *settings = s->root_dir->settings;
    struct hf_file_lock_dir *lock_dir = s->lock_dir;
    enum hf_file_locked_section_answer answer;
    struct stat status;
    bool created;

    answer = make_dir(s, &created);
    if (answer != HF_LOCKED_SECTION_DONE)
        return answer;
    lock_dir->fd = hf_file_sys_open(s->path, DIR_FLAGS, 0);
    if (lock_dir->fd < 0 && errno == ENOENT)
        return answer_no_dir(s);
    if (lock_dir->fd < 0 ||
        !hf_file_descriptors_add(s->root_dir->descriptors, lock_dir->fd)) {
        lock_dir->fd = -1;
        (void)hf_file_locked_section_fail(s, "open");
        if (created)
            (void)hf_file_sys_rmdir(s->path);
        return HF_LOCKED_SECTION_FAILED;
    }
    if (hf_file_sys_fstat(lock_dir->fd, &status) != 0)
        return hf_file_locked_section_fail(s, "examine");
    lock_dir->device = status.st_dev;
    lock_dir->inode = status.st_ino;
    if (created && settings->shared &&
        hf_file_root_dir_set_mode(lock_dir->fd, settings->dir_mode, s->path,
                                  s->error) != HF_OK)
        return HF_LOCKED_SECTION_FAILED;
    if (hf_file_safe_path_check(&s->root_dir->policy, &status, s->path,
                                s->error) == HF_OK)
        return HF_LOCKED_SECTION_DONE;
    /* close it, so that it is not used later without a check */
    hf_file_descriptors_close(s->root_dir->descriptors, &lock_dir->fd);
    return HF_LOCKED_SECTION_FAILED;
}

/* Returns whether the open directory is still the one at its path. */
static bool is_current(const struct hf_file_locked_section *s)
{
    struct stat status;

    return hf_file_sys_lstat(s->path, &status) == 0 &&
           status.st_dev == s->lock_dir->device &&
           status.st_ino == s->lock_dir->inode;
}

/* Take the flock() of the open directory, and wait for it as the arguments say.
 * The futex is in the page of the counter, which may be touched only while the
 * counter is current. */
static enum hf_file_flock_answer
wait_for_flock(struct hf_file_locked_section *s)
{
    struct hf_file_token_counter *counter = &s->root_dir->counter;
    const struct hf_file_locked_section_args *args = s->args;
    int fd = s->lock_dir->fd;
    _Atomic uint32_t *futex = NULL;

    if (hf_file_token_counter_is_current(counter,
                                         s->root_dir->settings->counter_path))
        futex = hf_file_token_counter_futex(counter, s->args->dir_name);
    return hf_file_flock_lock(fd, s->path, args->wait, futex, args->cancelled,
                              s->error);
}

/* Open the directory at the path and lock it.  It is locked after
 * HF_LOCKED_SECTION_DONE. */
static enum hf_file_locked_section_answer lock(struct hf_file_locked_section *s)
{
    enum hf_file_locked_section_answer answer;
    enum hf_file_flock_answer taken;

    if (s->lock_dir->fd < 0) {
        answer = open_dir(s);
        if (answer != HF_LOCKED_SECTION_DONE)
            return answer;
    }
    assert(s->lock_dir->fd >= 0);
    taken = s->args->wait == HF_FLOCK_WAIT_NONE
                ? hf_file_flock_try(s->lock_dir->fd, s->path, s->error)
                : wait_for_flock(s);
    switch (taken) {
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
    return HF_LOCKED_SECTION_AGAIN;
}

/* Lock the directory and do the work.  A failure counts only if the directory
 * is still at its path, because in a removed directory every call fails. */
static enum hf_file_locked_section_answer
run_once(struct hf_file_locked_section *s)
{
    enum hf_file_locked_section_answer answer = lock(s);

    if (answer != HF_LOCKED_SECTION_DONE)
        return answer;
    switch (s->args->kind) {
    case HF_REQUEST_NEW_GENERATION:
        answer = hf_file_locked_section_start_generation(s);
        break;
    case HF_REQUEST_CLEAR_FLAG:
        answer = hf_file_locked_section_clear_ready(s);
        break;
    case HF_REQUEST_READ_SUCCESS:
        answer = hf_file_locked_section_read_success(s);
        break;
    case HF_REQUEST_WRITE_SUCCESS:
        answer = hf_file_locked_section_write_success(s);
        break;
    default:
        assert(s->args->kind == HF_REQUEST_ENQUEUE);
        answer = hf_file_locked_section_enqueue(s);
    }
    if (answer == HF_LOCKED_SECTION_FAILED && !is_current(s)) {
        unlock_and_close(s); /* it was removed meanwhile */
        return HF_LOCKED_SECTION_AGAIN;
    }
    unlock(s);
    if (answer == HF_LOCKED_SECTION_DONE && s->args->kind == HF_REQUEST_ENQUEUE)
        return hf_file_locked_section_finish_enqueue(s);
    return answer;
}

/* Call run_once() until the directory stays at its path. */
static enum hf_file_locked_section_answer
run_tries(struct hf_file_locked_section *s)
{
    for (unsigned try = 0; try < TRIES; try++) {
        enum hf_file_locked_section_answer answer = run_once(s);

        if (answer == HF_LOCKED_SECTION_NO_DIR)
            return HF_LOCKED_SECTION_DONE;
        if (answer != HF_LOCKED_SECTION_AGAIN)
            return answer;
        assert(s->lock_dir->fd < 0);
    }
    if (s->args->wait == HF_FLOCK_WAIT_NONE)
        return HF_LOCKED_SECTION_BUSY;
    hf_error_set(s->error, HF_EDIR,
                 "%s was removed %d times while being opened; what does that?",
                 s->path, TRIES);
    return HF_LOCKED_SECTION_FAILED;
}

enum hf_file_locked_section_answer
hf_file_locked_section_run(struct hf_file_root_dir *root_dir,
                           const struct hf_file_locked_section_args *args,
                           struct hf_file_lock_dir *lock_dir,
                           struct hf_file_locked_section_result *result,
                           struct hf_error *error)
{
    struct hf_file_locked_section s = {.root_dir = root_dir,
                                       .args = args,
                                       .lock_dir = lock_dir,
                                       .result = result,
                                       .error = error};
    bool enqueues = args->kind == HF_REQUEST_ENQUEUE;
    enum hf_file_locked_section_answer answer;

    hf_file_root_settings_path(root_dir->settings, args->dir_name, NULL,
                               s.path);
    *result = (struct hf_file_locked_section_result){
        .ticket = args->ticket, .fifo = -1, .blocker_fifo = -1};
    result->listing = hf_file_listing_new(args->dir_name, args->scope);
    if (result->listing == NULL) {
        hf_error_set(error, HF_ENOMEM, "no memory to list %s", s.path);
        return HF_LOCKED_SECTION_FAILED;
    }
    answer = run_tries(&s);
    assert((answer == HF_LOCKED_SECTION_DONE && enqueues) ==
           (result->fifo >= 0));
    if (answer == HF_LOCKED_SECTION_DONE && enqueues)
        return answer;
    hf_file_listing_unref(result->listing);
    result->listing = NULL;
    if (answer == HF_LOCKED_SECTION_FAILED && lock_dir->fd >= 0)
        hf_file_lock_dir_remove_unused(root_dir, args->dir_name, lock_dir->fd);
    return answer;
}
