/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counter of a root directory, the file ROOT/counter: one page that all
 * processes share.  Each ticket of every lock takes the next number from it,
 * which is both its position in the queue and its fencing token.
 *
 * No number is given out twice, and none is less than one given out before,
 * even after a reboot or the loss of the file.  For that, numbers are reserved
 * in blocks on a disk (token_floor.h).  A new counter starts above the reserved
 * numbers and above the microseconds of the wall clock.  If no floor can be
 * written, and none is required, only that clock keeps numbers from being given
 * out again after a reboot.
 *
 * The page also has what processes share without a lock: which tickets were
 * first in their queues, whether a ticket was renamed, and whether somebody
 * waits for a lock.  In a root directory that others may write to, the page is
 * not mapped (token_counter_file.h).  There each process knows only the first
 * tickets that it has seen itself, and waiters for a lock are not woken.
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

/* How many numbers one reservation covers.  This makes two syncs in a million
 * tickets, and is one second in microseconds of the wall clock. */
#define HF_TOKEN_COUNTER_BLOCK (UINT64_C(1) << 20)

struct hf_file_token_counter {
    int fd;       /* the open file; -1: not open */
    dev_t device; /* device and inode of the open file */
    ino_t inode;
    /* how this process uses the page; set by the open */
    enum hf_file_counter_access access;
    struct hf_file_token_counter_page *page; /* NULL: there is none */
    /* Held together with the flock() of the file, because threads of one
     * process share .fd and so the flock() does not exclude them. */
    pthread_mutex_t threads;
    struct hf_file_descriptors *descriptors; /* borrowed */
    const struct hf_file_path_policy
        *policy;         /* who may own the file; borrowed */
    const char *state;   /* the directory of the token floor; borrowed */
    bool state_required; /* fail if .state cannot be used */
    /* This process had to reserve a block and could not write the floor, so
     * tokens may be given out again after a reboot.  Any thread may set this,
     * once, after it has set .cause, the reason. */
    atomic_bool not_durable;
    struct hf_error cause;
    /* When the floor must be looked at again before a number is taken, because
     * a program that cleans up may have removed it; CLOCK_BOOTTIME in
     * milliseconds. */
    _Atomic uint64_t look_again_ms;
};

/* How often the floor is looked at while numbers are taken, which keeps
 * programs that clean up old files from removing it.  A program that removes
 * even younger files removes it all the same. */
#define HF_TOKEN_COUNTER_LOOK_EVERY_MS (UINT64_C(3600) * 1000)

/* Open the file at ${path}, which is in the directory ${root}; make or repair
 * it as needed, with ${mode} (whatever the umask is, if ${shared}).  An
 * existing file keeps its mode.  In a shared root, nothing is written to a file
 * that is not a counter, because others may have put any file of ours there.
 * The caller has set .fd, .threads, .descriptors, .policy, .state and
 * .state_required.
 *   Time      some calls; more for the lock of a file that is not mapped, and
 *             to look at the floor; the first open after a boot syncs a file.
 *   Thread    any that may wait.
 *   Fails     HF_EDIR HF_EDENIED HF_EFULL HF_ELIMIT HF_ENOMEM HF_EUNREACHABLE;
 *             it is closed then. */
hf_status hf_file_token_counter_open(struct hf_file_token_counter *counter,
                                     int root, const char *path, mode_t mode,
                                     bool shared, struct hf_error *error);
void hf_file_token_counter_close(struct hf_file_token_counter *counter);

/* Returns whether the counter is current: the open file is still at ${path}
 * and, if it is mapped, is as long as the page, and nobody else can write to
 * it.  A mapped page may be touched only then: a page beyond the end of its
 * file causes SIGBUS, and any user who can write to the file can truncate it.
 * The functions below, and those of token_counter_file.h about a counter, need
 * a current one. */
bool hf_file_token_counter_is_current(
    const struct hf_file_token_counter *counter, const char *path);

enum hf_file_token_counter_answer {
    HF_TOKEN_COUNTER_TAKEN,
    /* call hf_file_token_counter_reserve(), then try again */
    HF_TOKEN_COUNTER_USED_UP,
    /* another process has the lock; only with HF_FLOCK_WAIT_NONE */
    HF_TOKEN_COUNTER_BUSY,
    /* it is not current, or is damaged: open it again */
    HF_TOKEN_COUNTER_STALE,
    HF_TOKEN_COUNTER_FAILED, /* ${error} has the reason */
};

/* Take the next number, if the counter is current, into ${number}.  Returns
 * USED_UP if the number is beyond the limit, or the floor was not looked at for
 * too long.  A copied page needs the lock of the file.  This waits for the lock
 * up to HF_FLOCK_TIMEOUT_MS, unless ${wait} is HF_FLOCK_WAIT_NONE, or until
 * ${*cancelled} (may be NULL) is set.
 *   Fails     as hf_file_flock_lock(), read and write do. */
enum hf_file_token_counter_answer
hf_file_token_counter_take(struct hf_file_token_counter *counter,
                           const char *path, enum hf_file_flock_wait wait,
                           const atomic_bool *cancelled, uint64_t *number,
                           struct hf_error *error);

/* Reserve another block, unless another process has done so.  Also keeps the
 * floor from programs that clean up, or makes it again if one has removed it.
 * A copied page that is damaged is left as it is.
 *   Thread    any that may wait.
 *   Fails     HF_EUNREACHABLE if the lock of the file cannot be had; what
 *             reading and writing a copied page fail with; and what
 *             hf_file_token_floor_reserve() fails with: with .state_required
 *             any of these, else only a lack of descriptors or memory. */
hf_status hf_file_token_counter_reserve(struct hf_file_token_counter *counter,
                                        const char *path,
                                        struct hf_error *error);

#endif
