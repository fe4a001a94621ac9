/* SPDX-License-Identifier: Apache-2.0 */
/* Names to numbers, from 0, in the order in which they were first asked for. */
#ifndef HF_TORTURE_NAME_TABLE_H
#define HF_TORTURE_NAME_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hf_name_table {
    const char **names; /* by number; whoever asked for them keeps the text */
    uint32_t count;
    uint32_t *slots; /* number + 1, by hash; 0: free */
    uint32_t slot_count;
};

/* Set ${number} to that of ${name}, a new one if it has none.  False when there
 * is no memory. */
bool hf_name_table_intern(struct hf_name_table *table, const char *name,
                          uint32_t *number);
void hf_name_table_free(struct hf_name_table *table);

#endif
