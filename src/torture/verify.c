/* SPDX-License-Identifier: Apache-2.0 */
/* See verify.h.  Parses the command line; report.c does the rest. */
#include "torture/verify.h"

#include <getopt.h>

#include "cli/exit_status.h"
#include "cli/option_value.h"
#include "cli/ui.h"
#include "torture/report.h"

/* How much later than safe-until a client may be notified of a loss, for a busy
 * machine. */
#define LATE_DEFAULT_MS 500

static const char usage[] =
    "usage: holdfast verify [OPTION...] HISTORY\n"
    "\n"
    "Check what the clients of a lock did and observed: that no two held it\n"
    "together, that tokens rose, that nobody was overtaken, that losses were\n"
    "notified in time.  '-' for HISTORY is standard input.\n"
    "\n"
    "  -l, --late DURATION  how late a loss may be notified; else 500ms\n"
    "  -g, --svg FILE       draw the first violation, or the beginning\n"
    "  -j, --json           write JSON\n"
    "  -h, --help           this text\n"
    "\n"
    "The exit status is 0 if all of it held and 1 if not; 65 if the history\n"
    "makes no sense, or has no grant and so shows nothing.  See\n"
    "holdfast-verify(1), which has the format.\n";

static const struct option long_options[] = {
    {"late", required_argument, NULL, 'l'},
    {"svg", required_argument, NULL, 'g'},
    {"json", no_argument, NULL, 'j'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0}};

/* One option that getopt_long() has returned. */
static hf_status take_option(char **argv, int option,
                             struct hf_report_opts *opts,
                             struct hf_error *error)
{
    switch (option) {
    case 'l':
        return hf_option_duration(argv, &opts->late_ms, error);
    case 'g':
        opts->svg = optarg;
        return HF_OK;
    case 'j':
        opts->json = true;
        return HF_OK;
    default:
        return hf_option_refuse("verify", argv, option, error);
    }
}

int hf_verify_main(int argc, char **argv)
{
    struct hf_report_opts opts = {.late_ms = LATE_DEFAULT_MS};
    struct hf_error error;
    int option;

    while ((option = getopt_long(argc, argv, ":l:g:jh", long_options, NULL)) !=
           -1) {
        if (option == 'h')
            return fputs(usage, stdout) < 0 || fflush(stdout) != 0
                       ? HF_EXIT_DIRECTORY
                       : 0;
        if (take_option(argv, option, &opts, &error) != HF_OK) {
            hf_ui_print_error(&error);
            return HF_EXIT_USAGE;
        }
    }
    if (argc - optind != 1) {
        hf_ui_print(argc == optind
                        ? "HISTORY is missing; expected holdfast verify "
                          "[OPTION...] HISTORY"
                        : "one HISTORY at a time; verify the others by "
                          "themselves");
        return HF_EXIT_USAGE;
    }
    opts.name = argv[optind];
    return hf_report(&opts);
}
