/* SPDX-License-Identifier: Apache-2.0 */
/* See resp.h.  A command is a RESP array of bulk strings. */
#include "engines/redis/resp.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"

#define ROOM_MIN 4096

#define DIGITS_MAX (HF_RESP_NUMBER_BYTES - 1)

/* -------------------------------------------------------------- commands -- */

/* Make room for ${count} more bytes, or set .failed. */
static bool make_room(struct hf_resp *resp, size_t count)
{
    size_t room = resp->room > 0 ? resp->room : ROOM_MIN;
    char *bytes;

    while (room - resp->used < count)
        room *= 2;
    if (resp->failed || room == resp->room)
        return !resp->failed;
    bytes = hf_realloc(resp->bytes, room);
    if (bytes == NULL) {
        resp->failed = true;
        return false;
    }
    resp->bytes = bytes;
    resp->room = room;
    return true;
}

static void append(struct hf_resp *resp, const void *bytes, size_t count)
{
    if (!make_room(resp, count))
        return;
    memcpy(resp->bytes + resp->used, bytes, count);
    resp->used += count;
}

/* Write ${number} so that it ends at the end of ${text}.  Returns where it
 * begins. */
static char *write_digits(char text[DIGITS_MAX], uint64_t number)
{
    size_t at = DIGITS_MAX;

    do
        text[--at] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    return &text[at];
}

const char *hf_resp_number(char text[HF_RESP_NUMBER_BYTES], uint64_t number)
{
    text[DIGITS_MAX] = '\0';
    return write_digits(text, number);
}

static void append_header(struct hf_resp *resp, char kind, size_t count)
{
    char text[1 + DIGITS_MAX + 2];
    char *end = text + 1 + DIGITS_MAX;
    char *at = write_digits(text + 1, count);

    *--at = kind;
    memcpy(end, "\r\n", 2);
    append(resp, at, (size_t)(end + 2 - at));
}

void hf_resp_begin(struct hf_resp *resp, size_t count)
{
    append_header(resp, '*', count);
}

void hf_resp_put(struct hf_resp *resp, const void *bytes, size_t count)
{
    append_header(resp, '$', count);
    if (count > 0)
        append(resp, bytes, count);
    append(resp, "\r\n", 2);
}

void hf_resp_put_joined(struct hf_resp *resp, const char *const texts[],
                        size_t count)
{
    size_t bytes = count - 1;

    for (size_t i = 0; i < count; i++)
        bytes += strlen(texts[i]);
    append_header(resp, '$', bytes);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            append(resp, " ", 1);
        append(resp, texts[i], strlen(texts[i]));
    }
    append(resp, "\r\n", 2);
}

void hf_resp_put_text(struct hf_resp *resp, const char *text)
{
    hf_resp_put(resp, text, strlen(text));
}

void hf_resp_put_raw(struct hf_resp *resp, const void *bytes, size_t count)
{
    append(resp, bytes, count);
}

void hf_resp_put_number(struct hf_resp *resp, uint64_t number)
{
    char text[DIGITS_MAX];
    const char *at = write_digits(text, number);

    hf_resp_put(resp, at, (size_t)(text + DIGITS_MAX - at));
}

void hf_resp_drop(struct hf_resp *resp, size_t count)
{
    assert(count <= resp->used);
    resp->used -= count;
    if (resp->used > 0 && count > 0)
        memmove(resp->bytes, resp->bytes + count, resp->used);
}

void hf_resp_free(struct hf_resp *resp)
{
    if (resp->bytes != NULL)
        explicit_bzero(resp->bytes, resp->room); /* it may hold credentials */
    hf_free(resp->bytes);
    *resp = (struct hf_resp){0};
}

/* --------------------------------------------------------------- replies -- */

/* Replaces a function of hiredis, to bound what a reply allocates.  hiredis
 * allocates an array for as many elements as the server announces, before the
 * first one has come, and an object for each element, however short.  So the
 * elements of a reply are counted, those of inner arrays included.  If this
 * returns NULL, hiredis reports an error and the connection ends. */
static void *create_array(const redisReadTask *task, hf_resp_elements elements)
{
    struct hf_resp_reader *reader = task->privdata;

    if (task->parent == NULL)
        reader->elements = 0;
    if ((long long)elements < 0 || (size_t)elements > HF_RESP_ELEMENTS_MAX ||
        reader->elements + (size_t)elements > HF_RESP_ELEMENTS_ALL_MAX)
        return NULL;
    reader->elements += (size_t)elements;
    return reader->create_array(task, elements);
}

bool hf_resp_reader_open(struct hf_resp_reader *reader)
{
    assert(reader->reader == NULL);
    reader->unread_bytes = 0;
    reader->reader = redisReaderCreate();
    if (reader->reader == NULL)
        return false;
    reader->functions = *reader->reader->fn;
    reader->create_array = reader->functions.createArray;
    reader->functions.createArray = create_array;
    reader->reader->fn = &reader->functions;
    reader->reader->privdata = reader;
    return true;
}

void hf_resp_reader_close(struct hf_resp_reader *reader)
{
    if (reader->reader != NULL)
        redisReaderFree(reader->reader);
    reader->reader = NULL;
}

enum hf_resp_feed hf_resp_reader_feed(struct hf_resp_reader *reader,
                                      const void *bytes, size_t count)
{
    reader->unread_bytes += count;
    if (reader->unread_bytes > HF_RESP_REPLY_BYTES_MAX)
        return HF_RESP_TOO_LONG;
    return redisReaderFeed(reader->reader, bytes, count) == REDIS_OK
               ? HF_RESP_FED
               : HF_RESP_NO_MEMORY;
}

bool hf_resp_reader_next(struct hf_resp_reader *reader,
                         struct redisReply **reply)
{
    void *next = NULL;

    if (redisReaderGetReply(reader->reader, &next) != REDIS_OK)
        return false;
    *reply = next;
    if (next != NULL)
        reader->unread_bytes = reader->reader->len - reader->reader->pos;
    return true;
}
