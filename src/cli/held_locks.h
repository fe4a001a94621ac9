/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The locks that runs around this one hold.  Each run hands them down in the
 * environment variable HOLDFAST_HELD, so that a nested run does not wait for a
 * lock that is released only when the nested run itself has ended.
 *
 * The variable has one line for each lock, those of the outermost run first:
 *
 *   ENGINE:PID:STARTED:KIND:PERMITS:WORDS:TICKET:NAME\n
 *
 * ENGINE is a digest of what hf_client_describe() says.  PID and STARTED are
 * the process that holds the lock (hf_process_started()).  PERMITS is 1, but
 * for a semaphore.  WORDS is how many words the command has (outer_waits.h); 0
 * if a timer ends the run.  TICKET is the first eight digits of the ticket's
 * id.  NAME is the rest; it may contain ':' but no newline.
 *
 * An environment may be copied to a process that outlives the run.  Therefore
 * a line counts only while the process that it names is an ancestor of the
 * reader: then the lock is held until the reader has ended.
 */
#ifndef HF_CLI_HELD_LOCKS_H
#define HF_CLI_HELD_LOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <holdfast/lock.h>

#include "cli/variables_text.h"

#define HF_HELD_LOCKS_VARIABLE "HOLDFAST_HELD"
#define HF_HELD_LOCK_ENGINE_BYTES 17
#define HF_HELD_LOCK_TICKET_BYTES 9

/* One line of the variable. */
struct hf_held_lock {
    char engine[HF_HELD_LOCK_ENGINE_BYTES];
    pid_t pid;
    uint64_t started;
    enum hf_kind kind;
    uint32_t permits;
    uint32_t words;
    char ticket[HF_HELD_LOCK_TICKET_BYTES];
    char name[HF_NAME_BYTES + 1];
};

/* Write the digest of ${description} (hf_client_describe()) to ${engine}. */
void hf_held_lock_engine(const char *description,
                         char engine[HF_HELD_LOCK_ENGINE_BYTES]);

/* Would a wait for ${wanted} end only after this process has ended, because of
 * what the runs around it hold?  ${limit} is how many permits a semaphore has.
 * ${text} is the value of the variable, or NULL.  If so, ${found} is the lock
 * that blocks; of permits, .permits is their sum.  ${wanted}->pid, .started and
 * .ticket are not used.  A reader does not block a reader here, but see
 * hf_held_locks_have_holder(). */
bool hf_held_locks_block(const char *text, const struct hf_held_lock *wanted,
                         uint32_t limit, struct hf_held_lock *found);

/* Does ${holder}, the payload of the ticket at the head of a queue, belong to
 * an ancestor that holds the lock ${name}?  A waiter behind it would wait for
 * itself: a reader with a writer between the two, or a run that reaches the
 * same engine by another URL.  Not to be used for semaphores, whose waiters
 * may wait for other tickets than the first. */
bool hf_held_locks_have_holder(const char *text, const char *name,
                               const char *holder, uint64_t now_ms);

/* Call ${each} for each line of ${text} (NULL: none) that counts and is of
 * ${engine}. */
void hf_held_locks_each(const char *text, const char *engine,
                        void (*each)(void *arg,
                                     const struct hf_held_lock *held),
                        void *arg);

/* Set ${found} to the first line of ${text} (NULL: none) that counts and is of
 * the process ${pid}; false: there is none. */
bool hf_held_locks_of_run(const char *text, pid_t pid,
                          struct hf_held_lock *found);

/* Write the lines of ${text} that count to ${out}; at most so many that they
 * and HF_LOCKS_MAX more lines fit into one variable. */
void hf_held_locks_write_inherited(struct hf_variables_text *out,
                                   const char *text);

/* Write the line for ${held} to ${out}. */
void hf_held_lock_write(struct hf_variables_text *out,
                        const struct hf_held_lock *held);

#endif
