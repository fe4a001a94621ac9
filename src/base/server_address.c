/* SPDX-License-Identifier: Apache-2.0 */
#include "base/server_address.h"

#include <arpa/inet.h>
#include <string.h>

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

struct span {
    const char *from;
    const char *end;
};

static size_t bytes_of(struct span span)
{
    return (size_t)(span.end - span.from);
}

/* Does ${span} consist of ${characters} only? */
static bool is_made_of(struct span span, const char *characters)
{
    for (const char *at = span.from; at < span.end; at++)
        if (*at == '\0' || strchr(characters, *at) == NULL)
            return false;
    return true;
}

/* Read a port from 1 to 65535. */
static bool take_port(struct span text, uint16_t *port)
{
    unsigned number = 0;

    if (bytes_of(text) == 0 || bytes_of(text) > 5 || !is_made_of(text, DIGITS))
        return false;
    for (const char *at = text.from; at < text.end; at++)
        number = number * 10 + (unsigned)(*at - '0');
    *port = (uint16_t)number;
    return number >= 1 && number <= UINT16_MAX;
}

/* Is ${text}, which was in brackets, an IPv6 address, perhaps with a "%zone"?
 */
static bool is_ipv6(struct span text)
{
    const char *percent = memchr(text.from, '%', bytes_of(text));
    struct span address = {text.from, percent != NULL ? percent : text.end};
    struct in6_addr parsed;
    char copy[INET6_ADDRSTRLEN];

    if (bytes_of(address) >= sizeof(copy) ||
        (percent != NULL && (percent + 1 == text.end ||
                             !is_made_of((struct span){percent + 1, text.end},
                                         DIGITS LETTERS "._-"))))
        return false;
    memcpy(copy, address.from, bytes_of(address));
    copy[bytes_of(address)] = '\0';
    return inet_pton(AF_INET6, copy, &parsed) == 1;
}

bool hf_is_host_name(const char *text, size_t bytes)
{
    return bytes > 0 &&
           is_made_of((struct span){text, text + bytes},
                      DIGITS LETTERS "._-") &&
           text[0] != '-' && text[0] != '.';
}

/* Split ${text} into ${host}, without brackets, and the ${rest} behind it.
 * Returns NULL, or what is wrong with ${text}. */
static const char *cut_host(struct span text, size_t host_bytes,
                            struct span *host, struct span *rest)
{
    const char *end;
    bool bracketed = bytes_of(text) > 0 && text.from[0] == '[';

    end = memchr(text.from, bracketed ? ']' : ':', bytes_of(text));
    if (bracketed && end == NULL)
        return "has a '[' without its ']'";
    *host = (struct span){text.from + bracketed, end != NULL ? end : text.end};
    *rest = (struct span){host->end + bracketed, text.end};
    if (!bracketed && bytes_of(*rest) > 1 &&
        memchr(rest->from + 1, ':', bytes_of(*rest) - 1) != NULL)
        return "has more than one ':', which an IPv6 address may have inside "
               "brackets only";
    if (bytes_of(*host) == 0)
        return "is empty";
    if (bytes_of(*host) >= host_bytes)
        return "is too long for a host";
    if (bracketed ? !is_ipv6(*host)
                  : !hf_is_host_name(host->from, bytes_of(*host)))
        return bracketed ? "has no IPv6 address inside its brackets"
                         : "has characters that no host name has";
    return NULL;
}

const char *hf_server_address_parse(const char *text, size_t bytes, char *host,
                                    size_t host_bytes, uint16_t *port)
{
    struct span name, rest;
    const char *fault =
        cut_host((struct span){text, text + bytes}, host_bytes, &name, &rest);

    if (fault != NULL)
        return fault;
    memcpy(host, name.from, bytes_of(name));
    host[bytes_of(name)] = '\0';
    if (bytes_of(rest) == 0)
        return NULL;
    if (rest.from[0] != ':')
        return "goes on behind its ']'";
    rest.from++;
    return take_port(rest, port) ? NULL : "has no valid port";
}
