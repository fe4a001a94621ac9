/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elections: a candidate that campaigns in the background, leads and resigns.
 */
#ifndef HOLDFAST_ELECTION_H
#define HOLDFAST_ELECTION_H

#include <holdfast/tickets.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hf_election; /* a candidate for a leadership */

/* Called about a leadership of this candidate, which has the fencing token
 * ${token}. */
struct hf_on_election {
    void (*fn)(void *arg, struct hf_election *election, uint64_t token);
    void *arg;
    void (*drop)(void *arg);
};

/* Called when a campaign has ended for good without a resignation; ${why} is
 * what hf_last_error() has here, and valid until the callback returns.
 * hf_election_campaign_start() begins another campaign, from here as well.  If
 * the next campaign begins before this could be called, it is called all the
 * same, before on_elected of that campaign. */
struct hf_on_ended {
    void (*fn)(void *arg, struct hf_election *election,
               const struct hf_error *why);
    void *arg;
    void (*drop)(void *arg);
};

/* The longest id of a candidate, in bytes without a NUL. */
#define HF_ELECTION_ID_BYTES 255

struct hf_election_opts {
    size_t size; /* set by HF_ELECTION_OPTS_INIT */
    /* HF_KIND_ELECTION, which is Curator's LeaderLatch in ZooKeeper; or
     * HF_KIND_MUTEX, whose queue Curator's LeaderSelector and kazoo's Election
     * use, and any mutex of that name. */
    enum hf_kind kind;
    const char *text; /* as in struct hf_acquire_opts */
    /* This candidate leads, and does not lead any more.  They alternate,
     * on_elected first.  A leadership that was over before it could be reported
     * is reported only if the program has seen it: hf_election_wait() has ended
     * with it, or hf_election_token() has returned its token.  Then both are
     * called after its loss.  If several were over like that, one report may
     * stand for all of them, after the last.  on_deposed comes before anything
     * else that follows from the same loss, and hf_last_error() says there why
     * it was lost: HF_ELOST and the reason.  Not called for a resignation. */
    struct hf_on_election on_elected;
    struct hf_on_election on_deposed;
    /* Another program asks this candidate to resign while it leads, or asked
     * while it waited: as struct hf_on_revoke. */
    struct hf_on_election on_revoke;
    struct hf_on_ended on_ended;
    /* The candidate's id, shown as it is.  Its tickets say nothing else, also
     * to other libraries (Curator's Participant.getId(), kazoo's contenders()),
     * and in .owner of struct hf_ticket_view.  At most HF_ELECTION_ID_BYTES of
     * UTF-8 without control characters.  NULL: the tickets say of their owner
     * what all tickets of this library say, host and pid included, with .text.
     * An id and a text exclude each other. */
    const char *id;
};
#define HF_ELECTION_OPTS_INIT                                                  \
    {                                                                          \
        sizeof(struct hf_election_opts), HF_KIND_ELECTION, NULL,               \
            {NULL, NULL, NULL}, {NULL, NULL, NULL}, {NULL, NULL, NULL},        \
            {NULL, NULL, NULL}, NULL                                           \
    }

/**
 * hf_election_opts_init(opts, size):
 * As hf_client_opts_init(), to HF_ELECTION_OPTS_INIT.
 *   Thread    any.
 */
HF_API void hf_election_opts_init(struct hf_election_opts *opts, size_t size)
    HF_NONNULL(1);

/**
 * hf_election_open(client, name, opts, election):
 * Set ${election} to a possible candidate for the leadership of ${name}.  No
 * request is made.
 *   Ownership as hf_lock_open(); ${opts} (NULL: all defaults) are copied, .text
 *             and .id included.  ${election} must be freed with
 *             hf_election_free().
 *   Callback  those of ${opts}, between hf_election_campaign_start() and the
 *             end of hf_election_resign() or of hf_election_free().
 *   Fails     as hf_lock_open().
 */
HF_API hf_status hf_election_open(struct hf_client *client, const char *name,
                                  const struct hf_election_opts *opts,
                                  struct hf_election **election)
    HF_NONNULL(1, 2, 4) HF_MUST_CHECK;

/**
 * hf_election_free(election):
 * Free ${election} (NULL is fine).  If it is a candidate it resigns in the
 * background, and waits for it end with HF_ECANCELLED.  No callback of
 * ${election} comes after this: the one that runs has returned, those that were
 * queued do not run, and each .drop has been called.  Inside a callback of this
 * library this does not wait: a callback of ${election} that runs then, this
 * one or one on another thread, goes on, and each .drop comes right after it.
 *   Time      until a callback of ${election} that runs on another thread has
 *             returned.
 */
HF_API void hf_election_free(struct hf_election *election);

/**
 * hf_election_campaign_start(election):
 * Campaign for the leadership, in the background: enter the queue, lead when it
 * is our turn, and enter the queue again at the tail whenever the leadership or
 * the session is lost, until hf_election_resign().  HF_OK if it is a candidate
 * already.
 *   Callback  on_elected, on_deposed and on_revoke; on_ended with what
 *             hf_lock_acquire() fails with, HF_ECLOSED included.
 *   Fails     HF_ESTATE while a resignation is under way; HF_ECLOSED HF_ELIMIT
 *             HF_ENOMEM HF_EFORKED.
 */
HF_API hf_status hf_election_campaign_start(struct hf_election *election)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_election_wait(election, wait_ms):
 * Wait until ${election} leads.  HF_OK means that it has led at some moment
 * since this call.  It may return before on_elected is called, which runs where
 * callbacks do.  A wait survives a lost session, as the campaign does, and the
 * end of the wait leaves the campaign as it is.
 *   Time      at most ${wait_ms}.
 *   Fails     HF_ETIMEDOUT; HF_EBUSY if ${wait_ms} is 0 and another candidate
 *             is ahead; HF_ESTATE if it is not a candidate, because
 *             hf_election_campaign_start() was not called or because it
 *             resigns; HF_ECANCELLED if it resigned during the wait; the status
 *             of on_ended, if the candidacy ended, also before this call;
 *             HF_EUNREACHABLE if there was no connection, or for a ${wait_ms}
 *             of 0 no answer; HF_ECLOSED HF_ELIMIT HF_EREENTRANT HF_EFORKED.
 */
HF_API hf_status hf_election_wait(struct hf_election *election,
                                  uint64_t wait_ms) HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_election_wait_start(election, wait_ms, done, op):
 * Begin hf_election_wait().  Set ${op}, if not NULL, to a handle for
 * hf_op_cancel() that must be freed with hf_op_free().
 *   Callback  ${done} once, with HF_OK or with a status that hf_election_wait()
 *             fails with; HF_ECANCELLED also if the wait was cancelled, which
 *             leaves the candidacy as it is, or ${election} was freed.
 *   Fails     HF_ESTATE, or as the candidacy ended, as hf_election_wait();
 *             HF_ECLOSED HF_ELIMIT HF_ENOMEM HF_EFORKED.
 */
HF_API hf_status hf_election_wait_start(struct hf_election *election,
                                        uint64_t wait_ms, struct hf_done done,
                                        struct hf_op **op)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_election_resign(election):
 * End the campaign and the leadership.  HF_OK means that nothing of ${election}
 * is in the queue or can appear there, that none of its callbacks runs, and
 * that none will before the next hf_election_campaign_start(); also if it was
 * not a candidate.
 *   Time      as hf_grant_release(), and until a callback of ${election} that
 *             runs has returned.
 *   Fails     HF_ESTATE if this is under way; HF_EDENIED if the engine let this
 *             client make its ticket and does not let it remove it: the ticket
 *             is then there until the client is closed, unless that changes;
 *             HF_EREENTRANT HF_EFORKED.
 */
HF_API hf_status hf_election_resign(struct hf_election *election) HF_NONNULL(1);

/**
 * hf_election_resign_start(election, done):
 * Begin hf_election_resign().  ${election} does not lead any more when this
 * returns.
 *   Callback  ${done} once, with HF_OK or HF_EDENIED.
 *   Fails     HF_ESTATE HF_ELIMIT HF_EFORKED; HF_ECLOSED if ${done} has a
 *             function and the client is being closed, so that no thread can
 *             call it.
 */
HF_API hf_status hf_election_resign_start(struct hf_election *election,
                                          struct hf_done done)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_election_is_leader(election), hf_election_token(election),
 * hf_election_safe_until_ms(election):
 * Whether this candidate leads; the fencing token of its leadership, 0 if it
 * does not lead; until when no other candidate can lead, as
 * hf_grant_safe_until_ms(), 0 if it does not lead.  They change before
 * on_elected and on_deposed are called.  A candidate that is deposed is one
 * again at once, so between two looks it may have lost the leadership and won
 * it again: then the token is greater.  A write that depends on the leadership
 * needs the token: see hf_grant_token().  With proof=lazy in a ZooKeeper URL it
 * leads until the session is known to be over, also when safe-until is past,
 * and no call of an election has it proven.
 *   Thread    any; also async-signal-safe.
 */
HF_API bool hf_election_is_leader(const struct hf_election *election)
    HF_NONNULL(1);
HF_API uint64_t hf_election_token(const struct hf_election *election)
    HF_NONNULL(1);
HF_API uint64_t hf_election_safe_until_ms(const struct hf_election *election)
    HF_NONNULL(1);

/**
 * hf_election_tickets(election, which, wait_ms, tickets):
 * Set ${tickets} to those of all candidates, the leader first, or to that of
 * the leader (HF_TICKETS_HOLDERS: none if there is no leader), or to those of
 * the other candidates.  ${election} need not be a candidate.
 *   Time, Ownership, Fails  as hf_lock_tickets().
 */
HF_API hf_status hf_election_tickets(struct hf_election *election,
                                     enum hf_tickets_which which,
                                     uint64_t wait_ms,
                                     struct hf_tickets **tickets)
    HF_NONNULL(1, 4) HF_MUST_CHECK;

/**
 * hf_election_tickets_start(election, which, wait_ms, done):
 * Begin hf_election_tickets(), as hf_lock_tickets_start().
 */
HF_API hf_status hf_election_tickets_start(struct hf_election *election,
                                           enum hf_tickets_which which,
                                           uint64_t wait_ms,
                                           struct hf_done done)
    HF_NONNULL(1) HF_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
