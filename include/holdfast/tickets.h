/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of a lock: its tickets, those that hold it and those that wait, and
 * calls that act on them.
 */
#ifndef HOLDFAST_TICKETS_H
#define HOLDFAST_TICKETS_H

#include <holdfast/lock.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A ticket in a queue.  The text is the snapshot's. */
struct hf_ticket_view {
    /* What hf_lock_evict() and hf_lock_revoke() call it; the same for as long
     * as it is in the queue. "": an owner without a ticket, see
     * hf_mutex_tickets(). */
    const char *id;
    enum hf_kind kind;
    /* How many permits of a semaphore it holds; 0 while it waits (.owner may
     * say how many it wants, as permits=).  1 of every other kind. */
    uint32_t permits;
    bool holds;     /* the rule admits it: it holds the lock, or is about to */
    bool own;       /* this client's */
    uint64_t token; /* its fencing token; 0 if unknown */
    /* How long ago its owner began to wait, if that is known: on one machine
     * since it was booted.  HF_FOREVER if not. */
    uint64_t age_ms;
    /* When it was made, in milliseconds since 1970, by the wall clock of its
     * owner or of the engine; 0 if that is not known.  For people: clocks
     * differ. */
    uint64_t created_utc_ms;
    const char *layout; /* how it is written: "holdfast" on files, "curator",
                           "kazoo" and so on in ZooKeeper */
    /* What its owner says of itself, "" if nothing.  Tickets of this library
     * say host=, pid= and so on, see docs/ticket-text.md, which
     * hf_owner_text_get() reads; those of others say whatever they like.
     * Curator's Revoker, and hf_lock_revoke() in ZooKeeper, overwrite it with
     * "__REVOKE__", until an owner that uses this library has received that and
     * written its text again with asked=.  Valid UTF-8, but anything in it: do
     * not print it as it is. */
    const char *owner;
    /* In ZooKeeper: the session of its owner, which several owners may share; 0
     * if it has none.  On other engines: 0. */
    uint64_t session;
};

/* Room for any value of hf_owner_text_get(). */
#define HF_OWNER_VALUE_MAX 1024

/**
 * hf_owner_text_get(owner, key, text, bytes):
 * Set ${text}, which has room for ${bytes}, to what ${owner} says behind
 * "${key}=", decoded.  ${owner} is that of a ticket or of a struct hf_wait.
 * The keys that are written now are:
 *
 *     host     the name of the machine
 *     pid      the process, a number
 *     command  the name of the program
 *     thread   the thread, a number
 *     since    when it began to ask: CLOCK_BOOTTIME in milliseconds, '@', and
 *              the first eight digits of the boot that this counts from
 *     at       the same by its wall clock: 2026-11-21T16:33:00Z
 *     text     .text of the options of the acquire, if there was one
 *     limit    of a semaphore: .limit of its handle
 *     permits  of a semaphore: how many of them it wants, if that is not 1
 *     detect   without a value: it looks for deadlocks while it waits
 *     holds    what else the owner held when the ticket was enqueued, or when
 *              its text was written again while it waited:
 *              NAME:ID,NAME:ID,... with names percent-encoded, and not decoded
 *              here; ID: the first eight digits of the id of the ticket by
 *              which it is held; '+' at the end: not all had room
 *     outer    the same of what runs around this one hold, of which it is not
 *              known that they wait for it (holdfast run)
 *     ends     without a value, with outer=: the wait has a limit
 *     asked    when the owner received a request to release the ticket, as at=;
 *              only once it has
 *
 * A later version may write more; a word without a value is "".  Texts of other
 * libraries have none of them.  Anyone who may make a ticket may write
 * anything, so that the value may have control characters and may be no UTF-8:
 * do not print it as it is.
 *   Thread    any.
 *   Fails     HF_EGONE if it is not there: ${text} is then "".  HF_EINVAL if
 *             the room is too small: ${text} is then cut.
 */
HF_API hf_status hf_owner_text_get(const char *owner, const char *key,
                                   char *text, size_t bytes)
    HF_NONNULL(1, 2, 3) HF_MUST_CHECK;

/**
 * hf_tickets_count(tickets), hf_tickets_at(tickets, index):
 * How many tickets there are; the one at ${index}, from 0, in queue order; NULL
 * beyond the last.
 *   Ownership ${tickets}'.
 */
HF_API size_t hf_tickets_count(const struct hf_tickets *tickets) HF_NONNULL(1);
HF_API const struct hf_ticket_view *
hf_tickets_at(const struct hf_tickets *tickets, size_t index) HF_NONNULL(1);

/**
 * hf_tickets_unknown(tickets, n):
 * The name of the ${n}th entry, from 0, that is among the tickets and is no
 * ticket in any layout; it does not take part in the queue.  NULL beyond the
 * last.
 *   Ownership ${tickets}'.
 */
HF_API const char *hf_tickets_unknown(const struct hf_tickets *tickets,
                                      size_t n) HF_NONNULL(1);

/**
 * hf_tickets_free(tickets):
 * Free ${tickets} (NULL is fine).
 */
HF_API void hf_tickets_free(struct hf_tickets *tickets);

/* Which tickets of a queue are listed. */
enum hf_tickets_which {
    HF_TICKETS_ALL = 0,
    HF_TICKETS_HOLDERS = 1, /* those that hold the lock: .holds is true */
    HF_TICKETS_WAITERS = 2  /* the others */
};

/**
 * hf_lock_tickets(lock, which, wait_ms, tickets):
 * Set ${tickets} to the queue of ${lock} as it is now, or to those tickets in
 * it that hold the lock, or to those that wait.  No ticket is made for that,
 * and the kind of ${lock} does not matter, except whether it is a semaphore.  A
 * semaphore has two queues: first come the tickets that have permits, one for
 * each acquire, however many permits it has, then those that wait.  The two are
 * read one after the other, so a ticket that gets its permits meanwhile may be
 * in both.  One of Curator's that is next in line has its lease already, and
 * counts among the holders.
 *   Time      at most ${wait_ms}.
 *   Ownership ${tickets} must be freed with hf_tickets_free().
 *   Fails     HF_ETIMEDOUT HF_EUNREACHABLE HF_ECLOSED HF_EDENIED HF_EDIR
 *             HF_ELIMIT HF_ENOMEM HF_EPROTOCOL HF_EREENTRANT HF_EFORKED;
 *             HF_EINVAL if ${which} is none of the above; HF_EKIND if the
 *             engine has something else under that name; HF_EUNSUPPORTED if it
 *             cannot do that.  ${tickets} is then NULL.
 */
HF_API hf_status hf_lock_tickets(struct hf_lock *lock,
                                 enum hf_tickets_which which, uint64_t wait_ms,
                                 struct hf_tickets **tickets)
    HF_NONNULL(1, 4) HF_MUST_CHECK;

/**
 * hf_lock_tickets_start(lock, which, wait_ms, done):
 * Begin hf_lock_tickets().
 *   Callback  ${done} once, with HF_OK and .tickets or with a status.
 *   Fails     HF_EINVAL if ${done} has no function (see struct hf_done) or
 *             ${which} is none of the above; HF_ECLOSED HF_ELIMIT HF_ENOMEM
 *             HF_EFORKED.
 */
HF_API hf_status hf_lock_tickets_start(struct hf_lock *lock,
                                       enum hf_tickets_which which,
                                       uint64_t wait_ms, struct hf_done done)
    HF_NONNULL(1) HF_MUST_CHECK;

/* The longest text of an eviction. */
#define HF_EVICTED_BY_BYTES 256

/**
 * hf_lock_evict(lock, id, evicted_by, wait_ms):
 * Remove the ticket called ${id} from the queue of ${lock} by force, also if it
 * is another client's.  An owner that uses this library is notified: a holder
 * that its grant is lost, a waiter that it is displaced (struct hf_wait),
 * because it goes to the tail of the queue.  The next one may enter before the
 * evicted holder is notified, or while the evicted holder cannot be reached and
 * goes on: only their tokens distinguish the two.
 * ${evicted_by} says to the owner who evicts it, and why, in at most
 * HF_EVICTED_BY_BYTES of UTF-8 without control characters: "alice@db1: stuck
 * since noon".  NULL or "": nothing is said.  It becomes part of the text that
 * says why the grant was lost (struct hf_on_loss); in ZooKeeper, and for an
 * election in etcd, part of a warning in the owner's log after the loss.  It
 * may get lost: the holder then learns only that somebody has removed its
 * ticket.
 *   Time      at most ${wait_ms}.  After HF_ETIMEDOUT and HF_ECLOSED the ticket
 *             may have been removed, or may yet be.
 *   Fails     HF_EGONE if it is not there; HF_EINVAL if ${id} is no id or
 *             ${evicted_by} is too long, no UTF-8 or has control characters;
 *             and as hf_lock_tickets().
 */
HF_API hf_status hf_lock_evict(struct hf_lock *lock, const char *id,
                               const char *evicted_by, uint64_t wait_ms)
    HF_NONNULL(1, 2) HF_MUST_CHECK;

/**
 * hf_lock_revoke(lock, id, wait_ms):
 * Ask the owner of the ticket called ${id} to release it; if ${id} is NULL, the
 * owner of each ticket that holds ${lock}.  HF_OK says that the owners were
 * asked; each decides for itself (struct hf_on_revoke; in ZooKeeper also a
 * Revocable of Curator's).  Programs of kazoo and go-zookeeper do not receive
 * such requests.
 *   Time      at most ${wait_ms}, for all of them together.
 *   Fails     HF_EGONE if there is none to ask, or each holder is gone before
 *             it can be asked, 16 times in a row; else as hf_lock_evict().
 */
HF_API hf_status hf_lock_revoke(struct hf_lock *lock, const char *id,
                                uint64_t wait_ms) HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_lock_evict_start(lock, id, evicted_by, wait_ms, done),
 * hf_lock_revoke_start(lock, id, wait_ms, done):
 * Begin hf_lock_evict() and hf_lock_revoke().
 *   Ownership ${id} and ${evicted_by} are copied.
 *   Callback  ${done} once.
 *   Fails     HF_EINVAL HF_ECLOSED HF_ELIMIT HF_ENOMEM HF_EFORKED.
 */
HF_API hf_status hf_lock_evict_start(struct hf_lock *lock, const char *id,
                                     const char *evicted_by, uint64_t wait_ms,
                                     struct hf_done done)
    HF_NONNULL(1, 2) HF_MUST_CHECK;
HF_API hf_status hf_lock_revoke_start(struct hf_lock *lock, const char *id,
                                      uint64_t wait_ms, struct hf_done done)
    HF_NONNULL(1) HF_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
