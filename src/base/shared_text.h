/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text of any length with a reference count.  Many objects get the same text:
 * all waits that end with their session, or all waits behind one ticket.  If
 * the text that is wanted equals the text that was made last, no new one is
 * made: the last one gets another reference.
 *
 * Functions are called with that lock held which guards the object that
 * contains the struct hf_shared_texts.
 */
#ifndef HF_BASE_SHARED_TEXT_H
#define HF_BASE_SHARED_TEXT_H

#include <stdbool.h>

/* A shared text.  A NULL pointer stands for the text "". */
struct hf_shared_text {
    unsigned references;
    char text[];
};

/* The texts that share.  All bytes zero: there is none yet. */
struct hf_shared_texts {
    struct hf_shared_text *last; /* the text that was made last; it may be
                                    freed, then NULL */
};

/* The characters of ${text}; "" if it is NULL. */
const char *hf_shared_text_get(const struct hf_shared_text *text);

/* Set ${*slot} to a text that equals ${string}.  ${*slot} is NULL or was set by
 * these functions; ${string} may be the text of ${*slot}.  If there is no
 * memory, ${*slot} is set to NULL, and the function returns false. */
bool hf_shared_text_set(struct hf_shared_texts *pool,
                        struct hf_shared_text **slot, const char *string);

/* Set ${*slot} to NULL, and free its text if that was the last reference. */
void hf_shared_text_clear(struct hf_shared_texts *pool,
                          struct hf_shared_text **slot);

#endif
