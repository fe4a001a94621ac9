/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verify.h"

#include <getopt.h>

#include "cli/exit_status.h"
#include "cli/report.h"
#include "cli/say.h"
#include "core/url.h"

/* What a busy machine may add to the time at which a loss is told. */
#define LATE_DEFAULT_MS 500

static const char usage[] =
    "usage: holdfast verify [OPTION...] HISTORY\n"
    "\n"
    "Judge what contenders of a lock did and were told: that no two held it\n"
    "together, that tokens rose, that nobody was overtaken, that losses were\n"
    "told in time.  '-' for HISTORY is standard input.\n"
    "\n"
    "  --late DURATION   a loss may be told so late; else 500ms\n"
    "  --svg FILE        draw the first violation, or the beginning\n"
    "  --json            write JSON\n"
    "  -h, --help        this text\n"
    "\n"
    "The exit status is 0 if all of it held and 1 if not; 65 if the history\n"
    "makes no sense, or has no grant and so shows nothing.  See\n"
    "holdfast-verify(1), which has the format.\n";

enum { OPTION_LATE = 256, OPTION_SVG, OPTION_JSON };

static const struct option long_options[] = {
    {"late", required_argument, NULL, OPTION_LATE},
    {"svg", required_argument, NULL, OPTION_SVG},
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0}};

/* False after having said why. */
static bool take_option(char **argv, int option, struct hf_report_opts *opts)
{
    switch (option) {
    case OPTION_LATE:
        if (hf_duration_parse(optarg, &opts->late_ms))
            return true;
        hf_say("--late '%.80s': not a duration; expected one unsigned integer "
               "and a unit (ms s m h d), for instance --late 1s",
               optarg);
        return false;
    case OPTION_SVG:
        opts->svg = optarg;
        return true;
    case OPTION_JSON:
        opts->json = true;
        return true;
    case ':':
        hf_say("%.80s: its value is missing; see 'holdfast verify --help'",
               argv[optind - 1]);
        return false;
    default:
        hf_say("%.80s: no such option; see 'holdfast verify --help'",
               argv[optind - 1]);
        return false;
    }
}

int hf_verify_main(int argc, char **argv)
{
    struct hf_report_opts opts = {.late_ms = LATE_DEFAULT_MS};
    int option;

    while ((option = getopt_long(argc, argv, ":h", long_options, NULL)) != -1) {
        if (option == 'h')
            return fputs(usage, stdout) < 0 || fflush(stdout) != 0
                       ? HF_EXIT_DIRECTORY
                       : 0;
        if (!take_option(argv, option, &opts))
            return HF_EXIT_USAGE;
    }
    if (argc - optind != 1) {
        hf_say(argc == optind ? "HISTORY is missing; expected holdfast verify "
                                "[OPTION...] HISTORY"
                              : "one HISTORY at a time; verify the others by "
                                "themselves");
        return HF_EXIT_USAGE;
    }
    opts.name = argv[optind];
    return hf_report(&opts);
}
