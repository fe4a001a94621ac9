/* SPDX-License-Identifier: Apache-2.0 */
/* Protocol Buffers, as much as the messages of etcd need: fields that are
 * integers, and fields that are bytes, texts or messages.  It shares nothing
 * with the client's own reader and writer, so that a mistake in those shows. */
#ifndef HF_TESTS_SIMULATOR_MODEL_ETCD_PROTO_H
#define HF_TESTS_SIMULATOR_MODEL_ETCD_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct etcd_bytes {
    const uint8_t *at;
    size_t count;
};

bool etcd_bytes_equal(struct etcd_bytes a, struct etcd_bytes b);
/* Less than, equal to or greater than 0, as memcmp(). */
int etcd_bytes_compare(struct etcd_bytes a, struct etcd_bytes b);
struct etcd_bytes etcd_text(const char *text);

/* --------------------------------------------------------------- reading -- */

/* One field of a message. */
struct etcd_field {
    uint32_t number;
    bool is_bytes;
    uint64_t value; /* of an integer */
    struct etcd_bytes bytes;
};

/* Take the next field out of ${message}.  False: there is none, and then
 * message->at is NULL if the message is not one. */
bool etcd_next_field(struct etcd_bytes *message, struct etcd_field *field);

/* --------------------------------------------------------------- writing -- */

/* A message that is being written; freed with etcd_writer_free(). */
struct etcd_writer {
    uint8_t *at;
    size_t count;
    size_t room;
};

/* Fields that are 0 or empty are left out, as in proto3. */
void etcd_put_integer(struct etcd_writer *writer, uint32_t number,
                      uint64_t value);
void etcd_put_bytes(struct etcd_writer *writer, uint32_t number,
                    struct etcd_bytes bytes);
/* A message is written even if it is empty, because its presence counts. */
void etcd_put_message(struct etcd_writer *writer, uint32_t number,
                      const struct etcd_writer *message);
void etcd_put_raw(struct etcd_writer *writer, struct etcd_bytes bytes);
struct etcd_bytes etcd_written(const struct etcd_writer *writer);
void etcd_writer_free(struct etcd_writer *writer);

#endif
