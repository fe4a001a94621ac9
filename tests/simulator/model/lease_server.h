/* SPDX-License-Identifier: Apache-2.0 */
/* The server of the lease model: what src/engines/leased/store.h demands of
 * a server, on queues in memory.  It has no clock; each call is given what
 * the clock shows.  A lack of memory ends the program, because tests cannot
 * go on. */
#ifndef HF_TESTS_SIMULATOR_MODEL_LEASE_SERVER_H
#define HF_TESTS_SIMULATOR_MODEL_LEASE_SERVER_H

#include "engines/leased/store.h"
#include "simulator/model/names_page.h"

struct lease_server;

/* A copy of a call that outlives the original. */
struct lease_call {
    struct hf_store_call call;
    void *memory[8];
};
void lease_call_copy(struct lease_call *copy, const struct hf_store_call *call);
void lease_call_free(struct lease_call *copy);

struct lease_answer {
    struct hf_store_answer answer;
    struct hf_ticket *tickets;
    struct hf_store_lease *leases;
    struct names_page *names; /* its names belong to it; NULL: none */
};
/* Make ${answer} a failure.  ${text} is borrowed. */
void lease_answer_fail(struct lease_answer *answer, enum hf_failure failure,
                       hf_status status, const char *text, uint64_t clock_ms);
/* Add a ticket to the answer. */
void lease_answer_add(struct lease_answer *answer,
                      const struct hf_ticket *ticket,
                      const struct hf_store_lease *lease);
/* The answer is these names, of which it makes copies. */
void lease_answer_name(struct lease_answer *answer,
                       const struct names_page *names);
void lease_answer_free(struct lease_answer *answer);

/* A notice to one session.  Its texts live as long as the callback. */
struct lease_notice {
    const char *session;
    struct hf_store_notice notice;
};

/* Callbacks from inside the functions below.  All but .notice may be NULL. */
struct lease_observer {
    void (*notice)(void *arg, const struct lease_notice *notice);
    /* A ticket has come into the queue, has left it, has another kind or
     * payload. */
    void (*added)(void *arg, const char *queue, const char *session,
                  const struct hf_ticket *ticket);
    void (*removed)(void *arg, const char *queue,
                    const struct hf_ticket *ticket);
    void (*changed)(void *arg, const char *queue,
                    const struct hf_ticket *ticket);
    /* The success of the queue was written, or a failover has brought an
     * earlier write back, of the true time ${written_us} (token 0: there was
     * none). */
    void (*succeeded)(void *arg, const char *queue, uint64_t token,
                      uint64_t written_us);
    /* The true time, which the server keeps for checks and never uses. */
    uint64_t (*true_us)(void *arg);
    void *arg;
};

struct lease_server *lease_server_new(const struct lease_observer *observer);
/* From now on answers show only the part of a queue that the contract
 * demands. */
void lease_server_set_partial(struct lease_server *server);
/* From now on notices name the ticket that is the first of its queue. */
void lease_server_set_names_first(struct lease_server *server);
void lease_server_free(struct lease_server *server);

/* A copy with the same tickets, which sends no notices.  To be freed. */
struct lease_server *lease_server_copy(const struct lease_server *from);

/* Lose the tickets and renewals since ${to} was copied from ${server}.  Tickets
 * that were removed since do not come back, because their owners do not rely on
 * them; barrier flags stay, because they have no lease and clients may have
 * seen them. */
void lease_server_roll_back(struct lease_server *server,
                            const struct lease_server *to);

/* Execute ${call} at ${clock_ms} and fill in ${answer}, which starts as
 * zeros. */
void lease_server_execute(struct lease_server *server, uint64_t clock_ms,
                          const struct lease_call *call,
                          struct lease_answer *answer);

/* Add a ticket that no session owns and that never expires. */
void lease_server_add(struct lease_server *server, uint64_t clock_ms,
                      const char *queue, enum hf_ticket_kind kind,
                      const struct hf_ticket_id *id);

/* Notify the watchers of the queue although nothing has changed. */
void lease_server_touch(struct lease_server *server, const char *queue);

/* Remove a ticket without a notice.  False if it is not there. */
bool lease_server_evict(struct lease_server *server, const char *queue,
                        const struct hf_ticket_id *id);

/* Remove a ticket with notices, also to its owner.  False if it is not
 * there. */
bool lease_server_remove(struct lease_server *server, const char *queue,
                         const struct hf_ticket_id *id);

/* Lose all data, the counter too, without notices. */
void lease_server_wipe(struct lease_server *server);

/* The number of tickets in the queue, with those that have expired and not been
 * removed. */
size_t lease_server_count(const struct lease_server *server, const char *queue);

/* When the ticket expires, by the server's clock; 0 if it is not there. */
uint64_t lease_server_expires_ms(const struct lease_server *server,
                                 const char *queue,
                                 const struct hf_ticket_id *id);

#endif
