/* SPDX-License-Identifier: Apache-2.0 */
/* See signals.h. */
#include "cli/signals.h"

#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/process.h"

/* A signal that was sent to both of our processes is received twice.  The
 * second one counts as a duplicate if it comes within this time, which is long
 * enough for a busy machine.  A person who repeats a signal sends it to the
 * same process. */
#define HF_DUPLICATE_WITHIN_MS 2000

/* Raised by faults of our own program: never blocked. */
static const int synchronous[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS,
                                  SIGFPE, SIGSEGV, SIGSYS};

bool hf_signals_asks_to_end(int number)
{
    return number == SIGTERM || number == SIGINT || number == SIGQUIT;
}

bool hf_signals_stops(int number)
{
    return number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

bool hf_signals_ends(int number)
{
    switch (number) {
    case SIGHUP:
    case SIGINT:
    case SIGQUIT:
    case SIGTERM:
    case SIGUSR1:
    case SIGUSR2:
    case SIGALRM:
    case SIGVTALRM:
    case SIGPROF:
    case SIGIO:
    case SIGPWR:
    case SIGSTKFLT:
        return true;
    default:
        return number >= SIGRTMIN && number <= SIGRTMAX;
    }
}

/* Does holdfast do anything about ${number}? */
static bool is_handled(int number)
{
    return hf_signals_ends(number) || hf_signals_stops(number) ||
           number == SIGCONT;
}

void hf_signals_block(struct hf_signals *signals)
{
    struct sigaction action = {0};
    sigset_t all;
    int number;

    sigfillset(&all);
    for (size_t i = 0; i < sizeof synchronous / sizeof *synchronous; i++)
        sigdelset(&all, synchronous[i]);
    sigprocmask(SIG_BLOCK, &all, &signals->found_mask);

    sigemptyset(&signals->handled);
    for (number = 1; number <= SIGRTMAX; number++) {
        if (!is_handled(number) || sigismember(&signals->found_mask, number))
            continue;
        if (sigaction(number, NULL, &action) == 0 &&
            action.sa_handler != SIG_IGN)
            sigaddset(&signals->handled, number);
    }
    action = (struct sigaction){0};
    action.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &action, &signals->found_child);
    sigaddset(&signals->handled, SIGCHLD);
}

void hf_signals_restore(const struct hf_signals *signals)
{
    sigaction(SIGCHLD, &signals->found_child, NULL);
    sigprocmask(SIG_SETMASK, &signals->found_mask, NULL);
}

bool hf_signals_from_terminal(const struct signalfd_siginfo *info)
{
    if (info->ssi_code != SI_KERNEL)
        return false;
    switch ((int)info->ssi_signo) {
    case SIGINT:
    case SIGQUIT:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
        return true;
    case SIGHUP:
        /* When a terminal hangs up the kernel signals the leader of the
         * session alone; the group gets SIGHUP when that leader has ended. */
        return getsid(0) != getpid();
    default:
        /* The kernel also sends the SIGALRM of an alarm() that was set before
         * the exec.  That is for this process only. */
        return false;
    }
}

bool hf_signals_is_duplicate(struct hf_signal_arrival *last, bool relayed,
                             uint64_t now_ms)
{
    bool duplicate = last->at_ms != 0 && last->relayed != relayed &&
                     now_ms - last->at_ms < HF_DUPLICATE_WITHIN_MS;

    last->at_ms = duplicate ? 0 : now_ms;
    last->relayed = relayed;
    return duplicate;
}

/* Have the pending signal ${number} take effect. */
static void deliver(int number)
{
    sigset_t one;

    sigemptyset(&one);
    sigaddset(&one, number);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    sigprocmask(SIG_BLOCK, &one, NULL);
}

void hf_signals_die(int number)
{
    static const struct rlimit no_core = {0, 0};

    setrlimit(RLIMIT_CORE, &no_core);
    signal(number, SIG_DFL);
    kill(getpid(), number);
    deliver(number);
    _exit(128 + number);
}

/* Remove ${number} from the pending signals: ignoring a signal discards it. */
static void discard(int number)
{
    struct sigaction action = {0}, found;

    action.sa_handler = SIG_IGN;
    sigaction(number, &action, &found);
    sigaction(number, &found, NULL);
}

/* The stop signal is made pending, while it is blocked, before ${process} is
 * looked at.  A SIGCONT for both that came earlier shows in the state of
 * ${process}, and one that comes later discards our pending stop signal.  So
 * there is no moment at which we stop although both were continued. */
bool hf_signals_stop_with(int number, pid_t process)
{
    if (!hf_signals_stops(number)) {
        if (!hf_process_is_stopped(process))
            return false;
        kill(getpid(), number);
        return true;
    }
    kill(getpid(), number);
    if (!hf_process_is_stopped(process)) {
        discard(number);
        return false;
    }
    deliver(number);
    return true;
}

void hf_signals_stop(int number)
{
    kill(getpid(), number);
    if (hf_signals_stops(number))
        deliver(number);
}
