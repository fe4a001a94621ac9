/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 as RFC 3629 defines it. */
#ifndef HF_BASE_UTF8_H
#define HF_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Set ${code} to the character at the start of ${text}, of which ${bytes} > 0
 * may be read, and return its length in bytes.  Returns 0 if there is no valid
 * character: a stray or missing continuation byte, an overlong form, a
 * surrogate, or a code above U+10FFFF. */
size_t hf_utf8_decode(const char *text, size_t bytes, uint32_t *code);

/* Do all ${bytes} of ${text} belong to valid characters? */
bool hf_utf8_valid(const char *text, size_t bytes);

/* Return at how many bytes, at most ${bytes}, ${text} can be cut without
 * splitting a character.  ${text} is valid UTF-8 of more than ${bytes} bytes.
 */
size_t hf_utf8_cut(const char *text, size_t bytes);

/* Is ${code} a control character: C0, DEL or C1? */
bool hf_utf8_control(uint32_t code);

/* Could ${code}, in a text of somebody else, deceive its reader on a terminal?
 * A control character could, and so could a character that reorders the
 * characters around it, that separates lines, or that is invisible (Unicode
 * Technical Report 36).  These are the characters of utf8_hidden.h.  Some
 * scripts need those that are no control characters, so names and texts may
 * contain them; they are only not shown. */
bool hf_utf8_unprintable(uint32_t code);

/* Replace by '?' each byte of ${text} that belongs to an unprintable character
 * or to no valid character.  If ${was_cut}, the cut may have split the last
 * character: then the text is ended in front of an invalid byte among its last
 * three. */
void hf_utf8_make_printable(char *text, bool was_cut);

/* Return why ZooKeeper's PathUtils refuses the character ${code}, as a text
 * such as "a control character"; NULL if ZooKeeper accepts it. */
const char *hf_path_character_why_refused(uint32_t code);

#endif
