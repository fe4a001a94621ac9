/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <string.h>

#include "cli/show.h"
#include "core/error.h"
#include "core/url.h"

/* Long enough for a session to be had, short enough for who looks. */
#define HF_SHOW_WAIT_DEFAULT_MS 15000

enum { OPTION_JSON = 256 };

static const struct option long_options[] = {
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0}};

static enum hf_parsed take_duration(const char *text, uint64_t *ms,
                                    struct hf_error *error)
{
    if (hf_duration_parse(text, ms))
        return HF_PARSED_RUN;
    hf_error_set(error, HF_EINVAL,
                 "-t '%.80s': not a duration; expected one unsigned integer "
                 "and a unit (ms s m h d), for instance -t 30s",
                 text);
    return HF_PARSED_WRONG;
}

static enum hf_parsed take_option(char **argv, int option,
                                  struct hf_show_options *options,
                                  struct hf_error *error)
{
    switch (option) {
    case 'c':
        options->url = optarg;
        return HF_PARSED_RUN;
    case 't':
        return take_duration(optarg, &options->wait_ms, error);
    case OPTION_JSON:
        options->json = true;
        return HF_PARSED_RUN;
    case 'h':
        return HF_PARSED_HELP;
    case ':':
        hf_error_set(error, HF_EINVAL,
                     "%.80s: its value is missing; see 'holdfast show --help'",
                     argv[optind - 1]);
        return HF_PARSED_WRONG;
    default:
        hf_error_set(error, HF_EINVAL,
                     "%.80s: no such option; see 'holdfast show --help'",
                     argv[optind - 1]);
        return HF_PARSED_WRONG;
    }
}

enum hf_parsed hf_show_options_parse(int argc, char **argv,
                                     struct hf_show_options *options,
                                     struct hf_error *error)
{
    enum hf_parsed parsed;
    int option;

    *options = (struct hf_show_options){.wait_ms = HF_SHOW_WAIT_DEFAULT_MS};
    /* ':': errors are told by us.  Options may stand behind NAME, which is
     * all there is. */
    while ((option = getopt_long(argc, argv, ":c:t:h", long_options, NULL)) !=
           -1) {
        parsed = take_option(argv, option, options, error);
        if (parsed != HF_PARSED_RUN)
            return parsed;
    }
    if (argc - optind == 1) {
        options->name = argv[optind];
        return HF_PARSED_RUN;
    }
    if (argc == optind)
        hf_error_set(error, HF_EINVAL,
                     "NAME is missing; expected holdfast show [OPTION...] "
                     "NAME");
    else
        hf_error_set(error, HF_EINVAL,
                     "'%.80s': one NAME at a time; show the others by "
                     "themselves",
                     argv[optind + 1]);
    return HF_PARSED_WRONG;
}
