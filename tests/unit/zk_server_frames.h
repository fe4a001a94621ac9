/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ZooKeeper's servers say and read, frame by frame, for all that play one:
 * the fixtures of sessions in virtual time and the fake server on a thread.  A
 * function with ${to} appends to it.
 */
#ifndef HF_TESTS_UNIT_ZK_SERVER_FRAMES_H
#define HF_TESTS_UNIT_ZK_SERVER_FRAMES_H

#include "holdfast/zookeeper.h"
#include "zookeeper/jute.h"

/* The password of every session. */
#define ZK_SERVER_PASSWORD "0123456789abcdef"

/* Begin an answer to ${xid}, which hf_jute_end_frame() ends; and one that is a
 * header alone. */
size_t zk_server_begin(struct hf_jute_writer *to, int32_t xid, int64_t zxid,
                       int32_t error);
void zk_server_header(struct hf_jute_writer *to, int32_t xid, int64_t zxid,
                      int32_t error);

/* The answer to a handshake.  ${id} 0: the session has ended.  Servers before
 * 3.4 leave out whether they are read-only. */
void zk_server_session(struct hf_jute_writer *to, int32_t timeout_ms,
                       int64_t id, bool read_only);
void zk_server_old_session(struct hf_jute_writer *to, int32_t timeout_ms,
                           int64_t id);

/* A watch event, see enum hf_zk_event_type. */
void zk_server_event(struct hf_jute_writer *to, int64_t zxid, int32_t type,
                     const char *path);

/* Records, and the header of a result of a MULTI. */
void zk_server_put_stat(struct hf_jute_writer *to,
                        const struct hf_zookeeper_stat *stat);
void zk_server_put_result(struct hf_jute_writer *to, int32_t type, bool last,
                          int32_t error);

/* The record of a success of ${opcode} about ${path}, if it is no more than
 * that path and ${stat}, or a MULTI of one delete; else nothing. */
void zk_server_put_record(struct hf_jute_writer *to, int32_t opcode,
                          const char *path,
                          const struct hf_zookeeper_stat *stat);

/* The next frame of what a client ${sent}, which is whole frames; false: there
 * is no more. */
bool zk_server_read_frame(struct hf_jute_reader *sent,
                          struct hf_jute_reader *frame);

/* What a client says in its handshake.  ${id} 0: it asks for a new session. */
struct zk_server_handshake {
    int32_t version, timeout_ms;
    int64_t zxid, id;
    struct hf_jute_piece password; /* in the frame */
    bool read_only;
};

struct zk_server_handshake
zk_server_read_handshake(struct hf_jute_reader *frame);

#endif
