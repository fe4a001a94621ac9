/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that a fake server is about to send. */
#ifndef HF_TESTS_FUZZ_BYTES_H
#define HF_TESTS_FUZZ_BYTES_H

#include <stddef.h>
#include <stdint.h>

struct bytes {
    uint8_t *bytes;
    size_t count;
    size_t room;
};

void bytes_put(struct bytes *to, const void *bytes, size_t count);
void bytes_print(struct bytes *to, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* ${number} in ${width} bytes, 1 to 8, in network order. */
void bytes_number(struct bytes *to, uint64_t number, size_t width);
/* Remove ${count} bytes at the beginning. */
void bytes_drop(struct bytes *from, size_t count);
void bytes_free(struct bytes *bytes);

#endif
