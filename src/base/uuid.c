/* SPDX-License-Identifier: Apache-2.0 */
/* RFC 4122: 16 bytes, as text five groups of hexadecimal digits. */
#include "base/uuid.h"

#include <string.h>

/* Is there a hyphen in front of the byte number ${byte} when a UUID is written
 * as text? */
static bool hyphen_before(size_t byte)
{
    return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

void hf_uuid_random(uint8_t uuid[HF_UUID_BYTES], struct hf_random *random)
{
    for (size_t i = 0; i < HF_UUID_BYTES; i += sizeof(uint64_t)) {
        uint64_t bits = hf_random_next(random);

        memcpy(uuid + i, &bits, sizeof bits);
    }
    uuid[6] = (uint8_t)((uuid[6] & 0x0f) | 0x40); /* version 4 */
    uuid[8] = (uint8_t)((uuid[8] & 0x3f) | 0x80); /* variant of RFC 4122 */
}

void hf_uuid_format(const uint8_t uuid[HF_UUID_BYTES],
                    char text[HF_UUID_TEXT_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    char *out = text;

    for (size_t i = 0; i < HF_UUID_BYTES; i++) {
        if (hyphen_before(i))
            *out++ = '-';
        *out++ = digits[uuid[i] >> 4];
        *out++ = digits[uuid[i] & 15];
    }
    *out = '\0';
}

/* The value of a hexadecimal digit plus one; 0: not a digit.  A table is faster
 * than comparisons: lists have thousands of ids, and the processor cannot
 * predict whether a digit is one of 0-9 or a-f. */
static const uint8_t digit_values[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
    ['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
    ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
};

bool hf_uuid_parse(uint8_t uuid[HF_UUID_BYTES], const char *text, size_t bytes)
{
    if (bytes != HF_UUID_TEXT_BYTES - 1)
        return false;
    for (size_t i = 0; i < HF_UUID_BYTES; i++) {
        unsigned high, low;

        if (hyphen_before(i) && *text++ != '-')
            return false;
        high = digit_values[(unsigned char)*text++];
        low = digit_values[(unsigned char)*text++];
        if (high == 0 || low == 0)
            return false;
        uuid[i] = (uint8_t)((high - 1) << 4 | (low - 1));
    }
    return true;
}
