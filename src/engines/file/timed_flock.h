/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timed flock: waits up to a time limit for an flock() that others hold only
 * for microseconds.
 *
 * A process that is blocked in flock() could be woken only by a signal, and the
 * library has no signal of its own.  So a waiter tries without blocking.
 * Between two tries it sleeps on a futex, a word in shared memory, and the
 * holder of the lock wakes it.
 *
 * The protocol.  The word is set while somebody waits, as the word of a
 * contended futex mutex is (Drepper, "Futexes Are Tricky").  A waiter sets the
 * word, tries the lock, and if that fails sleeps while the word is set.  The
 * holder unlocks, then clears the word, and wakes one waiter if the word was
 * set.
 *
 * Why no wake-up is lost.  The kernel orders each try and each unlock.  If a
 * try fails, it came before the unlock, and the waiter had set the word before
 * the try.  So the holder finds the word set after its unlock; or another
 * holder has cleared the word since, and has woken a waiter then.  A waiter
 * that is not asleep yet either finds the word cleared, and tries again; or it
 * finds that another waiter has set the word again.  That other waiter tries
 * after it has set the word, so an unlock is still to come, which wakes one of
 * the two.
 *
 * Only one waiter is woken, because only one can get the lock.  It sets the
 * word before it tries again.  If it gets the lock, its own unlock wakes the
 * next waiter.  If it fails, the unlock of the present holder does.  A waiter
 * tries once more after each sleep, even when its time is up, so that the
 * wake-up that it got is not lost.
 *
 * Two locks may share a word and wake each other's waiters.  A waiter that is
 * woken in vain sets the word again and sleeps behind the others, so the next
 * unlock of either lock wakes the waiter that was passed over.
 *
 * The word decides only when a waiter tries; flock() alone decides who has the
 * lock.  A sleep ends by itself when the wait is over, because a holder may
 * wake nobody: it was killed, is of an earlier version, or uses another
 * counter.  So a wrong value in the word only costs a sleep of that length or
 * some more tries, within the same limit.  Without a word, or in a kernel
 * without futexes, a waiter sleeps in small steps that grow.
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
    HF_FLOCK_WAIT_NONE,    /* do not wait, because this thread must not */
    HF_FLOCK_WAIT_SLICE,   /* wait HF_FLOCK_SLICE_MS, then let other jobs run */
    HF_FLOCK_WAIT_TIMEOUT, /* wait HF_FLOCK_TIMEOUT_MS, then fail */
};

enum hf_file_flock_answer {
    HF_FLOCK_TAKEN,
    /* another process has the lock; not with HF_FLOCK_WAIT_TIMEOUT */
    HF_FLOCK_BUSY,
    HF_FLOCK_FAILED, /* ${error} has the reason */
};

/* Try a few times, without waiting, to take flock(LOCK_EX) on ${fd}, which is
 * open at ${path}.
 *   Thread    any.
 *   Fails     what flock() does. */
enum hf_file_flock_answer hf_file_flock_try(int fd, const char *path,
                                            struct hf_error *error);

/* Take flock(LOCK_EX) on ${fd}, and wait for it as ${wait} says, which is not
 * HF_FLOCK_WAIT_NONE.  ${futex} is the word that all waiters for this lock
 * share; NULL: there is none.  ${*cancelled} (may be NULL) is read before each
 * sleep, and with a ${futex} one sleep may last as long as the whole wait.
 *   Thread    any that may wait.
 *   Fails     HF_EUNREACHABLE after HF_FLOCK_TIMEOUT_MS, with the process that
 *             has the lock; HF_ECLOSED once ${*cancelled} is set; what
 *             flock() fails with. */
enum hf_file_flock_answer hf_file_flock_lock(int fd, const char *path,
                                             enum hf_file_flock_wait wait,
                                             _Atomic uint32_t *futex,
                                             const atomic_bool *cancelled,
                                             struct hf_error *error);

/* Wake one waiter for a lock with this word, if there is any.  Must be called
 * after each unlock.  NULL: there is no word. */
void hf_file_flock_wake(_Atomic uint32_t *futex);

/* Set ${error} to HF_EUNREACHABLE, because the lock of ${path}, open as ${fd},
 * was not free in time.  The text names the process that has it, if /proc/locks
 * shows that. */
void hf_file_flock_set_timeout(int fd, const char *path,
                               struct hf_error *error);

/* Returns CLOCK_BOOTTIME in milliseconds. */
uint64_t hf_file_flock_now_ms(void);

/* Returns the process that has an flock() on the file, as /proc/locks shows; 0
 * if there is none. */
pid_t hf_file_flock_holder(dev_t device, ino_t inode);

#endif
