/* SPDX-License-Identifier: Apache-2.0 */
/* The only record that more than one file reads. */
#include "zookeeper/protocol.h"

struct hf_zk_stat hf_zk_get_stat(struct hf_jute_reader *reader)
{
    struct hf_zk_stat stat;

    /* The order of org.apache.zookeeper.data.Stat in zookeeper.jute. */
    stat.czxid = hf_jute_get_long(reader);
    (void)hf_jute_get_long(reader); /* mzxid */
    stat.ctime = hf_jute_get_long(reader);
    (void)hf_jute_get_long(reader); /* mtime */
    stat.version = hf_jute_get_int(reader);
    (void)hf_jute_get_int(reader); /* cversion */
    (void)hf_jute_get_int(reader); /* aversion */
    stat.owner = hf_jute_get_long(reader);
    (void)hf_jute_get_int(reader); /* dataLength */
    stat.children = hf_jute_get_int(reader);
    (void)hf_jute_get_long(reader); /* pzxid */
    return stat;
}
