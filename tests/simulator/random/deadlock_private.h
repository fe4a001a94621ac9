/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the runs of deadlocks share: the clients, their owners and
 * what these want.  A client is a process with a core on an engine of the
 * model.  An owner is a thread of it.
 *
 *     deadlock.c           the kinds of runs, and their faults
 *     deadlock_client.c    the core of a client, and the texts of its tickets
 *     deadlock_owner.c     what owners do
 *     deadlock_truth.c     who waits for whom in truth
 *     deadlock_workload.c  owners that take locks at random
 *     deadlock_cycle.c    owners that wait for each other in a cycle
 *     deadlock_many.c     a cycle of many, or one that many wait behind
 *     deadlock_near.c      runs that only look like a deadlock
 *     deadlock_walk.c      a client that walks over the names
 */
#ifndef HF_TESTS_SIMULATOR_RANDOM_DEADLOCK_PRIVATE_H
#define HF_TESTS_SIMULATOR_RANDOM_DEADLOCK_PRIVATE_H

#include "core/cohort.h"
#include "core/core.h"
#include "core/multi_lock.h"
#include "simulator/model/sim.h"
#include "simulator/random/deadlock.h"

#define DEADLOCK_OWNERS_MAX 16 /* if they are not DEADLOCK_MANY */
#define DEADLOCK_LOCKS 10      /* the same */
#define DEADLOCK_PERMITS_MAX 3
#define DEADLOCK_CYCLE_MAX 6
#define DEADLOCK_HOLDS_MAX 32
#define DEADLOCK_OTHERS 3

enum deadlock_kind {
    DEADLOCK_CYCLE,
    DEADLOCK_MANY,
    DEADLOCK_ORDERED,
    DEADLOCK_UNORDERED,
    DEADLOCK_PERMITS,
    DEADLOCK_LOST,
    DEADLOCK_BY_TURNS
};

/* A mutex, a read/write lock or a semaphore. */
struct deadlock_lock {
    char name[24];
    char entry[32];
    char leases[32];
    bool read_write;
    uint32_t limit; /* of a semaphore; else 0 */
};

/* The owners of one client that share a ticket of a lock. */
struct deadlock_cohort {
    struct hf_cohort cohort;
    bool ready;                 /* it was initialised */
    struct hf_ticket_id ticket; /* that it enqueued last */
};

struct deadlock_client {
    struct hf_engine *engine;
    struct hf_core core;
    uint64_t tick_us;
    bool draining;
    size_t owners;
    /* This client is the run around the one of the owner with the number
     * .inner; only in a run with a cycle. */
    bool is_outer;
    size_t inner;
    struct deadlock_cohort cohorts[DEADLOCK_LOCKS];
};

/* A lock that is held, and by which ticket. */
struct deadlock_hold {
    size_t lock;
    struct hf_ticket_id ticket;
};

struct deadlock_holds {
    struct deadlock_hold holds[DEADLOCK_HOLDS_MAX];
    size_t count;
};

/* How an owner wants a lock. */
enum deadlock_way {
    DEADLOCK_LISTED,   /* by a ticket of its own, that names its owner */
    DEADLOCK_UNLISTED, /* the ticket has no owner; the grant may be passed on to
                          another owner of the client */
    DEADLOCK_SHARED    /* by a ticket that the owners of the client share */
};

/* An acquire of an owner, from its begin until the core has forgotten it. */
struct deadlock_want {
    struct hf_acquisition a;
    struct hf_multi_lock multi_lock;
    struct hf_acquisition children[2]; /* of a semaphore */
    struct deadlock_owner *owner;
    size_t lock;
    enum deadlock_way way;
    uint32_t permits;
    bool granted;
    bool released;
    bool lost;
    bool gave_up; /* its wait has ended without a grant */
    char payload[HF_PAYLOAD_BYTES];
    struct deadlock_holds said;     /* what its last ticket says is held */
    struct hf_ticket_id tickets[2]; /* the last ones that were enqueued: of the
                                       lock; of a semaphore the entry mutex and
                                       the lease */
    bool looks;                     /* a look for a deadlock is under way */
    /* Since then it was in a deadlock: in truth; if those count as waiting
     * that have given up although their ticket is still there. */
    bool was_blocked;
    bool was_blocked_by_remains;
    struct deadlock_want *next; /* of the same owner */
};

struct deadlock_owner {
    struct deadlock_client *client;
    bool detects;
    bool leaving;  /* it is to release all that it holds */
    bool finished; /* of a cycle: it has released everything */
    struct deadlock_want *wants;
    struct deadlock_want *waiting; /* NULL: it does not wait */
    /* A run inside the command of another run: the owner of that, what it and
     * those around it hold; how many run inside the command of this one. */
    struct deadlock_owner *outer;
    struct deadlock_holds inherited;
    size_t inner_count;
    /* What it does next, and when; NULL: nothing, or it waits. */
    void (*next)(struct deadlock_owner *owner);
    uint64_t next_us;
};

/* A program of another make that takes a lock again and again. */
struct deadlock_other {
    size_t lock;
    struct hf_ticket_id ticket;
    bool queued;
};

struct deadlock_run {
    struct hf_sim *sim;
    struct hf_random random;
    enum deadlock_kind kind;
    struct deadlock_client *clients; /* .owner_room; as many owners fit */
    size_t client_count;
    struct deadlock_owner *owners;
    size_t count;
    size_t owner_room;
    size_t cycle;  /* the first owners and locks have a part of their own */
    size_t joined; /* of these, how many hold their lock */
    /* The owners behind those of the cycle that wait for its first lock, how
     * many of them, the first ones, hold one of their own; and whether the
     * cycle has a gap. */
    size_t waiters;
    size_t waiters_holding;
    bool is_open;
    /* Faults have kept a client from its server until a lock of it was lost, so
     * that a cycle may be none any more. */
    bool has_lost;
    /* Waits that no core knows any more, although their ticket may still be in
     * the queue, with the session of a client that is cut off; linked by .next.
     */
    struct deadlock_want *remains;
    struct deadlock_lock *locks;
    size_t lock_room;
    size_t lock_count; /* that are used at random */
    struct deadlock_other others[DEADLOCK_OTHERS];
    bool faults;
    bool stopping;
    struct deadlock_result *end;
    void (*line)(void *arg, const char *text);
};

extern struct deadlock_run deadlock_run;

/* -------------------------------------------------------------- deadlock.c */

uint64_t deadlock_below(uint64_t bound);

/* Note that ${invariant} is broken, unless ${holds}; the first one counts. */
void deadlock_check(bool holds, int invariant, const char *message);

/* Call ${fn} in ${us}. */
void deadlock_later_us(uint64_t us, void (*fn)(void *arg), void *arg);

/* A wait of ${owner}, for ${want}, has ended: choose what it does next. */
void deadlock_continue(struct deadlock_owner *owner, struct deadlock_want *want,
                       hf_status status);

/* Somebody asks ${owner} to release a lock. */
void deadlock_revoked(struct deadlock_owner *owner);

/* ------------------------------------------------------- deadlock_client.c */

/* Make a client with an engine. */
struct deadlock_client *deadlock_client_new(uint64_t seed);

/* Step its core, and carry out what follows. */
void deadlock_client_step(struct deadlock_client *client,
                          struct hf_event event);

/* Its process continues after a stop. */
void deadlock_client_thaw(struct deadlock_client *client);

/* Write what the tickets of ${want} say, but for what its owner holds. */
void deadlock_write_owner(struct deadlock_want *want);

/* Free what the clients and owners have allocated; the model is gone. */
void deadlock_free_clients(void);

/* -------------------------------------------------------- deadlock_owner.c */

/* The number of ${owner}, from 0. */
size_t deadlock_number(const struct deadlock_owner *owner);

void deadlock_trace(const struct deadlock_owner *owner, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Make another owner in ${client}. */
struct deadlock_owner *deadlock_owner_new(struct deadlock_client *client);

/* Let ${owner} do ${next} in ${ms}, instead of what it was to do next. */
void deadlock_plan(struct deadlock_owner *owner, uint64_t ms,
                   void (*next)(struct deadlock_owner *owner));

/* Let ${owner} wait for ${lock}, at most ${wait_ms}. */
void deadlock_acquire(struct deadlock_owner *owner, size_t lock,
                      enum hf_ticket_kind kind, uint32_t permits,
                      uint64_t wait_ms, enum deadlock_way way);

/* End the wait of ${owner}, if it waits. */
void deadlock_cancel(struct deadlock_owner *owner);

void deadlock_release_all(struct deadlock_owner *owner);

/* Pass a grant of ${owner} that names no owner on to another owner of its
 * client that does not wait, if there is one. */
void deadlock_pass_on(struct deadlock_owner *owner);

/* ${owner} asks for the release of ${want}. */
void deadlock_revoke(struct deadlock_owner *owner,
                     const struct deadlock_want *want);

/* Begin to run ${inner} in the command of ${owner}; it has ended. */
void deadlock_begin_inner(struct deadlock_owner *owner,
                          struct deadlock_owner *inner);
void deadlock_end_inner(struct deadlock_owner *inner);

/* The ticket by which ${want} holds its lock; does it hold it still? */
const struct hf_ticket_id *deadlock_ticket_of(const struct deadlock_want *want);
bool deadlock_is_held(const struct deadlock_want *want);

/* Does ${owner}, or one around it, hold ${lock}? */
bool deadlock_holds_lock(const struct deadlock_owner *owner, size_t lock);

/* Add what ${owner} itself holds to ${holds}, as far as its tickets say it. */
void deadlock_add_holds(const struct deadlock_owner *owner,
                        struct deadlock_holds *holds);

/* The core of its client has forgotten ${want}. */
void deadlock_forget(struct deadlock_want *want);

/* -------------------------------------------------------- deadlock_truth.c */

/* To be called after each event: note who is in a deadlock while it looks. */
void deadlock_truth_note(void);

/* The core of ${want}, which waits or has given up, gives up its ticket: keep a
 * copy of it as long as the ticket is in the queue. */
void deadlock_truth_keep(const struct deadlock_want *want);

/* Free those copies: all, or those whose ticket is gone. */
void deadlock_truth_free(bool all);

/* Is there one that looks, whose ticket says so, and that is in a deadlock of
 * owners whose tickets say what they hold? */
bool deadlock_truth_has_unfound(void);

/* ----------------------------------------------------- deadlock_workload.c */

void deadlock_workload_choose(void);
void deadlock_workload_start(uint64_t seed);
void deadlock_workload_begin(struct deadlock_owner *owner);
void deadlock_workload_continue(struct deadlock_owner *owner,
                                const struct deadlock_want *want,
                                hf_status status);
/* ${owner} is to end its wait and to release everything soon. */
void deadlock_workload_leave(struct deadlock_owner *owner);
/* No new waits. */
void deadlock_workload_stop(void);
void deadlock_workload_check_end(void);

/* ------------------------------------------------------- deadlock_cycle.c */

void deadlock_cycle_start(uint64_t seed);
void deadlock_cycle_continue(struct deadlock_owner *owner,
                             const struct deadlock_want *want,
                             hf_status status);
void deadlock_cycle_check_end(void);

/* -------------------------------------------------------- deadlock_many.c */

/* Choose how many owners there are. */
void deadlock_many_choose(void);
void deadlock_many_start(uint64_t seed);
void deadlock_many_continue(struct deadlock_owner *owner,
                            const struct deadlock_want *want, hf_status status);
void deadlock_many_check_end(void);

/* --------------------------------------------------------- deadlock_near.c */

void deadlock_near_start(uint64_t seed);
void deadlock_near_continue(struct deadlock_owner *owner,
                            const struct deadlock_want *want, hf_status status);
void deadlock_near_check_end(void);

/* Somebody deletes a ticket that ${owner} holds. */
void deadlock_evict_some(struct deadlock_owner *owner);

/* -------------------------------------------------------- deadlock_walk.c */

/* Make a client that walks over the names until the run ends. */
void deadlock_walk_start(uint64_t seed);

/* The engine has named queues, and the core has not taken it in yet.  Of
 * another client it is nothing. */
void deadlock_walk_named(const struct hf_event *event);

/* An operation of some client is answered. */
void deadlock_walk_answered(const struct hf_operation *operation);

void deadlock_walk_check_end(void);
void deadlock_walk_free(void);

#endif
