/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher: what the user, the shell and the terminal see of a run.  It has
 * no client, so that stopping it with Ctrl-Z stops no renewal.  It exits last.
 */
#include "cli/run.h"

#include <assert.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/exit_status.h"
#include "cli/ipc.h"
#include "cli/termination.h"
#include "cli/ui.h"

/* How often to look without an alarm, which takes a descriptor to set. */
#define HF_LAUNCHER_POLL_MS 50

/* How much earlier than due a line of the wait may be: the supervisor looks
 * once a minute, and not exactly. */
#define HF_WAIT_LINE_EARLY_MS 5000

struct hf_launcher {
    struct hf_run *run;
    struct hf_alarm alarm;
    int ticket_fds[HF_LOCKS_MAX]; /* keep the tickets in their queues */
    size_t ticket_fd_count;
    bool granted;
    bool started;
    bool supervisor_hung; /* killed by us, past its time */
    int ending_signal;    /* that asked for the wait to end; 0: none */
    struct hf_signal_arrival arrivals[NSIG]; /* by number */
    uint64_t next_line_ms; /* of waiting, when to say so where no terminal is */
    uint32_t epoch;        /* counts SIGCONTs, see struct hf_ipc_message */
    siginfo_t supervisor;  /* how it ended; si_pid 0: it lives */
};

static void send_message(struct hf_launcher *launcher, enum hf_ipc_kind kind,
                         int number)
{
    struct hf_ipc_message message = {.kind = kind};

    message.as.signal.number = number;
    message.as.signal.epoch = launcher->epoch;
    /* Cannot go only if the supervisor is frozen and far behind, or gone. */
    (void)hf_ipc_send(launcher->run->launcher_end, &message, -1);
}

/* ------------------------------------------------------------- signals -- */

static void on_ending_signal(struct hf_launcher *launcher,
                             const struct signalfd_siginfo *info)
{
    bool relayed = info->ssi_pid == (uint32_t)launcher->run->supervisor;
    int number = (int)info->ssi_signo;

    if (hf_signals_is_duplicate(&launcher->arrivals[number], relayed,
                                hf_clock_now_ms()))
        return;
    if (launcher->started) {
        if (!hf_signals_from_terminal(info))
            send_message(launcher, HF_IPC_SIGNAL, number);
        return;
    }
    /* Asked twice: the supervisor withdraws without us. */
    if (launcher->ending_signal) {
        hf_ui_clear_wait();
        hf_signals_die(number);
    }
    launcher->ending_signal = number;
    send_message(launcher, HF_IPC_SIGNAL, number);
}

/* Nobody could continue this process group: without our supervisor in between
 * the kernel would have ignored the terminal's key, for all of the group. */
static void undo_stop_key(void)
{
    kill(0, SIGCONT);
}

static void on_stop_signal(struct hf_launcher *launcher,
                           const struct signalfd_siginfo *info)
{
    int number = (int)info->ssi_signo;

    if (launcher->started) {
        if (!hf_signals_from_terminal(info))
            send_message(launcher, HF_IPC_SIGNAL, number);
        else if (number == SIGTSTP && !hf_process_under_job_control())
            undo_stop_key();
        return;
    }
    hf_ui_clear_wait();
    send_message(launcher, HF_IPC_PAUSE, 0);
    hf_signals_stop(number);
    send_message(launcher, HF_IPC_RESUME, 0);
}

static void on_continue(struct hf_launcher *launcher)
{
    struct hf_ipc_message message = {.kind = HF_IPC_CONTINUED};

    message.as.signal.epoch = ++launcher->epoch;
    message.as.signal.no_job_control = !hf_process_under_job_control();
    (void)hf_ipc_send(launcher->run->launcher_end, &message, -1);
}

static void on_signal(struct hf_launcher *launcher,
                      const struct signalfd_siginfo *info)
{
    int number = (int)info->ssi_signo;

    if (number == SIGCONT) {
        on_continue(launcher);
    } else if (hf_signals_stops(number)) {
        on_stop_signal(launcher, info);
    } else if (hf_signals_ends(number)) {
        on_ending_signal(launcher, info);
    }
}

/* Those that have come; SIGCHLD needs no more than the wake-up. */
static void read_signals(struct hf_launcher *launcher)
{
    struct signalfd_siginfo infos[16];
    ssize_t got = read(launcher->run->signal_fd, infos, sizeof infos);

    for (size_t i = 0; got > 0 && i < (size_t)got / sizeof *infos; i++)
        on_signal(launcher, &infos[i]);
}

/* ------------------------------------------------------------ messages -- */

static bool continue_is_pending(void)
{
    sigset_t pending;

    return sigpending(&pending) == 0 && sigismember(&pending, SIGCONT);
}

/* The command stopped: so does this job, for the shell to see. */
static void on_stopped(struct hf_launcher *launcher, int number, uint32_t epoch,
                       pid_t command)
{
    if (epoch != launcher->epoch || continue_is_pending())
        return; /* it has been continued since */
    if (hf_process_under_job_control()) {
        if (!hf_signals_stop_with(number, command))
            on_continue(launcher);
        return;
    }
    if (number == SIGTSTP)
        undo_stop_key();
}

/* On a terminal one line is redrawn; a log gets one every minute. */
static void on_waiting(struct hf_launcher *launcher,
                       const struct hf_ipc_message *message)
{
    struct hf_ui_wait wait = {.name = launcher->run->options->label,
                              .ahead = message->as.wait.ahead,
                              .waited_ms = message->as.wait.waited_ms,
                              .holder = message->as.wait.holder};

    if (launcher->ending_signal)
        return;
    if (hf_ui_shows_wait(launcher->run->options->verbosity)) {
        hf_ui_show_wait(&wait);
    } else if (wait.waited_ms >= launcher->next_line_ms) {
        hf_ui_print_wait(&wait);
        launcher->next_line_ms =
            wait.waited_ms + HF_WAIT_LINE_EVERY_MS - HF_WAIT_LINE_EARLY_MS;
    }
}

static void on_ticket(struct hf_launcher *launcher, int fd)
{
    assert(fd >= 0 && launcher->ticket_fd_count < HF_LOCKS_MAX);
    launcher->ticket_fds[launcher->ticket_fd_count++] = fd;
}

static void on_granted(struct hf_launcher *launcher)
{
    launcher->granted = true;
    hf_ui_clear_wait();
    if (hf_ui_shows_wait(launcher->run->options->verbosity))
        send_message(launcher, HF_IPC_RESUME, 0);
}

static void close_tickets(struct hf_launcher *launcher)
{
    while (launcher->ticket_fd_count > 0)
        close(launcher->ticket_fds[--launcher->ticket_fd_count]);
}

static void on_message(struct hf_launcher *launcher,
                       const struct hf_ipc_message *message, int fd)
{
    assert((fd >= 0) == (message->kind == HF_IPC_TICKET));
    assert(message->kind < HF_IPC_SIGNAL);
    switch (message->kind) {
    case HF_IPC_TEXT:
        hf_ui_print("%s", message->as.text.line);
        break;
    case HF_IPC_WAITING:
        on_waiting(launcher, message);
        break;
    case HF_IPC_TICKET:
        on_ticket(launcher, fd);
        break;
    case HF_IPC_GRANTED:
        on_granted(launcher);
        break;
    case HF_IPC_STARTED:
        launcher->started = true;
        break;
    case HF_IPC_STOPPED:
        on_stopped(launcher, message->as.signal.number,
                   message->as.signal.epoch, message->as.signal.process);
        break;
    case HF_IPC_CLOSE_TICKETS:
        close_tickets(launcher);
        send_message(launcher, HF_IPC_TICKETS_CLOSED, 0);
        break;
    case HF_IPC_SIGNAL:
    case HF_IPC_PAUSE:
    case HF_IPC_RESUME:
    case HF_IPC_TICKETS_CLOSED:
    case HF_IPC_CONTINUED:
        break; /* for the supervisor */
    }
}

/* Bounded by the socket's buffer once the supervisor is gone, and before by its
 * pace. */
static void read_messages(struct hf_launcher *launcher)
{
    struct hf_ipc_message message;
    int fd;

    while (hf_ipc_receive(launcher->run->launcher_end, &message, &fd) > 0)
        on_message(launcher, &message, fd);
}

/* --------------------------------------------------------------- lease -- */

/* When the supervisor must have ended the tree by itself. */
static uint64_t supervisor_deadline_ms(const struct hf_shared_page *page)
{
    uint64_t kill_at_ms = hf_shared_page_kill_at_ms(page);

    if (kill_at_ms == HF_FOREVER)
        return HF_FOREVER;
    switch ((enum hf_run_phase)atomic_load(&page->phase)) {
    case HF_RUN_RUNNING:
        return kill_at_ms;
    case HF_RUN_TERMINATING:
        /* It is awake and at it: it may use up its time. */
        return kill_at_ms +
               hf_shared_page_margin_ms(atomic_load(&page->lease_ms)) / 2;
    case HF_RUN_WAITING:
    case HF_RUN_ENDED:
        break;
    }
    return HF_FOREVER;
}

static void enforce_deadline(struct hf_launcher *launcher)
{
    struct hf_run *run = launcher->run;

    if (launcher->supervisor_hung ||
        hf_clock_now_ms() < supervisor_deadline_ms(run->page))
        return;
    launcher->supervisor_hung = true;
    kill(run->supervisor, SIGKILL);
}

/* ---------------------------------------------------------------- loop -- */

static void wait_until(struct hf_launcher *launcher, struct pollfd *polled,
                       nfds_t count, uint64_t at_ms)
{
    int timeout =
        hf_alarm_set(&launcher->alarm, at_ms) < 0 ? HF_LAUNCHER_POLL_MS : -1;

    polled[count - 1].fd = launcher->alarm.fd;
    polled[count - 1].events = POLLIN;
    poll(polled, count, timeout);
}

/* Take in what there is, then see whether the supervisor is dead. */
static void run_once(struct hf_launcher *launcher)
{
    struct hf_run *run = launcher->run;
    struct pollfd polled[3] = {{run->signal_fd, POLLIN, 0},
                               {run->launcher_end, POLLIN, 0}};
    int how = WEXITED;

    wait_until(launcher, polled, 3, supervisor_deadline_ms(run->page));
    read_messages(launcher);
    read_signals(launcher);
    enforce_deadline(launcher);
    /* The end of the line comes in the middle of the end of the supervisor:
     * then that need only be waited for. */
    if (!(polled[1].revents & POLLHUP))
        how |= WNOHANG;
    waitid(P_PID, (id_t)run->supervisor, &launcher->supervisor, how);
}

/* What the supervisor left, if it could not do it itself. */
static void terminate_tree(struct hf_launcher *launcher)
{
    const struct hf_run *run = launcher->run;
    struct pollfd polled[2] = {{run->signal_fd, POLLIN, 0}};
    uint64_t now_ms = hf_clock_now_ms(), step_at_ms = HF_FOREVER;
    uint64_t kill_at_ms = hf_clock_add(
        now_ms, hf_shared_page_grace_ms(run->page, run->options->grace_ms));
    struct hf_termination termination;

    if (launcher->supervisor_hung)
        kill_at_ms = now_ms;
    else if (hf_shared_page_kill_at_ms(run->page) < kill_at_ms)
        kill_at_ms = hf_shared_page_kill_at_ms(run->page);
    hf_termination_begin(&termination, kill_at_ms, &run->spared);
    while (!hf_termination_step(&termination, hf_clock_now_ms(), &step_at_ms)) {
        struct signalfd_siginfo infos[16];

        wait_until(launcher, polled, 2, step_at_ms);
        while (read(run->signal_fd, infos, sizeof infos) > 0)
            continue; /* the command is being ended already */
    }
    hf_termination_free(&termination);
}

/* The supervisor ended without saying how the run did. */
static int report_supervisor_death(const struct hf_launcher *launcher)
{
    char cause[64] = "ended too early";

    if (launcher->supervisor.si_code != CLD_EXITED)
        snprintf(cause, sizeof cause, "was killed by signal %d",
                 launcher->supervisor.si_status);
    if (!launcher->granted) {
        hf_ui_print("the process that waits for '%.200s' %s; run it again",
                    launcher->run->options->label, cause);
        return HF_EXIT_BUG;
    }
    if (launcher->supervisor_hung)
        hf_ui_print(
            "the process that holds '%.200s' did not move in time to prove "
            "that it still does; the command was killed",
            launcher->run->options->label);
    else
        hf_ui_print(
            "the process that holds '%.200s' %s; the command was stopped",
            launcher->run->options->label, cause);
    return HF_EXIT_LOST;
}

static int finish(struct hf_launcher *launcher)
{
    const struct hf_run *run = launcher->run;
    const struct hf_run_outcome *outcome = &run->page->outcome;

    read_messages(launcher);
    hf_ui_clear_wait();
    terminate_tree(launcher);
    close_tickets(launcher);
    if (atomic_load(&run->page->phase) != HF_RUN_ENDED)
        return report_supervisor_death(launcher);
    if (outcome->text[0] &&
        !(outcome->expected && run->options->verbosity == HF_QUIET))
        hf_ui_print("%s", outcome->text);
    if (launcher->supervisor.si_code != CLD_EXITED)
        hf_ui_print(
            "the process that held '%.200s' was killed by signal %d while "
            "it released; its ticket is removed by the next in line",
            run->options->label, launcher->supervisor.si_status);
    if (outcome->cancelled && launcher->ending_signal)
        hf_signals_die(launcher->ending_signal);
    return outcome->exit_code;
}

int hf_launcher_main(struct hf_run *run)
{
    struct hf_launcher launcher = {.run = run, .alarm = HF_ALARM_INIT};

    if (run->options->verbosity != HF_VERBOSE)
        launcher.next_line_ms = HF_WAIT_LINE_EVERY_MS - HF_WAIT_LINE_EARLY_MS;
    while (launcher.supervisor.si_pid == 0)
        run_once(&launcher);
    return finish(&launcher);
}
