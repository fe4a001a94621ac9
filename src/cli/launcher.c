/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher: what the user, the shell and the terminal see of a run.
 *
 * It has no client and no thread, so that Ctrl-Z may stop it while the
 * supervisor goes on renewing the lease.  It keeps a descriptor of each
 * ticket, watches that the supervisor proves in time that the lock is still
 * held, and ends the command's tree if the supervisor cannot.  It exits last.
 */
#include "cli/run.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time_math.h"
#include "cli/abandoned_tickets.h"
#include "cli/guard.h"
#include "cli/ipc.h"
#include "cli/notify_socket.h"
#include "cli/tree_termination.h"
#include "command/clock.h"
#include "command/exit_status.h"
#include "command/format.h"
#include "command/ui.h"

/* How often to look when no timerfd could be made (no descriptor is free). */
#define HF_LAUNCHER_POLL_MS 50

/* A line about the wait may be this much early: the supervisor sends its state
 * once a minute, and not exactly. */
#define HF_WAIT_LINE_EARLY_MS 5000

/* After a supervisor was killed, look so often for what it has started in its
 * last moments, until it has exited. */
#define HF_KILL_AGAIN_MS 5

struct hf_launcher {
    struct hf_run *run;
    struct hf_alarm alarm;
    int ticket_fds[HF_LOCKS_MAX]; /* each keeps one ticket in its queue for as
                                     long as it is open */
    size_t ticket_fd_count;
    bool started; /* HF_IPC_STARTED was received: the command is in our process
                     group */
    uint32_t instance;     /* how often it was started, as far as we know */
    bool supervisor_hung;  /* we killed it, because it did not act before its
                              deadline */
    uint64_t killed_at_ms; /* when we last killed the tree at its deadline; 0:
                              never */
    int ending_signal; /* the signal that asked us to end the wait; 0: none */
    struct hf_signal_arrival arrivals[NSIG]; /* indexed by signal number */
    char leader[HF_FORMAT_BYTES];   /* elect: who leads, as last printed */
    struct hf_notify_socket notify; /* elect: what a service manager knows */
    uint64_t next_line_ms; /* without a terminal: print the next line once the
                              wait has lasted this long */
    uint32_t epoch; /* number of SIGCONTs received, see struct hf_ipc_message */
    bool hung_up;   /* the supervisor has closed its end: it is exiting */
    siginfo_t supervisor; /* how the supervisor ended; si_pid 0: it has not */
};

/* Send a message that has nothing but its kind.  False if it was not sent. */
static bool send_kind(struct hf_launcher *launcher, enum hf_ipc_kind kind)
{
    const struct hf_ipc_message message = {.kind = kind};

    return hf_ipc_send(launcher->run->launcher_end, &message, -1);
}

/* Send a message that the supervisor waits for.  If that is impossible, because
 * the socket is full or the kernel has no memory, send nothing any more: the
 * supervisor takes the end of what it receives as that of this process.  It
 * ends what runs, and releases. */
static void send_awaited(struct hf_launcher *launcher, enum hf_ipc_kind kind)
{
    if (send_kind(launcher, kind))
        return;
    if (errno != EPIPE && errno != ECONNRESET)
        hf_ui_print("the process that waits for '%.200s' or holds it cannot be "
                    "notified: %s; the run ends; end some of what is running",
                    launcher->run->options->label, strerror(errno));
    (void)shutdown(launcher->run->launcher_end, SHUT_WR);
}

/* ------------------------------------------------------------- signals -- */

/* Has this process a terminal, whose end a SIGHUP may report? */
static bool has_terminal(void)
{
    int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Does a signal end the wait, if no command runs?  Any does that would end a
 * process; but those that may be meant for the service, such as the SIGHUP of a
 * reload, end no candidate of elect. */
static bool ends_wait(const struct hf_launcher *launcher,
                      const struct signalfd_siginfo *info)
{
    int number = (int)info->ssi_signo;

    if (!hf_signals_ends(number))
        return false;
    return !launcher->run->options->elect || hf_signals_asks_to_end(number) ||
           hf_signals_from_terminal(info) ||
           (number == SIGHUP && has_terminal());
}

/* Pass a signal on.  While the command runs it is the command's, which may have
 * got it from the terminal already.  The supervisor decides what else it means.
 */
static void pass_signal(struct hf_launcher *launcher,
                        const struct signalfd_siginfo *info)
{
    struct hf_ipc_message message = {.kind = HF_IPC_SIGNAL};

    message.as.signal.number = (int)info->ssi_signo;
    message.as.signal.instance = launcher->instance;
    message.as.signal.ends_wait = ends_wait(launcher, info);
    message.as.signal.delivered =
        launcher->started && hf_signals_from_terminal(info);
    (void)hf_ipc_send(launcher->run->launcher_end, &message, -1);
}

/* A signal that would end the process.  While the command runs it is the
 * command's, and the terminal has sent its own to the command already.  Before
 * that it ends the wait: the supervisor cancels the acquire and reports the
 * outcome. */
static void on_ending_signal(struct hf_launcher *launcher,
                             const struct signalfd_siginfo *info)
{
    bool relayed = info->ssi_pid == (uint32_t)launcher->run->supervisor;
    int number = (int)info->ssi_signo;

    if (hf_signals_is_duplicate(&launcher->arrivals[number], relayed,
                                hf_clock_now_ms()))
        return;
    if (launcher->started) {
        pass_signal(launcher, info);
        return;
    }
    if (!ends_wait(launcher, info))
        return;
    /* Asked a second time: die at once.  The supervisor sees that and cancels
     * the acquire by itself. */
    if (launcher->ending_signal) {
        hf_ui_clear_wait();
        hf_signals_die(number);
    }
    launcher->ending_signal = number;
    pass_signal(launcher, info);
}

/* Continue the whole group after the terminal's stop key, where no shell
 * controls jobs.  The kernel ignores the key for an orphaned process group,
 * because nobody could continue it.  Ours may not count as orphaned, while the
 * supervisor, the parent of the command, is in the same session and outside of
 * the group; so we do the same by hand. */
static void undo_stop_key(void)
{
    kill(0, SIGCONT);
}

/* A signal of job control (SIGTSTP, SIGTTIN, SIGTTOU).  While the command
 * runs, the command gets it and this process stops when the command has
 * stopped (on_stopped()).  While we wait for the lock, stop at once; the
 * supervisor starts no command meanwhile. */
static void on_stop_signal(struct hf_launcher *launcher,
                           const struct signalfd_siginfo *info)
{
    int number = (int)info->ssi_signo;

    if (launcher->started) {
        if (!hf_signals_from_terminal(info))
            pass_signal(launcher, info);
        else if (number == SIGTSTP && !hf_process_under_job_control())
            undo_stop_key();
        return;
    }
    hf_ui_clear_wait();
    (void)send_kind(launcher, HF_IPC_PAUSE);
    hf_signals_stop(number);
    send_awaited(launcher, HF_IPC_RESUME);
}

/* The shell, or somebody, has continued us: the supervisor decides whether the
 * command is to be continued too. */
static void on_continue(struct hf_launcher *launcher)
{
    struct hf_ipc_message message = {.kind = HF_IPC_CONTINUED};

    message.as.signal.epoch = ++launcher->epoch;
    message.as.signal.no_job_control = !hf_process_under_job_control();
    (void)hf_ipc_send(launcher->run->launcher_end, &message, -1);
}

/* A signal other than SIGCHLD was read from the descriptor. */
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

/* Handle the signals that have arrived.  SIGCHLD needs no handling, because it
 * wakes the loop, which looks after the supervisor in each turn. */
static void read_signals(struct hf_launcher *launcher)
{
    struct signalfd_siginfo infos[16];
    ssize_t got = read(launcher->run->signal_fd, infos, sizeof infos);

    for (size_t i = 0; got > 0 && i < (size_t)got / sizeof *infos; i++)
        on_signal(launcher, &infos[i]);
}

/* ------------------------------------------------------------ messages -- */

/* Has a SIGCONT arrived that is not read from the descriptor yet? */
static bool continue_is_pending(void)
{
    sigset_t pending;

    return sigpending(&pending) == 0 && sigismember(&pending, SIGCONT);
}

/* The command has stopped: stop as well, because the shell watches this
 * process and must see that the job has stopped. */
static void on_stopped(struct hf_launcher *launcher, int number, uint32_t epoch,
                       pid_t command)
{
    if (epoch != launcher->epoch || continue_is_pending())
        return; /* the report is older than a SIGCONT: the command runs again */
    if (hf_process_under_job_control()) {
        if (!hf_signals_stop_with(number, command))
            on_continue(launcher);
        return;
    }
    if (number == SIGTSTP)
        undo_stop_key();
}

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

/* elect: this machine is a candidate, which is all that a service manager can
 * wait for: it may lead at once or never. */
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

/* elect: this machine leads, and the command runs. */
static void report_leadership(struct hf_launcher *launcher, uint64_t token)
{
    char status[sizeof launcher->notify.status];

    (void)snprintf(status, sizeof status, "leading '%.200s', token %" PRIu64,
                   launcher->run->options->label, token);
    hf_notify_socket_set_status(&launcher->notify, status);
}

/* The command runs, in our group. */
static void on_started(struct hf_launcher *launcher,
                       const struct hf_ipc_message *message)
{
    launcher->started = true;
    launcher->ending_signal = 0; /* it ends no wait: the command gets it */
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

/* There is a lease, whose end does not wait until we get a processor, nor until
 * somebody continues us. */
static void prepare_for_lease(struct hf_launcher *launcher)
{
    hf_process_run_before_others();
    if (!hf_guard_start(launcher->run))
        hf_ui_print("no process could be started that ends the command if this "
                    "one is stopped and its supervisor killed: %s; end some of "
                    "what is running, or raise the limits (ulimit -a)",
                    strerror(errno));
}

/* The lock is ours.  Clear the line about the wait before the command writes
 * to the terminal; the supervisor starts the command when it has received
 * RESUME. */
static void on_granted(struct hf_launcher *launcher)
{
    const struct hf_run *run = launcher->run;

    if (hf_shared_page_kill_at_ms(run->page) != HF_FOREVER)
        prepare_for_lease(launcher);
    launcher->leader[0] = '\0';
    hf_ui_clear_wait();
    if (hf_run_shows_wait(run->options) ||
        hf_shared_page_kill_at_ms(run->page) != HF_FOREVER)
        send_awaited(launcher, HF_IPC_RESUME);
}

/* elect: the command has ended, perhaps of a key of the terminal, whose signal
 * we have got as well.  Pass it on before the supervisor decides whether the
 * command is started again. */
static void on_ended(struct hf_launcher *launcher)
{
    struct hf_ipc_message message = {.kind = HF_IPC_SIGNALS_PASSED};

    read_signals(launcher);
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
        on_stopped(launcher, message->as.signal.number,
                   message->as.signal.epoch, message->as.signal.process);
        break;
    case HF_IPC_CLOSE_TICKETS:
        close_tickets(launcher);
        send_awaited(launcher, HF_IPC_TICKETS_CLOSED);
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

/* Handle all messages that have arrived.  Ends, because a supervisor that is
 * gone leaves at most a socket buffer of them and a living one sends them
 * slowly. */
static void read_messages(struct hf_launcher *launcher)
{
    struct hf_ipc_message message;
    int fd;

    while (hf_ipc_receive(launcher->run->launcher_end, &message, &fd) > 0)
        on_message(launcher, &message, fd);
}

/* --------------------------------------------------------------- lease -- */

/* The instant at which the supervisor must have ended the tree by itself,
 * because the lock may pass to another holder soon after; HF_FOREVER without a
 * lease. */
static uint64_t supervisor_deadline_ms(const struct hf_shared_page *page)
{
    uint64_t kill_at_ms = hf_shared_page_tree_deadline_ms(page);

    if (kill_at_ms == HF_FOREVER ||
        atomic_load(&page->phase) != HF_RUN_TERMINATING)
        return kill_at_ms;
    /* It is awake and ends the tree already: it may use half of the margin
     * more. */
    return kill_at_ms +
           hf_shared_page_margin_ms(atomic_load(&page->lease_ms)) / 2;
}

/* When to enforce the next deadline. */
static uint64_t enforce_at_ms(const struct hf_launcher *launcher)
{
    const struct hf_shared_page *page = launcher->run->page;
    uint64_t tree_ms = hf_shared_page_tree_deadline_ms(page);

    if (launcher->supervisor_hung)
        return launcher->killed_at_ms + HF_KILL_AGAIN_MS;
    return tree_ms > launcher->killed_at_ms ? tree_ms
                                            : supervisor_deadline_ms(page);
}

/* Kill the tree when that must be done, even if the supervisor does the same:
 * on a busy machine it may have to wait for a processor, and so may we, but
 * rarely both.  Kill a supervisor that has missed its own deadline first, so
 * that it starts nothing more.  It takes time to exit, and only then the tree
 * is ours to finish(). */
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

/* poll(2) until ${at_ms} at the latest.  The last of the ${count} ${polled} is
 * used for the alarm. */
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
    /* After a hang-up the descriptor would wake us again and again, until
     * SIGCHLD comes at the end of the exit. */
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
    read_signals(launcher);
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

/* End the tree, with the guard beside us until that is done, because we may be
 * stopped meanwhile.  Then again without: only where there is no child at all
 * it is certain that none is hidden. */
static void finish_tree(struct hf_launcher *launcher)
{
    if (launcher->run->guard > 0)
        terminate_tree(launcher);
    hf_guard_end(launcher->run);
    terminate_tree(launcher);
}

/* After the supervisor's end: end the tree, give the tickets up, print the
 * outcome.  Returns the exit status, or dies of the signal that ended the
 * wait. */
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
        !(outcome->expected && run->options->verbosity == HF_QUIET))
        hf_ui_log(outcome->expected ? HF_LOG_WARNING : HF_LOG_ERROR, "%s",
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
