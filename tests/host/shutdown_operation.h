/* SPDX-License-Identifier: Apache-2.0 */
/* One operation of the public API in a cell: begun in the cell's way, heard of
 * once, and whoever is told of it dropped once. */
#ifndef HF_TESTS_SHUTDOWN_OPERATION_H
#define HF_TESTS_SHUTDOWN_OPERATION_H

#include "process.h"

struct script_run;
struct shutdown_operation;

/* A pair of calls of one meaning, either of which may be NULL: .op is set by
 * those that have one. */
struct operation_calls {
    hf_status (*start)(struct shutdown_operation *operation,
                       struct hf_done done);
    hf_status (*wait_for)(struct shutdown_operation *operation);
    void (*after)(struct shutdown_operation *operation); /* may be NULL */
};

/* Calls that take a deed's play, .which and .grant. */
extern const struct operation_calls op_acquire, op_release, op_downgrade;
extern const struct operation_calls op_tickets, op_holders, op_waiters;
extern const struct operation_calls op_evict, op_request_release;
extern const struct operation_calls op_raise, op_lower, op_wait;
extern const struct operation_calls op_enter, op_leave, op_participants;
extern const struct operation_calls op_campaign, op_lead, op_resign;
extern const struct operation_calls op_leader, op_candidates;
extern const struct operation_calls op_lock, op_unlock;
extern const struct operation_calls op_rdlock, op_wrlock, op_wrunlock;
extern const struct operation_calls op_close;

struct shutdown_operation {
    struct script_run *run;
    const struct operation_calls *calls;
    int which; /* of the play's locks or parties; RIVAL: its rival */
    int count; /* of locks */
    uint64_t wait_ms;
    _Atomic(struct hf_grant *) grant; /* that it is about, or that it gave */
    struct hf_tickets *tickets;
    struct hf_op *op;
    bool blocks;                  /* on a thread of its own, whatever the way */
    bool releases_on_revoke;      /* releases when it is asked to */
    atomic_bool releases_at_once; /* what it is granted, at once */
    hf_status refusal;            /* of the call that starts */
    pthread_t thread;
    bool joinable;
    int callbacks; /* that will be dropped */
    _Atomic int drops;
    _Atomic int losses;
    _Atomic int leads; /* of a candidate: 1 while it does, as it was told */
    _Atomic int ended;
    hf_status status;
};
#define RIVAL (-1)

/* The next deed of ${play}, to be filled in, and started. */
struct shutdown_operation *operation_next(struct script_run *run,
                                          const struct operation_calls *calls,
                                          int which, struct hf_grant *grant);
void operation_start(struct shutdown_operation *operation);

/* Both in one. */
struct shutdown_operation *operation_begin(struct script_run *run,
                                           const struct operation_calls *calls,
                                           int which, struct hf_grant *grant);

/* A candidacy has, unless it has before. */
void operation_end(struct shutdown_operation *operation, hf_status status);

bool operation_has_ended(void *arg); /* a deed */

/* Every deed of the play has. */
bool operations_have_ended(void *arg);

/* Begin, and see it end well. */
struct shutdown_operation *operation_finish(struct script_run *run,
                                            const struct operation_calls *calls,
                                            int which, struct hf_grant *grant);

/* Release the grant that ${deed} has, nobody being told. */
void operation_release_grant(struct shutdown_operation *operation);

/* After the client was closed: what is left of it.  It has ended once. */
void operation_clean_up(struct shutdown_operation *operation);

/* After its handles are gone too: each of its callbacks was dropped once. */
void operation_check_drops(const struct shutdown_operation *operation);

struct hf_lock *operation_lock(const struct shutdown_operation *operation);

#endif
