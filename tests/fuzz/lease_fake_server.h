/* SPDX-License-Identifier: Apache-2.0 */
/* A fake server that leases tickets.  It keeps its queues as an honest one
 * does (simulator/model/lease_server.h), and the input then changes its
 * answers row by row.  The fuzz target puts the answers into bytes. */
#ifndef HF_TESTS_FUZZ_LEASE_FAKE_SERVER_H
#define HF_TESTS_FUZZ_LEASE_FAKE_SERVER_H

#include "leased_client.h"
#include "simulator/model/lease_rows.h"

#define LEASE_FAKES 4

/* How one answer is made wrong. */
struct lie {
    uint8_t kind; /* 0: it is left as it is */
    uint8_t row, how;
};

struct lease_fake_server {
    struct leased_client *client;
    struct lease_server *server;
    size_t number;  /* index of this server */
    struct lie lie; /* for the next answer with rows */
    /* Send ${notice} to the clients that listen. */
    void (*notice)(struct lease_fake_server *leases,
                   const struct lease_notice *notice);
};

void lease_fake_begin(struct lease_fake_server *leases,
                      struct leased_client *client, size_t number);
void lease_fake_end(struct lease_fake_server *leases);

/* The clock of the server, in milliseconds since the epoch. */
uint64_t lease_fake_clock_ms(const struct lease_fake_server *leases);

/* Execute ${call} and change the answer as planned.  The caller frees
 * ${answer} with lease_answer_free(). */
void lease_fake_answer(struct lease_fake_server *leases,
                       const struct hf_store_call *call,
                       struct lease_answer *answer);

/* Exchange two rows. */
void lease_fake_swap(struct lease_answer *answer, size_t a, size_t b);

/* Plan how the next answer is wrong, from the input. */
void lease_fake_lie(struct lease_fake_server *leases);

/* Change a queue behind the client's back, or send a notice of a change that
 * never happened. */
void lease_fake_disturb(struct lease_fake_server *leases);

#endif
