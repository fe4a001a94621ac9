/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake ZooKeeper on a thread of its own, for tests of the public client: it
 * accepts one connection at a time, and every session, and says that each
 * operation succeeded.  It uses no memory of the library, whose allocations a
 * test makes fail.
 */
#ifndef HF_TESTS_UNIT_ZOOKEEPER_FAKE_SERVER_H
#define HF_TESTS_UNIT_ZOOKEEPER_FAKE_SERVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct zookeeper_fake_server {
    int listener;
    int wake[2]; /* a pipe that ends the thread */
    pthread_t thread;
    pthread_mutex_t lock; /* of .fd, when something is written to it */
    int fd;               /* the connection; -1: none */
    bool accepted;        /* a session, on it */
    uint8_t in[1 << 16];
    size_t used;
    char url[64];
    /* What the last connection asked for. */
    atomic_int session_id;
    atomic_int timeout_ms;
    atomic_bool forgets; /* the next session that is to be resumed has ended */
    atomic_bool silent;  /* it reads, and answers nothing */
    atomic_int loses;    /* the opcode of the next request that it does not
                            answer, but ends the connection; 0: none */
    /* The next ${refusals} calls of ${refused_opcode} are answered with
     * ${refusal}, an error. */
    atomic_int refused_opcode;
    atomic_int refusal;
    atomic_int refusals;
    /* If set, this returns the error of each call of ${opcode} about ${path},
     * 0: none, on the thread of the server; those three count no more. */
    int32_t (*_Atomic refuses)(int32_t opcode, const char *path);
    atomic_bool away;       /* it accepts no connection */
    atomic_bool others;     /* each node is an ephemeral one of another
                               session */
    atomic_bool hangs_up;   /* it ends the connection behind its next answer */
    atomic_int more_losses; /* after that one, of the same opcode */
    atomic_bool old;     /* it does not know AddWatch: says so, and hangs up */
    atomic_int mzxid;    /* in each Stat */
    atomic_bool behind;  /* .mzxid is 0 on a connection until a sync */
    atomic_bool synced;  /* there was one on this connection */
    atomic_int children; /* in each Stat: 0, or 2 as in each list */
    atomic_uint data_sent; /* answers with data */
    atomic_uint calls;     /* that it has got, but SASL and the end of a
                              session */
    atomic_uint answers;   /* that it has sent to these */
};

/* Start it.  Its .url has a user of the scheme digest. */
void zookeeper_fake_start(struct zookeeper_fake_server *server);
void zookeeper_fake_stop(struct zookeeper_fake_server *server);

/* End the connection. */
void zookeeper_fake_cut(struct zookeeper_fake_server *server);

/* Report an event of ${path}; see enum hf_zk_event_type. */
void zookeeper_fake_fire(struct zookeeper_fake_server *server, int32_t type,
                         const char *path);

#endif
