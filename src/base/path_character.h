/* SPDX-License-Identifier: Apache-2.0 */
/* The characters that ZooKeeper refuses in a path, and every engine in the name
 * of a lock. */
#ifndef HF_BASE_PATH_CHARACTER_H
#define HF_BASE_PATH_CHARACTER_H

#include <stdint.h>

/* Why ZooKeeper's PathUtils refuses the character ${code}, as a text such as "a
 * control character"; NULL: it does not. */
const char *hf_path_character_why_refused(uint32_t code);

#endif
