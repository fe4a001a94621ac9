/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of nodes: which ones servers take, as PathUtils.validatePath() of
 * ZooKeeper says, and what a chroot does to them.  A chroot is "" or a path
 * such as "/a/b". */
#ifndef HF_ZOOKEEPER_ZK_PATH_H
#define HF_ZOOKEEPER_ZK_PATH_H

#include <stdbool.h>

#include "zookeeper/jute.h"

/* Why servers refuse ${path}: a text that completes "the path ...  has ", or
 * NULL if they take it.  With ${sequential} the server appends digits to the
 * path, so the last component may be empty, "."  or "..". */
const char *hf_zk_path_why_refused(const char *path, bool sequential);

/* ${path}, or any other text, as a piece; the bytes are not copied. */
struct hf_jute_piece hf_zk_path_piece(const char *path);

/* The part of ${path}, a path in an answer, that is below ${top}, a path or a
 * chroot.  "/" if ${path} is ${top} itself.  .bytes is NULL if ${path} is not
 * at or below ${top}, or is null. */
struct hf_jute_piece hf_zk_path_below(struct hf_jute_piece path,
                                      struct hf_jute_piece top);

#endif
