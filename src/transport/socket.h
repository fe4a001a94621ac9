/* SPDX-License-Identifier: Apache-2.0 */
/* A TCP or unix socket: non-blocking, close-on-exec, without delay, and never
 * the cause of a SIGPIPE.  What fails sets errno. */
#ifndef HF_TRANSPORT_SOCKET_H
#define HF_TRANSPORT_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/resolver.h"

/* A new socket that is connecting; -1. */
int hf_socket_connect(const union hf_address *address, uint16_t port);

/* The same to the unix socket at ${path}, which fits into a sockaddr_un. */
int hf_socket_connect_unix(const char *path);

/* Once it is writable, or has failed: 0 if it is connected, else why not, as an
 * errno. */
int hf_socket_connected(int fd);

/* Send until there is no more room; false if the connection is broken.
 * ${sent} is set in either case. */
bool hf_socket_send(int fd, const void *bytes, size_t count, size_t *sent);

/* Close it with a reset instead of an end: what is under way is dropped. */
void hf_socket_abort(int fd);

#endif
