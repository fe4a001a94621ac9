/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timed flock: waiting within a bound for a lock that others hold only for
 * microseconds.
 *
 * A blocked flock() could be given up only with a signal, and the library owns
 * no signal.  So a waiter tries without blocking, and between two tries it
 * sleeps on a futex, a word in shared memory by which the holder wakes it.
 *
 * The protocol.  The word is set while somebody waits, as the word of a
 * contended futex mutex is (Drepper, "Futexes Are Tricky").  A waiter sets the
 * word, tries, and if it is refused sleeps while the word is set.  The holder
 * unlocks, then clears the word, and wakes one waiter if the word was set.
 *
 * No wake-up is lost.  The kernel puts the try and the unlock in an order.  A
 * try that is refused comes before the unlock, and the word was set before the
 * try. So the holder finds the word set, unless another holder has cleared it
 * since, and that one wakes a waiter then.  A waiter that is not asleep yet
 * either finds the word cleared and tries again, or finds it set anew by
 * another waiter.  That waiter tries after it has set the word, so an unlock is
 * still to come, which wakes one of them.
 *
 * One waiter is woken and not all, because only one can have the lock.  The
 * woken waiter sets the word before it tries again.  If it gets the lock, its
 * own unlock wakes the next waiter; if it is refused, the unlock of the present
 * holder does. It tries after each sleep, also when its time is up, so a
 * wake-up does not end with it.
 *
 * Two locks that share a word may wake each other's waiters.  A waiter that is
 * woken in vain sets the word again and sleeps behind the others, so the next
 * unlock of either lock wakes the waiter that was passed over.
 *
 * The word only decides when a waiter tries: flock() alone decides which
 * process has the lock. A sleep ends by itself after the wait, because a holder
 * may wake nobody: it was killed, is of an earlier version, or uses another
 * counter.  So whatever somebody writes into the word costs a sleep of that
 * length or some more tries, within the same bound.  Without a word, or in a
 * kernel without futexes, a waiter sleeps in small steps that grow.
 */
#ifndef HF_ENGINES_FILE_TIMED_FLOCK_H
#define HF_ENGINES_FILE_TIMED_FLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct hf_error;

#define HF_FLOCK_TIMEOUT_MS 5000
#define HF_FLOCK_SLICE_MS 4

/* How long to wait for a lock. */
enum hf_file_flock_wait {
    HF_FLOCK_WAIT_NONE,    /* not at all, on a thread that must not wait */
    HF_FLOCK_WAIT_SLICE,   /* HF_FLOCK_SLICE_MS; then other jobs have a turn */
    HF_FLOCK_WAIT_TIMEOUT, /* HF_FLOCK_TIMEOUT_MS; then it is an error */
};

enum hf_file_flock_answer {
    HF_FLOCK_TAKEN,
    HF_FLOCK_BUSY,   /* others have it; not with HF_FLOCK_WAIT_TIMEOUT */
    HF_FLOCK_FAILED, /* ${error} says why */
};

/* Try a few times, without waiting, to take flock(LOCK_EX) on ${fd}, which is
 * open at ${path}.
 *   Thread    any.
 *   Fails     what flock() does. */
enum hf_file_flock_answer hf_file_flock_try(int fd, const char *path,
                                            struct hf_error *error);

/* Take flock(LOCK_EX) on ${fd}, and wait for it; ${wait} is not
 * HF_FLOCK_WAIT_NONE.  ${futex} is the word that all who want this lock share;
 * NULL: there is none.  ${*cancelled} (may be NULL) is read before each sleep;
 * with a ${futex} a sleep may last as long as the wait.
 *   Thread    any that may wait.
 *   Fails     HF_EUNREACHABLE after HF_FLOCK_TIMEOUT_MS, with the process that
 *             has the lock; HF_ECLOSED once ${*cancelled} is set; what flock()
 *             does. */
enum hf_file_flock_answer hf_file_flock_lock(int fd, const char *path,
                                             enum hf_file_flock_wait wait,
                                             _Atomic uint32_t *futex,
                                             const atomic_bool *cancelled,
                                             struct hf_error *error);

/* Wake one of those that wait for a lock with this word, if any does.  To be
 * called after each unlock of such a lock.  NULL: there is no word. */
void hf_file_flock_wake(_Atomic uint32_t *futex);

/* Fill ${error} with HF_EUNREACHABLE: the lock of ${path}, open as ${fd}, could
 * not be had in time.  The text names the process that has it, if /proc/locks
 * shows one. */
void hf_file_flock_set_timeout(int fd, const char *path,
                               struct hf_error *error);

/* Milliseconds of CLOCK_BOOTTIME. */
uint64_t hf_file_flock_now_ms(void);

/* The process that has an flock() on the file, by /proc/locks; 0 if none is
 * found. */
pid_t hf_file_flock_holder(dev_t device, ino_t inode);

#endif
