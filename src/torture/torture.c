/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holdfast torture: parses the command line, checks that the engine answers,
 * records a history in a file, and reports on it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command/command_line.h"
#include "command/exit_status.h"
#include "command/queue_view.h"
#include "command/ui.h"
#include "core/lock_name.h"
#include "torture/commands.h"
#include "torture/history.h"
#include "torture/report.h"
#include "torture/workers.h"

#define COUNT_DEFAULT 8
#define FOR_DEFAULT_MS 20000
#define FAULTS_DEFAULT_MS 500

/* The engine must give its first answer within this time, or within --for if
 * that is less. */
#define REACH_MAX_MS 15000

/* How much later than its safe-until a worker may be notified of a loss,
 * because a machine may be busy. */
#define LATE_DEFAULT_MS 1000

/* What the command line asks for. */
struct torture_command {
    struct hf_torture_opts opts;
    struct hf_report_opts report;
    unsigned kind;       /* --kind, an index of kinds[] */
    const char *name;    /* NULL: the default name for the kind */
    const char *history; /* --history; NULL: a temporary file */
    char made[PATH_MAX]; /* path of the temporary file */
};

/* --------------------------------------------------------------- options -- */

/* The values of --kind: each has its set of workloads and its default for NAME.
 * The defaults differ, because a name must not be used for locks of two kinds.
 */
#define KINDS(KIND)                                                            \
    KIND("mutex", SET(MUTEX), "holdfast-torture/mutex")                        \
    KIND("rwlock", SET(RWLOCK), "holdfast-torture/rwlock")                     \
    KIND("semaphore", SET(SEMAPHORE), "holdfast-torture/semaphore")            \
    KIND("several", SET(SEVERAL), "holdfast-torture")                          \
    KIND("election", SET(ELECTION), "holdfast-torture/election")               \
    KIND("tool", SET(TOOL), "holdfast-torture/mutex")                          \
    KIND("reentrant", SET(REENTRANT), "holdfast-torture/mutex")                \
    KIND("kept", SET(KEPT), "holdfast-torture/kept")                           \
    KIND("all", HF_WORKLOAD_SET_ALL, "holdfast-torture")
#define SET(kind) HF_WORKLOAD_SET(HF_WORKLOAD_##kind)
#define KIND_TEXT(text, set, name) text,
#define KIND_ROW(text, set, name) {set, name},

static const char *const kind_texts[] = {KINDS(KIND_TEXT) NULL};
static const struct {
    unsigned set;
    const char *name;
} kinds[] = {KINDS(KIND_ROW)};

#define FIELD(field) HF_OPTION_FIELD(struct torture_command, field)

static const struct hf_option_row rows[] = {
    HF_URL_OPTION(FIELD(opts.url)),
    HF_OPTION('N', "count", "COUNT", hf_option_number, FIELD(opts.count),
              .min = 1, .max = HF_WORKERS_MAX,
              .help = "number of workers, at most 64; else 8"),
    HF_OPTION('u', "for", "DURATION", hf_option_duration, FIELD(opts.for_ms),
              .help = "how long; else 20s"),
    HF_OPTION('K', "kind", "KIND", hf_option_choice, FIELD(kind),
              .choices = kind_texts, .help = "else mutex"),
    HF_OPTION('F', "faults", "DURATION", hf_option_duration,
              FIELD(opts.fault_every_ms),
              .help = "mean time between faults: one worker is killed or "
                      "frozen; 0s: no faults; else 500ms"),
    HF_OPTION('S', "seed", "SEED", hf_option_number, FIELD(opts.seed),
              .max = UINT64_MAX,
              .help = "choose at random as the run with this seed did"),
    HF_OPTION('o', "history", "FILE", hf_option_text, FIELD(history),
              .help = "keep the history; else it is kept only if it shows a "
                      "violation"),
    HF_OPTION('A', "late", "DURATION", hf_option_duration,
              FIELD(report.late_ms),
              .help = "how late a worker may be notified of a loss; else 1s"),
    HF_OPTION('I', "svg", "FILE", hf_option_text, FIELD(report.svg),
              .help = "draw the first violation, or the beginning"),
    HF_OPTION('j', "json", NULL, hf_option_set, FIELD(report.json), .set = true,
              .help = "write JSON"),
};

/* Check NAME, or use the default for the kind. */
static hf_status check(const struct hf_command_line *line, void *options,
                       struct hf_error *error)
{
    struct torture_command *command = options;

    (void)line;
    command->opts.kinds = kinds[command->kind].set;
    return hf_lock_name_check(command->name != NULL ? command->name
                                                    : kinds[command->kind].name,
                              &command->opts.lock, error);
}

static const struct hf_command torture_command = {
    .name = "torture",
    .synopsis = "[OPTION...] [NAME]",
    .about =
        "Start workers, processes that want the lock NAME; kill and freeze\n"
        "them at random, record all that they do and observe, and check it as\n"
        "'holdfast verify' does.  Use a NAME that nobody else uses, nor any\n"
        "below it; else holdfast-torture/KIND, or holdfast-torture.\n",
    .notes =
        "The exit status is 0 if all of it held and 1 if not, 65 if nothing\n"
        "was granted and so nothing checked, 69 if the engine was not\n"
        "reached; else as of 'holdfast run'.  See holdfast-torture(1).\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .operands = {HF_OPERAND("NAME", struct torture_command, name,
                            .is_optional = true)},
    .check = check,
};

/* ------------------------------------------------------------------ main -- */

/* Ask the engine for the holders of the lock.  Returns 0 if it answers, else
 * the exit status. */
static int ask_engine(const struct torture_command *command)
{
    struct hf_client_opts client_opts = HF_CLIENT_OPTS_INIT;
    uint64_t for_ms = command->opts.for_ms;
    struct hf_queue_view queue = {0};
    struct hf_client *client;
    struct hf_error error;
    hf_status status;

    client_opts.connect_ms = for_ms < REACH_MAX_MS ? for_ms : REACH_MAX_MS;
    status = hf_client_open(command->opts.url, &client_opts, &client);
    if (status == HF_OK) {
        status =
            hf_queue_view_load(client, command->opts.lock, HF_TICKETS_HOLDERS,
                               2 * client_opts.connect_ms, &queue, &error);
        hf_queue_view_free(&queue);
        (void)hf_client_close(client);
    } else {
        error = *hf_last_error();
    }
    if (status == HF_OK)
        return 0;
    hf_ui_print_error(&error);
    return status == HF_ETIMEDOUT ? HF_EXIT_UNREACHABLE
                                  : hf_exit_status(status);
}

/* Check that the engine answers.  Workers wait for an engine without end,
 * because an engine that is away is one of the faults.  So an engine that was
 * never there must be detected here.  A process of its own asks, because a
 * client has threads and this process will fork.  Returns 0, or the exit
 * status. */
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

/* Make the temporary file.  Returns its descriptor, or -1 with errno set. */
static int make_history(struct torture_command *command)
{
    const char *directory = secure_getenv("TMPDIR");
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

/* Make and open the temporary file.  On failure returns NULL with errno set and
 * leaves no file. */
static FILE *open_temporary_history(struct torture_command *command)
{
    int fd = make_history(command), reason;
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;

    if (fd >= 0 && file == NULL) {
        reason = errno;
        close(fd);
        unlink(command->made);
        errno = reason;
    }
    return file;
}

/* Open the file that the history is written to.  Returns NULL after printing
 * why that failed. */
static FILE *open_history(struct torture_command *command)
{
    FILE *file;

    if (command->history != NULL) {
        file = fopen(command->history, "we");
        command->report.name = command->history;
    } else {
        file = open_temporary_history(command);
        command->report.name = command->made;
    }
    if (file == NULL)
        hf_ui_print(
            "%s: cannot be written: %s; expected room for a history there",
            command->report.name, strerror(errno));
    return file;
}

/* Remove a temporary history, unless it shows a violation. */
static void keep_or_remove_history(const struct torture_command *command,
                                   int exit_code)
{
    if (command->history != NULL)
        return;
    if (exit_code == HF_EXIT_VIOLATION)
        hf_ui_log(HF_LOG_INFO, "the history is in %s; the seed was %" PRIu64,
                  command->made, command->opts.seed);
    else
        unlink(command->made);
}

/* Record a history of the workers and the nemesis.  Returns 0; or after
 * printing a failure, its exit status. */
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

/* Run the command, and return the exit status. */
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
        .opts = {.count = COUNT_DEFAULT,
                 .for_ms = FOR_DEFAULT_MS,
                 .fault_every_ms = FAULTS_DEFAULT_MS},
        .report = {.late_ms = LATE_DEFAULT_MS}};
    int exit_code;

    if (getrandom(&command.opts.seed, sizeof command.opts.seed, 0) < 0)
        command.opts.seed = (uint64_t)getpid();
    if (!hf_command_line_read(&torture_command, argc, argv, &command,
                              &exit_code))
        return exit_code;
    hf_command_line_warn_password(command.opts.url);
    command.report.lock = command.opts.lock;
    return run(&command);
}
