/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 as RFC 3629 defines it. */
#ifndef HF_BASE_UTF8_H
#define HF_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The length of the character at the start of ${text}, of which ${bytes} > 0
 * may be read; ${code} is set to the character. 0 if there is none: a stray or
 * missing continuation byte, an overlong form, a surrogate, or above U+10FFFF.
 */
size_t hf_utf8_decode(const char *text, size_t bytes, uint32_t *code);

/* Are all ${bytes} of ${text} part of characters? */
bool hf_utf8_valid(const char *text, size_t bytes);

/* At how many bytes ${text}, valid UTF-8 of more than ${bytes} bytes, can be
 * cut without splitting a character: the largest number up to ${bytes}. */
size_t hf_utf8_cut(const char *text, size_t bytes);

/* Is ${code} a control character: C0, DEL or C1? */
bool hf_utf8_control(uint32_t code);

/* Could ${code}, in a text of somebody else, deceive its reader on a terminal?
 * A control character could, and so could one that reorders the characters
 * around it, that separates lines, or that is invisible (Unicode Technical
 * Report 36).  The characters are those of utf8_hidden.h.  Some scripts need
 * the latter kinds, so names and texts may contain them; they are only not
 * shown. */
bool hf_utf8_unprintable(uint32_t code);

/* Replace in ${text} each byte of an unprintable character, or of no character,
 * by '?'.  ${was_cut}: if one of the last three bytes is of no character, the
 * text ends before it, because the cut may have split a character there. */
void hf_utf8_make_printable(char *text, bool was_cut);

/* Why ZooKeeper's PathUtils refuses the character ${code}, as a text such as "a
 * control character"; NULL: it does not. */
const char *hf_path_character_why_refused(uint32_t code);

#endif
