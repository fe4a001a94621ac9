/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of `holdfast elect`: see run_options.h.  They are those of run
 * that a command without an end can use, and what to do when it ends.
 */
#include "cli/run_options.h"

/* In the order of enum hf_restart_when. */
static const char *const restarts[] = {"always", "on-failure", "never", NULL};

static const char one_verbosity[] = "-q and -v contradict each other: give one";

#define FIELD(field) HF_OPTION_FIELD(struct hf_run_options, field)

static const struct hf_option_row rows[] = {
    HF_URL_OPTION(FIELD(url)),
    HF_OPTION('r', "restart", "WHEN", hf_option_choice, FIELD(restart.when),
              .choices = restarts,
              .help = "when to start COMMAND again after its end; else always"),
    /* As StartLimitBurst= of systemd.unit(5). */
    HF_OPTION('b', "start-limit-burst", "N", hf_option_number,
              FIELD(restart.burst), .max = 1000000,
              .help = "after N failures in a row, each within 10s, let another "
                      "machine lead; else 5; 0: go on here"),
    HF_OPTION('R', "on-revoke", "WHAT", hf_option_choice, FIELD(on_revoke),
              .choices = hf_on_revoke_actions,
              .help = "when another program asks the leader to resign; else "
                      "ignore"),
    HF_OPTION('g', "grace", "DURATION", hf_run_option_duration, FIELD(grace_ms),
              .help = "from SIGTERM to SIGKILL for what COMMAND leaves behind; "
                      "else 5s"),
    HF_OPTION('T', "text", "TEXT", hf_run_option_text, FIELD(text),
              .help = "what others are shown; else the command's name"),
    HF_OPTION('q', "quiet", NULL, hf_option_set, FIELD(verbosity),
              .set = HF_QUIET, .one_of = one_verbosity,
              .help = "say nothing but errors"),
    HF_OPTION('v', "verbose", NULL, hf_option_set, FIELD(verbosity),
              .set = HF_VERBOSE, .one_of = one_verbosity, .help = "say more"),
};

const struct hf_command hf_elect_command = {
    .name = "elect",
    .synopsis = "[OPTION...] NAME -- COMMAND [ARG...]",
    .about =
        "Run COMMAND on one of the machines that do this for NAME, the "
        "leader.\n"
        "The others wait, and one of them goes on when the leader cannot.\n",
    .notes =
        "It goes on until SIGTERM, SIGINT or SIGQUIT, which COMMAND gets.  A\n"
        "COMMAND that ends is started again after 100ms, and later after each\n"
        "end within 10s.  It is given HOLDFAST_URL, HOLDFAST_NAME and\n"
        "HOLDFAST_TOKEN.  The exit status is that of the last COMMAND, or one\n"
        "of holdfast itself as of 'holdfast run'.  See holdfast-elect(1).\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .options_first = true,
    .read_operands = hf_run_read_operands,
};
