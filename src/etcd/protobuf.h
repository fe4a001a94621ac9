/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wire format of Protocol Buffers, as far as etcd's messages need it: a
 * message is a sequence of fields, and each field is a tag (number and wire
 * type) and a value.  Fields may come in any order, and unknown fields are
 * skipped.  As in proto3, a field whose value is 0, false or empty is not
 * written.  The encoding is described at
 * https://protobuf.dev/programming-guides/encoding/.
 *
 * A writer appends to a buffer that grows.  It fails only for lack of memory,
 * and stays failed: the user looks at .failed once, at the end.  A reader never
 * reads outside of its bytes, whatever they are, and never allocates.
 */
#ifndef HF_ETCD_PROTOBUF_H
#define HF_ETCD_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A key, a value or a nested message in memory that belongs to somebody else.
 * It may contain any bytes; .bytes may be NULL if .count is 0. */
struct hf_etcd_bytes {
    const void *bytes;
    size_t count;
};

/* Are ${a} and ${b} the same bytes? */
bool hf_etcd_bytes_equal(struct hf_etcd_bytes a, struct hf_etcd_bytes b);

/* The bytes of ${text}, without the NUL at its end. */
struct hf_etcd_bytes hf_etcd_bytes_of(const char *text);

/* --------------------------------------------------------------- writing -- */

/* A message that is being written.  All bytes zero: it is empty. */
struct hf_etcd_buffer {
    unsigned char *bytes;
    size_t used;
    size_t room;
    bool failed; /* memory was lacking: the message is not complete */
    /* The request has an operation that changes the store, so a majority of the
     * members must accept it.  Set by the functions of message.h. */
    bool writes;
    /* The request compares the epoch of the session: see
     * hf_etcd_epoch_compare(). */
    bool compares_epoch;
};

/* Free the bytes.  ${buffer} is empty afterwards. */
void hf_etcd_buffer_free(struct hf_etcd_buffer *buffer);

/* Empty ${buffer}, and keep its memory for the next message. */
void hf_etcd_buffer_clear(struct hf_etcd_buffer *buffer);

/* Append the field ${number}. */
void hf_etcd_put_unsigned(struct hf_etcd_buffer *buffer, unsigned number,
                          uint64_t value);
void hf_etcd_put_signed(struct hf_etcd_buffer *buffer, unsigned number,
                        int64_t value);
void hf_etcd_put_bool(struct hf_etcd_buffer *buffer, unsigned number,
                      bool value);
void hf_etcd_put_bytes(struct hf_etcd_buffer *buffer, unsigned number,
                       struct hf_etcd_bytes value);

/* Append the field ${number} even if ${value} is 0.  For a field of a oneof,
 * whose presence says which one it is. */
void hf_etcd_put_signed_always(struct hf_etcd_buffer *buffer, unsigned number,
                               int64_t value);

/* Begin the field ${number}, which is a message; its fields are appended next.
 * Returns the ${begin} for hf_etcd_put_end().  Messages may be nested. */
size_t hf_etcd_put_begin(struct hf_etcd_buffer *buffer, unsigned number);
void hf_etcd_put_end(struct hf_etcd_buffer *buffer, size_t begin);

/* Append bytes as they are. */
void hf_etcd_put_raw(struct hf_etcd_buffer *buffer, const void *bytes,
                     size_t count);

/* --------------------------------------------------------------- reading -- */

/* The rest of a message. */
struct hf_etcd_reader {
    const unsigned char *at;
    const unsigned char *end;
    bool failed; /* the bytes are not a message */
};

/* One field.  A field of fixed size, which etcd's messages do not have, is
 * returned as .bytes. */
struct hf_etcd_field {
    unsigned number;
    bool is_number;             /* true: .value is set; false: .bytes is set */
    uint64_t value;             /* a signed number is its two's complement */
    struct hf_etcd_bytes bytes; /* points into the message */
};

struct hf_etcd_reader hf_etcd_reader_of(struct hf_etcd_bytes message);

/* Set ${field} to the next field.  Returns false at the end, and also if the
 * rest is malformed; then .failed is set. */
bool hf_etcd_reader_next(struct hf_etcd_reader *reader,
                         struct hf_etcd_field *field);

/* Return the value of ${field} as the type that the caller expects.  If the
 * field has another wire type, 0 or no bytes are returned, and .failed of
 * ${reader} is set. */
int64_t hf_etcd_field_signed(struct hf_etcd_reader *reader,
                             const struct hf_etcd_field *field);
uint64_t hf_etcd_field_unsigned(struct hf_etcd_reader *reader,
                                const struct hf_etcd_field *field);
bool hf_etcd_field_bool(struct hf_etcd_reader *reader,
                        const struct hf_etcd_field *field);
struct hf_etcd_bytes hf_etcd_field_bytes(struct hf_etcd_reader *reader,
                                         const struct hf_etcd_field *field);

#endif
