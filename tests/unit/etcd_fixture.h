/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session of etcd, its user, and a server that a test plays.  What the user
 * is notified of is a line of text each, in the order in which it comes:
 *
 *     connected 10000 1000 new      the TTL, the anchor, new or resumed
 *     suspended | lost | closed | epoch | gave up
 *     error STATUS [final]          of the connection
 *     resuming 1000 10000           when, and the least TTL
 *     proven 1000
 *     NAME DONE [proves 1000]       the end of a call; RETRY, UNSURE, REFUSED
 *     NAME put KEY 7 | NAME deleted KEY 7 | NAME compacted | NAME refused
 */
#ifndef HF_TESTS_ETCD_FIXTURE_H
#define HF_TESTS_ETCD_FIXTURE_H

#include "cmocka/runner.h"
#include "etcd/session.h"
#include "etcd_fake_grpc.h"

#define FIXTURE_LINES 256
#define FIXTURE_USER_CALLS 8
#define FIXTURE_WATCHES 8

/* What the server is like, for fixture_serve(). */
struct fixture_server {
    uint64_t cluster_id;
    uint64_t raft_term;
    int64_t revision;
    int64_t ttl_s;       /* that it grants; 0: what is asked for */
    bool no_leader;      /* of Status */
    bool learner;        /* of Status */
    const char *version; /* of Status */
    const char *token;   /* the answer to Authenticate */
    const char *refuses; /* a method, with .status and .text */
    enum hf_grpc_status status;
    const char *text;
};

struct fixture_call {
    struct hf_etcd_call call;
    struct fixture *f;
    char name[16];
};

struct fixture_watch {
    struct hf_etcd_watch watch;
    struct fixture *f;
    char name[16];
    bool removes; /* itself, at its next event */
};

struct fixture {
    struct hf_etcd_session_config config;
    struct hf_etcd_session session;
    struct fixture_server server;
    uint64_t now_ms;
    uint64_t number; /* of the connection that is up; 0: none */
    char lines[FIXTURE_LINES][128];
    size_t line_count;
    size_t line_read;
    struct fixture_call calls[FIXTURE_USER_CALLS];
    struct fixture_watch watches[FIXTURE_WATCHES];
    int64_t created_revision;
    hf_status status;     /* for a user, of the last call that has failed */
    char log[1024];       /* the last line of the log */
    unsigned renewed;     /* how often .renewed was called */
    bool closes_at_loss;  /* the user closes from .suspended and .lost */
    bool closes_at_proof; /* and from .proven */
};

/* A session with ${servers} servers, at 1000 ms, with a TTL of 10 s. */
void fixture_open(struct fixture *f, size_t servers);
void fixture_close(struct fixture *f);
/* Begin another session, as .config says; the one before is freed. */
void fixture_begin(struct fixture *f);
#define FIXTURE_TEST(name)                                                     \
    TEST_OF(name, fixture, fixture_open(f, 3), fixture_close(f))

/* ------------------------------------------------------------ the driver -- */

/* The connection that the session wants is made. */
void fixture_connect(struct fixture *f);
/* It is closed by the server, or by the transport for ${why}. */
void fixture_cut(struct fixture *f, const char *why);
/* Deliver what the server does. */
void fixture_deliver(struct fixture *f);
/* Time passes, with ticks where the session wants them. */
void fixture_pass(struct fixture *f, uint64_t ms);

/* ------------------------------------------------------------ the server -- */

/* The oldest running call of the method with ${name}, "Txn", that has a
 * message; NULL: none. */
struct fake_call *fixture_find(struct fixture *f, const char *name);
/* The same; the test fails if there is none. */
struct fake_call *fixture_call(struct fixture *f, const char *name);
/* The number of calls of that method that run. */
size_t fixture_count(struct fixture *f, const char *name);

/* Answer it with ${message}, which is freed, and deliver that.  A stream goes
 * on. */
void fixture_answer(struct fixture *f, const char *name,
                    struct hf_etcd_buffer *message);
void fixture_refuse(struct fixture *f, const char *name,
                    enum hf_grpc_status status, const char *text);
/* Begin an answer: its header. */
struct hf_etcd_buffer fixture_message(struct fixture *f);
/* Answer Status as .server says. */
void fixture_status(struct fixture *f);
/* Answer a keep-alive with ${ttl_s}. */
void fixture_keep_alive(struct fixture *f, int64_t ttl_s);
/* Answer a transaction, with the key of the session at ${revision}. */
void fixture_txn(struct fixture *f, bool succeeded, int64_t epoch);

/* Answer everything as an honest server until nothing is left to answer. */
void fixture_serve(struct fixture *f);
/* Connect and serve: the session is usable, and its epoch known. */
void fixture_up(struct fixture *f);

/* -------------------------------------------------------------- the user -- */

/* Start the call ${name}: a write with the epoch, a write, or a read. */
enum fixture_request { ENQUEUE, WRITE, READ };
struct fixture_call *fixture_start(struct fixture *f, const char *name,
                                   enum fixture_request request);
/* Add the watch ${name} of the key ${name} from ${revision} on. */
struct fixture_watch *fixture_watch(struct fixture *f, const char *name,
                                    int64_t revision);
/* The server sends an event of ${key} to the watch with the number ${id}. */
void fixture_event(struct fixture *f, int64_t id, const char *key,
                   int64_t revision, bool deleted);
/* The server has created the watches that were asked for, at .created_revision;
 * returns the number of the last one. */
int64_t fixture_created(struct fixture *f);

/* The next line is ${line}. */
void fixture_expect(struct fixture *f, const char *line);
/* There is none. */
void fixture_expect_none(struct fixture *f);
/* Skip all. */
void fixture_skip(struct fixture *f);

#endif
