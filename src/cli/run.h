/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holdfast run: a command under a lock.
 *
 *   front     the process the user started: terminal, signals, exit status
 *   keeper    its child: client, grant, command, sweep, release
 *   command   the keeper's child, in the front's process group
 *
 * Either of the first two can be killed or frozen without the lock passing on
 * while the command's tree is alive: each is a subreaper, each keeps the
 * ticket where the engine allows that, and each ends the tree when it finds
 * itself alone.
 */
#ifndef HF_CLI_RUN_H
#define HF_CLI_RUN_H

#include <sys/types.h>

#include "cli/options.h"
#include "cli/page.h"
#include "cli/process.h"
#include "cli/signals.h"

/* What both processes start from. */
struct hf_run {
    const struct hf_run_options *options;
    struct hf_signals signals;
    struct hf_page *page;
    int signal_fd; /* for both: each reads its own signals from it */
    int front_end; /* of the socket pair, each in its process */
    int keeper_end;
    pid_t front;
    pid_t group;                   /* the front's, and so the command's */
    pid_t keeper;                  /* 0 in the keeper */
    struct hf_process_list spared; /* children the front had before */
};

/* `holdfast run`, with argv[0] "run": the exit status. */
int hf_run_main(int argc, char **argv);

/* The front, from the fork on: the exit status.  Does not return if the wait
 * was ended by a signal. */
int hf_front_main(struct hf_run *run);

/* The keeper, from the fork on. */
_Noreturn void hf_keeper_main(struct hf_run *run);

#endif
