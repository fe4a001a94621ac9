/* SPDX-License-Identifier: Apache-2.0 */
/* An operation as a request.  One function writes each record.  It is run
 * twice: first without an output, to count the bytes, so that a request that
 * is too long is refused before memory is taken for it.  The records are those
 * of zookeeper.jute. */
#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "zookeeper/op_codec.h"

/* The length and the header in front of a record. */
#define FRAME_BYTES 12

/* ---------------------------------------------------------------- output -- */

/* Counts bytes, and writes them if .out is not NULL. */
struct op_output {
    struct hf_jute_writer *out;
    size_t bytes; /* SIZE_MAX: more than can be counted */
};

static void count(struct op_output *to, size_t bytes)
{
    to->bytes = bytes > SIZE_MAX - to->bytes ? SIZE_MAX : to->bytes + bytes;
}

static void put_int(struct op_output *to, int32_t value)
{
    count(to, 4);
    if (to->out != NULL)
        hf_jute_put_int(to->out, value);
}

static void put_long(struct op_output *to, int64_t value)
{
    count(to, 8);
    if (to->out != NULL)
        hf_jute_put_long(to->out, value);
}

static void put_bool(struct op_output *to, bool value)
{
    count(to, 1);
    if (to->out != NULL)
        hf_jute_put_bool(to->out, value);
}

/* A buffer; ${bytes} NULL is null. */
static void put_buffer(struct op_output *to, const void *bytes, size_t size)
{
    count(to, 4);
    count(to, size);
    if (to->out != NULL && bytes != NULL)
        hf_jute_put_buffer(to->out, bytes, size);
    else if (to->out != NULL)
        hf_jute_put_null(to->out);
}

static void put_string(struct op_output *to, const char *text)
{
    put_buffer(to, text, strlen(text));
}

bool hf_zk_op_is_sequential(const struct hf_zookeeper_op *op)
{
    return op->kind == HF_ZOOKEEPER_CREATE &&
           (op->mode == HF_ZOOKEEPER_SEQUENTIAL ||
            op->mode == HF_ZOOKEEPER_EPHEMERAL_SEQUENTIAL ||
            op->mode == HF_ZOOKEEPER_TTL_SEQUENTIAL);
}

/* The path of ${op} below the chroot.  "/" is the chroot itself, except where
 * the server appends digits: they must not become part of its name. */
static void put_path(struct op_output *to, const struct hf_zookeeper_op *op,
                     const struct hf_zk_op_context *context)
{
    size_t above = strlen(context->chroot);
    bool is_chroot =
        above > 0 && strcmp(op->path, "/") == 0 && !hf_zk_op_is_sequential(op);
    size_t below = is_chroot ? 0 : strlen(op->path);

    count(to, 4);
    count(to, above);
    count(to, below);
    if (to->out == NULL)
        return;
    hf_jute_put_int(to->out, (int32_t)(above + below));
    hf_jute_put_bytes(to->out, context->chroot, above);
    hf_jute_put_bytes(to->out, op->path, below);
}

/* ----------------------------------------------------------------- types -- */

/* The type of a CREATE, which depends on its mode. */
static enum hf_zk_opcode create_opcode(enum hf_zookeeper_mode mode)
{
    switch (mode) {
    case HF_ZOOKEEPER_CONTAINER:
        return HF_ZK_CREATE_CONTAINER;
    case HF_ZOOKEEPER_TTL:
    case HF_ZOOKEEPER_TTL_SEQUENTIAL:
        return HF_ZK_CREATE_TTL;
    default:
        return HF_ZK_CREATE2;
    }
}

enum hf_zk_opcode hf_zk_op_opcode(const struct hf_zookeeper_op *op)
{
    static const enum hf_zk_opcode opcodes[] = {
        [HF_ZOOKEEPER_DELETE] = HF_ZK_DELETE,
        [HF_ZOOKEEPER_EXISTS] = HF_ZK_EXISTS,
        [HF_ZOOKEEPER_GET] = HF_ZK_GET_DATA,
        [HF_ZOOKEEPER_SET] = HF_ZK_SET_DATA,
        [HF_ZOOKEEPER_CHECK] = HF_ZK_CHECK,
        [HF_ZOOKEEPER_CHILDREN] = HF_ZK_GET_CHILDREN2,
        [HF_ZOOKEEPER_SYNC] = HF_ZK_SYNC,
        [HF_ZOOKEEPER_GET_ACL] = HF_ZK_GET_ACL,
        [HF_ZOOKEEPER_SET_ACL] = HF_ZK_SET_ACL,
        [HF_ZOOKEEPER_MULTI] = HF_ZK_MULTI,
        [HF_ZOOKEEPER_MULTI_READ] = HF_ZK_MULTI_READ,
        [HF_ZOOKEEPER_EPHEMERALS] = HF_ZK_GET_EPHEMERALS,
        [HF_ZOOKEEPER_COUNT] = HF_ZK_GET_ALL_CHILDREN_NUMBER,
        [HF_ZOOKEEPER_ADD_WATCH] = HF_ZK_ADD_WATCH,
        [HF_ZOOKEEPER_ADD_AUTH] = HF_ZK_AUTH,
        [HF_ZOOKEEPER_WHO_AM_I] = HF_ZK_WHO_AM_I,
        [HF_ZOOKEEPER_GET_CONFIG] = HF_ZK_GET_DATA,
        [HF_ZOOKEEPER_RECONFIG] = HF_ZK_RECONFIG,
    };

    if (op->kind == HF_ZOOKEEPER_CREATE)
        return create_opcode(op->mode);
    assert(op->kind < sizeof opcodes / sizeof opcodes[0]);
    return opcodes[op->kind];
}

/* The type of ${op} within a multi.  MultiOperationRecord knows no
 * getChildren2, and makes a create of a create2, so its answer has no Stat;
 * servers before 3.5 know the create only. */
static enum hf_zk_opcode opcode_in_multi(const struct hf_zookeeper_op *op)
{
    enum hf_zk_opcode opcode = hf_zk_op_opcode(op);

    if (opcode == HF_ZK_CREATE2)
        return HF_ZK_CREATE;
    return opcode == HF_ZK_GET_CHILDREN2 ? HF_ZK_GET_CHILDREN : opcode;
}

/* --------------------------------------------------------------- records -- */

/* The access list of ${op}, or the one that the handle gives to new nodes. */
static void put_acls(struct op_output *to, const struct hf_zookeeper_op *op,
                     const struct hf_zk_op_context *context)
{
    static const struct hf_zookeeper_acl everybody = {HF_ZOOKEEPER_PERM_ALL,
                                                      "world", "anyone"};
    static const struct hf_zookeeper_acl creator = {HF_ZOOKEEPER_PERM_ALL,
                                                    "auth", ""};
    const struct hf_zookeeper_acl *acls = op->acls;
    size_t acl_count = op->acl_count;

    if (acls == NULL) {
        acls = context->private_nodes ? &creator : &everybody;
        acl_count = 1;
    }
    put_int(to, (int32_t)acl_count);
    for (size_t i = 0; i < acl_count; i++) {
        put_int(to, acls[i].permissions);
        put_string(to, acls[i].scheme);
        put_string(to, acls[i].id);
    }
}

/* CreateRequest, or CreateTTLRequest. */
static void put_create(struct op_output *to, const struct hf_zookeeper_op *op,
                       const struct hf_zk_op_context *context)
{
    put_path(to, op, context);
    put_buffer(to, op->data, op->bytes);
    put_acls(to, op, context);
    put_int(to, (int32_t)op->mode); /* the numbers are those of CreateMode */
    if (create_opcode(op->mode) == HF_ZK_CREATE_TTL)
        put_long(to, (int64_t)op->ttl_ms);
}

/* A list of servers, which is null if there is none. */
static void put_servers(struct op_output *to, const char *servers)
{
    put_buffer(to, servers, servers != NULL ? strlen(servers) : 0);
}

/* ReconfigRequest.  A list of all servers that is not null counts instead of
 * the changes, even "". */
static void put_reconfig(struct op_output *to, const struct hf_zookeeper_op *op)
{
    bool has_servers = op->servers != NULL && op->servers[0] != '\0';

    put_servers(to, op->joining);
    put_servers(to, op->leaving);
    put_servers(to, has_servers ? op->servers : NULL);
    put_long(to, op->config_version);
}

/* The record of an operation that is no multi. */
static void put_single(struct op_output *to, const struct hf_zookeeper_op *op,
                       const struct hf_zk_op_context *context)
{
    switch (op->kind) {
    case HF_ZOOKEEPER_CREATE:
        put_create(to, op, context);
        break;
    case HF_ZOOKEEPER_DELETE:
    case HF_ZOOKEEPER_CHECK:
        put_path(to, op, context);
        put_int(to, op->version);
        break;
    case HF_ZOOKEEPER_EXISTS:
    case HF_ZOOKEEPER_GET:
    case HF_ZOOKEEPER_CHILDREN:
        put_path(to, op, context);
        put_bool(to, false);
        break;
    case HF_ZOOKEEPER_SET:
        put_path(to, op, context);
        put_buffer(to, op->data, op->bytes);
        put_int(to, op->version);
        break;
    case HF_ZOOKEEPER_SET_ACL:
        put_path(to, op, context);
        put_acls(to, op, context);
        put_int(to, op->version);
        break;
    case HF_ZOOKEEPER_SYNC:
    case HF_ZOOKEEPER_GET_ACL:
    case HF_ZOOKEEPER_EPHEMERALS:
    case HF_ZOOKEEPER_COUNT:
        put_path(to, op, context);
        break;
    case HF_ZOOKEEPER_ADD_WATCH:
        put_path(to, op, context);
        put_int(to, 0);
        break;
    case HF_ZOOKEEPER_GET_CONFIG:
        put_string(to, HF_ZK_CONFIG_PATH);
        put_bool(to, false);
        break;
    case HF_ZOOKEEPER_RECONFIG:
        put_reconfig(to, op);
        break;
    default: /* ADD_AUTH, WHO_AM_I */
        break;
    }
}

/* MultiHeader. */
static void put_multi_header(struct op_output *to, int32_t type, bool done)
{
    put_int(to, type);
    put_bool(to, done);
    put_int(to, -1);
}

/* The record of any operation. */
static void put_record(struct op_output *to, const struct hf_zookeeper_op *op,
                       const struct hf_zk_op_context *context)
{
    if (op->kind != HF_ZOOKEEPER_MULTI && op->kind != HF_ZOOKEEPER_MULTI_READ) {
        put_single(to, op, context);
        return;
    }
    for (size_t i = 0; i < op->op_count; i++) {
        put_multi_header(to, opcode_in_multi(&op->ops[i]), false);
        put_single(to, &op->ops[i], context);
    }
    put_multi_header(to, -1, true);
}

size_t hf_zk_op_bytes(const struct hf_zookeeper_op *op,
                      const struct hf_zk_op_context *context)
{
    struct op_output to = {NULL, FRAME_BYTES};

    put_record(&to, op, context);
    if (op->kind == HF_ZOOKEEPER_ADD_AUTH) { /* AuthPacket */
        put_int(&to, 0);
        put_string(&to, op->scheme);
        put_buffer(&to, op->data, op->bytes);
    }
    return to.bytes;
}

hf_status hf_zk_op_encode(const struct hf_zookeeper_op *op,
                          const struct hf_zk_op_context *context,
                          struct hf_jute_writer *record, struct hf_error *error)
{
    struct op_output to = {record, 0};

    put_record(&to, op, context);
    return record->failed ? hf_error_set(error, HF_ENOMEM, "out of memory")
                          : HF_OK;
}
