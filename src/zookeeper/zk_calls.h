/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of a server, each as one call: its record, put on the wire. */
#ifndef HF_ZOOKEEPER_ZK_CALLS_H
#define HF_ZOOKEEPER_ZK_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zookeeper/zk_session.h"

/* A request whose record is a path and, if the opcode has one, a flag or a
 * version. */
void hf_zk_send_exists(struct hf_zk_session *session, struct hf_zk_call *call,
                       const char *path);
void hf_zk_send_get_data(struct hf_zk_session *session, struct hf_zk_call *call,
                         const char *path, bool watch);
/* BAD_VERSION if the node has another version than that, which may be
 * HF_ZK_ANY_VERSION. */
void hf_zk_send_set_data(struct hf_zk_session *session, struct hf_zk_call *call,
                         const char *path, const char *data, int32_t version);
void hf_zk_send_get_children(struct hf_zk_session *session,
                             struct hf_zk_call *call, const char *path,
                             bool watch);
void hf_zk_send_sync(struct hf_zk_session *session, struct hf_zk_call *call,
                     const char *path);
void hf_zk_send_delete(struct hf_zk_session *session, struct hf_zk_call *call,
                       const char *path);
void hf_zk_send_create(struct hf_zk_session *session, struct hf_zk_call *call,
                       enum hf_zk_opcode opcode, const char *path,
                       const char *data, enum hf_zk_create_flags flags);

/* A multi, all or nothing: begun and ended as any call, between the two its
 * operations. */
void hf_zk_multi_create(struct hf_zk_session *session, const char *path,
                        const char *data, enum hf_zk_create_flags flags);
void hf_zk_multi_delete(struct hf_zk_session *session, const char *path,
                        int32_t version);
void hf_zk_multi_check(struct hf_zk_session *session, const char *path);
void hf_zk_multi_end(struct hf_zk_session *session, size_t begin);

/* What became of it: the error of the operation that failed, or
 * HF_ZK_MALFORMED.  With HF_ZK_OK exactly ${count} of its operations, none or
 * all, were creates: the ${paths} they made.  Servers answer create2 in a multi
 * as create, without a Stat. */
enum hf_zk_error hf_zk_multi_result(const struct hf_jute_reader *body,
                                    struct hf_jute_piece *paths, size_t count);

/* Which of its operations it was, counted from 0; of a multi that failed. */
size_t hf_zk_multi_failed_index(const struct hf_jute_reader *body);

#endif
