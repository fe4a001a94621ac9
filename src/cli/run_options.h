/* SPDX-License-Identifier: Apache-2.0 */
/* The command lines of `holdfast run`, `holdfast elect` and `holdfast hold`:
 * their tables of options, and their operands. */
#ifndef HF_CLI_RUN_OPTIONS_H
#define HF_CLI_RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <holdfast/client.h>
#include <holdfast/lock.h>

#include "cli/command_summary.h"
#include "cli/restart_policy.h"
#include "command/command_line.h"
#include "command/exit_status.h"
#include "command/ui.h"

/* Long enough for most commands to clean up, short enough to wait for. */
#define HF_GRACE_DEFAULT_MS 5000

/* As the grace. */
#define HF_RESIGN_TIMEOUT_DEFAULT_MS 5000

/* What to do when another program asks for the lock to be released. */
enum hf_on_revoke_action {
    HF_ON_REVOKE_IGNORE,
    HF_ON_REVOKE_TERM, /* send the command SIGTERM, and wait for its end */
    HF_ON_REVOKE_HUP,  /* the same with SIGHUP */
    HF_ON_REVOKE_EXIT  /* end the command's tree, as after a loss */
};

/* As .once_per_ms: one day of the calendar; and its most, a hundred years. */
#define HF_ONCE_PER_DAY UINT64_MAX
#define HF_ONCE_PER_MAX_MS (UINT64_C(36525) * 24 * 3600 * 1000)

struct hf_run_options {
    const char *url;      /* NULL: HOLDFAST_URL, else the file engine */
    uint64_t wait_ms;     /* HF_FOREVER: no limit; 0: try */
    uint64_t grace_ms;    /* from SIGTERM to SIGKILL */
    uint64_t at_least_ms; /* run: keep the locks so long, from the grant on */
    uint64_t once_per_ms; /* run: do not run within this time after a success;
                             0: always run; HF_ONCE_PER_DAY: not on the same day
                             of the calendar */
    bool until_signal;    /* hold: standard input is not read */
    enum hf_kind kind;    /* of all locks */
    uint32_t permits;     /* of a semaphore: take .permits of .limit */
    uint32_t limit;
    enum hf_on_revoke_action on_revoke;
    bool elect; /* `holdfast elect`: campaign again and again */
    struct hf_restart_policy restart; /* elect: when the command has ended */
    const char *on_lead; /* elect: for sh -c, before the command; NULL: none */
    const char *on_resign; /* elect: for sh -c, at the end of leading; NULL */
    uint64_t resign_timeout_ms; /* how long .on_resign may run; HF_FOREVER is
                                   the default, until the line is checked */
    int busy_exit;              /* exit status when the lock was not obtained */
    bool detect_deadlock;
    enum hf_verbosity verbosity;
    const char *text; /* what others see of the run: --text, else .summary;
                         "": nothing */
    char summary[HF_COMMAND_SUMMARY_BYTES]; /* of the command */
    char **names; /* of the locks; all are obtained or none */
    int name_count;
    char label[240]; /* what the locks are called in messages */
    char **command;  /* ends with NULL, never empty; NULL: of hold, and of
                        elect with hooks alone */
};

/* Too many failures in a row, as systemd has it. */
#define HF_RESTART_BURST_DEFAULT 5

/* The defaults, which a command line is read into. */
#define HF_RUN_OPTIONS_INIT                                                    \
    {                                                                          \
        .wait_ms = HF_FOREVER, .grace_ms = HF_GRACE_DEFAULT_MS, .permits = 1,  \
        .limit = 1, .busy_exit = HF_EXIT_BUSY, .verbosity = HF_NORMAL,         \
        .resign_timeout_ms = HF_FOREVER, .restart = {                          \
            HF_RESTART_ALWAYS,                                                 \
            HF_RESTART_BURST_DEFAULT                                           \
        }                                                                      \
    }

/* Is the wait shown in a line that is redrawn?  Not that of a candidate, which
 * may last for weeks: it prints a line when the leader changes. */
bool hf_run_shows_wait(const struct hf_run_options *options);

/* These commands, for hf_command_line_read(); the options are a struct
 * hf_run_options, which points into argv. */
extern const struct hf_command hf_run_command;
extern const struct hf_command hf_elect_command;
extern const struct hf_command hf_hold_command;

#endif
