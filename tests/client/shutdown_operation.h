/* SPDX-License-Identifier: Apache-2.0 */
/* One operation of the public interface in a case of the shutdown sweep:
 * started in the way of the case.  It must end once, and its callbacks must
 * be dropped once. */
#ifndef HF_TESTS_SHUTDOWN_OPERATION_H
#define HF_TESTS_SHUTDOWN_OPERATION_H

#include "process.h"

struct script_run;
struct shutdown_operation;

/* The starting call and the waiting call of one operation; either may be
 * NULL. A starting call sets .op if it returns an hf_op. */
struct operation_calls {
    hf_status (*start)(struct shutdown_operation *operation,
                       struct hf_done done);
    hf_status (*wait_for)(struct shutdown_operation *operation);
    void (*after)(
        struct shutdown_operation *operation); /* at its end; may be NULL */
};

/* Operations on the handles of .run; .which and .grant say which. */
extern const struct operation_calls op_acquire, op_release, op_downgrade;
extern const struct operation_calls op_tickets, op_holders, op_waiters;
extern const struct operation_calls op_evict, op_request_release;
extern const struct operation_calls op_set, op_clear, op_wait;
extern const struct operation_calls op_enter, op_leave, op_participants;
extern const struct operation_calls op_campaign, op_lead, op_resign;
extern const struct operation_calls op_leader, op_candidates;
extern const struct operation_calls op_lock, op_unlock;
extern const struct operation_calls op_rdlock, op_wrlock, op_wrunlock;
extern const struct operation_calls op_close;

struct shutdown_operation {
    struct script_run *run;
    const struct operation_calls *calls;
    int which; /* index of a lock or participant; RIVAL: the rival's lock */
    int count; /* number of locks */
    uint64_t wait_ms;
    _Atomic(struct hf_grant *)
        grant; /* to release or downgrade, or what was granted */
    struct hf_tickets *tickets;
    struct hf_op *op;
    bool blocks;                  /* use the waiting call, whatever the way */
    bool releases_on_revoke;      /* release the grant in on_revoke */
    atomic_bool releases_at_once; /* release the grant as soon as it comes */
    hf_status refusal;            /* status of the starting call */
    pthread_t thread;
    bool joinable;
    int callbacks; /* that must be dropped */
    _Atomic int drops;
    _Atomic int losses;
    _Atomic int leads; /* of a candidate: 1 between on_elected and on_deposed */
    _Atomic int ended;
    hf_status status;
};
#define RIVAL (-1)

/* Take the next operation of ${run}, to be changed and then started. */
struct shutdown_operation *operation_next(struct script_run *run,
                                          const struct operation_calls *calls,
                                          int which, struct hf_grant *grant);
void operation_start(struct shutdown_operation *operation);

/* Both in one. */
struct shutdown_operation *operation_begin(struct script_run *run,
                                           const struct operation_calls *calls,
                                           int which, struct hf_grant *grant);

/* Mark a candidacy as ended, if it is not. */
void operation_end(struct shutdown_operation *operation, hf_status status);

bool operation_has_ended(void *arg); /* ${arg}: an operation */

/* ${arg}: a script_run */
bool operations_have_ended(void *arg);

/* Begin an operation and wait until it has succeeded. */
struct shutdown_operation *operation_finish(struct script_run *run,
                                            const struct operation_calls *calls,
                                            int which, struct hf_grant *grant);

/* Release the grant that ${operation} has, if any, without a callback. */
void operation_release_grant(struct shutdown_operation *operation);

/* After the client was closed: check that it ended once, and free what is
 * left. */
void operation_clean_up(struct shutdown_operation *operation);

/* After its handles were freed: each callback was dropped once. */
void operation_check_drops(const struct shutdown_operation *operation);

struct hf_lock *operation_lock(const struct shutdown_operation *operation);

#endif
