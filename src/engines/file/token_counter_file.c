/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See token_counter_file.h.
 */
#include "engines/file/token_counter_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "engines/file/errno_error.h"
#include "engines/file/syscalls.h"

#define FILE_FLAGS (O_RDWR | O_NOFOLLOW | O_NONBLOCK)

/* Open the file, or make it.  First without O_CREAT: with it,
 * fs.protected_regular would refuse the counter of another user in a sticky
 * directory. */
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

/* Is the file a counter, or one that is being made?  Its first words say so:
 * zeros until it is complete.  In a shared root others may have moved a file of
 * ours to this name, and it must not be overwritten. */
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

/* Give the file that we have just made the mode that the umask has taken from
 * it. */
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
