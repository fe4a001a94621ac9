/* SPDX-License-Identifier: Apache-2.0 */
/* Servers that lease tickets and lie: each keeps its queues as an honest one
 * does (simulator/model/lease_server.h), and what it answers is changed as the
 * input says, row by row.  How answers are put into bytes is the target's. */
#ifndef HF_TESTS_FUZZ_LEASES_H
#define HF_TESTS_FUZZ_LEASES_H

#include "client.h"
#include "simulator/model/lease_rows.h"

#define LEASES_SERVERS 4

/* How one answer is wrong. */
struct lie {
    uint8_t kind; /* 0: it is not */
    uint8_t row, how;
};

struct leases {
    struct client *client;
    struct lease_server *server;
    size_t number;  /* which of the servers */
    struct lie lie; /* of the next answer with rows */
    /* Hand ${notice} to who listens there. */
    void (*notice)(struct leases *leases, const struct lease_notice *notice);
};

void leases_begin(struct leases *leases, struct client *client, size_t number);
void leases_end(struct leases *leases);

/* The clock of the server. */
uint64_t leases_clock_ms(const struct leases *leases);

/* Carry out ${call} and lie as is due; to be freed by lease_answer_free(). */
void leases_answer(struct leases *leases, const struct hf_store_call *call,
                   struct lease_answer *answer);

/* Have two rows change places. */
void leases_swap(struct lease_answer *answer, size_t a, size_t b);

/* Have the next answer lie as the input says. */
void leases_lie(struct leases *leases);

/* Something happens at the server that it does tell, or a notice comes of what
 * never happened. */
void leases_meddle(struct leases *leases);

#endif
