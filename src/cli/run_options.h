/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `holdfast run`: its table of options, and its operands.
 */
#ifndef HF_CLI_RUN_OPTIONS_H
#define HF_CLI_RUN_OPTIONS_H

#include <stdint.h>

#include <holdfast/holdfast.h>

#include "cli/command_line.h"
#include "cli/command_summary.h"
#include "cli/exit_status.h"

/* Long enough for most commands to clean up, short enough to wait for. */
#define HF_GRACE_DEFAULT_MS 5000

enum hf_verbosity { HF_QUIET, HF_NORMAL, HF_VERBOSE };

/* What to do when another program asks for the lock to be released. */
enum hf_on_revoke_action {
    HF_ON_REVOKE_IGNORE,
    HF_ON_REVOKE_TERM, /* send the command SIGTERM, and wait for its end */
    HF_ON_REVOKE_HUP,  /* the same with SIGHUP */
    HF_ON_REVOKE_EXIT  /* end the command's tree, as after a loss */
};

struct hf_run_options {
    const char *url;   /* NULL: HOLDFAST_URL, else the file engine */
    uint64_t wait_ms;  /* HF_FOREVER: no limit; 0: try */
    uint64_t grace_ms; /* from SIGTERM to SIGKILL */
    enum hf_kind kind; /* of all locks */
    uint32_t permits;  /* of a semaphore: take .permits of .limit */
    uint32_t limit;
    enum hf_on_revoke_action on_revoke;
    int busy_exit; /* exit status when the lock was not obtained */
    enum hf_verbosity verbosity;
    const char *text; /* what others see of the run: --text, else .summary;
                         "": nothing */
    char summary[HF_COMMAND_SUMMARY_BYTES]; /* of the command */
    char **names; /* of the locks; all are obtained or none */
    int name_count;
    char label[240]; /* what the locks are called in messages */
    char **command;  /* ends with NULL, never empty */
};

/* The defaults, which hf_run_command reads a command line into. */
#define HF_RUN_OPTIONS_INIT                                                    \
    {                                                                          \
        .wait_ms = HF_FOREVER, .grace_ms = HF_GRACE_DEFAULT_MS, .permits = 1,  \
        .limit = 1, .busy_exit = HF_EXIT_BUSY, .verbosity = HF_NORMAL          \
    }

/* `holdfast run`, for hf_command_line_read(); its options are a struct
 * hf_run_options, which points into argv. */
extern const struct hf_command hf_run_command;

#endif
