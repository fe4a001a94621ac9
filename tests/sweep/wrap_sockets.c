/* SPDX-License-Identifier: Apache-2.0 */
/* Replacements of libc functions for sockets and names. */
#include <netdb.h>
#include <sys/socket.h>

#include "wrap.h"

int socket(int domain, int type, int protocol)
{
    int fd;

    WRAP_OPENING(FAULT_SOCKET, socket);
    if (error != 0) {
        errno = error;
        return -1;
    }
    fd = real(domain, type, protocol);
    wrap_remember(fd, WRAP_SOCKET);
    return fd;
}

ssize_t send(int fd, const void *data, size_t bytes, int flags)
{
    WRAP_OPENING(FAULT_SEND, send);
    if (error == FAULT_SHORT && bytes > 0) {
        bytes = 1;
    } else if (error != 0) {
        errno = error;
        return -1;
    }
    return real(fd, data, bytes, flags);
}

ssize_t recv(int fd, void *data, size_t bytes, int flags)
{
    WRAP_OPENING(FAULT_RECV, recv);
    if (error == FAULT_END)
        return 0;
    if (error == FAULT_SHORT && bytes > 0) {
        bytes = 1;
    } else if (error != 0) {
        errno = error;
        return -1;
    }
    return real(fd, data, bytes, flags);
}

int getaddrinfo(const char *name, const char *service,
                const struct addrinfo *hints, struct addrinfo **found)
{
    WRAP_OPENING(FAULT_GETADDRINFO, getaddrinfo);
    if (error != 0)
        return error == ENOMEM ? EAI_MEMORY : EAI_AGAIN;
    return real(name, service, hints, found);
}

/* clang-format off */
WRAP(FAULT_GETSOCKOPT, int, getsockopt,
     (int fd, int level, int option, void *value, socklen_t *bytes),
     (fd, level, option, value, bytes))
WRAP(FAULT_SETSOCKOPT, int, setsockopt,
     (int fd, int level, int option, const void *value, socklen_t bytes),
     (fd, level, option, value, bytes))
WRAP(FAULT_CONNECT, int, connect,
     (int fd, __CONST_SOCKADDR_ARG address, socklen_t bytes),
     (fd, address, bytes))
WRAP(FAULT_GETSOCKNAME, int, getsockname,
     (int fd, __SOCKADDR_ARG address, socklen_t *bytes),
     (fd, address, bytes))
WRAP(FAULT_GETPEERNAME, int, getpeername,
     (int fd, __SOCKADDR_ARG address, socklen_t *bytes),
     (fd, address, bytes))
/* clang-format on */
