/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `holdfast show`. */
#include <getopt.h>

#include "cli/option_value.h"
#include "cli/show.h"
#include "core/error.h"

/* Long enough to get a session, short enough for a person. */
#define HF_SHOW_WAIT_DEFAULT_MS 15000

static const struct option long_options[] = {
    {"url", required_argument, NULL, 'c'},
    {"timeout", required_argument, NULL, 't'},
    {"held", no_argument, NULL, 'H'},
    {"quiet", no_argument, NULL, 'q'},
    {"json", no_argument, NULL, 'j'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0}};

/* One option that getopt_long() has returned. */
static enum hf_parsed take_option(char **argv, int option,
                                  struct hf_show_options *options,
                                  struct hf_error *error)
{
    switch (option) {
    case 'c':
        options->url = optarg;
        return HF_PARSED_RUN;
    case 't':
        return hf_option_duration(argv, &options->wait_ms, error) == HF_OK
                   ? HF_PARSED_RUN
                   : HF_PARSED_WRONG;
    case 'H':
        options->held = true;
        return HF_PARSED_RUN;
    case 'q':
        options->quiet = true;
        return HF_PARSED_RUN;
    case 'j':
        options->json = true;
        return HF_PARSED_RUN;
    case 'h':
        return HF_PARSED_HELP;
    default:
        (void)hf_option_refuse("show", argv, option, error);
        return HF_PARSED_WRONG;
    }
}

/* Do the options go together? */
static enum hf_parsed check(const struct hf_show_options *options,
                            struct hf_error *error)
{
    if (!options->quiet || (options->held && !options->json))
        return HF_PARSED_RUN;
    hf_error_set(error, HF_EINVAL,
                 "-q leaves nothing to show; expected it with --held, whose "
                 "exit status answers, and without --json");
    return HF_PARSED_WRONG;
}

enum hf_parsed hf_show_options_parse(int argc, char **argv,
                                     struct hf_show_options *options,
                                     struct hf_error *error)
{
    enum hf_parsed parsed;
    int option;

    *options = (struct hf_show_options){.wait_ms = HF_SHOW_WAIT_DEFAULT_MS};
    /* ':': getopt_long() prints nothing.  Options may also follow NAME,
     * because nothing else can. */
    while ((option = getopt_long(argc, argv, ":c:t:Hqjh", long_options,
                                 NULL)) != -1) {
        parsed = take_option(argv, option, options, error);
        if (parsed != HF_PARSED_RUN)
            return parsed;
    }
    if (argc - optind == 1) {
        options->name = argv[optind];
        return check(options, error);
    }
    if (argc == optind)
        hf_error_set(error, HF_EINVAL,
                     "NAME is missing; expected holdfast show [OPTION...] "
                     "NAME");
    else
        hf_error_set(error, HF_EINVAL,
                     "'%.80s': one NAME at a time; show each by itself",
                     argv[optind + 1]);
    return HF_PARSED_WRONG;
}
