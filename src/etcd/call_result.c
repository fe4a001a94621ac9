/* SPDX-License-Identifier: Apache-2.0 */
/* The meaning of a server's status.  If the server failed before the request
 * went into the log, or after it was carried out, the status shows whether it
 * was carried out.  If the server gave up waiting in between, the server itself
 * does not know. */
#include "etcd/call_result.h"

#include <assert.h>
#include <string.h>

const char *hf_etcd_method_path(enum hf_etcd_method method)
{
    static const char *const paths[] = {
        [HF_ETCD_RANGE] = "/etcdserverpb.KV/Range",
        [HF_ETCD_PUT] = "/etcdserverpb.KV/Put",
        [HF_ETCD_DELETE_RANGE] = "/etcdserverpb.KV/DeleteRange",
        [HF_ETCD_TXN] = "/etcdserverpb.KV/Txn",
        [HF_ETCD_LEASE_GRANT] = "/etcdserverpb.Lease/LeaseGrant",
        [HF_ETCD_LEASE_REVOKE] = "/etcdserverpb.Lease/LeaseRevoke",
        [HF_ETCD_LEASE_TIME_TO_LIVE] = "/etcdserverpb.Lease/LeaseTimeToLive",
        [HF_ETCD_AUTHENTICATE] = "/etcdserverpb.Auth/Authenticate",
        [HF_ETCD_MEMBER_LIST] = "/etcdserverpb.Cluster/MemberList",
        [HF_ETCD_STATUS] = "/etcdserverpb.Maintenance/Status",
        [HF_ETCD_ALARM] = "/etcdserverpb.Maintenance/Alarm",
    };

    assert((unsigned)method < HF_ETCD_METHODS);
    return paths[method];
}

/* ----------------------------------------------------------------- texts -- */

void hf_etcd_clean_bytes(struct hf_etcd_bytes bytes,
                         char clean[HF_ETCD_TEXT_BYTES])
{
    const char *from = bytes.bytes;
    size_t count = 0;

    for (; count < bytes.count && count < HF_ETCD_TEXT_BYTES - 1; count++)
        clean[count] =
            (char)(from[count] >= ' ' && from[count] <= '~' ? from[count]
                                                            : '?');
    clean[count] = '\0';
}

void hf_etcd_clean_text(const char *text, char clean[HF_ETCD_TEXT_BYTES])
{
    hf_etcd_clean_bytes(hf_etcd_bytes_of(text), clean);
}

/* The texts are those of etcd's rpctypes.  Cancelled watches have them too,
 * with more text in front. */
bool hf_etcd_is_token_error(enum hf_grpc_status status, const char *text)
{
    if (status == HF_GRPC_UNAUTHENTICATED)
        return true;
    return strstr(text, "invalid auth token") != NULL ||
           strstr(text, "revision of auth store is old") != NULL ||
           strstr(text, "user name is empty") != NULL;
}

/* ------------------------------------------------------------------ ends -- */

bool hf_etcd_is_useless_member(const struct hf_grpc_result *result)
{
    static const char *const texts[] = {
        "etcdserver: no leader", "etcdserver: not capable",
        "etcdserver: rpc not supported for learner"};

    if (!result->answered || result->status != HF_GRPC_UNAVAILABLE)
        return false;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (strcmp(result->text, texts[i]) == 0)
            return true;
    return false;
}

/* Does ${status} mean that the request was not carried out, and would not be if
 * it were repeated unchanged? */
static bool is_refusal(enum hf_grpc_status status)
{
    switch (status) {
    case HF_GRPC_INVALID_ARGUMENT:
    case HF_GRPC_NOT_FOUND:
    case HF_GRPC_ALREADY_EXISTS:
    case HF_GRPC_PERMISSION_DENIED:
    case HF_GRPC_FAILED_PRECONDITION:
    case HF_GRPC_OUT_OF_RANGE:
    case HF_GRPC_UNIMPLEMENTED:
    case HF_GRPC_DATA_LOSS: /* the alarm CORRUPT: the server carries nothing
                               out */
    case HF_GRPC_UNAUTHENTICATED:
        return true;
    default:
        return false;
    }
}

/* Only the server's own text counts, because a proxy may have answered with
 * RESOURCE_EXHAUSTED and another text.  Without an answer the status means that
 * a message was too long, and that message came from the server. */
bool hf_etcd_is_decided(const struct hf_grpc_result *result)
{
    return result->status == HF_GRPC_RESOURCE_EXHAUSTED &&
           (!result->answered ||
            strstr(result->text, "space exceeded") != NULL);
}

/* RESOURCE_EXHAUSTED has three causes.  If the server's queue is full or the
 * request is too long, the request was not carried out.  If there is no space
 * left, the write that finds this out is carried out all the same; later writes
 * are not. */
static enum hf_etcd_end end_exhausted(const char *text, bool writes)
{
    if (strstr(text, "too many requests") != NULL)
        return HF_ETCD_RETRY;
    return writes && strstr(text, "larger than max") == NULL ? HF_ETCD_UNSURE
                                                             : HF_ETCD_REFUSED;
}

enum hf_etcd_end hf_etcd_end_of(const struct hf_grpc_result *result,
                                bool writes, bool repeated)
{
    /* Each time a token became old before it was used.  That is no refusal: the
     * next token may be used in time. */
    if (repeated && result->answered &&
        hf_etcd_is_token_error(result->status, result->text))
        return HF_ETCD_RETRY;
    if (result->unprocessed || hf_etcd_is_useless_member(result))
        return HF_ETCD_RETRY;
    if (result->answered && result->status == HF_GRPC_RESOURCE_EXHAUSTED)
        return end_exhausted(result->text, writes);
    if (result->answered && is_refusal(result->status))
        return HF_ETCD_REFUSED;
    return writes ? HF_ETCD_UNSURE : HF_ETCD_RETRY;
}

/* ---------------------------------------------------------------- causes -- */

/* Texts of etcd's rpctypes and of gRPC, and names of statuses.  A failure that
 * is not in the table may pass: HF_EUNREACHABLE. */
static const struct hf_etcd_cause causes[] = {
    {"user name is empty", HF_EDENIED, NULL},
    {"revision of auth store is old", HF_EUNREACHABLE, NULL},
    {"PERMISSION_DENIED", HF_EDENIED, NULL},
    {"UNAUTHENTICATED", HF_EDENIED, NULL},
    {"space exceeded", HF_EFULL,
     "compact the history and defragment each member, then \"etcdctl alarm "
     "disarm\""},
    {"corrupt cluster", HF_EUNREACHABLE,
     "members differ in their data; replace the one that is wrong, then "
     "\"etcdctl alarm disarm\""},
    {"too many requests", HF_EUNREACHABLE, NULL},
    {"request is too large", HF_EUNSUPPORTED, NULL},
    {"larger than max", HF_EUNSUPPORTED, NULL},
    {"too many operations in txn", HF_EUNSUPPORTED, NULL},
    {"UNIMPLEMENTED", HF_EUNSUPPORTED, NULL},
    {"INVALID_ARGUMENT", HF_EPROTOCOL, NULL},
};

const struct hf_etcd_cause *hf_etcd_cause(size_t index)
{
    return index < sizeof causes / sizeof causes[0] ? &causes[index] : NULL;
}

const struct hf_etcd_cause *hf_etcd_cause_of(const char *text)
{
    const struct hf_etcd_cause *cause;

    for (size_t i = 0; (cause = hf_etcd_cause(i)) != NULL; i++)
        if (strstr(text, cause->words) != NULL)
            break;
    return cause;
}

hf_status hf_etcd_status_of(const struct hf_etcd_result *result)
{
    const struct hf_etcd_cause *cause = hf_etcd_cause_of(result->text);
    hf_status status = cause != NULL ? cause->status : HF_EUNREACHABLE;

    assert(result->end != HF_ETCD_DONE);
    if (result->end == HF_ETCD_REFUSED ||
        (result->end == HF_ETCD_UNSURE && status == HF_EFULL))
        return status;
    return HF_EUNREACHABLE;
}
