/* SPDX-License-Identifier: Apache-2.0 */
/* The rules for lock names, the same in every engine: see hf_lock_open(). */
#ifndef HF_CORE_LOCK_NAME_H
#define HF_CORE_LOCK_NAME_H

#include <holdfast/status.h>

/* No component begins with this: a node with such a name belongs to a lock, and
 * is none itself. */
#define HF_NAME_SUCCESS "holdfast-success-"

/* Set ${canonical} to the part of ${name} behind one leading '/', if there is
 * one, or return HF_ENAME with ${error} naming the offending part and what was
 * expected. */
hf_status hf_lock_name_check(const char *name, const char **canonical,
                             struct hf_error *error);

#endif
