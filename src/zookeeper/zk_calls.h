/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of the lock engine.  All need hf_zk_session_usable(), and
 * .answered, .user and .owner of ${call} must be set. */
#ifndef HF_ZOOKEEPER_ZK_CALLS_H
#define HF_ZOOKEEPER_ZK_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zookeeper/protocol.h"
#include "zookeeper/watch_set.h"
#include "zookeeper/zk_session.h"

/* Each of these writes one request, whose answer goes to ${call}.  Strings are
 * copied. */

/* Requests whose record is a path and, for some, a watch flag or a version. */
void hf_zk_send_exists(struct hf_zk_session *session, struct hf_zk_call *call,
                       const char *path, bool watch);
void hf_zk_send_get_data(struct hf_zk_session *session, struct hf_zk_call *call,
                         const char *path, bool watch);
/* Fails with BAD_VERSION if the node's data have another version than
 * ${version}, which may be HF_ZK_ANY_VERSION. */
void hf_zk_send_set_data(struct hf_zk_session *session, struct hf_zk_call *call,
                         const char *path, const char *data, int32_t version);
void hf_zk_send_get_children(struct hf_zk_session *session,
                             struct hf_zk_call *call, const char *path,
                             bool watch);
void hf_zk_send_sync(struct hf_zk_session *session, struct hf_zk_call *call,
                     const char *path);
/* RemoveWatches, or AddWatch to lower the mode; ${what} is not
 * HF_ZK_UNWATCH_NOTHING. */
void hf_zk_send_unwatch(struct hf_zk_session *session, struct hf_zk_call *call,
                        const char *path, enum hf_zk_unwatch what);
void hf_zk_send_delete(struct hf_zk_session *session, struct hf_zk_call *call,
                       const char *path);
/* ${opcode} is HF_ZK_CREATE, HF_ZK_CREATE2, whose answer has a Stat, or
 * HF_ZK_CREATE_CONTAINER. */
void hf_zk_send_create(struct hf_zk_session *session, struct hf_zk_call *call,
                       enum hf_zk_opcode opcode, const char *path,
                       const char *data, enum hf_zk_create_flags flags);

/* A multi carries out all of its operations or none.  Begin it with
 * hf_zk_call_begin(..., HF_ZK_MULTI), add the operations, and end it with
 * hf_zk_multi_end(${begin}). */
void hf_zk_multi_create(struct hf_zk_session *session, const char *path,
                        const char *data, enum hf_zk_create_flags flags);
void hf_zk_multi_delete(struct hf_zk_session *session, const char *path,
                        int32_t version);
void hf_zk_multi_check(struct hf_zk_session *session, const char *path);
void hf_zk_multi_set_data(struct hf_zk_session *session, const char *path,
                          const char *data, int32_t version);
/* Only in a HF_ZK_MULTI_READ, of which each operation succeeds or fails by
 * itself. */
void hf_zk_multi_get_data(struct hf_zk_session *session, const char *path);
void hf_zk_multi_end(struct hf_zk_session *session, size_t begin);

#endif
