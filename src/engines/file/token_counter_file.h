/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a counter, opened or made, and checked: who owns it, and that it
 * is a counter.
 */
#ifndef HF_ENGINES_FILE_TOKEN_COUNTER_FILE_H
#define HF_ENGINES_FILE_TOKEN_COUNTER_FILE_H

#include "engines/file/token_counter.h"

/* Open the file of ${counter} and check it, as hf_file_token_counter_open()
 * says. Sets .fd, .device and .inode, and ${status} to what fstat() says.  If
 * it fails, .fd may be open. */
hf_status hf_file_token_counter_file_open(struct hf_file_token_counter *counter,
                                          int root, const char *path,
                                          mode_t mode, bool shared,
                                          struct stat *status,
                                          struct hf_error *error);

#endif
