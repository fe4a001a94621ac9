/* SPDX-License-Identifier: Apache-2.0 */
/* See option_value.h. */
#include "cli/option_value.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/url.h"

struct option_text {
    char text[32];
};

/* The option whose value is optarg, as the user wrote it: -t for -t 5s and
 * -t5s, --timeout for --timeout 5s and --timeout=5s. */
static struct option_text option_text(char **argv)
{
    const char *word = argv[optind - 1];
    struct option_text option;

    if (optarg == word)
        word = argv[optind - 2];
    if (strncmp(word, "--", 2) == 0)
        (void)snprintf(option.text, sizeof option.text, "%.*s",
                       (int)strcspn(word, "="), word);
    else
        (void)snprintf(option.text, sizeof option.text, "-%c",
                       optarg == argv[optind - 1] ? word[strlen(word) - 1]
                                                  : optarg[-1]);
    return option;
}

hf_status hf_option_duration(char **argv, uint64_t *ms, struct hf_error *error)
{
    struct option_text option = option_text(argv);

    if (hf_duration_parse(optarg, ms))
        return HF_OK;
    return hf_error_set(error, HF_EINVAL,
                        "%s '%.80s': not a duration; " HF_DURATION_EXPECTED
                        ", for instance %s 1m30s",
                        option.text, optarg, option.text);
}

hf_status hf_option_number(char **argv, uint64_t least, uint64_t most,
                           uint64_t *number, struct hf_error *error)
{
    char *end;

    errno = 0;
    *number = strtoull(optarg, &end, 10);
    if (*optarg >= '0' && *optarg <= '9' && *end == '\0' && errno == 0 &&
        *number >= least && *number <= most)
        return HF_OK;
    return hf_error_set(error, HF_EINVAL,
                        "%s '%.80s': expected a number from %" PRIu64
                        " to %" PRIu64,
                        option_text(argv).text, optarg, least, most);
}

hf_status hf_option_refuse(const char *command, char **argv, int answer,
                           struct hf_error *error)
{
    const char *word = argv[optind - 1];

    if (answer == ':')
        return hf_error_set(error, HF_EINVAL,
                            "%.80s: its value is missing; see 'holdfast %s "
                            "--help'",
                            word, command);
    /* A known long option with a value that it does not take. */
    if (strncmp(word, "--", 2) == 0 && optopt != 0)
        return hf_error_set(error, HF_EINVAL,
                            "%.80s: this option takes no value; write %.*s",
                            word, (int)strcspn(word, "="), word);
    /* A short option, maybe one of several in a word. */
    if (strncmp(word, "--", 2) != 0 && optopt != 0)
        return hf_error_set(error, HF_EINVAL,
                            "-%c: no such option; see 'holdfast %s --help'",
                            optopt, command);
    return hf_error_set(error, HF_EINVAL,
                        "%.80s: no such option; see 'holdfast %s --help'", word,
                        command);
}
