/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for a flock() that others hold only for microseconds, within a bound.
 * A blocked flock() could not be given up without a signal, and the library
 * owns none.  So a waiter tries without blocking, and between two tries it
 * sleeps on a futex, a word by which the holder wakes it.
 *
 * The word says whether somebody waits.  A waiter sets it, tries, and if it is
 * refused sleeps while the word is set.  The holder unlocks, then clears the
 * word, and if it was set wakes one waiter.  No wake-up is lost:
 *
 * The kernel puts the try and the unlock in an order.  A try that is refused
 * comes before the unlock, and the word was set before the try.  So the holder
 * finds it set, unless another has cleared it since; that one wakes a waiter
 * then.  A waiter that is not asleep yet finds the word cleared and tries
 * again, or finds it set anew by another waiter.  That one tries after it has
 * set it, so an unlock is still to come, which wakes one of them.
 *
 * One is woken, not all, because only one can have the lock.  It sets the word
 * before it tries again.  If it takes the lock, its own unlock wakes the next
 * one; if it is refused, the unlock of the one that has the lock does.  It
 * tries after each sleep, also when its time is up, so no wake-up ends with it.
 *
 * Locks that have one word may wake each other's waiters.  A waiter that is
 * woken in vain sets the word again and sleeps behind the others.  So the next
 * unlock of either lock wakes the one that was passed over.
 *
 * The word decides when a waiter tries, and nothing else: flock() alone says
 * who has the lock.  A sleep ends by itself after the patience, because a
 * holder may wake nobody: it died, is of an earlier version, or uses another
 * counter.  So whatever others write to the word costs a sleep of that length
 * or more tries, within the same bound.  Without a word, or in a kernel without
 * futexes, a waiter sleeps in small steps that grow.
 */
#ifndef HF_ENGINES_FILE_TIMED_FLOCK_H
#define HF_ENGINES_FILE_TIMED_FLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <holdfast/holdfast.h>

#define HF_FLOCK_TIMEOUT_MS 5000
#define HF_FLOCK_SLICE_MS 4

enum hf_flock_wait {
    HF_FLOCK_WAIT_NONE,    /* on a thread that must not wait: a few yields */
    HF_FLOCK_WAIT_SLICE,   /* HF_FLOCK_SLICE_MS, then others have their turn */
    HF_FLOCK_WAIT_TIMEOUT, /* up to HF_FLOCK_TIMEOUT_MS */
};

enum hf_flock_answer {
    HF_FLOCK_TAKEN,
    HF_FLOCK_BUSY,   /* others have it; not with HF_FLOCK_WAIT_TIMEOUT */
    HF_FLOCK_FAILED, /* ${error} says why */
};

/* Try a few times to take flock(LOCK_EX) on ${fd}, which is called ${path}:
 * HF_FLOCK_WAIT_NONE.
 *   Fails     what flock() does. */
enum hf_flock_answer hf_flock_try(int fd, const char *path,
                                  struct hf_error *error);

/* Take it, and wait for it with any other ${patience}.  ${word} is the word of
 * that lock, which all who want it share, see above; NULL: it has none.
 * ${*cancelled} (may be NULL) is read before each sleep; with a word, a sleep
 * may last as long as the patience.
 *   Fails     HF_EUNREACHABLE past the bound, naming the process that has it;
 *             HF_ECLOSED once ${*cancelled} is set; what flock() does. */
enum hf_flock_answer hf_flock_lock(int fd, const char *path,
                                   enum hf_flock_wait wait,
                                   _Atomic uint32_t *futex,
                                   const atomic_bool *cancelled,
                                   struct hf_error *error);

/* Wake one of those who wait for a lock with this word, if any does.  To be
 * called after each flock(LOCK_UN) of it. */
void hf_flock_wake(_Atomic uint32_t *futex);

/* Fill ${error} with HF_EUNREACHABLE, past the bound. */
void hf_flock_set_timeout(int fd, const char *path, struct hf_error *error);

/* CLOCK_BOOTTIME. */
uint64_t hf_flock_now_ms(void);

/* The process in /proc/locks with an flock on the file, 0 if none is found. */
pid_t hf_flock_holder(dev_t device, ino_t inode);

#endif
