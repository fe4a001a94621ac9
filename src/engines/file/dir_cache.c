/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The open-directory cache: a small array that is searched from its beginning.
 * The least recently used item leaves first.
 */
#include "engines/file/dir_cache.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>

#include "engines/file/syscalls.h"

/* The item of ${dir_name}, or HF_DIR_CACHE_MAX. */
static size_t index_of(const struct hf_file_dir_cache *dir_cache,
                       const char *dir_name)
{
    size_t i = 0;

    while (i < HF_DIR_CACHE_MAX &&
           strcmp(dir_cache->items[i].dir_name, dir_name) != 0)
        i++;
    return i;
}

struct hf_file_lock_dir
hf_file_dir_cache_take(struct hf_file_dir_cache *dir_cache,
                       const char *dir_name)
{
    struct hf_file_lock_dir lock_dir = {.fd = -1};
    size_t i = index_of(dir_cache, dir_name);

    if (i == HF_DIR_CACHE_MAX)
        return lock_dir;
    lock_dir = dir_cache->items[i].lock_dir;
    dir_cache->items[i].dir_name[0] = '\0';
    return lock_dir;
}

/* Free the item ${i}: close its directory, and remove it if nobody uses it. */
static void drop_item(struct hf_file_dir_cache *dir_cache, size_t i)
{
    struct hf_file_lock_dir *lock_dir = &dir_cache->items[i].lock_dir;

    if (dir_cache->items[i].dir_name[0] == '\0')
        return;
    hf_file_lock_dir_remove_unused(*dir_cache->root_dir,
                                   dir_cache->items[i].dir_name, lock_dir->fd);
    hf_file_descriptors_close((*dir_cache->root_dir)->descriptors,
                              &lock_dir->fd);
    dir_cache->items[i].dir_name[0] = '\0';
}

/* A free item, else the one whose last use is longest ago. */
static size_t least_recently_used(const struct hf_file_dir_cache *dir_cache)
{
    size_t found = 0;

    for (size_t i = 0; i < HF_DIR_CACHE_MAX; i++) {
        if (dir_cache->items[i].dir_name[0] == '\0')
            return i;
        if (dir_cache->items[i].used_at < dir_cache->items[found].used_at)
            found = i;
    }
    return found;
}

void hf_file_dir_cache_put(struct hf_file_dir_cache *dir_cache,
                           const char *dir_name,
                           struct hf_file_lock_dir lock_dir)
{
    size_t i = index_of(dir_cache, dir_name);

    assert(dir_name[0] != '\0');
    if (lock_dir.fd < 0)
        return;
    if (i < HF_DIR_CACHE_MAX) { /* another request for it was under way */
        hf_file_descriptors_close((*dir_cache->root_dir)->descriptors,
                                  &dir_cache->items[i].lock_dir.fd);
    } else {
        i = least_recently_used(dir_cache);
        drop_item(dir_cache, i);
    }
    memcpy(dir_cache->items[i].dir_name, dir_name, strlen(dir_name) + 1);
    dir_cache->items[i].lock_dir = lock_dir;
    dir_cache->items[i].used_at = ++dir_cache->uses;
}

void hf_file_dir_cache_ticket_gone(struct hf_file_dir_cache *dir_cache,
                                   const char *dir_name)
{
    struct hf_file_root_dir *root_dir = *dir_cache->root_dir;
    char path[HF_PATH_BYTES];
    int dir;

    /* Without a root directory there is nothing to remove. */
    if (root_dir == NULL || index_of(dir_cache, dir_name) < HF_DIR_CACHE_MAX)
        return;
    hf_file_root_settings_path(root_dir->settings, dir_name, NULL, path);
    dir = hf_file_sys_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (dir < 0 || !hf_file_descriptors_add(root_dir->descriptors, dir))
        return;
    hf_file_lock_dir_remove_unused(root_dir, dir_name, dir);
    hf_file_descriptors_close(root_dir->descriptors, &dir);
}

void hf_file_dir_cache_clear(struct hf_file_dir_cache *dir_cache)
{
    for (size_t i = 0; i < HF_DIR_CACHE_MAX; i++)
        drop_item(dir_cache, i);
}
