/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/file/floor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"
#include "engines/file/patience.h"
#include "engines/file/sys.h"
#include "engines/file/trouble.h"

#define FLOOR_FILE "floor"
#define NEW_FLOOR_FILE ".floor.new"
#define LINE_BYTES 21 /* twenty digits and a newline */

void hf_floor_default(char dir[HF_FLOOR_BYTES])
{
    if (geteuid() == 0)
        (void)snprintf(dir, HF_FLOOR_BYTES, "/var/lib/holdfast");
    else
        (void)snprintf(dir, HF_FLOOR_BYTES, "/var/tmp/holdfast-%u",
                       (unsigned)geteuid());
}

static hf_status check_dir(int fd, const char *dir, struct hf_error *error)
{
    struct stat status;

    if (hf_sys_fstat(fd, &status) != 0)
        return hf_trouble(error, "examine", dir);
    if (status.st_uid != geteuid())
        return hf_error_set(error, HF_EDENIED,
                            "%s belongs to user %u, not to user %u; name "
                            "another directory with ?state=",
                            dir, (unsigned)status.st_uid, (unsigned)geteuid());
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return hf_error_set(error, HF_EDENIED,
                            "%s can be written by others (mode %04o); expected "
                            "0700: chmod it",
                            dir, (unsigned)status.st_mode & 07777);
    return HF_OK;
}

static hf_status open_dir(const char *dir, int *fd, struct hf_error *error)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
    hf_status status;

    *fd = hf_sys_open(dir, flags, 0);
    if (*fd < 0 && errno == ENOENT) {
        if (hf_sys_mkdir(dir, 0700) != 0 && errno != EEXIST)
            return hf_trouble(error, "create", dir);
        *fd = hf_sys_open(dir, flags, 0);
    }
    if (*fd < 0)
        return hf_trouble(error, "open", dir);
    status = check_dir(*fd, dir, error);
    if (status != HF_OK) {
        (void)close(*fd);
        *fd = -1;
    }
    return status;
}

/* What the file says: 0 if there is none, or none that makes sense.  One that
 * cannot be read just now is not taken for none. */
static hf_status read_floor(int dir, const char *path, uint64_t *value,
                            struct hf_error *error)
{
    char line[LINE_BYTES + 1] = {0};
    ssize_t got;
    int fd = hf_sys_openat(dir, FLOOR_FILE, O_RDONLY | O_NOFOLLOW, 0);

    *value = 0;
    if (fd < 0)
        return errno == ENOENT
                   ? HF_OK
                   : hf_trouble(error, "read " FLOOR_FILE " in", path);
    got = hf_sys_pread(fd, line, LINE_BYTES);
    if (got < 0)
        hf_trouble(error, "read " FLOOR_FILE " in", path);
    (void)close(fd);
    if (got < 0)
        return error->status;
    if (got == LINE_BYTES && line[LINE_BYTES - 1] == '\n' &&
        strspn(line, "0123456789") == LINE_BYTES - 1)
        (void)sscanf(line, "%" SCNu64, value);
    return HF_OK;
}

static int write_synced(int dir, const char *line)
{
    int fd = hf_sys_openat(dir, NEW_FLOOR_FILE,
                           O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
    int failed;
    int number;

    if (fd < 0)
        return -1;
    failed = hf_sys_pwrite(fd, line, LINE_BYTES) != LINE_BYTES ||
             hf_sys_fdatasync(fd) != 0;
    number = errno;
    (void)close(fd);
    errno = number;
    return failed ? -1 : 0;
}

static hf_status write_floor(int dir, const char *path, uint64_t value,
                             struct hf_error *error)
{
    char line[LINE_BYTES + 1];
    hf_status status;

    (void)snprintf(line, sizeof(line), "%020" PRIu64 "\n", value);
    if (write_synced(dir, line) == 0 &&
        hf_sys_renameat(dir, NEW_FLOOR_FILE, FLOOR_FILE) == 0 &&
        hf_sys_fsync(dir) == 0)
        return HF_OK;
    status = hf_trouble(error, "write " FLOOR_FILE " in", path);
    (void)hf_sys_unlinkat(dir, NEW_FLOOR_FILE);
    return status;
}

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

hf_status hf_floor_reserve(const char *dir, uint64_t above, uint64_t count,
                           uint64_t *start, struct hf_error *error)
{
    int fd;
    hf_status status;

    *start = above;
    status = open_dir(dir, &fd, error);
    if (status != HF_OK)
        return status;
    /* The lock ends with the descriptor; a child forked meanwhile can hold it
     * up to its own exec or exit, which the bound below takes care of. */
    if (hf_patience_lock(fd, dir, HF_PATIENCE_BOUND, NULL, error) ==
        HF_LOCK_TAKEN)
        status = reserve_locked(fd, dir, count, start, error);
    else
        status = error->status;
    (void)close(fd);
    return status;
}
