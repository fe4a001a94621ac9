/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command_spawn.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/exit_status.h"

/* What execve() may fail with.  libc's own texts are not to be had here,
 * because it may look for a translation, under a lock of another thread. */
static const char *execve_error_text(int error)
{
    switch (error) {
    case ENOENT:
        return "No such file or directory";
    case EACCES:
        return "Permission denied";
    case ENOEXEC:
        return "Exec format error";
    case E2BIG:
        return "Argument list too long";
    case ENOTDIR:
        return "Not a directory";
    case ELOOP:
        return "Too many levels of symbolic links";
    case ETXTBSY:
        return "Text file busy";
    case ENOMEM:
        return "Cannot allocate memory";
    default:
        return "it cannot be executed";
    }
}

/* Async-signal-safe: the client has threads. */
static _Noreturn void report_exec_error(const char *command, int error)
{
    char text[512];
    ssize_t written;
    int length =
        snprintf(text, sizeof text, "holdfast: cannot run '%.300s': %s\n",
                 command, execve_error_text(error));

    /* If even that cannot be said, the exit status still tells. */
    written = length > 0 ? write(STDERR_FILENO, text, (size_t)length) : 0;
    (void)written;
    _exit(error == ENOENT ? HF_EXIT_NOT_FOUND : HF_EXIT_NOT_RUN);
}

static _Noreturn void become_command(const struct hf_command_spawn *spawn,
                                     pid_t supervisor)
{
    /* Should both of our processes be killed at once nobody is left to sweep:
     * then at least the command itself goes with its supervisor. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != supervisor)
        _exit(HF_EXIT_BUG);
    /* Fails only if the launcher and all its group are gone, and with them the
     * reason to run. */
    if (setpgid(0, spawn->group) < 0)
        _exit(HF_EXIT_BUG);
    hf_signals_restore(spawn->signals);
    execvpe(spawn->argv[0], spawn->argv, spawn->environment);
    report_exec_error(spawn->argv[0], errno);
}

pid_t hf_command_spawn(const struct hf_command_spawn *spawn)
{
    pid_t supervisor = getpid();
    /* Not vfork: the command can be stopped before its exec, and would stop
     * us with it. */
    pid_t child = fork();

    if (child == 0)
        become_command(spawn, supervisor);
    return child;
}
