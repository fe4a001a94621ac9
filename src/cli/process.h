/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc knows of processes. */
#ifndef HF_CLI_PROCESS_H
#define HF_CLI_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A growing list of processes, each with the parent it was found under. */
struct hf_process {
    pid_t pid;
    pid_t parent;
};

struct hf_process_list {
    struct hf_process *items;
    size_t count;
    size_t room;
};

void hf_process_list_free(struct hf_process_list *list);
bool hf_process_list_has(const struct hf_process_list *list, pid_t pid);

/* Add ${process}; false if there is no memory. */
bool hf_process_list_add(struct hf_process_list *list,
                         struct hf_process process);

/* The parent of ${pid}.  0 with errno if it is not known (ESRCH: the process
 * has gone), and without if it has none that we can see. */
pid_t hf_process_parent(pid_t pid);

/* Is ${pid} stopped by a signal? */
bool hf_process_is_stopped(pid_t pid);

/* When ${pid} was started, in the kernel's ticks since the boot; 0 if it is not
 * known.  A pid and this name one process, also after the pid is used again. */
uint64_t hf_process_started(pid_t pid);

/* Does this process descend from ${pid}, which was started at ${started}? */
bool hf_process_is_ancestor(pid_t pid, uint64_t started);

/* Send ${number} to ${process} if it is still a child of the parent it was
 * found under; never to another that got its number.  For a child of our own
 * that has not been reaped this is certain. */
void hf_process_signal(const struct hf_process *process, int number);

/* Could somebody who controls jobs continue our process group if it stopped?
 * That is an ancestor in our session and not in our group.  Those of other
 * sessions are passed by: the supervisor of a run that this one is nested in is
 * such, and has the shell behind it. */
bool hf_process_under_job_control(void);

#endif
