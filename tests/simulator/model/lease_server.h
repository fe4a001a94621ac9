/* SPDX-License-Identifier: Apache-2.0 */
/* What runs at a server that leases tickets, as engines/leased/store.h has it:
 * queues in memory.  It has no clock: what that shows is an argument of each
 * call.  Out of memory it ends the program: it is a tool of tests. */
#ifndef HF_TESTS_SIMULATOR_MODEL_LEASE_SERVER_H
#define HF_TESTS_SIMULATOR_MODEL_LEASE_SERVER_H

#include "engines/leased/store.h"

struct lease_server;

/* A call that outlives its maker. */
struct lease_call {
    struct hf_store_call call;
    void *memory[6];
};
void lease_call_copy(struct lease_call *copy, const struct hf_store_call *call);
void lease_call_free(struct lease_call *copy);

struct lease_answer {
    struct hf_store_answer answer;
    struct hf_ticket *tickets;
    struct hf_store_lease *leases;
};
/* ${text} lives as long as the answer. */
void lease_answer_fail(struct lease_answer *answer, enum hf_failure failure,
                       hf_status status, const char *text, uint64_t clock_ms);
/* One more ticket of it. */
void lease_answer_add(struct lease_answer *answer,
                      const struct hf_ticket *ticket,
                      const struct hf_store_lease *lease);
void lease_answer_free(struct lease_answer *answer);

/* A notice to one session; its texts live as long as the call. */
struct lease_notice {
    const char *session;
    struct hf_store_notice notice;
};

/* Told of what happens, from inside the calls below.  All but .notice may be
 * NULL. */
struct lease_observer {
    void (*notice)(void *arg, const struct lease_notice *notice);
    /* A ticket has come into the queue, has gone, has become what it is. */
    void (*added)(void *arg, const char *queue, const char *session,
                  const struct hf_ticket *ticket);
    void (*removed)(void *arg, const char *queue,
                    const struct hf_ticket *ticket);
    void (*changed)(void *arg, const char *queue,
                    const struct hf_ticket *ticket);
    void *arg;
};

struct lease_server *lease_server_new(const struct lease_observer *observer);
/* From now on it answers with no more of a queue than it must. */
void lease_server_set_partial(struct lease_server *server);
void lease_server_free(struct lease_server *server);

/* One with the same tickets, which tells nobody of what happens. */
struct lease_server *lease_server_copy(const struct lease_server *from);

/* Tickets that have come and what was renewed since ${to} was copied from it
 * are lost.  What has gone is not back, because nobody relied on it any more;
 * and marks stay, which may have been seen and have no lease. */
void lease_server_roll_back(struct lease_server *server,
                            const struct lease_server *to);

void lease_server_execute(struct lease_server *server, uint64_t clock_ms,
                          const struct lease_call *call,
                          struct lease_answer *answer);

/* A ticket of no session, which never runs out. */
void lease_server_add(struct lease_server *server, uint64_t clock_ms,
                      const char *queue, enum hf_ticket_kind kind,
                      const struct hf_ticket_id *id);

/* Tell who looks at the queue that a ticket has gone, though none has. */
void lease_server_touch(struct lease_server *server, const char *queue);

/* Remove a ticket behind everybody's back.  False if it is not there. */
bool lease_server_evict(struct lease_server *server, const char *queue,
                        const struct hf_ticket_id *id);

/* Take out a ticket and tell so, its owner too.  False if it is not there. */
bool lease_server_remove(struct lease_server *server, const char *queue,
                         const struct hf_ticket_id *id);

/* It has lost all that it had, counters too, in silence. */
void lease_server_wipe(struct lease_server *server);

/* Tickets in the queue, those that have run out and not been seen yet too. */
size_t lease_server_count(const struct lease_server *server, const char *queue);

/* When the ticket runs out, by the server's clock; 0 if it is not there. */
uint64_t lease_server_expires_ms(const struct lease_server *server,
                                 const char *queue,
                                 const struct hf_ticket_id *id);

#endif
