/* SPDX-License-Identifier: Apache-2.0 */
/* Servers that lease tickets and lie: each keeps its queues as an honest one
 * does (simulator/model/lease_server.h), and what it answers is changed as the
 * input says, row by row.  How answers are put into bytes is the target's. */
#ifndef HF_TESTS_FUZZ_LEASE_FAKE_SERVER_H
#define HF_TESTS_FUZZ_LEASE_FAKE_SERVER_H

#include "leased_client.h"
#include "simulator/model/lease_rows.h"

#define LEASE_FAKES 4

/* How one answer is wrong. */
struct lie {
    uint8_t kind; /* 0: it is not */
    uint8_t row, how;
};

struct lease_fake_server {
    struct leased_client *client;
    struct lease_server *server;
    size_t number;  /* which of the servers */
    struct lie lie; /* of the next answer with rows */
    /* Hand ${notice} to who listens there. */
    void (*notice)(struct lease_fake_server *leases,
                   const struct lease_notice *notice);
};

void lease_fake_begin(struct lease_fake_server *leases,
                      struct leased_client *client, size_t number);
void lease_fake_end(struct lease_fake_server *leases);

/* The clock of the server. */
uint64_t lease_fake_clock_ms(const struct lease_fake_server *leases);

/* Carry out ${call} and lie as is due; to be freed by lease_answer_free(). */
void lease_fake_answer(struct lease_fake_server *leases,
                       const struct hf_store_call *call,
                       struct lease_answer *answer);

/* Have two rows change places. */
void lease_fake_swap(struct lease_answer *answer, size_t a, size_t b);

/* Have the next answer lie as the input says. */
void lease_fake_lie(struct lease_fake_server *leases);

/* Something happens at the server that it does tell, or a notice comes of what
 * never happened. */
void lease_fake_disturb(struct lease_fake_server *leases);

#endif
