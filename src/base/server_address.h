/* SPDX-License-Identifier: Apache-2.0 */
/* The address of a server as URLs write it: HOST, HOST:PORT or [IPV6]:PORT. */
#ifndef HF_BASE_SERVER_ADDRESS_H
#define HF_BASE_SERVER_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Can the ${bytes} of ${text} be a host name or an IPv4 address? */
bool hf_is_host_name(const char *text, size_t bytes);

/* Read the ${bytes} of ${text}.  The host, without brackets, is written to
 * ${host}, which has ${host_bytes}.  ${port} holds the default port, and is
 * changed only if ${text} has a port.  Returns NULL, or what is wrong with
 * ${text}.  The returned text never quotes ${text}, which may contain a
 * password. */
const char *hf_server_address_parse(const char *text, size_t bytes, char *host,
                                    size_t host_bytes, uint16_t *port);

#endif
