/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To be preloaded into the tool: a kernel without CONFIG_PROC_CHILDREN.  No
 * file called "children" can be opened, nor, with HF_HIDE=stat, one called
 * "stat" of another process than that which looks.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static bool ends_in(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL && strcmp(slash + 1, name) == 0;
}

static bool hides(const char *path)
{
    const char *more = getenv("HF_HIDE");
    char own[64];

    if (ends_in(path, "children"))
        return true;
    (void)snprintf(own, sizeof(own), "/proc/%d/stat", (int)getpid());
    return more != NULL && strcmp(more, "stat") == 0 && ends_in(path, "stat") &&
           strcmp(path, own) != 0;
}

int open(const char *path, int flags, ...)
{
    int (*real)(const char *, int, ...) =
        (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    va_list rest;
    mode_t mode;

    va_start(rest, flags);
    mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    errno = ENOENT;
    return hides(path) ? -1 : real(path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
    int (*real)(int, const char *, int, ...) =
        (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat");
    va_list rest;
    mode_t mode;

    va_start(rest, flags);
    mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    errno = ENOENT;
    return hides(path) ? -1 : real(dir, path, flags, mode);
}
