/* SPDX-License-Identifier: Apache-2.0 */
/* See scan.h.  Nothing here keeps a state. */
#include "engines/redis/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engines/redis/hash_slot.h"
#include "engines/redis/server_info.h"

#define HEAD "holdfast:{"

/* Room for a pattern: each character of a key, and a '\\' before it. */
#define PATTERN_BYTES (2 * HF_REDIS_KEY_BYTES)

/* A cursor of a NAMES, parsed (scan.h). */
struct cursor {
    unsigned slot;
    char run_id[HF_REDIS_RUN_ID_BYTES];
    char scan[32]; /* the cursor of SCAN */
};

/* Parse the cursor of ${call}.  If there is none, or it makes no sense, the
 * scan begins at the node of slot 0. */
static struct cursor read_cursor(const struct hf_store_call *call)
{
    const struct hf_names_request *names = call->names;
    struct cursor cursor = {.scan = "0"};
    char text[HF_REDIS_CURSOR_BYTES] = "";
    unsigned long slot;
    char *end, *space;

    if (names->cursor_bytes == 0 || names->cursor_bytes >= sizeof text)
        return cursor;
    memcpy(text, names->cursor, names->cursor_bytes);
    slot = strtoul(text, &end, 10);
    if (*end != ' ' || (space = strchr(end + 1, ' ')) == NULL)
        return cursor;
    *space = '\0';
    if (slot < HF_REDIS_HASH_SLOTS)
        cursor.slot = (unsigned)slot;
    (void)snprintf(cursor.run_id, sizeof cursor.run_id, "%s", end + 1);
    (void)snprintf(cursor.scan, sizeof cursor.scan, "%s", space + 1);
    return cursor;
}

unsigned hf_redis_scan_slot(const struct hf_store_call *call)
{
    return read_cursor(call).slot;
}

/* Write the pattern of the keys "last", "queue" and "participants" of all
 * queues whose names begin with ${prefix}. */
static void format_pattern(const char *prefix, char pattern[PATTERN_BYTES])
{
    char key[HF_REDIS_KEY_BYTES];
    char *to = pattern;

    hf_redis_key(prefix, "", key);
    key[strlen(key) - strlen("}:")] = '\0';
    for (const char *at = key; *at != '\0'; at++) {
        if (strchr("*?[]^\\", *at) != NULL)
            *to++ = '\\';
        *to++ = *at;
    }
    (void)stpcpy(to, "*}:[lqp]*");
}

void hf_redis_scan_put(struct hf_resp *resp, const struct hf_store_call *call,
                       const char *run_id)
{
    struct cursor cursor = read_cursor(call);
    char pattern[PATTERN_BYTES];
    bool same = strcmp(cursor.run_id, run_id) == 0;

    format_pattern(call->prefix, pattern);
    hf_resp_begin(resp, 6);
    hf_resp_put_text(resp, "SCAN");
    hf_resp_put_text(resp, same ? cursor.scan : "0");
    hf_resp_put_text(resp, "MATCH");
    hf_resp_put_text(resp, pattern);
    hf_resp_put_text(resp, "COUNT");
    hf_resp_put_number(resp, HF_REDIS_SCAN_COUNT);
}

size_t hf_redis_scan_next(const struct hf_store_call *call, const char *run_id,
                          const char *next, char cursor[HF_REDIS_CURSOR_BYTES])
{
    int bytes;

    if (strcmp(next, "0") == 0)
        return 0;
    bytes = snprintf(cursor, HF_REDIS_CURSOR_BYTES, "%u %s %.24s",
                     hf_redis_scan_slot(call), run_id, next);
    return (size_t)bytes;
}

size_t hf_redis_scan_begin(unsigned slot, char cursor[HF_REDIS_CURSOR_BYTES])
{
    return (size_t)snprintf(cursor, HF_REDIS_CURSOR_BYTES, "%u  0", slot);
}

/* The value of a hexadecimal digit, or -1. */
static int digit(char c)
{
    static const char digits[] = "0123456789ABCDEF";
    const char *found = c != '\0' ? strchr(digits, c) : NULL;

    return found != NULL ? (int)(found - digits) : -1;
}

/* Decode the name at ${from}, which hf_redis_key() has encoded and which ends
 * at '}'.  Returns what is behind the '}', or NULL if the name is malformed. */
static const char *decode(const char *from, char *to)
{
    for (; *from != '}'; from++) {
        int high = *from == '%' ? digit(from[1]) : 0;
        int low = *from == '%' && high >= 0 ? digit(from[2]) : 0;

        if (*from == '\0' || *from == '{' || high < 0 || low < 0)
            return NULL;
        if (*from != '%') {
            *to++ = *from;
            continue;
        }
        *to = (char)(high << 4 | low);
        if (*to != '%' && *to != '{' && *to != '}')
            return NULL;
        to++;
        from += 2;
    }
    *to = '\0';
    return from + 1;
}

enum hf_redis_scan_key hf_redis_scan_read_key(const char *key,
                                              char queue[HF_REDIS_KEY_BYTES])
{
    const char *rest;
    size_t bytes;

    if (strlen(key) >= HF_REDIS_KEY_BYTES ||
        strncmp(key, HEAD, strlen(HEAD)) != 0 ||
        (rest = decode(key + strlen(HEAD), queue)) == NULL)
        return HF_REDIS_SCAN_NO_KEY;
    bytes = strlen(queue);
    /* A queue whose name ends with '/' has the flags of a barrier and is no
     * lock. */
    if (bytes == 0 || queue[bytes - 1] == '/')
        return HF_REDIS_SCAN_NO_KEY;
    if (strcmp(rest, ":participants") == 0)
        return HF_REDIS_SCAN_PARTICIPANTS;
    if (strcmp(rest, ":queue") == 0)
        return HF_REDIS_SCAN_QUEUE;
    return strcmp(rest, ":last") == 0 ? HF_REDIS_SCAN_LAST
                                      : HF_REDIS_SCAN_NO_KEY;
}

void hf_redis_scan_put_last(struct hf_resp *resp, const char *queue)
{
    char key[HF_REDIS_KEY_BYTES];

    hf_redis_key(queue, "last", key);
    hf_resp_begin(resp, 2);
    hf_resp_put_text(resp, "GET");
    hf_resp_put_text(resp, key);
}

bool hf_redis_scan_last_is_open(const char *text)
{
    return text == NULL || strncmp(text, "2 ", 2) != 0 ||
           text[2 + strspn(text + 2, "0123456789")] != '\0';
}
