/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interned names: each name gets a number, counted from 0 in the order in which
 * the names are first seen.
 */
#ifndef HF_TORTURE_NAME_TABLE_H
#define HF_TORTURE_NAME_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hf_name_table {
    const char **names; /* by number; the texts belong to the caller and must
                           stay valid */
    uint32_t count;
    uint32_t *slots;     /* number plus 1, by hash; 0: a free slot */
    uint32_t slot_count; /* a power of two, or 0 */
};

/* Set ${number} to the number of ${name}, which gets a new one if it has none.
 * Returns false if there is no memory. */
bool hf_name_table_intern(struct hf_name_table *table, const char *name,
                          uint32_t *number);
/* Free the table but not the texts.  It is empty afterwards. */
void hf_name_table_free(struct hf_name_table *table);

#endif
