/* SPDX-License-Identifier: Apache-2.0 */
#include "history/names.h"

#include <string.h>

#include "core/memory.h"

#define FIRST_SLOTS 64

/* FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/ */
static uint32_t hash_of(const char *name)
{
    uint32_t hash = 2166136261U;

    for (; *name != '\0'; name++)
        hash = (hash ^ (uint8_t)*name) * 16777619U;
    return hash;
}

/* Where ${name} is, or would be put. */
static uint32_t slot_of(const struct hf_names *names, const char *name)
{
    uint32_t slot = hash_of(name) & (names->slot_count - 1);

    while (names->slots[slot] != 0 &&
           strcmp(names->names[names->slots[slot] - 1], name) != 0)
        slot = (slot + 1) & (names->slot_count - 1);
    return slot;
}

/* Room for one more, at most half of the slots being taken. */
static bool grow(struct hf_names *names)
{
    uint32_t wanted =
        names->slot_count == 0 ? FIRST_SLOTS : 2 * names->slot_count;
    const char **more;
    uint32_t *slots;

    if (2 * names->count < names->slot_count)
        return true;
    if (wanted > UINT32_MAX / 2)
        return false;
    more = hf_realloc(names->names, wanted / 2 * sizeof *more);
    if (more == NULL)
        return false;
    names->names = more;
    slots = hf_alloc(wanted * sizeof *slots);
    if (slots == NULL)
        return false;
    hf_free(names->slots);
    names->slots = slots;
    names->slot_count = wanted;
    for (uint32_t i = 0; i < names->count; i++)
        slots[slot_of(names, names->names[i])] = i + 1;
    return true;
}

bool hf_names_number(struct hf_names *names, const char *name, uint32_t *number)
{
    uint32_t slot;

    if (!grow(names))
        return false;
    slot = slot_of(names, name);
    if (names->slots[slot] == 0) {
        names->names[names->count++] = name;
        names->slots[slot] = names->count;
    }
    *number = names->slots[slot] - 1;
    return true;
}

void hf_names_free(struct hf_names *names)
{
    hf_free(names->names);
    hf_free(names->slots);
    *names = (struct hf_names){0};
}
