/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holdfast run: parses the command line, sets up what launcher and supervisor
 * share, and forks.
 */
#include "cli/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/exit_status.h"
#include "cli/ipc.h"
#include "cli/process_tree.h"
#include "cli/ui.h"
#include "core/url.h"

static const char usage[] =
    "usage: holdfast run [OPTION...] NAME... -- COMMAND [ARG...]\n"
    "\n"
    "Run COMMAND while holding the lock NAME; wait for the lock first.\n"
    "Several NAMEs are taken together, all or none.\n"
    "\n"
    "  -c, --url URL           the engine; else HOLDFAST_URL, else file:\n"
    "  -t, --timeout DURATION  wait this long at most; else without a limit\n"
    "  -n, --try               do not wait: the same as -t 0s\n"
    "  -r, --read              share NAME with other readers\n"
    "  -w, --write             have it alone, in the queue of the readers\n"
    "  -p, --permits N/M       take N of the M permits of the semaphore NAME\n"
    "  -E, --conflict-exit-code N\n"
    "                          exit with N, not 75, if the lock is not "
    "obtained\n"
    "  -g, --grace DURATION    from SIGTERM to SIGKILL for what COMMAND "
    "leaves\n"
    "                          behind; else 5s\n"
    "  -T, --text TEXT         what others are shown; else the command's name\n"
    "  -q, --quiet             say nothing but errors\n"
    "  -v, --verbose           say more\n"
    "  -h, --help              this text\n"
    "\n"
    "A DURATION is a number and a unit (d h m s ms), or several: 30s, 1m30s.\n"
    "COMMAND is told HOLDFAST_URL, HOLDFAST_NAME(S) and HOLDFAST_TOKEN(S).  "
    "Its\n"
    "exit status is passed through, 128+N if signal N ended it.  Those of "
    "holdfast\n"
    "itself: 64 usage, 69 engine unreachable, 70 a fault of holdfast, 71 out "
    "of\n"
    "processes or descriptors, 73 directory unusable or full, 75 not "
    "obtained,\n"
    "76 lost while running, 77 denied, 126 and 127 as shells do.\n"
    "See holdfast-run(1).\n";

/* Open /dev/null in place of those of descriptors 0, 1 and 2 that are closed.
 * Otherwise a descriptor of our own would get one of these numbers, and error
 * texts would be written to it.  The command still finds them closed, because
 * they are O_CLOEXEC.  -1 with errno. */
static int occupy_standard_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", O_RDWR | O_CLOEXEC) != fd)
            return -1;
    return 0;
}

/* List the children that this process had before it became holdfast (as "sh -c
 * 'sleep 9 & exec holdfast run ...'").  They are not part of the command's
 * tree, so they are neither ended nor reaped.  -1 if /proc could not be read.
 */
static int list_children(struct hf_process_list *spared)
{
    siginfo_t info;

    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0)
        return 0; /* ECHILD: there are none, as nearly always */
    return hf_process_children(getpid(), spared) ? 0 : -1;
}

/* Everything that must exist before the fork.  -1 with errno; what was opened
 * is closed by the exit. */
static int set_up(struct hf_run *run)
{
    int ends[2];

    run->launcher = getpid();
    run->group = getpgrp();
    if (occupy_standard_descriptors() < 0)
        return -1;
    hf_signals_block(&run->signals);
    run->signal_fd =
        signalfd(-1, &run->signals.handled, SFD_CLOEXEC | SFD_NONBLOCK);
    if (run->signal_fd < 0)
        return -1;
    if (list_children(&run->spared) < 0)
        return -1;
    /* Before the fork, because orphans of the supervisor must find the
     * launcher as their subreaper from the first moment on; else they would go
     * to init. */
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

int hf_run_main(int argc, char **argv)
{
    struct hf_run_options options;
    struct hf_error error;

    switch (hf_run_options_parse(argc, argv, &options, &error)) {
    case HF_PARSED_HELP:
        if (fputs(usage, stdout) < 0 || fflush(stdout) < 0)
            return HF_EXIT_DIRECTORY;
        return 0;
    case HF_PARSED_WRONG:
        hf_ui_print_error(&error);
        return HF_EXIT_USAGE;
    case HF_PARSED_RUN:
        break;
    }
    if (options.url && hf_url_has_secret(options.url) &&
        options.verbosity != HF_QUIET)
        hf_ui_print(
            "warning: every user of this machine can read the password in "
            "-c; put the URL into HOLDFAST_URL instead");
    return fork_and_run(&options);
}
