/* SPDX-License-Identifier: Apache-2.0 */
/* See high_descriptor.h. */
#include "thread/high_descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

#define LEAST 3

/* Held from hf_low_descriptors_reserve() to hf_low_descriptors_release(). */
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

/* Unlock ${reserving} in a child, which may open a client of its own, but does
 * not have the thread that locked it.  The handler before the fork does not
 * lock it: a thread that reserves holds the lock of a monitor, and a fork takes
 * all of these locks. */
static void in_child(void)
{
    reserving = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static void add_fork_handler(void)
{
    (void)pthread_atfork(NULL, NULL, in_child);
}

/* A placeholder can be neither read nor written, so a thread that prints
 * meanwhile gets EBADF as before.  If there is no descriptor for a placeholder,
 * there is none for the other library either. */
void hf_low_descriptors_reserve(struct hf_low_descriptors *reserved)
{
    *reserved = (struct hf_low_descriptors){.reserved = {false}};
    (void)pthread_once(&fork_handler, add_fork_handler);
    (void)pthread_mutex_lock(&reserving);
    for (int fd = 0; fd < LEAST; fd++) {
        int opened;

        if (fcntl(fd, F_GETFD) >= 0)
            continue;
        /* This is the lowest free number, unless another thread of the program
         * has just taken it. */
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
