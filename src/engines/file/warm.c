/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/file/warm.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>

#include "engines/file/sys.h"

static size_t slot_of(const struct hf_warm *warm, const char *entry)
{
    size_t i = 0;

    while (i < HF_WARM_MAX && strcmp(warm->slots[i].entry, entry) != 0)
        i++;
    return i;
}

struct hf_directory hf_warm_take(struct hf_warm *warm, const char *entry)
{
    struct hf_directory directory = {.fd = -1};
    size_t i = slot_of(warm, entry);

    if (i == HF_WARM_MAX)
        return directory;
    directory = warm->slots[i].directory;
    warm->slots[i].entry[0] = '\0';
    return directory;
}

static void evict(struct hf_warm *warm, size_t i)
{
    struct hf_directory *directory = &warm->slots[i].directory;

    if (warm->slots[i].entry[0] == '\0')
        return;
    hf_section_tidy(*warm->place, warm->slots[i].entry, directory->fd);
    hf_descriptors_close((*warm->place)->descriptors, &directory->fd);
    warm->slots[i].entry[0] = '\0';
}

static size_t coldest(const struct hf_warm *warm)
{
    size_t found = 0;

    for (size_t i = 0; i < HF_WARM_MAX; i++) {
        if (warm->slots[i].entry[0] == '\0')
            return i;
        if (warm->slots[i].used_at < warm->slots[found].used_at)
            found = i;
    }
    return found;
}

void hf_warm_put(struct hf_warm *warm, const char *entry,
                 struct hf_directory directory)
{
    size_t i = slot_of(warm, entry);

    assert(entry[0] != '\0');
    if (directory.fd < 0)
        return;
    if (i < HF_WARM_MAX) { /* another request for it was under way */
        hf_descriptors_close((*warm->place)->descriptors,
                             &warm->slots[i].directory.fd);
    } else {
        i = coldest(warm);
        evict(warm, i);
    }
    memcpy(warm->slots[i].entry, entry, strlen(entry) + 1);
    warm->slots[i].directory = directory;
    warm->slots[i].used_at = ++warm->clock;
}

void hf_warm_left(struct hf_warm *warm, const char *entry)
{
    struct hf_place *place = *warm->place;
    char path[HF_PATH_BYTES];
    int dir;

    /* Without a place this client only looks, and found no root. */
    if (place == NULL || slot_of(warm, entry) < HF_WARM_MAX)
        return;
    hf_site_path(place->site, entry, NULL, path);
    dir = hf_sys_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (dir < 0 || !hf_descriptors_add(place->descriptors, dir))
        return;
    hf_section_tidy(place, entry, dir);
    hf_descriptors_close(place->descriptors, &dir);
}

void hf_warm_clear(struct hf_warm *warm)
{
    for (size_t i = 0; i < HF_WARM_MAX; i++)
        evict(warm, i);
}
