/* SPDX-License-Identifier: Apache-2.0 */
/* Replacements of libc functions for files. */
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "wrap.h"

int open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    va_list leftovers;

    WRAP_OPENING(FAULT_OPEN, open);
    if (error != 0) {
        errno = error;
        return -1;
    }
    va_start(leftovers, flags);
    if ((flags & O_CREAT) != 0)
        mode = va_arg(leftovers, mode_t);
    va_end(leftovers);
    return real(path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
    mode_t mode = 0;
    va_list leftovers;

    WRAP_OPENING(FAULT_OPENAT, openat);
    if (error != 0) {
        errno = error;
        return -1;
    }
    va_start(leftovers, flags);
    if ((flags & O_CREAT) != 0)
        mode = va_arg(leftovers, mode_t);
    va_end(leftovers);
    return real(dir, path, flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
    WRAP_OPENING(FAULT_FOPEN, fopen);
    if (error != 0) {
        errno = error;
        return NULL;
    }
    return real(path, mode);
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at)
{
    WRAP_OPENING(FAULT_PWRITE, pwrite);
    if (error == FAULT_SHORT && bytes > 0) {
        bytes = 1;
    } else if (error != 0) {
        errno = error;
        return -1;
    }
    return real(fd, data, bytes, at);
}

/* Unlocking cannot fail. */
int flock(int fd, int operation)
{
    static __typeof__(&flock) real;
    int error = 0;

    if (real == NULL)
        *(void **)&real = fault_real("flock");
    if ((operation & LOCK_UN) == 0)
        error = fault_meets(FAULT_FLOCK, __builtin_return_address(0));
    if (error != 0) {
        errno = error;
        return -1;
    }
    return real(fd, operation);
}

void *mmap(void *at, size_t bytes, int protection, int flags, int fd,
           off_t offset)
{
    WRAP_OPENING(FAULT_MMAP, mmap);
    if (error != 0) {
        errno = error;
        return MAP_FAILED;
    }
    return real(at, bytes, protection, flags, fd, offset);
}

/* clang-format off */
WRAP(FAULT_PREAD, ssize_t, pread,
     (int fd, void *data, size_t bytes, off_t at), (fd, data, bytes, at))
WRAP(FAULT_FDATASYNC, int, fdatasync, (int fd), (fd))
WRAP(FAULT_FSYNC, int, fsync, (int fd), (fd))
WRAP(FAULT_LSEEK, off_t, lseek, (int fd, off_t at, int from), (fd, at, from))
WRAP(FAULT_MKDIR, int, mkdir, (const char *path, mode_t mode), (path, mode))
WRAP(FAULT_MKDIRAT, int, mkdirat, (int dir, const char *path, mode_t mode),
     (dir, path, mode))
WRAP(FAULT_RMDIR, int, rmdir, (const char *path), (path))
WRAP(FAULT_FSTAT, int, fstat, (int fd, struct stat *status), (fd, status))
WRAP(FAULT_LSTAT, int, lstat, (const char *path, struct stat *status),
     (path, status))
WRAP(FAULT_FSTATAT, int, fstatat,
     (int dir, const char *path, struct stat *status, int flags),
     (dir, path, status, flags))
WRAP(FAULT_FSTATFS, int, fstatfs, (int fd, struct statfs *status),
     (fd, status))
WRAP(FAULT_FCHMOD, int, fchmod, (int fd, mode_t mode), (fd, mode))
WRAP(FAULT_SYMLINKAT, int, symlinkat,
     (const char *target, int dir, const char *path), (target, dir, path))
WRAP(FAULT_READLINKAT, ssize_t, readlinkat,
     (int dir, const char *path, char *text, size_t bytes),
     (dir, path, text, bytes))
WRAP(FAULT_MKFIFOAT, int, mkfifoat, (int dir, const char *path, mode_t mode),
     (dir, path, mode))
WRAP(FAULT_RENAMEAT, int, renameat,
     (int from_dir, const char *from, int to_dir, const char *to),
     (from_dir, from, to_dir, to))
WRAP(FAULT_UNLINKAT, int, unlinkat, (int dir, const char *path, int flags),
     (dir, path, flags))
WRAP(FAULT_UNLINK, int, unlink, (const char *path), (path))
WRAP(FAULT_GETDENTS, ssize_t, getdents64, (int dir, void *entries, size_t bytes),
     (dir, entries, bytes))
WRAP(FAULT_UTIMENSAT, int, utimensat,
     (int dir, const char *path, const struct timespec times[2], int flags),
     (dir, path, times, flags))
WRAP(FAULT_ACCESS, int, access, (const char *path, int mode), (path, mode))
WRAP(FAULT_INOTIFY_ADD, int, inotify_add_watch,
     (int fd, const char *path, uint32_t mask), (fd, path, mask))
/* clang-format on */
