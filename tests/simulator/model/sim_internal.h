/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the models.  What all of them share:
 *
 *   sim.c       memory, timers, clocks of clients, the life of a run
 *   clock.c     a clock that drifts and stops
 *   pipe.c      one direction of a connection
 *   sim_queue.c queues and tickets in the committed state
 *   faults.c    faults of clients and links
 *
 * A run has one of four models of servers, see struct sim_model_ops.  The
 * plain model implements the engine contract and nothing more:
 *
 *   plain_leader.c        sessions and watches
 *   plain_link.c          connections, messages, and the follower's part
 *   plain_client.c        the engine: requests, answers, the session machine
 *   plain_participants.c  participants of a double barrier, the node READY
 *   plain_model.c         its struct sim_model_ops
 *   plain_delivery.c      messages delivered one by one, for exploration
 *   plain_checkpoint.c    save and restore the whole state
 *   plain_encoder.c       the part of the state that decides how a run goes on
 *
 * The ZooKeeper model is in zk_internal.h, the lease model in
 * lease_internal.h, the etcd model in etcd_internal.h.
 *
 * No memory is freed before hf_sim_free(), so pointers to connections,
 * sessions and tickets that have ended stay valid.  A run is short, so the
 * memory is bounded.
 */
#ifndef HF_TESTS_SIMULATOR_MODEL_SIM_INTERNAL_H
#define HF_TESTS_SIMULATOR_MODEL_SIM_INTERNAL_H

#include <stddef.h>

#include "base/engine_host.h"
#include "simulator/model/clock.h"
#include "simulator/model/pipe.h"
#include "simulator/model/sim.h"

struct plain_connection;
struct plain_session;

/* ------------------------------------------------------- committed state -- */

struct sim_ticket {
    struct hf_ticket ticket;
    struct sim_queue *queue;
    /* The session, as the model's .owner() returns it; NULL: of another
     * program, never ends. */
    const void *owner;
    /* Some of its nodes were deleted: it is gone for its owner. */
    bool partly_deleted;
    void *data; /* .data and .nodes belong to the model */
    uint32_t nodes;
    unsigned revocations; /* requests to release it, so far */
    struct sim_ticket *next_touched;
    struct sim_ticket *next; /* in the order of the queue */
};

struct sim_queue {
    char *name;
    uint64_t sequence;      /* of the last ticket */
    uint64_t changed_count; /* tickets that have come, gone or become another
                               kind, so far */
    struct sim_ticket *first;
    struct hf_ticket barrier; /* the barrier of this name; token 0: cleared */
    /* The node READY of a double barrier; token 0: none. */
    struct hf_ticket ready;
    uint64_t success_token; /* of the last success; 0: none */
    uint64_t success_at_ms; /* by the wall clock of the servers */
    /* How often a participant came or left, or READY was set or cleared. */
    uint64_t participant_changes;
    struct sim_queue *next;
};

struct plain_session {
    struct hf_engine *engine;
    /* The connection that it was last resumed on. */
    struct plain_connection *connection;
    bool alive;
    uint64_t timeout_ms;
    uint64_t deadline_us; /* on the leader's clock: the session ends then */
    struct plain_session *next;
};

/* ----------------------------------------------------------------- links -- */

/* A request of the core that the engine has to answer.  A WATCH lives until its
 * GONE, a WATCH_QUEUE until its CHANGED.  .request is NULL after the last
 * answer, and after the core has dropped it. */
struct plain_pending {
    struct hf_request *request;
    struct hf_engine *engine;
    const char *queue;
    struct hf_ticket_id ticket;
    bool watches_queue; /* a WATCH_QUEUE at the whole queue, ... */
    /* ... .changed_count of the queue, or what else plain_watched_version()
     * says, when it was read. */
    uint64_t seen_version;
    bool of_barrier;      /* ... or a WATCH_QUEUE at the barrier, ... */
    bool of_participants; /* ... or at the participants of the double barrier */
    /* Was answered WATCHING or LISTED: waits for GONE or CHANGED. */
    bool watching;
    bool is_set;   /* the server of .connection has the watch */
    bool unlinked; /* it is not in the engine's list any more */
    /* Of a WATCH: the kind of the ticket when the watch was set. */
    enum hf_ticket_kind kind;
    /* The number of the latest revocation that arrived, ... */
    unsigned revocations;
    /* ... and of the latest that the core was notified of. */
    unsigned notified_revocations;
    struct plain_connection *connection;
    struct plain_pending *next;
    struct plain_pending *previous;
};

enum plain_message_kind {
    /* To the server: */
    PLAIN_CONNECT,
    PLAIN_PING,
    PLAIN_REQUEST,
    PLAIN_REWATCH, /* sets a watch of the last connection again */
    /* To the client: */
    PLAIN_ACCEPT,
    PLAIN_EXPIRED,
    PLAIN_PONG,
    PLAIN_ANSWER,
    /* A watched ticket is gone, or a watched queue has changed. */
    PLAIN_NOTICE,
    /* Somebody asked the owner of a watched ticket to release it. */
    PLAIN_REVOKE,
};

struct plain_message {
    struct sim_pipe_item item;
    enum plain_message_kind kind;
    /* The client's clock when it was sent; in an answer, when its request was
     * sent. */
    uint64_t sent_ms;
    struct plain_pending *pending;
    /* of PLAIN_CONNECT and PLAIN_ACCEPT */
    struct plain_session *session;
    bool resumed;
    uint64_t timeout_ms;
    /* of PLAIN_REQUEST; the payload's memory belongs to the model */
    enum hf_request_kind request;
    enum hf_ticket_kind ticket_kind;
    uint32_t weight;
    uint32_t limit;
    bool whole;
    const char *payload;
    struct hf_names_request names; /* the cursor belongs to the model */
    uint64_t success_token;
    bool sync;
    /* of PLAIN_ANSWER */
    struct hf_event answer;
    /* of PLAIN_REVOKE, and of the answer to a WATCH: .revocations of the
     * ticket */
    unsigned revocations;
};

/* Directions of a connection.  PLAIN_NOTICES is a second way to the client, on
 * which notices overtake answers. */
enum plain_direction {
    PLAIN_TO_SERVER,
    PLAIN_TO_CLIENT,
    PLAIN_NOTICES,
    PLAIN_DIRECTIONS
};

struct plain_connection {
    struct hf_engine *engine;
    unsigned number;               /* in the order of their creation */
    struct plain_session *session; /* NULL until the server has accepted it */
    bool open;                     /* no end has closed it */
    /* It has ended, and what the client had sent still arrives. */
    bool lingers;
    struct sim_pipe pipes[PLAIN_DIRECTIONS];
    /* The follower at its far end is cut off from the leader. */
    bool stalled;
    /* Messages that wait until the follower reaches the leader again, in
     * order. */
    struct sim_pipe_item *waiting;
    struct sim_pipe_item **waiting_end;
    /* While .stalled: the queues as the follower last knew them. */
    struct sim_queue *stale_queues;
    struct plain_connection *next;
};

/* ---------------------------------------------------------------- client -- */

enum plain_phase {
    /* No connection; the next attempt is at .connect_at_ms. */
    PLAIN_DISCONNECTED,
    PLAIN_CONNECTING,
    PLAIN_CONNECTED,
    PLAIN_CLOSED,
};

struct hf_engine {
    struct hf_sim *sim;
    struct hf_engine_host host;
    unsigned number;
    struct hf_engine *next;
    /* Of the machine: */
    struct sim_clock clock; /* stops while the machine is paused */
    bool frozen; /* the process is stopped; also while the machine is paused */
    bool out_up;
    bool in_up;
    /* Of the process: */
    bool gone;         /* crashed or freed */
    uint64_t armed_us; /* the true time of the timer that is set */
    struct zk_client *zk;
    struct hf_store *lease;
    struct etcd_client *etcd;
    /* Of the plain model alone: */
    /* The connection was reset while the process was stopped. */
    bool reset_unread;
    enum plain_phase phase;
    struct plain_connection *connection;
    struct plain_session *session; /* the session that it believes in */
    uint64_t timeout_ms;
    /* When the latest request that was answered had been sent. */
    uint64_t proven_ms;
    uint64_t received_ms; /* when the last message arrived */
    uint64_t ping_at_ms;
    uint64_t connect_at_ms;
    /* Of PLAIN_CONNECTING: when the connect message was sent. */
    uint64_t connect_sent_ms;
    /* The next read has to go through the leader, because a write got no
     * answer. */
    bool must_sync;
    struct plain_pending *first;
    struct plain_pending *last;
};

/* The operations of a model of servers. */
struct sim_model_ops {
    /* the process of ${engine} starts */
    void (*start)(struct hf_engine *engine);
    /* as in hf_engine_ops */
    void (*request)(struct hf_engine *engine, struct hf_request *request);
    void (*unwatch)(struct hf_engine *engine, struct hf_request *watch);
    /* NULL: the engine never gives up connecting. */
    void (*connect)(struct hf_engine *engine);
    void (*free)(struct hf_engine *engine);
    /* the process was stopped and continues */
    void (*thaw)(struct hf_engine *engine);
    /* its link carries messages again: deliver those that were held up */
    void (*flush)(struct hf_engine *engine);
    /* its connection is reset, for both ends */
    void (*reset)(struct hf_engine *engine);
    /* its process is gone, and the kernel closes its descriptors */
    void (*crash)(struct hf_engine *engine);
    /* the servers end its session */
    void (*kill_session)(struct hf_engine *engine);
    void (*stall)(struct hf_engine *engine, bool out, bool in);
    void (*restart)(struct hf_sim *sim);
    /* the servers have no faults from now on */
    void (*end_faults)(struct hf_sim *sim);
    /* Delete the ticket.  ${found} is NULL if it is in no queue.  False if it
     * is neither in a queue nor on its way into one. */
    bool (*evict)(struct hf_sim *sim, const struct hf_ticket_id *ticket,
                  struct sim_ticket *found);
    /* Another program adds a ticket, at the position of ${beside} if that is
     * not NULL. */
    void (*other_enqueue)(struct hf_sim *sim, struct sim_queue *queue,
                          enum hf_ticket_kind kind,
                          const struct hf_ticket_id *ticket,
                          const struct sim_ticket *beside);
    /* another program sets or clears the barrier */
    void (*set_barrier)(struct hf_sim *sim, struct sim_queue *queue, bool up);
    /* fires the watches of the barrier, which stays as it is */
    void (*touch_barrier)(struct hf_sim *sim, struct sim_queue *queue);
    /* The session that the client believes in, in the form of .owner of a
     * ticket. */
    const void *(*owner)(const struct hf_engine *engine);
    bool (*alive)(const struct hf_engine *engine);
    bool (*connected)(const struct hf_engine *engine);
    uint64_t (*lease_end_us)(const struct hf_engine *engine,
                             const struct hf_ticket_id *ticket);
    /* free the memory that sim_alloc() did not give */
    void (*free_memory)(struct hf_sim *sim);
};

extern const struct sim_model_ops sim_model_plain;
extern const struct sim_model_ops sim_model_zk;
extern const struct sim_model_ops sim_model_zk_handle;
extern const struct sim_model_ops sim_model_lease;
extern const struct sim_model_ops sim_model_etcd;

struct sim_timer {
    uint64_t at_us;
    uint64_t sequence;
    bool background;
    void (*fn)(void *arg);
    void *arg;
};

#define SIM_CHUNK_BYTES ((size_t)64 * 1024)

struct sim_chunk {
    struct sim_chunk *next; /* the one that was used before */
    size_t used;            /* elements of .memory */
    max_align_t memory[SIM_CHUNK_BYTES / sizeof(max_align_t)];
};

struct hf_sim {
    struct hf_sim_config config;
    const struct sim_model_ops *model;
    struct hf_engine_ops ops;
    struct hf_random random;
    struct hf_sim_observer observer;
    uint64_t now_us;
    /* Timers: a binary heap with the earliest first. */
    struct sim_timer *timers;
    size_t timer_count;
    size_t timer_room;
    size_t foreground; /* how many of these hf_sim_run_until_idle() waits for */
    uint64_t sequence;
    struct sim_chunk *chunk;
    struct sim_clock clock; /* the leader's, or that of the leasing server */
    uint64_t wall_back_ms;  /* how far the wall clock was set back, without a
                               leasing server */
    /* The committed state: */
    uint64_t transaction; /* number of the last write */
    struct sim_queue *queues;
    struct plain_session *sessions;
    struct hf_engine *engines;
    struct plain_connection *connections;
    unsigned engine_count;
    unsigned connection_count;
    struct zk_ensemble *zk;
    struct lease_state *leases;
    struct etcd_cluster *etcd;
    /* The memory of the last snapshot of hf_sim_queue(). */
    struct hf_ticket *snapshot_tickets;
    size_t snapshot_room;
};

/* ----------------------------------------------------------------- sim.c -- */

/* Returns ${memory}.  Ends the program if that is NULL. */
void *sim_require_memory(void *memory);

/* ${bytes} zeroed bytes that live as long as ${sim}, at most SIM_CHUNK_BYTES.
 * Ends the program if there is no memory. */
void *sim_alloc(struct hf_sim *sim, size_t bytes);
/* A copy of ${text} that lives as long as ${sim}. */
char *sim_strdup(struct hf_sim *sim, const char *text);

/* Draw a number: true with a chance of ${chance} per million. */
bool sim_happens(struct hf_sim *sim, uint32_t chance);
/* A random number from ${least} to ${most}, both included. */
uint64_t sim_random_between(struct hf_sim *sim, uint64_t least, uint64_t most);
/* Does no session and no ticket ever expire? */
bool sim_has_no_leases(const struct hf_sim *sim);

/* The leader's clock now, and the true time at which it will show
 * ${server_us}. */
uint64_t sim_server_us(const struct hf_sim *sim);
/* The wall clock of the servers, in milliseconds. */
uint64_t sim_wall_ms(const struct hf_sim *sim);
uint64_t sim_server_at_us(const struct hf_sim *sim, uint64_t server_us);

/* Write a line to the observer's trace; ${engine} may be NULL, see there. */
void sim_trace(struct hf_sim *sim, const struct hf_engine *engine,
               const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ----------------------------------------------------------- sim_queue.c -- */

/* The queue called ${name} in the committed state, made if it is new; and the
 * ticket ${id} in ${queue}, or NULL. */
struct sim_queue *sim_queue_find(struct hf_sim *sim, const char *name);
struct sim_ticket *sim_ticket_find(const struct sim_queue *queue,
                                   const struct hf_ticket_id *id);
/* The queue in memory that lives as long as ${sim}.  ${participants}: the
 * participants of the double barrier and its node READY; else all other
 * tickets. */
struct hf_snapshot sim_snapshot(struct hf_sim *sim,
                                const struct sim_queue *queue,
                                bool participants);
/* Add a ticket like ${like} behind all that do not order after it, and notify
 * the observer.  ${owner} is as in struct sim_ticket. */
struct sim_ticket *sim_ticket_add(struct hf_sim *sim, struct sim_queue *queue,
                                  const struct hf_ticket *like,
                                  const void *owner);
/* Take the ticket out of its queue.  The caller notifies the observer. */
void sim_ticket_unlink(struct sim_ticket *ticket);
/* Notify the observer, see struct hf_sim_observer. */
void sim_observe_barrier(struct hf_sim *sim, const char *queue, bool up);
void sim_observe_success(struct hf_sim *sim, const char *queue, uint64_t token,
                         uint64_t at_us);
void sim_observe_deleted(struct hf_sim *sim, const char *queue);
void sim_observe_gone(struct hf_sim *sim, const struct sim_ticket *ticket,
                      struct hf_request *const *notified, size_t count);

/* -------------------------------------------------------- plain_leader.c -- */

/* Ask the owner of the ticket to release it. */
void plain_ticket_revoke(struct hf_sim *sim, struct sim_ticket *ticket);

/* Remove the ticket, or make it a read ticket, and fire the watches of it. */
void plain_ticket_remove(struct hf_sim *sim, struct sim_ticket *ticket);
void plain_ticket_downgrade(struct hf_sim *sim, struct sim_ticket *ticket);

/* Set or clear the barrier.  Returns whether it was set before. */
bool plain_barrier_set(struct hf_sim *sim, struct sim_queue *queue,
                       const struct hf_ticket_id *id);
bool plain_barrier_clear(struct hf_sim *sim, struct sim_queue *queue);
void plain_barrier_touch(struct hf_sim *sim, struct sim_queue *queue);

/* Fire the queue watches of the barrier, of the participants, or (0) of the
 * tickets. */
void plain_notify_queue_watches(struct hf_sim *sim,
                                const struct sim_queue *queue,
                                enum hf_ticket_kind of);

/* -------------------------------------------------- plain_participants.c -- */

/* A participant came or left, or READY changed: fire the watches. */
void plain_participants_changed(struct hf_sim *sim, struct sim_queue *queue);

/* A number that changes whenever what ${pending}, a WATCH_QUEUE, looks at
 * changes. */
uint64_t plain_watched_version(const struct plain_pending *pending,
                               const struct sim_queue *queue);

/* Set the node READY, if the participant that asks is in the queue and at least
 * message->limit participants are.  False: it was not set. */
bool plain_ready_set(struct hf_sim *sim, const struct plain_message *message);

/* Clear the node READY if no participant is there.  Returns whether it did. */
bool plain_ready_clear(struct hf_sim *sim, struct sim_queue *queue);

/* -------------------------------------------------------- plain_leader.c -- */

/* A new session; end one; restart its timeout.  Ending it removes its
 * tickets. */
struct plain_session *plain_session_new(struct hf_engine *engine,
                                        uint64_t timeout_ms);
void plain_session_touch(struct hf_sim *sim, struct plain_session *session);
/* Give the session a whole timeout again, which from now on is
 * ${timeout_ms}. */
void plain_session_resume(struct hf_sim *sim, struct plain_session *session,
                          uint64_t timeout_ms);
void plain_session_end(struct hf_sim *sim, struct plain_session *session);

/* Copies of all queues, for a follower that is cut off from now on. */
struct sim_queue *plain_copy_queues(struct hf_sim *sim);
/* The queue called ${name} in the list, or NULL. */
struct sim_queue *sim_queue_lookup(struct sim_queue *stale_queues,
                                   const char *name);

/* ---------------------------------------------------------- plain_link.c -- */

struct plain_connection *plain_connection_new(struct hf_engine *engine);
struct plain_message *plain_message_new(struct hf_sim *sim,
                                        enum plain_message_kind kind);
void plain_send(struct plain_connection *connection,
                enum plain_direction direction, struct plain_message *message);
/* Notify the client that a watched ticket is gone, or that a watched queue has
 * changed. */
void plain_send_notice(struct plain_pending *watch);
/* Notify the client of a revocation of ${ticket}, unless ${watch} knows of
 * it. */
void plain_send_revoke(struct plain_pending *watch,
                       const struct sim_ticket *ticket);
/* Deliver what was held up in this direction, if nothing blocks it. */
void plain_flush(struct plain_connection *connection,
                 enum plain_direction direction);
/* Close the connection for both ends; calls plain_client_reset(). */
void plain_connection_end(struct plain_connection *connection);
void plain_connection_unstall(struct plain_connection *connection);
/* Notify the client at the other end that its session has ended. */
void plain_send_expired(struct plain_connection *connection);
/* Execute the request in ${message} at the leader, or, if ${stale_queues} is
 * not NULL, read from these; and fill in its answer.  False: the session has
 * ended, and there is no answer. */
bool plain_execute(struct hf_sim *sim, struct sim_queue *stale_queues,
                   struct plain_session *session,
                   struct plain_message *message);

/* -------------------------------------------------------- plain_client.c -- */

void plain_client_start(struct hf_engine *engine);
/* Handle a message that has arrived at the client. */
void plain_client_receive(struct hf_engine *engine,
                          struct plain_message *message);
/* The connection has ended. */
void plain_client_reset(struct hf_engine *engine);
/* The timer: check all timeouts of the engine, a struct hf_engine. */
void plain_client_tick(void *engine);
void plain_client_request(struct hf_engine *engine, struct hf_request *request);
void plain_client_unwatch(struct hf_engine *engine, struct hf_request *watch);
void plain_client_free(struct hf_engine *engine);
void plain_client_thaw(struct hf_engine *engine);

#endif
