/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See lock_dir.h.  An empty directory is removed by rmdir() alone; otherwise
 * the files of dead owners are removed first.  The cache is a small array that
 * is searched from its beginning; the item that was used least recently leaves
 * first.
 */
#include "engines/file/lock_dir.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "engines/file/listing.h"
#include "engines/file/syscalls.h"
#include "engines/file/ticket_file.h"
#include "engines/file/timed_flock.h"

void hf_file_lock_dir_unlock(struct hf_file_root_dir *root_dir,
                             const char *dir_name, int dir, bool current)
{
    struct hf_file_token_counter *counter = &root_dir->counter;

    (void)hf_file_sys_flock(dir, LOCK_UN);
    if (current || hf_file_token_counter_is_current(
                       counter, root_dir->settings->counter_path))
        hf_file_flock_wake(hf_file_token_counter_futex(counter, dir_name));
}

/* Returns whether the directory ${dir} is the one at ${path}. */
static bool is_same_dir(int dir, const char *path)
{
    struct stat open_one, at_path;

    return hf_file_sys_fstat(dir, &open_one) == 0 &&
           hf_file_sys_lstat(path, &at_path) == 0 &&
           open_one.st_dev == at_path.st_dev &&
           open_one.st_ino == at_path.st_ino;
}

/* Remove all that dead owners have left in the directory, whose lock we hold.
 * Returns false if a living owner has a ticket in it, or if that is unknown. */
static bool remove_dead(struct hf_file_root_dir *root_dir,
                        struct hf_file_listing *listing, int dir)
{
    const struct hf_file_root_settings *settings = root_dir->settings;
    char path[HF_PATH_BYTES];
    struct hf_error unused;
    bool found;

    if (hf_file_listing_read(listing, dir, listing->dir_name, NULL, &unused) !=
        HF_OK)
        return false;
    while (listing->tickets.count > 0) {
        hf_file_fifo_path(settings, listing->dir_name, listing->tickets.items,
                          path);
        if (hf_file_fifo_probe(root_dir->descriptors, path, NULL, &unused) !=
                HF_OWNER_DEAD ||
            hf_file_fifo_and_payload_remove(path, &found, &unused) != HF_OK)
            return false;
        hf_file_listing_drop(listing, 0);
    }
    hf_file_listing_remove_orphans(listing, dir);
    (void)hf_file_sys_unlinkat(dir, HF_NEW_FILE);
    (void)hf_file_sys_unlinkat(dir, HF_NAME_FILE);
    return true;
}

void hf_file_lock_dir_remove_unused(struct hf_file_root_dir *root_dir,
                                    const char *dir_name, int dir)
{
    char path[HF_PATH_BYTES];
    struct hf_file_listing *listing;

    if (hf_file_sys_flock(dir, LOCK_EX | LOCK_NB) != 0)
        return; /* somebody uses the directory */
    hf_file_root_settings_path(root_dir->settings, dir_name, NULL, path);
    /* not if another directory is at the path by now */
    if (is_same_dir(dir, path) && hf_file_sys_rmdir(path) != 0 &&
        errno == ENOTEMPTY) {
        listing = hf_file_listing_new(dir_name, HF_LISTING_ALL);
        if (listing != NULL && remove_dead(root_dir, listing, dir))
            (void)hf_file_sys_rmdir(path);
        hf_file_listing_unref(listing);
    }
    hf_file_lock_dir_unlock(root_dir, dir_name, dir, false);
}

/* ------------------------------------------------------------- the cache -- */

/* Returns the index of ${dir_name}; HF_DIR_CACHE_MAX if the cache does not have
 * it. */
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

/* Empty the item ${i}: close its directory, and remove it if nobody uses it. */
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

/* Returns the index of a free item; if there is none, of the item whose last
 * use is longest ago. */
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
    if (i < HF_DIR_CACHE_MAX) { /* another request has put it in meanwhile */
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

    /* without a root directory there is nothing to remove */
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
