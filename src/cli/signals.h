/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals: how holdfast found them, and what it does with them.
 *
 * All are blocked in launcher and supervisor, and each process reads those
 * that concern it from a signalfd.  The launcher decides what a signal means.
 * The supervisor sends the launcher what it received itself, because other
 * programs know the supervisor by the pid in its ticket.  The command starts
 * with all signals as holdfast found them.
 */
#ifndef HF_CLI_SIGNALS_H
#define HF_CLI_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct hf_signals {
    sigset_t found_mask;          /* the mask that holdfast was started with */
    struct sigaction found_child; /* of SIGCHLD; ignored, it would cost us the
                                     exit status of the command */
    sigset_t handled; /* those the launcher acts on: all that were neither
                         ignored nor blocked when it started */
};

/* Remember how signals are set, block all of them and set SIGCHLD to its
 * default. */
void hf_signals_block(struct hf_signals *signals);

/* Undo hf_signals_block(), for the command.  Async-signal-safe. */
void hf_signals_restore(const struct hf_signals *signals);

/* Would ${number} end a process by default?  Such a signal is passed to the
 * command, or ends the wait. */
bool hf_signals_ends(int number);

/* Does ${number} ask a service to end: SIGTERM, SIGINT or SIGQUIT?  Others may
 * mean anything to it. */
bool hf_signals_asks_to_end(int number);

/* Does ${number} stop a process by default, and can it be caught?  (SIGSTOP
 * cannot.) */
bool hf_signals_stops(int number);

/* Was ${info}, read from the launcher's signalfd, sent by the terminal to the
 * whole foreground group?  Then the command has received it already. */
struct signalfd_siginfo;
bool hf_signals_from_terminal(const struct signalfd_siginfo *info);

/* When a signal was last received, and by which of our two processes. */
struct hf_signal_arrival {
    uint64_t
        at_ms; /* CLOCK_BOOTTIME; 0: never, or its duplicate has arrived too */
    bool relayed; /* the supervisor received it and forwarded it */
};

/* Is the signal that arrives at ${now_ms} a duplicate of the one before it with
 * the same number?  pkill(1) and service managers send a signal to each of our
 * two processes and mean it once.  So a duplicate comes to the other process
 * than the one before, and shortly after it.  Updates ${last}. */
bool hf_signals_is_duplicate(struct hf_signal_arrival *last, bool relayed,
                             uint64_t now_ms);

/* Die of ${number} as if it had never been caught, without a core file.  Where
 * that is impossible (the first process of a container) exit with 128 +
 * ${number}. */
_Noreturn void hf_signals_die(int number);

/* Stop by signal ${number}.  Returns when continued, or at once where the
 * kernel does not stop an orphaned process group. */
void hf_signals_stop(int number);

/* Stop by signal ${number} if ${process} is still stopped; returns true when
 * continued.  False if ${process} runs again: then a SIGCONT that was sent to
 * both may have been discarded by our own stop signal. */
bool hf_signals_stop_with(int number, pid_t process);

#endif
