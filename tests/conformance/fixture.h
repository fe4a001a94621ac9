/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the conformance suite needs beside an engine: servers or directories, a
 * clock, and other clients.  Each test_ENGINE.c fills in a struct
 * conformance_fixture and runs suite.c, which knows no engine.
 */
#ifndef HF_TESTS_CONFORMANCE_FIXTURE_H
#define HF_TESTS_CONFORMANCE_FIXTURE_H

#include <stdbool.h>

#include "core/engine.h"

struct victim;

struct conformance_fixture {
    const char *name;
    const struct hf_engine_ops *ops; /* set by .begin at the latest */
    /* Set-up and tear-down of each test: no queue exists.  .finish also checks
     * that no ticket is left. */
    void (*begin)(struct conformance_fixture *fixture);
    void (*finish)(struct conformance_fixture *fixture);
    /* A new client, which may connect later.  The caller ends it by END and
     * ops->free. */
    struct hf_engine *(*open)(struct conformance_fixture *fixture,
                              const struct hf_engine_host *host);
    /* Run the loop, and let time pass, until ${done} is true or a bound that is
     * far above what a correct engine needs. */
    void (*pump)(struct conformance_fixture *fixture, bool (*done)(void *arg),
                 void *arg);
    /* Another client, which has a ticket in ${queue}: a mutex or, if ${weight}
     * is not 0, a lease.  Returns when the ticket is there.  The end of that
     * client without a close: its process is killed, or its session expires. */
    struct victim *(*victim_start)(struct conformance_fixture *fixture,
                                   const char *queue,
                                   struct hf_ticket_id ticket, uint32_t weight);
    void (*victim_kill)(struct conformance_fixture *fixture,
                        struct victim *victim);
    /* Remove a ticket as an administrator would, without the engine; of a lease
     * that has several nodes, one node. */
    void (*evict)(struct conformance_fixture *fixture, const char *queue,
                  const struct hf_ticket *ticket);
    /* By kind of ticket: the kind that lists show for it, because some layouts
     * do not distinguish all; 0 if there can be none.  NULL: every kind as
     * itself. */
    const enum hf_ticket_kind *shown;
    /* Called in the process of a victim before it opens its client, so that it
     * asks for a short session; NULL: nothing. */
    void (*be_victim)(void);
    bool leases_have_no_order; /* lists show leases in any order */
    bool has_double_barriers;
    bool has_no_barriers;
    bool has_no_success; /* the engine knows no time */
    /* A list may show a ticket for a moment after another client removed it: a
     * quorum has asked a server that is behind. */
    bool tickets_linger;
    /* Owners do not learn who evicted them: the model of an engine has no place
     * for that. */
    bool evictions_are_silent;
    /* Break the connection of every client; each is CONNECTED again in the same
     * session.  NULL: there are no connections. */
    void (*cut)(struct conformance_fixture *fixture);
    void *data; /* of the test_ENGINE.c */
};

/* The kind that lists show for a ticket of ${kind}, see .shown. */
enum hf_ticket_kind conformance_shown(const struct conformance_fixture *fixture,
                                      enum hf_ticket_kind kind);

/* Run every test; the number that failed, as main() returns it. */
int suite_run(struct conformance_fixture *fixture);

#endif
