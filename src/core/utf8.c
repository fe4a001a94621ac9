/* SPDX-License-Identifier: Apache-2.0 */
#include "core/utf8.h"

#include <assert.h>

/* By the number of continuation bytes: the lead byte's mark and its mask, and
 * the smallest code that needs this length (a smaller one is overlong). */
static const struct {
    uint8_t mark, mask;
    uint32_t smallest;
} forms[] = {
    {0x00, 0x80, 0x0},
    {0xC0, 0xE0, 0x80},
    {0xE0, 0xF0, 0x800},
    {0xF0, 0xF8, 0x10000},
};

static bool continues(char byte)
{
    return ((uint8_t)byte & 0xC0) == 0x80;
}

size_t hf_utf8_decode(const char *text, size_t bytes, uint32_t *code)
{
    uint8_t lead = (uint8_t)text[0];
    size_t more = 0;
    uint32_t value;

    assert(bytes > 0);
    while (more < 4 && (lead & forms[more].mask) != forms[more].mark)
        more++;
    if (more == 4 || more >= bytes)
        return 0;
    value = lead & (uint8_t)~forms[more].mask;
    for (size_t i = 1; i <= more; i++) {
        if (!continues(text[i]))
            return 0;
        value = value << 6 | ((uint8_t)text[i] & 0x3F);
    }
    if (value < forms[more].smallest || value > 0x10FFFF ||
        (value >= 0xD800 && value <= 0xDFFF))
        return 0;
    *code = value;
    return more + 1;
}

bool hf_utf8_valid(const char *text, size_t bytes)
{
    uint32_t code;

    for (size_t at = 0, length; at < bytes; at += length) {
        length = hf_utf8_decode(text + at, bytes - at, &code);
        if (length == 0)
            return false;
    }
    return true;
}

size_t hf_utf8_cut(const char *text, size_t bytes)
{
    while (bytes > 0 && continues(text[bytes]))
        bytes--;
    return bytes;
}

bool hf_utf8_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0);
}
