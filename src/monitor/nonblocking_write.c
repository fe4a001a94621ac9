/* SPDX-License-Identifier: Apache-2.0 */
/*
 * There is no call that writes to any kind of descriptor without waiting.  A
 * pipe or a terminal is opened again, which makes a description that nobody
 * shares; send(2) has a flag.  poll(2) and then write(2) is not enough, because
 * another program that has the same pipe, such as the command of holdfast run,
 * may fill it in between.
 */
#include "monitor/nonblocking_write.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static bool write_once(int fd, const char *text, size_t bytes)
{
    ssize_t rc;

    do
        rc = write(fd, text, bytes);
    while (rc < 0 && errno == EINTR);
    return rc == (ssize_t)bytes;
}

/* Write if there is room.  It may wait if others fill that room first, so it is
 * for where the kernel offers nothing better. */
static bool write_if_room(int fd, const char *text, size_t bytes)
{
    struct pollfd polled = {.fd = fd, .events = POLLOUT};

    return poll(&polled, 1, 0) == 1 && (polled.revents & POLLOUT) &&
           write_once(fd, text, bytes);
}

/* A description of our own of what ${fd} is; -1 if there is none, because a
 * pipe may be another user's, or /proc is not there. */
static int open_again(int fd)
{
    char path[32];

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* The pipe refers to the page with the text until that is read, and nobody may
 * change the page until then.  So each text has a page of its own, which is
 * unmapped at once.  It takes one of the 16 places of a pipe, so this is the
 * second choice. */
static bool give_to_pipe(int fd, const char *text, size_t bytes)
{
    struct iovec data = {NULL, bytes};
    ssize_t rc;

    data.iov_base =
        mmap(NULL, HF_NONBLOCKING_WRITE_BYTES, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data.iov_base == MAP_FAILED)
        return false;
    memcpy(data.iov_base, text, bytes);
    do
        rc = vmsplice(fd, &data, 1, SPLICE_F_NONBLOCK);
    while (rc < 0 && errno == EINTR);
    munmap(data.iov_base, HF_NONBLOCKING_WRITE_BYTES);
    if (rc < 0 && (errno == ENOSYS || errno == EPERM))
        return write_if_room(fd, text, bytes);
    return rc == (ssize_t)bytes;
}

static bool write_to_socket(int fd, const char *text, size_t bytes)
{
    ssize_t rc;

    do
        rc = send(fd, text, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (rc < 0 && errno == EINTR);
    return rc == (ssize_t)bytes;
}

/* A pipe that is full, or a terminal that was stopped by ^S, takes nothing. */
static bool write_by_own(int fd, bool is_pipe, const char *text, size_t bytes)
{
    int own = open_again(fd);
    bool written;

    if (own < 0)
        return is_pipe ? give_to_pipe(fd, text, bytes)
                       : write_if_room(fd, text, bytes);
    written = write_once(own, text, bytes);
    close(own);
    return written;
}

bool hf_write_nonblocking(int fd, const char *text, size_t bytes)
{
    struct stat status;

    if (bytes > HF_NONBLOCKING_WRITE_BYTES)
        bytes = HF_NONBLOCKING_WRITE_BYTES;
    if (fstat(fd, &status) < 0)
        return false;
    if (S_ISSOCK(status.st_mode))
        return write_to_socket(fd, text, bytes);
    if (S_ISFIFO(status.st_mode) || isatty(fd) == 1)
        return write_by_own(fd, S_ISFIFO(status.st_mode), text, bytes);
    return write_once(fd, text, bytes);
}
