/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc knows of processes, and lists of processes. */
#ifndef HF_CLI_PROCESS_H
#define HF_CLI_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A process, and the parent it had when it was found. */
struct hf_process {
    pid_t pid;
    pid_t parent;
};

/* A list that grows; all zero is an empty one. */
struct hf_process_list {
    struct hf_process *items;
    size_t count;
    size_t room; /* items that fit before it grows */
};

/* Free the items; the list is empty afterwards. */
void hf_process_list_free(struct hf_process_list *list);
/* Is ${pid} in the list? */
bool hf_process_list_has(const struct hf_process_list *list, pid_t pid);

/* Take ${pid} out of ${list}, if it is in there. */
void hf_process_list_remove(struct hf_process_list *list, pid_t pid);

/* Add ${process}.  False if there is no memory. */
bool hf_process_list_add(struct hf_process_list *list,
                         struct hf_process process);

/* The parent of ${pid}.  0 with errno if that cannot be read (ESRCH: the
 * process is gone); 0 with errno 0 if it has none that we can see. */
pid_t hf_process_parent(pid_t pid);

/* Has ${pid} ended, reaped or not?  False if that cannot be found out. */
bool hf_process_has_ended(pid_t pid);

/* Is ${pid} stopped by a signal? */
bool hf_process_is_stopped(pid_t pid);

/* When ${pid} was started, in the kernel's clock ticks since the boot; 0 if
 * that cannot be read.  A pid may be used again, so only pid and start together
 * name one process for ever. */
uint64_t hf_process_started(pid_t pid);

/* Is ${pid}, which was started at ${started}, an ancestor of this process? */
bool hf_process_is_ancestor(pid_t pid, uint64_t started);

/* Does this process have a timer from before it became holdfast?  It can only
 * be one of setitimer(2): an exec keeps no others. */
bool hf_process_has_timer(void);

/* Send signal ${number} to ${process} if it still has the parent it was found
 * under, and never to another process that got its pid.  For a child of our
 * own that has not been reaped this is certain. */
void hf_process_signal(const struct hf_process *process, int number);

/* Is there a shell that could continue our process group after a stop?  That
 * is an ancestor in our session and outside of our group.  Ancestors in other
 * sessions are skipped: the supervisor of a run around this one has a session
 * of its own, and the shell is above it. */
bool hf_process_under_job_control(void);

/* Run before all programs without a real-time priority, if this process may
 * (root, or RLIMIT_RTPRIO); what it starts does not. */
void hf_process_run_before_others(void);

#endif
