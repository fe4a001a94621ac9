/* SPDX-License-Identifier: Apache-2.0 */
/* The directories of the last few locks, kept open and in place although they
 * may be empty: a lock that is taken again and again costs no mkdir and no
 * rmdir.  What leaves is tidied up. */
#ifndef HF_ENGINES_FILE_WARM_H
#define HF_ENGINES_FILE_WARM_H

#include "engines/file/section.h"

#define HF_WARM_MAX 8

struct hf_warm {
    struct hf_place *const *place; /* the engine's, which may be replaced */
    struct {
        char entry[HF_ENTRY_BYTES]; /* "": free */
        struct hf_directory directory;
        uint64_t used_at;
    } slots[HF_WARM_MAX];
    uint64_t clock; /* counts uses */
};

/* Take ${entry}'s directory out; its .fd is -1 if it is not there. */
struct hf_directory hf_warm_take(struct hf_warm *warm, const char *entry);

/* Put ${directory} in, unless its .fd is -1; it is ${warm}'s from now on. */
void hf_warm_put(struct hf_warm *warm, const char *entry,
                 struct hf_directory directory);

/* A ticket of ${entry} was withdrawn: tidy up now unless it is kept warm. */
void hf_warm_left(struct hf_warm *warm, const char *entry);

/* Tidy up and close all. */
void hf_warm_clear(struct hf_warm *warm);

#endif
