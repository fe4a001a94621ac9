/* SPDX-License-Identifier: Apache-2.0 */
/* System calls for sockets, and the peculiarities of Linux that callers need
 * not know. */
#include "transport/socket.h"

#include <assert.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "thread/high_descriptor.h"

static socklen_t bytes_of(const union hf_address *address)
{
    return address->any.sa_family == AF_INET ? sizeof(address->in)
                                             : sizeof(address->in6);
}

/* Begin to connect.  Returns ${fd}; on failure closes it and returns -1. */
static int begin_connect(int fd, const struct sockaddr *to, socklen_t bytes)
{
    int failure;

    if (connect(fd, to, bytes) == 0 || errno == EINPROGRESS)
        return fd;
    failure = errno;
    (void)close(fd);
    errno = failure;
    return -1;
}

int hf_socket_connect_unix(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd = hf_high_descriptor(
        socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));

    assert(strlen(path) < sizeof(to.sun_path));
    memcpy(to.sun_path, path, strlen(path) + 1);
    if (fd < 0)
        return -1;
    return begin_connect(fd, (const struct sockaddr *)&to, sizeof(to));
}

int hf_socket_connect(const union hf_address *address, uint16_t port)
{
    const int on = 1;
    union hf_address to = *address;
    int fd;

    assert(to.any.sa_family == AF_INET || to.any.sa_family == AF_INET6);
    if (to.any.sa_family == AF_INET)
        to.in.sin_port = htons(port);
    else
        to.in6.sin6_port = htons(port);
    fd = hf_high_descriptor(socket(
        to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0)
        return -1;
    /* An error is ignored, because it only makes the connection slower. */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return begin_connect(fd, &to.any, bytes_of(&to));
}

/* Is the socket connected to itself?  That happens when the system gives our
 * socket the very port that it connects to, and no server listens there. */
static bool is_connected_to_itself(int fd)
{
    union hf_address here, there;
    socklen_t here_bytes = sizeof(here);
    socklen_t there_bytes = sizeof(there);

    memset(&here, 0, sizeof(here));
    memset(&there, 0, sizeof(there));
    return getsockname(fd, &here.any, &here_bytes) == 0 &&
           getpeername(fd, &there.any, &there_bytes) == 0 &&
           here_bytes == there_bytes && memcmp(&here, &there, here_bytes) == 0;
}

int hf_socket_connected(int fd)
{
    int failure = 0;
    socklen_t bytes = sizeof(failure);

    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &bytes) != 0)
        return errno;
    if (failure == 0 && is_connected_to_itself(fd))
        return ECONNREFUSED;
    return failure;
}

bool hf_socket_send(int fd, const void *bytes, size_t count, size_t *sent)
{
    ssize_t done;

    for (*sent = 0; *sent < count; *sent += (size_t)done) {
        done =
            send(fd, (const char *)bytes + *sent, count - *sent, MSG_NOSIGNAL);
        if (done < 0)
            return errno == EAGAIN || errno == EINTR;
    }
    return true;
}

void hf_socket_abort(int fd)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};

    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    (void)close(fd);
}
