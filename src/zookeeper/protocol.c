/* SPDX-License-Identifier: Apache-2.0 */
/* The records that more than one file reads or writes, and the texts of errors.
 */
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

void hf_zk_put_connect_request(struct hf_jute_writer *out,
                               const struct hf_zk_connect_request *request)
{
    size_t begin = hf_jute_begin_frame(out);

    hf_jute_put_int(out, 0); /* protocol version */
    hf_jute_put_long(out, request->zxid);
    hf_jute_put_int(out, (int32_t)request->timeout_ms);
    hf_jute_put_long(out, request->id);
    hf_jute_put_buffer(out, request->password, HF_ZK_PASSWORD_BYTES);
    hf_jute_put_bool(out, request->read_only);
    hf_jute_end_frame(out, begin);
}

void hf_zk_put_close_request(struct hf_jute_writer *out)
{
    size_t begin = hf_jute_begin_frame(out);

    hf_jute_put_int(out, 1); /* xid */
    hf_jute_put_int(out, HF_ZK_CLOSE_SESSION);
    hf_jute_end_frame(out, begin);
}

/* Servers keep what marks containers and nodes with a TTL there too
 * (EphemeralType.java), but 3.8 shows 0 for both. */
bool hf_zk_is_session(int64_t owner)
{
    return owner != 0 && owner != INT64_MIN && (uint64_t)owner >> 56 != 0xff;
}
