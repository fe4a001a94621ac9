/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The open-directory cache: the directories of the last few locks are kept open
 * and in place although they may be empty.  A lock that is taken again and
 * again costs no mkdir() and no rmdir() then.  A directory that leaves the
 * cache is removed if nobody uses it.
 */
#ifndef HF_ENGINES_FILE_DIR_CACHE_H
#define HF_ENGINES_FILE_DIR_CACHE_H

#include "engines/file/lock_dir.h"

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
 * .fd is -1 if it is not in it. */
struct hf_file_lock_dir
hf_file_dir_cache_take(struct hf_file_dir_cache *dir_cache,
                       const char *dir_name);

/* Put ${lock_dir} into the cache, which owns it from now on.  Nothing if its
 * .fd is -1. */
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
