/* SPDX-License-Identifier: Apache-2.0 */
/* One operation of the public API in a cell: begun in the cell's way, heard of
 * once, and whoever is told of it dropped once. */
#ifndef HF_TESTS_DEED_H
#define HF_TESTS_DEED_H

#include "kit.h"

struct play;
struct deed;

/* A pair of calls of one meaning, either of which may be NULL: .op is set by
 * those that have one. */
struct call {
    hf_status (*start)(struct deed *deed, struct hf_done done);
    hf_status (*wait_for)(struct deed *deed);
    void (*after)(struct deed *deed); /* may be NULL */
};

/* Calls that take a deed's play, .which and .grant. */
extern const struct call call_acquire, call_release, call_downgrade;
extern const struct call call_tickets, call_holders, call_waiters;
extern const struct call call_evict, call_request;
extern const struct call call_raise, call_lower, call_wait;
extern const struct call call_enter, call_leave, call_members;
extern const struct call call_run, call_lead, call_resign;
extern const struct call call_leader, call_candidates;
extern const struct call call_lock, call_unlock;
extern const struct call call_rdlock, call_wrlock, call_wrunlock;
extern const struct call call_close;

struct deed {
    struct play *play;
    const struct call *call;
    int which; /* of the play's locks or parties; RIVAL: its rival */
    int count; /* of locks */
    uint64_t wait_ms;
    _Atomic(struct hf_grant *) grant; /* that it is about, or that it gave */
    struct hf_tickets *tickets;
    struct hf_op *op;
    bool waits;             /* on a thread of its own, whatever the way */
    bool obliges;           /* releases when it is asked to */
    atomic_bool gives_back; /* what it is granted, at once */
    hf_status refusal;      /* of the call that starts */
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
struct deed *deed_next(struct play *play, const struct call *call, int which,
                       struct hf_grant *grant);
void deed_start(struct deed *deed);

/* Both in one. */
struct deed *deed_begin(struct play *play, const struct call *call, int which,
                        struct hf_grant *grant);

/* A candidacy has, unless it has before. */
void deed_end(struct deed *deed, hf_status status);

bool deed_has_ended(void *arg); /* a deed */

/* Every deed of the play has. */
bool deeds_have_ended(void *arg);

/* Begin, and see it end well. */
struct deed *deed_done(struct play *play, const struct call *call, int which,
                       struct hf_grant *grant);

/* Release the grant that ${deed} has, nobody being told. */
void deed_give_back(struct deed *deed);

/* After the client was closed: what is left of it.  It has ended once. */
void deed_forget(struct deed *deed);

/* After its handles are gone too: each of its callbacks was dropped once. */
void deed_judge_drops(const struct deed *deed);

struct hf_lock *deed_lock(const struct deed *deed);

#endif
