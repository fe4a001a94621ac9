/* SPDX-License-Identifier: Apache-2.0 */
/* Text of the world, made fit to stand in an error text. */
#ifndef HF_CORE_QUOTE_H
#define HF_CORE_QUOTE_H

#include <stddef.h>

#define HF_QUOTE_BYTES 96

struct hf_quoted {
    char text[HF_QUOTE_BYTES];
};

/* ${bytes} of ${text} between double quotes: what cannot be shown
 * (hf_utf8_unprintable()) or is no character as \xNN for each byte, a quote or
 * backslash after a backslash. What does not fit is cut, which "..." behind the
 * closing quote says. Returned by value: hf_quote(name, n).text lives until the
 * statement ends. */
struct hf_quoted hf_quote(const char *text, size_t bytes);

#endif
