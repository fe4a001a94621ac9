/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is whose child.  The kernel says it of each thread in
 * /proc/PID/task/TID/children; where it was built without that
 * (CONFIG_PROC_CHILDREN), the parents that all processes name in /proc/PID/stat
 * say it, too.
 */
#ifndef HF_CLI_PROCESS_TREE_H
#define HF_CLI_PROCESS_TREE_H

#include <holdfast/holdfast.h>

#include "cli/process.h"

/* See that children can be found, and in which way.  To be called once, before
 * the others, by a process without threads or children of its own making.
 *   Fails     HF_EUNSUPPORTED with the reason; HF_ELIMIT. */
hf_status hf_process_tree_open(struct hf_error *error);

/* Add the children of ${parent}, of all its threads, to ${list}.  Complete for
 * our own, which only we reap, but for those that hidepid= hides: with it and
 * without the file of children, those of other users.  Of others some may be
 * missed while they come and go.  False if there is no memory, no descriptor or
 * no /proc. */
bool hf_process_children(pid_t parent, struct hf_process_list *list);

/* Add what lies below those in ${list}, until there are more than ${most}. */
void hf_process_descendants(struct hf_process_list *list, size_t most);

#endif
