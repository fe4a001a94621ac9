/* SPDX-License-Identifier: Apache-2.0 */
/* See high_descriptor.h. */
#include "thread/high_descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

#define LEAST 3

/* Held while descriptors are reserved. */
static pthread_mutex_t reserving = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_handler = PTHREAD_ONCE_INIT;

int hf_high_descriptor(int fd)
{
    int moved, error;

    if (fd < 0 || fd >= LEAST)
        return fd;
    moved = fcntl(fd, F_DUPFD_CLOEXEC, LEAST);
    error = errno;
    (void)close(fd);
    errno = error;
    return moved;
}

/* A child may open a client of its own, so it must not find ${reserving} locked
 * by a thread that it does not have.  A fork does not lock ${reserving}: a
 * thread that reserves has the lock of a monitor, and a fork has all of
 * these. */
static void in_child(void)
{
    reserving = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static void add_fork_handler(void)
{
    (void)pthread_atfork(NULL, NULL, in_child);
}

/* A placeholder can be neither read nor written, so a thread that prints
 * meanwhile gets EBADF as before.  If there is no descriptor for it, the
 * other library gets none either. */
void hf_low_descriptors_reserve(struct hf_low_descriptors *reserved)
{
    *reserved = (struct hf_low_descriptors){.reserved = {false}};
    (void)pthread_once(&fork_handler, add_fork_handler);
    (void)pthread_mutex_lock(&reserving);
    for (int fd = 0; fd < LEAST; fd++) {
        int opened;

        if (fcntl(fd, F_GETFD) >= 0)
            continue;
        /* The lowest number that is free is this one, unless another thread of
         * the program has just taken it. */
        opened = open("/dev/null", O_PATH | O_CLOEXEC);
        if (opened == fd)
            reserved->reserved[fd] = true;
        else if (opened >= 0)
            (void)close(opened);
    }
}

void hf_low_descriptors_release(const struct hf_low_descriptors *reserved)
{
    for (int fd = 0; fd < LEAST; fd++)
        if (reserved->reserved[fd])
            (void)close(fd);
    (void)pthread_mutex_unlock(&reserving);
}
