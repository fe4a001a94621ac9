/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials in a file, which neither a process list nor a log shows: one line
 *
 *     digest:USER:PASSWORD
 *
 * besides empty ones and those that begin with '#'.  No error text has any of
 * it.
 */
#ifndef HF_ENGINES_ZOOKEEPER_AUTH_FILE_H
#define HF_ENGINES_ZOOKEEPER_AUTH_FILE_H

#include "engines/zookeeper/config.h"

/* Read "USER:PASSWORD" to ${auth}.  HF_EDENIED where the file is not ours, or
 * not ours alone, or cannot be opened for want of rights; else HF_EURL. */
hf_status hf_zk_auth_file_read(const char *path, char auth[HF_ZK_AUTH_BYTES],
                               struct hf_error *error);

/* ${bytes} > 0 of its contents, for tests and fuzzers: changed by the call. */
hf_status hf_zk_auth_file_parse(const char *path, char *text, size_t bytes,
                                char auth[HF_ZK_AUTH_BYTES],
                                struct hf_error *error);

#endif
