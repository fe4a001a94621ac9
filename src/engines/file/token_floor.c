/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The token floor: a number in a small file, which is replaced under the lock
 * of its directory and synced before it counts.
 */
#include "engines/file/token_floor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "engines/file/safe_path.h"
#include "engines/file/syscalls.h"
#include "engines/file/timed_flock.h"

#define FLOOR_FILE "floor"
#define NEW_FLOOR_FILE ".floor.new"
#define LINE_BYTES 21 /* twenty digits and a newline */

void hf_file_token_floor_default(char dir[HF_TOKEN_FLOOR_DIR_BYTES])
{
    if (geteuid() == 0)
        (void)snprintf(dir, HF_TOKEN_FLOOR_DIR_BYTES, "/var/lib/holdfast");
    else
        (void)snprintf(dir, HF_TOKEN_FLOOR_DIR_BYTES, "/var/tmp/holdfast-%u",
                       (unsigned)geteuid());
}

/* A floor belongs to one user, also where the root directory is shared. */
static const struct hf_file_path_policy policy = {
    .sharing = HF_SHARING_NONE,
    .remedy = "name another directory with ?state=",
};

/* May the open directory be used? */
static hf_status check_dir(int fd, const char *dir, struct hf_error *error)
{
    struct stat status;

    if (hf_file_sys_fstat(fd, &status) != 0)
        return hf_file_error_set_errno(error, "examine", dir);
    return hf_file_safe_path_check(&policy, &status, dir, error);
}

/* Open DIR.  If it is missing, ${make} it, or else HF_EGONE. */
static hf_status open_dir(const char *dir, bool make, int *fd,
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
    if (status != HF_OK && *fd >= 0)
        (void)close(*fd);
    return status;
}

/* May the open file be used? */
static hf_status check_file(int fd, const char *dir, struct hf_error *error)
{
    char path[HF_TOKEN_FLOOR_DIR_BYTES + sizeof("/" FLOOR_FILE)];
    struct stat status;

    (void)snprintf(path, sizeof(path), "%s/" FLOOR_FILE, dir);
    if (hf_file_sys_fstat(fd, &status) != 0)
        return hf_file_error_set_errno(error, "examine", path);
    return hf_file_safe_path_check_file(&policy, &status, path, error);
}

/* Read the open file.  ${value} stays 0 if its text makes no sense. */
static hf_status read_file(int fd, const char *path, uint64_t *value,
                           struct hf_error *error)
{
    char line[LINE_BYTES + 1] = {0};
    hf_status status = check_file(fd, path, error);
    ssize_t got;

    if (status != HF_OK)
        return status;
    got = hf_file_sys_pread(fd, line, LINE_BYTES, 0);
    if (got < 0)
        return hf_file_error_set_errno(error, "read " FLOOR_FILE " in", path);
    if (got == LINE_BYTES && line[LINE_BYTES - 1] == '\n' &&
        strspn(line, "0123456789") == LINE_BYTES - 1)
        (void)sscanf(line, "%" SCNu64, value);
    return HF_OK;
}

/* Before there is a floor in the directory nothing is known of it.  Perhaps it
 * was made just now, and its own name is not on the disk. */
static hf_status sync_parent(int dir, const char *path, struct hf_error *error)
{
    int parent = hf_file_sys_openat(dir, "..", O_RDONLY | O_DIRECTORY, 0);
    hf_status status = HF_OK;

    if (parent < 0)
        return hf_file_error_set_errno(error, "open the parent of", path);
    if (hf_file_sys_fsync(parent) != 0)
        status = hf_file_error_set_errno(error, "sync the parent of", path);
    (void)close(parent);
    return status;
}

/* Read the floor: 0 if there is none, or none that makes sense.  One that
 * cannot be read just now is an error, because it must not be taken for none.
 */
static hf_status read_floor(int dir, const char *path, uint64_t *value,
                            struct hf_error *error)
{
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
    int fd = hf_file_sys_openat(dir, FLOOR_FILE, flags, 0);
    hf_status status;

    *value = 0;
    if (fd < 0 && errno == ENOENT)
        return sync_parent(dir, path, error);
    if (fd < 0)
        return hf_file_error_set_errno(error, "read " FLOOR_FILE " in", path);
    status = read_file(fd, path, value, error);
    (void)close(fd);
    return status;
}

/* Write ${line} to the file of the temporary name and sync it.  We have the
 * lock of the directory, so a file of that name was left by a dead process.  0,
 * or -1 with errno. */
static int write_synced(int dir, const char *line)
{
    int failed;
    int number;
    int fd;

    (void)hf_file_sys_unlinkat(dir, NEW_FLOOR_FILE);
    fd = hf_file_sys_openat(dir, NEW_FLOOR_FILE, O_WRONLY | O_CREAT | O_EXCL,
                            0600);
    if (fd < 0)
        return -1;
    failed = hf_file_sys_pwrite(fd, line, LINE_BYTES, 0) != LINE_BYTES ||
             hf_file_sys_fdatasync(fd) != 0;
    number = errno;
    (void)close(fd);
    errno = number;
    return failed ? -1 : 0;
}

/* Put a new floor in the place of the old one.  The order makes it durable: the
 * data is synced before the name, and the name before anybody hands out a
 * number. */
static hf_status write_floor(int dir, const char *path, uint64_t value,
                             struct hf_error *error)
{
    char line[LINE_BYTES + 1];
    hf_status status;

    (void)snprintf(line, sizeof(line), "%020" PRIu64 "\n", value);
    if (write_synced(dir, line) == 0 &&
        hf_file_sys_renameat(dir, NEW_FLOOR_FILE, FLOOR_FILE) == 0 &&
        hf_file_sys_fsync(dir) == 0)
        return HF_OK;
    status = hf_file_error_set_errno(error, "write " FLOOR_FILE " in", path);
    (void)hf_file_sys_unlinkat(dir, NEW_FLOOR_FILE);
    return status;
}

/* Raise the floor by ${count} above the greater of itself and ${start}, which
 * becomes that maximum.  We have the lock of the directory. */
static hf_status reserve_locked(int fd, const char *dir, uint64_t count,
                                uint64_t *start, struct hf_error *error)
{
    uint64_t floor;
    hf_status status = read_floor(fd, dir, &floor, error);

    if (status != HF_OK)
        return status;
    if (floor > *start)
        *start = floor;
    return write_floor(fd, dir, *start + count, error);
}

hf_status hf_file_token_floor_reserve(const char *dir, uint64_t above,
                                      uint64_t count, uint64_t *start,
                                      struct hf_error *error)
{
    int fd;
    hf_status status;

    *start = above;
    status = open_dir(dir, true, &fd, error);
    if (status != HF_OK)
        return status;
    /* The lock ends with the descriptor.  A child that is forked meanwhile may
     * keep it until its exec or exit, so others wait with a timeout. */
    if (hf_file_flock_lock(fd, dir, HF_FLOCK_WAIT_TIMEOUT, NULL, NULL, error) ==
        HF_FLOCK_TAKEN)
        status = reserve_locked(fd, dir, count, start, error);
    else
        status = error->status;
    (void)close(fd);
    return status;
}

/* The times of the directory count, too, for those who remove empty ones. */
hf_status hf_file_token_floor_keep(const char *dir)
{
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
    struct hf_error error;
    hf_status status;
    int fd, floor;

    status = open_dir(dir, false, &fd, &error);
    if (status != HF_OK)
        return status;
    floor = hf_file_sys_openat(fd, FLOOR_FILE, flags, 0);
    if (floor < 0)
        status = errno == ENOENT ? HF_EGONE : HF_EDIR;
    else
        status = check_file(floor, dir, &error);
    if (status == HF_OK &&
        (hf_file_sys_touch_open(floor) != 0 || hf_file_sys_touch_open(fd) != 0))
        status = HF_EDENIED;
    if (floor >= 0)
        (void)close(floor);
    (void)close(fd);
    return status;
}
