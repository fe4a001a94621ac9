/* SPDX-License-Identifier: Apache-2.0 */
/* Filling in a struct hf_error. */
#ifndef HF_CORE_ERROR_H
#define HF_CORE_ERROR_H

#include <holdfast/holdfast.h>

/* Set ${error} (NULL is fine) to ${status} and the text, cut at a UTF-8
 * boundary.  Returns ${status}, so that a failing path is one line. */
hf_status hf_error_set(struct hf_error *error, hf_status status,
                       const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Put "${context}: " in front of the text as it crosses to a caller. */
void hf_error_prefix(struct hf_error *error, const char *context);

#endif
