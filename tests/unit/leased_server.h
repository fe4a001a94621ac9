/* SPDX-License-Identifier: Apache-2.0 */
/* What runs at the server, as engines/leased/store.h has it: queues in memory
 * and a clock. */
#ifndef HF_TESTS_UNIT_LEASED_SERVER_H
#define HF_TESTS_UNIT_LEASED_SERVER_H

#include "engines/leased/store.h"

#define SERVER_QUEUE_BYTES 1200

struct server;

/* A call that outlives its maker. */
struct server_call {
    struct hf_store_call call;
    void *memory[6];
};
void server_call_copy(struct server_call *copy,
                      const struct hf_store_call *call);
void server_call_free(struct server_call *copy);

struct server_answer {
    struct hf_store_answer answer;
    struct hf_ticket *tickets;
    struct hf_store_lease *leases;
};
void server_answer_failure(struct server_answer *answer,
                           enum hf_failure failure, uint64_t now_ms);
void server_answer_free(struct server_answer *answer);

struct server_notice {
    char session[HF_STORE_SESSION_BYTES];
    char queue[SERVER_QUEUE_BYTES];
    struct hf_store_notice notice;
};

struct server *server_new(void (*notice)(void *arg,
                                         const struct server_notice *notice),
                          void *arg);
void server_free(struct server *server);

/* What its clock shows when ours shows ${now_ms}, and to set it. */
uint64_t server_clock(const struct server *server, uint64_t now_ms);
void server_step_clock(struct server *server, int64_t ms);

void server_carry_out(struct server *server, uint64_t clock_ms,
                      const struct server_call *call,
                      struct server_answer *answer);

size_t server_tickets(const struct server *server, const char *queue);
bool server_has(const struct server *server, const char *queue,
                const struct hf_ticket_id *id);
bool server_evict(struct server *server, const char *queue,
                  const struct hf_ticket_id *id);

#endif
