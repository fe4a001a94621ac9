/* SPDX-License-Identifier: Apache-2.0 */
/* The tables from a server's errors to statuses and texts.  The errors are
 * those that the request processors of ZooKeeper answer with. */
#include <assert.h>
#include <stdio.h>

#include "base/error.h"
#include "zookeeper/op_codec.h"
#include "zookeeper/op_support.h"
#include "zookeeper/zk_path.h"

/* At most this many bytes of a path are shown in a text, so that the reason
 * behind the path is not cut off. */
#define SHOWN_BYTES 200

/* ---------------------------------------------------------------- status -- */

static bool creates(enum hf_zk_opcode opcode)
{
    return opcode == HF_ZK_CREATE || opcode == HF_ZK_CREATE2 ||
           opcode == HF_ZK_CREATE_CONTAINER || opcode == HF_ZK_CREATE_TTL;
}

static bool writes(enum hf_zk_opcode opcode)
{
    return creates(opcode) || opcode == HF_ZK_DELETE ||
           opcode == HF_ZK_SET_DATA || opcode == HF_ZK_SET_ACL ||
           opcode == HF_ZK_MULTI || opcode == HF_ZK_RECONFIG;
}

static hf_status status_of(enum hf_zk_error code, enum hf_zk_opcode opcode)
{
    switch ((int)code) {
    case HF_ZK_NO_NODE:
        return HF_EGONE;
    case HF_ZK_NODE_EXISTS:
        return HF_EEXISTS;
    case HF_ZK_BAD_VERSION:
        return HF_EVERSION;
    case HF_ZK_NOT_EMPTY:
        return HF_ENOTEMPTY;
    case HF_ZK_NO_AUTH:
    case HF_ZK_AUTH_FAILED:
    case HF_ZK_SASL_REQUIRED:
        return HF_EDENIED;
    case HF_ZK_NOT_READ_ONLY:
        return HF_EREADONLY;
    case HF_ZK_UNIMPLEMENTED:
    case HF_ZK_RECONFIG_DISABLED:
        return HF_EUNSUPPORTED;
    case HF_ZK_INVALID_ACL:
    case HF_ZK_BAD_ARGUMENTS:
    case HF_ZK_NO_CHILDREN_FOR_EPHEMERALS:
    case HF_ZK_EPHEMERAL_ON_LOCAL_SESSION:
        return HF_EINVAL;
    case HF_ZK_QUOTA_EXCEEDED:
        return HF_EFULL;
    case HF_ZK_SESSION_EXPIRED:
        return HF_ELOST;
    case HF_ZK_THROTTLED:
    case HF_ZK_SESSION_MOVED:
    case HF_ZK_NEW_CONFIG_NO_QUORUM:
    case HF_ZK_RECONFIG_IN_PROGRESS:
        return HF_EUNREACHABLE;
    case HF_ZK_CONNECTION_LOSS:
    case HF_ZK_OPERATION_TIMEOUT:
    case HF_ZK_REQUEST_TIMEOUT:
        return writes(opcode) ? HF_EUNSURE : HF_EUNREACHABLE;
    /* A server may answer with this error even after it has carried out a
     * write. */
    case HF_ZK_MARSHALLING:
        return writes(opcode) ? HF_EUNSURE : HF_EINVAL;
    case HF_ZK_OUT_OF_MEMORY:
        return HF_ENOMEM;
    case HF_ZK_ANSWER_TOO_LONG:
        return HF_ELIMIT;
    default:
        return HF_EPROTOCOL;
    }
}

/* ------------------------------------------------------------------ text -- */

/* The text for a server that does not know the type of a request. */
static const char *unknown_operation(enum hf_zk_opcode opcode)
{
    if (opcode == HF_ZK_CREATE_TTL)
        return "the server does not know nodes with a time to live, or has "
               "them switched off";
    if (opcode == HF_ZK_RECONFIG)
        return "the server is not one of an ensemble";
    return "the server does not know this operation";
}

/* The first part of the text: what is wrong. */
static const char *what(const struct hf_zk_op_record *record,
                        enum hf_zk_error code)
{
    switch ((int)code) {
    case HF_ZK_NO_NODE:
        if (creates(record->opcode))
            return "there is no node above it";
        break;
    case HF_ZK_UNIMPLEMENTED:
        return unknown_operation(record->opcode);
    case HF_ZK_OUT_OF_MEMORY:
        return "no memory for the answer";
    case HF_ZK_ANSWER_TOO_LONG:
        return "the answer is longer than max_answer_bytes";
    case HF_ZK_MALFORMED:
        return "the answer does not fit the operation";
    default:
        break;
    }
    return hf_zk_error_text(code);
}

/* After BAD_ARGUMENTS of ${opcode}: what the server would have taken. */
static const char *good_arguments(enum hf_zk_opcode opcode)
{
    if (opcode == HF_ZK_DELETE)
        return "; the servers need that node";
    if (opcode == HF_ZK_RECONFIG)
        return "; expected servers such as server.4=h4:2888:3888;2181, and "
               "enough of them that may vote";
    return "";
}

/* The second part of the text: what to do. */
static const char *advice(const struct hf_zk_op_record *record,
                          enum hf_zk_error code)
{
    switch ((int)code) {
    case HF_ZK_NO_NODE:
        return creates(record->opcode) ? "; create that first" : "";
    case HF_ZK_NOT_EMPTY:
        return "; delete them first";
    case HF_ZK_NEW_CONFIG_NO_QUORUM:
        return "; start the servers that join, and try again when they have "
               "the data";
    case HF_ZK_RECONFIG_DISABLED:
        return "; expected reconfigEnabled=true on all servers";
    case HF_ZK_SASL_REQUIRED:
        return "; expected sasl= in the URL";
    case HF_ZK_NO_AUTH:
        return "; see the access list of the node, and the credentials of "
               "this client";
    case HF_ZK_BAD_ARGUMENTS:
        return good_arguments(record->opcode);
    case HF_ZK_INVALID_ACL:
        return "; expected schemes that it knows, with ids of their form; the "
               "scheme \"auth\" needs credentials";
    case HF_ZK_UNIMPLEMENTED:
        return hf_zk_op_support_expected(record->opcode);
    case HF_ZK_QUOTA_EXCEEDED:
        return "; see the quota in /zookeeper/quota";
    case HF_ZK_THROTTLED:
    case HF_ZK_NOT_READ_ONLY:
    case HF_ZK_RECONFIG_IN_PROGRESS:
        return "; try again later";
    case HF_ZK_OUT_OF_MEMORY:
    case HF_ZK_MALFORMED:
    case HF_ZK_ANSWER_TOO_LONG:
        if (record->opcode == HF_ZK_MULTI) /* the errors of a multi are in the
                                              body, which cannot be read */
            return "; the multi may have been carried out";
        return writes(record->opcode) ? "; the operation was carried out" : "";
    default:
        return "";
    }
}

/* The subject of the text: the path of the operation, or its name if it has no
 * path. */
static struct hf_jute_piece subject(const struct hf_zk_op_record *record,
                                    const char *chroot)
{
    struct hf_jute_piece below =
        hf_zk_path_below(record->path, hf_zk_path_piece(chroot));

    if (below.bytes != NULL)
        return below;
    if (record->path.bytes != NULL)
        return record->path; /* the node of GET_CONFIG or RECONFIG, which may be
                                outside the chroot */
    if (record->opcode == HF_ZK_WHO_AM_I)
        return hf_zk_path_piece("who am I");
    return hf_zk_path_piece(record->opcode == HF_ZK_AUTH ? "add auth"
                                                         : "the multi");
}

hf_status hf_zk_op_failure(const struct hf_zk_op_record *record,
                           const char *chroot, enum hf_zk_error code,
                           struct hf_error *error)
{
    struct hf_jute_piece about = subject(record, chroot);
    hf_status status = status_of(code, record->opcode);
    int shown = about.count > SHOWN_BYTES ? SHOWN_BYTES : (int)about.count;
    const char *cut = about.count > SHOWN_BYTES ? "..." : "";
    char detail[64] = "";

    assert(code != HF_ZK_OK && code != HF_ZK_DISCONNECTED);
    if (code == HF_ZK_BAD_VERSION)
        (void)snprintf(detail, sizeof detail,
                       record->opcode == HF_ZK_RECONFIG
                           ? "; expected version 0x%llx"
                           : "; expected version %lld",
                       (long long)record->version);
    else if (status == HF_EPROTOCOL && (int)code < 0)
        (void)snprintf(detail, sizeof detail, " (%d)", (int)code);
    return hf_error_set(error, status, "%.*s%s: %s%s%s", shown, about.bytes,
                        cut, what(record, code), detail, advice(record, code));
}
