/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials in a file, which neither a process list nor a log shows. */
#ifndef HF_TRANSPORT_SECRET_FILE_H
#define HF_TRANSPORT_SECRET_FILE_H

#include <stddef.h>

#include <holdfast/holdfast.h>

#define HF_SECRET_FILE_BYTES 4096

/* Read all of ${path} to ${text}, ${bytes} and a NUL.  ${line} is what is
 * expected in it, for texts.  HF_EDENIED where the file is not ours, or not
 * ours alone, or cannot be opened for want of rights; else HF_EURL.  Whoever
 * called wipes ${text}, in either case. */
hf_status hf_secret_file_read(const char *path, const char *line,
                              char text[HF_SECRET_FILE_BYTES], size_t *bytes,
                              struct hf_error *error);

#endif
