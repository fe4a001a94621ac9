/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the runs hold that this one was started under.  Each run hands it down
 * in HOLDFAST_HELD, so that a nested one does not wait for a lock that is held
 * until the nested one itself has ended.
 *
 * The variable has a line for each lock, the outermost first:
 *
 *   ENGINE:PID:STARTED:KIND:PERMITS:TICKET:NAME\n
 *
 * ENGINE is a digest of what hf_client_describe() says, PID and STARTED name
 * the process that holds the lock (hf_process_started()), PERMITS is 1 but for
 * a semaphore, TICKET has the first eight digits of the ticket's id.  NAME,
 * which may have any ':' but no line end, is the rest.
 *
 * An environment may be copied to a process that outlives the run, so a line
 * counts only while the process that it names is an ancestor of the reader:
 * then the lock is held until the reader has gone.
 */
#ifndef HF_CLI_HELD_LOCKS_H
#define HF_CLI_HELD_LOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include <holdfast/holdfast.h>

#define HF_HELD_LOCKS_VARIABLE "HOLDFAST_HELD"
#define HF_HELD_LOCK_ENGINE_BYTES 17
#define HF_HELD_LOCK_TICKET_BYTES 9

struct hf_held_lock {
    char engine[HF_HELD_LOCK_ENGINE_BYTES];
    pid_t pid;
    uint64_t started;
    enum hf_kind kind;
    uint32_t permits;
    char ticket[HF_HELD_LOCK_TICKET_BYTES];
    char name[HF_NAME_BYTES + 1];
};

/* Write the digest of ${description} to ${engine}. */
void hf_held_lock_engine(const char *description,
                         char engine[HF_HELD_LOCK_ENGINE_BYTES]);

/* Would a wait for ${wanted}, as a semaphore one of ${limit} permits, end only
 * after this process?  ${text} is the variable's value, or NULL.  Then ${found}
 * is what is held and stands in the way; of permits, .permits is their sum.
 * .pid, .started and .ticket of ${wanted} are not looked at.  A reader does not
 * wait for a reader, but see hf_held_locks_have_holder(). */
bool hf_held_locks_block(const char *text, const struct hf_held_lock *wanted,
                         uint32_t limit, struct hf_held_lock *found);

/* Does ${holder}, what the ticket at the head of a queue says of its owner,
 * name an ancestor that holds the lock called ${name}?  A waiter behind it
 * would wait for itself: a reader with a writer between the two, or one that
 * reaches the same engine by another URL.  Not so for semaphores, where other
 * tickets than the first may be waited for. */
bool hf_held_locks_have_holder(const char *text, const char *name,
                               const char *holder, uint64_t now_ms);

/* Call ${each} with what each line of ${text}, which may be NULL, says that
 * still counts and is of ${engine}. */
void hf_held_locks_each(const char *text, const char *engine,
                        void (*each)(void *arg,
                                     const struct hf_held_lock *held),
                        void *arg);

/* Write those lines of ${text} that still count to ${out}; of many only so many
 * that, with HF_LOCKS_MAX more, the kernel takes them in one variable. */
void hf_held_locks_write_inherited(FILE *out, const char *text);

/* Write the line for ${held} to ${out}. */
void hf_held_lock_write(FILE *out, const struct hf_held_lock *held);

#endif
