/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes are children of which.  The kernel has that in
 * /proc/PID/task/TID/children, for each thread.  Where it was built without
 * that file (CONFIG_PROC_CHILDREN) all of /proc is scanned for the parents
 * that /proc/PID/stat names.
 */
#ifndef HF_CLI_PROCESS_TREE_H
#define HF_CLI_PROCESS_TREE_H

#include <holdfast/status.h>

#include "cli/process.h"

/* Find out how children can be found here.  To be called once, before the
 * functions below, by a process that has no threads and no children of its own
 * making.
 *   Fails     HF_EUNSUPPORTED with the reason; HF_ELIMIT. */
hf_status hf_process_tree_open(struct hf_error *error);

/* Add the children of ${parent}, of all its threads, to ${list}.  For this
 * process the list is complete, because only we reap our children; but a scan
 * misses children of other users where /proc is mounted with hidepid=.  Of
 * another process children may be missed that come or go meanwhile.  False if
 * there is no memory, no descriptor or no /proc. */
bool hf_process_children(pid_t parent, struct hf_process_list *list);

/* Add the descendants of the processes in ${list}, until there are more than
 * ${most}. */
void hf_process_descendants(struct hf_process_list *list, size_t most);

#endif
