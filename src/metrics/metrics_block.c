/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histograms, and which names have an entry.
 */
#include "metrics/metrics_block.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/sha256.h"
#include "base/utf8.h"

#define BOUND(us, seconds) us,
static const uint64_t bounds_us[] = {HF_HISTOGRAM_TABLE(BOUND)};
#undef BOUND

_Static_assert(sizeof(bounds_us) / sizeof(*bounds_us) ==
                   HF_HISTOGRAM_BUCKETS - 1,
               "the last bucket has no bound");

/* The id is a digest, because anyone may choose names, and two names with the
 * same id would be counted as one. */
uint64_t hf_metrics_name_id(const char *name, char text[HF_METRICS_NAME_BYTES])
{
    size_t bytes = strlen(name);
    uint8_t digest[HF_SHA256_BYTES];
    uint64_t id;

    hf_sha256(name, bytes, digest);
    memcpy(&id, digest, sizeof(id));
    if (id == 0)
        id = 1;
    if (bytes < HF_METRICS_NAME_BYTES) {
        memcpy(text, name, bytes + 1);
    } else {
        bytes = hf_utf8_cut(name, HF_METRICS_NAME_BYTES - 18);
        memcpy(text, name, bytes);
        (void)snprintf(text + bytes, HF_METRICS_NAME_BYTES - bytes,
                       "~%016" PRIx64, id);
    }
    return id;
}

bool hf_metrics_name_valid(const char *name)
{
    size_t bytes = strlen(name);
    uint32_t code;

    if (bytes == 0 || strcmp(name, HF_METRICS_OTHERS) == 0)
        return false;
    for (size_t at = 0, length; at < bytes; at += length) {
        length = hf_utf8_decode(name + at, bytes - at, &code);
        if (length == 0 || hf_utf8_control(code))
            return false;
    }
    return true;
}

/* The bucket is the number of bounds that ${us} exceeds. */
struct hf_metrics_duration hf_metrics_duration(uint64_t us)
{
    size_t low = 0, high = HF_HISTOGRAM_BUCKETS - 1;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (us > bounds_us[middle])
            low = middle + 1;
        else
            high = middle;
    }
    return (struct hf_metrics_duration){.us = us, .bucket = low, .known = true};
}

/* Return the entry with the least weight. */
static size_t find_least(const struct hf_metrics_block *block)
{
    size_t least = 0;

    for (size_t i = 1; i < HF_METRICS_NAMES; i++)
        if (block->entries[i].weight < block->entries[least].weight)
            least = i;
    return least;
}

/* The entry where ${name} was found last is tried first, then all others. */
size_t hf_metrics_find(const struct hf_metrics_block *block,
                       struct hf_metrics_name_ref *name, bool contended)
{
    size_t used = (size_t)block->header.used;

    if (name->text == NULL)
        return HF_METRICS_NAMES;
    if (name->entry < used && block->entries[name->entry].id == name->id)
        return name->entry;
    for (size_t i = 0; i < used; i++)
        if (block->entries[i].id == name->id)
            return name->entry = i;
    if (used < HF_METRICS_NAMES)
        return name->entry = used;
    return contended ? (name->entry = find_least(block)) : HF_METRICS_NAMES;
}

/* The new name keeps the weight of the name that had the entry.  By that much
 * Space-Saving may overestimate the new name. */
bool hf_metrics_take(struct hf_metrics_block *block, size_t index,
                     const struct hf_metrics_name_ref *name)
{
    struct hf_metrics_entry *entry = &block->entries[index];

    assert(name->text != NULL && index < HF_METRICS_NAMES);
    if (entry->id == name->id)
        return false;
    memset(&entry->series, 0, sizeof(entry->series));
    (void)snprintf(entry->name, sizeof(entry->name), "%s", name->text);
    entry->id = name->id;
    if (index >= block->header.used)
        block->header.used = index + 1;
    return true;
}
