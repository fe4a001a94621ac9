/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher's signals.  What is meant for the command is passed on by the
 * supervisor; what ends the wait cancels it; and the launcher stops and
 * continues with its job, because it is the process that the shell watches.
 */
#include "cli/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "command/clock.h"
#include "command/ui.h"

/* Send a message that has nothing but its kind.  False if it was not sent. */
static bool send_kind(struct hf_launcher *launcher, enum hf_ipc_kind kind)
{
    const struct hf_ipc_message message = {.kind = kind};

    return hf_ipc_send(launcher->run->launcher_end, &message, -1);
}

void hf_launcher_send_awaited(struct hf_launcher *launcher,
                              enum hf_ipc_kind kind)
{
    if (send_kind(launcher, kind))
        return;
    if (errno != EPIPE && errno != ECONNRESET)
        hf_ui_print("the process that waits for '%.200s' or holds it cannot be "
                    "notified: %s; the run ends; end some of what is running",
                    launcher->run->options->label, strerror(errno));
    (void)shutdown(launcher->run->launcher_end, SHUT_WR);
}

/* ------------------------------------------------ the wait, the command -- */

/* Has this process a terminal, whose end a SIGHUP may report? */
static bool has_terminal(void)
{
    int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Does a signal end the wait, if no command runs?  Any signal does that would
 * end a process.  But for elect those do not that may be meant for the service,
 * such as the SIGHUP of a reload. */
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

/* Pass a signal on to the supervisor, which decides what it means.  If the
 * command runs it is for the command, which may have got it from the terminal
 * already (.delivered). */
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

/* A signal that would end the process.  While the command runs it is for the
 * command.  Before, it ends the wait: the supervisor cancels the acquire and
 * reports the outcome.  A signal that ends no wait is passed on in any case,
 * because the command may run although that was not reported yet. */
static void on_ending_signal(struct hf_launcher *launcher,
                             const struct signalfd_siginfo *info)
{
    bool relayed = info->ssi_pid == (uint32_t)launcher->run->supervisor;
    int number = (int)info->ssi_signo;

    if (hf_signals_is_duplicate(&launcher->arrivals[number], relayed,
                                hf_clock_now_ms()))
        return;
    if (launcher->started || !ends_wait(launcher, info)) {
        pass_signal(launcher, info);
        return;
    }
    /* Asked a second time: die at once.  The supervisor sees that and cancels
     * the acquire by itself. */
    if (launcher->ending_signal) {
        hf_ui_clear_wait();
        hf_signals_die(number);
    }
    launcher->ending_signal = number;
    pass_signal(launcher, info);
}

/* --------------------------------------------------------- job control -- */

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
 * stopped (hf_launcher_command_stopped()).  While we wait for the lock, stop at
 * once; the supervisor starts no command meanwhile. */
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
    hf_launcher_send_awaited(launcher, HF_IPC_RESUME);
}

/* Somebody, such as the shell, has continued us.  The supervisor decides
 * whether to continue the command too. */
static void on_continue(struct hf_launcher *launcher)
{
    struct hf_ipc_message message = {.kind = HF_IPC_CONTINUED};

    message.as.signal.epoch = ++launcher->epoch;
    message.as.signal.no_job_control = !hf_process_under_job_control();
    (void)hf_ipc_send(launcher->run->launcher_end, &message, -1);
}

/* Has a SIGCONT arrived that is not read from the descriptor yet? */
static bool continue_is_pending(void)
{
    sigset_t pending;

    return sigpending(&pending) == 0 && sigismember(&pending, SIGCONT);
}
void hf_launcher_command_stopped(struct hf_launcher *launcher, int number,
                                 uint32_t epoch, pid_t command)
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

/* ----------------------------------------------------------- dispatching -- */

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

void hf_launcher_read_signals(struct hf_launcher *launcher)
{
    struct signalfd_siginfo infos[16];
    ssize_t got = read(launcher->run->signal_fd, infos, sizeof infos);

    for (size_t i = 0; got > 0 && i < (size_t)got / sizeof *infos; i++)
        on_signal(launcher, &infos[i]);
}
