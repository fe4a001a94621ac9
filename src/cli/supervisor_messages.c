/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between the supervisor and the launcher, seen from the supervisor:
 * what it does about messages and signals, and what it asks for.
 */
#include "cli/supervisor.h"

#include <assert.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/state_machine.h"
#include "cli/ipc.h"

/* ------------------------------------------------ what the launcher does -- */

#define STATE(name) HF_LAUNCHER_##name
#define TO(name) (1U << HF_LAUNCHER_##name)

/* A launcher that is gone does not come back. */
static const struct hf_state_machine_state states[] = {
    [STATE(READY)] = {"READY", TO(READY) | TO(PAUSED) | TO(GONE)},
    [STATE(PAUSED)] = {"PAUSED", TO(READY) | TO(PAUSED) | TO(GONE)},
    [STATE(GONE)] = {"GONE", 0},
};

static const struct hf_state_machine table = {"launcher", states,
                                              sizeof states / sizeof states[0]};

void hf_supervisor_set_launcher(struct hf_supervisor *supervisor,
                                enum hf_launcher_state state)
{
    hf_state_machine_move(&table, &supervisor->launcher, state);
}

/* ------------------------------------------------------------- signals -- */

/* Send a signal that we received to the launcher, which decides what signals
 * mean.  By kill(2) and not by a message, because a launcher that is stopped
 * keeps one signal of each kind while its socket could fill up. */
static void forward_to_launcher(const struct hf_supervisor *supervisor,
                                const struct signalfd_siginfo *info)
{
    pid_t launcher = supervisor->run->launcher;
    int number = (int)info->ssi_signo;

    if (hf_signals_ends(number) && !hf_signals_from_terminal(info) &&
        getppid() == launcher)
        kill(launcher, number);
}

/* SIGCHLD needs no handling, because it wakes the loop, which reaps in each
 * turn. */
void hf_supervisor_read_signals(const struct hf_supervisor *supervisor)
{
    struct signalfd_siginfo infos[16];
    ssize_t got;

    while ((got = read(supervisor->run->signal_fd, infos, sizeof infos)) > 0)
        for (size_t i = 0; i < (size_t)got / sizeof *infos; i++)
            forward_to_launcher(supervisor, &infos[i]);
}

/* ------------------------------------------------------------ messages -- */

void hf_supervisor_cancel_wait(struct hf_supervisor *supervisor)
{
    if (supervisor->state == HF_SUPERVISOR_WAITING)
        hf_op_cancel(supervisor->op);
}

/* The launcher passes a signal on.  A command that runs gets it, unless this
 * instance has got it already.  If no command runs, a signal that .ends_wait
 * ends the wait for the lock, or that of --at-least. */
static void on_signal(struct hf_supervisor *supervisor,
                      const struct hf_ipc_message *message)
{
    int number = message->as.signal.number;

    /* elect and --at-least look at these signals, even if the command has just
     * ended. */
    if (hf_supervisor_has_started(supervisor))
        sigaddset(&supervisor->command.passed, number);
    if (hf_supervisor_command_runs(supervisor)) {
        if (!message->as.signal.delivered ||
            message->as.signal.instance != supervisor->command.instance)
            kill(supervisor->command.pid, number);
    } else if (supervisor->command.state == HF_COMMAND_NONE &&
               message->as.signal.ends_wait) {
        supervisor->cancelled = number;
        hf_supervisor_cancel_wait(supervisor);
    } else if (supervisor->state == HF_SUPERVISOR_KEEPING &&
               message->as.signal.ends_wait) {
        supervisor->next_at_ms = 0;
    }
}

/* The launcher is about to stop.  If the command runs already, the launcher did
 * not know that, and the command may have missed the stop signal of the
 * terminal: stop it.  Not if it has stopped since it was started: then it has
 * not missed the signal, and the whole job may have been continued by now. */
static void on_pause(struct hf_supervisor *supervisor)
{
    hf_supervisor_set_launcher(supervisor, HF_LAUNCHER_PAUSED);
    (void)hf_supervisor_reap(supervisor);
    if (hf_supervisor_command_runs(supervisor) &&
        supervisor->command.changes == 0)
        kill(supervisor->command.pid, SIGTSTP);
}

/* The launcher got a SIGCONT, and the command is stopped.  ${reported}: this
 * stop was seen only now, and reported with the new epoch; the command may have
 * stopped before the SIGCONT, or again after a SIGCONT for the whole job. */
static void on_continued_but_stopped(const struct hf_supervisor *supervisor,
                                     bool no_job_control, bool reported)
{
    const struct hf_supervised_command *command = &supervisor->command;
    bool stopped_anew = reported || command->continued;

    /* The SIGCONT was for the launcher alone, or nobody but us continues the
     * command. */
    if (!stopped_anew || no_job_control)
        kill(command->pid, SIGCONT);
    /* The launcher has ignored the earlier report, because its epoch was
     * old. */
    else if (!reported)
        hf_supervisor_report_stop(supervisor);
}

/* The launcher got a SIGCONT.  Should the command get one too?  ${epoch} and
 * ${no_job_control}: as in struct hf_ipc_message. */
static void on_continued(struct hf_supervisor *supervisor, uint32_t epoch,
                         bool no_job_control)
{
    unsigned changes = supervisor->command.changes;

    supervisor->epoch = epoch;
    hf_supervisor_set_launcher(supervisor, HF_LAUNCHER_READY);
    (void)hf_supervisor_reap(supervisor);
    if (supervisor->command.state == HF_COMMAND_STOPPED)
        on_continued_but_stopped(supervisor, no_job_control,
                                 supervisor->command.changes != changes);
    supervisor->command.continued = false;
}

/* The launcher has passed on all signals that it got until the command ended:
 * decide now.  An answer that comes too late is about an instance for which the
 * decision was made without it. */
static void on_signals_passed(struct hf_supervisor *supervisor,
                              uint32_t instance)
{
    if (supervisor->state == HF_SUPERVISOR_ENDED &&
        instance == supervisor->command.instance)
        supervisor->decide_at_ms = 0;
}

/* A message of the launcher. */
static void on_message(struct hf_supervisor *supervisor,
                       const struct hf_ipc_message *message)
{
    assert(message->kind >= HF_IPC_SIGNAL);
    assert(supervisor->launcher != HF_LAUNCHER_GONE);
    switch (message->kind) {
    case HF_IPC_SIGNAL:
        on_signal(supervisor, message);
        break;
    case HF_IPC_PAUSE:
        on_pause(supervisor);
        break;
    case HF_IPC_RESUME:
        hf_supervisor_set_launcher(supervisor, HF_LAUNCHER_READY);
        break;
    case HF_IPC_SIGNALS_PASSED:
        on_signals_passed(supervisor, message->as.signal.instance);
        break;
    case HF_IPC_CONTINUED:
        on_continued(supervisor, message->as.signal.epoch,
                     message->as.signal.no_job_control);
        break;
    case HF_IPC_TICKETS_CLOSED:
        supervisor->tickets_shared = false;
        break;
    case HF_IPC_TEXT:
    case HF_IPC_STATUS:
    case HF_IPC_WAITING:
    case HF_IPC_TICKET:
    case HF_IPC_GRANTED:
    case HF_IPC_STARTED:
    case HF_IPC_ENDED:
    case HF_IPC_STOPPED:
    case HF_IPC_CLOSE_TICKETS:
        break; /* never sent to us */
    }
}

void hf_supervisor_read_messages(struct hf_supervisor *supervisor)
{
    struct hf_ipc_message message;
    int fd, got;

    while ((got = hf_ipc_receive(supervisor->run->supervisor_end, &message,
                                 &fd)) > 0)
        on_message(supervisor, &message);
    if (got < 0 && supervisor->launcher != HF_LAUNCHER_GONE) {
        hf_supervisor_set_launcher(supervisor, HF_LAUNCHER_GONE);
        hf_supervisor_cancel_wait(supervisor);
    }
}

/* ------------------------------------------------------------- questions -- */

bool hf_supervisor_ask_for_signals(struct hf_supervisor *supervisor)
{
    struct hf_ipc_message message = {.kind = HF_IPC_ENDED};

    return supervisor->launcher != HF_LAUNCHER_GONE &&
           hf_ipc_send(supervisor->run->supervisor_end, &message, -1);
}

bool hf_supervisor_ask_to_close_tickets(struct hf_supervisor *supervisor)
{
    struct hf_ipc_message message = {.kind = HF_IPC_CLOSE_TICKETS};

    return supervisor->tickets_shared &&
           supervisor->launcher != HF_LAUNCHER_GONE &&
           hf_ipc_send(supervisor->run->supervisor_end, &message, -1);
}
