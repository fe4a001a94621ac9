/* SPDX-License-Identifier: Apache-2.0 */
/* See base64.h. */
#include "zookeeper_tool/base64.h"

#include <stdint.h>
#include <string.h>

#include "base/memory.h"

static const char digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The byte number ${i} of ${data}, or 0 behind its end. */
static uint32_t byte_at(const uint8_t *data, size_t bytes, size_t i)
{
    return i < bytes ? data[i] : 0;
}

char *hf_base64_encode(const void *data, size_t bytes)
{
    char *text = hf_alloc((bytes + 2) / 3 * 4 + 1), *to = text;

    if (text == NULL)
        return NULL;
    for (size_t at = 0; at < bytes; at += 3) {
        uint32_t three = byte_at(data, bytes, at) << 16 |
                         byte_at(data, bytes, at + 1) << 8 |
                         byte_at(data, bytes, at + 2);

        for (int shift = 18; shift >= 0; shift -= 6)
            *to++ = digits[three >> shift & 63];
        if (at + 2 >= bytes)
            to[-1] = '=';
        if (at + 1 >= bytes)
            to[-2] = '=';
    }
    return text;
}

/* Set ${number} to the 24 bits of the four digits at ${text}, of which the last
 * ${padding} are '='.  False if they are no such digits. */
static bool decode_four(const char *text, size_t padding, uint32_t *number)
{
    *number = 0;
    for (size_t i = 0; i < 4; i++) {
        const char *digit = i < 4 - padding ? strchr(digits, text[i]) : digits;

        if (digit == NULL || (i >= 4 - padding && text[i] != '='))
            return false;
        *number = *number << 6 | (uint32_t)(digit - digits);
    }
    /* The bits behind the last byte must be 0, so that the same bytes have only
     * one encoding. */
    return (*number & ((1U << 8 * padding) - 1)) == 0;
}

bool hf_base64_decode(char *text, size_t *bytes)
{
    size_t length = strlen(text);
    char *to = text;

    if (length % 4 != 0)
        return false;
    for (size_t at = 0; at < length; at += 4) {
        bool last = at + 4 == length;
        size_t padding = !last || text[at + 3] != '=' ? 0
                         : text[at + 2] != '='        ? 1
                                                      : 2;
        uint32_t number;

        if (!decode_four(text + at, padding, &number))
            return false;
        *to++ = (char)(number >> 16);
        if (padding < 2)
            *to++ = (char)(number >> 8 & 255);
        if (padding < 1)
            *to++ = (char)(number & 255);
    }
    *bytes = (size_t)(to - text);
    return true;
}
