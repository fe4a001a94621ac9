/* SPDX-License-Identifier: Apache-2.0 */
#include "base/quote.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/secret.h"
#include "base/utf8.h"

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

size_t hf_quote_character(const char *text, size_t bytes,
                          char to[HF_QUOTE_CHARACTER_BYTES], size_t *written)
{
    char *at = to;
    uint32_t code = 0;
    size_t length = hf_utf8_decode(text, bytes, &code);

    if (length == 0 || hf_utf8_unprintable(code)) {
        length = length == 0 ? 1 : length;
        for (size_t i = 0; i < length; i++)
            at = put_hex(at, (uint8_t)text[i]);
    } else {
        if (code == '"' || code == '\\')
            *at++ = '\\';
        memcpy(at, text, length);
        at += length;
    }
    *written = (size_t)(at - to);
    return length;
}

struct hf_quoted hf_quote(const char *text, size_t bytes)
{
    struct hf_quoted quoted = {"\""};
    char *to = quoted.text + 1;
    char *const end =
        quoted.text + sizeof(quoted.text) - TAIL - HF_QUOTE_CHARACTER_BYTES;
    size_t at = 0;
    struct hf_secrets secrets;
    struct hf_secret secret;
    bool hidden;

    hf_secrets_begin(&secrets, text, bytes);
    hidden = hf_secrets_next(&secrets, &secret);
    while (at < bytes && to <= end) {
        size_t written;

        if (hidden && at >= secret.from) {
            memcpy(to, "***", 3);
            to += 3;
            at = secret.to;
            hidden = hf_secrets_next(&secrets, &secret);
            continue;
        }
        at += hf_quote_character(text + at, bytes - at, to, &written);
        to += written;
    }
    assert(to - quoted.text + TAIL <= HF_QUOTE_BYTES);
    memcpy(to, at < bytes ? "\"..." : "\"", at < bytes ? 5 : 2);
    return quoted;
}
