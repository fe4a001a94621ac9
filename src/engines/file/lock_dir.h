/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory of one lock, ROOT/locks/DIR_NAME: how its lock is given back,
 * and how it is removed when nobody uses it.
 *
 * The open-directory cache: the directories of the last few locks are kept open
 * and in place although they may be empty.  A lock that is taken again and
 * again costs no mkdir() and no rmdir() then.  A directory that leaves the
 * cache is removed if nobody uses it.
 */
#ifndef HF_ENGINES_FILE_LOCK_DIR_H
#define HF_ENGINES_FILE_LOCK_DIR_H

#include "engines/file/root_dir.h"

/* An open directory; .fd -1: none is open. */
struct hf_file_lock_dir {
    int fd;
    dev_t device; /* to see whether it is the one at its path */
    ino_t inode;
};

/* Give back the lock of the directory, open as ${dir}, and wake one of those
 * that wait for it.  By LOCK_UN and not by closing ${dir}, because the child of
 * a fork may have a copy of that.  ${current}: the counter has been found
 * current since the directory was locked, so that it need not be checked again.
 */
void hf_file_lock_dir_unlock(struct hf_file_root_dir *root_dir,
                             const char *dir_name, int dir, bool current);

/* Remove the directory, open as ${dir}, if no living owner has a ticket in it,
 * nobody has its lock, and no other file is in it, such as a barrier or a
 * success.  The tickets of dead owners ahead of the first living one are
 * removed in any case. */
void hf_file_lock_dir_remove_unused(struct hf_file_root_dir *root_dir,
                                    const char *dir_name, int dir);

/* ------------------------------------------------------------- the cache -- */

#define HF_DIR_CACHE_MAX 8

struct hf_file_dir_cache {
    /* Points to .root_dir of the engine, which may be replaced. */
    struct hf_file_root_dir *const *root_dir;
    struct {
        char dir_name[HF_DIR_NAME_BYTES]; /* "": the item is free */
        struct hf_file_lock_dir lock_dir;
        uint64_t used_at; /* .uses when it was put in */
    } items[HF_DIR_CACHE_MAX];
    uint64_t uses; /* how often a directory has been put in */
};

/* Take the directory of ${dir_name} out of the cache; it is the caller's then.
 * .fd is -1 if the cache does not have it. */
struct hf_file_lock_dir
hf_file_dir_cache_take(struct hf_file_dir_cache *dir_cache,
                       const char *dir_name);

/* Put ${lock_dir} into the cache, which owns it from now on.  Does nothing if
 * its .fd is -1. */
void hf_file_dir_cache_put(struct hf_file_dir_cache *dir_cache,
                           const char *dir_name,
                           struct hf_file_lock_dir lock_dir);

/* A ticket or a barrier of ${dir_name} has gone: remove the directory if nobody
 * uses it and it is not in the cache. */
void hf_file_dir_cache_ticket_gone(struct hf_file_dir_cache *dir_cache,
                                   const char *dir_name);

/* Close all directories of the cache, and remove those that nobody uses. */
void hf_file_dir_cache_clear(struct hf_file_dir_cache *dir_cache);

#endif
