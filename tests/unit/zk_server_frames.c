/* SPDX-License-Identifier: Apache-2.0 */
#include "zk_server_frames.h"

#include <assert.h>

#include "zookeeper/protocol.h"

size_t zk_server_begin(struct hf_jute_writer *to, int32_t xid, int64_t zxid,
                       int32_t error)
{
    size_t begin = hf_jute_begin_frame(to);

    hf_jute_put_int(to, xid);
    hf_jute_put_long(to, zxid);
    hf_jute_put_int(to, error);
    return begin;
}

void zk_server_header(struct hf_jute_writer *to, int32_t xid, int64_t zxid,
                      int32_t error)
{
    hf_jute_end_frame(to, zk_server_begin(to, xid, zxid, error));
}

static size_t begin_session(struct hf_jute_writer *to, int32_t timeout_ms,
                            int64_t id)
{
    size_t begin = hf_jute_begin_frame(to);

    hf_jute_put_int(to, 0); /* the version of the protocol */
    hf_jute_put_int(to, id == 0 ? 0 : timeout_ms);
    hf_jute_put_long(to, id);
    hf_jute_put_string(to, ZK_SERVER_PASSWORD);
    return begin;
}

void zk_server_session(struct hf_jute_writer *to, int32_t timeout_ms,
                       int64_t id, bool read_only)
{
    size_t begin = begin_session(to, timeout_ms, id);

    hf_jute_put_bool(to, read_only);
    hf_jute_end_frame(to, begin);
}

void zk_server_old_session(struct hf_jute_writer *to, int32_t timeout_ms,
                           int64_t id)
{
    hf_jute_end_frame(to, begin_session(to, timeout_ms, id));
}

void zk_server_event(struct hf_jute_writer *to, int64_t zxid, int32_t type,
                     const char *path)
{
    size_t begin = zk_server_begin(to, HF_ZK_XID_EVENT, zxid, HF_ZK_OK);

    hf_jute_put_int(to, type);
    hf_jute_put_int(to, 3); /* SyncConnected */
    hf_jute_put_string(to, path);
    hf_jute_end_frame(to, begin);
}

void zk_server_put_stat(struct hf_jute_writer *to,
                        const struct hf_zookeeper_stat *stat)
{
    hf_jute_put_long(to, stat->czxid);
    hf_jute_put_long(to, stat->mzxid);
    hf_jute_put_long(to, stat->created_utc_ms);
    hf_jute_put_long(to, stat->modified_utc_ms);
    hf_jute_put_int(to, stat->version);
    hf_jute_put_int(to, stat->cversion);
    hf_jute_put_int(to, stat->aversion);
    hf_jute_put_long(to, stat->ephemeral_owner);
    hf_jute_put_int(to, stat->bytes);
    hf_jute_put_int(to, stat->children);
    hf_jute_put_long(to, stat->pzxid);
}

void zk_server_put_result(struct hf_jute_writer *to, int32_t type, bool last,
                          int32_t error)
{
    hf_jute_put_int(to, type);
    hf_jute_put_bool(to, last);
    hf_jute_put_int(to, error);
}

void zk_server_put_record(struct hf_jute_writer *to, int32_t opcode,
                          const char *path,
                          const struct hf_zookeeper_stat *stat)
{
    switch (opcode) {
    case HF_ZK_CREATE:
    case HF_ZK_SYNC:
        hf_jute_put_string(to, path);
        break;
    case HF_ZK_CREATE2:
    case HF_ZK_CREATE_CONTAINER:
        hf_jute_put_string(to, path);
        zk_server_put_stat(to, stat);
        break;
    case HF_ZK_EXISTS:
    case HF_ZK_SET_DATA:
    case HF_ZK_SET_ACL:
        zk_server_put_stat(to, stat);
        break;
    case HF_ZK_MULTI:
        zk_server_put_result(to, HF_ZK_DELETE, false, HF_ZK_OK);
        zk_server_put_result(to, -1, true, -1);
        break;
    default:
        break;
    }
}

bool zk_server_read_frame(struct hf_jute_reader *sent,
                          struct hf_jute_reader *frame)
{
    struct hf_jute_piece piece;

    if (sent->left == 0)
        return false;
    piece = hf_jute_get_buffer(sent);
    assert(!sent->failed && piece.count > 0);
    *frame = (struct hf_jute_reader){(const uint8_t *)piece.bytes, piece.count,
                                     false};
    return true;
}

struct zk_server_handshake
zk_server_read_handshake(struct hf_jute_reader *frame)
{
    struct zk_server_handshake handshake;

    handshake.version = hf_jute_get_int(frame);
    handshake.zxid = hf_jute_get_long(frame);
    handshake.timeout_ms = hf_jute_get_int(frame);
    handshake.id = hf_jute_get_long(frame);
    handshake.password = hf_jute_get_buffer(frame);
    handshake.read_only = hf_jute_get_bool(frame);
    assert(!frame->failed && frame->left == 0);
    return handshake;
}
