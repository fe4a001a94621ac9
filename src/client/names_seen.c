/* SPDX-License-Identifier: Apache-2.0 */
/* An open table: a digest is in the first free entry from where its own bytes
 * say on.  At most three quarters of the entries are taken. */
#include "client/names_seen.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <holdfast/lock.h>

#include "base/memory.h"
#include "base/sha256.h"

#define FIRST_CAPACITY 256

/* The entry of ${digest}: its own, or the free one where it goes. */
static struct hf_names_digest *find(const struct hf_names_seen *seen,
                                    const struct hf_names_digest *digest)
{
    static const struct hf_names_digest none;
    size_t at;

    memcpy(&at, digest->bytes, sizeof at);
    for (;; at++) {
        struct hf_names_digest *entry =
            &seen->entries[at & (seen->capacity - 1)];

        if (memcmp(entry, digest, sizeof *entry) == 0 ||
            memcmp(entry, &none, sizeof *entry) == 0)
            return entry;
    }
}

/* Make room for one more. */
static bool make_room(struct hf_names_seen *seen)
{
    struct hf_names_seen larger = {
        .capacity = seen->capacity == 0 ? FIRST_CAPACITY : 2 * seen->capacity,
        .count = seen->count,
    };
    static const struct hf_names_digest none;

    if (seen->count < seen->capacity / 4 * 3)
        return true;
    larger.entries = hf_alloc(larger.capacity * sizeof *larger.entries);
    if (larger.entries == NULL)
        return false;
    for (size_t i = 0; i < seen->capacity; i++) {
        if (memcmp(&seen->entries[i], &none, sizeof none) != 0)
            *find(&larger, &seen->entries[i]) = seen->entries[i];
    }
    hf_free(seen->entries);
    *seen = larger;
    return true;
}

bool hf_names_seen_add(struct hf_names_seen *seen, char sort, const char *name,
                       bool *added)
{
    char text[1 + HF_NAME_BYTES + 1];
    uint8_t sha256[HF_SHA256_BYTES];
    struct hf_names_digest digest, *entry;
    int bytes = snprintf(text, sizeof text, "%c%s", sort, name);

    assert(bytes > 0 && (size_t)bytes < sizeof text);
    *added = false;
    if (!make_room(seen))
        return false;
    hf_sha256(text, (size_t)bytes, sha256);
    memcpy(digest.bytes, sha256, sizeof digest.bytes);
    entry = find(seen, &digest);
    if (memcmp(entry, &digest, sizeof digest) == 0)
        return true;
    *entry = digest;
    seen->count++;
    *added = true;
    return true;
}

bool hf_names_seen_goes_on(struct hf_names_seen *seen, const char *cursor,
                           size_t bytes)
{
    struct hf_names_digest digest;
    uint8_t all[HF_SHA256_BYTES];

    if (seen->count != seen->count_before) {
        seen->count_before = seen->count;
        seen->barren = seen->marked = 0;
        seen->returns = 0;
    }
    seen->barren++;
    hf_sha256(cursor, bytes, all);
    memcpy(digest.bytes, all, sizeof digest.bytes);
    if (seen->marked > 0 && memcmp(&digest, &seen->mark, sizeof digest) == 0)
        seen->returns++;
    if (seen->barren >= 2 * seen->marked) {
        seen->marked = seen->barren;
        seen->mark = digest;
    }
    return seen->count <= HF_NAMES_SEEN_MAX &&
           seen->barren <= HF_NAMES_BARREN_MAX &&
           seen->returns <= HF_NAMES_RETURNS_MAX;
}

void hf_names_seen_free(struct hf_names_seen *seen)
{
    hf_free(seen->entries);
    *seen = (struct hf_names_seen){0};
}
