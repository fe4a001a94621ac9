/* SPDX-License-Identifier: Apache-2.0 */
/* Starting the command. */
#ifndef HF_CLI_SPAWN_H
#define HF_CLI_SPAWN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/signals.h"

struct hf_spawn {
    char **argv;
    char **environment;
    pid_t group; /* to run in: the terminal's foreground job */
    const struct hf_signals *signals;
};

/* Start ${spawn}->argv, found along PATH.  The pid, or -1 with errno.  A
 * command that cannot be run says so on its stderr and exits as in a shell: 127
 * where there is none, 126 where it cannot be executed.  It dies with this
 * process. */
pid_t hf_spawn(const struct hf_spawn *spawn);

/* The environment for the command: ours with HOLDFAST_NAME, HOLDFAST_TOKEN and
 * HOLDFAST_TOKENS, and without a HOLDFAST_URL that holds a secret.  ${tokens}:
 * of ${count} names, the first of which is ${name}.  NULL if there is no
 * memory.
 * Ownership: one block for hf_free(), and it borrows from environ. */
char **hf_spawn_environment(const char *name, const uint64_t *tokens,
                            size_t count);

#endif
