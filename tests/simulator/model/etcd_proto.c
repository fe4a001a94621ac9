/* SPDX-License-Identifier: Apache-2.0 */
/* The wire format of Protocol Buffers: each field is a number that says which
 * field of which type, and the value. */
#include "simulator/model/etcd_proto.h"

#include <stdlib.h>
#include <string.h>

#include "simulator/model/sim_internal.h"

enum { TYPE_VARINT = 0, TYPE_FIXED64 = 1, TYPE_BYTES = 2, TYPE_FIXED32 = 5 };

#define VARINT_BYTES_MAX 10

bool etcd_bytes_equal(struct etcd_bytes a, struct etcd_bytes b)
{
    return a.count == b.count &&
           (a.count == 0 || memcmp(a.at, b.at, a.count) == 0);
}

int etcd_bytes_compare(struct etcd_bytes a, struct etcd_bytes b)
{
    size_t common = a.count < b.count ? a.count : b.count;
    int order = common == 0 ? 0 : memcmp(a.at, b.at, common);

    if (order != 0)
        return order;
    return a.count < b.count ? -1 : a.count > b.count;
}

struct etcd_bytes etcd_text(const char *text)
{
    return (struct etcd_bytes){(const uint8_t *)text, strlen(text)};
}

/* --------------------------------------------------------------- reading -- */

static bool take_varint(struct etcd_bytes *from, uint64_t *value)
{
    *value = 0;
    for (unsigned i = 0; i < VARINT_BYTES_MAX && i < from->count; i++) {
        *value |= (uint64_t)(from->at[i] & 0x7f) << 7 * i;
        if ((from->at[i] & 0x80) != 0)
            continue;
        from->at += i + 1;
        from->count -= i + 1;
        return true;
    }
    return false;
}

static bool take_value(struct etcd_bytes *from, unsigned type,
                       struct etcd_field *field)
{
    uint64_t bytes;

    field->is_bytes = type == TYPE_BYTES;
    if (type == TYPE_VARINT)
        return take_varint(from, &field->value);
    if (type != TYPE_BYTES || !take_varint(from, &bytes) || bytes > from->count)
        return false;
    field->bytes = (struct etcd_bytes){from->at, (size_t)bytes};
    from->at += bytes;
    from->count -= (size_t)bytes;
    return true;
}

bool etcd_next_field(struct etcd_bytes *message, struct etcd_field *field)
{
    uint64_t key;

    memset(field, 0, sizeof *field);
    if (message->count == 0)
        return false;
    if (take_varint(message, &key)) {
        field->number = (uint32_t)(key >> 3);
        if (take_value(message, (unsigned)(key & 7), field))
            return true;
    }
    message->at = NULL;
    message->count = 0;
    return false;
}

/* --------------------------------------------------------------- writing -- */

void etcd_put_raw(struct etcd_writer *writer, struct etcd_bytes bytes)
{
    if (writer->count + bytes.count > writer->room) {
        writer->room = 2 * (writer->count + bytes.count) + 64;
        writer->at = sim_require_memory(realloc(writer->at, writer->room));
    }
    if (bytes.count > 0)
        memcpy(writer->at + writer->count, bytes.at, bytes.count);
    writer->count += bytes.count;
}

static void put_varint(struct etcd_writer *writer, uint64_t value)
{
    uint8_t bytes[VARINT_BYTES_MAX];
    size_t count = 0;

    do {
        bytes[count++] = (uint8_t)(value & 0x7f) | (value > 0x7f ? 0x80 : 0);
        value >>= 7;
    } while (value > 0);
    etcd_put_raw(writer, (struct etcd_bytes){bytes, count});
}

void etcd_put_integer(struct etcd_writer *writer, uint32_t number,
                      uint64_t value)
{
    if (value == 0)
        return;
    put_varint(writer, (uint64_t)number << 3 | TYPE_VARINT);
    put_varint(writer, value);
}

static void put_field(struct etcd_writer *writer, uint32_t number,
                      struct etcd_bytes bytes)
{
    put_varint(writer, (uint64_t)number << 3 | TYPE_BYTES);
    put_varint(writer, bytes.count);
    etcd_put_raw(writer, bytes);
}

void etcd_put_bytes(struct etcd_writer *writer, uint32_t number,
                    struct etcd_bytes bytes)
{
    if (bytes.count > 0)
        put_field(writer, number, bytes);
}

void etcd_put_message(struct etcd_writer *writer, uint32_t number,
                      const struct etcd_writer *message)
{
    put_field(writer, number, etcd_written(message));
}

struct etcd_bytes etcd_written(const struct etcd_writer *writer)
{
    return (struct etcd_bytes){writer->at, writer->count};
}

void etcd_writer_free(struct etcd_writer *writer)
{
    free(writer->at);
    *writer = (struct etcd_writer){0};
}
