/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the model of a server that leases tickets: the real client of
 * engines/leased on links that the world may hold up, cut and lose.
 *
 *   lease_call.c    calls that outlive their maker, and answers
 *   lease_rows.c    what the server has, and whom it tells
 *   lease_server.c  what it does, see lease_server.h
 *   lease_commit.c  whether what it did lasts
 *   lease_link.c    connections, the messages on them, and the server's end
 *   lease_client.c  the engine: the real machine, and its store
 *   lease_truth.c   what is so, whatever anybody believes
 *   lease_fault.c   what may go wrong with the server
 */
#ifndef HF_TESTS_SIMULATOR_MODEL_LEASE_INTERNAL_H
#define HF_TESTS_SIMULATOR_MODEL_LEASE_INTERNAL_H

#include "engines/leased/leased.h"
#include "simulator/model/lease_faults.h"
#include "simulator/model/lease_server.h"
#include "simulator/model/sim_internal.h"

/* What the server's wall clock shows when true time begins. */
#define LEASE_EPOCH_US (UINT64_C(1700000000) * 1000000)

/* The name of a session, as owner of tickets in the truth. */
struct lease_session {
    char name[HF_STORE_SESSION_BYTES];
    struct lease_session *next;
};

enum lease_message_kind {
    LEASE_CONNECT, /* to the server */
    LEASE_CALL,
    LEASE_CONNECTED, /* to the client */
    LEASE_EXECUTED,
    LEASE_ANSWER, /* to what was executed last: how its commit ended */
    LEASE_CLOSED,
    LEASE_NOTICE,
};

/* How the commit of a call ends. */
enum lease_commit {
    LEASE_COMMITTED,
    LEASE_FAILED,         /* nothing has happened */
    LEASE_FAILED_AND_CUT, /* and the connection ends first */
    LEASE_COMMITTED_AND_CUT,
    LEASE_UNCONFIRMED, /* the standby has not got it */
};

struct lease_message {
    struct sim_pipe_item item;
    enum lease_message_kind kind;
    struct hf_store_call *call; /* the machine's: while its link lasts */
    struct lease_call copy;     /* CALL */
    struct lease_answer answer; /* EXECUTED */
    enum lease_commit commit;   /* ANSWER */
    uint64_t server_ms;         /* UP */
    struct hf_store_notice notice;
};

/* Notices have a way in of their own. */
struct lease_link {
    struct hf_engine *engine;
    const struct lease_session *session;
    struct sim_pipe out;
    struct sim_pipe in;
    struct sim_pipe notices;
    bool client_open;
    bool server_open;       /* the server knows of it and has not ended it */
    bool ended;             /* by either end */
    bool lingers;           /* it has ended, and what was sent still arrives */
    uint64_t held_until_us; /* but not before */
    struct lease_link *next;
};

struct lease_watch_request {
    struct hf_request *request;
    bool watching;
    struct lease_watch_request *next;
};

/* A client. */
struct hf_store {
    struct hf_engine *engine;
    struct hf_leased *leased;
    struct lease_link *link;
    struct lease_answer executed; /* of the link, while it is not committed */
    const struct lease_session *client_session;
    struct lease_watch_request *watches;
    unsigned call_depth; /* calls into .leased */
};

struct lease_state {
    struct lease_server *server;
    struct lease_server *standby; /* NULL: it has all that the server has */
    uint64_t standby_back_us;     /* until then it gets nothing */
    struct lease_session *sessions;
    struct lease_link *links; /* all there ever were */
    bool down;
    unsigned frozen; /* so many reasons for it */
    bool loses_notices;
};

/* --------------------------------------------------------- lease_link.c -- */

struct lease_link *lease_link_new(struct hf_engine *engine,
                                  const char *session);
void lease_link_call(struct lease_link *link, struct hf_store_call *call);
/* The client closes it. */
void lease_link_close(struct lease_link *link);
/* It is reset, for both ends. */
void lease_link_reset(struct lease_link *link);
/* The same, by the end of the server's process: nothing of it arrives. */
void lease_link_kill(struct lease_link *link);
/* Let what was held up move. */
void lease_link_flush(struct lease_link *link);
void lease_notify(struct hf_sim *sim, const struct lease_notice *notice);
/* Free what is on them all. */
void lease_links_free(struct hf_sim *sim);

/* ------------------------------------------------------- lease_commit.c -- */

/* Carry out ${call}, as far as the outcome has it. */
enum lease_commit lease_execute_and_commit(struct hf_sim *sim,
                                           const struct lease_call *call,
                                           struct lease_answer *answer);
/* The standby has all that the server has. */
void lease_standby_in_sync(struct hf_sim *sim);
/* The server is gone; perhaps the standby is the server from now on. */
void lease_fail_over(struct hf_sim *sim);

/* ------------------------------------------------------- lease_client.c -- */

/* Takes what it wants of ${message} away. */
void lease_client_receive(struct hf_store *client, struct lease_link *link,
                          struct lease_message *message);

/* -------------------------------------------------------- lease_truth.c -- */

struct lease_state *lease_state_new(struct hf_sim *sim);
const struct lease_session *lease_session_named(struct hf_sim *sim,
                                                const char *name);
/* What the server's clock shows. */
uint64_t lease_clock_ms(const struct hf_sim *sim);
/* It was set: some tickets may have run out. */
void lease_expire_all(struct hf_sim *sim);
/* All are gone, in silence. */
void lease_forget_tickets(struct hf_sim *sim);
uint64_t lease_end_us(const struct hf_engine *engine,
                      const struct hf_ticket_id *ticket);

/* -------------------------------------------------------- lease_fault.c -- */

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
