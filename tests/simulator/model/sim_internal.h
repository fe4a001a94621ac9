/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the model.
 *
 *   model.c   memory, the calendar of what is due
 *   clock.c   clocks; pipe.c one direction of a connection
 *   queue.c   queues and tickets: the truth
 *   members.c what is there of a double barrier
 *   fault.c   what the world may do to all of them
 *
 * Under them there are three models, of which a run has one (struct
 * sim_model_ops). The plain one knows nothing but the engine contract:
 *
 *   leader.c  sessions and watches
 *   link.c    connections and the messages on them, and the follower's part
 *   client.c  the engine: requests out, answers in, the session machine
 *   plain.c   all of them as a model
 *   arrival.c messages moved by hand, one by one
 *   moment.c  going back to how it was
 *   imprint.c what of it decides how it goes on
 *
 * The second is an ensemble that speaks ZooKeeper's bytes to the real client:
 * see zk_model.h.  The third is a server that leases tickets to the real client
 * of engines/leased: see lease_model.h.
 *
 * Nothing is freed before hf_sim_free(), so pointers to the dead stay valid;
 * a run is short and bounded by whoever drives it.
 */
#ifndef HF_TESTS_SIMULATOR_MODEL_SIM_INTERNAL_H
#define HF_TESTS_SIMULATOR_MODEL_SIM_INTERNAL_H

#include <stddef.h>

#include "simulator/model/clock.h"
#include "simulator/model/pipe.h"
#include "simulator/model/sim.h"

struct plain_connection;
struct plain_session;

/* ---------------------------------------------------------------- truth -- */

struct sim_ticket {
    struct hf_ticket ticket;
    struct sim_queue *queue;
    const void *owner;   /* the session; NULL: foreign and immortal */
    bool partly_deleted; /* a part of it was taken: it is gone for its owner */
    void *data;          /* the model's own, as is .nodes */
    uint32_t nodes;
    unsigned revocations; /* so often to let go */
    struct sim_ticket *next_touched;
    struct sim_ticket *next; /* in queue order */
};

struct sim_queue {
    char *name;
    uint64_t sequence;      /* of the last ticket */
    uint64_t removed_count; /* tickets that have left it, ever */
    struct sim_ticket *first;
    struct hf_ticket barrier; /* a barrier; without a token it is down */
    struct hf_ticket ready;   /* of members; without a token there is none */
    uint64_t participant_changes; /* so often a member came or went, or they
                                     were stamped */
    struct sim_queue *next;
};

struct plain_session {
    struct hf_engine *engine;
    struct plain_connection *connection; /* over which it was last resumed */
    bool alive;
    uint64_t timeout_ms;
    uint64_t deadline_us; /* on the leader's clock */
    struct plain_session *next;
};

/* ---------------------------------------------------------------- links -- */

/* A request of the core while the engine is responsible for it.  That of a
 * WATCH lives until its GONE, of a WATCH_QUEUE until its CHANGED; .request is
 * NULL once it was answered or forgotten. */
struct plain_pending {
    struct hf_request *request;
    struct hf_engine *engine;
    const char *queue;
    struct hf_ticket_id ticket;
    bool watches_queue;    /* a WATCH_QUEUE: at the whole queue ... */
    uint64_t seen_version; /* ... of which so many were gone then */
    bool of_barrier;       /* ... or at its mark, whose token was .seen */
    bool
        of_participants; /* ... or at its members, of whom .seen was the news */
    bool watching;       /* WATCHING, or LISTED, was answered */
    bool is_set;         /* the watch is in place on .connection */
    bool unlinked;       /* off the engine's list */
    enum hf_ticket_kind kind; /* WATCH: of the ticket, when it was set */
    unsigned revocations;     /* the latest request to let go that came in */
    unsigned notified_revocations; /* and that was told */
    struct plain_connection *connection;
    struct plain_pending *next;
    struct plain_pending *previous;
};

enum plain_message_kind {
    /* To the server. */
    PLAIN_CONNECT,
    PLAIN_PING,
    PLAIN_REQUEST,
    PLAIN_REWATCH, /* a watch that survived its connection */
    /* To the client. */
    PLAIN_ACCEPT,
    PLAIN_EXPIRED,
    PLAIN_PONG,
    PLAIN_ANSWER,
    PLAIN_NOTICE, /* a watched ticket, or one of a queue, is gone */
    PLAIN_REVOKE, /* the owner of a watched ticket is asked to let go */
};

struct plain_message {
    struct sim_pipe_item item;
    enum plain_message_kind kind;
    uint64_t sent_ms; /* on the client's clock; of the request, in an answer */
    struct plain_pending *pending;
    /* PLAIN_CONNECT and PLAIN_ACCEPT */
    struct plain_session *session;
    bool resumed;
    uint64_t timeout_ms;
    /* PLAIN_REQUEST; text is the model's */
    enum hf_request_kind request;
    enum hf_ticket_kind ticket_kind;
    uint32_t weight;
    uint32_t limit;
    bool whole;
    const char *payload;
    bool sync;
    /* PLAIN_ANSWER */
    struct hf_event answer;
    /* PLAIN_REVOKE, and PLAIN_ANSWER of a WATCH: .asked of its ticket. */
    unsigned revocations;
};

/* Notices may have a way in of their own. */
enum plain_direction {
    PLAIN_TO_SERVER,
    PLAIN_TO_CLIENT,
    PLAIN_NOTICES,
    PLAIN_DIRECTIONS
};

struct plain_connection {
    struct hf_engine *engine;
    unsigned number;               /* later ones have higher ones */
    struct plain_session *session; /* once accepted */
    bool open;                     /* neither side has seen its end */
    bool lingers;                  /* ended, but what was sent still arrives */
    struct sim_pipe pipes[PLAIN_DIRECTIONS];
    /* A follower that is cut off from the leader. */
    bool stalled;
    struct sim_pipe_item *waiting; /* wait for the leader, in order */
    struct sim_pipe_item **waiting_end;
    struct sim_queue
        *stale_queues; /* while stalled: the queues as it knew them */
    struct plain_connection *next;
};

/* --------------------------------------------------------------- client -- */

enum plain_phase {
    PLAIN_DISCONNECTED, /* no connection; .connect_at_ms is the next attempt */
    PLAIN_CONNECTING,
    PLAIN_CONNECTED,
    PLAIN_CLOSED,
};

struct hf_engine {
    struct hf_sim *sim;
    struct hf_engine_host host;
    unsigned number;
    struct hf_engine *next;
    /* The machine. */
    struct sim_clock clock; /* stands while it is paused */
    bool frozen;            /* also while it is paused */
    bool out_up;
    bool in_up;
    /* The process. */
    bool gone;         /* crashed or freed */
    uint64_t armed_us; /* the calendar wakes it then */
    struct zk_client *zk;
    struct hf_store *lease;
    /* The plain model's own. */
    bool reset_unread; /* the connection ended while frozen */
    enum plain_phase phase;
    struct plain_connection *connection;
    struct plain_session *session; /* that it believes in */
    uint64_t timeout_ms;
    uint64_t proven_ms;   /* sent then, and answered since */
    uint64_t received_ms; /* the last message arrived */
    uint64_t ping_at_ms;
    uint64_t connect_at_ms;
    uint64_t connect_sent_ms; /* PLAIN_CONNECTING: since */
    bool must_sync;           /* the next list has to go through the leader */
    struct plain_pending *first;
    struct plain_pending *last;
};

/* What a model of the other side does. */
struct sim_model_ops {
    /* The process of ${engine} starts. */
    void (*start)(struct hf_engine *engine);
    /* As in hf_engine_ops. */
    void (*request)(struct hf_engine *engine, struct hf_request *request);
    void (*unwatch)(struct hf_engine *engine, struct hf_request *watch);
    void (*connect)(struct hf_engine *engine); /* NULL: never gives up */
    void (*free)(struct hf_engine *engine);
    /* It was stopped and goes on. */
    void (*thaw)(struct hf_engine *engine);
    /* Its link carries more than it did. */
    void (*flush)(struct hf_engine *engine);
    /* Its connection is reset, for both sides. */
    void (*reset)(struct hf_engine *engine);
    /* Its process is gone, and the kernel closes its descriptors. */
    void (*crash)(struct hf_engine *engine);
    /* The other side ends its session. */
    void (*kill_session)(struct hf_engine *engine);
    void (*stall)(struct hf_engine *engine, bool out, bool in);
    void (*restart)(struct hf_sim *sim);
    /* What goes wrong with the servers is over. */
    void (*end_faults)(struct hf_sim *sim);
    /* Somebody deletes the ticket; ${found} is NULL if it is in no queue.
     * False: nor is it on its way. */
    bool (*evict)(struct hf_sim *sim, const struct hf_ticket_id *ticket,
                  struct sim_ticket *found);
    /* A foreign ticket, in the place of ${beside} if that is not NULL. */
    void (*other_enqueue)(struct hf_sim *sim, struct sim_queue *queue,
                          enum hf_ticket_kind kind,
                          const struct hf_ticket_id *ticket,
                          const struct sim_ticket *beside);
    /* Somebody raises the barrier, or lowers it. */
    void (*set_barrier)(struct hf_sim *sim, struct sim_queue *queue, bool up);
    /* Wakes who looks at the mark, which stays. */
    void (*touch_barrier)(struct hf_sim *sim, struct sim_queue *queue);
    /* The session that the client believes in, as owner of tickets. */
    const void *(*owner)(const struct hf_engine *engine);
    bool (*alive)(const struct hf_engine *engine);
    bool (*connected)(const struct hf_engine *engine);
    uint64_t (*lease_end_us)(const struct hf_engine *engine,
                             const struct hf_ticket_id *ticket);
    /* The memory that sim_alloc() did not give. */
    void (*free_memory)(struct hf_sim *sim);
};

extern const struct sim_model_ops sim_model_plain;
extern const struct sim_model_ops sim_model_zk;
extern const struct sim_model_ops sim_model_lease;

struct sim_timer {
    uint64_t at_us;
    uint64_t sequence;
    bool background;
    void (*fn)(void *arg);
    void *arg;
};

#define SIM_CHUNK_BYTES ((size_t)64 * 1024)

struct sim_chunk {
    struct sim_chunk *next; /* the one before it */
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
    /* The calendar: a heap. */
    struct sim_timer *timers;
    size_t timer_count;
    size_t timer_room;
    size_t
        foreground; /* of these, those that hf_sim_run_until_idle() waits for */
    uint64_t sequence;
    struct sim_chunk *chunk;
    struct sim_clock clock; /* the leader's */
    /* Truth. */
    uint64_t transaction; /* number of the last write */
    struct sim_queue *queues;
    struct plain_session *sessions;
    struct hf_engine *engines;
    struct plain_connection *connections;
    unsigned engine_count;
    unsigned connection_count;
    struct zk_ensemble *zk;
    struct lease_state *leases;
    struct hf_ticket *snapshot_tickets; /* what hf_sim_queue() answered last */
    size_t snapshot_room;
};

/* -------------------------------------------------------------- model.c -- */

/* ${memory}; without it, the program ends. */
void *sim_require_memory(void *memory);

/* Zeroed memory that lives as long as ${sim}; no memory ends the program. */
void *sim_alloc(struct hf_sim *sim, size_t bytes);
char *sim_strdup(struct hf_sim *sim, const char *text);

bool sim_happens(struct hf_sim *sim, uint32_t chance);
uint64_t sim_random_between(struct hf_sim *sim, uint64_t least, uint64_t most);
bool sim_has_no_leases(const struct hf_sim *sim);

/* The leader's clock now, and the true time at which it shows ${server_us}. */
uint64_t sim_server_us(const struct hf_sim *sim);
uint64_t sim_server_at_us(const struct hf_sim *sim, uint64_t server_us);

void sim_trace(struct hf_sim *sim, const struct hf_engine *engine,
               const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ------------------------------------------------------------- queue.c -- */

struct sim_queue *sim_queue_find(struct hf_sim *sim, const char *name);
struct sim_ticket *sim_ticket_find(const struct sim_queue *queue,
                                   const struct hf_ticket_id *id);
/* ${members}: these, and what they have stamped; else all other tickets. */
struct hf_snapshot sim_snapshot(struct hf_sim *sim,
                                const struct sim_queue *queue,
                                bool participants);
struct sim_ticket *sim_ticket_add(struct hf_sim *sim, struct sim_queue *queue,
                                  const struct hf_ticket *like,
                                  const void *owner);
/* Take the ticket out; tell the observer so, and which watches fire. */
void sim_ticket_unlink(struct sim_ticket *ticket);
void sim_observe_barrier(struct hf_sim *sim, const char *queue, bool up);
void sim_observe_deleted(struct hf_sim *sim, const char *queue);
void sim_observe_gone(struct hf_sim *sim, const struct sim_ticket *ticket,
                      struct hf_request *const *notified, size_t count);

/* ------------------------------------------------------------- leader.c -- */

/* Ask its owner to let go. */
void plain_ticket_revoke(struct hf_sim *sim, struct sim_ticket *ticket);

/* Take the ticket out, or make it a read ticket, and tell those who watch
 * it. */
void plain_ticket_remove(struct hf_sim *sim, struct sim_ticket *ticket);
void plain_ticket_downgrade(struct hf_sim *sim, struct sim_ticket *ticket);

/* Raise the barrier, or lower it; was it up? */
bool plain_barrier_set(struct hf_sim *sim, struct sim_queue *queue,
                       const struct hf_ticket_id *id);
bool plain_barrier_clear(struct hf_sim *sim, struct sim_queue *queue);
void plain_barrier_touch(struct hf_sim *sim, struct sim_queue *queue);

/* Tell who looks at the mark, or at the members, that it has changed. */
void plain_notify_queue_watches(struct hf_sim *sim,
                                const struct sim_queue *queue, bool of_barrier);

/* ------------------------------------------------------------ members.c -- */

/* One has come or gone: tell who looks. */
void plain_participants_changed(struct hf_sim *sim, struct sim_queue *queue);

/* What is taken note of when ${pending}, a WATCH_QUEUE, is carried out: another
 * value, and it has changed. */
uint64_t plain_watched_version(const struct plain_pending *pending,
                               const struct sim_queue *queue);

/* Stamp them, if the one who asks and so many as he says are there. */
bool plain_ready_set(struct hf_sim *sim, const struct plain_message *message);

/* Take that away, if nobody is there; was it? */
bool plain_ready_clear(struct hf_sim *sim, struct sim_queue *queue);

/* ------------------------------------------------------------- leader.c -- */

struct plain_session *plain_session_new(struct hf_engine *engine,
                                        uint64_t timeout_ms);
void plain_session_touch(struct hf_sim *sim, struct plain_session *session);
/* Touched, and from now on with another timeout. */
void plain_session_resume(struct hf_sim *sim, struct plain_session *session,
                          uint64_t timeout_ms);
void plain_session_end(struct hf_sim *sim, struct plain_session *session);

/* Copies of all queues, for a follower that stops hearing. */
struct sim_queue *plain_copy_queues(struct hf_sim *sim);
/* The queue of that name, or NULL. */
struct sim_queue *sim_queue_lookup(struct sim_queue *stale_queues,
                                   const char *name);

/* --------------------------------------------------------------- link.c -- */

struct plain_connection *plain_connection_new(struct hf_engine *engine);
struct plain_message *plain_message_new(struct hf_sim *sim,
                                        enum plain_message_kind kind);
void plain_send(struct plain_connection *connection,
                enum plain_direction direction, struct plain_message *message);
/* A watched ticket is gone. */
void plain_send_notice(struct plain_pending *watch);
/* Its owner is asked to let go, if ${watch} has not heard of that. */
void plain_send_revoke(struct plain_pending *watch,
                       const struct sim_ticket *ticket);
/* Let messages that were held up move again. */
void plain_flush(struct plain_connection *connection,
                 enum plain_direction direction);
/* End it for both sides; the client learns of it through
 * plain_client_reset(). */
void plain_connection_end(struct plain_connection *connection);
void plain_connection_unstall(struct plain_connection *connection);
/* Tell the client of ${connection} that its session is over. */
void plain_send_expired(struct plain_connection *connection);
/* Have ${message}, a request, take effect at the leader, or be read from
 * ${view} if that is not NULL, and fill in its answer.  False: the session is
 * over. */
bool plain_execute(struct hf_sim *sim, struct sim_queue *stale_queues,
                   struct plain_session *session,
                   struct plain_message *message);

/* ------------------------------------------------------------- client.c -- */

void plain_client_start(struct hf_engine *engine);
/* A message has come in. */
void plain_client_receive(struct hf_engine *engine,
                          struct plain_message *message);
/* The connection has ended. */
void plain_client_reset(struct hf_engine *engine);
/* Look at the clock. */
void plain_client_tick(void *engine);
void plain_client_request(struct hf_engine *engine, struct hf_request *request);
void plain_client_unwatch(struct hf_engine *engine, struct hf_request *watch);
void plain_client_free(struct hf_engine *engine);
void plain_client_thaw(struct hf_engine *engine);

#endif
