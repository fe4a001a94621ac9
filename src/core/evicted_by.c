/* SPDX-License-Identifier: Apache-2.0 */
#include "core/evicted_by.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

const char *hf_evicted_by_explain(const char *text, size_t bytes,
                                  char why[HF_EVICTED_WHY_BYTES])
{
    bool was_cut = bytes > HF_EVICTED_BY_BYTES;
    char *end;

    bytes = strnlen(text, was_cut ? HF_EVICTED_BY_BYTES : bytes);
    if (bytes == 0)
        return NULL;
    (void)snprintf(why, HF_EVICTED_WHY_BYTES, "its ticket was evicted by ");
    end = why + strlen(why);
    memcpy(end, text, bytes);
    end[bytes] = '\0';
    hf_utf8_make_printable(end, was_cut);
    return why;
}

void hf_evicted_by_encode(const char *text, char hex[HF_EVICTED_BY_HEX_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    size_t bytes = strnlen(text, HF_EVICTED_BY_BYTES);

    for (size_t i = 0; i < bytes; i++) {
        hex[2 * i] = digits[(unsigned char)text[i] >> 4];
        hex[2 * i + 1] = digits[(unsigned char)text[i] & 15];
    }
    hex[2 * bytes] = '\0';
}

/* The value of a digit; -1: it is none. */
static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

const char *hf_evicted_by_explain_hex(const char *hex, size_t digits,
                                      char why[HF_EVICTED_WHY_BYTES])
{
    char text[HF_EVICTED_BY_BYTES];
    size_t bytes = 0;

    while (bytes < sizeof text && 2 * bytes + 1 < digits) {
        int high = digit(hex[2 * bytes]);
        int low = digit(hex[2 * bytes + 1]);

        if (high < 0 || low < 0)
            break;
        text[bytes++] = (char)(high * 16 + low);
    }
    return hf_evicted_by_explain(text, bytes, why);
}
