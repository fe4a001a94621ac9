/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cluster: clients (each a core on an engine of the model), what their users
 * do with them, and the checks of the invariants.  The checks look from
 * outside: at what the users were told, at what was published, and at the
 * truth of the model in true time; never at the core's own opinion.
 *
 *   cluster.c   clients, and what befalls them; driver.c drives their cores,
 *             attempt.c is what their users want, transcript.c says what
 *             they do
 *   check.c   the invariants; those about grants are in check_grant.c, those
 *             about queues in check_queue.c, about texts in check_text.c
 *   random.c  a run from a seed; its users are in user.c, its faults in chaos.c
 *   story.c   users and faults read from a file; verb.c and deed.c do them
 */
#ifndef HF_TESTS_SIMULATOR_CLUSTER_CLUSTER_H
#define HF_TESTS_SIMULATOR_CLUSTER_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/core.h"
#include "core/multi_lock.h"
#include "simulator/engine_kind.h"
#include "simulator/model/sim.h"

#define CLUSTER_CLIENTS_MAX 6
#define CLUSTER_LOCKS_MAX 8
#define CLUSTER_BARRIERS_MAX 2
#define ATTEMPT_ITEMS_MAX 6
#define CLUSTER_TICKETS_MAX 16384
#define CLUSTER_TEXT_BYTES 320
/* What stands behind the text of a ticket whose owner was asked. */
#define PAYLOAD_REVOKED " asked=1"

struct cluster;
struct user_operation;

/* A queue, and what was granted in it. */
struct lock {
    char name[32];
    bool read_write;
    bool election;             /* instead of a mutex */
    struct lock *leases;       /* it is the first queue of a semaphore ... */
    uint32_t limit;            /* ... or the second, with so many permits */
    bool resized;              /* somebody went by another number of them */
    uint64_t last_write_token; /* highest granted that excludes */
    uint64_t last_read_token;
    uint64_t top_token; /* of all tickets there ever were */
    uint64_t
        contended_at_us; /* somebody had a ticket that could be in the way */
};

/* A barrier, and when it last went up and down. */
struct barrier {
    char name[32];
    bool is_set;
    uint64_t set_us;
    uint64_t cleared_us;
};

/* A ticket that an attempt wants. */
struct item {
    struct hf_acquisition *a; /* the attempt's own, or a part of it */
    struct lock *lock;
    struct hf_ticket_id id; /* of the last enqueue */
    bool enqueued;
    bool asked; /* to let go of the ticket .asked_id */
    struct hf_ticket_id asked_id;
};

/* The members of a client's cohort in a place, for one life of it. */
struct group {
    struct hf_cohort cohort;
    struct client *client;
    const struct lock *lock;
    unsigned incarnation;
    bool ready;             /* the cohort is initialised */
    struct hf_ticket_id id; /* of the last enqueue */
    bool enqueued;
    bool evicted;        /* it was taken away */
    uint64_t evicted_us; /* by force, alone; 0: no */
    bool may_remain;     /* a member was told that a ticket may stay */
    unsigned grants;     /* to members, on that ticket */
    struct group *next;
};

/* What is wanted of a place: a LEASE is a semaphore's, at its first queue. */
struct lock_spec {
    struct lock *lock;
    enum hf_ticket_kind kind;
    uint32_t weight;
    bool shares; /* a MUTEX: its ticket, with the client's others that do */
};

/* A user's wish for a lock, from the want to the end of it. */
struct attempt {
    struct hf_acquisition a;
    struct hf_multi_lock bundle;
    struct hf_acquisition parts[ATTEMPT_ITEMS_MAX];
    struct item items[ATTEMPT_ITEMS_MAX];
    unsigned item_count;
    struct group *group; /* that it is a member of, or NULL */
    struct client *client;
    struct lock *lock; /* of the last enqueue */
    char name[16];
    char payload[32];
    struct attempt *next;
    /* What the user does. */
    bool cancelled;
    bool limited;      /* told of another limit */
    uint64_t limit_ms; /* on the client's clock: the wait ends by then */
    bool release_called;
    uint64_t hold_us;
    bool release_on_loss;
    bool downgrade_called; /* as a writer, which it does not rely on since */
    /* What the user was told. */
    bool granted;
    bool lost;
    bool ended;
    bool released;
    bool downgrade_waits; /* for the answer to downgrade_called */
    bool forgotten;
    bool crashed;           /* with its client, which was told nothing */
    uint64_t safe_until_ms; /* as last seen */
    /* Begun at its grant, and ended whenever it might go wrong: a reader may be
     * interrupted for as long as he likes. */
    struct hf_safe_until_reading reading;
    uint64_t started_us;
    uint64_t granted_us;
    /* What the checks remember. */
    bool evicted; /* its ticket was taken away from it */
    bool placed;  /* a ticket of its first claim was in the queue */
    bool failed;  /* an enqueue of it was answered FAILED */
    bool passed;  /* a later one entered while its enqueue was under way */
    bool gone_before_release;
    uint64_t gone_us; /* it holds, and its ticket is gone since; 0: no */
    struct hf_ticket_id granted_id; /* of a crew: on which it was granted */
    struct hf_ticket_id id;         /* of the last enqueue */
    bool enqueued;
    const struct item *due;         /* could have been met ... */
    struct hf_ticket_id due_ticket; /* ... by this one, since ... */
    uint64_t admissible_us;         /* ... then */
};

/* Every ticket there ever was. */
struct ticket_record {
    struct hf_ticket_id id;
    struct attempt *attempt; /* both NULL: foreign */
    struct group *group;     /* whose ticket it was */
    uint64_t token;          /* 0: it never was in a queue */
    bool gone;               /* it has been, and is not any more */
    bool asked;              /* of a crew: to let go of it, ... */
    bool told;               /* ... which a member heard */
    bool heard;              /* its owner was told of a request to release */
    bool found;            /* one who asked was told that the ticket is there */
    uint64_t not_shown_us; /* since then its text should say so, and does not;
                           0: it need not */
};

struct client {
    struct cluster *cluster;
    char name[8];
    struct hf_core core;
    struct hf_engine *engine;
    struct attempt *attempts; /* newest first; freed with the cluster */
    struct user_operation *operations; /* likewise */
    struct group *groups;              /* likewise */
    unsigned incarnation;              /* counts reopenings */
    bool alive;                        /* there is such a process */
    bool closing;
    bool closed;
    bool ever_connected;
    /* The policy of reconnecting has given up, the last time at that instant of
     * its clock. */
    bool gave_up;
    uint64_t gave_up_ms;
    enum hf_state state;
    bool draining;
    unsigned drained;         /* effects carried out since the last event */
    bool began_drained;       /* all effects were carried out before it */
    bool safe_until_may_fall; /* the promise, in the step under way */
    uint64_t opened_us;
    uint64_t opened_ms;  /* on its clock */
    uint64_t tick_us;    /* the calendar ticks it then */
    unsigned idle_ticks; /* without time going on */
    uint64_t last_tick_us;
    bool waking;            /* thawed, and nothing has reached it since */
    uint64_t thawed_ms;     /* on its clock: the last time it was */
    uint64_t last_fault_us; /* the last time something went wrong here */
    uint64_t connected_us;  /* when it was told CONNECTED last */
    uint64_t asked_us;      /* a check waits since; 0: none */
    /* The machine was paused: a promise up to here may be wrong. */
    uint64_t clock_suspect_until_ms;
    bool paused;
    bool killed; /* its session is: what it enqueues in it may go at once */
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
    uint32_t handoffs; /* of a crew's ticket */
    uint64_t connect_ms;
    enum hf_loss_at loss_at;
    uint64_t grant_limit_us; /* how long a grant that is due may take */
    bool calm;               /* nothing goes wrong, ever */
    bool answers_garbled;    /* answers are garbled: the truth is not known */
    bool denied;             /* enqueues may be refused for good */
    bool asked;              /* somebody was asked to release */
    bool exhausted;          /* a queue may have run out of numbers */
    uint64_t tick_delay_us;  /* of each tick, behind what comes meanwhile */
    bool mixed_kinds;        /* kinds that do not go together meet */
    bool tokens_only; /* the server's clock is set, or its data lost: only
                          what tokens promise is kept, and that each call
                          has its end */
    /* The first violation. */
    int broken;        /* number of the invariant, 0 if none */
    const char *check; /* its story, before names were put in */
    char message[CLUSTER_TEXT_BYTES];
    /* The transcript; NULL: none. */
    void (*line)(void *arg, const char *line);
    void *line_arg;
    bool terse; /* without requests, answers and the texts of failures */
    bool brief; /* without requests, and answers but for failures */
    /* Told when an attempt got a grant, or has nothing more to come. */
    void (*on_granted)(struct attempt *attempt);
    void (*on_lost)(struct attempt *attempt);
    uint64_t steps;     /* of the cores */
    uint64_t run_steps; /* of the calendar */
    uint64_t grants;
    uint64_t losses;
    uint64_t answers; /* to questions */
};

/* ${cluster} is filled in; .sim is made from ${config}. */
void cluster_init(struct cluster *cluster, const struct hf_sim_config *config);
void cluster_free(struct cluster *cluster);

struct lock *cluster_lock(struct cluster *cluster, const char *name,
                          bool read_write);

/* The first queue of a semaphore called ${name}. */
struct lock *cluster_semaphore(struct cluster *cluster, const char *name,
                               uint32_t limit);

/* Give back what memory its acquisitions have: the core has forgotten them, or
 * is no more. */
void cluster_free_attempt(struct attempt *attempt);

/* Whose acquisition is it? */
struct attempt *cluster_attempt(const struct hf_acquisition *a);

/* A process starts, with a clock that shows ${clock_ms}. */
void cluster_open(struct client *client, uint64_t clock_ms, int32_t ppm);

/* As a member of the client's cohort there. */
struct attempt *cluster_want_shared(struct client *client, struct lock *lock,
                                    bool only_try, uint64_t wait_ms);
struct attempt *cluster_want(struct client *client, struct lock *lock,
                             enum hf_ticket_kind kind, bool only_try,
                             uint64_t wait_ms, uint64_t report_every_ms,
                             uint64_t hold_us, bool release_on_loss);
/* The same for several places: all or none. */
struct attempt *cluster_want_all(struct client *client,
                                 const struct lock_spec *specs, unsigned count,
                                 bool only_try, uint64_t wait_ms,
                                 uint64_t report_every_ms, uint64_t hold_us,
                                 bool release_on_loss);
/* There are so many permits from now on, as far as this attempt goes. */
void cluster_limit(struct attempt *attempt, uint32_t limit);
void cluster_cancel(struct attempt *attempt);
void cluster_release(struct attempt *attempt);
void cluster_downgrade(struct attempt *attempt);
/* Is ${attempt}, which holds, still ours? */
void cluster_check(struct attempt *attempt);
void cluster_close(struct client *client);
void cluster_crash(struct client *client);
/* After everything of a closed client was forgotten. */
void cluster_discard(struct client *client);

void cluster_freeze(struct client *client, bool frozen);
void cluster_pause(struct client *client, bool paused);
void cluster_kill_session(struct client *client);
bool cluster_evict(struct attempt *attempt);
/* The same of the ticket for the ${number}th of its places, from 1. */
bool cluster_evict_item(struct attempt *attempt, unsigned number);
/* The ensemble is replaced by an empty one. */
void cluster_wipe(struct cluster *cluster);

/* Hand an operation to the core, and take it back: see question.h. */
void cluster_start_operation(struct client *client,
                             struct hf_operation *operation);
void cluster_cancel_operation(struct client *client,
                              struct hf_operation *operation);

/* The ticket of ${attempt} may be gone from now on, until it is another one:
 * of all who share it. */
void cluster_note_eviction(struct attempt *attempt);

/* May its user call it now? */
bool cluster_can_call(const struct client *client);

/* Is nothing of ${client}'s under way? */
bool cluster_is_idle(const struct client *client);

/* Note the first violation; ${invariant} is its number. */
void cluster_broken(struct cluster *cluster, int invariant, const char *format,
                    ...) __attribute__((format(printf, 3, 4)));

/* A line of the transcript, at the time it is. */
void cluster_trace(struct cluster *cluster, const char *who, const char *format,
                   ...) __attribute__((format(printf, 3, 4)));

/* Words for it; those of an acquisition that is NULL are the session's. */
const char *cluster_request_name(enum hf_request_kind kind);
const char *cluster_event_name(enum hf_event_kind kind);
const char *cluster_attempt_name(const struct hf_acquisition *a);
/* Who made the request. */
const char *cluster_requester(const struct hf_request *request);
void cluster_trace_event(struct client *client, const struct hf_event *event);

/* -------------------------------------------------------------- check.c -- */

/* Has its user every reason to believe in its grant? */
bool check_holds(const struct attempt *attempt);

/* Is a member of it not forgotten yet? */
bool check_group_lives(const struct group *group);

/* Of ${attempt}'s crew, does another hold, or wait?  And does one hold, or wait
 * for longer? */
bool check_group_needs(const struct attempt *attempt);
bool check_group_ahead(const struct attempt *attempt);

/* Do the kinds exclude each other?  Has it no answer yet?  How many permits do
 * the tickets before ${place} stand for? */
bool check_conflict(enum hf_ticket_kind a, enum hf_ticket_kind b);
uint64_t check_permits(const struct hf_snapshot *queue, size_t position);
bool check_waits(const struct attempt *attempt);
/* How much later than at an instant may a client find that it has come? */
uint64_t check_lateness_ms(const struct cluster *cluster);

/* On the client's clock: what time it is, and until when the core promises. */
uint64_t check_client_ms(const struct client *client);
uint64_t check_safe_until(const struct attempt *attempt);

/* May its machine have been paused since what its promise rests on? */
bool check_clock_suspect(const struct attempt *attempt);

void check_effect(struct client *client, const struct hf_effect *effect);
void check_event(struct client *client, const struct hf_event *event);
void check_step_done(struct cluster *cluster);
/* Who could be granted, and is not? */
void check_wakeups(struct cluster *cluster);

/* check_lazy.c: a user asked whether he still holds, and has his answer; what
 * holds in a lazy session. */
void check_lazy_started(struct client *client);
void check_lazy_answered(struct client *client);
void check_lazy(struct cluster *cluster);

/* check_text.c: what tickets say; and REVOKED came. */
void check_payloads(struct cluster *cluster);
void check_revoke_received(struct client *client, const struct hf_event *event);
/* ${event} answers a request, perhaps an ENQUEUE. */
void check_enqueued(const struct hf_event *event);
/* The server has deleted what holds the tickets of ${queue}. */
void check_deleted(struct cluster *cluster, const char *queue);
void check_added(struct cluster *cluster, const char *queue,
                 const struct hf_ticket *ticket);
void check_gone(struct cluster *cluster, const char *queue,
                const struct hf_ticket *ticket,
                struct hf_request *const *watches, size_t count);

/* Has everything come to its end, and every queue run empty?  Say what has
 * not. */
bool check_quiet(struct cluster *cluster);
void check_end(struct cluster *cluster);

/* Whose ticket is it?  NULL if unknown. */
struct ticket_record *cluster_ticket_record(struct cluster *cluster,
                                            const struct hf_ticket_id *id);
void cluster_add_ticket_record(struct cluster *cluster,
                               const struct hf_ticket_id *id,
                               struct attempt *attempt, struct group *group);

/* ------------------------------------------------------------- random.c -- */

/* Live through the cluster of ${seed} and ${sort}.  True if no invariant broke;
 * else .broken and .story tell.  ${line} is told what happens, or is NULL. */
bool random_run(struct cluster *cluster, uint64_t seed, enum engine_kind sort,
                void (*line)(void *arg, const char *text), bool brief);

/* -------------------------------------------------------------- story.c -- */

/* Play the story in the file at ${path} and compare its transcript with what
 * it expects, or with ${update} write that down.  True if they agree. */
bool script_run(const char *path, bool update);

#endif
