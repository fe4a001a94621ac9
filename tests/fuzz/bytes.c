/* SPDX-License-Identifier: Apache-2.0 */
/* A buffer that grows. */
#include "bytes.h"

#include <stdarg.h>
#include <string.h>

#include "fuzz.h"

void bytes_put(struct bytes *to, const void *bytes, size_t count)
{
    if (count == 0)
        return;
    if (to->count + count > to->room) {
        to->room = 2 * (to->count + count);
        to->bytes = realloc(to->bytes, to->room);
        MUST(to->bytes != NULL);
    }
    memcpy(to->bytes + to->count, bytes, count);
    to->count += count;
}

void bytes_print(struct bytes *to, const char *format, ...)
{
    char text[4096];
    va_list args;
    int count;

    va_start(args, format);
    count = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    MUST(count >= 0 && (size_t)count < sizeof text);
    bytes_put(to, text, (size_t)count);
}

void bytes_number(struct bytes *to, uint64_t number, size_t width)
{
    uint8_t bytes[8];

    for (size_t i = 0; i < width; i++)
        bytes[i] = (uint8_t)(number >> 8 * (width - 1 - i));
    bytes_put(to, bytes, width);
}

void bytes_drop(struct bytes *from, size_t count)
{
    MUST(count <= from->count);
    from->count -= count;
    if (from->count > 0)
        memmove(from->bytes, from->bytes + count, from->count);
}

void bytes_free(struct bytes *bytes)
{
    free(bytes->bytes);
    *bytes = (struct bytes){NULL, 0, 0};
}
