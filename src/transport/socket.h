/* SPDX-License-Identifier: Apache-2.0 */
/* TCP and unix sockets that are non-blocking, close-on-exec, without Nagle's
 * delay, and never cause SIGPIPE.  Functions that fail set errno. */
#ifndef HF_TRANSPORT_SOCKET_H
#define HF_TRANSPORT_SOCKET_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define HF_HOST_BYTES 256 /* a host name or an address as text, with a NUL */

/* An address without a port, because a name is looked up without one. */
union hf_address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
};

/* A new socket that has begun to connect, or -1. */
int hf_socket_connect(const union hf_address *address, uint16_t port);

/* The same for the unix socket at ${path}, which must fit into sockaddr_un. */
int hf_socket_connect_unix(const char *path);

/* Call this when the socket is writable or has failed.  Returns 0 if it is
 * connected, otherwise the errno that says why not. */
int hf_socket_connected(int fd);

/* Send until the socket has no more room, and set ${sent} to the bytes sent.
 * Returns false if the connection is broken. */
bool hf_socket_send(int fd, const void *bytes, size_t count, size_t *sent);

/* Close ${fd} with a reset, so that unsent bytes are dropped. */
void hf_socket_abort(int fd);

#endif
