/* SPDX-License-Identifier: Apache-2.0 */
/* A library to be preloaded into a server: fsync() waits while another process
 * has a flock() on the file HOLD_SYNC_FILE. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

static void wait_for_lock(void)
{
    const char *path = getenv("HOLD_SYNC_FILE");
    int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    (void)flock(fd, LOCK_SH);
    (void)close(fd);
}

int fsync(int fd)
{
    wait_for_lock();
    return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    wait_for_lock();
    return (int)syscall(SYS_fdatasync, fd);
}
