/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <assert.h>
#include <string.h>

#include "base/utf8_hidden.h"

/* The index is the number of continuation bytes.  Each row has the fixed bits
 * of the lead byte, the mask of these bits, and the smallest code that needs
 * this length (a smaller code in this form is overlong). */
static const struct {
    uint8_t lead_bits, lead_mask;
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
    while (more < 4 && (lead & forms[more].lead_mask) != forms[more].lead_bits)
        more++;
    if (more == 4 || more >= bytes)
        return 0;
    value = lead & (uint8_t)~forms[more].lead_mask;
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

bool hf_utf8_unprintable(uint32_t code)
{
    size_t low = 0, high = sizeof(hf_utf8_hidden) / sizeof(hf_utf8_hidden[0]);

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (code > hf_utf8_hidden[middle].last)
            low = middle + 1;
        else if (code < hf_utf8_hidden[middle].first)
            high = middle;
        else
            return true;
    }
    return false;
}

void hf_utf8_make_printable(char *text, bool was_cut)
{
    size_t bytes = strlen(text);
    uint32_t code;

    for (size_t at = 0, length; at < bytes; at += length) {
        length = hf_utf8_decode(text + at, bytes - at, &code);
        if (length == 0 && was_cut && bytes - at < 4) {
            text[at] = '\0';
            return;
        }
        if (length == 0) {
            length = 1;
            text[at] = '?';
        } else if (hf_utf8_unprintable(code)) {
            memset(text + at, '?', length);
        }
    }
}

/* Java counts in UTF-16, so ZooKeeper's exclusion of surrogates excludes every
 * character above U+FFFF. */
const char *hf_path_character_why_refused(uint32_t code)
{
    if (hf_utf8_control(code))
        return "a control character";
    if (code >= 0xE000 && code <= 0xF8FF)
        return "a character of the private use area, which ZooKeeper refuses";
    if (code >= 0xFFF0 && code <= 0xFFFF)
        return "a character of the specials block, which ZooKeeper refuses";
    if (code > 0xFFFF)
        return "a character above U+FFFF, which ZooKeeper refuses";
    return NULL;
}
