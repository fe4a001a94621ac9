/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See torture.h.  Parses the command line, finds out whether the engine
 * answers, records a history in a file, and reports on it.
 */
#include "torture/torture.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/exit_status.h"
#include "cli/option_value.h"
#include "cli/queue_view.h"
#include "cli/ui.h"
#include "core/error.h"
#include "core/lock_name.h"
#include "core/url.h"
#include "torture/history.h"
#include "torture/nemesis.h"
#include "torture/report.h"

#define COUNT_DEFAULT 8
#define FOR_DEFAULT_MS 20000
#define FAULTS_DEFAULT_MS 500

/* The engine must answer once within this time, or within --for if that is
 * less. */
#define REACH_MAX_MS 15000

/* How much later than safe-until a worker may be notified of a loss, for a busy
 * machine. */
#define LATE_DEFAULT_MS 1000

static const char usage[] =
    "usage: holdfast torture [OPTION...] [NAME]\n"
    "\n"
    "Start workers, processes that want the lock NAME; kill and freeze them "
    "at\n"
    "random, record all that they do and observe, and check it as\n"
    "'holdfast verify' does.  Use a NAME that nobody else uses, nor any below\n"
    "it; else holdfast-torture/KIND, or holdfast-torture.\n"
    "\n"
    "  -c, --url URL          the engine; else HOLDFAST_URL, else file:\n"
    "  -n, --count COUNT      number of workers, at most 64; else 8\n"
    "  -f, --for DURATION     how long; else 20s\n"
    "  -k, --kind KIND        mutex, rwlock, semaphore, several, election,\n"
    "                         tool, reentrant or all; else mutex\n"
    "  -F, --faults DURATION  mean time between faults: one worker is\n"
    "                         killed or frozen; 0s: no faults; else 500ms\n"
    "  -s, --seed SEED        choose at random as the run with this seed did\n"
    "  -o, --history FILE     keep the history; else it is kept only if it\n"
    "                         shows a violation\n"
    "  -l, --late DURATION    how late a worker may be notified of a loss;\n"
    "                         else 1s\n"
    "  -g, --svg FILE         draw the first violation, or the beginning\n"
    "  -j, --json             write JSON\n"
    "  -h, --help             this text\n"
    "\n"
    "The exit status is 0 if all of it held and 1 if not, 65 if nothing was\n"
    "granted and so nothing checked, 69 if the engine was not reached; else "
    "as\n"
    "of 'holdfast run'.  See holdfast-torture(1).\n";

/* What the command line asks for. */
struct torture_command {
    struct hf_torture_opts opts;
    struct hf_report_opts report;
    const char *history; /* --history; NULL: a temporary file */
    char made[PATH_MAX]; /* the temporary file */
};

static const struct option long_options[] = {
    {"url", required_argument, NULL, 'c'},
    {"count", required_argument, NULL, 'n'},
    {"for", required_argument, NULL, 'f'},
    {"kind", required_argument, NULL, 'k'},
    {"faults", required_argument, NULL, 'F'},
    {"seed", required_argument, NULL, 's'},
    {"history", required_argument, NULL, 'o'},
    {"late", required_argument, NULL, 'l'},
    {"svg", required_argument, NULL, 'g'},
    {"json", no_argument, NULL, 'j'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0}};

/* ---------------------------------------------------------------- options --
 */

/* The value of --count. */
static hf_status take_count(char **argv, unsigned *count,
                            struct hf_error *error)
{
    uint64_t number;
    hf_status status =
        hf_option_number(argv, 1, HF_WORKERS_MAX, &number, error);

    if (status == HF_OK)
        *count = (unsigned)number;
    return status;
}

/* The values of --kind.  Each has a lock name of its own, because a name must
 * not be used for locks of two kinds. */
static const struct {
    const char *text;
    unsigned kinds;   /* a set of workloads, see HF_WORKLOAD_SET() */
    const char *name; /* the default for NAME */
} kinds[] = {
    {"mutex", HF_WORKLOAD_SET(HF_WORKLOAD_MUTEX), "holdfast-torture/mutex"},
    {"rwlock", HF_WORKLOAD_SET(HF_WORKLOAD_RWLOCK), "holdfast-torture/rwlock"},
    {"semaphore", HF_WORKLOAD_SET(HF_WORKLOAD_SEMAPHORE),
     "holdfast-torture/semaphore"},
    {"several", HF_WORKLOAD_SET(HF_WORKLOAD_SEVERAL), "holdfast-torture"},
    {"election", HF_WORKLOAD_SET(HF_WORKLOAD_ELECTION),
     "holdfast-torture/election"},
    {"tool", HF_WORKLOAD_SET(HF_WORKLOAD_TOOL), "holdfast-torture/mutex"},
    {"reentrant", HF_WORKLOAD_SET(HF_WORKLOAD_REENTRANT),
     "holdfast-torture/mutex"},
    {"all", HF_WORKLOAD_SET_ALL, "holdfast-torture"},
};
#define KINDS (sizeof kinds / sizeof *kinds)

/* The value of --kind. */
static hf_status take_kind(unsigned *set, struct hf_error *error)
{
    for (size_t i = 0; i < KINDS; i++) {
        if (strcmp(optarg, kinds[i].text) == 0) {
            *set = kinds[i].kinds;
            return HF_OK;
        }
    }
    return hf_error_set(error, HF_EINVAL,
                        "--kind '%.80s': expected mutex, rwlock, semaphore, "
                        "several, election, tool, reentrant or all",
                        optarg);
}

/* One option that getopt_long() has returned. */
static hf_status take_option(char **argv, int option,
                             struct torture_command *command,
                             struct hf_error *error)
{
    switch (option) {
    case 'c':
        command->opts.url = optarg;
        return HF_OK;
    case 'n':
        return take_count(argv, &command->opts.count, error);
    case 'f':
        return hf_option_duration(argv, &command->opts.for_ms, error);
    case 'k':
        return take_kind(&command->opts.kinds, error);
    case 'F':
        return hf_option_duration(argv, &command->opts.fault_every_ms, error);
    case 's':
        return hf_option_number(argv, 0, UINT64_MAX, &command->opts.seed,
                                error);
    case 'o':
        command->history = optarg;
        return HF_OK;
    case 'l':
        return hf_option_duration(argv, &command->report.late_ms, error);
    case 'g':
        command->report.svg = optarg;
        return HF_OK;
    case 'j':
        command->report.json = true;
        return HF_OK;
    default:
        return hf_option_refuse("torture", argv, option, error);
    }
}

/* NAME, or the default for the kind.  False after printing what is wrong. */
static bool take_name(int argc, char **argv, struct torture_command *command)
{
    struct hf_error error;

    if (argc - optind > 1) {
        hf_ui_print("'%.80s': one NAME at a time", argv[optind + 1]);
        return false;
    }
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].kinds == command->opts.kinds)
            command->opts.lock = kinds[i].name;
    if (optind < argc)
        command->opts.lock = argv[optind];
    if (hf_lock_name_check(command->opts.lock, &command->opts.lock, &error) ==
        HF_OK)
        return true;
    hf_ui_print_error(&error);
    return false;
}

/* ------------------------------------------------------------------- main --
 */

/* Ask the engine for the holders of the lock.  0 if it answers, else the exit
 * status. */
static int ask_engine(const struct torture_command *command)
{
    struct hf_client_opts client_opts = HF_CLIENT_OPTS_INIT;
    uint64_t for_ms = command->opts.for_ms;
    struct hf_queue_view queue = {0};
    struct hf_client *client;
    struct hf_error error;
    hf_status status;

    client_opts.connect_ms = for_ms < REACH_MAX_MS ? for_ms : REACH_MAX_MS;
    status = hf_client_open(command->opts.url, &client_opts, &client, &error);
    if (status == HF_OK) {
        status =
            hf_queue_view_load(client, command->opts.lock, HF_TICKETS_HOLDERS,
                               2 * client_opts.connect_ms, &queue, &error);
        hf_queue_view_free(&queue);
        (void)hf_client_close(client);
    }
    if (status == HF_OK)
        return 0;
    hf_ui_print_error(&error);
    return status == HF_ETIMEDOUT ? HF_EXIT_UNREACHABLE
                                  : hf_exit_status(status);
}

/* Does the engine answer?  Workers wait for an engine without end, because an
 * engine that is away is one of the faults; so an engine that was never there
 * is found out here.  In a process of its own, because a client has threads
 * and this process will fork.  0, or the exit status. */
static int check_engine(const struct torture_command *command)
{
    pid_t parent = getpid(), pid = fork();
    int status;

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(getppid() == parent ? ask_engine(command) : HF_EXIT_BUG);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            pid = -1;
    if (pid > 0)
        return WIFEXITED(status) ? WEXITSTATUS(status)
                                 : HF_EXIT_SIGNAL + WTERMSIG(status);
    hf_ui_print("no process to reach the engine with: %s; end some of what is "
                "running, or raise the limits (ulimit -a)",
                strerror(errno));
    return HF_EXIT_LIMIT;
}

/* Make the temporary file.  Its descriptor, or -1 with errno. */
static int make_history(struct torture_command *command)
{
    const char *directory = getenv("TMPDIR");
    int bytes;

    if (directory == NULL || *directory == '\0')
        directory = "/tmp";
    bytes = snprintf(command->made, sizeof command->made,
                     "%s/holdfast-torture-XXXXXX", directory);
    if (bytes < 0 || (size_t)bytes >= sizeof command->made) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return mkostemp(command->made, O_CLOEXEC);
}

/* Open the file that the history is written to.  NULL after printing why not.
 */
static FILE *open_history(struct torture_command *command)
{
    FILE *file;
    int fd;

    if (command->history != NULL) {
        file = fopen(command->history, "we");
        command->report.name = command->history;
    } else {
        fd = make_history(command);
        file = fd >= 0 ? fdopen(fd, "w") : NULL;
        command->report.name = command->made;
    }
    if (file == NULL)
        hf_ui_print(
            "%s: cannot be written: %s; expected room for a history there",
            command->report.name, strerror(errno));
    return file;
}

/* A temporary history is kept only if it shows a violation. */
static void keep_or_remove_history(const struct torture_command *command,
                                   int exit_code)
{
    if (command->history != NULL)
        return;
    if (exit_code == HF_EXIT_VIOLATION)
        hf_ui_print("the history is in %s; the seed was %" PRIu64,
                    command->made, command->opts.seed);
    else
        unlink(command->made);
}

/* Record a history of workers and the nemesis.  0, or the exit status of a
 * failure, which has been printed. */
static int record_history(const struct hf_torture_opts *opts, FILE *history)
{
    struct hf_workers workers;
    int exit_code = hf_workers_open(&workers, opts, history);

    if (exit_code == 0) {
        fputs(HF_HISTORY_FIRST_LINE "\n", history);
        for (unsigned i = 0; i < opts->count; i++)
            hf_workers_start(&workers, &workers.processes[i]);
        hf_nemesis_run(&workers);
        hf_workers_end(&workers);
        exit_code = workers.exit_code;
    }
    hf_workers_close(&workers);
    return exit_code;
}

/* Returns the exit status. */
static int run(struct torture_command *command)
{
    int exit_code = check_engine(command);
    FILE *history;
    bool failed;

    if (exit_code != 0)
        return exit_code;
    if ((history = open_history(command)) == NULL)
        return HF_EXIT_DIRECTORY;
    exit_code = record_history(&command->opts, history);
    failed = ferror(history) != 0;
    if (fclose(history) != 0 || failed) {
        hf_ui_print(
            "%s: cannot be written in full; expected room for a history "
            "there",
            command->report.name);
        exit_code = HF_EXIT_DIRECTORY;
    }
    if (exit_code == 0)
        exit_code = hf_report(&command->report);
    keep_or_remove_history(command, exit_code);
    return exit_code;
}

int hf_torture_main(int argc, char **argv)
{
    struct torture_command command = {
        .opts = {.kinds = HF_WORKLOAD_SET(HF_WORKLOAD_MUTEX),
                 .count = COUNT_DEFAULT,
                 .for_ms = FOR_DEFAULT_MS,
                 .fault_every_ms = FAULTS_DEFAULT_MS},
        .report = {.late_ms = LATE_DEFAULT_MS}};
    struct hf_error error;
    int option;

    if (getrandom(&command.opts.seed, sizeof command.opts.seed, 0) < 0)
        command.opts.seed = (uint64_t)getpid();
    while ((option = getopt_long(argc, argv, ":c:n:f:k:F:s:o:l:g:jh",
                                 long_options, NULL)) != -1) {
        if (option == 'h')
            return fputs(usage, stdout) < 0 || fflush(stdout) != 0
                       ? HF_EXIT_DIRECTORY
                       : 0;
        if (take_option(argv, option, &command, &error) != HF_OK) {
            hf_ui_print_error(&error);
            return HF_EXIT_USAGE;
        }
    }
    if (!take_name(argc, argv, &command))
        return HF_EXIT_USAGE;
    if (command.opts.url != NULL && hf_url_has_secret(command.opts.url))
        hf_ui_print(
            "warning: every user of this machine can read the password in "
            "-c; put the URL into HOLDFAST_URL instead");
    command.report.lock = command.opts.lock;
    return run(&command);
}
