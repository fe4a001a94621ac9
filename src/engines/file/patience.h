/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for a flock() that others hold only for microseconds, within a
 * bound: in small growing steps, because a blocked flock() could not be given
 * up without a signal, and the library owns none. */
#ifndef HF_ENGINES_FILE_PATIENCE_H
#define HF_ENGINES_FILE_PATIENCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <holdfast/holdfast.h>

#define HF_PATIENCE_MS 5000

enum hf_patience {
    HF_PATIENCE_NONE,  /* on a thread that must not wait: a few yields */
    HF_PATIENCE_SLICE, /* a few milliseconds, then others have their turn */
    HF_PATIENCE_BOUND, /* up to HF_PATIENCE_MS */
};

enum hf_lock_answer {
    HF_LOCK_TAKEN,
    HF_LOCK_BUSY,   /* others have it; not with HF_PATIENCE_BOUND */
    HF_LOCK_FAILED, /* ${error} says why */
};

/* Take flock(LOCK_EX) on ${fd}, which is called ${path}.
 *   Fails     HF_EUNREACHABLE past the bound, naming the process that has it;
 *             HF_ECLOSED once ${*cancelled} (may be NULL) is set; what
 *             flock() does. */
enum hf_lock_answer hf_patience_lock(int fd, const char *path,
                                     enum hf_patience patience,
                                     const atomic_bool *cancelled,
                                     struct hf_error *error);

/* Fill ${error} with HF_EUNREACHABLE, past the bound. */
void hf_patience_overdue(int fd, const char *path, struct hf_error *error);

/* CLOCK_BOOTTIME. */
uint64_t hf_patience_now_ms(void);

/* The process in /proc/locks with an flock on the file, 0 if none is found. */
pid_t hf_patience_holder(dev_t device, ino_t inode);

#endif
