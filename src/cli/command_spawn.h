/* SPDX-License-Identifier: Apache-2.0 */
/* Starting the command of holdfast run. */
#ifndef HF_CLI_COMMAND_SPAWN_H
#define HF_CLI_COMMAND_SPAWN_H

#include <sys/types.h>

#include "cli/signals.h"

struct hf_command_spawn {
    char **argv;        /* ends with NULL */
    char **environment; /* ends with NULL */
    pid_t launcher; /* for whom a service manager has sockets, if it has any */
    pid_t group; /* process group to join: that of the launcher, the terminal's
                    foreground job */
    const struct hf_signals *signals; /* to be restored in the command */
    int inherited_fd; /* one of ours that the command inherits; -1: none */
    _Atomic int *exec_error; /* in memory that the child shares: errno of an
                                execve() that failed, else 0 */
};

/* Start ${spawn}->argv, which is looked up in PATH.  Returns the pid, or -1
 * with errno.  A command that cannot be executed sets .exec_error and exits as
 * in a shell: 127 if it does not exist, else 126.  It dies when this process
 * does.
 */
pid_t hf_command_spawn(const struct hf_command_spawn *spawn);

#endif
