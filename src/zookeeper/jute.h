/* SPDX-License-Identifier: Apache-2.0 */
/* Jute, the encoding of ZooKeeper's records: big-endian integers, and strings,
 * buffers and vectors that follow their length, where -1 means null.  The
 * source is zookeeper-jute/src/main/java/org/apache/jute in ZooKeeper's tree.
 */
#ifndef HF_ZOOKEEPER_JUTE_H
#define HF_ZOOKEEPER_JUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A buffer of encoded bytes that grows as needed.  A struct of zeros is an
 * empty writer.  Free it with hf_jute_free().  A writer with .counts stores no
 * bytes and only counts them, so that the length of a record is known before
 * memory is allocated for it. */
struct hf_jute_writer {
    uint8_t *bytes;
    size_t used; /* bytes written; SIZE_MAX: more than can be counted */
    size_t size; /* bytes allocated */
    bool failed; /* an allocation failed; the bytes written so far must not
                    be used */
    bool counts; /* only count; set by the owner before the first byte is
                    written */
};

/* Append one value.  If there is no memory, each of these functions sets
 * .failed and does nothing more. */
void hf_jute_put_byte(struct hf_jute_writer *writer, uint8_t value);
void hf_jute_put_bool(struct hf_jute_writer *writer, bool value);
void hf_jute_put_int(struct hf_jute_writer *writer, int32_t value);
void hf_jute_put_long(struct hf_jute_writer *writer, int64_t value);
/* Append a buffer: its length and ${count} bytes.  A Jute string is a buffer
 * of UTF-8. */
void hf_jute_put_buffer(struct hf_jute_writer *writer, const void *bytes,
                        size_t count);
/* Append ${count} bytes as they are. */
void hf_jute_put_bytes(struct hf_jute_writer *writer, const void *bytes,
                       size_t count);
/* Append a null buffer, which is also a null string or a null vector. */
void hf_jute_put_null(struct hf_jute_writer *writer);
/* Append ${text}, which ends with a NUL, as a Jute string. */
void hf_jute_put_string(struct hf_jute_writer *writer, const char *text);

/* A frame is a 4-byte length and that many bytes.  begin_frame() reserves the
 * length and returns its position; write the record; then pass that position
 * to end_frame(), which fills the length in. */
size_t hf_jute_begin_frame(struct hf_jute_writer *writer);
void hf_jute_end_frame(struct hf_jute_writer *writer, size_t begin);

/* Overwrite the 4-byte integer at position ${at} with ${value}. */
void hf_jute_set_int(struct hf_jute_writer *writer, size_t at, int32_t value);

/* Remove the first ${count} bytes, for example because they were sent. */
void hf_jute_consume(struct hf_jute_writer *writer, size_t count);
/* Free the bytes and reset the writer to empty. */
void hf_jute_free(struct hf_jute_writer *writer);

/* A cursor over received bytes, which it does not own.  Reading past the end
 * returns zeros and sets .failed, so a caller may check once at the end of a
 * record. */
struct hf_jute_reader {
    const uint8_t *bytes;
    size_t left; /* bytes not read yet */
    bool failed;
};

/* A part of the reader's bytes, not NUL-terminated; valid as long as the
 * reader's bytes are.  .bytes is NULL for a null string or buffer. */
struct hf_jute_piece {
    const char *bytes;
    size_t count;
};

/* Read one value; zero if there are too few bytes. */
uint8_t hf_jute_get_byte(struct hf_jute_reader *reader);
bool hf_jute_get_bool(struct hf_jute_reader *reader);
int32_t hf_jute_get_int(struct hf_jute_reader *reader);
int64_t hf_jute_get_long(struct hf_jute_reader *reader);
struct hf_jute_piece hf_jute_get_buffer(struct hf_jute_reader *reader);

/* Read the length of a vector whose elements take at least ${least} bytes
 * each.  Never returns more than the remaining bytes can hold, so it is safe
 * to allocate by it.  A null vector counts as empty. */
size_t hf_jute_get_count(struct hf_jute_reader *reader, size_t least);

#endif
