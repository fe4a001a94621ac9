/* SPDX-License-Identifier: Apache-2.0 */
/* The only record that more than one file reads, and the texts of errors. */
#include "zookeeper/protocol.h"

const char *hf_zk_error_text(enum hf_zk_error error)
{
    switch (error) {
#define TEXT_(name, number, text)                                              \
    case HF_ZK_##name:                                                         \
        return text;
        HF_ZK_ERROR_TABLE(TEXT_)
#undef TEXT_
    default:
        break;
    }
    return "an error that this version of holdfast does not know";
}

struct hf_zk_stat hf_zk_get_stat(struct hf_jute_reader *reader)
{
    struct hf_zk_stat stat;

    /* The order of org.apache.zookeeper.data.Stat in zookeeper.jute. */
    stat.czxid = hf_jute_get_long(reader);
    stat.mzxid = hf_jute_get_long(reader);
    stat.ctime = hf_jute_get_long(reader);
    stat.mtime = hf_jute_get_long(reader);
    stat.version = hf_jute_get_int(reader);
    stat.cversion = hf_jute_get_int(reader);
    stat.aversion = hf_jute_get_int(reader);
    stat.owner = hf_jute_get_long(reader);
    stat.data_bytes = hf_jute_get_int(reader);
    stat.children = hf_jute_get_int(reader);
    stat.pzxid = hf_jute_get_long(reader);
    return stat;
}

/* Servers keep what marks containers and nodes with a TTL there too
 * (EphemeralType.java), but 3.8 shows 0 for both. */
bool hf_zk_is_session(int64_t owner)
{
    return owner != 0 && owner != INT64_MIN && (uint64_t)owner >> 56 != 0xff;
}
