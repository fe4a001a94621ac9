/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that users of the session make on it, and what a call proves that
 * is a transaction. */
#include <assert.h>

#include "zookeeper/zk_session_private.h"

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
