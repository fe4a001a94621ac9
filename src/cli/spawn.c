/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/spawn.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/exit_status.h"

/* Async-signal-safe: the client has threads. */
static _Noreturn void cannot_run(const char *command, int error)
{
    char text[512];
    ssize_t written;
    int length =
        snprintf(text, sizeof text, "holdfast: cannot run '%.300s': %s\n",
                 command, strerrordesc_np(error));

    /* If even that cannot be said, the exit status still tells. */
    written = length > 0 ? write(STDERR_FILENO, text, (size_t)length) : 0;
    (void)written;
    _exit(error == ENOENT ? HF_EXIT_NOT_FOUND : HF_EXIT_NOT_RUN);
}

static _Noreturn void become_command(const struct hf_spawn *spawn, pid_t keeper)
{
    /* Should both of our processes be killed at once nobody is left to sweep:
     * then at least the command itself goes with its keeper. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != keeper)
        _exit(HF_EXIT_BUG);
    /* Fails only if the front and all its group are gone, and with them the
     * reason to run. */
    if (setpgid(0, spawn->group) < 0)
        _exit(HF_EXIT_BUG);
    hf_signals_restore(spawn->signals);
    execvpe(spawn->argv[0], spawn->argv, spawn->environment);
    cannot_run(spawn->argv[0], errno);
}

pid_t hf_spawn(const struct hf_spawn *spawn)
{
    pid_t keeper = getpid();
    /* Not vfork: the command can be stopped before its exec, and would stop
     * us with it. */
    pid_t child = fork();

    if (child == 0)
        become_command(spawn, keeper);
    return child;
}
