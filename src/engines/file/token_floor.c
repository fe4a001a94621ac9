/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See token_floor.h.  The number is in a small file, which is replaced under
 * the lock of its directory and synced before it counts.
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
#include "engines/file/state_dir.h"
#include "engines/file/syscalls.h"
#include "engines/file/timed_flock.h"

#define FLOOR_FILE "floor"
#define LINE_BYTES 21 /* twenty digits and a newline */

void hf_file_token_floor_default(char dir[HF_TOKEN_FLOOR_DIR_BYTES])
{
    if (geteuid() == 0)
        (void)snprintf(dir, HF_TOKEN_FLOOR_DIR_BYTES, "/var/lib/holdfast");
    else
        (void)snprintf(dir, HF_TOKEN_FLOOR_DIR_BYTES, "/var/tmp/holdfast-%u",
                       (unsigned)geteuid());
}

/* Sync the parent of the directory ${dir}, which has no floor yet: perhaps
 * ${dir} was just made, and its own name is not on the disk yet. */
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

/* Read the floor.  ${value} is 0 if there is none, or if it makes no sense.  If
 * it cannot be read now, that is an error, because it must not be taken for
 * missing. */
static hf_status read_floor(int dir, const char *path, uint64_t *value,
                            struct hf_error *error)
{
    char line[LINE_BYTES + 1];
    hf_status status =
        hf_file_state_read(dir, path, FLOOR_FILE, line, sizeof(line), error);

    *value = 0;
    if (status == HF_EGONE)
        return sync_parent(dir, path, error);
    if (status == HF_OK && strlen(line) == LINE_BYTES &&
        line[LINE_BYTES - 1] == '\n' &&
        strspn(line, "0123456789") == LINE_BYTES - 1)
        (void)sscanf(line, "%" SCNu64, value);
    return status;
}

/* Set ${start} to the greater of ${start} and the floor, and write a floor that
 * is ${count} above that.  The caller holds the lock of the directory. */
static hf_status reserve_locked(int fd, const char *dir, uint64_t count,
                                uint64_t *start, struct hf_error *error)
{
    char line[LINE_BYTES + 1];
    uint64_t floor;
    hf_status status = read_floor(fd, dir, &floor, error);

    if (status != HF_OK)
        return status;
    if (floor > *start)
        *start = floor;
    (void)snprintf(line, sizeof(line), "%020" PRIu64 "\n", *start + count);
    return hf_file_state_write(fd, dir, FLOOR_FILE, line, error);
}

hf_status hf_file_token_floor_reserve(const char *dir, uint64_t above,
                                      uint64_t count, uint64_t *start,
                                      struct hf_error *error)
{
    int fd;
    hf_status status;

    *start = above;
    status = hf_file_state_dir_open(dir, true, &fd, error);
    if (status != HF_OK)
        return status;
    /* The lock ends when the descriptor is closed.  A child that is forked
     * meanwhile may keep the lock until its exec or exit, so others wait with a
     * timeout. */
    if (hf_file_flock_lock(fd, dir, HF_FLOCK_WAIT_TIMEOUT, NULL, NULL, error) ==
        HF_FLOCK_TAKEN)
        status = reserve_locked(fd, dir, count, start, error);
    else
        status = error->status;
    (void)close(fd);
    return status;
}

/* The directory is touched, too, because programs that clean up look at the
 * times of directories as well. */
hf_status hf_file_token_floor_keep(const char *dir)
{
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
    struct hf_error error;
    hf_status status;
    int fd, floor;

    status = hf_file_state_dir_open(dir, false, &fd, &error);
    if (status != HF_OK)
        return status;
    floor = hf_file_sys_openat(fd, FLOOR_FILE, flags, 0);
    if (floor < 0)
        status = errno == ENOENT ? HF_EGONE : HF_EDIR;
    else
        status = hf_file_state_check(floor, dir, FLOOR_FILE, &error);
    if (status == HF_OK &&
        (hf_file_sys_touch_open(floor) != 0 || hf_file_sys_touch_open(fd) != 0))
        status = HF_EDENIED;
    if (floor >= 0)
        (void)close(floor);
    (void)close(fd);
    return status;
}
