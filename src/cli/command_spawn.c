/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See command_spawn.h.  Between fork() and execve() only async-signal-safe
 * functions may be called, because the client has threads.
 */
#include "cli/command_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "command/exit_status.h"

/* Does ${entry} ("NAME=VALUE") give ${name} the value ${number}? */
static bool has_number(const char *entry, const char *name, pid_t number)
{
    size_t length = strlen(name);

    return strncmp(entry, name, length) == 0 && entry[length] == '=' &&
           strtol(entry + length + 1, NULL, 10) == (long)number;
}

/* In the child: name this process where a service manager has named the
 * launcher.  False if it has not. */
static bool take_pid(char **environment, const char *name, pid_t launcher,
                     char entry[40])
{
    for (; *environment; environment++) {
        if (!has_number(*environment, name, launcher))
            continue;
        snprintf(entry, 40, "%s=%d", name, (int)getpid());
        *environment = entry;
        return true;
    }
    return false;
}

/* In the child: remove a variable. */
static void unset(char **environment, const char *name)
{
    char **kept = environment;
    size_t length = strlen(name);

    for (; *environment; environment++)
        if (strncmp(*environment, name, length) != 0 ||
            (*environment)[length] != '=')
            *kept++ = *environment;
    *kept = NULL;
}

/* In the child: sockets that a service manager has passed to the launcher
 * (sd_listen_fds(3)) are the command's, and so is the watchdog
 * (sd_watchdog_enabled(3)).  Since systemd 258 the launcher is named by its
 * pidfd as well, and a program that finds another process there uses no
 * socket. */
static void take_over_from_launcher(char **environment, pid_t launcher)
{
    static char sockets[40], watchdog[40];

    if (take_pid(environment, "LISTEN_PID", launcher, sockets))
        unset(environment, "LISTEN_PIDFDID");
    (void)take_pid(environment, "WATCHDOG_PID", launcher, watchdog);
}

/* In the child: join the launcher's group, restore signals, execute the
 * command. */
static _Noreturn void become_command(const struct hf_command_spawn *spawn,
                                     pid_t supervisor)
{
    int error;

    /* If both of our processes are killed at once nobody is left to end the
     * tree; then at least the command itself dies with the supervisor. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != supervisor)
        _exit(HF_EXIT_BUG);
    /* Fails only if the launcher and all its group are gone: then nobody waits
     * for the command any more. */
    if (setpgid(0, spawn->group) < 0)
        _exit(HF_EXIT_BUG);
    if (spawn->inherited_fd >= 0 && fcntl(spawn->inherited_fd, F_SETFD, 0) < 0)
        _exit(HF_EXIT_BUG);
    take_over_from_launcher(spawn->environment, spawn->launcher);
    hf_signals_restore(spawn->signals);
    execvpe(spawn->argv[0], spawn->argv, spawn->environment);
    error = errno;
    atomic_store(spawn->exec_error, error);
    _exit(error == ENOENT ? HF_EXIT_NOT_FOUND : HF_EXIT_NOT_RUN);
}

pid_t hf_command_spawn(const struct hf_command_spawn *spawn)
{
    pid_t supervisor = getpid(), child;

    atomic_store(spawn->exec_error, 0);
    /* Not vfork(): the child can be stopped before its exec, and would stop us
     * with it. */
    child = fork();
    if (child == 0)
        become_command(spawn, supervisor);
    return child;
}
