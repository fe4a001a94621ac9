/* SPDX-License-Identifier: Apache-2.0 */
/* Whether an operation can be sent.  A table says which fields a kind needs;
 * the fields are checked in a fixed order, and the first fault is reported.
 * The text of a fault in a multi begins with the index of the operation, as
 * in ".ops[2]: ...". */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/quote.h"
#include "zookeeper/op_codec.h"
#include "zookeeper/zk_path.h"

/* EphemeralType.TTL.maxValue(): a server keeps the time in 40 bits. */
#define TTL_MAX_MS ((UINT64_C(1) << 40) - 1)

/* Groups of fields. */
enum fields {
    PATH = 1 << 0,
    DATA = 1 << 1,
    VERSION = 1 << 2,
    ACLS = 1 << 3,
    MODE = 1 << 4,
    OPS = 1 << 5,
    SCHEME = 1 << 6,
    IN_MULTI = 1 << 7,      /* may be in .ops of a MULTI */
    IN_MULTI_READ = 1 << 8, /* may be in .ops of a MULTI_READ */
    NOT_ALONE = 1 << 9,     /* may only be in .ops of a MULTI */
    ENSEMBLE = 1 << 10,
};

static const unsigned needs[] = {
    [HF_ZOOKEEPER_CREATE] = PATH | DATA | ACLS | MODE | IN_MULTI,
    [HF_ZOOKEEPER_DELETE] = PATH | VERSION | IN_MULTI,
    [HF_ZOOKEEPER_EXISTS] = PATH,
    [HF_ZOOKEEPER_GET] = PATH | IN_MULTI_READ,
    [HF_ZOOKEEPER_SET] = PATH | DATA | VERSION | IN_MULTI,
    [HF_ZOOKEEPER_CHECK] = PATH | VERSION | IN_MULTI | NOT_ALONE,
    [HF_ZOOKEEPER_CHILDREN] = PATH | IN_MULTI_READ,
    [HF_ZOOKEEPER_SYNC] = PATH,
    [HF_ZOOKEEPER_GET_ACL] = PATH,
    [HF_ZOOKEEPER_SET_ACL] = PATH | ACLS | VERSION,
    [HF_ZOOKEEPER_MULTI] = OPS,
    [HF_ZOOKEEPER_MULTI_READ] = OPS,
    [HF_ZOOKEEPER_EPHEMERALS] = PATH,
    [HF_ZOOKEEPER_COUNT] = PATH,
    [HF_ZOOKEEPER_ADD_WATCH] = PATH,
    [HF_ZOOKEEPER_ADD_AUTH] = DATA | SCHEME,
    [HF_ZOOKEEPER_WHO_AM_I] = 0,
    [HF_ZOOKEEPER_GET_CONFIG] = 0,
    [HF_ZOOKEEPER_RECONFIG] = ENSEMBLE,
};
#define KIND_MAX HF_ZOOKEEPER_RECONFIG
_Static_assert(sizeof needs / sizeof needs[0] == KIND_MAX + 1,
               "needs[] has a row for each kind");

/* ---------------------------------------------------------------- fields -- */

/* Check the fields that every operation has. */
static hf_status check_frame(const struct hf_zookeeper_op *op,
                             struct hf_error *error)
{
    if ((int)op->kind < HF_ZOOKEEPER_CREATE || op->kind > KIND_MAX)
        return hf_error_set(error, HF_EINVAL,
                            "the kind of the operation is %d; expected %d to "
                            "%d, from enum hf_zookeeper_op_kind",
                            (int)op->kind, HF_ZOOKEEPER_CREATE, KIND_MAX);
    if ((int)op->priority < HF_ZOOKEEPER_NORMAL ||
        op->priority > HF_ZOOKEEPER_BULK)
        return hf_error_set(error, HF_EINVAL,
                            "the priority of the operation is %d; expected %d "
                            "to %d, from enum hf_zookeeper_priority",
                            (int)op->priority, HF_ZOOKEEPER_NORMAL,
                            HF_ZOOKEEPER_BULK);
    for (size_t i = 0; i < sizeof op->reserved / sizeof op->reserved[0]; i++)
        if (op->reserved[i] != 0)
            return hf_error_set(error, HF_EUNSUPPORTED,
                                "reserved[%zu] of the operation is not 0; "
                                "expected 0, or a later version of holdfast",
                                i);
    return HF_OK;
}

static hf_status check_path(const struct hf_zookeeper_op *op,
                            struct hf_error *error)
{
    const char *why;

    if (op->path == NULL)
        return hf_error_set(error, HF_EINVAL,
                            "the operation has no path; expected an absolute "
                            "one such as \"/a/b\"");
    why = hf_zk_path_why_refused(op->path, hf_zk_op_is_sequential(op));
    if (why != NULL)
        return hf_error_set(error, HF_EINVAL,
                            "the path %s has %s; expected one that ZooKeeper "
                            "takes, such as \"/a/b\"",
                            hf_quote(op->path, strlen(op->path)).text, why);
    return HF_OK;
}

static hf_status check_data(const struct hf_zookeeper_op *op,
                            struct hf_error *error)
{
    if (op->data == NULL && op->bytes > 0)
        return hf_error_set(error, HF_EINVAL,
                            "the data are NULL but have %zu bytes; expected 0 "
                            "bytes of NULL",
                            op->bytes);
    return HF_OK;
}

static hf_status check_scheme(const struct hf_zookeeper_op *op,
                              struct hf_error *error)
{
    if (op->scheme == NULL || op->scheme[0] == '\0')
        return hf_error_set(error, HF_EINVAL,
                            "the credential has no scheme; expected one such "
                            "as \"digest\"");
    return HF_OK;
}

static hf_status check_version(const struct hf_zookeeper_op *op,
                               struct hf_error *error)
{
    if (op->version < HF_ZOOKEEPER_ANY_VERSION)
        return hf_error_set(error, HF_EINVAL,
                            "the version is %d; expected one from 0 on, or "
                            "HF_ZOOKEEPER_ANY_VERSION, which is -1",
                            (int)op->version);
    return HF_OK;
}

/* Check the mode of a CREATE, and .ttl_ms, which only some modes have. */
static hf_status check_mode(const struct hf_zookeeper_op *op,
                            struct hf_error *error)
{
    bool has_ttl =
        op->mode == HF_ZOOKEEPER_TTL || op->mode == HF_ZOOKEEPER_TTL_SEQUENTIAL;

    if ((int)op->mode < HF_ZOOKEEPER_PERSISTENT ||
        op->mode > HF_ZOOKEEPER_TTL_SEQUENTIAL)
        return hf_error_set(error, HF_EINVAL,
                            "the mode is %d; expected %d to %d, from enum "
                            "hf_zookeeper_mode",
                            (int)op->mode, HF_ZOOKEEPER_PERSISTENT,
                            HF_ZOOKEEPER_TTL_SEQUENTIAL);
    if (has_ttl && (op->ttl_ms == 0 || op->ttl_ms > TTL_MAX_MS))
        return hf_error_set(error, HF_EINVAL,
                            "ttl_ms is %llu; expected 1 to %llu for a mode "
                            "with a time to live",
                            (unsigned long long)op->ttl_ms,
                            (unsigned long long)TTL_MAX_MS);
    if (!has_ttl && op->ttl_ms != 0)
        return hf_error_set(error, HF_EINVAL,
                            "ttl_ms is %llu; expected 0, or the mode "
                            "HF_ZOOKEEPER_TTL or HF_ZOOKEEPER_TTL_SEQUENTIAL",
                            (unsigned long long)op->ttl_ms);
    return HF_OK;
}

/* Check the access list.  A CREATE may have none. */
static hf_status check_acls(const struct hf_zookeeper_op *op,
                            struct hf_error *error)
{
    if (op->acls == NULL && op->acl_count == 0 &&
        op->kind == HF_ZOOKEEPER_CREATE)
        return HF_OK;
    if (op->acls == NULL || op->acl_count == 0)
        return hf_error_set(error, HF_EINVAL,
                            "the access list has no entries; expected at "
                            "least one%s",
                            op->kind == HF_ZOOKEEPER_CREATE
                                ? ", or acls NULL and acl_count 0"
                                : "");
    for (size_t i = 0; i < op->acl_count; i++) {
        const struct hf_zookeeper_acl *acl = &op->acls[i];

        if (acl->permissions < 0 || acl->permissions > HF_ZOOKEEPER_PERM_ALL)
            return hf_error_set(error, HF_EINVAL,
                                "entry %zu of the access list has the "
                                "permissions %d; expected 0 to %d, a sum of "
                                "HF_ZOOKEEPER_PERM_...",
                                i, (int)acl->permissions,
                                HF_ZOOKEEPER_PERM_ALL);
        if (acl->scheme == NULL || acl->id == NULL)
            return hf_error_set(error, HF_EINVAL,
                                "entry %zu of the access list has no %s; "
                                "expected something like \"world\" and "
                                "\"anyone\"",
                                i, acl->scheme == NULL ? "scheme" : "id");
    }
    return HF_OK;
}

static bool is_given(const char *text)
{
    return text != NULL && text[0] != '\0';
}

/* Check what a RECONFIG changes: .joining and .leaving, or .servers.  A server
 * would ignore .joining and .leaving beside .servers. */
static hf_status check_ensemble(const struct hf_zookeeper_op *op,
                                struct hf_error *error)
{
    bool changes = is_given(op->joining) || is_given(op->leaving);

    if (changes == is_given(op->servers))
        return hf_error_set(error, HF_EINVAL,
                            "the reconfiguration has %s; expected joining or "
                            "leaving servers, or instead of both all servers",
                            changes ? "both changes and servers"
                                    : "neither changes nor servers");
    if (op->config_version < HF_ZOOKEEPER_ANY_VERSION)
        return hf_error_set(error, HF_EINVAL,
                            "config_version is %lld; expected that of the "
                            "configuration, or HF_ZOOKEEPER_ANY_VERSION, which "
                            "is -1",
                            (long long)op->config_version);
    return HF_OK;
}

/* Check the other fields of an operation that is no multi. */
static hf_status check_single(const struct hf_zookeeper_op *op,
                              struct hf_error *error)
{
    static const struct {
        unsigned field;
        hf_status (*check)(const struct hf_zookeeper_op *op,
                           struct hf_error *error);
    } checks[] = {
        {MODE, check_mode}, /* before the path, because the mode decides which
                               paths are valid */
        {PATH, check_path}, {SCHEME, check_scheme},
        {DATA, check_data}, {VERSION, check_version},
        {ACLS, check_acls}, {ENSEMBLE, check_ensemble},
    };
    hf_status status = HF_OK;

    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
        if (status == HF_OK && (needs[op->kind] & checks[i].field) != 0)
            status = checks[i].check(op, error);
    return status;
}

/* ----------------------------------------------------------------- multi -- */

/* Check ${op}, which is in .ops of an operation of the kind ${around}. */
static hf_status check_inner(const struct hf_zookeeper_op *op,
                             enum hf_zookeeper_op_kind around,
                             struct hf_error *error)
{
    bool writes = around == HF_ZOOKEEPER_MULTI;
    hf_status status = check_frame(op, error);

    if (status != HF_OK)
        return status;
    if ((needs[op->kind] & (writes ? IN_MULTI : IN_MULTI_READ)) == 0)
        return hf_error_set(
            error, HF_EINVAL, "an operation of kind %d; expected %s",
            (int)op->kind,
            writes ? "a CREATE, DELETE, SET or CHECK" : "a GET or CHILDREN");
    /* Servers ignore the watch flags in a multi. */
    if (op->watch != NULL)
        return hf_error_set(error, HF_EINVAL,
                            "an operation with a watch; expected it outside "
                            "of a multi, where servers set watches");
    return check_single(op, error);
}

static hf_status check_multi(const struct hf_zookeeper_op *op,
                             struct hf_error *error)
{
    if (op->ops == NULL || op->op_count == 0)
        return hf_error_set(error, HF_EINVAL,
                            "the multi has no operations; expected at least "
                            "one in ops");
    for (size_t i = 0; i < op->op_count; i++) {
        hf_status status = check_inner(&op->ops[i], op->kind, error);
        char where[48];

        if (status == HF_OK)
            continue;
        (void)snprintf(where, sizeof where, ".ops[%zu]", i);
        hf_error_prefix(error, where);
        return status;
    }
    return HF_OK;
}

/* ------------------------------------------------------------- interface -- */

hf_status hf_zk_op_check(const struct hf_zookeeper_op *op,
                         const struct hf_zk_op_context *context,
                         struct hf_error *error)
{
    hf_status status = check_frame(op, error);
    size_t bytes;

    if (status != HF_OK)
        return status;
    if ((needs[op->kind] & NOT_ALONE) != 0)
        return hf_error_set(error, HF_EINVAL,
                            "a CHECK by itself; expected it in ops of a MULTI");
    status = (needs[op->kind] & OPS) != 0 ? check_multi(op, error)
                                          : check_single(op, error);
    if (status != HF_OK)
        return status;
    bytes = hf_zk_op_bytes(op, context);
    if (bytes > context->max_request_bytes)
        return hf_error_set(error, HF_EINVAL,
                            "the operation has %zu bytes as it is sent; "
                            "expected at most %zu, which is max_request_bytes",
                            bytes, context->max_request_bytes);
    return HF_OK;
}
