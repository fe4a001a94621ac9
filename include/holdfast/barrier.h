/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Barriers and double barriers.
 */
#ifndef HOLDFAST_BARRIER_H
#define HOLDFAST_BARRIER_H

#include <holdfast/tickets.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hf_barrier;
struct hf_double_barrier;

/* -------------------------------------------------------------- barrier -- */

/*
 * A barrier holds up whoever waits at it for as long as it is up.  Anybody may
 * raise it and anybody lower it; it belongs to nobody and outlives the client
 * that raised it: in ZooKeeper it is a persistent node, the one that Curator's
 * DistributedBarrier makes, and on files it stays as long as the directory
 * does, which on a tmpfs is until the machine goes down.
 */

/**
 * hf_barrier_open(client, name, barrier):
 * Set ${barrier} to a handle for the barrier called ${name}.  No request is
 * made: it is down unless somebody has raised it.  Names are those of locks;
 * give a barrier one of its own, that no lock has nor any name below it.
 *   Ownership ${name} is copied.  ${barrier} wants hf_barrier_free() and keeps
 *             the memory of ${client} alive.
 *   Fails     as hf_lock_open(); the text is at hf_client_error().
 */
HF_API hf_status hf_barrier_open(struct hf_client *client, const char *name,
                                 struct hf_barrier **barrier)
    HF_NONNULL(1, 2, 3) HF_MUST_CHECK;

/**
 * hf_barrier_free(barrier):
 * Free ${barrier} (NULL is fine).  The barrier stays as it is, and operations
 * under way go on.
 */
HF_API void hf_barrier_free(struct hf_barrier *barrier);

/**
 * hf_barrier_error(barrier, error):
 * Copy the last failure on ${barrier} to ${error}, as hf_lock_error() does.
 *   Ownership ${error} is yours.
 */
HF_API void hf_barrier_error(const struct hf_barrier *barrier,
                             struct hf_error *error) HF_NONNULL(1, 2);

/**
 * hf_barrier_raise(barrier, wait_ms), hf_barrier_lower(barrier, wait_ms):
 * See that it is up, or down, whoever made it so and whether or not it was
 * before.
 *   Time      at most ${wait_ms}; HF_FOREVER: no limit but that of the first
 *             connection.  After HF_ETIMEDOUT and HF_ECLOSED it may have
 *             been done, or may yet be.
 *   Fails     HF_EKIND if, in ZooKeeper, its node has others below it;
 *             HF_ETIMEDOUT HF_EUNREACHABLE HF_ECLOSED HF_EDENIED HF_EDIR
 *             HF_EFULL HF_ELIMIT HF_ENOMEM HF_EPROTOCOL HF_EREENTRANT
 *             HF_EFORKED.
 */
HF_API hf_status hf_barrier_raise(struct hf_barrier *barrier, uint64_t wait_ms)
    HF_NONNULL(1) HF_MUST_CHECK;
HF_API hf_status hf_barrier_lower(struct hf_barrier *barrier, uint64_t wait_ms)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_barrier_wait(barrier, wait_ms):
 * Wait until it was down at some moment since this call; at once if it is.
 * Whatever wakes the wait, it looks before it ends: it rides out a lost
 * connection and a lost session.
 *   Time      at most ${wait_ms}; 0: one answer of the engine, at most
 *             connect_ms of the client.
 *   Fails     HF_ETIMEDOUT; HF_EBUSY if ${wait_ms} is 0 and it is up; and as
 *             hf_barrier_raise().
 */
HF_API hf_status hf_barrier_wait(struct hf_barrier *barrier, uint64_t wait_ms)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_barrier_raise_start(barrier, wait_ms, done),
 * hf_barrier_lower_start(barrier, wait_ms, done),
 * hf_barrier_wait_start(barrier, wait_ms, done, op):
 * Begin hf_barrier_raise() and so on.  Set ${op}, if not NULL, to a handle for
 * hf_op_cancel() that wants hf_op_free().
 *   Callback  ${done} once, with HF_OK or with a status; HF_ECANCELLED from a
 *             wait that was cancelled.
 *   Fails     HF_ECLOSED HF_ELIMIT HF_ENOMEM HF_EFORKED.
 */
HF_API hf_status hf_barrier_raise_start(struct hf_barrier *barrier,
                                        uint64_t wait_ms, struct hf_done done)
    HF_NONNULL(1) HF_MUST_CHECK;
HF_API hf_status hf_barrier_lower_start(struct hf_barrier *barrier,
                                        uint64_t wait_ms, struct hf_done done)
    HF_NONNULL(1) HF_MUST_CHECK;
HF_API hf_status hf_barrier_wait_start(struct hf_barrier *barrier,
                                       uint64_t wait_ms, struct hf_done done,
                                       struct hf_op **op)
    HF_NONNULL(1) HF_MUST_CHECK;

/* ------------------------------------------------------- double barrier -- */

/*
 * A double barrier has its parties begin together and end together: they enter
 * once so many are there, and leave once all who were let in want to.  Whatever
 * wakes somebody, he goes on only for what he then sees: to enter, that so many
 * were there at one time since he came; to leave, that nobody of his round is
 * there.  Who comes when the others are in, and makes them so many, is let in
 * to them.  In ZooKeeper it is what Curator's DistributedDoubleBarrier makes.
 */

/* The most parties that one waits for. */
#define HF_PARTIES_MAX 128

/**
 * hf_double_barrier_open(client, name, parties, barrier):
 * Set ${barrier} to a handle for one party to the double barrier called
 * ${name}, outside of it.  No request is made.  Names are those of locks; give
 * it one of its own, that no lock has nor any name below it, and the same
 * ${parties} everywhere.
 *   Ownership ${name} is copied.  ${barrier} wants hf_double_barrier_free() and
 *             keeps the memory of ${client} alive.
 *   Fails     as hf_lock_open(); HF_EINVAL if ${parties} is 0 or more than
 *             HF_PARTIES_MAX.  The text is at hf_client_error().
 */
HF_API hf_status hf_double_barrier_open(struct hf_client *client,
                                        const char *name, uint32_t parties,
                                        struct hf_double_barrier **barrier)
    HF_NONNULL(1, 2, 4) HF_MUST_CHECK;

/**
 * hf_double_barrier_free(barrier):
 * Free ${barrier} (NULL is fine).  Who is inside is taken out and waits for
 * nobody; what is under way goes on, and who then would be inside is not.
 */
HF_API void hf_double_barrier_free(struct hf_double_barrier *barrier);

/**
 * hf_double_barrier_error(barrier, error):
 * Copy the last failure on ${barrier} to ${error}, as hf_lock_error() does.
 *   Ownership ${error} is yours.
 */
HF_API void hf_double_barrier_error(const struct hf_double_barrier *barrier,
                                    struct hf_error *error) HF_NONNULL(1, 2);

/**
 * hf_double_barrier_enter(barrier, wait_ms):
 * Come, and wait until all parties have.  A lost connection is ridden out;
 * after a lost session it comes anew.  Unless this is HF_OK, it is outside, and
 * taken out of those who are counted as soon as the engine can be asked to.
 *   Time      at most ${wait_ms}; 0: one answer of the engine, at most
 *             connect_ms of the client.
 *   Fails     HF_ETIMEDOUT; HF_EBUSY if ${wait_ms} is 0 and too few are there;
 *             HF_ESTATE unless it is outside; HF_EUNREACHABLE HF_ECLOSED
 *             HF_EDENIED HF_EDIR HF_EFULL HF_ELIMIT HF_ENOMEM HF_EPROTOCOL
 *             HF_EREENTRANT HF_EFORKED HF_EUNSUPPORTED.
 */
HF_API hf_status hf_double_barrier_enter(struct hf_double_barrier *barrier,
                                         uint64_t wait_ms)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_double_barrier_leave(barrier, wait_ms):
 * Wait until all who were let in with this one, or before, leave too, or are
 * gone: who dies, or loses his session, holds up nobody.  Whatever the answer,
 * but for HF_ESTATE, HF_EREENTRANT and HF_EFORKED, it then is outside.
 *   Time      at most ${wait_ms}, and what it takes to be taken out, as with
 *             hf_grant_release(); 0: without waiting for others.
 *   Fails     HF_ELOST if the session was lost since it entered, or its ticket
 *             was not confirmed to be there (see hf_grant_release()), so that
 *             the others may have left without it; HF_ETIMEDOUT, or HF_EBUSY if
 *             ${wait_ms} is 0, if others are there; HF_ESTATE unless it is
 *             inside; else as hf_double_barrier_enter().
 */
HF_API hf_status hf_double_barrier_leave(struct hf_double_barrier *barrier,
                                         uint64_t wait_ms)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_double_barrier_participants(barrier, wait_ms, members),
 * hf_double_barrier_participants_start(barrier, wait_ms, done):
 * Set ${members} to those who are there now, in the order in which they came,
 * as hf_lock_tickets() does; .holds of those who have been let in.
 *   Ownership ${members} wants hf_tickets_free().
 *   Callback  ${done} once, with the list or with a status.
 *   Fails     as hf_lock_tickets(), and with HF_EUNSUPPORTED where the engine
 *             has no double barriers.
 */
HF_API hf_status hf_double_barrier_participants(
    struct hf_double_barrier *barrier, uint64_t wait_ms,
    struct hf_tickets **members) HF_NONNULL(1, 3) HF_MUST_CHECK;
HF_API hf_status hf_double_barrier_participants_start(
    struct hf_double_barrier *barrier, uint64_t wait_ms, struct hf_done done)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_double_barrier_enter_start(barrier, wait_ms, done, op),
 * hf_double_barrier_leave_start(barrier, wait_ms, done, op):
 * Begin hf_double_barrier_enter() and so on.  Set ${op}, if not NULL, to a
 * handle for hf_op_cancel() that wants hf_op_free().
 *   Callback  ${done} once, with HF_OK or with a status, and without a grant;
 *             HF_ECANCELLED if it was cancelled: it is outside.  It is inside,
 *             or outside, from the call of ${done} on.
 *   Fails     HF_ESTATE HF_ECLOSED HF_ELIMIT HF_ENOMEM HF_EFORKED.
 */
HF_API hf_status hf_double_barrier_enter_start(
    struct hf_double_barrier *barrier, uint64_t wait_ms, struct hf_done done,
    struct hf_op **op) HF_NONNULL(1) HF_MUST_CHECK;
HF_API hf_status hf_double_barrier_leave_start(
    struct hf_double_barrier *barrier, uint64_t wait_ms, struct hf_done done,
    struct hf_op **op) HF_NONNULL(1) HF_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
