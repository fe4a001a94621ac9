/* SPDX-License-Identifier: Apache-2.0 */
/* One server of a quorum: the other side of engines/leased/store.h with the
 * steps of its quorum calls, for one queue in memory.  It does what the script
 * of a Redis server does (engines/redis/quorum.lua), and has a clock of its
 * own. */
#ifndef HF_TESTS_UNIT_QUORUM_FAKE_SERVER_H
#define HF_TESTS_UNIT_QUORUM_FAKE_SERVER_H

#include "engines/leased/store.h"

#define QUORUM_TICKETS_MAX 64

/* A call on its way: a copy, because the client may change or drop its own. */
struct wire_call {
    struct hf_store_call *origin; /* that of the client, to answer */
    enum hf_store_call_kind kind;
    enum hf_store_quorum_step step;
    char session[HF_STORE_SESSION_BYTES];
    struct hf_ticket_id ticket;
    enum hf_ticket_kind ticket_kind;
    uint64_t number;
    uint64_t ttl_ms;
    uint64_t not_after_ms;
    struct hf_ticket_id ids[QUORUM_TICKETS_MAX]; /* PROBE, RENEW, CLOSE */
    uint64_t numbers[QUORUM_TICKETS_MAX]; /* RENEW: committed numbers, or 0 */
    size_t count;
};
void wire_call_copy(struct wire_call *copy, struct hf_store_call *call);

struct wire_answer {
    /* Its .tickets and .leases are set to the arrays below on delivery. */
    struct hf_store_answer answer;
    struct hf_ticket tickets[QUORUM_TICKETS_MAX];
    struct hf_store_lease leases[QUORUM_TICKETS_MAX];
};

/* A ticket that the server has. */
struct quorum_row {
    struct hf_ticket ticket;
    char session[HF_STORE_SESSION_BYTES];
    uint64_t until_ms; /* its lease, by the clock of the server */
    uint32_t revoked;  /* requests to let go */
    bool proposed;     /* its number is not committed */
    bool going;        /* to be removed before the call ends */
};

struct quorum_fake_server {
    struct quorum_row rows[QUORUM_TICKETS_MAX]; /* in the order of the queue */
    size_t count;
    uint64_t last;     /* the greatest number given out or seen */
    uint64_t ahead_ms; /* of its clock, before the time of the cluster */
    uint64_t fast_ppm; /* by which its clock is faster */
    /* Sends a notice to the client that has ${session}. */
    void (*notice)(void *arg, const char *session,
                   const struct hf_store_notice *notice);
    void *arg;
};

/* Forget all tickets and numbers, as a server does that starts empty. */
void quorum_fake_server_clear(struct quorum_fake_server *server);

/* What the clock of the server shows at ${now_ms} of the cluster. */
uint64_t quorum_fake_server_clock(const struct quorum_fake_server *server,
                                  uint64_t now_ms);

/* Do what ${call} says and write the answer; notices are sent on the way. */
void quorum_fake_server_carry_out(struct quorum_fake_server *server,
                                  uint64_t now_ms, const struct wire_call *call,
                                  struct wire_answer *answer);

#endif
