/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main functions of holdfast run and holdfast elect: they read the command
 * line, set up what launcher and supervisor share, and fork.  What the two
 * processes then do is in launcher.c and supervisor.c; run.h says which does
 * what.
 */
#include "cli/run.h"
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/ipc.h"
#include "cli/process_tree.h"
#include "command/exit_status.h"
#include "command/ui.h"

/* List the children that this process had before it became holdfast (as in "sh
 * -c 'sleep 9 & exec holdfast run ...'").  They are not part of the command's
 * tree, so they are neither ended nor reaped.  -1 if /proc could not be
 * read. */
static int list_children(struct hf_process_list *spared)
{
    siginfo_t info;

    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0)
        return 0; /* ECHILD: there are none, as nearly always */
    return hf_process_children(getpid(), spared) ? 0 : -1;
}

/* Make everything that must exist before the fork.  -1 with errno; the exit
 * then closes what was opened. */
static int set_up(struct hf_run *run)
{
    int ends[2];

    run->launcher = getpid();
    run->has_timer = hf_process_has_timer();
    run->group = getpgrp();
    hf_signals_block(&run->signals);
    run->signal_fd =
        signalfd(-1, &run->signals.handled, SFD_CLOEXEC | SFD_NONBLOCK);
    if (run->signal_fd < 0)
        return -1;
    if (list_children(&run->spared) < 0)
        return -1;
    /* Before the fork, because from the first moment on orphans of the
     * supervisor must find the launcher as their subreaper, and not init. */
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return -1;
    run->page = hf_shared_page_new();
    if (!run->page || hf_ipc_pair(ends) < 0)
        return -1;
    run->launcher_end = ends[0];
    run->supervisor_end = ends[1];
    return 0;
}

/* In the child: the flag of a subreaper is not inherited, so set it anew. */
static void become_supervisor(struct hf_run *run)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    close(run->launcher_end);
    hf_process_list_free(&run->spared);
    hf_supervisor_main(run);
}

/* Print that ${what} failed, with errno, and what to do.  Returns the exit
 * status. */
static int cannot_start(const char *what)
{
    hf_ui_print("%s: %s; end some of what is running, or raise the limits "
                "(ulimit -a)",
                what, strerror(errno));
    return HF_EXIT_LIMIT;
}

/* Check that trees of processes can be found here, then run both processes.
 * Returns the exit status. */
static int fork_and_run(const struct hf_run_options *options)
{
    struct hf_run run = {.options = options};
    struct hf_error error;
    int exit_code;

    switch (hf_process_tree_open(&error)) {
    case HF_OK:
        break;
    case HF_ELIMIT:
        hf_ui_print_error(&error);
        return HF_EXIT_LIMIT;
    default:
        hf_ui_print_error(&error);
        return HF_EXIT_BUG;
    }
    if (set_up(&run) < 0)
        return cannot_start("cannot set up");
    run.supervisor = fork();
    if (run.supervisor < 0)
        return cannot_start("cannot start a process");
    if (run.supervisor == 0)
        become_supervisor(&run);
    close(run.supervisor_end);
    exit_code = hf_launcher_main(&run);
    hf_process_list_free(&run.spared);
    return exit_code;
}

/* Read the command line of ${command} into ${options}, and run. */
static int read_and_run(const struct hf_command *command, int argc, char **argv,
                        struct hf_run_options *options)
{
    int exit_code;

    if (!hf_command_line_read(command, argc, argv, options, &exit_code))
        return exit_code;
    if (options->verbosity != HF_QUIET)
        hf_command_line_warn_password(options->url);
    return fork_and_run(options);
}

int hf_run_main(int argc, char **argv)
{
    struct hf_run_options options = HF_RUN_OPTIONS_INIT;

    return read_and_run(&hf_run_command, argc, argv, &options);
}

int hf_elect_main(int argc, char **argv)
{
    struct hf_run_options options = HF_RUN_OPTIONS_INIT;

    options.elect = true;
    options.kind = HF_KIND_ELECTION;
    return read_and_run(&hf_elect_command, argc, argv, &options);
}
