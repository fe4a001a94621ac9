/* SPDX-License-Identifier: Apache-2.0 */
/* Starting the command. */
#ifndef HF_CLI_COMMAND_SPAWN_H
#define HF_CLI_COMMAND_SPAWN_H

#include <sys/types.h>

#include "cli/signals.h"

struct hf_command_spawn {
    char **argv;
    char **environment;
    pid_t group; /* to run in: the terminal's foreground job */
    const struct hf_signals *signals;
};

/* Start ${spawn}->argv, found along PATH.  The pid, or -1 with errno.  A
 * command that cannot be run says so on its stderr and exits as in a shell: 127
 * where there is none, 126 where it cannot be executed.  It dies with this
 * process. */
pid_t hf_command_spawn(const struct hf_command_spawn *spawn);

#endif
