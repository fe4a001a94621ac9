/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of nodes: which ones servers take, as PathUtils.validatePath() of
 * ZooKeeper says, and what a chroot does to them.  A chroot is "" or a path
 * such as "/a/b". */
#ifndef HF_ZOOKEEPER_ZK_PATH_H
#define HF_ZOOKEEPER_ZK_PATH_H

#include <stdbool.h>

#include "zookeeper/jute.h"

/* Why servers refuse ${path}, as a text that completes "the path ... has ",
 * or NULL.  ${sequential}: of a node to whose name the server appends digits,
 * so that the last component may be empty, "." or "..". */
const char *hf_zk_path_why_refused(const char *path, bool sequential);

/* ${path}, or another text, as a piece. */
struct hf_jute_piece hf_zk_path_piece(const char *path);

/* The part of ${path}, as a server says it, that is below ${top}, which is a
 * path or a chroot; "/" if it is ${top} itself.  .bytes is NULL if ${path} is
 * elsewhere, or null. */
struct hf_jute_piece hf_zk_path_below(struct hf_jute_piece path,
                                      struct hf_jute_piece top);

#endif
