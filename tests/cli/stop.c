/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To be preloaded into the tool: on the file engine a process stops itself as
 * soon as a ticket of it is in its queue and the directory is unlocked, before
 * it has begun to watch that ticket, as on a machine where it gets no processor
 * just then.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

static _Atomic bool queued;

int renameat(int from, const char *old, int to, const char *new)
{
    int (*real)(int, const char *, int, const char *) =
        (int (*)(int, const char *, int, const char *))dlsym(RTLD_NEXT,
                                                             "renameat");
    int rc = real(from, old, to, new);

    if (rc == 0 && strcmp(old, ".new") == 0)
        queued = true;
    return rc;
}

int flock(int fd, int operation)
{
    int (*real)(int, int) = (int (*)(int, int))dlsym(RTLD_NEXT, "flock");
    int rc = real(fd, operation);
    struct stat status;

    if (queued && operation == LOCK_UN && fstat(fd, &status) == 0 &&
        S_ISDIR(status.st_mode)) {
        queued = false;
        (void)raise(SIGSTOP);
    }
    return rc;
}
