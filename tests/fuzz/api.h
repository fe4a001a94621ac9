/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public interface as a random program: its handles and operations, and the
 * properties that must hold.  A program is a list of steps of four bytes; each
 * step makes one call, if the handle that it needs exists.
 *
 * Files: api_*.c have the steps of one kind of handle each and check what they
 * return; api_operation.c follows operations to their end; api_exclusion.c
 * checks tokens and mutual exclusion.
 */
#ifndef HF_TESTS_FUZZ_API_H
#define HF_TESTS_FUZZ_API_H

#include <pthread.h>
#include <uv.h>

#include <holdfast/holdfast.h>

#include "fuzz.h"
#include "scheduler.h"
#include "sim_clients.h"

#define API_CLIENTS 6
#define API_LOCKS 16
#define API_OPERATIONS 160
#define API_GRANTS 32
#define API_ITEMS 4 /* locks acquired together */
#define API_FEW 6   /* of each other kind of handle */
#define API_WORKERS 2
#define API_OWNERS 4
#define API_NAMES 6
#define API_SESSION_MS 10000

/* One step: the call, and its three operands. */
struct api_step {
    uint8_t op, a, b, c;
};

enum api_way { API_UV, API_DISPATCH, API_THREAD, API_WAYS };

struct api_client {
    struct hf_client *client; /* NULL: never opened, or must not be used */
    bool used;
    enum api_way way;
    unsigned sim_client;
    unsigned busy; /* number of calls under way: it must not be closed */
    struct hf_client *closing; /* is closing, and still needs dispatching */
    bool closed;
    bool got_closed;
    unsigned drops;
};

/* A listener that is added to a client and removed again. */
struct api_listener {
    struct hf_listener *listener; /* NULL: never added, or removed */
    struct api_client *client;
    bool used, removed;
    unsigned drops;
};

struct api_lock {
    struct hf_lock *lock;
    struct api_client *client;
    unsigned name;
    enum hf_kind kind;
    uint32_t permits;
    unsigned busy;
};

/* What a grant allows on one lock: while it is valid, no other claim may
 * contradict it. */
struct api_claim {
    unsigned name;
    enum hf_kind kind;
    uint32_t permits;
    uint64_t token;
};

struct api_grant {
    struct hf_grant *grant;
    struct api_client *client;
    struct api_claim claims[API_ITEMS];
    unsigned count;
    unsigned busy;
};

/* An operation under way that ends with a callback, or a call that waits. */
struct api_operation {
    const char *call;
    struct api_client *client;
    uint64_t allowed;          /* statuses, one bit each */
    struct api_step next_step; /* is made inside the callback */
    struct hf_op *op;
    pthread_t thread; /* that starts it */
    bool used, begun, returned, ended;
    bool tries, waits_for_ever;
    bool acquires;
    unsigned drops, wanted_drops;
    struct api_grant wanted; /* what it is granted, if it is */
    struct api_grant *granted;
    bool released;
    void (*on_end)(struct api_operation *operation, hf_status status);
    void *subject;
};

struct api_election {
    struct hf_election *election;
    struct api_client *client;
    unsigned name;
    unsigned busy, drops;
    bool used, leads, is_idle, freed;
    struct api_step next_step;
};

struct api_barrier {
    struct hf_barrier *barrier;
    struct api_client *client;
    unsigned busy;
};

enum api_position { API_OUTSIDE, API_MOVING, API_INSIDE };

struct api_double {
    struct hf_double_barrier *barrier;
    struct api_client *client;
    bool used;
    unsigned busy;
    enum api_position state;
};

/* An hf_mutex or an hf_rwlock, and how often each owner has locked it. */
struct api_mutex {
    struct hf_mutex *mutex;
    struct hf_rwlock *rwlock;
    struct api_client *client;
    unsigned name;
    unsigned busy;
    struct {
        unsigned writes, reads;
        unsigned
            interruptions; /* interruptions of the session at the first lock */
        bool busy;
    } owners[API_OWNERS];
};

struct api_worker {
    pthread_t thread;
    struct api_step step;
    bool busy, quits;
};

struct api {
    struct hf_sim *sim;
    uv_loop_t loop;
    pthread_t main;
    bool fails;                /* allocations may have failed */
    bool leased;               /* sessions may be lost */
    bool ends;                 /* release whatever is granted from now on */
    bool unchecked[API_NAMES]; /* a ticket may have been evicted: do not check
                                  exclusion */
    uint64_t highest[API_NAMES], highest_alone[API_NAMES];
    uint32_t limit[API_NAMES];
    struct api_client clients[API_CLIENTS];
    struct api_listener listeners[API_FEW];
    struct api_lock locks[API_LOCKS];
    struct api_operation operations[API_OPERATIONS];
    struct api_grant grants[API_GRANTS];
    struct api_election elections[API_FEW];
    struct api_barrier barriers[API_FEW];
    struct api_double doubles[API_FEW];
    struct api_mutex mutexes[API_FEW];
    struct api_worker workers[API_WORKERS];
    char id[64]; /* of a ticket that was listed */
};

extern struct api api;

#define BIT(status) ((uint64_t)1 << (status))

/* The ${n}th element that exists, counting round; NULL if none exists.  For
 * structures that begin with their handle. */
void *api_choose(void *array, size_t count, size_t bytes, uint8_t n);
void *api_free_one(void *array, size_t count, size_t bytes);
#define CHOOSE(array, n)                                                       \
    api_choose(array, sizeof(array) / sizeof((array)[0]), sizeof((array)[0]), n)
#define FREE_ONE(array)                                                        \
    api_free_one(array, sizeof(array) / sizeof((array)[0]), sizeof((array)[0]))

/* The wait that ${byte} stands for; limited where the others run only when
 * this thread does. */
uint64_t api_wait_ms(uint8_t byte, bool blocks);

/* Must a call on ${client} that waits be refused on this thread? */
bool api_is_reentrant(const struct api_client *client);

/* A valid name, and an invalid one. */
const char *api_name(unsigned n);
const char *api_bad_name(unsigned n);

/* ${status}, which a call on this thread has just returned or the callback that
 * runs on it reports, must be one of ${allowed}, and the last error. */
void api_expect(const char *call, hf_status status, uint64_t allowed);

/* To be called before and after a call that waits: it was refused where it
 * had to be, and it returned in time. */
struct api_blocking {
    bool reentrant;
    uint64_t began_ms, wait_ms;
};
struct api_blocking api_blocks(const struct api_client *client,
                               uint64_t wait_ms);
/* True if it was not refused. */
bool api_blocked(const struct api_blocking *call, const char *name,
                 hf_status status, uint64_t allowed);

/* ------------------------------------------------------------ operations -- */

/* NULL if there are too many.  ${next_step} is made inside the callback. */
struct api_operation *api_operation(const char *call, struct api_client *client,
                                    uint64_t allowed,
                                    const struct api_step *next_step);
struct hf_done api_done(struct api_operation *operation);
void api_drop(void *arg);
/* The starting call has returned ${status}. */
void api_started(struct api_operation *operation, hf_status status,
                 uint64_t allowed);
/* The call that waits has returned. */
void api_finished(struct api_operation *operation);

/* ---------------------------------------------------------------- claims -- */

/* Keep ${grant} of ${operation}; release it at once if there is no room. */
void api_keep(struct api_operation *operation, struct hf_grant *grant);
/* Check that all valid claims are compatible. */
void api_check(void);

/* ----------------------------------------------------------------- steps -- */

/* Make one step, on any thread and inside any callback. */
void api_step(const struct api_step *step, bool inside);
/* The same inside a callback. */
void api_step_inside(const struct api_step *step);

void api_client_open(const struct api_step *s);
void api_client_close(const struct api_step *s, bool inside);
void api_client_look(const struct api_step *s);
/* Was the .drop of each listener called? */
bool api_listeners_all_dropped(void);

void api_lock_open(const struct api_step *s);
void api_lock_free(const struct api_step *s);
void api_lock_set_limit(const struct api_step *s);
void api_acquire(const struct api_step *s);
void api_acquire_start(const struct api_step *s);
void api_acquire_all(const struct api_step *s);
void api_cancel(const struct api_step *s);
void api_op_free(const struct api_step *s);

void api_release(const struct api_step *s);
void api_release_start(const struct api_step *s);
void api_release_one(struct api_grant *grant);
void api_downgrade(const struct api_step *s);
void api_grant_look(const struct api_step *s);

void api_list(const struct api_step *s);
void api_evict(const struct api_step *s);
void api_request_release(const struct api_step *s);

void api_election_open(const struct api_step *s);
void api_election_run(const struct api_step *s);
void api_election_resign(const struct api_step *s);
void api_election_look(const struct api_step *s);
void api_election_free(const struct api_step *s);

void api_barrier_open(const struct api_step *s);
void api_barrier_call(const struct api_step *s);
void api_barrier_free(const struct api_step *s);

void api_double_open(const struct api_step *s);
void api_double_move(const struct api_step *s);
void api_double_free(const struct api_step *s);

void api_mutex_open(const struct api_step *s);
void api_mutex_lock(const struct api_step *s);
void api_mutex_unlock(const struct api_step *s);
void api_mutex_unlock_all(struct api_mutex *counted);
void api_mutex_look(const struct api_step *s);
void api_mutex_free(const struct api_step *s);
/* Was the .drop of each mutex and read/write lock called? */
bool api_mutex_all_dropped(void);

void api_misuse(const struct api_step *s);

#endif
