/* SPDX-License-Identifier: Apache-2.0 */
/* A program of steps that runs on a queue of operations (op_queue.h): which
 * operations are started, and what must be true of what is sent and of how they
 * end. */
#ifndef HF_TESTS_FUZZ_ZK_OP_PROGRAM_H
#define HF_TESTS_FUZZ_ZK_OP_PROGRAM_H

#include "zookeeper/op_queue.h"
#include "zookeeper/zk_op.h"

#define OP_PROGRAM_OPS 256
#define OP_PROGRAM_CALLS 1024
#define OP_PROGRAM_WATCHERS 6

/* Instead of the number of an operation: none; and whichever it is, because
 * nobody knows what the server says. */
#define OP_PROGRAM_NONE (-1)
#define OP_PROGRAM_ANY (-2)

struct zk_op_program;

/* An operation on the path "/N", where N is its number. */
struct program_op {
    struct hf_zk_op op; /* first */
    struct zk_op_program *p;
    char path[16];
    bool writes;
    bool started;
    bool direct; /* sent ahead of what waits */
    unsigned ended;
    unsigned released;
    unsigned sent;        /* how often its bytes were */
    uint64_t sent_number; /* of the last connection on which they were */
};

/* A call that the server has got and not answered. */
struct program_call {
    int32_t xid;
    int32_t opcode;
    int number; /* of its operation */
};

struct zk_op_program {
    const uint8_t *bytes;
    size_t left;
    struct hf_zk_session_config config;
    struct hf_zk_session session;
    struct hf_zk_op_context context;
    struct hf_zk_op_queue queue;
    struct hf_jute_writer server; /* what it says next */
    uint64_t now_ms;
    uint64_t number; /* of the connection */
    bool up;         /* the TCP connection */
    bool handshake_read;
    int64_t handshake_id;
    int64_t session_id; /* after the last step */
    int64_t zxid;
    struct program_call calls[OP_PROGRAM_CALLS];
    size_t call_count;
    struct program_op *ops[OP_PROGRAM_OPS];
    int op_count;
    /* The greatest number that was sent on this connection, by priority. */
    int last_sent[HF_ZK_PRIORITIES];
    int answering; /* the operation whose call is answered now */
    struct hf_zk_watcher watchers[OP_PROGRAM_WATCHERS];
    bool closed;
};

/* The next byte of the program; 0 at its end. */
uint8_t op_program_next(struct zk_op_program *p);

void op_program_begin(struct zk_op_program *p, const uint8_t *bytes,
                      size_t count);
/* Close everything: then each operation has ended, and no memory is left. */
void op_program_end(struct zk_op_program *p);

/* Start an operation that the next bytes say more of. */
void op_program_start(struct zk_op_program *p, enum hf_zookeeper_op_kind kind);
void op_program_cancel(struct zk_op_program *p, uint8_t which);
/* Remove a watcher, and ask the server to forget it, as the client does. */
void op_program_unwatch(struct zk_op_program *p, uint8_t which);
void op_program_close(struct zk_op_program *p);

/* Read what was sent since the last call, and check it. */
void op_program_read(struct zk_op_program *p);

#endif
