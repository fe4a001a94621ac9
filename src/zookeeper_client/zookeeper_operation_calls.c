/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public calls that carry out operations.  hf_zookeeper_create() and the
 * like fill in a struct hf_zookeeper_op.
 */
#include "zookeeper_client/zookeeper_operation.h"

/* Carry out an operation with the fields that are given last, for the public
 * call in which the macro stands.  RUN waits for the end; START does not. */
#define RUN(zookeeper, wait_ms, result, ...)                                   \
    hf_zookeeper_run_for(zookeeper, __func__,                                  \
                         &(const struct hf_zookeeper_op){__VA_ARGS__},         \
                         wait_ms, result)
#define START(zookeeper, wait_ms, done, ...)                                   \
    hf_zookeeper_start_for(zookeeper, __func__,                                \
                           &(const struct hf_zookeeper_op){__VA_ARGS__},       \
                           wait_ms, done, NULL)

hf_status hf_zookeeper_run(struct hf_zookeeper *zookeeper,
                           const struct hf_zookeeper_op *op, uint64_t wait_ms,
                           struct hf_zookeeper_result **result)
{
    return hf_zookeeper_run_for(zookeeper, __func__, op, wait_ms, result);
}

hf_status hf_zookeeper_start(struct hf_zookeeper *zookeeper,
                             const struct hf_zookeeper_op *op, uint64_t wait_ms,
                             struct hf_zookeeper_done done,
                             struct hf_op **handle)
{
    return hf_zookeeper_start_for(zookeeper, __func__, op, wait_ms, done,
                                  handle);
}

hf_status hf_zookeeper_create(struct hf_zookeeper *zookeeper, const char *path,
                              const void *data, size_t bytes,
                              enum hf_zookeeper_mode mode, uint64_t wait_ms,
                              struct hf_zookeeper_result **result)
{
    return RUN(zookeeper, wait_ms, result, .kind = HF_ZOOKEEPER_CREATE,
               .path = path, .data = data, .bytes = bytes, .mode = mode);
}

hf_status hf_zookeeper_create_start(struct hf_zookeeper *zookeeper,
                                    const char *path, const void *data,
                                    size_t bytes, enum hf_zookeeper_mode mode,
                                    uint64_t wait_ms,
                                    struct hf_zookeeper_done done)
{
    return START(zookeeper, wait_ms, done, .kind = HF_ZOOKEEPER_CREATE,
                 .path = path, .data = data, .bytes = bytes, .mode = mode);
}

hf_status hf_zookeeper_delete(struct hf_zookeeper *zookeeper, const char *path,
                              int32_t version, uint64_t wait_ms)
{
    return RUN(zookeeper, wait_ms, NULL, .kind = HF_ZOOKEEPER_DELETE,
               .path = path, .version = version);
}

hf_status hf_zookeeper_delete_start(struct hf_zookeeper *zookeeper,
                                    const char *path, int32_t version,
                                    uint64_t wait_ms,
                                    struct hf_zookeeper_done done)
{
    return START(zookeeper, wait_ms, done, .kind = HF_ZOOKEEPER_DELETE,
                 .path = path, .version = version);
}

hf_status hf_zookeeper_exists(struct hf_zookeeper *zookeeper, const char *path,
                              uint64_t wait_ms,
                              struct hf_zookeeper_result **result)
{
    return RUN(zookeeper, wait_ms, result, .kind = HF_ZOOKEEPER_EXISTS,
               .path = path);
}

hf_status hf_zookeeper_exists_start(struct hf_zookeeper *zookeeper,
                                    const char *path, uint64_t wait_ms,
                                    struct hf_zookeeper_done done)
{
    return START(zookeeper, wait_ms, done, .kind = HF_ZOOKEEPER_EXISTS,
                 .path = path);
}

hf_status hf_zookeeper_get(struct hf_zookeeper *zookeeper, const char *path,
                           uint64_t wait_ms,
                           struct hf_zookeeper_result **result)
{
    return RUN(zookeeper, wait_ms, result, .kind = HF_ZOOKEEPER_GET,
               .path = path);
}

hf_status hf_zookeeper_get_start(struct hf_zookeeper *zookeeper,
                                 const char *path, uint64_t wait_ms,
                                 struct hf_zookeeper_done done)
{
    return START(zookeeper, wait_ms, done, .kind = HF_ZOOKEEPER_GET,
                 .path = path);
}

hf_status hf_zookeeper_set(struct hf_zookeeper *zookeeper, const char *path,
                           const void *data, size_t bytes, int32_t version,
                           uint64_t wait_ms,
                           struct hf_zookeeper_result **result)
{
    return RUN(zookeeper, wait_ms, result, .kind = HF_ZOOKEEPER_SET,
               .path = path, .data = data, .bytes = bytes, .version = version);
}

hf_status hf_zookeeper_set_start(struct hf_zookeeper *zookeeper,
                                 const char *path, const void *data,
                                 size_t bytes, int32_t version,
                                 uint64_t wait_ms,
                                 struct hf_zookeeper_done done)
{
    return START(zookeeper, wait_ms, done, .kind = HF_ZOOKEEPER_SET,
                 .path = path, .data = data, .bytes = bytes,
                 .version = version);
}

hf_status hf_zookeeper_children(struct hf_zookeeper *zookeeper,
                                const char *path, uint64_t wait_ms,
                                struct hf_zookeeper_result **result)
{
    return RUN(zookeeper, wait_ms, result, .kind = HF_ZOOKEEPER_CHILDREN,
               .path = path);
}

hf_status hf_zookeeper_children_start(struct hf_zookeeper *zookeeper,
                                      const char *path, uint64_t wait_ms,
                                      struct hf_zookeeper_done done)
{
    return START(zookeeper, wait_ms, done, .kind = HF_ZOOKEEPER_CHILDREN,
                 .path = path);
}

hf_status hf_zookeeper_sync(struct hf_zookeeper *zookeeper, const char *path,
                            uint64_t wait_ms)
{
    return RUN(zookeeper, wait_ms, NULL, .kind = HF_ZOOKEEPER_SYNC,
               .path = path);
}

hf_status hf_zookeeper_sync_start(struct hf_zookeeper *zookeeper,
                                  const char *path, uint64_t wait_ms,
                                  struct hf_zookeeper_done done)
{
    return START(zookeeper, wait_ms, done, .kind = HF_ZOOKEEPER_SYNC,
                 .path = path);
}

hf_status hf_zookeeper_multi(struct hf_zookeeper *zookeeper,
                             const struct hf_zookeeper_op *ops, size_t op_count,
                             uint64_t wait_ms,
                             struct hf_zookeeper_result **result)
{
    return RUN(zookeeper, wait_ms, result, .kind = HF_ZOOKEEPER_MULTI,
               .ops = ops, .op_count = op_count);
}

hf_status hf_zookeeper_multi_start(struct hf_zookeeper *zookeeper,
                                   const struct hf_zookeeper_op *ops,
                                   size_t op_count, uint64_t wait_ms,
                                   struct hf_zookeeper_done done)
{
    return START(zookeeper, wait_ms, done, .kind = HF_ZOOKEEPER_MULTI,
                 .ops = ops, .op_count = op_count);
}

hf_status hf_zookeeper_get_acl(struct hf_zookeeper *zookeeper, const char *path,
                               uint64_t wait_ms,
                               struct hf_zookeeper_result **result)
{
    return RUN(zookeeper, wait_ms, result, .kind = HF_ZOOKEEPER_GET_ACL,
               .path = path);
}

hf_status hf_zookeeper_set_acl(struct hf_zookeeper *zookeeper, const char *path,
                               const struct hf_zookeeper_acl *acls,
                               size_t acl_count, int32_t version,
                               uint64_t wait_ms)
{
    return RUN(zookeeper, wait_ms, NULL, .kind = HF_ZOOKEEPER_SET_ACL,
               .path = path, .version = version, .acls = acls,
               .acl_count = acl_count);
}

hf_status hf_zookeeper_add_auth(struct hf_zookeeper *zookeeper,
                                const char *scheme, const void *bytes,
                                size_t count, uint64_t wait_ms)
{
    return RUN(zookeeper, wait_ms, NULL, .kind = HF_ZOOKEEPER_ADD_AUTH,
               .scheme = scheme, .data = bytes, .bytes = count);
}
