/* SPDX-License-Identifier: Apache-2.0 */
#include "core/quote.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "core/utf8.h"

/* The longest form of one character: \xNN for each of four bytes. */
#define LONGEST 16
/* Room for the closing quote, "..." and the NUL. */
#define TAIL 5

/* Write \xNN at ${to}, and return where that ends. */
static char *put_hex(char *to, uint8_t byte)
{
    static const char digits[] = "0123456789ABCDEF";

    *to++ = '\\';
    *to++ = 'x';
    *to++ = digits[byte >> 4];
    *to++ = digits[byte & 15];
    return to;
}

struct hf_quoted hf_quote(const char *text, size_t bytes)
{
    struct hf_quoted quoted = {"\""};
    char *to = quoted.text + 1;
    char *const end = quoted.text + sizeof(quoted.text) - TAIL - LONGEST;
    size_t at = 0;

    while (at < bytes && to <= end) {
        uint32_t code = 0;
        size_t length = hf_utf8_decode(text + at, bytes - at, &code);

        if (length == 0 || hf_utf8_unprintable(code)) {
            length = length == 0 ? 1 : length;
            for (size_t i = 0; i < length; i++)
                to = put_hex(to, (uint8_t)text[at + i]);
        } else {
            if (code == '"' || code == '\\')
                *to++ = '\\';
            memcpy(to, text + at, length);
            to += length;
        }
        at += length;
    }
    assert(to - quoted.text + TAIL <= HF_QUOTE_BYTES);
    memcpy(to, at < bytes ? "\"..." : "\"", at < bytes ? 5 : 2);
    return quoted;
}
