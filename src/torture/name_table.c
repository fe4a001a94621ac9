/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See name_table.h.  A hash table with open addressing and linear probing.  At
 * most half of the slots are used.
 */
#include "torture/name_table.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

#define FIRST_SLOTS 64

/* Return the slot of ${name}, or the free slot where it belongs. */
static uint32_t slot_of(const struct hf_name_table *table, const char *name)
{
    uint32_t slot = hf_hash_text(name) & (table->slot_count - 1);

    while (table->slots[slot] != 0 &&
           strcmp(table->names[table->slots[slot] - 1], name) != 0)
        slot = (slot + 1) & (table->slot_count - 1);
    return slot;
}

/* Make room for one more name.  Returns false if there is no memory. */
static bool grow(struct hf_name_table *table)
{
    uint32_t wanted =
        table->slot_count == 0 ? FIRST_SLOTS : 2 * table->slot_count;
    const char **more;
    uint32_t *slots;

    if (2 * table->count < table->slot_count)
        return true;
    if (wanted > UINT32_MAX / 2)
        return false;
    more = hf_realloc(table->names, wanted / 2 * sizeof *more);
    if (more == NULL)
        return false;
    table->names = more;
    slots = hf_alloc(wanted * sizeof *slots);
    if (slots == NULL)
        return false;
    hf_free(table->slots);
    table->slots = slots;
    table->slot_count = wanted;
    for (uint32_t i = 0; i < table->count; i++)
        slots[slot_of(table, table->names[i])] = i + 1;
    return true;
}

bool hf_name_table_intern(struct hf_name_table *table, const char *name,
                          uint32_t *number)
{
    uint32_t slot;

    if (!grow(table))
        return false;
    slot = slot_of(table, name);
    if (table->slots[slot] == 0) {
        table->names[table->count++] = name;
        table->slots[slot] = table->count;
    }
    *number = table->slots[slot] - 1;
    return true;
}

void hf_name_table_free(struct hf_name_table *table)
{
    hf_free(table->names);
    hf_free(table->slots);
    *table = (struct hf_name_table){0};
}
