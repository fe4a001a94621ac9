/* SPDX-License-Identifier: Apache-2.0 */
/* Which paths ZooKeeper takes, as its PathUtils says. */
#ifndef HF_ZOOKEEPER_ZK_PATH_H
#define HF_ZOOKEEPER_ZK_PATH_H

/* Why ZooKeeper refuses ${path}, which is valid UTF-8 and begins with '/', as a
 * text such as "an empty component"; NULL: it does not.  "/" itself is refused,
 * because its only component is empty. */
const char *hf_zk_path_why_refused(const char *path);

#endif
