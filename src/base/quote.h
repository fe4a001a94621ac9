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
 * shown (hf_utf8_unprintable()), or a byte that is part of none, becomes \xNN
 * for each of its bytes; a quote or backslash gets a backslash in front of it;
 * each password of what looks like a URL becomes "***".  Text that does not
 * fit is cut, and "..." follows the closing quote.  Returned by value:
 * hf_quote(name, n).text lives until the statement ends. */
struct hf_quoted hf_quote(const char *text, size_t bytes);

/* Room for one character as it stands in quotes: \xNN for each of four bytes.
 */
#define HF_QUOTE_CHARACTER_BYTES 16

/* Write the character at the start of ${text}, of which ${bytes} > 0 may be
 * read, to ${to} as hf_quote() does, without a NUL; ${written} is set to how
 * many bytes that are.  Returns the bytes of the character in ${text}.  A byte
 * that begins no valid character becomes \xNN, and 1 is returned. */
size_t hf_quote_character(const char *text, size_t bytes,
                          char to[HF_QUOTE_CHARACTER_BYTES], size_t *written);

#endif
