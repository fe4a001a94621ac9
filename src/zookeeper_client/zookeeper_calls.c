/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public calls that carry out operations.  Those with types fill in a
 * struct hf_zookeeper_op.
 */
#include "zookeeper_client/zookeeper_operation.h"

hf_status hf_zookeeper_run(struct hf_zookeeper *zookeeper,
                           const struct hf_zookeeper_op *op, uint64_t wait_ms,
                           struct hf_zookeeper_result **result)
{
    return hf_zookeeper_run_for(zookeeper, "hf_zookeeper_run", op, wait_ms,
                                result);
}

hf_status hf_zookeeper_start(struct hf_zookeeper *zookeeper,
                             const struct hf_zookeeper_op *op, uint64_t wait_ms,
                             struct hf_zookeeper_done done,
                             struct hf_op **handle)
{
    return hf_zookeeper_start_for(zookeeper, "hf_zookeeper_start", op, wait_ms,
                                  done, handle);
}

/* An operation of ${kind} on ${path} that needs nothing else. */
static struct hf_zookeeper_op plain_op(enum hf_zookeeper_op_kind kind,
                                       const char *path)
{
    return (struct hf_zookeeper_op){.kind = kind, .path = path};
}

static struct hf_zookeeper_op create_op(const char *path, const void *data,
                                        size_t bytes,
                                        enum hf_zookeeper_mode mode)
{
    return (struct hf_zookeeper_op){.kind = HF_ZOOKEEPER_CREATE,
                                    .path = path,
                                    .data = data,
                                    .bytes = bytes,
                                    .mode = mode};
}

static struct hf_zookeeper_op set_op(const char *path, const void *data,
                                     size_t bytes, int32_t version)
{
    return (struct hf_zookeeper_op){.kind = HF_ZOOKEEPER_SET,
                                    .path = path,
                                    .data = data,
                                    .bytes = bytes,
                                    .version = version};
}

static struct hf_zookeeper_op delete_op(const char *path, int32_t version)
{
    return (struct hf_zookeeper_op){
        .kind = HF_ZOOKEEPER_DELETE, .path = path, .version = version};
}

static struct hf_zookeeper_op multi_op(const struct hf_zookeeper_op *ops,
                                       size_t op_count)
{
    return (struct hf_zookeeper_op){
        .kind = HF_ZOOKEEPER_MULTI, .ops = ops, .op_count = op_count};
}

/* -------------------------------------------------------------- blocking -- */

hf_status hf_zookeeper_create(struct hf_zookeeper *zookeeper, const char *path,
                              const void *data, size_t bytes,
                              enum hf_zookeeper_mode mode, uint64_t wait_ms,
                              struct hf_zookeeper_result **result)
{
    const struct hf_zookeeper_op op = create_op(path, data, bytes, mode);

    return hf_zookeeper_run_for(zookeeper, "hf_zookeeper_create", &op, wait_ms,
                                result);
}

hf_status hf_zookeeper_delete(struct hf_zookeeper *zookeeper, const char *path,
                              int32_t version, uint64_t wait_ms)
{
    const struct hf_zookeeper_op op = delete_op(path, version);

    return hf_zookeeper_run_for(zookeeper, "hf_zookeeper_delete", &op, wait_ms,
                                NULL);
}

hf_status hf_zookeeper_exists(struct hf_zookeeper *zookeeper, const char *path,
                              uint64_t wait_ms,
                              struct hf_zookeeper_result **result)
{
    const struct hf_zookeeper_op op = plain_op(HF_ZOOKEEPER_EXISTS, path);

    return hf_zookeeper_run_for(zookeeper, "hf_zookeeper_exists", &op, wait_ms,
                                result);
}

hf_status hf_zookeeper_get(struct hf_zookeeper *zookeeper, const char *path,
                           uint64_t wait_ms,
                           struct hf_zookeeper_result **result)
{
    const struct hf_zookeeper_op op = plain_op(HF_ZOOKEEPER_GET, path);

    return hf_zookeeper_run_for(zookeeper, "hf_zookeeper_get", &op, wait_ms,
                                result);
}

hf_status hf_zookeeper_set(struct hf_zookeeper *zookeeper, const char *path,
                           const void *data, size_t bytes, int32_t version,
                           uint64_t wait_ms,
                           struct hf_zookeeper_result **result)
{
    const struct hf_zookeeper_op op = set_op(path, data, bytes, version);

    return hf_zookeeper_run_for(zookeeper, "hf_zookeeper_set", &op, wait_ms,
                                result);
}

hf_status hf_zookeeper_children(struct hf_zookeeper *zookeeper,
                                const char *path, uint64_t wait_ms,
                                struct hf_zookeeper_result **result)
{
    const struct hf_zookeeper_op op = plain_op(HF_ZOOKEEPER_CHILDREN, path);

    return hf_zookeeper_run_for(zookeeper, "hf_zookeeper_children", &op,
                                wait_ms, result);
}

hf_status hf_zookeeper_sync(struct hf_zookeeper *zookeeper, const char *path,
                            uint64_t wait_ms)
{
    const struct hf_zookeeper_op op = plain_op(HF_ZOOKEEPER_SYNC, path);

    return hf_zookeeper_run_for(zookeeper, "hf_zookeeper_sync", &op, wait_ms,
                                NULL);
}

hf_status hf_zookeeper_get_acl(struct hf_zookeeper *zookeeper, const char *path,
                               uint64_t wait_ms,
                               struct hf_zookeeper_result **result)
{
    const struct hf_zookeeper_op op = plain_op(HF_ZOOKEEPER_GET_ACL, path);

    return hf_zookeeper_run_for(zookeeper, "hf_zookeeper_get_acl", &op, wait_ms,
                                result);
}

hf_status hf_zookeeper_set_acl(struct hf_zookeeper *zookeeper, const char *path,
                               const struct hf_zookeeper_acl *acls,
                               size_t acl_count, int32_t version,
                               uint64_t wait_ms)
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_SET_ACL,
                                       .path = path,
                                       .version = version,
                                       .acls = acls,
                                       .acl_count = acl_count};

    return hf_zookeeper_run_for(zookeeper, "hf_zookeeper_set_acl", &op, wait_ms,
                                NULL);
}

hf_status hf_zookeeper_multi(struct hf_zookeeper *zookeeper,
                             const struct hf_zookeeper_op *ops, size_t op_count,
                             uint64_t wait_ms,
                             struct hf_zookeeper_result **result)
{
    const struct hf_zookeeper_op op = multi_op(ops, op_count);

    return hf_zookeeper_run_for(zookeeper, "hf_zookeeper_multi", &op, wait_ms,
                                result);
}

hf_status hf_zookeeper_add_auth(struct hf_zookeeper *zookeeper,
                                const char *scheme, const void *bytes,
                                size_t count, uint64_t wait_ms)
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_ADD_AUTH,
                                       .scheme = scheme,
                                       .data = bytes,
                                       .bytes = count};

    return hf_zookeeper_run_for(zookeeper, "hf_zookeeper_add_auth", &op,
                                wait_ms, NULL);
}

/* --------------------------------------------------------------- started -- */

hf_status hf_zookeeper_create_start(struct hf_zookeeper *zookeeper,
                                    const char *path, const void *data,
                                    size_t bytes, enum hf_zookeeper_mode mode,
                                    uint64_t wait_ms,
                                    struct hf_zookeeper_done done)
{
    const struct hf_zookeeper_op op = create_op(path, data, bytes, mode);

    return hf_zookeeper_start_for(zookeeper, "hf_zookeeper_create_start", &op,
                                  wait_ms, done, NULL);
}

hf_status hf_zookeeper_delete_start(struct hf_zookeeper *zookeeper,
                                    const char *path, int32_t version,
                                    uint64_t wait_ms,
                                    struct hf_zookeeper_done done)
{
    const struct hf_zookeeper_op op = delete_op(path, version);

    return hf_zookeeper_start_for(zookeeper, "hf_zookeeper_delete_start", &op,
                                  wait_ms, done, NULL);
}

hf_status hf_zookeeper_exists_start(struct hf_zookeeper *zookeeper,
                                    const char *path, uint64_t wait_ms,
                                    struct hf_zookeeper_done done)
{
    const struct hf_zookeeper_op op = plain_op(HF_ZOOKEEPER_EXISTS, path);

    return hf_zookeeper_start_for(zookeeper, "hf_zookeeper_exists_start", &op,
                                  wait_ms, done, NULL);
}

hf_status hf_zookeeper_get_start(struct hf_zookeeper *zookeeper,
                                 const char *path, uint64_t wait_ms,
                                 struct hf_zookeeper_done done)
{
    const struct hf_zookeeper_op op = plain_op(HF_ZOOKEEPER_GET, path);

    return hf_zookeeper_start_for(zookeeper, "hf_zookeeper_get_start", &op,
                                  wait_ms, done, NULL);
}

hf_status hf_zookeeper_set_start(struct hf_zookeeper *zookeeper,
                                 const char *path, const void *data,
                                 size_t bytes, int32_t version,
                                 uint64_t wait_ms,
                                 struct hf_zookeeper_done done)
{
    const struct hf_zookeeper_op op = set_op(path, data, bytes, version);

    return hf_zookeeper_start_for(zookeeper, "hf_zookeeper_set_start", &op,
                                  wait_ms, done, NULL);
}

hf_status hf_zookeeper_children_start(struct hf_zookeeper *zookeeper,
                                      const char *path, uint64_t wait_ms,
                                      struct hf_zookeeper_done done)
{
    const struct hf_zookeeper_op op = plain_op(HF_ZOOKEEPER_CHILDREN, path);

    return hf_zookeeper_start_for(zookeeper, "hf_zookeeper_children_start", &op,
                                  wait_ms, done, NULL);
}

hf_status hf_zookeeper_sync_start(struct hf_zookeeper *zookeeper,
                                  const char *path, uint64_t wait_ms,
                                  struct hf_zookeeper_done done)
{
    const struct hf_zookeeper_op op = plain_op(HF_ZOOKEEPER_SYNC, path);

    return hf_zookeeper_start_for(zookeeper, "hf_zookeeper_sync_start", &op,
                                  wait_ms, done, NULL);
}

hf_status hf_zookeeper_multi_start(struct hf_zookeeper *zookeeper,
                                   const struct hf_zookeeper_op *ops,
                                   size_t op_count, uint64_t wait_ms,
                                   struct hf_zookeeper_done done)
{
    const struct hf_zookeeper_op op = multi_op(ops, op_count);

    return hf_zookeeper_start_for(zookeeper, "hf_zookeeper_multi_start", &op,
                                  wait_ms, done, NULL);
}
