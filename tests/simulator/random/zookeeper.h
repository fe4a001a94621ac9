/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random runs of the public client of ZooKeeper (holdfast/zookeeper.h, below
 * src/zookeeper_client): some processes read, write and watch a few nodes,
 * while links break, servers stop, processes freeze and sessions end.  Every
 * value that is written is written once, so the committed history says what
 * became of each write.  What must hold, by number:
 *
 *   1  a write that ended with HF_OK is in the history once, and was not
 *      before it was sent; one that ended with HF_EUNSURE at most once; any
 *      other never.  An operation ends once and is released once
 *   2  a read shows the history as it was at its zxid; the reads of a session
 *      never go back; a read that was started after an event includes the
 *      transaction of the event
 *   3  an armed one-shot watch fires before an answer that shows the change,
 *      and only after the answer that armed it; a persistent one is notified
 *      of every change between two RESYNCs, in order; on a new connection
 *      RESYNC comes before anything else; a watch that was freed is notified
 *      of nothing
 *   4  after the last fault every operation ends, and every client is
 *      connected
 *   5  at the end servers keep no watch that nobody wants
 *   6  an operation ends with HF_EDENIED if and only if the access list of the
 *      node did not permit it to the credentials of the session
 *   7  a session that a server without a quorum has begun is offered to no
 *      other server
 */
#ifndef HF_TESTS_SIMULATOR_RANDOM_ZOOKEEPER_H
#define HF_TESTS_SIMULATOR_RANDOM_ZOOKEEPER_H

#include <stdbool.h>
#include <stdint.h>

/* How a run ended. */
struct zookeeper_result {
    int broken;        /* number of the invariant; 0: all hold */
    const char *check; /* the sentence that does not hold; NULL: none */
    uint64_t operations;
    uint64_t events;
};

/* Run ${seed} until an invariant breaks.  ${line} receives the trace, or is
 * NULL.  True if all invariants held. */
bool zookeeper_run_seed(uint64_t seed,
                        void (*line)(void *arg, const char *text),
                        struct zookeeper_result *end);

#endif
