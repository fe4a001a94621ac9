/* SPDX-License-Identifier: Apache-2.0 */
/* Replacements of libc functions for descriptors, threads and randomness. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "wrap.h"

/* -------------------------------------------------------- kinds of these -- */

#define FDS_MAX 1024

static _Atomic(enum wrap_kind) sorts[FDS_MAX];

void wrap_remember(int fd, enum wrap_kind sort)
{
    if (fd >= 0 && fd < FDS_MAX)
        atomic_store(&sorts[fd], sort);
}

enum wrap_kind wrap_kind_of(int fd)
{
    return fd >= 0 && fd < FDS_MAX ? atomic_load(&sorts[fd]) : WRAP_PLAIN;
}

/* --------------------------------------------------------- made and gone -- */

int eventfd(unsigned count, int flags)
{
    int fd;

    WRAP_OPENING(FAULT_EVENTFD, eventfd);
    if (error != 0) {
        errno = error;
        return -1;
    }
    fd = real(count, flags);
    wrap_remember(fd, WRAP_COUNT);
    return fd;
}

int timerfd_create(int clock, int flags)
{
    int fd;

    WRAP_OPENING(FAULT_TIMERFD, timerfd_create);
    if (error != 0) {
        errno = error;
        return -1;
    }
    fd = real(clock, flags);
    wrap_remember(fd, WRAP_COUNT);
    return fd;
}

int inotify_init1(int flags)
{
    int fd;

    WRAP_OPENING(FAULT_INOTIFY_INIT, inotify_init1);
    if (error != 0) {
        errno = error;
        return -1;
    }
    fd = real(flags);
    wrap_remember(fd, WRAP_COUNT);
    return fd;
}

int pipe2(int fds[2], int flags)
{
    int done;

    WRAP_OPENING(FAULT_PIPE, pipe2);
    if (error != 0) {
        errno = error;
        return -1;
    }
    done = real(fds, flags);
    for (int i = 0; done == 0 && i < 2; i++)
        wrap_remember(fds[i], WRAP_PIPE);
    return done;
}

/* The descriptor is closed also when this call fails. */
int close(int fd)
{
    int done;

    WRAP_OPENING(FAULT_CLOSE, close);
    wrap_remember(fd, WRAP_PLAIN);
    done = real(fd);
    if (error == 0 || done != 0)
        return done;
    errno = error;
    return -1;
}

int fcntl(int fd, int command, ...)
{
    static __typeof__(&fcntl) real;
    va_list leftovers;
    long value;
    int error = 0;

    if (real == NULL)
        *(void **)&real = fault_real("fcntl");
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
        error = fault_meets(FAULT_DUPLICATE, __builtin_return_address(0));
    if (error != 0) {
        errno = error;
        return -1;
    }
    va_start(leftovers, command);
    value = va_arg(leftovers, long);
    va_end(leftovers);
    return real(fd, command, value);
}

/* -------------------------------------------------------- read and write -- */

static enum fault_row row_of_read(int fd)
{
    switch (wrap_kind_of(fd)) {
    case WRAP_COUNT:
        return FAULT_READ_COUNT;
    case WRAP_PIPE:
        return FAULT_READ_PIPE;
    case WRAP_SOCKET:
        return FAULT_READ_SOCKET;
    case WRAP_PLAIN:
        break;
    }
    return FAULT_READ;
}

ssize_t read(int fd, void *data, size_t bytes)
{
    WRAP_OPENING(row_of_read(fd), read);
    if (error == FAULT_END)
        return 0;
    if (error == FAULT_SHORT && bytes > 0) {
        bytes = 1;
    } else if (error != 0) {
        errno = error;
        return -1;
    }
    return real(fd, data, bytes);
}

ssize_t write(int fd, const void *data, size_t bytes)
{
    static __typeof__(&write) real;
    enum wrap_kind sort = wrap_kind_of(fd);
    enum fault_row row = sort == WRAP_PIPE ? FAULT_WRITE_PIPE : FAULT_WRITE;
    int error = 0;

    if (real == NULL)
        *(void **)&real = fault_real("write");
    if (sort != WRAP_COUNT)
        error = fault_meets(row, __builtin_return_address(0));
    if (error != 0) {
        errno = error;
        return -1;
    }
    return real(fd, data, bytes);
}

/* ----------------------------------------------------------------- epoll -- */

int epoll_ctl(int set, int operation, int fd, struct epoll_event *event)
{
    static __typeof__(&epoll_ctl) real;
    int error = 0;

    if (real == NULL)
        *(void **)&real = fault_real("epoll_ctl");
    if (operation == EPOLL_CTL_ADD)
        error = fault_meets(FAULT_EPOLL_ADD, __builtin_return_address(0));
    if (error != 0) {
        errno = error;
        return -1;
    }
    return real(set, operation, fd, event);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                   void *(*main)(void *arg), void *arg)
{
    WRAP_OPENING(FAULT_THREAD, pthread_create);
    return error != 0 ? error : real(thread, attributes, main, arg);
}

/* clang-format off */
WRAP(FAULT_EPOLL_CREATE, int, epoll_create1, (int flags), (flags))
WRAP(FAULT_EPOLL_WAIT, int, epoll_wait,
     (int set, struct epoll_event *events, int most, int wait_ms),
     (set, events, most, wait_ms))
WRAP(FAULT_EPOLL_WAIT, int, epoll_pwait,
     (int set, struct epoll_event *events, int most, int wait_ms,
      const sigset_t *mask),
     (set, events, most, wait_ms, mask))
WRAP(FAULT_POLL, int, poll, (struct pollfd *fds, nfds_t count, int wait_ms),
     (fds, count, wait_ms))
WRAP(FAULT_GETRANDOM, ssize_t, getrandom,
     (void *data, size_t bytes, unsigned flags), (data, bytes, flags))
/* clang-format on */
