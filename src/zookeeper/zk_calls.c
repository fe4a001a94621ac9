/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that users of the session make on it, what a call proves if it is a
 * transaction, and the requests of the lock engine.  Nothing here waits for an
 * answer or knows of locks. */
#include "zookeeper/zk_calls.h"

#include <assert.h>
#include <string.h>

#include "zookeeper/op_codec.h"

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

/* Listeners are notified only if ${call} proves more than was proven before. */
void hf_zk_call_committed(struct hf_zk_session *session,
                          const struct hf_zk_call *call)
{
    uint64_t anchor_ms = hf_zk_call_proves_ms(session, call);

    if (anchor_ms <= session->proven_anchor_ms)
        return;
    session->proven_anchor_ms = anchor_ms;
    HF_ZK_NOTIFY(&session->listeners, proven, (listener->user, anchor_ms));
}

/* ------------------------------------------------------------- requests -- */

/* Send ${op}, whose path includes the chroot, as a request of ${opcode}. */
static void send(struct hf_zk_session *session, struct hf_zk_call *call,
                 enum hf_zk_opcode opcode, const struct hf_zookeeper_op *op)
{
    const struct hf_zk_op_context context = {
        .chroot = "", .private_nodes = session->config->private_nodes};
    size_t begin = hf_zk_call_begin(session, call, opcode);

    hf_zk_op_put(&session->wire.out, op, &context);
    hf_zk_call_end(session, begin);
}

/* Append ${op} to the multi that is begun. */
static void put_in_multi(struct hf_zk_session *session,
                         const struct hf_zookeeper_op *op)
{
    const struct hf_zk_op_context context = {
        .chroot = "", .private_nodes = session->config->private_nodes};

    hf_zk_op_put_in_multi(&session->wire.out, op, &context);
}

/* Send a read of ${path}, whose record ends with its watch flag. */
static void send_read(struct hf_zk_session *session, struct hf_zk_call *call,
                      enum hf_zk_opcode opcode, enum hf_zookeeper_op_kind kind,
                      const char *path, bool watch)
{
    struct hf_jute_writer *out = &session->wire.out;

    send(session, call, opcode,
         &(struct hf_zookeeper_op){.kind = kind, .path = path});
    if (!out->failed)
        out->bytes[out->used - 1] = watch;
}

void hf_zk_send_exists(struct hf_zk_session *session, struct hf_zk_call *call,
                       const char *path, bool watch)
{
    send_read(session, call, HF_ZK_EXISTS, HF_ZOOKEEPER_EXISTS, path, watch);
}

void hf_zk_send_get_data(struct hf_zk_session *session, struct hf_zk_call *call,
                         const char *path, bool watch)
{
    send_read(session, call, HF_ZK_GET_DATA, HF_ZOOKEEPER_GET, path, watch);
}

void hf_zk_send_get_children(struct hf_zk_session *session,
                             struct hf_zk_call *call, const char *path,
                             bool watch)
{
    send_read(session, call, HF_ZK_GET_CHILDREN, HF_ZOOKEEPER_CHILDREN, path,
              watch);
}

static struct hf_zookeeper_op set_data(const char *path, const char *data,
                                       int32_t version)
{
    return (struct hf_zookeeper_op){.kind = HF_ZOOKEEPER_SET,
                                    .path = path,
                                    .data = data,
                                    .bytes = strlen(data),
                                    .version = version};
}

void hf_zk_send_set_data(struct hf_zk_session *session, struct hf_zk_call *call,
                         const char *path, const char *data, int32_t version)
{
    const struct hf_zookeeper_op op = set_data(path, data, version);

    send(session, call, HF_ZK_SET_DATA, &op);
}

void hf_zk_send_sync(struct hf_zk_session *session, struct hf_zk_call *call,
                     const char *path)
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_SYNC, .path = path};

    send(session, call, HF_ZK_SYNC, &op);
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

void hf_zk_send_delete(struct hf_zk_session *session, struct hf_zk_call *call,
                       const char *path)
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_DELETE,
                                       .path = path,
                                       .version = HF_ZK_ANY_VERSION};

    send(session, call, HF_ZK_DELETE, &op);
}

/* The flags are those of the mode with the same number. */
static struct hf_zookeeper_op create(const char *path, const char *data,
                                     enum hf_zk_create_flags flags)
{
    return (struct hf_zookeeper_op){.kind = HF_ZOOKEEPER_CREATE,
                                    .path = path,
                                    .data = data,
                                    .bytes = strlen(data),
                                    .mode = (enum hf_zookeeper_mode)flags};
}

void hf_zk_send_create(struct hf_zk_session *session, struct hf_zk_call *call,
                       enum hf_zk_opcode opcode, const char *path,
                       const char *data, enum hf_zk_create_flags flags)
{
    const struct hf_zookeeper_op op = create(path, data, flags);

    send(session, call, opcode, &op);
}

/* ----------------------------------------------------------------- multi -- */

void hf_zk_multi_create(struct hf_zk_session *session, const char *path,
                        const char *data, enum hf_zk_create_flags flags)
{
    const struct hf_zookeeper_op op = create(path, data, flags);

    assert(flags != HF_ZK_CONTAINER);
    put_in_multi(session, &op);
}

void hf_zk_multi_delete(struct hf_zk_session *session, const char *path,
                        int32_t version)
{
    const struct hf_zookeeper_op op = {
        .kind = HF_ZOOKEEPER_DELETE, .path = path, .version = version};

    put_in_multi(session, &op);
}

void hf_zk_multi_check(struct hf_zk_session *session, const char *path)
{
    const struct hf_zookeeper_op op = {
        .kind = HF_ZOOKEEPER_CHECK, .path = path, .version = HF_ZK_ANY_VERSION};

    put_in_multi(session, &op);
}

void hf_zk_multi_set_data(struct hf_zk_session *session, const char *path,
                          const char *data, int32_t version)
{
    const struct hf_zookeeper_op op = set_data(path, data, version);

    put_in_multi(session, &op);
}

void hf_zk_multi_get_data(struct hf_zk_session *session, const char *path)
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_GET, .path = path};

    put_in_multi(session, &op);
}

void hf_zk_multi_end(struct hf_zk_session *session, size_t begin)
{
    hf_zk_multi_put_end(&session->wire.out);
    hf_zk_call_end(session, begin);
}
