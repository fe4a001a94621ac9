/* SPDX-License-Identifier: Apache-2.0 */
/* From errno to a status and a text that says what to do about it. */
#ifndef HF_ENGINES_FILE_ERRNO_ERROR_H
#define HF_ENGINES_FILE_ERRNO_ERROR_H

#include <holdfast/holdfast.h>

/* Fill ${error} from errno: "cannot ${what} ${path} as user N: ...; remedy".
 * ${what} is a verb ("create").  Returns the status:
 *   ENOSPC EDQUOT                HF_EFULL
 *   EMFILE ENFILE ENOLCK EAGAIN  HF_ELIMIT
 *   ENOMEM                       HF_ENOMEM
 *   anything else                HF_EDIR */
hf_status hf_file_error_set_errno(struct hf_error *error, const char *what,
                                  const char *path);

#endif
