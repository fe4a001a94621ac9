/* SPDX-License-Identifier: Apache-2.0 */
/* Jute, the encoding of ZooKeeper's records: big-endian integers, and strings,
 * buffers and vectors after a length, where -1 stands for none.  See
 * zookeeper-jute/src/main/java/org/apache/jute in ZooKeeper's sources. */
#ifndef HF_ZOOKEEPER_JUTE_H
#define HF_ZOOKEEPER_JUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes on their way out.  All zero is an empty one. */
struct hf_jute_writer {
    uint8_t *bytes;
    size_t used;
    size_t size;
    bool failed; /* for lack of memory: what was written is of no use */
};

void hf_jute_put_byte(struct hf_jute_writer *writer, uint8_t value);
void hf_jute_put_bool(struct hf_jute_writer *writer, bool value);
void hf_jute_put_int(struct hf_jute_writer *writer, int32_t value);
void hf_jute_put_long(struct hf_jute_writer *writer, int64_t value);
/* A buffer, or a string when ${bytes} is UTF-8. */
void hf_jute_put_buffer(struct hf_jute_writer *writer, const void *bytes,
                        size_t count);
void hf_jute_put_string(struct hf_jute_writer *writer, const char *text);

/* A frame is a length and so many bytes: begin one, write its record, end it
 * with what begin returned. */
size_t hf_jute_begin_frame(struct hf_jute_writer *writer);
void hf_jute_end_frame(struct hf_jute_writer *writer, size_t begin);

/* Overwrite the integer at ${at} with ${value}. */
void hf_jute_set_int(struct hf_jute_writer *writer, size_t at, int32_t value);

/* Take the first ${count} bytes away, or everything. */
void hf_jute_drop(struct hf_jute_writer *writer, size_t count);
void hf_jute_free(struct hf_jute_writer *writer);

/* Bytes that came in: whoever reads past the end gets zeros and finds .failed
 * set. */
struct hf_jute_reader {
    const uint8_t *bytes;
    size_t left;
    bool failed;
};

/* A piece of the reader's bytes, not terminated; .bytes is NULL for none. */
struct hf_jute_piece {
    const char *bytes;
    size_t count;
};

uint8_t hf_jute_get_byte(struct hf_jute_reader *reader);
bool hf_jute_get_bool(struct hf_jute_reader *reader);
int32_t hf_jute_get_int(struct hf_jute_reader *reader);
int64_t hf_jute_get_long(struct hf_jute_reader *reader);
struct hf_jute_piece hf_jute_get_buffer(struct hf_jute_reader *reader);

/* How many elements follow, each of at least ${least} bytes: never more than
 * the reader can hold.  None counts as zero. */
size_t hf_jute_get_count(struct hf_jute_reader *reader, size_t least);

#endif
