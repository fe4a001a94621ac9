/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the lease model: a server that leases tickets, and the real
 * client of src/engines/leased on links that may be held up, cut and lose
 * messages.
 *
 *   lease_call.c    copies of calls, and answers
 *   lease_rows.c    the tickets of the server, and its notices
 *   lease_server.c  what it does on a call, see lease_server.h
 *   lease_commit.c  whether the effect of a call lasts
 *   lease_link.c    connections, the messages on them, the server's end
 *   lease_client.c  the engine: the real machine on a simulated store
 *   lease_state.c   the committed state, for the checks
 *   lease_faults.c  faults of the server
 *
 * A call has three steps that fail on their own: the server executes it,
 * commits it, and the answer arrives.  An effect is final when it is committed
 * on the server and, if there is one, on the synchronous standby.
 */
#ifndef HF_TESTS_SIMULATOR_MODEL_LEASE_INTERNAL_H
#define HF_TESTS_SIMULATOR_MODEL_LEASE_INTERNAL_H

#include "engines/leased/leased.h"
#include "simulator/model/lease_faults.h"
#include "simulator/model/lease_server.h"
#include "simulator/model/sim_internal.h"

/* what the server's wall clock shows when true time is 0 */
#define LEASE_EPOCH_US (UINT64_C(1700000000) * 1000000)

/* A session of a client, as the owner of its tickets. */
struct lease_session {
    char name[HF_STORE_SESSION_BYTES];
    struct lease_session *next;
};

enum lease_message_kind {
    LEASE_CONNECT, /* to the server */
    LEASE_CALL,
    LEASE_CONNECTED, /* to the client */
    LEASE_EXECUTED,
    LEASE_ANSWER, /* the commit of the last LEASE_EXECUTED has ended */
    LEASE_CLOSED,
    LEASE_NOTICE,
};

/* How the commit of a call ends. */
enum lease_commit {
    LEASE_COMMITTED,
    LEASE_FAILED, /* the call had no effect */
    /* Likewise, and the connection ends before the answer. */
    LEASE_FAILED_AND_CUT,
    LEASE_COMMITTED_AND_CUT,
    LEASE_UNCONFIRMED, /* committed here and not on the standby */
};

struct lease_message {
    struct sim_pipe_item item;
    enum lease_message_kind kind;
    /* The client's call, valid while the client has the link open. */
    struct hf_store_call *call;
    struct lease_call copy;     /* of LEASE_CALL */
    struct lease_answer answer; /* of LEASE_EXECUTED */
    enum lease_commit commit;   /* of LEASE_ANSWER */
    uint64_t server_ms;         /* of LEASE_CONNECTED */
    struct hf_store_notice notice;
};

/* A connection of one session.  Notices have a second way to the client, on
 * which they overtake answers. */
struct lease_link {
    struct hf_engine *engine;
    const struct lease_session *session;
    struct sim_pipe out;
    struct sim_pipe in;
    struct sim_pipe notices;
    bool client_open;
    bool server_open; /* the server has accepted it and not closed it */
    bool ended;       /* one of the ends has closed it */
    /* It has ended, and what the client had sent still arrives, ... */
    bool lingers;
    uint64_t held_until_us; /* ... but not before this true time */
    struct lease_link *next;
};

struct lease_watch_request {
    struct hf_request *request;
    bool watching;
    struct lease_watch_request *next;
};

/* The engine of one client: the store below the machine of
 * src/engines/leased. */
struct hf_store {
    struct hf_engine *engine;
    struct hf_leased *leased;
    struct lease_link *link;
    /* The answer to the call under way, which is not committed yet. */
    struct lease_answer executed;
    const struct lease_session *client_session;
    struct lease_watch_request *watches;
    unsigned call_depth; /* depth of calls into .leased */
};

struct lease_state {
    struct lease_server *server;
    /* A copy of the server from before what the standby lacks; NULL: it lacks
     * nothing. */
    struct lease_server *standby;
    uint64_t standby_back_us; /* true time until which it receives nothing */
    struct lease_session *sessions;
    struct lease_link *links; /* all of this run */
    bool down;
    unsigned frozen; /* number of reasons to be stopped */
    bool loses_notices;
};

/* ---------------------------------------------------------- lease_link.c -- */

struct lease_link *lease_link_new(struct hf_engine *engine,
                                  const char *session);
void lease_link_call(struct lease_link *link, struct hf_store_call *call);
/* The client closes its end. */
void lease_link_close(struct lease_link *link);
/* Reset the link, for both ends. */
void lease_link_reset(struct lease_link *link);
/* Likewise, because the server's process has ended: what was sent is lost. */
void lease_link_kill(struct lease_link *link);
/* Deliver what was held up. */
void lease_link_flush(struct lease_link *link);
void lease_notify(struct hf_sim *sim, const struct lease_notice *notice);
/* Free the messages on all links. */
void lease_links_free(struct hf_sim *sim);

/* -------------------------------------------------------- lease_commit.c -- */

/* Execute ${call} and draw how its commit ends; ${answer} is filled in. */
enum lease_commit lease_execute_and_commit(struct hf_sim *sim,
                                           const struct lease_call *call,
                                           struct lease_answer *answer);
/* The standby has everything that the server has. */
void lease_standby_in_sync(struct hf_sim *sim);
/* The server is gone; the standby may take its place, without what it lacks. */
void lease_fail_over(struct hf_sim *sim);

/* -------------------------------------------------------- lease_client.c -- */

/* Handle a message that has arrived.  Takes ownership of parts of it. */
void lease_client_receive(struct hf_store *client, struct lease_link *link,
                          struct lease_message *message);

/* --------------------------------------------------------- lease_state.c -- */

struct lease_state *lease_state_new(struct hf_sim *sim);
const struct lease_session *lease_session_named(struct hf_sim *sim,
                                                const char *name);
/* The server's wall clock. */
uint64_t lease_clock_ms(const struct hf_sim *sim);
/* Remove all tickets that have expired; called after the clock was set. */
void lease_expire_all(struct hf_sim *sim);
/* Remove all tickets without an event: the server has lost its data. */
void lease_forget_tickets(struct hf_sim *sim);
uint64_t lease_end_us(const struct hf_engine *engine,
                      const struct hf_ticket_id *ticket);

/* -------------------------------------------------------- lease_faults.c -- */

void lease_stall(struct hf_engine *engine, bool out, bool in);
void lease_restart(struct hf_sim *sim);
void lease_end_faults(struct hf_sim *sim);
void lease_kill_session(struct hf_engine *engine);
bool lease_evict(struct hf_sim *sim, const struct hf_ticket_id *ticket,
                 struct sim_ticket *found);
void lease_other_enqueue(struct hf_sim *sim, struct sim_queue *queue,
                         enum hf_ticket_kind kind,
                         const struct hf_ticket_id *ticket,
                         const struct sim_ticket *beside);
void lease_set_barrier(struct hf_sim *sim, struct sim_queue *queue, bool up);
void lease_touch_barrier(struct hf_sim *sim, struct sim_queue *queue);

#endif
