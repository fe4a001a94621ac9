/* SPDX-License-Identifier: Apache-2.0 */
/* A session with a queue of operations, and servers that a test scripts frame
 * by frame.  What happens to the session and how operations end is noted as
 * text. */
#ifndef HF_TESTS_ZK_QUEUE_FIXTURE_H
#define HF_TESTS_ZK_QUEUE_FIXTURE_H

#include "zookeeper/op_queue.h"

#define ZK_QUEUE_TIMEOUT_MS 9000 /* that servers grant */
#define ZK_QUEUE_ZXID 77         /* of their answers */

/* What a ConnectRequest says. */
struct zk_queue_offer {
    int64_t zxid;
    int64_t id;
    bool read_only;
};

struct zk_queue_fixture {
    struct hf_zk_session_config config;
    struct hf_zk_session session;
    struct hf_zk_op_context context;
    struct hf_zk_op_queue queue;
    struct hf_zk_listener listener;
    struct hf_jute_writer server; /* what it says next */
    uint64_t now_ms;
    uint64_t number; /* of the connection */
    int32_t xid;     /* of the next answer */
    char events[512];
};

/* An operation, which is noted by its name. */
struct zk_queue_op {
    struct hf_zk_op op; /* first */
    struct zk_queue_fixture *f;
    const char *name;
};

/* Begin a session that wants its first connection, to "a" of ${count} servers,
 * "a" to "c". */
void zk_queue_begin(struct zk_queue_fixture *f, size_t count, bool read_only);
void zk_queue_end(struct zk_queue_fixture *f);

/* Add to what has happened; compare that and forget it. */
void zk_queue_note(struct zk_queue_fixture *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void zk_queue_expect(struct zk_queue_fixture *f, const char *expected);

/* Start an operation of ${kind} on "/a", which is noted by ${name}. */
void zk_queue_start(struct zk_queue_fixture *f, struct zk_queue_op *op,
                    enum hf_zookeeper_op_kind kind, const char *name);

/* Connect to the server that is wanted now, which is the one called ${host},
 * and read the ConnectRequest. */
struct zk_queue_offer zk_queue_connect(struct zk_queue_fixture *f,
                                       const char *host);

/* Accept the handshake with ${id}, as a server that is ${read_only}. */
void zk_queue_accept(struct zk_queue_fixture *f, int64_t id, bool read_only);

/* Answer the next call with ${error}; HF_ZK_OK has a Stat of zeros. */
void zk_queue_answer(struct zk_queue_fixture *f, enum hf_zk_error error);

/* Send what .server has. */
void zk_queue_say(struct zk_queue_fixture *f);

/* Take what the client sends: how many bytes. */
size_t zk_queue_take_output(struct zk_queue_fixture *f);

/* The connection ends, and the next attempt becomes due. */
void zk_queue_cut(struct zk_queue_fixture *f);

/* Time passes. */
void zk_queue_wait(struct zk_queue_fixture *f, uint64_t ms);

#endif
