/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last error of a handle, which hf_lock_error() and the like copy.  Its
 * text is kept at its length, and once for all handles that share a struct
 * hf_shared_texts.
 */
#ifndef HF_OPERATION_LAST_ERROR_H
#define HF_OPERATION_LAST_ERROR_H

#include <holdfast/holdfast.h>

#include "base/shared_text.h"

/* Zeroed: no error yet. */
struct hf_last_error {
    hf_status status; /* HF_OK: no error */
    /* The call that failed, a static text; NULL: the text says everything. */
    const char *call;
    struct hf_shared_text *text;
};

/* All with the lock that guards ${texts}. */

/* Remember ${error} as the failure of ${call}, a static text; if that is NULL,
 * the text says everything.  Without memory for the text, the text of the
 * status is used. */
void hf_last_error_set(struct hf_shared_texts *texts,
                       struct hf_last_error *last_error, const char *call,
                       const struct hf_error *error);

/* Copy it to ${error}: HF_OK and "" if there was none. */
void hf_last_error_copy(const struct hf_last_error *last_error,
                        struct hf_error *error);

/* Free the text. */
void hf_last_error_free(struct hf_shared_texts *texts,
                        struct hf_last_error *last_error);

#endif
