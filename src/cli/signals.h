/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals as holdfast found them, and what it does with them.  All are blocked
 * in both of our processes, and each reads those that concern it from a
 * descriptor.  The launcher decides what a signal means; the supervisor sends
 * the launcher what it received itself, because other programs know the
 * supervisor by the pid in its ticket.  The command starts with everything as
 * it was found.
 */
#ifndef HF_CLI_SIGNALS_H
#define HF_CLI_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct hf_signals {
    sigset_t found_mask;
    struct sigaction found_child; /* SIGCHLD; may be ignored, which would cost
                                     us the exit status of the command */
    sigset_t handled;             /* those the launcher acts on: all that it did
                                   not find ignored or blocked */
};

/* Note what is, then block all and make SIGCHLD work. */
void hf_signals_block(struct hf_signals *signals);

/* Put everything back, for the command; async-signal-safe. */
void hf_signals_restore(const struct hf_signals *signals);

/* Would ${number} end a process that did nothing about it?  Such a signal is
 * passed to the command, and ends a wait. */
bool hf_signals_ends(int number);

/* Does ${number} stop a process, and can it be caught? */
bool hf_signals_stops(int number);

/* Did ${info}, read from the launcher's descriptor, go to the whole foreground
 * group?  Then the command has it already. */
struct signalfd_siginfo;
bool hf_signals_from_terminal(const struct signalfd_siginfo *info);

/* When a signal was last received, and by which of our two processes. */
struct hf_signal_arrival {
    uint64_t at_ms; /* 0: none, or one of which the copy has arrived too */
    bool relayed;   /* the supervisor received it */
};

/* Is the signal that arrives at ${now_ms} a copy of the one before it with the
 * same number?  pkill(1) and service managers send a signal to each of our two
 * processes, and mean one.  Updates ${last}. */
bool hf_signals_is_duplicate(struct hf_signal_arrival *last, bool relayed,
                             uint64_t now_ms);

/* Die of ${number} as if it had never been caught; where that is impossible
 * (the first process of a container) leave with 128 + ${number}. */
_Noreturn void hf_signals_die(int number);

/* Stop by ${number}; returns when continued, or at once where the kernel
 * refuses to stop an orphaned process group. */
void hf_signals_stop(int number);

/* Stop by ${number} if ${process} is stopped too.  False if it goes on: then a
 * SIGCONT for both may have been taken from our queue. */
bool hf_signals_stop_with(int number, pid_t process);

#endif
