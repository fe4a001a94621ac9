/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the conformance suite needs of an engine's surroundings.  One program
 * per engine fills in a struct bench and runs suite.c, which knows no engine.
 */
#ifndef HF_TESTS_CONFORMANCE_FIXTURE_H
#define HF_TESTS_CONFORMANCE_FIXTURE_H

#include <stdbool.h>

#include "core/engine.h"

struct victim;

struct conformance_fixture {
    const char *name;
    const struct hf_engine_ops *ops; /* set by .begin at the latest */
    /* A fresh, empty place for queues, and its end; abort on failure. */
    void (*begin)(struct conformance_fixture *fixture);
    void (*finish)(struct conformance_fixture *fixture);
    /* A new client; it may connect later.  Closed by END and ops->free. */
    struct hf_engine *(*open)(struct conformance_fixture *fixture,
                              const struct hf_engine_host *host);
    /* Let things happen, and time pass, until ${done} or a bound that is far
     * beyond what a sound engine needs. */
    void (*pump)(struct conformance_fixture *fixture, bool (*done)(void *arg),
                 void *arg);
    /* A client that has put a ticket in the queue, a mutex or, if ${weight} is
     * not 0, a lease; and the end of it without a goodbye: a process killed, a
     * session expired. */
    struct victim *(*victim_start)(struct conformance_fixture *fixture,
                                   const char *queue,
                                   struct hf_ticket_id ticket, uint32_t weight);
    void (*victim_kill)(struct conformance_fixture *fixture,
                        struct victim *victim);
    /* Somebody removes a ticket behind the engine's back, or, of a lease, a
     * part of it where it has parts. */
    void (*evict)(struct conformance_fixture *fixture, const char *queue,
                  const struct hf_ticket *ticket);
    /* As what a ticket of each kind is shown, 0 if the engine, being set up as
     * it is, takes none of that kind; NULL: as what it is. */
    const enum hf_ticket_kind *shown;
    /* What the process of a victim does first, before it opens its client: see
     * to it that a server soon sees its death; NULL: nothing. */
    void (*be_victim)(void);
    bool leases_have_no_order;
    bool has_double_barriers; /* of double barriers */
    bool has_no_barriers;
    /* What another client took out may be shown for a little longer: a server
     * of the minority that is behind may have it yet. */
    bool tickets_linger;
    /* Cut the connection of every client, each of which will be CONNECTED again
     * in the same session; NULL where there are none that could be cut. */
    void (*cut)(struct conformance_fixture *fixture);
    void *data;
};

/* One of .shown. */
enum hf_ticket_kind conformance_shown(const struct conformance_fixture *fixture,
                                      enum hf_ticket_kind kind);

/* Run every test; the number that failed, as main() returns it. */
int suite_run(struct conformance_fixture *fixture);

#endif
