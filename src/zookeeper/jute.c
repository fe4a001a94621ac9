/* SPDX-License-Identifier: Apache-2.0 */
/* The writer grows its buffer by doubling.  A failed allocation sets .failed
 * and makes all later writes do nothing, so a caller checks once at the end.
 * The reader never reads past its bytes. */
#include "zookeeper/jute.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"

#define MIN_SIZE 256

/* ---------------------------------------------------------------- writer -- */

/* Extend the writer by ${count} bytes and return where they begin.  NULL if it
 * only counts, and, with .failed set, if there is no memory. */
static uint8_t *room(struct hf_jute_writer *writer, size_t count)
{
    size_t size = writer->size < MIN_SIZE ? MIN_SIZE : writer->size;
    uint8_t *bytes;

    if (writer->counts)
        writer->used =
            count > SIZE_MAX - writer->used ? SIZE_MAX : writer->used + count;
    if (writer->failed || writer->counts)
        return NULL;
    while (size - writer->used < count)
        size *= 2;
    if (size != writer->size) {
        bytes = hf_realloc(writer->bytes, size);
        if (bytes == NULL) {
            writer->failed = true;
            return NULL;
        }
        writer->bytes = bytes;
        writer->size = size;
    }
    bytes = writer->bytes + writer->used;
    writer->used += count;
    return bytes;
}

/* Write ${value} to ${bytes}, big-endian. */
static void store_int(uint8_t *bytes, uint32_t value)
{
    bytes[0] = (uint8_t)(value >> 24);
    bytes[1] = (uint8_t)(value >> 16);
    bytes[2] = (uint8_t)(value >> 8);
    bytes[3] = (uint8_t)value;
}

void hf_jute_put_byte(struct hf_jute_writer *writer, uint8_t value)
{
    uint8_t *bytes = room(writer, 1);

    if (bytes != NULL)
        *bytes = value;
}

void hf_jute_put_bool(struct hf_jute_writer *writer, bool value)
{
    hf_jute_put_byte(writer, value);
}

void hf_jute_put_int(struct hf_jute_writer *writer, int32_t value)
{
    uint8_t *bytes = room(writer, 4);

    if (bytes != NULL)
        store_int(bytes, (uint32_t)value);
}

void hf_jute_put_long(struct hf_jute_writer *writer, int64_t value)
{
    uint8_t *bytes = room(writer, 8);

    if (bytes == NULL)
        return;
    store_int(bytes, (uint32_t)((uint64_t)value >> 32));
    store_int(bytes + 4, (uint32_t)(uint64_t)value);
}

void hf_jute_put_bytes(struct hf_jute_writer *writer, const void *bytes,
                       size_t count)
{
    uint8_t *to = count > 0 ? room(writer, count) : NULL;

    if (to != NULL)
        memcpy(to, bytes, count);
}

void hf_jute_put_buffer(struct hf_jute_writer *writer, const void *bytes,
                        size_t count)
{
    assert(writer->counts || count <= INT32_MAX);
    hf_jute_put_int(writer, (int32_t)count);
    hf_jute_put_bytes(writer, bytes, count);
}

void hf_jute_put_null(struct hf_jute_writer *writer)
{
    hf_jute_put_int(writer, -1);
}

void hf_jute_put_string(struct hf_jute_writer *writer, const char *text)
{
    hf_jute_put_buffer(writer, text, strlen(text));
}

size_t hf_jute_begin_frame(struct hf_jute_writer *writer)
{
    size_t begin = writer->used;

    hf_jute_put_int(writer, 0);
    return begin;
}

void hf_jute_set_int(struct hf_jute_writer *writer, size_t at, int32_t value)
{
    if (writer->failed)
        return;
    assert(writer->used >= at + 4);
    store_int(writer->bytes + at, (uint32_t)value);
}

void hf_jute_end_frame(struct hf_jute_writer *writer, size_t begin)
{
    hf_jute_set_int(writer, begin, (int32_t)(writer->used - begin - 4));
}

void hf_jute_consume(struct hf_jute_writer *writer, size_t count)
{
    assert(count <= writer->used);
    writer->used -= count;
    if (writer->used > 0)
        memmove(writer->bytes, writer->bytes + count, writer->used);
}

void hf_jute_free(struct hf_jute_writer *writer)
{
    if (writer->bytes != NULL)
        explicit_bzero(writer->bytes, writer->size); /* credentials */
    hf_free(writer->bytes);
    *writer = (struct hf_jute_writer){0};
}

/* ---------------------------------------------------------------- reader -- */

/* Consume the next ${count} bytes and return them.  NULL, with .failed set, if
 * there are fewer. */
static const uint8_t *take(struct hf_jute_reader *reader, size_t count)
{
    const uint8_t *bytes = reader->bytes;

    if (reader->failed || count > reader->left) {
        reader->failed = true;
        return NULL;
    }
    reader->bytes += count;
    reader->left -= count;
    return bytes;
}

/* The big-endian integer at ${bytes}. */
static uint32_t load_int(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
           (uint32_t)bytes[2] << 8 | bytes[3];
}

uint8_t hf_jute_get_byte(struct hf_jute_reader *reader)
{
    const uint8_t *bytes = take(reader, 1);

    return bytes != NULL ? *bytes : 0;
}

bool hf_jute_get_bool(struct hf_jute_reader *reader)
{
    return hf_jute_get_byte(reader) != 0;
}

int32_t hf_jute_get_int(struct hf_jute_reader *reader)
{
    const uint8_t *bytes = take(reader, 4);

    return bytes != NULL ? (int32_t)load_int(bytes) : 0;
}

int64_t hf_jute_get_long(struct hf_jute_reader *reader)
{
    const uint8_t *bytes = take(reader, 8);

    if (bytes == NULL)
        return 0;
    return (int64_t)((uint64_t)load_int(bytes) << 32 | load_int(bytes + 4));
}

/* A length below -1 is malformed and sets .failed. */
struct hf_jute_piece hf_jute_get_buffer(struct hf_jute_reader *reader)
{
    struct hf_jute_piece piece = {NULL, 0};
    int32_t count = hf_jute_get_int(reader);

    if (count == -1)
        return piece;
    if (count < 0) {
        reader->failed = true;
        return piece;
    }
    piece.bytes = (const char *)take(reader, (size_t)count);
    piece.count = piece.bytes != NULL ? (size_t)count : 0;
    return piece;
}

/* The bound keeps a malformed length from causing a huge allocation. */
size_t hf_jute_get_count(struct hf_jute_reader *reader, size_t least)
{
    int32_t count = hf_jute_get_int(reader);

    assert(least > 0);
    if (count == -1)
        return 0;
    if (count < 0 || (size_t)count > reader->left / least) {
        reader->failed = true;
        return 0;
    }
    return (size_t)count;
}
