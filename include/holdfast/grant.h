/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A grant: the proof that you were admitted.  It exists from the end of an
 * acquire until its release.
 */
#ifndef HOLDFAST_GRANT_H
#define HOLDFAST_GRANT_H

#include <holdfast/lock.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * hf_grant_token(grant):
 * The fencing token: greater than that of every earlier ticket of this lock
 * that was granted, ever.  Send it to the resource with each write, and let the
 * resource refuse a token that is lower than one it has seen.  Only that
 * protects against a process or machine that was paused past its lease.  Of
 * several locks, this is the token of the first that was asked for.
 *   Thread    any; also async-signal-safe.
 */
HF_API uint64_t hf_grant_token(const struct hf_grant *grant) HF_NONNULL(1);

/**
 * hf_grant_token_of(grant, lock):
 * The fencing token for ${lock}, one of those that ${grant} is of; else 0.
 *   Thread    any; also async-signal-safe.
 */
HF_API uint64_t hf_grant_token_of(const struct hf_grant *grant,
                                  const struct hf_lock *lock) HF_NONNULL(1, 2);

/**
 * hf_grant_safe_until_ms(grant):
 * The instant on CLOCK_BOOTTIME, in milliseconds, before which no other client
 * can have been admitted.  It moves forward while the session lives.  It comes
 * nearer in two cases only: when the session is resumed after an outage, and
 * the server may count a shorter timeout from then on; and while the clocks of
 * this machine are slewed to be slow, by the time that they lose, because the
 * engine's clock does not lose it.  0 once the grant is known to be lost, and
 * in a child of a fork.  HF_FOREVER on an engine without leases, where a grant
 * ends early only if somebody removes its ticket by force.  Reading this does
 * not find such a removal.  A thread notices it at once if the acquire had
 * .on_loss or .on_revoke, if hf_grant_loss_fd() was called, and while another
 * call of the client waits.  Else the next call of the client that does more
 * than read notices it, as hf_grant_check().  With proof=lazy in a ZooKeeper
 * URL it moves only when a call has the session proven, as hf_grant_check()
 * does, and is in the past until then; reading it sends no request.
 *   Thread    any; also async-signal-safe.
 */
HF_API uint64_t hf_grant_safe_until_ms(const struct hf_grant *grant)
    HF_NONNULL(1);

/**
 * hf_grant_check(grant):
 * Process what the engine has sent so far, then return HF_OK if ${grant} is
 * valid, HF_ELOST if not.  This is advice and not a fence: it can be out of
 * date when it returns.  Once ${grant} is lost, each call says why
 * (hf_last_error()).  With proof=lazy it first has the session proven,
 * unless that was done within the last quarter of its timeout and a quarter is
 * left: HF_OK then means that safe-until was in the future when the proof came.
 *   Time      none; with proof=lazy one answer of the engine; while cut off,
 *             until it answers or ${grant} is lost.
 *   Fails     HF_ELOST HF_EFORKED; with proof=lazy also HF_ELIMIT, and
 *             HF_EREENTRANT in a callback and on the thread of a borrowed loop,
 *             where the proof is requested but cannot be waited for: safe-until
 *             moves when it comes.
 */
HF_API hf_status hf_grant_check(struct hf_grant *grant) HF_NONNULL(1);

/**
 * hf_grant_loss_fd(grant, fd):
 * Set ${fd} to a descriptor that becomes readable, and stays so, when ${grant}
 * is lost; hf_grant_check() then says why.  Made on the first request;
 * close-on-exec.  Do not read it.
 *   Ownership ${grant}'s, until the release.
 *   Fails     HF_ELIMIT HF_EFORKED.
 */
HF_API hf_status hf_grant_loss_fd(struct hf_grant *grant, int *fd)
    HF_NONNULL(1, 2) HF_MUST_CHECK;

/**
 * hf_grant_hold_fd(grant, fd):
 * Set ${fd} to a new descriptor that keeps the ticket in the queue: no other
 * owner is admitted while any copy of it is open in any process, even after
 * hf_grant_release() or the death of this process.  Close-on-exec.
 *   Ownership ${fd} is yours to close.
 *   Fails     HF_EUNSUPPORTED on engines with sessions; HF_ELOST HF_ELIMIT
 *             HF_EFORKED.
 */
HF_API hf_status hf_grant_hold_fd(struct hf_grant *grant, int *fd)
    HF_NONNULL(1, 2) HF_MUST_CHECK;

/**
 * hf_grant_hold_fd_of(grant, lock, fd):
 * The same for the ticket of ${lock}, one of several; hf_grant_hold_fd() is
 * about the first that was asked for.
 *   Fails     also HF_EINVAL if ${grant} is not of ${lock}.
 */
HF_API hf_status hf_grant_hold_fd_of(struct hf_grant *grant,
                                     const struct hf_lock *lock, int *fd)
    HF_NONNULL(1, 2, 3) HF_MUST_CHECK;

/**
 * hf_grant_downgrade(grant):
 * Make the grant of a writer that of a reader, at the same position in the
 * queue: no other writer comes in between, readers right behind it enter, and
 * the token stays.  There is no way back, because two readers that both want to
 * write would wait for each other: release, and acquire as a writer.
 *   Time      one answer of the engine; while cut off, until it answers or the
 *             session is over.
 *   Fails     HF_ELOST if ${grant} is, or gets, lost; HF_ESTATE if it is not a
 *             writer's, or of several locks, or this is under way, or
 *             hf_grant_hold_fd() gave out its descriptor; HF_EDENIED HF_EDIR
 *             HF_EFULL HF_ELIMIT if the engine cannot; HF_ENOMEM HF_EREENTRANT
 *             HF_EFORKED.  Except with HF_ELOST it is then a writer's as
 *             before.  If an answer was lost and the engine then refused to
 *             say what became of it, HF_EUNSURE: readers may be in, so ${grant}
 *             is a reader's, but may hold them up until its release.
 */
HF_API hf_status hf_grant_downgrade(struct hf_grant *grant) HF_NONNULL(1);

/**
 * hf_grant_downgrade_start(grant, done):
 * Begin hf_grant_downgrade().
 *   Callback  ${done} once, with HF_OK or with a status that
 *             hf_grant_downgrade() fails with; HF_ECANCELLED if ${grant} is
 *             released before.
 *   Fails     HF_ELOST HF_ESTATE HF_ECLOSED HF_ELIMIT HF_ENOMEM HF_EFORKED.
 */
HF_API hf_status hf_grant_downgrade_start(struct hf_grant *grant,
                                          struct hf_done done)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_grant_last_success(grant, wait_ms, success):
 * Set ${success} to the last success of the name that ${grant} is of.  It is
 * not older than what any holder before has written.  Its age is by the
 * engine's clock, whatever the clocks of clients show: the difference of two
 * times of that clock, on files CLOCK_BOOTTIME unless the machine was booted in
 * between.  If that clock was set back so far that the success is in the
 * future, it is written again with the present time, and .age_ms is 0.
 *   Time      at most ${wait_ms}.
 *   Fails     HF_ELOST if ${grant} is, or gets, lost; HF_ESTATE unless it is
 *             that of one mutex or of one writer; HF_EUNSUPPORTED where the
 *             engine keeps no successes (etcd); HF_ETIMEDOUT HF_EUNREACHABLE
 *             HF_ECLOSED HF_EDENIED HF_EDIR HF_EFULL HF_ELIMIT HF_ENOMEM
 *             HF_EUNSURE HF_EPROTOCOL HF_EREENTRANT HF_EFORKED.
 */
HF_API hf_status hf_grant_last_success(struct hf_grant *grant, uint64_t wait_ms,
                                       struct hf_success *success)
    HF_NONNULL(1, 3) HF_MUST_CHECK;

/**
 * hf_grant_last_success_start(grant, wait_ms, done):
 * Begin hf_grant_last_success().
 *   Callback  ${done} once, with HF_OK and .success or with a status.
 *   Fails     HF_EINVAL if ${done} has no function (see struct hf_done);
 *             HF_ELOST HF_ESTATE HF_ECLOSED HF_ELIMIT HF_ENOMEM HF_EFORKED.
 */
HF_API hf_status hf_grant_last_success_start(struct hf_grant *grant,
                                             uint64_t wait_ms,
                                             struct hf_done done)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_grant_write_success(grant, wait_ms):
 * Write the token of ${grant} and the present time of the engine's clock as the
 * last success of its name.  The engine does that at an instant at which the
 * ticket of ${grant} is there, and not if a later ticket has succeeded.  The
 * request is sent again after an outage.
 *   Time      at most ${wait_ms}.
 *   Fails     HF_ELOST if ${grant} is, or gets, lost, or a later ticket has
 *             succeeded: nothing is written.  HF_EUNSURE if it is lost and an
 *             answer was lost before, or HF_ETIMEDOUT: the success may have
 *             been written.  The rest as hf_grant_last_success().
 */
HF_API hf_status hf_grant_write_success(struct hf_grant *grant,
                                        uint64_t wait_ms) HF_NONNULL(1);

/**
 * hf_grant_write_success_start(grant, wait_ms, done):
 * Begin hf_grant_write_success().
 *   Callback  ${done} once, with HF_OK or with a status.
 *   Fails     HF_ELOST HF_ESTATE HF_ECLOSED HF_ELIMIT HF_ENOMEM HF_EFORKED.
 */
HF_API hf_status hf_grant_write_success_start(struct hf_grant *grant,
                                              uint64_t wait_ms,
                                              struct hf_done done)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_grant_release(grant):
 * Leave the queue and free ${grant}, whatever the status.  HF_OK means that the
 * engine confirmed the removal of this very ticket: it was in the queue until
 * this call, no owner that it excludes had been admitted, and the next one in
 * line may enter.
 *   Time      one answer of the engine; while cut off, until it answers or the
 *             session is over, which is bounded by the session timeout.
 *   Ownership ${grant} is consumed (not with HF_EREENTRANT and HF_EFORKED).
 *   Fails     HF_ELOST if the grant had been lost before this call, or if that
 *             cannot be excluded: the session ended before the engine answered,
 *             or the answer to a first removal was lost and the ticket was gone
 *             afterwards.  HF_EDENIED if the engine let this client make the
 *             ticket and does not let it remove it: the ticket is then there
 *             until the client is closed, unless that changes.  HF_EREENTRANT
 *             HF_EFORKED.
 */
HF_API hf_status hf_grant_release(struct hf_grant *grant) HF_NONNULL(1);

/**
 * hf_grant_release_start(grant, done):
 * Begin hf_grant_release().
 *   Ownership ${grant} is consumed, unless this fails.
 *   Callback  ${done} once, with HF_OK, HF_ELOST or HF_EDENIED.
 *   Fails     HF_ECLOSED if ${done} has a function and the client is being
 *             closed, so that no thread can call it; HF_EFORKED.
 */
HF_API hf_status hf_grant_release_start(struct hf_grant *grant,
                                        struct hf_done done)
    HF_NONNULL(1) HF_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
