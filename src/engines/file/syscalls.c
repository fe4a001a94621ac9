/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls of the engine, each behind the hook for tests.
 */
#include "engines/file/syscalls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "thread/high_descriptor.h"

/* If time_t is longer than long, the older futex system call expects another
 * struct timespec than the C library has. */
#ifdef SYS_futex_time64
#define FUTEX_CALL                                                             \
    (sizeof(time_t) > sizeof(long) ? SYS_futex_time64 : SYS_futex)
#else
#define FUTEX_CALL SYS_futex
#endif

_Static_assert(sizeof(_Atomic uint32_t) == sizeof(uint32_t) &&
                   ATOMIC_INT_LOCK_FREE == 2,
               "the kernel compares the word of a futex as it lies in memory");

int (*hf_file_sys_hook)(const char *call);

/* Returns whether the hook makes this call fail; then errno is set. */
static bool refused(const char *call)
{
    int error = hf_file_sys_hook == NULL ? 0 : hf_file_sys_hook(call);

    if (error != 0)
        errno = error;
    return error != 0;
}

int hf_file_sys_open(const char *path, int flags, mode_t mode)
{
    if (refused("open"))
        return -1;
    return hf_high_descriptor(open(path, flags | O_CLOEXEC, mode));
}

int hf_file_sys_openat(int dir, const char *path, int flags, mode_t mode)
{
    if (refused("openat"))
        return -1;
    return hf_high_descriptor(openat(dir, path, flags | O_CLOEXEC, mode));
}

int hf_file_sys_mkdir(const char *path, mode_t mode)
{
    return refused("mkdir") ? -1 : mkdir(path, mode);
}

int hf_file_sys_mkdirat(int dir, const char *path, mode_t mode)
{
    return refused("mkdirat") ? -1 : mkdirat(dir, path, mode);
}

int hf_file_sys_rmdir(const char *path)
{
    return refused("rmdir") ? -1 : rmdir(path);
}

int hf_file_sys_flock(int fd, int operation)
{
    return refused("flock") ? -1 : flock(fd, operation);
}

int hf_file_sys_fstat(int fd, struct stat *status)
{
    return refused("fstat") ? -1 : fstat(fd, status);
}

int hf_file_sys_lstat(const char *path, struct stat *status)
{
    return refused("lstat") ? -1 : lstat(path, status);
}

int hf_file_sys_access(const char *path, int mode)
{
    return refused("access") ? -1 : faccessat(AT_FDCWD, path, mode, AT_EACCESS);
}

int hf_file_sys_lstatat(int dir, const char *path, struct stat *status)
{
    return refused("fstatat") ? -1
                              : fstatat(dir, path, status, AT_SYMLINK_NOFOLLOW);
}

int hf_file_sys_fstatfs(int fd, struct statfs *status)
{
    return refused("fstatfs") ? -1 : fstatfs(fd, status);
}

int hf_file_sys_fchmod(int fd, mode_t mode)
{
    return refused("fchmod") ? -1 : fchmod(fd, mode);
}

int hf_file_sys_symlinkat(const char *target, int dir, const char *path)
{
    return refused("symlinkat") ? -1 : symlinkat(target, dir, path);
}

ssize_t hf_file_sys_readlinkat(int dir, const char *path, char *text,
                               size_t bytes)
{
    return refused("readlinkat") ? -1 : readlinkat(dir, path, text, bytes);
}

int hf_file_sys_mkfifoat(int dir, const char *path, mode_t mode)
{
    return refused("mkfifoat") ? -1 : mkfifoat(dir, path, mode);
}

int hf_file_sys_renameat(int dir, const char *from, const char *to)
{
    return refused("renameat") ? -1 : renameat(dir, from, dir, to);
}

int hf_file_sys_unlinkat(int dir, const char *path)
{
    return refused("unlinkat") ? -1 : unlinkat(dir, path, 0);
}

int hf_file_sys_unlink(const char *path)
{
    return refused("unlink") ? -1 : unlink(path);
}

ssize_t hf_file_sys_getdents(int dir, void *entries, size_t bytes)
{
    return refused("getdents") ? -1 : getdents64(dir, entries, bytes);
}

int hf_file_sys_rewind(int dir)
{
    return refused("lseek") || lseek(dir, 0, SEEK_SET) != 0 ? -1 : 0;
}

ssize_t hf_file_sys_pread(int fd, void *data, size_t bytes, off_t at)
{
    return refused("pread") ? -1 : pread(fd, data, bytes, at);
}

ssize_t hf_file_sys_pwrite(int fd, const void *data, size_t bytes, off_t at)
{
    return refused("pwrite") ? -1 : pwrite(fd, data, bytes, at);
}

int hf_file_sys_fdatasync(int fd)
{
    return refused("fdatasync") ? -1 : fdatasync(fd);
}

int hf_file_sys_fsync(int fd)
{
    return refused("fsync") ? -1 : fsync(fd);
}

void *hf_file_sys_map(int fd, size_t bytes)
{
    if (refused("mmap"))
        return MAP_FAILED;
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

ssize_t hf_file_sys_write(int fd, const void *data, size_t bytes)
{
    return refused("write") ? -1 : write(fd, data, bytes);
}

int hf_file_sys_touch(const char *path)
{
    return refused("utimensat")
               ? -1
               : utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
}

int hf_file_sys_touch_open(int fd)
{
    return refused("futimens") ? -1 : futimens(fd, NULL);
}

int hf_file_sys_duplicate(int fd, int least)
{
    return refused("fcntl") ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, least);
}

int hf_file_sys_inotify(void)
{
    if (refused("inotify_init"))
        return -1;
    return hf_high_descriptor(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
}

int hf_file_sys_inotify_add(int fd, const char *path, uint32_t mask)
{
    return refused("inotify_add") ? -1 : inotify_add_watch(fd, path, mask);
}

int hf_file_sys_timer(void)
{
    if (refused("timerfd_create"))
        return -1;
    return hf_high_descriptor(
        timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
}

int hf_file_sys_futex_wait(_Atomic uint32_t *word, uint32_t value,
                           unsigned timeout_ms)
{
    const struct timespec timeout = {(time_t)(timeout_ms / 1000),
                                     (long)(timeout_ms % 1000) * 1000000};

    if (refused("futex_wait"))
        return -1;
    return (int)syscall(FUTEX_CALL, word, FUTEX_WAIT, value, &timeout, NULL, 0);
}

int hf_file_sys_futex_wake(_Atomic uint32_t *word)
{
    if (refused("futex_wake"))
        return -1;
    return (int)syscall(FUTEX_CALL, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* -------------------------------------------------------- errno in words -- */

static const struct {
    int number;
    hf_status status;
    const char *remedy;
} errno_rows[] = {
    {ENOSPC, HF_EFULL, "free space or inodes on that filesystem"},
    {EDQUOT, HF_EFULL, "this user's quota there is used up"},
    {EMFILE, HF_ELIMIT,
     "raise this process's limit of descriptors (ulimit -n)"},
    {ENFILE, HF_ELIMIT, "raise the system's limit (sysctl fs.file-max)"},
    {ENOLCK, HF_ELIMIT, "the kernel has no room for another file lock"},
    {EAGAIN, HF_ELIMIT, "raise this user's limit of processes (ulimit -u)"},
    {ENOMEM, HF_ENOMEM, "the system is out of memory"},
    {EACCES, HF_EDIR, "give this user write access, or use another directory"},
    {EPERM, HF_EDIR, "give this user write access, or use another directory"},
    {EROFS, HF_EDIR, "the filesystem is mounted read-only; use another"},
    {ENOENT, HF_EDIR, "its parent directory must exist"},
    {ENOTDIR, HF_EDIR, "it must be a directory"},
    {ELOOP, HF_EDIR, "it must not be a symbolic link"},
};

hf_status hf_file_error_set_errno(struct hf_error *error, const char *what,
                                  const char *path)
{
    int number = errno;

    for (size_t i = 0; i < sizeof(errno_rows) / sizeof(errno_rows[0]); i++)
        if (errno_rows[i].number == number)
            return hf_error_set(error, errno_rows[i].status,
                                "cannot %s %s as user %u: %s; %s", what, path,
                                (unsigned)geteuid(), hf_errno_text(number),
                                errno_rows[i].remedy);
    return hf_error_set(error, HF_EDIR,
                        "cannot %s %s as user %u: %s (error %d)", what, path,
                        (unsigned)geteuid(), hf_errno_text(number), number);
}
