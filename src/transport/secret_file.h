/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a file that is its owner's alone. */
#ifndef HF_TRANSPORT_SECRET_FILE_H
#define HF_TRANSPORT_SECRET_FILE_H

#include <stddef.h>

#include <holdfast/holdfast.h>

#define HF_SECRET_FILE_BYTES 16384

/* Read all of ${path} to ${text}, ${bytes} and a NUL.  HF_EDENIED where the
 * file is not ours, or not ours alone, or cannot be opened for want of rights;
 * else HF_EURL.  Whoever called wipes ${text}, in either case. */
hf_status hf_secret_file_read(const char *path, char text[HF_SECRET_FILE_BYTES],
                              size_t *bytes, struct hf_error *error);

#endif
