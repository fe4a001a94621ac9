/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue of operations (zookeeper/op_queue.h) on a session whose server the
 * test plays, frame by frame, in virtual time.
 *
 * What the queue sends and how operations end is kept as text: "get /a; set /b"
 * and "/a HF_OK; /b HF_EUNSURE".  op_fixture_begin_among() keeps what happens
 * to the session too: UP, RESUMED, SUSPENDED, LOST, CLOSED.  At the end each
 * operation that was started must have ended once, and have been released once
 * after that.
 */
#ifndef HF_TESTS_UNIT_ZK_OP_FIXTURE_H
#define HF_TESTS_UNIT_ZK_OP_FIXTURE_H

#include "zookeeper/op_queue.h"
#include "zookeeper/zk_op.h"

#define OP_FIXTURE_TIMEOUT_MS 10000
#define OP_FIXTURE_SESSION 0x1234
#define OP_FIXTURE_CALLS_MAX 1024
#define OP_FIXTURE_TEXT_BYTES 32768

struct zk_op_fixture;

/* An operation of the test. */
struct test_op {
    struct hf_zk_op op; /* first */
    struct zk_op_fixture *f;
    struct hf_zookeeper_credential credential;
    struct test_op *next; /* of those that were started */
    unsigned ended;
    unsigned released;
    hf_status status; /* how it ended */
    bool watching;
    char text[256];
};

/* A call that the server has got and not answered. */
struct test_call {
    int32_t xid;
    int32_t opcode;
    char path[64];
};

struct zk_op_fixture {
    struct hf_zk_session_config config;
    struct hf_zk_session session;
    struct hf_zk_op_context context;
    struct hf_zk_op_queue queue;
    struct hf_zk_listener listener;
    struct hf_jute_writer server; /* what it says next */
    uint64_t connection_number;
    uint64_t now_ms;
    int64_t zxid;           /* of the next answer */
    bool read_only;         /* the server has no quorum */
    const char *sasl_token; /* of its next answer to SASL */
    int64_t handshake_id;   /* the last ConnectRequest asked for */
    int64_t handshake_zxid;
    bool handshake_read_only; /* it is content with a server without a quorum */
    struct test_call calls[OP_FIXTURE_CALLS_MAX];
    size_t first_call;
    size_t call_count;
    struct test_op *ops; /* all that were started */
    char sent[OP_FIXTURE_TEXT_BYTES];
    char events[OP_FIXTURE_TEXT_BYTES];
    char logged[OP_FIXTURE_TEXT_BYTES]; /* the last line of the log */
};

/* ----------------------------------------------------------------- begin -- */

/* A session that wants its first connection, to one of ${servers}, and has at
 * most ${window} calls in flight. */
void op_fixture_begin(struct zk_op_fixture *f, size_t servers, unsigned window);
/* A session that wants its first connection, to "a" of ${count} servers, "a" to
 * "c". */
void op_fixture_begin_among(struct zk_op_fixture *f, size_t count,
                            bool read_only);
/* A session to one server, whose first connection is there. */
void op_fixture_begin_connected(struct zk_op_fixture *f, unsigned window);
void op_fixture_end(struct zk_op_fixture *f);

/* A test of f, a session that ${open}, a call with f, begins. */
#define OP_TEST(name, open)                                                    \
    TEST_OF(name, zk_op_fixture, open, op_fixture_end(f))

/* ------------------------------------------------------------ operations -- */

/* Set ${o} to an operation on ${path}, without a deadline; then fields may be
 * changed, and it is started. */
void op_fixture_prepare(struct zk_op_fixture *f, struct test_op *o,
                        enum hf_zookeeper_op_kind kind, const char *path);
/* The same of any operation. */
void op_fixture_prepare_as(struct zk_op_fixture *f, struct test_op *o,
                           const struct hf_zookeeper_op *op);
hf_status op_fixture_add(struct zk_op_fixture *f, struct test_op *o,
                         struct hf_error *error);
/* Both, and it must be started. */
void op_fixture_start(struct zk_op_fixture *f, struct test_op *o,
                      enum hf_zookeeper_op_kind kind, const char *path);
void op_fixture_start_prepared(struct zk_op_fixture *f, struct test_op *o);
/* Start a get of another priority. */
void op_fixture_start_at(struct zk_op_fixture *f, struct test_op *o,
                         enum hf_zookeeper_priority priority, const char *path);
/* Start an operation that ends after ${ms} at the latest. */
void op_fixture_start_until(struct zk_op_fixture *f, struct test_op *o,
                            enum hf_zookeeper_op_kind kind, const char *path,
                            uint64_t ms);
void op_fixture_cancel(struct zk_op_fixture *f, struct test_op *o);

/* --------------------------------------------------------------- watches -- */

/* A watcher of "/w", which is not set yet.  Its events are kept as those of
 * operations are, "event 3". */
struct hf_zk_watcher op_fixture_watcher(struct zk_op_fixture *f,
                                        enum hf_zk_watch_mode mode);
/* Start an operation of ${kind} on "/w" that sets ${watcher}. */
void op_fixture_start_watch(struct zk_op_fixture *f, struct test_op *o,
                            enum hf_zookeeper_op_kind kind,
                            struct hf_zk_watcher *watcher);

/* ---------------------------------------------------------------- server -- */

/* Go on to the next attempt and accept its TCP connection; read the
 * ConnectRequest. */
void op_fixture_link_up(struct zk_op_fixture *f);
/* The same without a wait: the server called ${host} is wanted now.  The id of
 * the session that the client asks for. */
int64_t op_fixture_link_up_to(struct zk_op_fixture *f, const char *host);
/* Answer the handshake: ${id} 0: the session has ended. */
void op_fixture_accept(struct zk_op_fixture *f, int64_t id);
/* The same, as a server that is ${read_only}. */
void op_fixture_accept_as(struct zk_op_fixture *f, int64_t id, bool read_only);
/* Both, with the session that the client asks for, or a new one. */
void op_fixture_connect(struct zk_op_fixture *f);
/* Read what was sent; the calls among it can then be answered. */
void op_fixture_read(struct zk_op_fixture *f);
/* Answer the oldest call. */
void op_fixture_answer(struct zk_op_fixture *f, enum hf_zk_error error);
/* Answer all that come, with success. */
void op_fixture_answer_all(struct zk_op_fixture *f);
/* Answer the oldest credential. */
void op_fixture_answer_auth(struct zk_op_fixture *f, enum hf_zk_error error);
void op_fixture_answer_set_watches(struct zk_op_fixture *f);
void op_fixture_fire(struct zk_op_fixture *f, enum hf_zk_event_type type,
                     const char *path);
/* Send a header without a record; send what .server has. */
void op_fixture_say_header(struct zk_op_fixture *f, int32_t xid,
                           enum hf_zk_error error);
void op_fixture_say(struct zk_op_fixture *f);
void op_fixture_cut(struct zk_op_fixture *f);
/* The same, and the time passes until the next attempt is due. */
void op_fixture_cut_until_next(struct zk_op_fixture *f);
/* Cut the connection, and have the next one resume the session; what was sent
 * before is not kept. */
void op_fixture_reconnect(struct zk_op_fixture *f);
/* The time passes, and what is due is done. */
void op_fixture_pass(struct zk_op_fixture *f, uint64_t ms);

/* ---------------------------------------------------------------- checks -- */

/* Add to what has happened. */
void op_fixture_note(struct zk_op_fixture *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* What was sent, and how operations ended, since the last call. */
void op_fixture_expect_sent(struct zk_op_fixture *f, const char *expected);
void op_fixture_expect_events(struct zk_op_fixture *f, const char *expected);

#endif
