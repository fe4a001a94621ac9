/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text that is kept at its length.  Many objects are told the same: all waits
 * that end with their session, all that wait behind one ticket.  A text equal
 * to the one that was kept last is that one, with another reference.
 *
 * All with the lock of whatever has the struct hf_shared_texts.
 */
#ifndef HF_CORE_SHARED_TEXT_H
#define HF_CORE_SHARED_TEXT_H

#include <stdbool.h>

/* A pointer to one may be NULL: "". */
struct hf_shared_text {
    unsigned references;
    char text[];
};

/* Zeroed: none was kept. */
struct hf_shared_texts {
    struct hf_shared_text *last; /* no reference; NULL when that is gone */
};

/* "" if ${text} is NULL. */
const char *hf_shared_text_get(const struct hf_shared_text *text);

/* Have ${*kept}, which is NULL or was set by these, be a text that reads
 * ${words}, which may be those of ${*kept}.  False, and then it is NULL, for
 * lack of memory. */
bool hf_shared_text_set(struct hf_shared_texts *pool,
                        struct hf_shared_text **slot, const char *string);

/* Have ${*kept} be NULL. */
void hf_shared_text_clear(struct hf_shared_texts *pool,
                          struct hf_shared_text **slot);

#endif
