/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holdfast run: a command under a lock.
 *
 *   launcher     the process the user started: terminal, signals, exit status
 *   supervisor    its child: client, grant, command, sweep, release
 *   command   the supervisor's child, in the launcher's process group
 *
 * Either of the first two can be killed or frozen without the lock passing on
 * while the command's tree is alive: each is a subreaper, each keeps the
 * ticket where the engine allows that, and each ends the tree when it finds
 * itself alone.
 */
#ifndef HF_CLI_RUN_H
#define HF_CLI_RUN_H

#include <sys/types.h>

#include "cli/process.h"
#include "cli/run_options.h"
#include "cli/shared_page.h"
#include "cli/signals.h"

/* What both processes start from. */
struct hf_run {
    const struct hf_run_options *options;
    struct hf_signals signals;
    struct hf_shared_page *page;
    int signal_fd;    /* for both: each reads its own signals from it */
    int launcher_end; /* of the socket pair, each in its process */
    int supervisor_end;
    pid_t launcher;
    pid_t group;                   /* the launcher's, and so the command's */
    pid_t supervisor;              /* 0 in the supervisor */
    struct hf_process_list spared; /* children the launcher had before */
};

/* `holdfast run`, with argv[0] "run": the exit status. */
int hf_run_main(int argc, char **argv);

/* The launcher, from the fork on: the exit status.  Does not return if the wait
 * was ended by a signal. */
int hf_launcher_main(struct hf_run *run);

/* The supervisor, from the fork on. */
_Noreturn void hf_supervisor_main(struct hf_run *run);

#endif
