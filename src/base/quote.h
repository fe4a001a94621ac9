/* SPDX-License-Identifier: Apache-2.0 */
/* Text of users, servers and files, quoted for an error text. */
#ifndef HF_BASE_QUOTE_H
#define HF_BASE_QUOTE_H

#include <stddef.h>

#define HF_QUOTE_BYTES 96

struct hf_quoted {
    char text[HF_QUOTE_BYTES];
};

/* Return the ${bytes} of ${text} in double quotes.  A character that cannot be
 * shown (hf_utf8_unprintable()), or a byte that is part of no character,
 * becomes \xNN for each of its bytes.  A quote or backslash gets a backslash in
 * front of it.  If the text looks like a URL, each of its passwords becomes
 * "***".  Text that does not fit is cut, and "..." follows the closing quote.
 * The result is returned by value: hf_quote(name, n).text lives until the
 * statement ends. */
struct hf_quoted hf_quote(const char *text, size_t bytes);

/* Room for one quoted character: \xNN for each of four bytes. */
#define HF_QUOTE_CHARACTER_BYTES 16

/* Write the character at the start of ${text} to ${to} as hf_quote() does,
 * without a NUL, and set ${written} to the number of bytes written.  ${bytes} >
 * 0 bytes of ${text} may be read.  Returns the bytes of the character in
 * ${text}.  A byte that begins no valid character becomes \xNN, and 1 is
 * returned. */
size_t hf_quote_character(const char *text, size_t bytes,
                          char to[HF_QUOTE_CHARACTER_BYTES], size_t *written);

#endif
