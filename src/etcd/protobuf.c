/* SPDX-License-Identifier: Apache-2.0 */
/* A field is a tag, (number << 3 | wire type) as a varint, and a value.  A
 * varint has seven bits of the number in each byte, the lowest first, and the
 * highest bit set in all bytes but the last. */
#include "etcd/protobuf.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"

#define VARINT_BYTES 10 /* of a number with 64 bits */
#define NUMBER_MAX ((1u << 29) - 1)

enum wire_type {
    WIRE_VARINT = 0,
    WIRE_FIXED_64 = 1,
    WIRE_BYTES = 2,
    WIRE_FIXED_32 = 5,
};

bool hf_etcd_bytes_equal(struct hf_etcd_bytes a, struct hf_etcd_bytes b)
{
    return a.count == b.count &&
           (a.count == 0 || memcmp(a.bytes, b.bytes, a.count) == 0);
}

struct hf_etcd_bytes hf_etcd_bytes_of(const char *text)
{
    return (struct hf_etcd_bytes){text, strlen(text)};
}

/* --------------------------------------------------------------- writing -- */

void hf_etcd_buffer_free(struct hf_etcd_buffer *buffer)
{
    hf_free(buffer->bytes);
    *buffer = (struct hf_etcd_buffer){0};
}

void hf_etcd_buffer_clear(struct hf_etcd_buffer *buffer)
{
    *buffer =
        (struct hf_etcd_buffer){.bytes = buffer->bytes, .room = buffer->room};
}

/* Make room for ${count} bytes at the end and return where they begin; NULL if
 * the buffer has failed. */
static unsigned char *append(struct hf_etcd_buffer *buffer, size_t count)
{
    if (buffer->failed || count > SIZE_MAX - buffer->used ||
        !HF_ARRAY_ROOM(&buffer->bytes, &buffer->room, buffer->used + count)) {
        buffer->failed = true;
        return NULL;
    }
    buffer->used += count;
    return buffer->bytes + buffer->used - count;
}

void hf_etcd_put_raw(struct hf_etcd_buffer *buffer, const void *bytes,
                     size_t count)
{
    unsigned char *at;

    if (count > 0 && (at = append(buffer, count)) != NULL)
        memcpy(at, bytes, count);
}

/* Write ${value} to ${bytes} and return the number of bytes written. */
static size_t encode(uint64_t value, unsigned char bytes[VARINT_BYTES])
{
    size_t count = 0;

    for (; value >= 0x80; value >>= 7)
        bytes[count++] = (unsigned char)(value | 0x80);
    bytes[count++] = (unsigned char)value;
    return count;
}

static void put_varint(struct hf_etcd_buffer *buffer, uint64_t value)
{
    unsigned char bytes[VARINT_BYTES];

    hf_etcd_put_raw(buffer, bytes, encode(value, bytes));
}

static void put_tag(struct hf_etcd_buffer *buffer, unsigned number,
                    enum wire_type type)
{
    assert(number >= 1 && number <= NUMBER_MAX);
    put_varint(buffer, (uint64_t)number << 3 | (unsigned)type);
}

void hf_etcd_put_unsigned(struct hf_etcd_buffer *buffer, unsigned number,
                          uint64_t value)
{
    if (value != 0)
        hf_etcd_put_signed_always(buffer, number, (int64_t)value);
}

void hf_etcd_put_signed(struct hf_etcd_buffer *buffer, unsigned number,
                        int64_t value)
{
    if (value != 0)
        hf_etcd_put_signed_always(buffer, number, value);
}

void hf_etcd_put_signed_always(struct hf_etcd_buffer *buffer, unsigned number,
                               int64_t value)
{
    put_tag(buffer, number, WIRE_VARINT);
    put_varint(buffer, (uint64_t)value);
}

void hf_etcd_put_bool(struct hf_etcd_buffer *buffer, unsigned number,
                      bool value)
{
    hf_etcd_put_unsigned(buffer, number, value);
}

void hf_etcd_put_bytes(struct hf_etcd_buffer *buffer, unsigned number,
                       struct hf_etcd_bytes value)
{
    if (value.count == 0)
        return;
    put_tag(buffer, number, WIRE_BYTES);
    put_varint(buffer, value.count);
    hf_etcd_put_raw(buffer, value.bytes, value.count);
}

size_t hf_etcd_put_begin(struct hf_etcd_buffer *buffer, unsigned number)
{
    put_tag(buffer, number, WIRE_BYTES);
    return buffer->used;
}

/* The length is written in front of the message but is known only at its end.
 * So the message is moved to make room. */
void hf_etcd_put_end(struct hf_etcd_buffer *buffer, size_t begin)
{
    unsigned char length[VARINT_BYTES];
    size_t bytes = buffer->used - begin;
    size_t count = encode(bytes, length);

    assert(begin <= buffer->used);
    if (append(buffer, count) == NULL)
        return;
    memmove(buffer->bytes + begin + count, buffer->bytes + begin, bytes);
    memcpy(buffer->bytes + begin, length, count);
}

/* --------------------------------------------------------------- reading -- */

struct hf_etcd_reader hf_etcd_reader_of(struct hf_etcd_bytes message)
{
    const unsigned char *at = message.bytes;

    return (struct hf_etcd_reader){
        at, message.count > 0 ? at + message.count : at, false};
}

static bool fail(struct hf_etcd_reader *reader)
{
    reader->failed = true;
    return false;
}

/* Read a varint.  One with more than 64 bits is an error. */
static bool get_varint(struct hf_etcd_reader *reader, uint64_t *value)
{
    unsigned shift = 0;
    unsigned char byte;

    *value = 0;
    do {
        if (reader->at == reader->end || shift > 63)
            return fail(reader);
        byte = *reader->at++;
        if (shift == 63 && byte > 1)
            return fail(reader);
        *value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte >= 0x80);
    return true;
}

/* Read the next ${count} bytes. */
static bool get_bytes(struct hf_etcd_reader *reader, uint64_t count,
                      struct hf_etcd_bytes *bytes)
{
    if (count > (size_t)(reader->end - reader->at))
        return fail(reader);
    *bytes = (struct hf_etcd_bytes){reader->at, (size_t)count};
    reader->at += count;
    return true;
}

bool hf_etcd_reader_next(struct hf_etcd_reader *reader,
                         struct hf_etcd_field *field)
{
    uint64_t tag, length;

    *field = (struct hf_etcd_field){0};
    if (reader->failed || reader->at == reader->end)
        return false;
    if (!get_varint(reader, &tag))
        return false;
    if (tag >> 3 == 0 || tag >> 3 > NUMBER_MAX)
        return fail(reader);
    field->number = (unsigned)(tag >> 3);
    switch (tag & 7) {
    case WIRE_VARINT:
        field->is_number = true;
        return get_varint(reader, &field->value);
    case WIRE_FIXED_64:
        return get_bytes(reader, 8, &field->bytes);
    case WIRE_BYTES:
        return get_varint(reader, &length) &&
               get_bytes(reader, length, &field->bytes);
    case WIRE_FIXED_32:
        return get_bytes(reader, 4, &field->bytes);
    default:
        return fail(reader);
    }
}

uint64_t hf_etcd_field_unsigned(struct hf_etcd_reader *reader,
                                const struct hf_etcd_field *field)
{
    if (!field->is_number)
        reader->failed = true;
    return field->value;
}

int64_t hf_etcd_field_signed(struct hf_etcd_reader *reader,
                             const struct hf_etcd_field *field)
{
    return (int64_t)hf_etcd_field_unsigned(reader, field);
}

bool hf_etcd_field_bool(struct hf_etcd_reader *reader,
                        const struct hf_etcd_field *field)
{
    return hf_etcd_field_unsigned(reader, field) != 0;
}

struct hf_etcd_bytes hf_etcd_field_bytes(struct hf_etcd_reader *reader,
                                         const struct hf_etcd_field *field)
{
    if (field->is_number)
        reader->failed = true;
    return field->bytes;
}
