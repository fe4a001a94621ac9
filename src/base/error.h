/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that fill in a struct hf_error. */
#ifndef HF_BASE_ERROR_H
#define HF_BASE_ERROR_H

#include <holdfast/holdfast.h>

/* Set ${error} (may be NULL) to ${status} and the formatted text, cut at a
 * UTF-8 boundary and made printable.  Returns ${status}, so that a failing path
 * is one line. */
hf_status hf_error_set(struct hf_error *error, hf_status status,
                       const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Put "${context}: " in front of the text, where an error crosses to a caller.
 */
void hf_error_prefix(struct hf_error *error, const char *context);

#endif
