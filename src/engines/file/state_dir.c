/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory STATE, and small files in it.  A file is replaced while the
 * caller keeps other writers out by some lock.
 */
#include "engines/file/state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "engines/file/safe_path.h"
#include "engines/file/syscalls.h"

/* Room for the path of a file, or for its temporary name. */
#define FILE_PATH_BYTES                                                        \
    (HF_TOKEN_FLOOR_DIR_BYTES + HF_STATE_FILE_BYTES + sizeof("/"))
#define NEW_NAME_BYTES (HF_STATE_FILE_BYTES + sizeof("..new"))

/* The directory belongs to one user, even if the root directory is shared. */
static const struct hf_file_path_policy policy = {
    .sharing = HF_SHARING_NONE,
    .remedy = "name another directory with ?state=",
};

/* Check that the open directory may be used. */
static hf_status check_dir(int fd, const char *dir, struct hf_error *error)
{
    struct stat status;

    if (hf_file_sys_fstat(fd, &status) != 0)
        return hf_file_error_set_errno(error, "examine", dir);
    return hf_file_safe_path_check(&policy, &status, dir, error);
}

hf_status hf_file_state_dir_open(const char *dir, bool make, int *fd,
                                 struct hf_error *error)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
    struct stat unused;
    const char *what = "open";
    const char *name;
    hf_status status;
    int parent;

    *fd = -1;
    status = hf_file_safe_path_open_parent(dir, &parent, &unused, &name, error);
    if (status != HF_OK)
        return status;
    *fd = hf_file_sys_openat(parent, name, flags, 0);
    if (*fd < 0 && errno == ENOENT && !make) {
        (void)close(parent);
        return hf_error_set(error, HF_EGONE, "%s is not there", dir);
    }
    if (*fd < 0 && errno == ENOENT) {
        if (hf_file_sys_mkdirat(parent, name, 0700) == 0 || errno == EEXIST)
            *fd = hf_file_sys_openat(parent, name, flags, 0);
        else
            what = "create";
    }
    status = *fd < 0 ? hf_file_error_set_errno(error, what, dir)
                     : check_dir(*fd, dir, error);
    (void)close(parent);
    if (status != HF_OK && *fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
    return status;
}

hf_status hf_file_state_check(int fd, const char *dir, const char *name,
                              struct hf_error *error)
{
    char path[FILE_PATH_BYTES];
    struct stat status;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    if (hf_file_sys_fstat(fd, &status) != 0)
        return hf_file_error_set_errno(error, "examine", path);
    return hf_file_safe_path_check_file(&policy, &status, path, error);
}

/* Set ${error} from errno: cannot ${what} the file ${name} in ${dir}. */
static hf_status fail(struct hf_error *error, const char *what,
                      const char *name, const char *dir)
{
    char action[32 + HF_STATE_FILE_BYTES];
    int number = errno;

    (void)snprintf(action, sizeof(action), "%s %s in", what, name);
    errno = number;
    return hf_file_error_set_errno(error, action, dir);
}

hf_status hf_file_state_read(int dir, const char *path, const char *name,
                             char *text, size_t bytes, struct hf_error *error)
{
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
    int fd = hf_file_sys_openat(dir, name, flags, 0);
    hf_status status;
    ssize_t got;

    text[0] = '\0';
    if (fd < 0 && errno == ENOENT)
        return hf_error_set(error, HF_EGONE, "%s is not in %s", name, path);
    if (fd < 0)
        return fail(error, "read", name, path);
    status = hf_file_state_check(fd, path, name, error);
    if (status == HF_OK) {
        got = hf_file_sys_pread(fd, text, bytes - 1, 0);
        text[got > 0 ? got : 0] = '\0';
        if (got < 0)
            status = fail(error, "read", name, path);
    }
    (void)close(fd);
    return status;
}

/* Write ${text} to the file ${new_name} and sync it.  Nobody else writes, so if
 * a file with that name exists, a dead process has left it.  Returns 0, or -1
 * with errno. */
static int write_synced(int dir, const char *new_name, const char *text)
{
    size_t bytes = strlen(text);
    ssize_t wrote;
    int failed;
    int number;
    int fd;

    (void)hf_file_sys_unlinkat(dir, new_name);
    fd = hf_file_sys_openat(dir, new_name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return -1;
    wrote = hf_file_sys_pwrite(fd, text, bytes, 0);
    if (wrote >= 0 && wrote < (ssize_t)bytes)
        errno = ENOSPC; /* a partial write sets no errno */
    failed = wrote != (ssize_t)bytes || hf_file_sys_fdatasync(fd) != 0;
    number = errno;
    (void)close(fd);
    errno = number;
    return failed ? -1 : 0;
}

/* The order of the steps makes the change durable: the data is synced before
 * the name, and the name before anybody relies on it. */
hf_status hf_file_state_write(int dir, const char *path, const char *name,
                              const char *text, struct hf_error *error)
{
    char new_name[NEW_NAME_BYTES];
    hf_status status;

    (void)snprintf(new_name, sizeof(new_name), ".%s.new", name);
    if (write_synced(dir, new_name, text) == 0 &&
        hf_file_sys_renameat(dir, new_name, name) == 0 &&
        hf_file_sys_fsync(dir) == 0)
        return HF_OK;
    status = fail(error, "write", name, path);
    (void)hf_file_sys_unlinkat(dir, new_name);
    return status;
}

/* ------------------------------------------------------------- the boot -- */

/* The kernel makes a random id for each boot. */
struct hf_ticket_id hf_file_boot(void)
{
    struct hf_ticket_id boot = {{0}};
    char text[HF_TICKET_ID_TEXT_BYTES - 1];
    int fd = hf_file_sys_open("/proc/sys/kernel/random/boot_id", O_RDONLY, 0);

    if (fd < 0)
        return boot;
    if (hf_file_sys_pread(fd, text, sizeof(text), 0) != (ssize_t)sizeof(text) ||
        !hf_ticket_id_parse(&boot, text, sizeof(text)))
        memset(&boot, 0, sizeof(boot));
    (void)close(fd);
    return boot;
}
