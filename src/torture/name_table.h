/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interned names: each name gets a number, from 0, in the order in which the
 * names are first seen.
 */
#ifndef HF_TORTURE_NAME_TABLE_H
#define HF_TORTURE_NAME_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hf_name_table {
    const char *
        *names; /* by number; the texts are the caller's and must live on */
    uint32_t count;
    uint32_t *slots;     /* number + 1, by hash; 0: free */
    uint32_t slot_count; /* a power of two, or 0 */
};

/* Set ${number} to the number of ${name}, a new one if it has none.  False if
 * there is no memory. */
bool hf_name_table_intern(struct hf_name_table *table, const char *name,
                          uint32_t *number);
/* Free the table, not the texts; it is empty afterwards. */
void hf_name_table_free(struct hf_name_table *table);

#endif
