/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cluster: the simulated servers, clients and network of one seed.  Each
 * client is a real core on an engine of a model.  Users of the clients acquire
 * and release locks, and the checks compare three things from outside: what
 * users were notified of, what the library published (safe-until, tokens), and
 * the committed state in true time.  They never ask the core for its opinion.
 *
 *   cluster/cluster.c    clients, faults of clients, records of tickets
 *   cluster/driver.c     drives the core of a client
 *   cluster/attempt.c    acquires and releases of users
 *   cluster/operation.c  operations of users: list, evict, revoke, barriers
 *   cluster/trace.c      the lines of a trace
 *   check/check.c        the invariants, by the numbers of
 *                        docs/architecture.md
 *   random/random.c      a run from a seed
 *   script/script.c      a run from a file
 */
#ifndef HF_TESTS_SIMULATOR_CLUSTER_CLUSTER_H
#define HF_TESTS_SIMULATOR_CLUSTER_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/cohort.h"
#include "core/core.h"
#include "core/multi_lock.h"
#include "simulator/engine_kind.h"
#include "simulator/model/sim.h"

#define CLUSTER_CLIENTS_MAX 6
#define CLUSTER_LOCKS_MAX 8
#define CLUSTER_BARRIERS_MAX 2
#define ATTEMPT_ITEMS_MAX 6
#define ATTEMPT_TEXT_BYTES 256
#define CLUSTER_TICKETS_MAX 16384
#define CLUSTER_TEXT_BYTES 320
/* Appended to the payload of a ticket by its owner after a revocation. */
#define PAYLOAD_REVOKED " asked=1"

struct cluster;
struct user_operation;

/* A lock that users acquire: the name of its queue, and what the checks know of
 * grants in it. */
struct lock {
    char name[32];
    bool read_write;
    bool election; /* an election instead of a mutex */
    /* Of a semaphore: this is the queue of the entry mutex, and that of its
     * permits is here. */
    struct lock *leases;
    uint32_t limit; /* of a queue of permits: how many there are; else 0 */
    bool resized;   /* somebody acquired with another number of permits */
    /* The highest token of a grant that excludes others. */
    uint64_t last_write_token;
    uint64_t last_read_token;
    /* The highest token of any ticket in the queue so far. */
    uint64_t highest_token;
    /* True time at which there last was a ticket that a waiter may have to wait
     * for. */
    uint64_t contended_at_us;
};

/* A barrier, and when it was last set and cleared. */
struct barrier {
    char name[32];
    bool is_set;
    uint64_t set_us;
    uint64_t cleared_us;
};

/* An item of an attempt: one ticket that it needs. */
struct item {
    /* The attempt's own acquisition, or a child of its multi-lock. */
    struct hf_acquisition *a;
    struct lock *lock;
    struct hf_ticket_id id; /* of the last enqueue */
    bool enqueued;
    bool revoked; /* somebody revoked the ticket .revoked_id */
    struct hf_ticket_id revoked_id;
};

/* The attempts of one client for one lock that share a ticket: the waiters of a
 * cohort, in one incarnation of the client. */
struct group {
    struct hf_cohort cohort;
    struct client *client;
    const struct lock *lock;
    unsigned incarnation;
    bool ready;             /* .cohort is initialised */
    struct hf_ticket_id id; /* of the last enqueue */
    bool enqueued;
    bool evicted; /* its ticket was removed by somebody else */
    /* True time of that, if nothing but the ticket was removed; 0: no. */
    uint64_t evicted_us;
    /* A waiter was notified that its ticket may still be in the queue. */
    bool may_remain;
    unsigned grants; /* grants on the current ticket */
    /* True time since when its ticket is kept while others wait; 0: it does
     * not. */
    uint64_t delays_since_us;
    struct group *next;
};

/* What the ticket of an attempt says: the name of the attempt; or, as the
 * client writes it, what its client holds, and that it looks for deadlocks. */
enum attempt_text { TEXT_NAME, TEXT_HOLDS, TEXT_DETECT };

/* What a user asks for.  A LEASE is permits of a semaphore; .lock is that of
 * the entry mutex. */
struct lock_spec {
    struct lock *lock;
    enum hf_ticket_kind kind;
    uint32_t weight;
    /* Of a MUTEX: the user shares a ticket with others of its client. */
    bool shares;
    enum attempt_text text; /* of the first one: the text of the attempt */
};

/* A user's attempt to acquire a lock, from the call until the core has
 * forgotten it. */
struct attempt {
    struct hf_acquisition a;
    struct hf_multi_lock multi_lock;
    struct hf_acquisition children[ATTEMPT_ITEMS_MAX];
    struct item items[ATTEMPT_ITEMS_MAX];
    unsigned item_count;
    struct group *group; /* NULL: it shares no ticket */
    struct client *client;
    struct lock *lock; /* of the last enqueue */
    char name[16];
    char payload[ATTEMPT_TEXT_BYTES];
    struct attempt *next;
    /* What the user has done: */
    bool cancelled;
    bool limited;      /* it was given another number of permits once */
    uint64_t limit_ms; /* the client's clock: the wait has to end by then */
    bool release_called;
    uint64_t hold_us;
    bool release_on_loss;
    /* It does not rely on excluding readers since then. */
    bool downgrade_called;
    /* What the user was notified of: */
    bool granted;
    bool lost;
    bool ended;
    bool released;
    bool downgrade_waits; /* no answer to downgrade_called yet */
    bool forgotten;
    bool crashed; /* its client crashed, so it is notified of nothing more */
    uint64_t safe_until_ms; /* safe-until, when it was last read */
    /* Begun at the grant and ended at every check, because a reader of
     * safe-until may be interrupted for any time in between. */
    struct hf_safe_until_reading reading;
    uint64_t started_us;
    uint64_t granted_us;
    /* What the checks know: */
    bool evicted;    /* somebody else has removed its ticket, or may have */
    bool was_queued; /* a ticket of its first item has been in the queue */
    bool failed;     /* an enqueue of it was answered FAILED */
    /* A later attempt entered the queue while its enqueue was under way. */
    bool overtaken;
    bool gone_before_release;
    /* True time since which it holds a ticket that is gone; 0: it does not. */
    uint64_t gone_us;
    /* Of a group: the ticket that it was granted on. */
    struct hf_ticket_id granted_id;
    struct hf_ticket_id id; /* of the last enqueue */
    bool enqueued;
    const struct item *grantable; /* the item that could be granted now, ... */
    struct hf_ticket_id grantable_ticket; /* ... with this ticket ... */
    uint64_t admissible_us;               /* ... since this true time */
};

/* Every ticket that there was in this run. */
struct ticket_record {
    struct hf_ticket_id id;
    /* .attempt and .group both NULL: a ticket of another program. */
    struct attempt *attempt;
    struct group *group;  /* the ticket is shared by this group */
    uint64_t token;       /* 0: it has not been in a queue */
    bool gone;            /* it was in a queue and has left it */
    bool revoked;         /* of a group: somebody revoked it, ... */
    bool revoke_notified; /* ... and a waiter was notified of that */
    /* A revocation has reached the engine of its owner. */
    bool revoke_received;
    /* A client that revoked it was answered that the ticket is there. */
    bool revoke_found;
    /* True time since which its payload should show the revocation and does
     * not; 0: it need not. */
    uint64_t not_shown_us;
};

struct client {
    struct cluster *cluster;
    char name[8];
    struct hf_core core;
    struct hf_engine *engine;
    struct attempt *attempts; /* newest first; freed with the cluster */
    struct user_operation *operations; /* likewise */
    struct group *groups;              /* likewise */
    unsigned incarnation; /* number of times that the process was started */
    bool alive;           /* the process runs */
    bool closing;
    bool closed;
    bool ever_connected;
    /* the reconnect policy has given up, last at .gave_up_ms of its clock */
    bool gave_up;
    uint64_t gave_up_ms;
    enum hf_state state;
    bool draining;
    unsigned drained; /* effects carried out since the last event */
    /* All effects of earlier events were carried out before it. */
    bool began_drained;
    /* In the current step safe-until may become earlier. */
    bool safe_until_may_fall;
    uint64_t opened_us;
    uint64_t opened_ms;  /* on its clock */
    uint64_t tick_us;    /* true time of the timer that is set */
    unsigned idle_ticks; /* timers in a row at one true time */
    uint64_t last_tick_us;
    bool waking; /* it was thawed, and its core has not had an event since */
    uint64_t thawed_ms; /* on its clock: when it was last thawed */
    /* The last time of a fault of this client or its link. */
    uint64_t last_fault_us;
    uint64_t connected_us; /* when the core was last notified of CONNECTED */
    /* True time since which a check has no answer; 0: none is pending. */
    uint64_t check_started_us;
    /* The machine was paused: a safe-until up to this time may be too late. */
    uint64_t clock_suspect_until_ms;
    bool paused;
    /* Its session was killed: tickets that it enqueues may vanish at once. */
    bool killed;
};

struct cluster {
    struct hf_sim *sim;
    struct hf_sim_config config;
    struct hf_random random;
    struct client clients[CLUSTER_CLIENTS_MAX];
    unsigned client_count;
    struct lock locks[CLUSTER_LOCKS_MAX];
    unsigned lock_count;
    struct barrier barriers[CLUSTER_BARRIERS_MAX];
    unsigned barrier_count;
    struct ticket_record tickets[CLUSTER_TICKETS_MAX];
    unsigned ticket_count;
    unsigned attempt_count;
    uint32_t handoffs; /* of the cohorts of this run */
    uint64_t keep_ms;  /* likewise */
    uint64_t connect_ms;
    enum hf_loss_at loss_at;
    /* The longest time from when an attempt could be granted until it is. */
    uint64_t grant_limit_us;
    bool no_faults; /* the run has no faults at all */
    /* Servers send garbled answers, so clients cannot know the state. */
    bool answers_garbled;
    bool denied;            /* servers may refuse enqueues for good */
    bool revoked;           /* some ticket was revoked */
    bool full;              /* the servers may have had no room */
    bool exhausted;         /* a queue may have run out of sequence numbers */
    uint64_t tick_delay_us; /* each timer runs this much late */
    /* Locks are acquired with kinds that do not go together. */
    bool mixed_kinds;
    /* The server's clock is set, or its data is lost: then the checks are only
     * those of tokens and that every call ends. */
    bool tokens_only;
    /* The first violation of an invariant. */
    int broken;        /* number of the invariant, 0: none */
    const char *check; /* the format of .message */
    char message[CLUSTER_TEXT_BYTES];
    /* The trace; .line is NULL if there is none. */
    void (*line)(void *arg, const char *line);
    void *line_arg;
    bool terse; /* without requests, answers and the texts of failures */
    /* Without requests, and with those answers only that are failures. */
    bool brief;
    /* Called when an attempt was granted, and when it was lost. */
    void (*on_granted)(struct attempt *attempt);
    void (*on_lost)(struct attempt *attempt);
    /* As in struct hf_sim_observer; NULL: nothing is called. */
    void (*node_changed)(void *arg, const struct hf_sim_node_change *change);
    uint64_t steps;     /* events handed to cores */
    uint64_t run_steps; /* timers of the model */
    uint64_t grants;
    uint64_t losses;
    uint64_t answers; /* to operations */
    /* Of handles on the sessions of clients, as in struct zookeeper_result. */
    uint64_t operations_of_handles;
    uint64_t events_of_handles;
};

/* Fill in ${cluster}; .sim is made from ${config}. */
void cluster_init(struct cluster *cluster, const struct hf_sim_config *config);
void cluster_free(struct cluster *cluster);

/* Is the session of its clients proven when somebody asks for it? */
bool cluster_proves_lazily(const struct cluster *cluster);

struct lock *cluster_lock(struct cluster *cluster, const char *name,
                          bool read_write);

/* The lock of the entry mutex of the semaphore called ${name}. */
struct lock *cluster_semaphore(struct cluster *cluster, const char *name,
                               uint32_t limit);

/* Free the memory of its acquisitions.  The core has forgotten them, or is
 * gone. */
void cluster_free_attempt(struct attempt *attempt);

/* The attempt that an acquisition belongs to; of a cohort's, the first that
 * waits. */
struct attempt *cluster_attempt(const struct hf_acquisition *a);

/* A client process starts on a machine whose clock shows ${clock_ms} and drifts
 * by ${ppm}. */
void cluster_open(struct client *client, uint64_t clock_ms, int32_t ppm);

/* Acquire with a ticket that is shared by all such attempts of the client. */
struct attempt *cluster_want_shared(struct client *client, struct lock *lock,
                                    bool only_try, uint64_t wait_ms);
struct attempt *cluster_want(struct client *client, struct lock *lock,
                             enum hf_ticket_kind kind, bool only_try,
                             uint64_t wait_ms, uint64_t report_every_ms,
                             uint64_t hold_us, bool release_on_loss);
/* Acquire all of ${specs} or none.  ${wait_ms} is the longest wait;
 * ${only_try}: no wait.  ${hold_us} is for the caller. */
struct attempt *cluster_want_all(struct client *client,
                                 const struct lock_spec *specs, unsigned count,
                                 bool only_try, uint64_t wait_ms,
                                 uint64_t report_every_ms, uint64_t hold_us,
                                 bool release_on_loss);
/* From now on the semaphore has ${limit} permits as far as this attempt
 * goes. */
void cluster_limit(struct attempt *attempt, uint32_t limit);
void cluster_cancel(struct attempt *attempt);
void cluster_release(struct attempt *attempt);
void cluster_downgrade(struct attempt *attempt);
/* Ask the servers whether ${attempt}, which was granted, still has its
 * ticket. */
void cluster_check(struct attempt *attempt);
void cluster_close(struct client *client);
void cluster_crash(struct client *client);
/* Free a closed client, of which all attempts and operations were forgotten. */
void cluster_discard(struct client *client);

void cluster_freeze(struct client *client, bool frozen);
void cluster_pause(struct client *client, bool paused);
void cluster_kill_session(struct client *client);
bool cluster_evict(struct attempt *attempt);
/* Likewise for the ticket of item ${number}, from 1. */
bool cluster_evict_item(struct attempt *attempt, unsigned number);
/* Replace the servers by ones without data. */
void cluster_wipe(struct cluster *cluster);

/* Hand an operation to the core, and cancel it: see operation.h. */
void cluster_start_operation(struct client *client,
                             struct hf_operation *operation);
void cluster_cancel_operation(struct client *client,
                              struct hf_operation *operation);

/* From now on the ticket of ${attempt} may be gone, for all who share it, until
 * it has another one. */
void cluster_note_eviction(struct attempt *attempt);

/* Can the process make a call, or is it frozen or gone? */
bool cluster_can_call(const struct client *client);

/* Has the core forgotten all attempts and operations of ${client}? */
bool cluster_is_idle(const struct client *client);

/* Record a violation of invariant number ${invariant}, if it is the first. */
void cluster_broken(struct cluster *cluster, int invariant, const char *format,
                    ...) __attribute__((format(printf, 3, 4)));

/* Write a line with the current time to the trace; ${who} is in its second
 * column. */
void cluster_trace(struct cluster *cluster, const char *who, const char *format,
                   ...) __attribute__((format(printf, 3, 4)));

/* Names for the trace.  An acquisition that is NULL is the session. */
const char *cluster_request_name(enum hf_request_kind kind);
const char *cluster_event_name(enum hf_event_kind kind);
const char *cluster_attempt_name(const struct hf_acquisition *a);
/* The name of the attempt or other thing that a request is for. */
const char *cluster_requester(const struct hf_request *request);
void cluster_trace_event(struct client *client, const struct hf_event *event);

/* --------------------------------------------------------------- check.c -- */

/* Was it granted, and may its user rely on that? */
bool check_holds(const struct attempt *attempt);

/* Is an attempt of it not forgotten yet? */
bool check_group_lives(const struct group *group);

/* Does another attempt of the same group hold or wait?  And: does another hold,
 * or wait for longer? */
bool check_group_needs(const struct attempt *attempt);
bool check_group_ahead(const struct attempt *attempt);

/* Do the two kinds exclude each other?  Has ${attempt} neither a grant nor an
 * end?  How many permits do the tickets before ${position} have? */
bool check_conflict(enum hf_ticket_kind a, enum hf_ticket_kind b);
uint64_t check_permits(const struct hf_snapshot *queue, size_t position);
bool check_waits(const struct attempt *attempt);
/* How much later than an instant may a client's core notice that it has
 * passed? */
uint64_t check_lateness_ms(const struct cluster *cluster);

/* The client's clock, and safe-until as the core publishes it. */
uint64_t check_client_ms(const struct client *client);
uint64_t check_safe_until(const struct attempt *attempt);

/* May the machine have been paused since the proof that safe-until rests on? */
bool check_clock_suspect(const struct attempt *attempt);

void check_effect(struct client *client, const struct hf_effect *effect);
void check_event(struct client *client, const struct hf_event *event);
void check_step_done(struct cluster *cluster);
/* Which attempts could be granted and are not? */
void check_wakeups(struct cluster *cluster);

/* check_lazy.c: a check was started, and answered; and what must hold in
 * sessions with proof=lazy. */
void check_lazy_started(struct client *client);
void check_lazy_answered(struct client *client);
void check_lazy(struct cluster *cluster);

/* check_payload.c: payloads of tickets; and an event REVOKED. */
void check_payloads(struct cluster *cluster);
void check_revoke_received(struct client *client, const struct hf_event *event);
/* ${event} is an answer, perhaps to an ENQUEUE. */
void check_enqueued(const struct hf_event *event);
/* The server has deleted the node of ${queue}. */
void check_deleted(struct cluster *cluster, const char *queue);
void check_added(struct cluster *cluster, const char *queue,
                 const struct hf_ticket *ticket);
void check_gone(struct cluster *cluster, const char *queue,
                const struct hf_ticket *ticket,
                struct hf_request *const *watches, size_t count);

/* Has every attempt and operation ended, and is every queue empty?  The second
 * function reports what has not, as violations. */
bool check_quiet(struct cluster *cluster);
void check_end(struct cluster *cluster);

/* The record of a ticket, NULL if it is unknown. */
struct ticket_record *cluster_ticket_record(struct cluster *cluster,
                                            const struct hf_ticket_id *id);
void cluster_add_ticket_record(struct cluster *cluster,
                               const struct hf_ticket_id *id,
                               struct attempt *attempt, struct group *group);

/* -------------------------------------------------------------- random.c -- */

/* Run ${seed} with ${engine}.  True if no invariant broke; else .broken and
 * .message say which.  ${line} receives the trace, or is NULL; ${brief} is as
 * in struct cluster. */
bool random_run(struct cluster *cluster, uint64_t seed, enum engine_kind sort,
                void (*line)(void *arg, const char *text), bool brief);

/* -------------------------------------------------------------- script.c -- */

/* Run the script at ${path} and compare its trace with the expected one;
 * ${update}: write the trace into the file instead.  True if they are equal. */
bool script_run(const char *path, bool update);

#endif
