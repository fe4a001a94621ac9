/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holdfast run: run a command while holding a lock; and holdfast elect: run it
 * while leading, again and again.
 *
 *   launcher     the process that the user started: terminal, signals, exit
 *                status (launcher.h)
 *   supervisor   its child: client, grant, command, termination, release
 *                (supervisor.h)
 *   command      the supervisor's child, in the launcher's process group
 *                (supervisor_command.c)
 *   guard        another child of the launcher, under a lease (guard.c)
 *
 * The lock must not pass to another holder while a process of the command's
 * tree is alive, even when one of our two processes is killed or frozen.
 * Therefore each of the two is a subreaper (prctl(2)), each keeps the ticket
 * where the engine allows that, and each ends the tree when it finds that the
 * other one is gone.
 */
#ifndef HF_CLI_RUN_H
#define HF_CLI_RUN_H

#include <sys/types.h>

#include "cli/process.h"
#include "cli/run_options.h"
#include "cli/shared_page.h"
#include "cli/signals.h"

/* The first connection may take this long, even if the wait has no limit. */
#define HF_CONNECT_MAX_MS 15000

/* What the launcher sets up before the fork.  Each process has its own copy
 * afterwards; only .page is shared memory. */
struct hf_run {
    const struct hf_run_options *options;
    struct hf_signals signals;
    struct hf_shared_page *page;
    int signal_fd; /* signalfd(2), inherited by both: each process reads its own
                      signals from it */
    int launcher_end; /* the launcher's end of the ipc.h socket pair; closed in
                         the supervisor */
    int supervisor_end; /* the supervisor's end; closed in the launcher */
    pid_t launcher;
    bool has_timer; /* the launcher has got a timer of the program that started
                       it, as "alarm 5; exec holdfast run ..." makes one */
    pid_t group;    /* process group of the launcher, and of the command */
    pid_t supervisor; /* pid; 0 in the supervisor */
    pid_t guard;      /* pid; 0: there is none.  Used by the launcher */
    struct hf_process_list spared; /* children of the launcher that are not the
                                      command's: those from before an exec,
                                      never ended or reaped, and the guard */
};

/* The launcher, from the fork until the supervisor and the command's tree are
 * gone.  Returns the exit status; does not return if a signal ended the wait,
 * because then the launcher dies of the same signal. */
int hf_launcher_main(struct hf_run *run);

/* The supervisor, from the fork on.  It leaves its result in ${run}->page. */
_Noreturn void hf_supervisor_main(struct hf_run *run);

#endif
