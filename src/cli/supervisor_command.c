/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command of the supervisor: how it is started, and what is seen of it
 * until it has ended or its tree is ended.  The next instance of elect is a new
 * command, and so is each of its hooks.
 */
#include "cli/supervisor.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <holdfast/grant.h>

#include "base/error.h"
#include "base/state_machine.h"
#include "cli/ipc.h"
#include "command/exit_status.h"

/* At most this many children are reaped in one turn, because a command can
 * fork faster than we reap and the rest of the loop has to run too. */
#define HF_REAP_MAX 256

/* After the command was continued, the launcher is checked this many times at
 * this interval. */
#define HF_LAUNCHER_CHECKS 20
#define HF_LAUNCHER_CHECK_MS 50

/* --------------------------------------------------------------- state -- */

#define STATE(name) HF_COMMAND_##name
#define TO(name) (1U << HF_COMMAND_##name)

/* The legal moves.  Only elect forgets a command and has NONE again. */
static const struct hf_state_machine_state states[] = {
    [STATE(NONE)] = {"NONE", TO(NOT_STARTED) | TO(RUNNING)},
    [STATE(NOT_STARTED)] = {"NOT_STARTED", TO(NONE)},
    [STATE(RUNNING)] = {"RUNNING", TO(STOPPED) | TO(TERMINATED) | TO(ENDED)},
    [STATE(STOPPED)] = {"STOPPED", TO(RUNNING) | TO(TERMINATED) | TO(ENDED)},
    [STATE(TERMINATED)] = {"TERMINATED", TO(ENDED) | TO(NONE)},
    [STATE(ENDED)] = {"ENDED", TO(NONE)},
};

static const struct hf_state_machine table = {"command", states,
                                              sizeof states / sizeof states[0]};

static void move(struct hf_supervisor *supervisor, unsigned state)
{
    hf_state_machine_move(&table, &supervisor->command.state, state);
}

bool hf_supervisor_command_runs(const struct hf_supervisor *supervisor)
{
    return supervisor->command.state == HF_COMMAND_RUNNING ||
           supervisor->command.state == HF_COMMAND_STOPPED;
}

bool hf_supervisor_has_started(const struct hf_supervisor *supervisor)
{
    return hf_supervisor_command_runs(supervisor) ||
           supervisor->command.state == HF_COMMAND_TERMINATED ||
           supervisor->command.state == HF_COMMAND_ENDED;
}

void hf_supervisor_give_command_up(struct hf_supervisor *supervisor)
{
    if (hf_supervisor_command_runs(supervisor))
        move(supervisor, HF_COMMAND_TERMINATED);
}

void hf_supervisor_forget_command(struct hf_supervisor *supervisor)
{
    struct hf_supervised_command *command = &supervisor->command;

    if (command->state != HF_COMMAND_NONE)
        move(supervisor, HF_COMMAND_NONE);
    command->role = HF_ROLE_COMMAND;
    command->pid = 0;
    command->changes = 0;
    command->continued = false;
    command->launcher_checks = 0;
    sigemptyset(&command->passed);
}

void hf_supervisor_check_command(const struct hf_supervisor *supervisor)
{
    const struct hf_supervised_command *command = &supervisor->command;

    assert(hf_supervisor_has_started(supervisor) == (command->pid > 0));
    assert((command->state == HF_COMMAND_NONE) == (command->pid == 0));
    assert(command->launcher_checks == 0 ||
           hf_supervisor_has_started(supervisor));
    assert(command->instance > 0 || command->state == HF_COMMAND_NONE);
}

/* ----------------------------------------------------- its process, new -- */

/* Between fork() and execve() only async-signal-safe functions may be called,
 * because the client has threads. */
struct spawn {
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

/* Does ${entry} ("NAME=VALUE") give ${name} the value ${number}? */
static bool has_number(const char *entry, const char *name, pid_t number)
{
    size_t length = strlen(name);

    return strncmp(entry, name, length) == 0 && entry[length] == '=' &&
           strtol(entry + length + 1, NULL, 10) == (long)number;
}

/* In the child: if a service manager has named the launcher in the variable
 * ${name}, name this process instead.  False if it has not. */
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
static _Noreturn void become_command(const struct spawn *spawn,
                                     pid_t supervisor)
{
    int error;

    /* If both of our processes are killed at once nobody is left to end the
     * tree; then at least the command itself dies with the supervisor. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != supervisor)
        _exit(HF_EXIT_BUG);
    /* This fails only if the launcher and all its group are gone.  Then nobody
     * waits for the command any more. */
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

/* Start ${spawn}->argv, which is looked up in PATH.  Returns the pid, or -1
 * with errno.  A command that cannot be executed sets .exec_error and exits as
 * in a shell: 127 if it does not exist, else 126.  It dies when this process
 * does. */
static pid_t spawn_command(const struct spawn *spawn)
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

/* --------------------------------------------------------------- start -- */

/* Move this process to a session of its own, for a command that is started
 * once: what is forked afterwards cannot join the launcher's group.  The kernel
 * gives each session its own share of the processors (autogroup, sched(7)).
 * Beside a command that forks without end we would otherwise be too slow to
 * kill what it forks.
 *
 * The command must be started before, because it joins the launcher's group,
 * which is in the old session.  A leader of a group cannot call setsid(), and
 * the command may be in our group still: so put the command into the
 * launcher's group, then ourselves (we are no leader then), then leave.  If
 * the launcher's group is gone we stay where we are. */
static void leave_session(const struct hf_supervisor *supervisor, pid_t group)
{
    (void)setpgid(supervisor->command.pid, group);
    if (supervisor->run->options->elect)
        return;
    if (setpgid(0, supervisor->run->group) == 0)
        (void)setsid();
}

const char *hf_supervisor_command_name(const struct hf_supervisor *supervisor)
{
    switch (supervisor->command.role) {
    case HF_ROLE_ON_LEAD:
        return "--on-lead";
    case HF_ROLE_ON_RESIGN:
        return "--on-resign";
    case HF_ROLE_COMMAND:
        break;
    }
    return "the command";
}

#define HOOK_WORDS 4

/* The words of what is run in ${role}, of a hook in ${hook}; the last one is
 * NULL. */
static char **words_of(const struct hf_supervisor *supervisor,
                       enum hf_command_role role, char *hook[HOOK_WORDS])
{
    static char shell[] = "sh", option[] = "-c";
    const struct hf_run_options *options = supervisor->run->options;

    if (role == HF_ROLE_COMMAND)
        return options->command;
    hook[0] = shell;
    hook[1] = option;
    hook[2] = (char *)(role == HF_ROLE_ON_LEAD ? options->on_lead
                                               : options->on_resign);
    hook[3] = NULL;
    return hook;
}

bool hf_supervisor_start_command(struct hf_supervisor *supervisor,
                                 enum hf_command_role role)
{
    struct hf_ipc_message message = {.kind = HF_IPC_STARTED};
    const struct hf_run *run = supervisor->run;
    char *hook[HOOK_WORDS];
    /* The group of a launcher that is gone may be gone, too. */
    struct spawn spawn = {
        .argv = words_of(supervisor, role, hook),
        .launcher = run->launcher,
        .group = supervisor->launcher == HF_LAUNCHER_GONE ? 0 : run->group,
        .exec_error = &run->page->exec_error,
        .signals = &run->signals};
    struct hf_environment environment;
    pid_t pid = -1;

    supervisor->command.role = role;
    message.as.signal.instance = ++supervisor->command.instance;
    message.as.signal.token =
        role == HF_ROLE_ON_RESIGN ? 0 : hf_grant_token(supervisor->grant);
    supervisor->command.started_at_ms = hf_clock_now_ms();
    if (hf_supervisor_environment(supervisor, &environment)) {
        spawn.environment = environment.entries;
        spawn.inherited_fd = environment.url_fd;
        pid = spawn_command(&spawn);
    }
    move(supervisor, pid < 0 ? HF_COMMAND_NOT_STARTED : HF_COMMAND_RUNNING);
    supervisor->command.pid = pid;
    if (pid < 0)
        hf_error_set(&supervisor->failure, HF_ELIMIT,
                     "cannot start a process for %s: %s; end some of "
                     "what is running, or raise the limits (ulimit -a)",
                     hf_supervisor_command_name(supervisor), strerror(errno));
    else
        (void)hf_ipc_send(run->supervisor_end, &message, -1);
    hf_environment_free(&environment);
    if (pid > 0)
        leave_session(supervisor, spawn.group);
    return pid > 0;
}

/* ------------------------------------------------- what happens to it -- */

void hf_supervisor_report_stop(const struct hf_supervisor *supervisor)
{
    struct hf_ipc_message message = {.kind = HF_IPC_STOPPED};

    message.as.signal.number = supervisor->command.stop_signal;
    message.as.signal.epoch = supervisor->epoch;
    message.as.signal.process = supervisor->command.pid;
    (void)hf_ipc_send(supervisor->run->supervisor_end, &message, -1);
}

/* Continue a launcher that is stopped.  Somebody has continued the command
 * alone (kill -CONT), and the launcher, which stopped with it, must go on with
 * it.  If a shell has continued the whole job, the launcher is not stopped any
 * more. */
static void continue_launcher(const struct hf_supervisor *supervisor)
{
    pid_t launcher = supervisor->run->launcher;

    if (getppid() == launcher && hf_process_is_stopped(launcher))
        kill(launcher, SIGCONT);
}

/* The launcher stops because the command did, and may do so just after both
 * were continued: raising the stop signal discards a SIGCONT that came a
 * moment before.  So look several times. */
uint64_t hf_supervisor_check_launcher(struct hf_supervisor *supervisor,
                                      uint64_t now_ms)
{
    if (supervisor->command.launcher_checks == 0)
        return HF_FOREVER;
    if (now_ms >= supervisor->command.launcher_check_at_ms) {
        supervisor->command.launcher_checks--;
        supervisor->command.launcher_check_at_ms =
            now_ms + HF_LAUNCHER_CHECK_MS;
        continue_launcher(supervisor);
    }
    return supervisor->command.launcher_check_at_ms;
}

/* If the command could not be executed, print why.  Its process may not print
 * that: between fork() and execve() it could wait for ever for a lock that
 * another thread held. */
static void report_exec_error(struct hf_supervisor *supervisor)
{
    int error = atomic_load(&supervisor->run->page->exec_error);
    char line[HF_ERROR_TEXT_BYTES];

    if (error == 0)
        return;
    if (supervisor->command.role == HF_ROLE_COMMAND)
        (void)snprintf(line, sizeof line, "cannot run '%.300s': %s",
                       supervisor->run->options->command[0], strerror(error));
    else
        (void)snprintf(line, sizeof line,
                       "cannot run 'sh' for %s: %s; expected a shell on PATH",
                       hf_supervisor_command_name(supervisor), strerror(error));
    hf_supervisor_offer_line(supervisor, HF_LOG_ERROR, line);
}

/* The command was seen to stop or to continue.  If its tree is being ended it
 * stays TERMINATED. */
static void set_stopped(struct hf_supervisor *supervisor, unsigned state)
{
    struct hf_supervised_command *command = &supervisor->command;

    command->changes++;
    if (hf_supervisor_command_runs(supervisor) && command->state != state)
        move(supervisor, state);
}

static void set_ended(struct hf_supervisor *supervisor, int exit_code)
{
    move(supervisor, HF_COMMAND_ENDED);
    supervisor->command.exit_code = exit_code;
    supervisor->command.ended_at_ms = hf_clock_now_ms();
}

/* The command has stopped, continued or ended. */
static void on_command(struct hf_supervisor *supervisor, const siginfo_t *info)
{
    switch (info->si_code) {
    case CLD_STOPPED:
        /* It stopped a second time, so it ran in between, which nobody saw. */
        if (supervisor->command.state == HF_COMMAND_STOPPED)
            supervisor->command.continued = true;
        set_stopped(supervisor, HF_COMMAND_STOPPED);
        supervisor->command.launcher_checks = 0;
        supervisor->command.stop_signal = info->si_status;
        hf_supervisor_report_stop(supervisor);
        break;
    case CLD_CONTINUED:
        set_stopped(supervisor, HF_COMMAND_RUNNING);
        supervisor->command.continued = true;
        supervisor->command.launcher_checks = HF_LAUNCHER_CHECKS;
        supervisor->command.launcher_check_at_ms = 0;
        break;
    case CLD_EXITED:
        report_exec_error(supervisor);
        set_ended(supervisor, info->si_status);
        break;
    case CLD_KILLED:
    case CLD_DUMPED:
        set_ended(supervisor, HF_EXIT_SIGNAL + info->si_status);
        break;
    default:
        break;
    }
}

bool hf_supervisor_reap(struct hf_supervisor *supervisor)
{
    const struct hf_supervised_command *command = &supervisor->command;

    for (int i = 0; i < HF_REAP_MAX; i++) {
        siginfo_t info = {0};

        if (waitid(P_ALL, 0, &info,
                   WEXITED | WSTOPPED | WCONTINUED | WNOHANG | __WALL) != 0 ||
            info.si_pid == 0)
            return false;
        if (info.si_pid == command->pid && command->state != HF_COMMAND_ENDED)
            on_command(supervisor, &info);
    }
    return true;
}
