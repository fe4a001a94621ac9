/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher: what the user, the shell and the terminal see of a run.
 *
 * It has no client and no thread, so that Ctrl-Z may stop it while the
 * supervisor goes on renewing the lease.  It keeps a descriptor of each
 * ticket, watches that the supervisor proves in time that the lock is still
 * held, and ends the command's tree if the supervisor cannot.  It exits last.
 */
#include "cli/launcher.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time_math.h"
#include "cli/tree_termination.h"
#include "command/clock.h"
#include "command/exit_status.h"
#include "command/ui.h"

/* How often to look when no timerfd could be made (no descriptor is free). */
#define HF_LAUNCHER_POLL_MS 50

/* A line about the wait may be printed this much early, because the supervisor
 * sends its state about once a minute, and not exactly. */
#define HF_WAIT_LINE_EARLY_MS 5000

/* After the supervisor was killed, look this often for what it has started in
 * its last moments, until it has exited. */
#define HF_KILL_AGAIN_MS 5

/* ------------------------------------------------------------ messages -- */

/* elect: print who leads, when that has changed. */
static void print_leader(struct hf_launcher *launcher, const char *leader)
{
    if (launcher->run->options->verbosity == HF_QUIET ||
        strcmp(leader, launcher->leader) == 0)
        return;
    strcpy(launcher->leader, leader);
    hf_ui_log(HF_LOG_INFO, "'%.200s' is led by %.700s",
              launcher->run->options->label, leader);
}

/* elect: this machine is a candidate.  A service manager is notified that this
 * is ready.  It cannot wait for more, because the machine may lead at once or
 * never. */
static void report_candidacy(struct hf_launcher *launcher,
                             const struct hf_ui_wait *wait)
{
    char leader[HF_FORMAT_BYTES], status[sizeof launcher->notify.status];

    if (wait->ahead > 0 && wait->holder[0] != '\0') {
        hf_format_owner(wait->holder, leader);
        print_leader(launcher, leader);
        (void)snprintf(status, sizeof status,
                       "waiting, '%.200s' is led by %.700s", wait->name,
                       leader);
    } else {
        (void)snprintf(status, sizeof status, "waiting for '%.200s'",
                       wait->name);
    }
    hf_notify_socket_set_status(&launcher->notify, status);
}

/* elect: this machine leads, and the command or --on-lead runs; or, with the
 * token 0, --on-resign. */
static void report_leadership(struct hf_launcher *launcher, uint64_t token)
{
    char status[sizeof launcher->notify.status];

    if (token == 0)
        (void)snprintf(status, sizeof status, "resigning '%.200s'",
                       launcher->run->options->label);
    else
        (void)snprintf(status, sizeof status,
                       "leading '%.200s', token %" PRIu64,
                       launcher->run->options->label, token);
    hf_notify_socket_set_status(&launcher->notify, status);
}

/* The command runs, in our process group. */
static void on_started(struct hf_launcher *launcher,
                       const struct hf_ipc_message *message)
{
    launcher->started = true;
    launcher->ending_signal = 0; /* a signal that came does not end a wait any
                                    more: the command gets it */
    launcher->instance = message->as.signal.instance;
    if (launcher->run->options->elect)
        report_leadership(launcher, message->as.signal.token);
}

/* Show how the wait goes: on a terminal in one line that is redrawn, else in a
 * line of its own every minute. */
static void on_waiting(struct hf_launcher *launcher,
                       const struct hf_ipc_message *message)
{
    const struct hf_run_options *options = launcher->run->options;
    struct hf_ui_wait wait = {.name = options->names[message->as.wait.number],
                              .among = options->name_count > 1 ? options->label
                                                               : NULL,
                              .ahead = message->as.wait.ahead,
                              .waited_ms = message->as.wait.waited_ms,
                              .holder = message->as.wait.holder};

    if (launcher->ending_signal)
        return;
    if (launcher->run->options->elect) {
        report_candidacy(launcher, &wait);
    } else if (hf_run_shows_wait(launcher->run->options)) {
        hf_ui_show_wait(&wait);
    } else if (wait.waited_ms >= launcher->next_line_ms) {
        hf_ui_print_wait(&wait);
        launcher->next_line_ms =
            wait.waited_ms + HF_WAIT_LINE_EVERY_MS - HF_WAIT_LINE_EARLY_MS;
    }
}

/* Keep ${fd}: while it is open the ticket stays in its queue. */
static void on_ticket(struct hf_launcher *launcher, int fd)
{
    assert(fd >= 0 && launcher->ticket_fd_count < HF_LOCKS_MAX);
    launcher->ticket_fds[launcher->ticket_fd_count++] = fd;
}

/* There is a lease.  It may end while we wait for a processor or are stopped,
 * so ask for a better priority, and start the guard. */
static void prepare_for_lease(struct hf_launcher *launcher)
{
    hf_process_run_before_others();
    if (!hf_guard_start(launcher->run))
        hf_ui_print("no process could be started that ends the command if this "
                    "one is stopped and its supervisor killed: %s; end some of "
                    "what is running, or raise the limits (ulimit -a)",
                    strerror(errno));
}

/* The lock is ours.  Clear the line about the wait before the command writes to
 * the terminal.  If there may be such a line, or a lease, the supervisor starts
 * the command only when it has received RESUME. */
static void on_granted(struct hf_launcher *launcher)
{
    const struct hf_run *run = launcher->run;

    if (hf_shared_page_kill_at_ms(run->page) != HF_FOREVER)
        prepare_for_lease(launcher);
    launcher->leader[0] = '\0';
    hf_ui_clear_wait();
    if (hf_run_shows_wait(run->options) ||
        hf_shared_page_kill_at_ms(run->page) != HF_FOREVER)
        hf_launcher_send_awaited(launcher, HF_IPC_RESUME);
}

/* The command has ended, and the supervisor is about to decide what follows
 * (elect, run --at-least).  Perhaps a key of the terminal has ended the
 * command, whose signal we have got as well: pass that on before. */
static void on_ended(struct hf_launcher *launcher)
{
    struct hf_ipc_message message = {.kind = HF_IPC_SIGNALS_PASSED};

    hf_launcher_read_signals(launcher);
    launcher->started = false;
    message.as.signal.instance = launcher->instance;
    (void)hf_ipc_send(launcher->run->launcher_end, &message, -1);
}

/* The tree is gone, so the tickets may leave their queues. */
static void close_tickets(struct hf_launcher *launcher)
{
    while (launcher->ticket_fd_count > 0)
        close(launcher->ticket_fds[--launcher->ticket_fd_count]);
}

/* A message of the supervisor; ${fd} is the descriptor that came with it, or
 * -1. */
static void on_message(struct hf_launcher *launcher,
                       const struct hf_ipc_message *message, int fd)
{
    assert((fd >= 0) == (message->kind == HF_IPC_TICKET));
    assert(message->kind < HF_IPC_SIGNAL);
    switch (message->kind) {
    case HF_IPC_TEXT:
        hf_ui_count_lost(message->as.text.lost);
        hf_ui_log(message->as.text.level, "%s", message->as.text.line);
        break;
    case HF_IPC_STATUS:
        hf_notify_socket_set_status(&launcher->notify, message->as.text.line);
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
        on_started(launcher, message);
        break;
    case HF_IPC_ENDED:
        on_ended(launcher);
        break;
    case HF_IPC_STOPPED:
        hf_launcher_command_stopped(launcher, message->as.signal.number,
                                    message->as.signal.epoch,
                                    message->as.signal.process);
        break;
    case HF_IPC_CLOSE_TICKETS:
        close_tickets(launcher);
        hf_launcher_send_awaited(launcher, HF_IPC_TICKETS_CLOSED);
        break;
    case HF_IPC_SIGNAL:
    case HF_IPC_PAUSE:
    case HF_IPC_RESUME:
    case HF_IPC_TICKETS_CLOSED:
    case HF_IPC_SIGNALS_PASSED:
    case HF_IPC_CONTINUED:
        break; /* never sent to us */
    }
}

/* Handle all messages that have arrived.  The loop ends: a supervisor that is
 * gone has left at most a socket buffer of them, and a living one sends them
 * slowly. */
static void read_messages(struct hf_launcher *launcher)
{
    struct hf_ipc_message message;
    int fd;

    while (hf_ipc_receive(launcher->run->launcher_end, &message, &fd) > 0)
        on_message(launcher, &message, fd);
}

/* --------------------------------------------------------------- lease -- */

/* The supervisor must have ended the tree by this instant, because the lock may
 * pass to another holder soon after; HF_FOREVER if there is no lease or no
 * tree. */
static uint64_t supervisor_deadline_ms(const struct hf_shared_page *page)
{
    uint64_t kill_at_ms = hf_shared_page_tree_deadline_ms(page);

    if (kill_at_ms == HF_FOREVER ||
        atomic_load(&page->phase) != HF_RUN_TERMINATING)
        return kill_at_ms;
    /* It is awake and ends the tree already, so it may take half of the margin
     * longer. */
    return kill_at_ms +
           hf_shared_page_margin_ms(atomic_load(&page->lease_ms)) / 2;
}

/* When enforce_deadline() is to act next; HF_FOREVER: never. */
static uint64_t enforce_at_ms(const struct hf_launcher *launcher)
{
    const struct hf_shared_page *page = launcher->run->page;
    uint64_t tree_ms = hf_shared_page_tree_deadline_ms(page);

    if (launcher->supervisor_hung)
        return launcher->killed_at_ms + HF_KILL_AGAIN_MS;
    return tree_ms > launcher->killed_at_ms ? tree_ms
                                            : supervisor_deadline_ms(page);
}

/* Kill the tree at its deadline, although the supervisor does so too: on a busy
 * machine either of us may have to wait for a processor, but rarely both.  A
 * supervisor that has missed its own deadline is killed first, so that it
 * starts nothing more.  It takes time to exit, and only then the tree is ours
 * to finish(). */
static void enforce_deadline(struct hf_launcher *launcher)
{
    const struct hf_run *run = launcher->run;
    uint64_t now_ms = hf_clock_now_ms();

    if (now_ms < enforce_at_ms(launcher))
        return;
    if (!launcher->supervisor_hung &&
        now_ms >= supervisor_deadline_ms(run->page)) {
        launcher->supervisor_hung = true;
        kill(run->supervisor, SIGKILL);
    }
    hf_termination_kill_below(run->launcher, run->supervisor, &run->spared);
    launcher->killed_at_ms = now_ms;
}

/* ---------------------------------------------------------------- loop -- */

/* poll(2) until ${at_ms} at the latest.  The last of the ${count} entries of
 * ${polled} is filled in here, for the alarm. */
static void wait_until(struct hf_launcher *launcher, struct pollfd *polled,
                       nfds_t count, uint64_t at_ms)
{
    int timeout =
        hf_alarm_set(&launcher->alarm, at_ms) < 0 ? HF_LAUNCHER_POLL_MS : -1;

    polled[count - 1].fd = launcher->alarm.fd;
    polled[count - 1].events = POLLIN;
    poll(polled, count, timeout);
}

/* One turn of the loop: wait, handle messages and signals, and check whether
 * the supervisor has ended. */
static void run_once(struct hf_launcher *launcher)
{
    struct hf_run *run = launcher->run;
    /* After a hang-up this descriptor would wake us again and again, until the
     * supervisor has exited and SIGCHLD comes. */
    struct pollfd polled[3] = {
        {run->signal_fd, POLLIN, 0},
        {launcher->hung_up ? -1 : run->launcher_end, POLLIN, 0}};

    wait_until(launcher, polled, 3,
               hf_min_ms(launcher->notify.retry_at_ms,
                         hf_wake_before_ms(hf_clock_now_ms(),
                                           enforce_at_ms(launcher))));
    enforce_deadline(launcher);
    hf_notify_socket_retry(&launcher->notify, hf_clock_now_ms());
    launcher->hung_up = launcher->hung_up || (polled[1].revents & POLLHUP);
    read_messages(launcher);
    hf_launcher_read_signals(launcher);
    waitid(P_PID, (id_t)run->supervisor, &launcher->supervisor,
           WEXITED | WNOHANG);
}

/* End what the supervisor left of the command's tree: nothing, unless it was
 * killed. */
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
            continue; /* signals mean nothing any more: the command is being
                         ended */
    }
    hf_termination_free(&termination);
}

/* The supervisor ended without an outcome.  Print what that means for the lock
 * and the command.  Returns the exit status.  Not the messages but the page
 * says whether there was a grant, because messages can be late. */
static int report_supervisor_death(const struct hf_launcher *launcher)
{
    char cause[64] = "ended too early";

    if (launcher->supervisor.si_code != CLD_EXITED)
        snprintf(cause, sizeof cause, "was killed by signal %d",
                 launcher->supervisor.si_status);
    if (atomic_load(&launcher->run->page->phase) == HF_RUN_WAITING) {
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

/* End the tree.  The guard stays beside us until that is done, because we may
 * be stopped meanwhile.  Then end the guard and look again: only if there is no
 * child at all it is certain that none is hidden. */
static void finish_tree(struct hf_launcher *launcher)
{
    if (launcher->run->guard > 0)
        terminate_tree(launcher);
    hf_guard_end(launcher->run);
    terminate_tree(launcher);
}

/* After the supervisor's end: end the tree, close the ticket descriptors, print
 * the outcome.  If the supervisor died while the tree ran under a lease, its
 * tickets are removed too; the tree deadline in the page shows that.  Returns
 * the exit status, or dies of the signal that ended the wait. */
static int finish(struct hf_launcher *launcher)
{
    const struct hf_run *run = launcher->run;
    const struct hf_run_outcome *outcome = &run->page->outcome;
    bool abandoned;

    read_messages(launcher);
    hf_ui_clear_wait();
    abandoned = hf_shared_page_tree_deadline_ms(run->page) != HF_FOREVER;
    finish_tree(launcher);
    close_tickets(launcher);
    if (abandoned)
        hf_abandoned_tickets_remove(run);
    hf_ui_end_guarding();
    if (atomic_load(&run->page->phase) != HF_RUN_ENDED)
        return report_supervisor_death(launcher);
    if (outcome->text[0] &&
        !(outcome->is_no_error && run->options->verbosity == HF_QUIET))
        hf_ui_log(outcome->is_no_error ? HF_LOG_WARNING : HF_LOG_ERROR, "%s",
                  outcome->text);
    if (launcher->supervisor.si_code != CLD_EXITED)
        hf_ui_print(
            "the process that held '%.200s' was killed by signal %d while "
            "it released; its ticket is removed by the next in line",
            run->options->label, launcher->supervisor.si_status);
    if (outcome->cancelled != 0)
        hf_signals_die(outcome->cancelled);
    return outcome->exit_code;
}

int hf_launcher_main(struct hf_run *run)
{
    struct hf_launcher launcher = {
        .run = run, .alarm = HF_ALARM_INIT, .notify = HF_NOTIFY_SOCKET_INIT};

    hf_ui_begin_guarding();
    if (run->options->verbosity != HF_VERBOSE)
        launcher.next_line_ms = HF_WAIT_LINE_EVERY_MS - HF_WAIT_LINE_EARLY_MS;
    while (launcher.supervisor.si_pid == 0)
        run_once(&launcher);
    return finish(&launcher);
}
