/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/etcd/key_name.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/sha256.h"

#define LEASE_DIGITS_MOST 16
#define SLOT_DIGITS_MOST 9
#define READY "/ready" /* what follows "NAME/" */
#define PARTICIPANT "p"
#define MISSING "never"
#define EVICTED "-evicted"

/* ---------------------------------------------------------------- format -- */

/* Return ${bytes}, the result of snprintf().  It always fits, because the
 * length of keys is limited. */
static size_t checked(int bytes)
{
    assert(bytes > 0 && bytes < (int)HF_ETCD_KEY_BYTES);
    return (size_t)bytes;
}

size_t hf_etcd_engine_queue_prefix(const char *prefix, const char *queue,
                                   char key[HF_ETCD_KEY_BYTES])
{
    return checked(snprintf(key, HF_ETCD_KEY_BYTES, "%s%s/", prefix, queue));
}

size_t hf_etcd_engine_ticket_key(const char *prefix, const char *queue,
                                 int64_t lease, enum hf_ticket_kind kind,
                                 const struct hf_ticket_id *id, uint32_t slot,
                                 char key[HF_ETCD_KEY_BYTES])
{
    char text[HF_TICKET_ID_TEXT_BYTES];

    assert(kind == HF_TICKET_ELECTION || slot != HF_ETCD_NO_SLOT);
    if (kind != HF_TICKET_ELECTION)
        return checked(
            snprintf(key, HF_ETCD_KEY_BYTES, "%s%s/%" PRIx64 "-%s%" PRIu32,
                     prefix, queue, (uint64_t)lease,
                     kind == HF_TICKET_PARTICIPANT ? PARTICIPANT : "", slot));
    hf_ticket_id_format(id, text);
    return checked(snprintf(key, HF_ETCD_KEY_BYTES, "%s%s/%" PRIx64 "-%s",
                            prefix, queue, (uint64_t)lease, text));
}

size_t hf_etcd_engine_flag_key(const char *prefix, const char *queue,
                               enum hf_ticket_kind kind,
                               char key[HF_ETCD_KEY_BYTES])
{
    assert(kind == HF_TICKET_BARRIER || kind == HF_TICKET_READY);
    return checked(snprintf(key, HF_ETCD_KEY_BYTES, "%s%s%s", prefix, queue,
                            kind == HF_TICKET_READY ? "/" READY : ""));
}

size_t hf_etcd_engine_eviction_key(const char *prefix, int64_t lease,
                                   char key[HF_ETCD_KEY_BYTES])
{
    return checked(snprintf(key, HF_ETCD_KEY_BYTES,
                            "%s" HF_ETCD_SESSIONS "/%" PRIx64 EVICTED, prefix,
                            (uint64_t)lease));
}

size_t hf_etcd_engine_missing_key(const char *prefix,
                                  char key[HF_ETCD_KEY_BYTES])
{
    return checked(snprintf(key, HF_ETCD_KEY_BYTES,
                            "%s" HF_ETCD_SESSIONS "/" MISSING, prefix));
}

/* ----------------------------------------------------------------- parse -- */

/* The value of a hexadecimal digit in lower case, or -1. */
static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Read the hexadecimal digits of a lease at the start of ${text}, without zeros
 * in front, as Go prints them.  Returns the number of digits; 0 if there is no
 * lease. */
static size_t read_lease(const char *text, size_t bytes, int64_t *lease)
{
    uint64_t value = 0;
    size_t at = 0;

    for (; at < bytes && hex_value(text[at]) >= 0; at++) {
        if (at == LEASE_DIGITS_MOST || (at > 0 && value == 0))
            return 0;
        value = value << 4 | (uint64_t)hex_value(text[at]);
    }
    *lease = (int64_t)value;
    return *lease > 0 ? at : 0;
}

/* Read ${text} as a decimal number without zeros in front. */
static bool read_slot(const char *text, size_t bytes, uint32_t *slot)
{
    uint32_t value = 0;

    if (bytes == 0 || bytes > SLOT_DIGITS_MOST || (bytes > 1 && text[0] == '0'))
        return false;
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = 10 * value + (uint32_t)(text[i] - '0');
    }
    *slot = value;
    return true;
}

/* Is ${text} ${word}, a '/' and digits, as in a key of Go's RWMutex? */
static bool is_go_rwmutex(const char *text, size_t bytes, const char *word)
{
    size_t at = strlen(word);

    if (bytes <= at + 1 || memcmp(text, word, at) != 0 || text[at] != '/')
        return false;
    for (at++; at < bytes; at++)
        if (text[at] < '0' || text[at] > '9')
            return false;
    return true;
}

struct hf_etcd_engine_key_name hf_etcd_engine_key_name_parse(const char *queue,
                                                             const char *suffix,
                                                             size_t bytes)
{
    struct hf_etcd_engine_key_name name = {.form = HF_ETCD_KEY_FOREIGN,
                                           .slot = HF_ETCD_NO_SLOT};
    size_t digits = read_lease(suffix, bytes, &name.lease);
    size_t rest = digits > 0 && digits < bytes && suffix[digits] == '-'
                      ? bytes - digits - 1
                      : 0;
    const char *text = suffix + bytes - rest;

    if (hf_etcd_engine_queue_is_reserved(queue))
        name.form = HF_ETCD_KEY_SESSION;
    else if (rest > 0 && read_slot(text, rest, &name.slot))
        name.form = HF_ETCD_KEY_TICKET;
    else if (rest > 0 && text[0] == PARTICIPANT[0] &&
             read_slot(text + 1, rest - 1, &name.slot))
        name.form = HF_ETCD_KEY_PARTICIPANT;
    else if (rest > 0 && hf_ticket_id_parse(&name.id, text, rest))
        name.form = HF_ETCD_KEY_ELECTION;
    else if (bytes == strlen(READY) && memcmp(suffix, READY, bytes) == 0)
        name.form = HF_ETCD_KEY_READY;
    else if (memchr(suffix, '/', bytes) != NULL &&
             !is_go_rwmutex(suffix, bytes, "read") &&
             !is_go_rwmutex(suffix, bytes, "write"))
        name.form = HF_ETCD_KEY_DEEPER;
    return name;
}

/* Marked as a UUID of version 8 ("vendor specific", RFC 9562). */
struct hf_ticket_id hf_etcd_engine_foreign_id(const char *suffix, size_t bytes,
                                              int64_t create_revision)
{
    uint8_t digest[HF_SHA256_BYTES];
    struct hf_ticket_id id;

    hf_sha256(suffix, bytes, digest);
    memcpy(id.bytes, digest, sizeof id.bytes);
    for (size_t i = 0; i < sizeof create_revision; i++)
        id.bytes[i] ^= (uint8_t)((uint64_t)create_revision >> 8 * i);
    id.bytes[6] = (uint8_t)((id.bytes[6] & 0x0f) | 0x80);
    id.bytes[8] = (uint8_t)((id.bytes[8] & 0x3f) | 0x80);
    return id;
}

bool hf_etcd_engine_queue_is_reserved(const char *queue)
{
    size_t bytes = strlen(HF_ETCD_SESSIONS);

    return strncmp(queue, HF_ETCD_SESSIONS, bytes) == 0 &&
           (queue[bytes] == '\0' || queue[bytes] == '/');
}
