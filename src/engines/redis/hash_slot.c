/* SPDX-License-Identifier: Apache-2.0 */
/* Computes hash slots, and parses redirects and lists of nodes. */
#include "engines/redis/hash_slot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engines/redis/command.h"

/* ------------------------------------------------------------ hash slots -- */

/* CRC16/XMODEM: polynomial 0x1021, initial value 0, not reflected or inverted.
 * "123456789" gives 0x31c3. */
static unsigned crc16(const char *text, size_t bytes)
{
    unsigned crc = 0;

    for (size_t i = 0; i < bytes; i++) {
        crc ^= (unsigned)(unsigned char)text[i] << 8;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc & 0x8000) != 0 ? (crc << 1) ^ 0x1021 : crc << 1;
    }
    return crc & 0xffff;
}

unsigned hf_redis_hash_slot(const char *key)
{
    const char *open = strchr(key, '{');
    const char *close = open != NULL ? strchr(open, '}') : NULL;

    if (close == NULL || close == open + 1)
        return crc16(key, strlen(key)) % HF_REDIS_HASH_SLOTS;
    return crc16(open + 1, (size_t)(close - open - 1)) % HF_REDIS_HASH_SLOTS;
}

unsigned hf_redis_hash_slot_of_queue(const char *queue)
{
    char key[HF_REDIS_KEY_BYTES];

    hf_redis_key(queue, "queue", key);
    return hf_redis_hash_slot(key);
}

/* ------------------------------------------------------------- redirects -- */

/* Parse digits up to ${end} as a number of at most ${max}, and move ${at}
 * behind ${end}. */
static bool parse_number(const char **at, char end, unsigned max,
                         unsigned *number)
{
    unsigned value = 0;
    const char *digit;

    for (digit = *at; *digit >= '0' && *digit <= '9'; digit++) {
        value = value * 10 + (unsigned)(*digit - '0');
        if (value > max)
            return false;
    }
    if (digit == *at || *digit != end)
        return false;
    *number = value;
    *at = digit + (end != '\0' ? 1 : 0);
    return true;
}

/* Parse "host:port".  The host may have colons.  If the node does not know the
 * host, it is empty or "?", and .name becomes "". */
static bool parse_host(struct hf_redis_host *host, const char *text)
{
    const char *colon = strrchr(text, ':');
    const char *port = colon != NULL ? colon + 1 : NULL;
    unsigned number;
    size_t bytes;

    if (colon == NULL || !parse_number(&port, '\0', UINT16_MAX, &number) ||
        number == 0)
        return false;
    bytes = (size_t)(colon - text);
    if (bytes == 1 && text[0] == '?')
        bytes = 0;
    if (bytes >= sizeof host->name)
        return false;
    memcpy(host->name, text, bytes);
    host->name[bytes] = '\0';
    host->port = (uint16_t)number;
    return true;
}

bool hf_redis_redirect_read(struct hf_redis_redirect *redirect,
                            const char *error)
{
    static const struct {
        const char *word;
        enum hf_redis_redirect_kind kind;
    } redirect_words[] = {{"MOVED ", HF_REDIS_MOVED}, {"ASK ", HF_REDIS_ASK}};

    for (size_t i = 0; i < sizeof redirect_words / sizeof redirect_words[0];
         i++) {
        size_t bytes = strlen(redirect_words[i].word);
        const char *at = error + bytes;

        if (strncmp(error, redirect_words[i].word, bytes) != 0)
            continue;
        *redirect = (struct hf_redis_redirect){.kind = redirect_words[i].kind};
        return parse_number(&at, ' ', HF_REDIS_HASH_SLOTS - 1,
                            &redirect->slot) &&
               parse_host(&redirect->to, at);
    }
    return false;
}

/* --------------------------------------------------------- list of nodes -- */

/* A part of a text. */
struct slice {
    const char *from;
    const char *end;
};

/* Cut the part before the first ${c}, and that ${c}, off ${in}, and return the
 * part.  If there is no ${c}, the part is all of ${in}. */
static struct slice cut_at(struct slice *in, char c)
{
    const char *at = memchr(in->from, c, (size_t)(in->end - in->from));
    struct slice left = {in->from, at != NULL ? at : in->end};

    in->from = at != NULL ? at + 1 : in->end;
    return left;
}

static bool equals(struct slice slice, const char *text)
{
    size_t bytes = strlen(text);

    return (size_t)(slice.end - slice.from) == bytes &&
           memcmp(slice.from, text, bytes) == 0;
}

static bool has_flag(struct slice flags, const char *flag)
{
    while (flags.from < flags.end) {
        if (equals(cut_at(&flags, ','), flag))
            return true;
    }
    return false;
}

/* Returns whether ${names}, "address:port@bus,hostname,key=value", is the entry
 * of ${host}.  The address may have colons. */
static bool is_address_of(struct slice names, const struct hf_redis_host *host)
{
    struct slice address = cut_at(&names, ',');
    struct slice hostname = cut_at(&names, ',');
    struct slice address_and_port = cut_at(&address, '@');
    const char *colon =
        memrchr(address_and_port.from, ':',
                (size_t)(address_and_port.end - address_and_port.from));
    char port[8];

    (void)snprintf(port, sizeof port, "%u", (unsigned)host->port);
    if (colon == NULL ||
        !equals((struct slice){colon + 1, address_and_port.end}, port))
        return false;
    return host->name[0] == '\0' ||
           equals((struct slice){address_and_port.from, colon}, host->name) ||
           equals(hostname, host->name);
}

bool hf_redis_nodes_include(const char *nodes, const struct hf_redis_host *host)
{
    struct slice rest = {nodes, nodes + strlen(nodes)};
    struct slice line, names, flags;

    while (rest.from < rest.end) {
        line = cut_at(&rest, '\n');
        (void)cut_at(&line, ' '); /* the node's id */
        names = cut_at(&line, ' ');
        flags = cut_at(&line, ' ');
        if (is_address_of(names, host) && !has_flag(flags, "handshake") &&
            !has_flag(flags, "noaddr"))
            return true;
    }
    return false;
}
