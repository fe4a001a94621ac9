/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See token_counter.h.  Makes the page complete; then takes numbers from it,
 * with atomic operations on the mapped page or under the lock of the file.
 */
#include "engines/file/token_counter.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "core/ticket.h"
#include "engines/file/state_dir.h"
#include "engines/file/syscalls.h"
#include "engines/file/token_counter_file.h"

/* Tokens depend on the wall clock only here (docs/engine-file.md). */
static uint64_t wall_clock_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec < 0
               ? 0
               : (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Raise ${*number} to ${least} if it is lower. */
static void raise_to(_Atomic uint64_t *number, uint64_t least)
{
    uint64_t seen = atomic_load(number);

    while (seen < least && !atomic_compare_exchange_weak(number, &seen, least))
        continue;
}

/* Take the lock of the file, against other processes and against other threads
 * of this process. */
static enum hf_file_flock_answer
lock_file(struct hf_file_token_counter *counter, const char *path,
          enum hf_file_flock_wait wait, const atomic_bool *cancelled,
          struct hf_error *error)
{
    enum hf_file_flock_answer answer;

    if (wait != HF_FLOCK_WAIT_NONE)
        pthread_mutex_lock(&counter->threads);
    else if (pthread_mutex_trylock(&counter->threads) != 0)
        return HF_FLOCK_BUSY;
    answer = wait == HF_FLOCK_WAIT_NONE
                 ? hf_file_flock_try(counter->fd, path, error)
                 : hf_file_flock_lock(counter->fd, path, HF_FLOCK_WAIT_TIMEOUT,
                                      NULL, cancelled, error);
    if (answer != HF_FLOCK_TAKEN)
        pthread_mutex_unlock(&counter->threads);
    return answer;
}

static void unlock_file(struct hf_file_token_counter *counter)
{
    (void)hf_file_sys_flock(counter->fd, LOCK_UN);
    pthread_mutex_unlock(&counter->threads);
}

/* Write the page before it is mapped, because a store into a hole on a full
 * disk, or beyond the end, causes SIGBUS.  fallocate() is not used, because
 * ext2 and ext3 do not have it. */
static hf_status fill_page(struct hf_file_token_counter *counter,
                           const char *path, struct hf_error *error)
{
    static const char zeros[HF_TOKEN_COUNTER_BYTES];
    ssize_t wrote = hf_file_sys_pwrite(counter->fd, zeros, sizeof(zeros), 0);

    if (wrote == (ssize_t)sizeof(zeros))
        return HF_OK;
    if (wrote >= 0)
        errno = ENOSPC; /* a partial write sets no errno */
    return hf_file_error_set_errno(error, "write", path);
}

static hf_status get_page(struct hf_file_token_counter *counter,
                          const char *path, struct hf_error *error)
{
    counter->page =
        hf_file_token_counter_page_new(counter->fd, counter->access);
    return counter->page != NULL ? HF_OK
                                 : hf_file_error_set_errno(error, "map", path);
}

/* Reserve a block above ${above}.  If the floor cannot be written, and its
 * directory was not named by the user, go on without a floor and note why.  But
 * fail if descriptors or memory run out, because that passes and there may be a
 * floor. */
static hf_status reserve_block(struct hf_file_token_counter *counter,
                               uint64_t above, uint64_t *start,
                               struct hf_error *error)
{
    struct hf_error why;
    hf_status status = hf_file_token_floor_reserve(
        counter->state, above, HF_TOKEN_COUNTER_BLOCK, start, &why);

    if (status == HF_OK)
        return HF_OK;
    if (counter->state_required ||
        hf_status_class(status) == HF_CLASS_RESOURCE) {
        *error = why;
        return status;
    }
    if (!atomic_load(&counter->not_durable)) {
        counter->cause = why;
        atomic_store(&counter->not_durable, true);
    }
    return HF_OK;
}

/* Refuse a page of a later version.  Also refuse a page for the other way of
 * access, unless it is of an earlier boot, from which no process is left.  If
 * the boot is not known, it may be this one. */
static hf_status check_version(const struct hf_file_token_counter *counter,
                               const char *path,
                               const struct hf_ticket_id *boot,
                               struct hf_error *error)
{
    const struct hf_file_token_counter_page *page = counter->page;
    static const struct hf_ticket_id unknown;

    if (atomic_load(&page->magic) != HF_TOKEN_COUNTER_MAGIC)
        return HF_OK;
    if (page->version > HF_COUNTER_COPIED)
        return hf_error_set(error, HF_EDIR,
                            "%s has version %u, this holdfast knows %d; "
                            "upgrade it, or use another directory",
                            path, (unsigned)page->version, HF_COUNTER_COPIED);
    if (page->version == counter->access ||
        (!hf_ticket_id_equal(boot, &unknown) &&
         memcmp(page->boot, boot->bytes, sizeof(page->boot)) != 0))
        return HF_OK;
    return hf_error_set(error, HF_EDIR,
                        "%s was made with another ?mode=, or by an earlier "
                        "holdfast, so numbers are taken from it in another "
                        "way; expected one way for all: end all programs that "
                        "use the directory, remove the file, and name the same "
                        "?mode= everywhere",
                        path);
}

/* Make the page valid for this boot.  The caller holds the lock of the file. */
static hf_status init_page(struct hf_file_token_counter *counter,
                           const char *path, const struct hf_ticket_id *boot,
                           struct hf_error *error)
{
    struct hf_file_token_counter_page *page = counter->page;
    bool is_sound = hf_file_token_counter_page_is_sound(page);
    uint64_t above = wall_clock_us();
    uint64_t start;
    hf_status status = check_version(counter, path, boot, error);

    if (status != HF_OK)
        return status;
    if (is_sound && atomic_load(&page->value) > above)
        above = atomic_load(&page->value);
    status = reserve_block(counter, above, &start, error);
    if (status != HF_OK)
        return status;
    if (!is_sound) {
        atomic_store(&page->value, 0);
        atomic_store(&page->limit, 0);
    }
    /* in a damaged page the hints may be anything */
    for (size_t i = 0; i < HF_TOKEN_COUNTER_HEADS; i++)
        atomic_store(&page->heads[i], 0);
    /* Never lower them, because without a boot id this runs while others take
     * numbers. */
    raise_to(&page->limit, start + HF_TOKEN_COUNTER_BLOCK);
    raise_to(&page->value, start);
    page->version = counter->access;
    memcpy(page->boot, boot->bytes, sizeof(page->boot));
    atomic_store_explicit(&page->magic, HF_TOKEN_COUNTER_MAGIC,
                          memory_order_release);
    return HF_OK;
}

/* Read a copied page, and make it valid unless another process has done so.
 * The file may have been truncated after a rename.  So .renamed becomes a value
 * that is the number of no ticket and was not there before; a list that is
 * being read then is read again. */
static hf_status init_copied(struct hf_file_token_counter *counter,
                             const char *path, const struct hf_ticket_id *boot,
                             struct hf_error *error)
{
    struct hf_file_token_counter_page *page = counter->page;
    hf_status answer =
        hf_file_token_counter_page_load(page, counter->fd, path, error);

    if (answer != HF_OK ||
        hf_file_token_counter_page_is_ready(page, counter->access, boot))
        return answer;
    answer = init_page(counter, path, boot, error);
    if (answer != HF_OK)
        return answer;
    page->renamed[0] = page->renamed[1] = ~atomic_load(&page->value);
    return hf_file_token_counter_page_store_all(page, counter->fd, path, error);
}

/* Complete and map the file, and make its page valid for this boot, unless
 * another process has done so. */
static hf_status init_mapped(struct hf_file_token_counter *counter,
                             const char *path, const struct hf_ticket_id *boot,
                             struct hf_error *error)
{
    struct stat status;
    hf_status answer = HF_OK;

    if (hf_file_sys_fstat(counter->fd, &status) != 0)
        return hf_file_error_set_errno(error, "examine", path);
    if (status.st_size < HF_TOKEN_COUNTER_BYTES)
        answer = fill_page(counter, path, error);
    if (answer == HF_OK && counter->page == NULL)
        answer = get_page(counter, path, error);
    if (answer == HF_OK && !hf_file_token_counter_page_is_ready(
                               counter->page, counter->access, boot))
        answer = init_page(counter, path, boot, error);
    return answer;
}

/* Take the lock of the file and make its page valid for this boot. */
static hf_status init(struct hf_file_token_counter *counter, const char *path,
                      const struct hf_ticket_id *boot, struct hf_error *error)
{
    hf_status answer;

    if (lock_file(counter, path, HF_FLOCK_WAIT_TIMEOUT, NULL, error) !=
        HF_FLOCK_TAKEN)
        return error->status;
    answer = counter->access == HF_COUNTER_MAPPED
                 ? init_mapped(counter, path, boot, error)
                 : init_copied(counter, path, boot, error);
    unlock_file(counter);
    return answer;
}

/* Returns whether all reserved numbers are taken. */
static bool is_used_up(const struct hf_file_token_counter_page *page)
{
    return atomic_load(&page->value) >= atomic_load(&page->limit);
}

/* Get the page of the open file, and make it valid for this boot if it is
 * not. */
static hf_status open_page(struct hf_file_token_counter *counter,
                           const char *path, const struct stat *status,
                           struct hf_error *error)
{
    struct hf_ticket_id boot = hf_file_boot();
    hf_status answer = HF_OK;

    if (counter->access == HF_COUNTER_COPIED ||
        status->st_size >= HF_TOKEN_COUNTER_BYTES)
        answer = get_page(counter, path, error);
    if (answer == HF_OK && counter->access == HF_COUNTER_COPIED)
        answer = hf_file_token_counter_page_load(counter->page, counter->fd,
                                                 path, error);
    if (answer == HF_OK &&
        (counter->page == NULL || !hf_file_token_counter_page_is_ready(
                                      counter->page, counter->access, &boot)))
        answer = init(counter, path, &boot, error);
    return answer;
}

hf_status hf_file_token_counter_open(struct hf_file_token_counter *counter,
                                     int root, const char *path, mode_t mode,
                                     bool shared, struct hf_error *error)
{
    struct stat status;
    hf_status answer;

    counter->page = NULL;
    counter->access = counter->policy->sharing == HF_SHARING_NONE
                          ? HF_COUNTER_MAPPED
                          : HF_COUNTER_COPIED;
    answer = hf_file_token_counter_file_open(counter, root, path, mode, shared,
                                             &status, error);
    if (answer == HF_OK)
        answer = open_page(counter, path, &status, error);
    if (answer == HF_OK)
        answer = hf_file_token_counter_reserve(counter, path, error);
    if (answer != HF_OK)
        hf_file_token_counter_close(counter);
    return answer;
}

void hf_file_token_counter_close(struct hf_file_token_counter *counter)
{
    hf_file_token_counter_page_free(counter->page, counter->access);
    counter->page = NULL;
    hf_file_descriptors_close(counter->descriptors, &counter->fd);
}

bool hf_file_token_counter_is_current(
    const struct hf_file_token_counter *counter, const char *path)
{
    struct stat status;

    return hf_file_sys_lstat(path, &status) == 0 &&
           status.st_dev == counter->device &&
           status.st_ino == counter->inode &&
           (counter->access == HF_COUNTER_COPIED ||
            (status.st_size >= HF_TOKEN_COUNTER_BYTES &&
             (status.st_mode & (S_IWGRP | S_IWOTH)) == 0));
}

/* Take the next number of the page into ${number}.  Returns false if it would
 * be beyond the limit, or if the floor was not looked at for too long. */
static bool next(struct hf_file_token_counter *counter, uint64_t *number)
{
    struct hf_file_token_counter_page *page = counter->page;
    uint64_t last = atomic_load(&page->value);

    if (hf_file_flock_now_ms() >= atomic_load(&counter->look_again_ms))
        return false;
    /* The exchange fails if another process took a number meanwhile, so no
     * number beyond the limit is ever taken.  The limit only rises. */
    do {
        if (last >= atomic_load(&page->limit))
            return false;
    } while (!atomic_compare_exchange_weak(&page->value, &last, last + 1));
    *number = last + 1;
    return true;
}

/* Returns whether the page that was read is no longer a counter.  Others may
 * have truncated the file or written anything into it. */
static bool is_damaged(const struct hf_file_token_counter *counter)
{
    return !hf_file_token_counter_page_is_sound(counter->page) ||
           counter->page->version != counter->access;
}

/* Take a number while the caller holds the lock of the file.  It counts only
 * when it is written. */
static enum hf_file_token_counter_answer
take_locked(struct hf_file_token_counter *counter, const char *path,
            uint64_t *number, struct hf_error *error)
{
    struct hf_file_token_counter_page *page = counter->page;

    if (!hf_file_token_counter_is_current(counter, path))
        return HF_TOKEN_COUNTER_STALE;
    if (hf_file_token_counter_page_load(page, counter->fd, path, error) !=
        HF_OK)
        return HF_TOKEN_COUNTER_FAILED;
    if (is_damaged(counter))
        return HF_TOKEN_COUNTER_STALE;
    if (!next(counter, number))
        return HF_TOKEN_COUNTER_USED_UP;
    return hf_file_token_counter_page_store(page, counter->fd, path, error) ==
                   HF_OK
               ? HF_TOKEN_COUNTER_TAKEN
               : HF_TOKEN_COUNTER_FAILED;
}

enum hf_file_token_counter_answer
hf_file_token_counter_take(struct hf_file_token_counter *counter,
                           const char *path, enum hf_file_flock_wait wait,
                           const atomic_bool *cancelled, uint64_t *number,
                           struct hf_error *error)
{
    enum hf_file_token_counter_answer answer;

    if (counter->access == HF_COUNTER_MAPPED) {
        if (!hf_file_token_counter_is_current(counter, path))
            return HF_TOKEN_COUNTER_STALE;
        return next(counter, number) ? HF_TOKEN_COUNTER_TAKEN
                                     : HF_TOKEN_COUNTER_USED_UP;
    }
    switch (lock_file(counter, path, wait, cancelled, error)) {
    case HF_FLOCK_BUSY:
        return HF_TOKEN_COUNTER_BUSY;
    case HF_FLOCK_FAILED:
        return HF_TOKEN_COUNTER_FAILED;
    case HF_FLOCK_TAKEN:
        break;
    }
    answer = take_locked(counter, path, number, error);
    unlock_file(counter);
    return answer;
}

/* Make the floor again, which a program that cleans up temporary files has
 * removed, above all numbers that may be in use.  That also reserves a block
 * and raises the limit.  If it cannot be made, numbers go on up to the present
 * limit, as if there had never been a floor; with .state_required this is a
 * failure. */
static hf_status make_floor_again(struct hf_file_token_counter *counter,
                                  struct hf_error *error)
{
    struct hf_file_token_counter_page *page = counter->page;
    uint64_t start;
    hf_status status =
        hf_file_token_floor_reserve(counter->state, atomic_load(&page->limit),
                                    HF_TOKEN_COUNTER_BLOCK, &start, error);

    if (status == HF_OK)
        raise_to(&page->limit, start + HF_TOKEN_COUNTER_BLOCK);
    return counter->state_required ? status : HF_OK;
}

/* Reserve a block if the last one is used up.  ${is_gone}: the floor was gone;
 * if it is still gone now, make it again (make_floor_again()).  The caller
 * holds the lock of the file. */
static hf_status reserve_in_page(struct hf_file_token_counter *counter,
                                 bool is_gone, struct hf_error *error)
{
    struct hf_file_token_counter_page *page = counter->page;
    hf_status status = HF_OK;
    uint64_t start;

    if (is_used_up(page)) {
        status =
            reserve_block(counter, atomic_load(&page->value), &start, error);
        if (status == HF_OK)
            raise_to(&page->limit, start + HF_TOKEN_COUNTER_BLOCK);
    }
    if (status == HF_OK && is_gone &&
        hf_file_token_floor_keep(counter->state) == HF_EGONE)
        status = make_floor_again(counter, error);
    return status;
}

/* The same; a copied page is read before and written afterwards. */
static hf_status reserve_locked(struct hf_file_token_counter *counter,
                                const char *path, bool is_gone,
                                struct hf_error *error)
{
    struct hf_file_token_counter_page *page = counter->page;
    hf_status status;

    if (counter->access == HF_COUNTER_MAPPED)
        return reserve_in_page(counter, is_gone, error);
    status = hf_file_token_counter_page_load(page, counter->fd, path, error);
    if (status != HF_OK || is_damaged(counter))
        return status;
    status = reserve_in_page(counter, is_gone, error);
    if (status == HF_OK)
        status =
            hf_file_token_counter_page_store(page, counter->fd, path, error);
    return status;
}

hf_status hf_file_token_counter_reserve(struct hf_file_token_counter *counter,
                                        const char *path,
                                        struct hf_error *error)
{
    bool is_gone = hf_file_token_floor_keep(counter->state) == HF_EGONE;
    hf_status answer;

    atomic_store(&counter->look_again_ms,
                 hf_file_flock_now_ms() + HF_TOKEN_COUNTER_LOOK_EVERY_MS);
    if (!is_gone && counter->access == HF_COUNTER_MAPPED &&
        !is_used_up(counter->page))
        return HF_OK;
    if (lock_file(counter, path, HF_FLOCK_WAIT_TIMEOUT, NULL, error) !=
        HF_FLOCK_TAKEN)
        return error->status;
    answer = reserve_locked(counter, path, is_gone, error);
    unlock_file(counter);
    return answer;
}
