/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See token_counter_file.h.  The file is checked when it is opened: who owns
 * it, and that it is a counter.
 */
#include "engines/file/token_counter_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "engines/file/syscalls.h"
#include "engines/file/token_counter.h"

/* -------------------------------------------------------------- the page -- */

/* No counter reaches this value: 2^63 numbers, at a million a second, last
 * three hundred thousand years.  A greater value means that the file is
 * damaged. */
#define VALUE_MAX (UINT64_MAX / 2)

/* The size of the part of a copied page that is shared by the file, under its
 * lock. */
#define SHARED_BYTES offsetof(struct hf_file_token_counter_page, renames)
#define RENAMED_AT ((off_t)offsetof(struct hf_file_token_counter_page, renamed))

/* How often .renamed is read again because it was only half written. */
#define READS 64

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "the counter is shared memory");
_Static_assert(sizeof(struct hf_file_token_counter_page) <=
                   HF_TOKEN_COUNTER_BYTES,
               "one page");

struct hf_file_token_counter_page *
hf_file_token_counter_page_new(int fd, enum hf_file_counter_access access)
{
    void *page;

    if (access == HF_COUNTER_COPIED) {
        errno = ENOMEM;
        return hf_alloc(HF_TOKEN_COUNTER_BYTES);
    }
    page = hf_file_sys_map(fd, HF_TOKEN_COUNTER_BYTES);
    return page == MAP_FAILED ? NULL : page;
}

void hf_file_token_counter_page_free(struct hf_file_token_counter_page *page,
                                     enum hf_file_counter_access access)
{
    if (access == HF_COUNTER_COPIED)
        hf_free(page);
    else if (page != NULL)
        (void)munmap(page, HF_TOKEN_COUNTER_BYTES);
}

bool hf_file_token_counter_page_is_sound(
    const struct hf_file_token_counter_page *page)
{
    return atomic_load_explicit(&page->magic, memory_order_acquire) ==
               HF_TOKEN_COUNTER_MAGIC &&
           page->version >= HF_COUNTER_MAPPED &&
           page->version <= HF_COUNTER_COPIED &&
           atomic_load(&page->value) <= VALUE_MAX &&
           atomic_load(&page->limit) <= VALUE_MAX;
}

bool hf_file_token_counter_page_is_ready(
    const struct hf_file_token_counter_page *page,
    enum hf_file_counter_access access, const struct hf_ticket_id *boot)
{
    static const struct hf_ticket_id unknown;

    return hf_file_token_counter_page_is_sound(page) &&
           page->version == access && !hf_ticket_id_equal(boot, &unknown) &&
           memcmp(page->boot, boot->bytes, sizeof(page->boot)) == 0;
}

hf_status
hf_file_token_counter_page_load(struct hf_file_token_counter_page *page, int fd,
                                const char *path, struct hf_error *error)
{
    ssize_t got = hf_file_sys_pread(fd, page, SHARED_BYTES, 0);

    if (got < 0)
        return hf_file_error_set_errno(error, "read", path);
    if (got < (ssize_t)SHARED_BYTES)
        memset(page, 0, SHARED_BYTES);
    return HF_OK;
}

/* Write ${bytes} at ${data} to the file, at ${at}. */
static hf_status write_at(int fd, const void *data, size_t bytes, off_t at,
                          const char *path, struct hf_error *error)
{
    ssize_t wrote = hf_file_sys_pwrite(fd, data, bytes, at);

    if (wrote == (ssize_t)bytes)
        return HF_OK;
    return wrote < 0 ? hf_file_error_set_errno(error, "write", path)
                     : hf_error_set(error, HF_EFULL,
                                    "%s could be written in part only; is its "
                                    "filesystem full?",
                                    path);
}

hf_status
hf_file_token_counter_page_store(const struct hf_file_token_counter_page *page,
                                 int fd, const char *path,
                                 struct hf_error *error)
{
    return write_at(fd, page, SHARED_BYTES, 0, path, error);
}

hf_status hf_file_token_counter_page_store_all(
    const struct hf_file_token_counter_page *page, int fd, const char *path,
    struct hf_error *error)
{
    return write_at(fd, page, HF_TOKEN_COUNTER_BYTES, 0, path, error);
}

/* Write .renamed of a copied page to the file ${fd}, called ${path}, without
 * its lock. */
static hf_status set_renamed(int fd, uint64_t number, const char *path,
                             struct hf_error *error)
{
    const uint64_t renamed[2] = {number, number};

    return write_at(fd, renamed, sizeof(renamed), RENAMED_AT, path, error);
}

/* Read .renamed.  Writes exclude each other, and each goes from its first byte
 * to its last.  So if a reader meets a write halfway, the two words differ.
 * Returns 0 if the file is too short, or if it is being written again and
 * again. */
static uint64_t read_renamed(int fd)
{
    uint64_t renamed[2];

    for (unsigned i = 0; i < READS; i++) {
        if (hf_file_sys_pread(fd, renamed, sizeof(renamed), RENAMED_AT) !=
            (ssize_t)sizeof(renamed))
            return 0;
        if (renamed[0] == renamed[1])
            return renamed[0];
    }
    return 0;
}

/* ------------------------------------------- what processes leave there -- */

hf_status
hf_file_token_counter_note_rename(struct hf_file_token_counter *counter,
                                  uint64_t number, const char *path,
                                  struct hf_error *error)
{
    if (counter->access == HF_COUNTER_COPIED)
        return set_renamed(counter->fd, number, path, error);
    (void)atomic_fetch_add(&counter->page->renames, 1);
    return HF_OK;
}

uint64_t
hf_file_token_counter_renames(const struct hf_file_token_counter *counter)
{
    return counter->access == HF_COUNTER_COPIED
               ? read_renamed(counter->fd)
               : atomic_load(&counter->page->renames);
}

void hf_file_token_counter_note_head(struct hf_file_token_counter *counter,
                                     uint64_t number)
{
    atomic_store(&counter->page->heads[number % HF_TOKEN_COUNTER_HEADS],
                 number);
}

bool hf_file_token_counter_was_head(const struct hf_file_token_counter *counter,
                                    uint64_t number)
{
    return atomic_load(
               &counter->page->heads[number % HF_TOKEN_COUNTER_HEADS]) ==
           number;
}

_Atomic uint32_t *
hf_file_token_counter_futex(struct hf_file_token_counter *counter,
                            const char *dir_name)
{
    if (counter->access == HF_COUNTER_COPIED)
        return NULL;
    return &counter->page
                ->futexes[hf_hash_text(dir_name) % HF_TOKEN_COUNTER_FUTEXES];
}

/* -------------------------------------------------------------- the file -- */

#define FILE_FLAGS (O_RDWR | O_NOFOLLOW | O_NONBLOCK)

/* Open the file, or make it.  It is first opened without O_CREAT, because with
 * O_CREAT fs.protected_regular would refuse the counter of another user in a
 * sticky directory. */
static int open_or_make(int root, const char *name, mode_t mode, bool *made)
{
    int fd = hf_file_sys_openat(root, name, FILE_FLAGS, 0);

    *made = false;
    if (fd < 0 && errno == ENOENT) {
        fd =
            hf_file_sys_openat(root, name, FILE_FLAGS | O_CREAT | O_EXCL, mode);
        *made = fd >= 0;
    }
    if (fd < 0 && errno == EEXIST) /* another process has made it */
        fd = hf_file_sys_openat(root, name, FILE_FLAGS, 0);
    return fd;
}

/* Check that the file is a counter, or one that is being made: its first words
 * are zeros until it is complete.  In a shared root others may have moved a
 * file of ours to this name, which must not be overwritten. */
static hf_status check_content(const struct hf_file_token_counter *counter,
                               const struct stat *status, const char *path,
                               struct hf_error *error)
{
    struct hf_file_token_counter_page first;
    const size_t bytes = offsetof(struct hf_file_token_counter_page, boot);

    if (counter->policy->sharing == HF_SHARING_NONE)
        return HF_OK;
    memset(&first, 0, sizeof(first));
    if (hf_file_sys_pread(counter->fd, &first, bytes, 0) < 0)
        return hf_file_error_set_errno(error, "read", path);
    if (status->st_size <= HF_TOKEN_COUNTER_BYTES && first.unused == 0 &&
        (atomic_load(&first.magic) == HF_TOKEN_COUNTER_MAGIC ||
         (atomic_load(&first.magic) == 0 &&
          first.version <= HF_COUNTER_COPIED)))
        return HF_OK;
    return hf_error_set(error, HF_EDIR,
                        "%s is no counter of holdfast, and somebody who shares "
                        "the directory may have put it there; expected a file "
                        "of %d bytes that holdfast has made: move it away",
                        path, HF_TOKEN_COUNTER_BYTES);
}

/* Give the file that we have just made the mode ${mode}, some bits of which the
 * umask has removed. */
static hf_status set_mode(struct hf_file_token_counter *counter,
                          const char *path, mode_t mode, struct hf_error *error)
{
    return hf_file_sys_fchmod(counter->fd, mode) == 0
               ? HF_OK
               : hf_file_error_set_errno(error, "set the mode of", path);
}

hf_status hf_file_token_counter_file_open(struct hf_file_token_counter *counter,
                                          int root, const char *path,
                                          mode_t mode, bool shared,
                                          struct stat *status,
                                          struct hf_error *error)
{
    hf_status checked;
    bool made;

    counter->fd = open_or_make(root, strrchr(path, '/') + 1, mode, &made);
    if (counter->fd < 0)
        return hf_file_error_set_errno(error, "open", path);
    if (!hf_file_descriptors_add(counter->descriptors, counter->fd)) {
        counter->fd = -1;
        return hf_file_error_set_errno(error, "open", path);
    }
    if (hf_file_sys_fstat(counter->fd, status) != 0)
        return hf_file_error_set_errno(error, "examine", path);
    checked =
        hf_file_safe_path_check_file(counter->policy, status, path, error);
    if (checked == HF_OK)
        checked = hf_file_safe_path_check_readers(counter->policy, status, path,
                                                  error);
    if (checked == HF_OK)
        checked = check_content(counter, status, path, error);
    if (checked == HF_OK && made && shared)
        checked = set_mode(counter, path, mode, error);
    counter->device = status->st_dev;
    counter->inode = status->st_ino;
    return checked;
}
