/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the records of requests, as in zookeeper.jute, and reads them back.
 * hf_zk_op_bytes() counts the bytes first, so that a request that is too long
 * is refused before memory is allocated for it. */
#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "zookeeper/op_codec.h"
#include "zookeeper/protocol.h"
#include "zookeeper/zk_acl.h"
#include "zookeeper/zk_path.h"

/* The length and the header in front of a record. */
#define FRAME_BYTES 12

/* ----------------------------------------------------------------- paths -- */

bool hf_zk_op_is_sequential(const struct hf_zookeeper_op *op)
{
    return op->kind == HF_ZOOKEEPER_CREATE &&
           (op->mode == HF_ZOOKEEPER_SEQUENTIAL ||
            op->mode == HF_ZOOKEEPER_EPHEMERAL_SEQUENTIAL ||
            op->mode == HF_ZOOKEEPER_TTL_SEQUENTIAL);
}

/* Write the path of ${op} with the chroot before it.  "/" means the chroot
 * itself, but not if the server appends digits: they must not become part of
 * the chroot's name. */
static void put_path(struct hf_jute_writer *to,
                     const struct hf_zookeeper_op *op,
                     const struct hf_zk_op_context *context)
{
    size_t above = strlen(context->chroot);
    bool is_chroot =
        above > 0 && strcmp(op->path, "/") == 0 && !hf_zk_op_is_sequential(op);
    size_t below = is_chroot ? 0 : strlen(op->path);

    hf_jute_put_int(to, (int32_t)(above + below));
    hf_jute_put_bytes(to, context->chroot, above);
    hf_jute_put_bytes(to, op->path, below);
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

/* The type of ${op} within a multi.  A multi takes no getChildren2
 * (MultiOperationRecord).  It takes a create2 but answers it like a create,
 * without a Stat, and servers before 3.5 know only the create. */
static enum hf_zk_opcode opcode_in_multi(const struct hf_zookeeper_op *op)
{
    enum hf_zk_opcode opcode = hf_zk_op_opcode(op);

    if (opcode == HF_ZK_CREATE2)
        return HF_ZK_CREATE;
    return opcode == HF_ZK_GET_CHILDREN2 ? HF_ZK_GET_CHILDREN : opcode;
}

/* --------------------------------------------------------------- records -- */

/* The access list of ${op}, or the one that the handle gives to new nodes. */
static void put_acls(struct hf_jute_writer *to,
                     const struct hf_zookeeper_op *op,
                     const struct hf_zk_op_context *context)
{
    const struct hf_zookeeper_acl *acls = op->acls;
    size_t acl_count = op->acl_count;

    if (acls == NULL) {
        acls =
            context->private_nodes ? &hf_zk_acl_creator : &hf_zk_acl_everybody;
        acl_count = 1;
    }
    hf_jute_put_int(to, (int32_t)acl_count);
    for (size_t i = 0; i < acl_count; i++) {
        hf_jute_put_int(to, acls[i].permissions);
        hf_jute_put_string(to, acls[i].scheme);
        hf_jute_put_string(to, acls[i].id);
    }
}

/* Write the data of ${op}.  NULL becomes null, which is not the same as no
 * bytes. */
static void put_data(struct hf_jute_writer *to,
                     const struct hf_zookeeper_op *op)
{
    if (op->data != NULL)
        hf_jute_put_buffer(to, op->data, op->bytes);
    else
        hf_jute_put_null(to);
}

/* CreateRequest, or CreateTTLRequest. */
static void put_create(struct hf_jute_writer *to,
                       const struct hf_zookeeper_op *op,
                       const struct hf_zk_op_context *context)
{
    put_path(to, op, context);
    put_data(to, op);
    put_acls(to, op, context);
    hf_jute_put_int(
        to, (int32_t)op->mode); /* the numbers are those of CreateMode */
    if (create_opcode(op->mode) == HF_ZK_CREATE_TTL)
        hf_jute_put_long(to, (int64_t)op->ttl_ms);
}

/* Write a list of servers; null if ${servers} is NULL. */
static void put_servers(struct hf_jute_writer *to, const char *servers)
{
    if (servers != NULL)
        hf_jute_put_string(to, servers);
    else
        hf_jute_put_null(to);
}

/* ReconfigRequest.  A server ignores the changes if the list of all servers is
 * not null, so "" becomes null. */
static void put_reconfig(struct hf_jute_writer *to,
                         const struct hf_zookeeper_op *op)
{
    bool has_servers = op->servers != NULL && op->servers[0] != '\0';

    put_servers(to, op->joining);
    put_servers(to, op->leaving);
    put_servers(to, has_servers ? op->servers : NULL);
    hf_jute_put_long(to, op->config_version);
}

/* The record of an operation that is no multi. */
static void put_single(struct hf_jute_writer *to,
                       const struct hf_zookeeper_op *op,
                       const struct hf_zk_op_context *context)
{
    switch (op->kind) {
    case HF_ZOOKEEPER_CREATE:
        put_create(to, op, context);
        break;
    case HF_ZOOKEEPER_DELETE:
    case HF_ZOOKEEPER_CHECK:
        put_path(to, op, context);
        hf_jute_put_int(to, op->version);
        break;
    case HF_ZOOKEEPER_EXISTS:
    case HF_ZOOKEEPER_GET:
    case HF_ZOOKEEPER_CHILDREN:
        put_path(to, op, context);
        hf_jute_put_bool(to, false);
        break;
    case HF_ZOOKEEPER_SET:
        put_path(to, op, context);
        put_data(to, op);
        hf_jute_put_int(to, op->version);
        break;
    case HF_ZOOKEEPER_SET_ACL:
        put_path(to, op, context);
        put_acls(to, op, context);
        hf_jute_put_int(to, op->version);
        break;
    case HF_ZOOKEEPER_SYNC:
    case HF_ZOOKEEPER_GET_ACL:
    case HF_ZOOKEEPER_EPHEMERALS:
    case HF_ZOOKEEPER_COUNT:
        put_path(to, op, context);
        break;
    case HF_ZOOKEEPER_ADD_WATCH:
        put_path(to, op, context);
        hf_jute_put_int(to, 0);
        break;
    case HF_ZOOKEEPER_GET_CONFIG:
        hf_jute_put_string(to, HF_ZK_CONFIG_PATH);
        hf_jute_put_bool(to, false);
        break;
    case HF_ZOOKEEPER_RECONFIG:
        put_reconfig(to, op);
        break;
    default: /* ADD_AUTH, WHO_AM_I */
        break;
    }
}

void hf_zk_op_put_in_multi(struct hf_jute_writer *to,
                           const struct hf_zookeeper_op *op,
                           const struct hf_zk_op_context *context)
{
    hf_zk_multi_put_header(to, (int32_t)opcode_in_multi(op));
    put_single(to, op, context);
}

void hf_zk_op_put(struct hf_jute_writer *to, const struct hf_zookeeper_op *op,
                  const struct hf_zk_op_context *context)
{
    if (op->kind != HF_ZOOKEEPER_MULTI && op->kind != HF_ZOOKEEPER_MULTI_READ) {
        put_single(to, op, context);
        return;
    }
    for (size_t i = 0; i < op->op_count; i++)
        hf_zk_op_put_in_multi(to, &op->ops[i], context);
    hf_zk_multi_put_end(to);
}

size_t hf_zk_op_bytes(const struct hf_zookeeper_op *op,
                      const struct hf_zk_op_context *context)
{
    struct hf_jute_writer to = {.used = FRAME_BYTES, .counts = true};

    hf_zk_op_put(&to, op, context);
    if (op->kind == HF_ZOOKEEPER_ADD_AUTH) { /* AuthPacket */
        hf_jute_put_int(&to, 0);
        hf_jute_put_string(&to, op->scheme);
        put_data(&to, op);
    }
    return to.used;
}

hf_status hf_zk_op_encode(const struct hf_zookeeper_op *op,
                          const struct hf_zk_op_context *context,
                          struct hf_jute_writer *record, struct hf_error *error)
{
    hf_zk_op_put(record, op, context);
    return record->failed ? hf_error_set(error, HF_ENOMEM, "out of memory")
                          : HF_OK;
}

/* --------------------------------------------------------------- reader -- */

/* Skip an access list. */
static void pass_acls(struct hf_jute_reader *record)
{
    for (size_t left = hf_jute_get_count(record, 12); left > 0; left--) {
        (void)hf_jute_get_int(record);
        (void)hf_jute_get_buffer(record);
        (void)hf_jute_get_buffer(record);
    }
}

/* Skip what follows the path of a create. */
static void pass_create(struct hf_jute_reader *record, bool has_ttl)
{
    (void)hf_jute_get_buffer(record);
    pass_acls(record);
    (void)hf_jute_get_int(record);
    if (has_ttl)
        (void)hf_jute_get_long(record);
}

/* A RECONFIG is about the node of the configuration, which it does not name. */
static struct hf_zk_op_record read_reconfig(struct hf_jute_reader *record)
{
    struct hf_zk_op_record read = {
        HF_ZK_RECONFIG, hf_zk_path_piece(HF_ZK_CONFIG_PATH), HF_ZK_ANY_VERSION};

    (void)hf_jute_get_buffer(record);
    (void)hf_jute_get_buffer(record);
    (void)hf_jute_get_buffer(record);
    read.version = hf_jute_get_long(record);
    assert(!record->failed);
    return read;
}

struct hf_zk_op_record hf_zk_op_read(struct hf_jute_reader *record,
                                     enum hf_zk_opcode opcode)
{
    struct hf_zk_op_record read = {opcode, {NULL, 0}, HF_ZK_ANY_VERSION};

    if (opcode == HF_ZK_RECONFIG)
        return read_reconfig(record);
    if (opcode == HF_ZK_WHO_AM_I || opcode == HF_ZK_AUTH ||
        opcode == HF_ZK_MULTI || opcode == HF_ZK_MULTI_READ)
        return read;
    read.path = hf_jute_get_buffer(record);
    switch (opcode) {
    case HF_ZK_CREATE:
    case HF_ZK_CREATE2:
    case HF_ZK_CREATE_CONTAINER:
    case HF_ZK_CREATE_TTL:
        pass_create(record, opcode == HF_ZK_CREATE_TTL);
        break;
    case HF_ZK_EXISTS:
    case HF_ZK_GET_DATA:
    case HF_ZK_GET_CHILDREN:
    case HF_ZK_GET_CHILDREN2:
        (void)hf_jute_get_bool(record);
        break;
    case HF_ZK_SET_DATA:
        (void)hf_jute_get_buffer(record);
        read.version = hf_jute_get_int(record);
        break;
    case HF_ZK_SET_ACL:
        pass_acls(record);
        read.version = hf_jute_get_int(record);
        break;
    case HF_ZK_DELETE:
    case HF_ZK_CHECK:
        read.version = hf_jute_get_int(record);
        break;
    default: /* only the path matters */
        break;
    }
    assert(!record->failed);
    return read;
}
