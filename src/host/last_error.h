/* SPDX-License-Identifier: Apache-2.0 */
/* The last failure of a handle, as its ..._error() copies it: kept at its
 * length and, of handles that share a struct hf_shared_texts, once. */
#ifndef HF_HOST_LAST_ERROR_H
#define HF_HOST_LAST_ERROR_H

#include <holdfast/holdfast.h>

#include "core/shared_text.h"

/* Zeroed: none. */
struct hf_last_error {
    hf_status status;
    const char *call; /* NULL: none failed */
    struct hf_shared_text *text;
};

/* Below: with the lock of ${texts}. */

/* That ${call}, a static text, failed; or, if that is NULL, what ${error} says.
 * Without memory for the text it is that of the status. */
void hf_last_error_set(struct hf_shared_texts *texts,
                       struct hf_last_error *last_error, const char *call,
                       const struct hf_error *error);

/* Copy it to ${error}: HF_OK and "" if there was none. */
void hf_last_error_copy(const struct hf_last_error *last_error,
                        struct hf_error *error);

void hf_last_error_free(struct hf_shared_texts *texts,
                        struct hf_last_error *last_error);

#endif
