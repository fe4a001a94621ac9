/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text of any length with a reference count.  Many objects get the same text:
 * all waits that end with their session, all that wait behind one ticket.  The
 * text that was made last gets another reference if an equal text is wanted.
 *
 * All functions are called with the lock of whatever contains the struct
 * hf_shared_texts.
 */
#ifndef HF_BASE_SHARED_TEXT_H
#define HF_BASE_SHARED_TEXT_H

#include <stdbool.h>

/* A pointer to one may be NULL: "". */
struct hf_shared_text {
    unsigned references;
    char text[];
};

/* Where texts are shared.  Zeroed: there is none yet. */
struct hf_shared_texts {
    struct hf_shared_text *last; /* the one that was made last, without a
                                    reference; NULL when it was freed */
};

/* The characters of ${text}; "" if it is NULL. */
const char *hf_shared_text_get(const struct hf_shared_text *text);

/* Set ${*slot}, which is NULL or was set by these functions, to a text that
 * reads ${string}; ${string} may be that of ${*slot}.  If there is no memory,
 * ${*slot} is NULL and the function returns false. */
bool hf_shared_text_set(struct hf_shared_texts *pool,
                        struct hf_shared_text **slot, const char *string);

/* Set ${*slot} to NULL, and free the text with its last reference. */
void hf_shared_text_clear(struct hf_shared_texts *pool,
                          struct hf_shared_text **slot);

#endif
