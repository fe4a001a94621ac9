/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory of one lock, ROOT/locks/DIR_NAME: how its flock() is released,
 * and how it is removed when nobody uses it.
 *
 * The open-directory cache keeps the directories of the last few locks open and
 * in place, although they may be empty.  So a lock that is taken again and
 * again costs no mkdir() and rmdir() each time.  A directory that leaves the
 * cache is removed if nobody uses it.
 */
#ifndef HF_ENGINES_FILE_LOCK_DIR_H
#define HF_ENGINES_FILE_LOCK_DIR_H

#include "engines/file/root_dir.h"

/* An open directory; .fd -1: none is open. */
struct hf_file_lock_dir {
    int fd;
    /* with .inode, to check whether the directory is still at its path */
    dev_t device;
    ino_t inode;
};

/* Release the flock() of the directory ${dir}, and wake one waiter for it.
 * LOCK_UN is used and not close(), because the child of a fork may have a copy
 * of ${dir}.  ${current}: the counter was found current since the directory was
 * locked, so it is not checked again. */
void hf_file_lock_dir_unlock(struct hf_file_root_dir *root_dir,
                             const char *dir_name, int dir, bool current);

/* Remove the directory ${dir}, if no living owner has a ticket in it, nobody
 * has its flock(), and no other file is in it, such as a barrier or a success.
 * In any case, the tickets of dead owners ahead of the first living one are
 * removed. */
void hf_file_lock_dir_remove_unused(struct hf_file_root_dir *root_dir,
                                    const char *dir_name, int dir);

/* ------------------------------------------------------------- the cache -- */

#define HF_DIR_CACHE_MAX 8

struct hf_file_dir_cache {
    /* points to .root_dir of the engine, because that may be replaced */
    struct hf_file_root_dir *const *root_dir;
    struct {
        char dir_name[HF_DIR_NAME_BYTES]; /* "": the item is free */
        struct hf_file_lock_dir lock_dir;
        uint64_t used_at; /* value of .uses when the directory was put in */
    } items[HF_DIR_CACHE_MAX];
    uint64_t uses; /* how often a directory was put in */
};

/* Remove the directory of ${dir_name} from the cache and return it to the
 * caller, who owns it then.  .fd is -1 if the cache does not have it. */
struct hf_file_lock_dir
hf_file_dir_cache_take(struct hf_file_dir_cache *dir_cache,
                       const char *dir_name);

/* Put ${lock_dir} into the cache, which then owns it.  Does nothing if its .fd
 * is -1. */
void hf_file_dir_cache_put(struct hf_file_dir_cache *dir_cache,
                           const char *dir_name,
                           struct hf_file_lock_dir lock_dir);

/* Call this when a ticket or a barrier in ${dir_name} has gone.  Removes the
 * directory if nobody uses it and it is not in the cache. */
void hf_file_dir_cache_ticket_gone(struct hf_file_dir_cache *dir_cache,
                                   const char *dir_name);

/* Close all directories of the cache, and remove those that nobody uses. */
void hf_file_dir_cache_clear(struct hf_file_dir_cache *dir_cache);

#endif
