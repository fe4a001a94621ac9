/* SPDX-License-Identifier: Apache-2.0 */
/* The directories of the last few locks, kept open and in place although they
 * may be empty: a lock that is taken again and again costs no mkdir and no
 * rmdir.  What leaves is tidied up. */
#ifndef HF_ENGINES_FILE_DIR_CACHE_H
#define HF_ENGINES_FILE_DIR_CACHE_H

#include "engines/file/lock_dir.h"

#define HF_DIR_CACHE_MAX 8

struct hf_dir_cache {
    struct hf_root_dir *const
        *root_dir; /* the engine's, which may be replaced */
    struct {
        char dir_name[HF_DIR_NAME_BYTES]; /* "": free */
        struct hf_lock_dir lock_dir;
        uint64_t used_at;
    } items[HF_DIR_CACHE_MAX];
    uint64_t uses; /* counts uses */
};

/* Take ${dir_name}'s directory out; its .fd is -1 if it is not there. */
struct hf_lock_dir hf_dir_cache_take(struct hf_dir_cache *dir_cache,
                                     const char *dir_name);

/* Put ${lock_dir} in, unless its .fd is -1; it is ${dir_cache}'s from now on.
 */
void hf_dir_cache_put(struct hf_dir_cache *dir_cache, const char *dir_name,
                      struct hf_lock_dir lock_dir);

/* A ticket of ${dir_name} was withdrawn: tidy up now unless it is kept warm. */
void hf_dir_cache_ticket_gone(struct hf_dir_cache *dir_cache,
                              const char *dir_name);

/* Tidy up and close all. */
void hf_dir_cache_clear(struct hf_dir_cache *dir_cache);

#endif
