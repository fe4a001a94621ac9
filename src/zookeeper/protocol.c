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

/* ---------------------------------------------------------------- multi -- */

/* MultiHeader of zookeeper.jute: a type, a flag and an error, which is -1. */

void hf_zk_multi_put_header(struct hf_jute_writer *out, int32_t type)
{
    hf_jute_put_int(out, type);
    hf_jute_put_bool(out, false);
    hf_jute_put_int(out, -1);
}

void hf_zk_multi_put_end(struct hf_jute_writer *out)
{
    hf_jute_put_int(out, -1);
    hf_jute_put_bool(out, true);
    hf_jute_put_int(out, -1);
}

int32_t hf_zk_multi_get_header(struct hf_jute_reader *reader, bool *done)
{
    int32_t type = hf_jute_get_int(reader);

    *done = hf_jute_get_bool(reader);
    (void)hf_jute_get_int(reader);
    return type;
}

/* Read the error of one failed operation in a multi's answer.  Operations
 * before the failed one, which were rolled back, have the error 0.
 * ${rolled_back} is set in either case. */
static enum hf_zk_error get_error(struct hf_jute_reader *body,
                                  bool *rolled_back)
{
    int32_t error = hf_jute_get_int(body);

    *rolled_back = true;
    if (body->failed || error > 0)
        return HF_ZK_MALFORMED;
    return (enum hf_zk_error)error;
}

enum hf_zk_error hf_zk_multi_read_next(struct hf_jute_reader *body)
{
    bool done, rolled_back;
    int32_t type = hf_zk_multi_get_header(body, &done);

    if (body->failed || done)
        return HF_ZK_MALFORMED;
    if (type == HF_ZK_ERROR_RESULT)
        return get_error(body, &rolled_back);
    return type == HF_ZK_GET_DATA ? HF_ZK_OK : HF_ZK_MALFORMED;
}

/* The answer has one result for each operation; the failed one is the first
 * with an error. */
size_t hf_zk_multi_failed_index(const struct hf_jute_reader *body)
{
    struct hf_jute_reader rest = *body;
    bool done, rolled_back;
    size_t nth = 0;

    for (;; nth++) {
        (void)hf_zk_multi_get_header(&rest, &done);
        if (rest.failed || get_error(&rest, &rolled_back) != HF_ZK_OK)
            return nth;
    }
}

/* The answer is a sequence of headers and results that ends with a header
 * whose done flag is set. */
enum hf_zk_error hf_zk_multi_result(const struct hf_jute_reader *body,
                                    struct hf_jute_piece *paths, size_t count)
{
    struct hf_jute_reader rest = *body;
    enum hf_zk_error error = HF_ZK_OK;
    bool done = false, rolled_back = false;
    size_t made = 0;

    while (!done && error == HF_ZK_OK) {
        int32_t type = hf_zk_multi_get_header(&rest, &done);

        if (rest.failed)
            return HF_ZK_MALFORMED;
        if (done || type == HF_ZK_DELETE || type == HF_ZK_CHECK)
            continue;
        if (type == HF_ZK_ERROR_RESULT) {
            error = get_error(&rest, &rolled_back);
        } else if (type == HF_ZK_SET_DATA) {
            (void)hf_zk_get_stat(&rest);
        } else if (type == HF_ZK_CREATE && made < count) {
            paths[made++] = hf_jute_get_buffer(&rest);
        } else {
            return HF_ZK_MALFORMED;
        }
    }
    if (error == HF_ZK_OK && (rolled_back || made != count))
        return HF_ZK_MALFORMED;
    return error;
}
