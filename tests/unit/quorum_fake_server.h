/* SPDX-License-Identifier: Apache-2.0 */
/* One of several servers, as engines/leased/store.h and its accord have it: one
 * queue in memory, and a clock of its own. */
#ifndef HF_TESTS_UNIT_QUORUM_FAKE_SERVER_H
#define HF_TESTS_UNIT_QUORUM_FAKE_SERVER_H

#include "engines/leased/store.h"

#define QUORUM_TICKETS_MAX 64

/* A call as it travels. */
struct wire_call {
    struct hf_store_call *origin;
    enum hf_store_call_kind kind;
    enum hf_store_quorum_step step;
    char session[HF_STORE_SESSION_BYTES];
    struct hf_ticket_id ticket;
    enum hf_ticket_kind ticket_kind;
    uint64_t number;
    uint64_t ttl_ms;
    uint64_t not_after_ms;
    struct hf_ticket_id ids[QUORUM_TICKETS_MAX];
    uint64_t numbers[QUORUM_TICKETS_MAX];
    size_t count;
};
void wire_call_copy(struct wire_call *copy, struct hf_store_call *call);

struct wire_answer {
    struct hf_store_answer answer; /* .tickets and .leases: see below */
    struct hf_ticket tickets[QUORUM_TICKETS_MAX];
    struct hf_store_lease leases[QUORUM_TICKETS_MAX];
};

struct quorum_row {
    struct hf_ticket ticket;
    char session[HF_STORE_SESSION_BYTES];
    uint64_t until_ms;
    uint32_t revoked;
    bool proposed;
    bool going;
};

struct quorum_fake_server {
    struct quorum_row rows[QUORUM_TICKETS_MAX]; /* in order */
    size_t count;
    uint64_t last;
    uint64_t ahead_ms; /* of the time of the world */
    uint64_t fast_ppm; /* how much faster than that its clock runs */
    void (*notice)(void *arg, const char *session,
                   const struct hf_store_notice *notice);
    void *arg;
};

/* Forget everything. */
void quorum_fake_server_clear(struct quorum_fake_server *server);

uint64_t quorum_fake_server_clock(const struct quorum_fake_server *server,
                                  uint64_t now_ms);

void quorum_fake_server_carry_out(struct quorum_fake_server *server,
                                  uint64_t now_ms, const struct wire_call *call,
                                  struct wire_answer *answer);

#endif
