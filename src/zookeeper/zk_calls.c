/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that users of the session make on it, what a call proves that is a
 * transaction, and the requests of the lock engine.  Nothing here waits for an
 * answer or knows of locks. */
#include "zookeeper/zk_calls.h"

#include <assert.h>

/* True if a successful request of this type is a transaction.  A multi is not
 * listed, because its body says whether it succeeded. */
static bool commits(enum hf_zk_opcode opcode)
{
    switch ((int)opcode) {
    case HF_ZK_CREATE:
    case HF_ZK_CREATE2:
    case HF_ZK_CREATE_CONTAINER:
    case HF_ZK_CREATE_TTL:
    case HF_ZK_DELETE:
    case HF_ZK_SET_DATA:
    case HF_ZK_SET_ACL:
    case HF_ZK_RECONFIG:
        return true;
    default:
        return false;
    }
}

size_t hf_zk_call_begin(struct hf_zk_session *session, struct hf_zk_call *call,
                        enum hf_zk_opcode opcode)
{
    assert(hf_zk_session_usable(session));
    call->commits = commits(opcode);
    call->sent = hf_zk_proof_sent(&session->proof, session->now_ms);
    hf_zk_wire_add_call(&session->wire, call);
    return hf_zk_wire_begin_request(&session->wire, call->xid, opcode,
                                    session->now_ms);
}

void hf_zk_call_end(struct hf_zk_session *session, size_t begin)
{
    hf_jute_end_frame(&session->wire.out, begin);
}

uint64_t hf_zk_call_proves_ms(struct hf_zk_session *session,
                              const struct hf_zk_call *call)
{
    return hf_zk_proof_committed(&session->proof, &call->sent, session->now_ms);
}

/* Notify the listeners of a proven anchor if it is later than the last one. */
static void notify_proven(struct hf_zk_session *session, uint64_t anchor_ms)
{
    if (anchor_ms <= session->proven_anchor_ms)
        return;
    session->proven_anchor_ms = anchor_ms;
    HF_ZK_NOTIFY(&session->listeners, proven, (listener->user, anchor_ms));
}

void hf_zk_call_committed(struct hf_zk_session *session,
                          const struct hf_zk_call *call)
{
    notify_proven(session, hf_zk_call_proves_ms(session, call));
}

/* ------------------------------------------------------------- requests -- */

void hf_zk_send_exists(struct hf_zk_session *session, struct hf_zk_call *call,
                       const char *path)
{
    size_t begin = hf_zk_call_begin(session, call, HF_ZK_EXISTS);

    hf_jute_put_string(&session->wire.out, path);
    hf_jute_put_bool(&session->wire.out, false);
    hf_zk_call_end(session, begin);
}

void hf_zk_send_get_data(struct hf_zk_session *session, struct hf_zk_call *call,
                         const char *path, bool watch)
{
    size_t begin = hf_zk_call_begin(session, call, HF_ZK_GET_DATA);

    hf_jute_put_string(&session->wire.out, path);
    hf_jute_put_bool(&session->wire.out, watch);
    hf_zk_call_end(session, begin);
}

void hf_zk_send_set_data(struct hf_zk_session *session, struct hf_zk_call *call,
                         const char *path, const char *data, int32_t version)
{
    size_t begin = hf_zk_call_begin(session, call, HF_ZK_SET_DATA);

    hf_jute_put_string(&session->wire.out, path);
    hf_jute_put_string(&session->wire.out, data);
    hf_jute_put_int(&session->wire.out, version);
    hf_zk_call_end(session, begin);
}

void hf_zk_send_get_children(struct hf_zk_session *session,
                             struct hf_zk_call *call, const char *path,
                             bool watch)
{
    size_t begin = hf_zk_call_begin(session, call, HF_ZK_GET_CHILDREN);

    hf_jute_put_string(&session->wire.out, path);
    hf_jute_put_bool(&session->wire.out, watch);
    hf_zk_call_end(session, begin);
}

void hf_zk_send_sync(struct hf_zk_session *session, struct hf_zk_call *call,
                     const char *path)
{
    size_t begin = hf_zk_call_begin(session, call, HF_ZK_SYNC);

    hf_jute_put_string(&session->wire.out, path);
    hf_zk_call_end(session, begin);
}

void hf_zk_send_unwatch(struct hf_zk_session *session, struct hf_zk_call *call,
                        const char *path, enum hf_zk_unwatch what)
{
    bool lowers = what == HF_ZK_UNWATCH_LOWER;
    size_t begin = hf_zk_call_begin(
        session, call, lowers ? HF_ZK_ADD_WATCH : HF_ZK_REMOVE_WATCHES);

    hf_jute_put_string(&session->wire.out, path);
    hf_jute_put_int(&session->wire.out, lowers ? 0 : (int32_t)what);
    hf_zk_call_end(session, begin);
}

/* The record that DELETE and CHECK share: a path and a version. */
static void put_versioned(struct hf_zk_session *session, const char *path,
                          int32_t version)
{
    hf_jute_put_string(&session->wire.out, path);
    hf_jute_put_int(&session->wire.out, version);
}

void hf_zk_send_delete(struct hf_zk_session *session, struct hf_zk_call *call,
                       const char *path)
{
    size_t begin = hf_zk_call_begin(session, call, HF_ZK_DELETE);

    put_versioned(session, path, HF_ZK_ANY_VERSION);
    hf_zk_call_end(session, begin);
}

/* The access list of a created node: everybody, or only clients with our
 * credentials. */
static void put_acl(struct hf_jute_writer *out, bool private_nodes)
{
    hf_jute_put_int(out, 1);
    hf_jute_put_int(out, HF_ZK_PERMISSIONS_ALL);
    hf_jute_put_string(out, private_nodes ? "auth" : "world");
    hf_jute_put_string(out, private_nodes ? "" : "anyone");
}

/* The record of a CREATE in all its variants. */
static void put_create(struct hf_zk_session *session, const char *path,
                       const char *data, enum hf_zk_create_flags flags)
{
    struct hf_jute_writer *out = &session->wire.out;

    hf_jute_put_string(out, path);
    hf_jute_put_string(out, data);
    put_acl(out, session->config->private_nodes);
    hf_jute_put_int(out, (int32_t)flags);
}

void hf_zk_send_create(struct hf_zk_session *session, struct hf_zk_call *call,
                       enum hf_zk_opcode opcode, const char *path,
                       const char *data, enum hf_zk_create_flags flags)
{
    size_t begin = hf_zk_call_begin(session, call, opcode);

    put_create(session, path, data, flags);
    hf_zk_call_end(session, begin);
}

/* ----------------------------------------------------------------- multi -- */

/* The header in front of each operation of a multi, and after the last. */
static void put_header(struct hf_zk_session *session, int32_t type, bool done)
{
    hf_jute_put_int(&session->wire.out, type);
    hf_jute_put_bool(&session->wire.out, done);
    hf_jute_put_int(&session->wire.out, -1);
}

void hf_zk_multi_create(struct hf_zk_session *session, const char *path,
                        const char *data, enum hf_zk_create_flags flags)
{
    put_header(session, HF_ZK_CREATE, false);
    put_create(session, path, data, flags);
}

void hf_zk_multi_delete(struct hf_zk_session *session, const char *path,
                        int32_t version)
{
    put_header(session, HF_ZK_DELETE, false);
    put_versioned(session, path, version);
}

void hf_zk_multi_check(struct hf_zk_session *session, const char *path)
{
    put_header(session, HF_ZK_CHECK, false);
    put_versioned(session, path, HF_ZK_ANY_VERSION);
}

void hf_zk_multi_set_data(struct hf_zk_session *session, const char *path,
                          const char *data, int32_t version)
{
    put_header(session, HF_ZK_SET_DATA, false);
    hf_jute_put_string(&session->wire.out, path);
    hf_jute_put_string(&session->wire.out, data);
    hf_jute_put_int(&session->wire.out, version);
}

void hf_zk_multi_get_data(struct hf_zk_session *session, const char *path)
{
    put_header(session, HF_ZK_GET_DATA, false);
    hf_jute_put_string(&session->wire.out, path);
    hf_jute_put_bool(&session->wire.out, false);
}

void hf_zk_multi_end(struct hf_zk_session *session, size_t begin)
{
    put_header(session, -1, true);
    hf_zk_call_end(session, begin);
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
    int32_t type = hf_jute_get_int(body);
    bool done = hf_jute_get_bool(body);
    bool rolled_back;

    (void)hf_jute_get_int(body);
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
    size_t nth = 0;
    bool rolled_back;

    for (;; nth++) {
        (void)hf_jute_get_int(&rest);
        (void)hf_jute_get_bool(&rest);
        (void)hf_jute_get_int(&rest);
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
        int32_t type = hf_jute_get_int(&rest);

        done = hf_jute_get_bool(&rest);
        (void)hf_jute_get_int(&rest);
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
