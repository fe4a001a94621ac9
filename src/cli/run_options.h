/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `holdfast run`. */
#ifndef HF_CLI_RUN_OPTIONS_H
#define HF_CLI_RUN_OPTIONS_H

#include <stdint.h>

#include <holdfast/holdfast.h>

#include "cli/command_summary.h"

enum hf_verbosity { HF_QUIET, HF_NORMAL, HF_VERBOSE };

struct hf_run_options {
    const char *url;   /* NULL: HOLDFAST_URL, else the file engine */
    uint64_t wait_ms;  /* HF_FOREVER: no limit; 0: try */
    uint64_t grace_ms; /* from SIGTERM to SIGKILL */
    enum hf_kind kind; /* of all locks */
    uint32_t permits;  /* of a semaphore: take .permits of .limit */
    uint32_t limit;
    int busy_exit; /* exit status when the lock was not obtained */
    enum hf_verbosity verbosity;
    /* What others see of the run: --text, else what the command is; "":
     * nothing. */
    char text[HF_COMMAND_SUMMARY_BYTES];
    char **names; /* of the locks; all are obtained or none */
    int name_count;
    char label[240]; /* what the locks are called in messages */
    char **command;  /* ends with NULL, never empty */
};

/* What a command line asks for: the command itself, its help, or it is wrong.
 */
enum hf_parsed { HF_PARSED_RUN, HF_PARSED_HELP, HF_PARSED_WRONG };

/* Parse ${argv}, with argv[0] "run", into ${options}, which points into
 * ${argv}.  HF_PARSED_WRONG: ${error} says what is wrong, what was expected
 * and what to do. */
enum hf_parsed hf_run_options_parse(int argc, char **argv,
                                    struct hf_run_options *options,
                                    struct hf_error *error);

#endif
