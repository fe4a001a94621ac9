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
 * A barrier blocks every wait for it while it is set.  Any client may set it
 * (hf_barrier_set()) and any may clear it (hf_barrier_clear()).  It has no
 * owner and outlives the client that set it: in ZooKeeper it is a persistent
 * node, the one that Curator's DistributedBarrier makes; on files it stays as
 * long as the directory does, which on a tmpfs is until the machine goes down.
 */

/**
 * hf_barrier_open(client, name, barrier):
 * Set ${barrier} to a handle for the barrier called ${name}.  No request is
 * made: it is clear unless it was set.  Names are those of locks; give a
 * barrier one of its own, that no lock has nor any name below it.
 *   Ownership ${name} is copied.  ${barrier} must be freed with
 *             hf_barrier_free() and keeps the memory of ${client} alive.
 *   Fails     as hf_lock_open().
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
 * hf_barrier_set(barrier, wait_ms), hf_barrier_clear(barrier, wait_ms):
 * See that it is set, or that it is clear, whether or not it was so before.
 *   Time      at most ${wait_ms}; HF_FOREVER: no limit but that of the first
 *             connection.  After HF_ETIMEDOUT and HF_ECLOSED it may have been
 *             done, or may yet be.
 *   Fails     HF_EKIND if, in ZooKeeper, its node has others below it;
 *             HF_EUNSUPPORTED where the engine has no barriers; HF_ETIMEDOUT
 *             HF_EUNREACHABLE HF_ECLOSED HF_EDENIED HF_EDIR HF_EFULL HF_ELIMIT
 *             HF_ENOMEM HF_EPROTOCOL HF_EREENTRANT HF_EFORKED.
 */
HF_API hf_status hf_barrier_set(struct hf_barrier *barrier, uint64_t wait_ms)
    HF_NONNULL(1) HF_MUST_CHECK;
HF_API hf_status hf_barrier_clear(struct hf_barrier *barrier, uint64_t wait_ms)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_barrier_wait(barrier, wait_ms):
 * Wait until it was clear at some moment since this call; at once if it is.  It
 * is read again before the wait ends, whatever woke it.  The wait survives a
 * lost connection and a lost session.
 *   Time      at most ${wait_ms}; 0: one answer of the engine, at most
 *             connect_ms of the client.
 *   Fails     HF_ETIMEDOUT; HF_EBUSY if ${wait_ms} is 0 and it is set; and as
 *             hf_barrier_set().
 */
HF_API hf_status hf_barrier_wait(struct hf_barrier *barrier, uint64_t wait_ms)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_barrier_set_start(barrier, wait_ms, done),
 * hf_barrier_clear_start(barrier, wait_ms, done),
 * hf_barrier_wait_start(barrier, wait_ms, done, op):
 * Begin hf_barrier_set() and so on.  Set ${op}, if not NULL, to a handle for
 * hf_op_cancel() that must be freed with hf_op_free().
 *   Callback  ${done} once, with HF_OK or with a status; HF_ECANCELLED from a
 *             wait that was cancelled.
 *   Fails     HF_ECLOSED HF_ELIMIT HF_ENOMEM HF_EFORKED.
 */
HF_API hf_status hf_barrier_set_start(struct hf_barrier *barrier,
                                      uint64_t wait_ms, struct hf_done done)
    HF_NONNULL(1) HF_MUST_CHECK;
HF_API hf_status hf_barrier_clear_start(struct hf_barrier *barrier,
                                        uint64_t wait_ms, struct hf_done done)
    HF_NONNULL(1) HF_MUST_CHECK;
HF_API hf_status hf_barrier_wait_start(struct hf_barrier *barrier,
                                       uint64_t wait_ms, struct hf_done done,
                                       struct hf_op **op)
    HF_NONNULL(1) HF_MUST_CHECK;

/* ------------------------------------ double barrier: hf_double_barrier -- */

/*
 * A double barrier has its participants begin together and end together: they
 * enter once ${participants} of them are there, and leave once all that were
 * admitted want to leave.  Whatever wakes a participant, it goes on only if
 * what it then reads allows it: to enter, that enough participants were there
 * at one time since it came; to leave, that no participant of its round is
 * there.  A participant that comes while the others are inside, and completes
 * their number, is admitted to them.  In ZooKeeper it is what Curator's
 * DistributedDoubleBarrier makes.
 */

/* The most participants that a double barrier can have. */
#define HF_PARTICIPANTS_MAX 128

/**
 * hf_double_barrier_open(client, name, participants, barrier):
 * Set ${barrier} to a handle for one participant of the double barrier called
 * ${name}, outside of it.  No request is made.  Names are those of locks; give
 * it one of its own, that no lock has nor any name below it, and the same
 * ${participants} everywhere.
 *   Ownership ${name} is copied.  ${barrier} must be freed with
 *             hf_double_barrier_free() and keeps the memory of ${client} alive.
 *   Fails     as hf_lock_open(); HF_EINVAL if ${participants} is 0 or more than
 *             HF_PARTICIPANTS_MAX.
 */
HF_API hf_status hf_double_barrier_open(struct hf_client *client,
                                        const char *name, uint32_t participants,
                                        struct hf_double_barrier **barrier)
    HF_NONNULL(1, 2, 4) HF_MUST_CHECK;

/**
 * hf_double_barrier_free(barrier):
 * Free ${barrier} (NULL is fine).  A participant that is inside leaves without
 * waiting for the others.  An operation that is under way goes on; if it would
 * end inside, the participant leaves as well.
 */
HF_API void hf_double_barrier_free(struct hf_double_barrier *barrier);

/**
 * hf_double_barrier_enter(barrier, wait_ms):
 * Enter the barrier and wait until as many participants have entered as
 * hf_double_barrier_open() was given.  Survives a lost connection; after a lost
 * session it enters again.  Unless this is HF_OK, the participant is outside,
 * and is not counted any more as soon as the engine can be asked to remove its
 * ticket.
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
 * Wait until all participants that were admitted with this one, or before,
 * leave too, or are gone: a participant that dies, or loses its session, does
 * not hold up the others.  Whatever the status, except HF_ESTATE, HF_EREENTRANT
 * and HF_EFORKED, the participant is outside afterwards.
 *   Time      at most ${wait_ms}, and the time that it takes to remove its
 *             ticket, as with hf_grant_release(); 0: without waiting for
 *             others.
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
 * hf_double_barrier_participants(barrier, wait_ms, participants),
 * hf_double_barrier_participants_start(barrier, wait_ms, done):
 * Set ${participants} to those that are there now, in the order in which they
 * came, as hf_lock_tickets() does; .holds is true of those that have been
 * admitted.
 *   Ownership ${participants} must be freed with hf_tickets_free().
 *   Callback  ${done} once, with the list or with a status.
 *   Fails     as hf_lock_tickets(), and with HF_EUNSUPPORTED where the engine
 *             has no double barriers.
 */
HF_API hf_status hf_double_barrier_participants(
    struct hf_double_barrier *barrier, uint64_t wait_ms,
    struct hf_tickets **participants) HF_NONNULL(1, 3) HF_MUST_CHECK;
HF_API hf_status hf_double_barrier_participants_start(
    struct hf_double_barrier *barrier, uint64_t wait_ms, struct hf_done done)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_double_barrier_enter_start(barrier, wait_ms, done, op),
 * hf_double_barrier_leave_start(barrier, wait_ms, done, op):
 * Begin hf_double_barrier_enter() and so on.  Set ${op}, if not NULL, to a
 * handle for hf_op_cancel() that must be freed with hf_op_free().
 *   Callback  ${done} once, with HF_OK or with a status, and without a grant;
 *             HF_ECANCELLED if it was cancelled: the participant is then
 *             outside.  It is inside, or outside, from the call of ${done} on.
 *   Fails     HF_ESTATE HF_ECLOSED HF_ELIMIT HF_ENOMEM HF_EFORKED.  A
 *             participant that was to leave is outside then, except with
 *             HF_ESTATE and HF_EFORKED, and its ticket is removed in the
 *             background.
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
