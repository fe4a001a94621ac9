/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast verify: parses the command line.  report.c does the rest. */
#include "command/command_line.h"
#include "torture/commands.h"
#include "torture/report.h"

/* How much later than its safe-until a client may be notified of a loss,
 * because a machine may be busy. */
#define LATE_DEFAULT_MS 500

#define FIELD(field) HF_OPTION_FIELD(struct hf_report_opts, field)

static const struct hf_option_row rows[] = {
    HF_OPTION('A', "late", "DURATION", hf_option_duration, FIELD(late_ms),
              .help = "how late a loss may be notified; else 500ms"),
    HF_OPTION('I', "svg", "FILE", hf_option_text, FIELD(svg),
              .help = "draw the first violation, or the beginning"),
    HF_OPTION('j', "json", NULL, hf_option_set, FIELD(json), .set = true,
              .help = "write JSON"),
};

static const struct hf_command verify_command = {
    .name = "verify",
    .synopsis = "[OPTION...] HISTORY",
    .about =
        "Check what the clients of a lock did and observed: that no two held\n"
        "it together, that tokens rose, that nobody was overtaken, that "
        "losses\n"
        "were notified in time.  '-' for HISTORY is standard input.\n",
    .notes =
        "The exit status is 0 if all of it held and 1 if not; 65 if the\n"
        "history makes no sense, or has no grant and so shows nothing.  See\n"
        "holdfast-verify(1), which has the format.\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .operands = {HF_OPERAND("HISTORY", struct hf_report_opts, name)},
};

int hf_verify_main(int argc, char **argv)
{
    struct hf_report_opts opts = {.late_ms = LATE_DEFAULT_MS};
    int exit_code;

    if (!hf_command_line_read(&verify_command, argc, argv, &opts, &exit_code))
        return exit_code;
    return hf_report(&opts);
}
