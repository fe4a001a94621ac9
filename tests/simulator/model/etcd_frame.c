/* SPDX-License-Identifier: Apache-2.0 */
/* The frames that stand for HTTP/2: four bytes of length, and so many bytes:
 * the kind, flags, four bytes of the call's number, and the rest. */
#include "simulator/model/etcd_internal.h"

#define LENGTH_BYTES 4
#define HEAD_BYTES 6
#define FRAME_MAX (1u << 20)

static void put_number(uint8_t *at, uint32_t number)
{
    for (unsigned i = 0; i < 4; i++)
        at[i] = (uint8_t)(number >> 8 * i);
}

static uint32_t number_at(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
           (uint32_t)at[3] << 24;
}

void etcd_frame_write(struct etcd_writer *out, const struct etcd_frame *frame)
{
    uint8_t head[LENGTH_BYTES + HEAD_BYTES];

    put_number(head, HEAD_BYTES + (uint32_t)frame->bytes.count);
    head[4] = (uint8_t)frame->kind;
    head[5] = frame->flags;
    put_number(head + 6, frame->call);
    etcd_put_raw(out, (struct etcd_bytes){head, sizeof head});
    etcd_put_raw(out, frame->bytes);
}

int etcd_frame_read(struct etcd_bytes received, struct etcd_frame *frame)
{
    uint32_t length;

    if (received.count < LENGTH_BYTES)
        return 0;
    length = number_at(received.at);
    if (length < HEAD_BYTES || length > FRAME_MAX)
        return -1;
    if (received.count - LENGTH_BYTES < length)
        return 0;
    frame->kind = (enum etcd_frame_kind)received.at[4];
    frame->flags = received.at[5];
    frame->call = number_at(received.at + 6);
    frame->bytes = (struct etcd_bytes){received.at + LENGTH_BYTES + HEAD_BYTES,
                                       length - HEAD_BYTES};
    return 1;
}

size_t etcd_frame_bytes(const struct etcd_frame *frame)
{
    return LENGTH_BYTES + HEAD_BYTES + frame->bytes.count;
}
