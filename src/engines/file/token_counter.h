/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counter of a root directory, ROOT/counter: one page for every process.
 * Each ticket of every lock takes the next number from it, which is its place
 * in the queue and its fencing token in one.
 *
 * A number is never handed out twice, and never below one that was handed out
 * before, also across reboots and loss of the file.  For that numbers are
 * reserved in blocks in a durable place (token_floor.h), and a new counter
 * starts above the reserved ones and above the microseconds of the wall clock.
 * Where no floor can be written, and none is required, that clock alone keeps
 * numbers from coming again after a reboot.
 *
 * The page also has what processes share without a lock: which tickets were
 * first, whether one was renamed, and who waits for a lock.  In a root that
 * others may write to, the page is not mapped (token_counter_file.h).  Then a
 * process knows only which tickets it has seen at the head itself, and waiters
 * for a lock are not woken.
 */
#ifndef HF_ENGINES_FILE_TOKEN_COUNTER_H
#define HF_ENGINES_FILE_TOKEN_COUNTER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <holdfast/status.h>

#include "engines/file/descriptors.h"
#include "engines/file/safe_path.h"
#include "engines/file/timed_flock.h"
#include "engines/file/token_counter_file.h"
#include "engines/file/token_floor.h"

/* How many numbers one durable reservation covers: two syncs in a million
 * tickets, and a second's worth of the wall clock's microseconds. */
#define HF_TOKEN_COUNTER_BLOCK (UINT64_C(1) << 20)

struct hf_file_token_counter {
    int fd;       /* of the file; -1: not open */
    dev_t device; /* of the open file */
    ino_t inode;
    enum hf_file_counter_access access;      /* set by the open */
    struct hf_file_token_counter_page *page; /* NULL: there is none */
    /* Held with the lock of the file, which does not exclude the threads of one
     * process, because they share .fd. */
    pthread_mutex_t threads;
    struct hf_file_descriptors *descriptors; /* borrowed */
    const struct hf_file_path_policy
        *policy;         /* who may own the file; borrowed */
    const char *state;   /* the directory of the token floor; borrowed */
    bool state_required; /* fail if that directory cannot be used */
    /* This process had to reserve a block and could not write a floor, so
     * tokens may come again after a reboot.  Set once, by any thread, after
     * .cause, which says why. */
    atomic_bool not_durable;
    struct hf_error cause;
    /* When the floor has to be looked at again before a number is taken,
     * because a cleaner may remove it; in milliseconds of CLOCK_BOOTTIME. */
    _Atomic uint64_t look_again_ms;
};

/* The floor is looked at, and so kept from cleaners, this often while numbers
 * are taken.  A cleaner that removes files of a lesser age removes it all the
 * same. */
#define HF_TOKEN_COUNTER_LOOK_EVERY_MS (UINT64_C(3600) * 1000)

/* Open the file at ${path}, which is in the directory ${root}; make or mend it
 * as needed, with ${mode} (exactly so if ${shared}).  One that is there is
 * never given another mode, and in a shared root only a counter is written to:
 * others may have put any file of ours there.  .fd, .threads, .descriptors,
 * .policy, .state and .state_required are set before.
 *   Time      some calls, more for the lock of one that is not mapped, and
 *             those that look at the floor; the first open after a boot syncs a
 *             file.
 *   Thread    any that may wait.
 *   Fails     HF_EDIR HF_EDENIED HF_EFULL HF_ELIMIT HF_ENOMEM HF_EUNREACHABLE;
 *             it is closed then. */
hf_status hf_file_token_counter_open(struct hf_file_token_counter *counter,
                                     int root, const char *path, mode_t mode,
                                     bool shared, struct hf_error *error);
void hf_file_token_counter_close(struct hf_file_token_counter *counter);

/* Is the file at ${path} still the one that is open, and if it is mapped, as
 * long as the page?  Only then may a mapped page be touched, because a page
 * beyond the end of a file is a SIGBUS; and nobody else may be able to write
 * to the mapped file, because they could truncate it at any time.  The
 * functions below, and those of token_counter_file.h about a counter, are for
 * one that is current. */
bool hf_file_token_counter_is_current(
    const struct hf_file_token_counter *counter, const char *path);

enum hf_file_token_counter_answer {
    HF_TOKEN_COUNTER_TAKEN,
    HF_TOKEN_COUNTER_USED_UP, /* hf_file_token_counter_reserve(), then again */
    HF_TOKEN_COUNTER_BUSY,    /* another has the lock; HF_FLOCK_WAIT_NONE */
    HF_TOKEN_COUNTER_STALE,   /* not current, or damaged: open it anew */
    HF_TOKEN_COUNTER_FAILED,  /* ${error} says why */
};

/* Take the next ${number}, if the counter is current.  USED_UP: it would be
 * beyond the limit, or the floor was not looked at for too long.  A copied page
 * needs the lock of the file, and waits for it up to HF_FLOCK_TIMEOUT_MS unless
 * ${wait} is HF_FLOCK_WAIT_NONE, or until ${*cancelled} (may be NULL) is set.
 *   Fails     what hf_file_flock_lock(), read and write fail with. */
enum hf_file_token_counter_answer
hf_file_token_counter_take(struct hf_file_token_counter *counter,
                           const char *path, enum hf_file_flock_wait wait,
                           const atomic_bool *cancelled, uint64_t *number,
                           struct hf_error *error);

/* Reserve another block, unless another process has done so; and keep the floor
 * from cleaners, or make it again if one has removed it.  A copied page that is
 * damaged is left alone.
 *   Thread    any that may wait.
 *   Fails     HF_EUNREACHABLE if the lock of the file cannot be had; what
 *             reading and writing a copied page fail with; and what
 *             hf_file_token_floor_reserve() fails with: any of that with
 *             .state_required, else only a want of descriptors or memory. */
hf_status hf_file_token_counter_reserve(struct hf_file_token_counter *counter,
                                        const char *path,
                                        struct hf_error *error);

#endif
