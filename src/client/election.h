/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An election: a candidacy in the background.  Each candidacy is one grant, and
 * the next one begins when that is lost.
 *
 *   IDLE         no candidacy
 *   CAMPAIGNING  .grant is requested and waits
 *   LEADING      .grant is held
 *   LEAVING      .grant is being removed, because of a resignation or a free
 *
 * The state changes while effects of the core are carried out
 * (election_candidacy.c), so it goes on where no thread runs callbacks.  The
 * user is notified separately (election_events.c).  election.c has the public
 * calls, but for those that wait (election_wait.c).
 *
 * An election is kept alive by the user's handle, by each of its candidacies
 * until the core is done with it, by a resignation until its end was reported,
 * by calls that wait, and by its callbacks that are queued.
 */
#ifndef HF_CLIENT_ELECTION_H
#define HF_CLIENT_ELECTION_H

#include <stdatomic.h>

#include <holdfast/election.h>

#include "client/grant.h"
#include "operation/user_callback.h"
#include "operation/user_op.h"

enum hf_election_state {
    HF_ELECTION_IDLE,
    HF_ELECTION_CAMPAIGNING,
    HF_ELECTION_LEADING,
    HF_ELECTION_LEAVING
};

/* How far a resignation has come; NONE again once its end was taken, if anybody
 * waits for it. */
enum hf_resignation {
    HF_RESIGNATION_NONE,
    HF_RESIGNATION_LEAVING,
    HF_RESIGNATION_LEFT, /* the candidacy is over: it can be answered */
    /* The call that waits is answered, and has still to take .outcome; until
     * then nothing may change that. */
    HF_RESIGNATION_ANSWERED,
};

/* All fields under the client's lock, where nothing else is said. */
/* Is a candidacy that has ended unasked to be reported? */
enum hf_end_report {
    HF_END_REPORT_NONE,
    HF_END_REPORT_DUE,      /* behind a leadership that was missed */
    HF_END_REPORT_DUE_FIRST /* ahead of it, because it came later */
};

struct hf_election {
    struct hf_client *client;
    struct hf_lock *lock; /* its name and kind; set once */
    unsigned references;  /* see above */
    /* The user's options; their texts are in .text_or_id. */
    struct hf_election_opts opts;
    /* A copy of the text or the id in the options. */
    char text_or_id[HF_ELECTION_ID_BYTES + 1];
    unsigned state;         /* enum hf_election_state */
    struct hf_grant *grant; /* the candidacy; NULL if IDLE */

    /* The token of the grant if LEADING, else 0.  Any thread may read it
     * without the lock. */
    _Atomic uint64_t token;
    /* Does safe-until of the session hold for this leadership?  False from the
     * loss on, before the user is notified.  Any thread may read it; at a loss
     * the core clears it. */
    _Atomic bool valid;
    /* Has hf_election_token() returned .token, or a wait ended with it?  Any
     * thread may set it without the lock. */
    _Atomic bool token_seen;
    uint64_t elected_at_ms; /* when the last leadership began, by hf_now_ms() */
    /* The backoff of candidacies after short leaderships. */
    uint32_t campaign_tries;

    struct hf_callback event_callback; /* one for all events */
    struct hf_user_callback user;      /* around the functions of the user */
    /* The token of the leadership that on_elected has reported and whose end
     * was not reported yet; 0: there is none. */
    uint64_t notified_token;
    /* The last leadership that the program has seen and that was over before
     * on_elected could report it; 0: there is none.  Then .notified_token is 0.
     */
    uint64_t missed_token;
    struct hf_error loss; /* why the leadership of one of them is over */
    bool revoke_pending;  /* a release was asked for; to be reported */
    enum hf_end_report end_report;
    /* Why it is IDLE, or was before this campaign, because on_ended may report
     * that later.  HF_OK: it was not asked to campaign, or it resigned. */
    struct hf_error idle_reason;

    enum hf_resignation resignation;
    struct hf_error outcome; /* how the resignation ended */
    struct hf_user_op resign_op;

    struct hf_deferred_free deferred;
};

/* Keep it alive, and drop a reference.  It is destroyed after the lock was
 * released. */
void hf_election_reference(struct hf_election *election);
void hf_election_dereference(struct hf_election *election);

/* ---------------------------------------------------- election_events.c -- */

/* Events that the user is notified of, one at a time: it leads, it does not
 * lead any more, somebody asks it to resign, its candidacy has ended, and how a
 * resignation ended.
 *
 * One callback serves the first four.  When it runs, it compares what the user
 * was notified of last with what is true now.  So on_elected and on_deposed
 * alternate and the last event is always the truth.  A leadership that was over
 * before the callback ran is reported, by both, only if the program has seen it
 * otherwise: it may have begun to rely on it, and waits for on_deposed.
 *
 * All with the client's lock, where nothing else is said. */

/* Set the callbacks of a new election. */
void hf_election_init_events(struct hf_election *election);

/* Something has changed: queue the callback, unless there is no event to
 * report. */
void hf_election_notify(struct hf_election *election);

/* Forget the events that were not reported yet. */
void hf_election_discard_events(struct hf_election *election);

/* End the resignation if its candidacy is over and no callback of the election
 * runs; else nothing. */
void hf_election_answer_resign(struct hf_election *election);

/* Call the .drop of the callbacks in ${opts}.  Without the lock. */
void hf_election_drop_opts(const struct hf_election_opts *opts);

/* ------------------------------------------------------ election_wait.c -- */

/* A wait until a candidate leads, with a deadline of its own.  The candidacy
 * goes on whatever the wait ends with.  A wait that was started is kept alive
 * by its callback and by the user's operation handle; a wait that blocks is on
 * the stack of its caller.  All fields under the client's lock. */
struct hf_election_wait {
    struct hf_user_op user_op;
    /* The election; not used any more once the wait has ended. */
    struct hf_election *election;
    struct hf_client *client; /* the election's */
    bool only_try; /* end with HF_EBUSY if another candidate is ahead */
    uint64_t started_at_ms; /* by hf_now_ms() */
    /* In the client's heap, if there is a deadline. */
    struct hf_heap_node deadline;
    bool ended;
    struct hf_error outcome;
    struct hf_election_wait *next; /* in the client's list, until it ends */
};

/* All with the client's lock. */

/* End every wait for ${election} with ${why}; or with HF_ECANCELLED for
 * ${reason}, which is something that the user did. */
void hf_election_waits_end(struct hf_election *election,
                           const struct hf_error *why);
void hf_election_waits_cancel(struct hf_election *election, const char *reason);

/* The core has reported the position of the election's ticket: if another
 * candidate is ahead, end the waits that only try. */
void hf_election_waits_end_tries(struct hf_election *election);

/* End the waits of ${client} whose deadline has passed. */
void hf_election_waits_expire(struct hf_client *client);

/* ------------------------------------------------- election_candidacy.c -- */

/* One candidacy is one grant, from the request for its ticket until the ticket
 * is removed.  It is the leadership as soon as the grant is granted.  A
 * candidacy whose grant is lost is released, and the next one begins in the
 * same turn of the loop.  If the leadership was short, the next ticket waits as
 * a retry does.
 *
 * All with the client's lock. */

/* Begin a candidacy; the election is IDLE.  Its ticket is not requested before
 * ${not_before_ms} of hf_now_ms().  HF_ENOMEM with ${error}. */
hf_status hf_candidacy_begin(struct hf_election *election,
                             uint64_t not_before_ms, struct hf_error *error);

/* End the candidacy, if there is one, because the election resigns or is freed.
 * hf_candidacy_left() follows, perhaps at once. */
void hf_candidacy_leave(struct hf_election *election);

/* A candidacy that was to end has ended: nothing of ${election} is in the queue
 * any more, or ${why} says why something still is (HF_EDENIED).  Answers a
 * resignation. */
void hf_candidacy_left(struct hf_election *election,
                       const struct hf_error *why);

/* The effect of ${kind} on ${grant} was carried out; ${grant} is a candidacy of
 * ${election}.  Changes the state of the election. */
void hf_candidacy_handle_effect(struct hf_election *election,
                                struct hf_grant *grant,
                                enum hf_effect_kind kind);

#endif
