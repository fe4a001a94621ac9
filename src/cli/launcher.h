/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the launcher, which is the whole of that process.
 *
 *   launcher.c           the loop, messages from the supervisor, the end
 *   launcher_signals.c   what the terminal, the shell and others signal, Ctrl-C
 *                        and Ctrl-Z included
 *   guard.c              another process, under a lease
 *   abandoned_tickets.c  the tickets of a supervisor that was killed
 */
#ifndef HF_CLI_LAUNCHER_H
#define HF_CLI_LAUNCHER_H

#include <signal.h>
#include <stdbool.h>

#include "cli/ipc.h"
#include "cli/notify_socket.h"
#include "cli/run.h"
#include "command/clock.h"
#include "command/format.h"

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

/* Send a message that the supervisor waits for.  If that is impossible, because
 * the socket is full or the kernel has no memory, send nothing any more: the
 * supervisor takes the end of what it receives as that of this process.  It
 * ends what runs, and releases. */
void hf_launcher_send_awaited(struct hf_launcher *launcher,
                              enum hf_ipc_kind kind);

/* Handle the signals that have arrived.  SIGCHLD needs no handling, because it
 * wakes the loop, which looks after the supervisor in each turn. */
void hf_launcher_read_signals(struct hf_launcher *launcher);

/* The process ${command} of the command has stopped by the signal ${number}
 * while ${epoch} SIGCONTs had been received: stop as well, because the shell
 * watches this process and must see that the job has stopped. */
void hf_launcher_command_stopped(struct hf_launcher *launcher, int number,
                                 uint32_t epoch, pid_t command);

/* --------------------------------------------------------------- guard -- */

/* Start the guard of the grant that ${run} has now, in place of that of an
 * earlier grant.  It is one of ${run}->spared while it exists.  False with
 * errno. */
bool hf_guard_start(struct hf_run *run);

/* End the guard, if there is one, and wait until it has exited. */
void hf_guard_end(struct hf_run *run);

/* --------------------------------------------------- abandoned tickets -- */

/* Remove the tickets of the grant in ${run}->page, by a client of our own.  To
 * be called when nothing of the command runs any more.  Takes a few seconds at
 * most.  A failure is not reported, because the tickets leave with their
 * lease. */
void hf_abandoned_tickets_remove(const struct hf_run *run);

#endif
