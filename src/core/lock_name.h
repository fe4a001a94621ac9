/* SPDX-License-Identifier: Apache-2.0 */
/* The rules for lock names, the same on every engine: see hf_lock_open(). */
#ifndef HF_CORE_LOCK_NAME_H
#define HF_CORE_LOCK_NAME_H

#include <holdfast/holdfast.h>

/* HF_OK with ${canonical} set to the part of ${name} after one leading '/', or
 * HF_ENAME with ${error} naming the offending part and what was expected. */
hf_status hf_lock_name_check(const char *name, const char **canonical,
                             struct hf_error *error);

/* Why ZooKeeper's PathUtils refuses the character, as a text that goes on
 * "a control character"; NULL if it does not. */
const char *hf_lock_name_why_refused(uint32_t code);

#endif
