/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See run_options.h.  Errors are not those of getopt_long(): each says what to
 * write instead.
 */
#include "cli/run_options.h"

#include <assert.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command_line_hint.h"
#include "cli/exit_status.h"
#include "core/error.h"
#include "core/url.h"
#include "host/owner_text.h"

/* Long enough for most commands to clean up, short enough to wait for. */
#define HF_GRACE_DEFAULT_MS 5000

/* '+': options end at the first NAME; ':': getopt_long() prints nothing. */
static const char short_options[] = "+:c:t:nrwp:E:g:T:qvh";

static const struct option long_options[] = {
    {"url", required_argument, NULL, 'c'},
    {"timeout", required_argument, NULL, 't'},
    {"try", no_argument, NULL, 'n'},
    {"read", no_argument, NULL, 'r'},
    {"write", no_argument, NULL, 'w'},
    {"permits", required_argument, NULL, 'p'},
    {"conflict-exit-code", required_argument, NULL, 'E'}, /* as flock(1) */
    {"grace", required_argument, NULL, 'g'},
    {"text", required_argument, NULL, 'T'},
    {"quiet", no_argument, NULL, 'q'},
    {"verbose", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0}};

/* The state of the parser. */
struct run_parse {
    int argc;
    char **argv;
    struct hf_run_options *options;
    struct hf_error *error;
    char written[32]; /* the current option, as the user wrote it */
    bool try_seen;    /* --try was given */
    bool wait_seen;   /* --timeout was given */
    bool text_seen;   /* --text was given */
};

static enum hf_parsed usage_error(struct run_parse *parse, const char *format,
                                  ...) __attribute__((format(printf, 2, 3)));

static enum hf_parsed usage_error(struct run_parse *parse, const char *format,
                                  ...)
{
    char text[HF_ERROR_TEXT_BYTES];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    hf_error_set(parse->error, HF_EINVAL, "%s", text);
    return HF_PARSED_WRONG;
}

/* Only digits: a duration without its unit. */
static bool is_bare_number(const char *text)
{
    return *text && strspn(text, "0123456789") == strlen(text);
}

/* A value that is a duration with its unit. */
static enum hf_parsed take_duration(struct run_parse *parse, const char *text,
                                    uint64_t *ms)
{
    const char *option = parse->written;

    if (hf_duration_parse(text, ms))
        return HF_PARSED_RUN;
    if (is_bare_number(text))
        return usage_error(parse, "%s %.40s: give a unit, for instance %.40ss",
                           option, text, text);
    return usage_error(parse,
                       "%s '%.80s': not a duration; " HF_DURATION_EXPECTED
                       ", for instance %s 1m30s",
                       option, text, option);
}

/* The value of --conflict-exit-code. */
static enum hf_parsed take_exit_status(struct run_parse *parse,
                                       const char *text)
{
    long number;

    number = is_bare_number(text) && strlen(text) <= 3 ? atol(text) : -1;
    if (number < 0 || number > 255)
        return usage_error(
            parse,
            "%s '%.80s': not an exit status; expected a number from "
            "0 to 255",
            parse->written, text);
    parse->options->busy_exit = (int)number;
    return HF_PARSED_RUN;
}

/* -q or -v, not both. */
static enum hf_parsed take_verbosity(struct run_parse *parse,
                                     enum hf_verbosity verbosity)
{
    if (parse->options->verbosity != HF_NORMAL &&
        parse->options->verbosity != verbosity)
        return usage_error(parse, "-q and -v contradict each other: give one");
    parse->options->verbosity = verbosity;
    return HF_PARSED_RUN;
}

/* The kind of lock, given once or in the same way again. */
static enum hf_parsed take_kind(struct run_parse *parse, enum hf_kind kind)
{
    if (parse->options->kind != HF_KIND_MUTEX && parse->options->kind != kind)
        return usage_error(parse,
                           "--read, --write and --permits contradict each "
                           "other: give one");
    parse->options->kind = kind;
    return HF_PARSED_RUN;
}

/* Parse a number at ${text}, and move ${text} behind it. */
static bool take_count(const char **text, uint32_t *count)
{
    size_t digits = strspn(*text, "0123456789");

    if (digits == 0 || digits > 9)
        return false;
    *count = (uint32_t)strtoul(*text, NULL, 10);
    *text += digits;
    return true;
}

/* N/M: N permits of a semaphore that has M. */
static enum hf_parsed take_permits(struct run_parse *parse, const char *text)
{
    struct hf_run_options *options = parse->options;
    const char *rest = text;

    if (!take_count(&rest, &options->permits) || *rest++ != '/' ||
        !take_count(&rest, &options->limit) || *rest != '\0' ||
        options->permits == 0 || options->permits > HF_PERMITS_MAX ||
        options->permits > options->limit)
        return usage_error(
            parse,
            "%s '%.80s': expected N/M, to take N of M, for instance "
            "1/4; N is 1 to %d, and no more than M",
            parse->written, text, HF_PERMITS_MAX);
    return take_kind(parse, HF_KIND_SEMAPHORE);
}

/* The value of --text, which must be fit for a ticket. */
static enum hf_parsed take_text(struct run_parse *parse, const char *text)
{
    struct hf_error error;

    if (hf_owner_text_check(text, &error) != HF_OK)
        return usage_error(parse, "%s: %s", parse->written, error.text);
    snprintf(parse->options->text, sizeof parse->options->text, "%s", text);
    parse->text_seen = true;
    return HF_PARSED_RUN;
}

/* Remember the option as the user wrote it, for error texts: by its ${index}
 * in the table of long options, or if that is -1 by its letter. */
static void remember_option(struct run_parse *parse, int option, int index)
{
    if (index >= 0)
        snprintf(parse->written, sizeof parse->written, "--%s",
                 long_options[index].name);
    else
        snprintf(parse->written, sizeof parse->written, "-%c", option);
}

/* getopt_long() has refused a word, which is the last one it read.  If that is
 * a short option it is in optopt; so is a long option that was given a value
 * although it takes none. */
static enum hf_parsed refuse_option(struct run_parse *parse, const char *why)
{
    const char *last = parse->argv[optind - 1];
    bool is_long = strncmp(last, "--", 2) == 0;

    remember_option(parse, optopt, -1);
    if (is_long && optopt != 0 && strchr(last, '=') != NULL)
        why = "it takes no value";
    return usage_error(parse, "%.80s: %s; see 'holdfast run --help'",
                       is_long || optopt == 0 ? last : parse->written, why);
}

/* One option that getopt_long() has returned. */
static enum hf_parsed take_option(struct run_parse *parse, int option)
{
    struct hf_run_options *options = parse->options;

    switch (option) {
    case 'c':
        options->url = optarg;
        return HF_PARSED_RUN;
    case 't':
        parse->wait_seen = true;
        return take_duration(parse, optarg, &options->wait_ms);
    case 'n':
        parse->try_seen = true;
        return HF_PARSED_RUN;
    case 'g':
        return take_duration(parse, optarg, &options->grace_ms);
    case 'r':
        return take_kind(parse, HF_KIND_READ);
    case 'w':
        return take_kind(parse, HF_KIND_WRITE);
    case 'p':
        return take_permits(parse, optarg);
    case 'E':
        return take_exit_status(parse, optarg);
    case 'T':
        return take_text(parse, optarg);
    case 'q':
        return take_verbosity(parse, HF_QUIET);
    case 'v':
        return take_verbosity(parse, HF_VERBOSE);
    case 'h':
        return HF_PARSED_HELP;
    case ':':
        return refuse_option(parse, "its value is missing");
    default:
        return refuse_option(parse, "no such option");
    }
}

/* What to call the locks in messages. */
static void make_label(struct hf_run_options *options)
{
    if (options->name_count == 1)
        snprintf(options->label, sizeof options->label, "%.200s",
                 options->names[0]);
    else
        snprintf(options->label, sizeof options->label, "%.200s and %d more",
                 options->names[0], options->name_count - 1);
}

/* The number of names before "--"; all ${left} operands if there is no "--". */
static int count_names(char **operands, int left)
{
    int count = 0;

    while (count < left && strcmp(operands[count], "--") != 0)
        count++;
    return count;
}

/* Parse what follows the options: NAME... -- COMMAND [ARG...].  ${dashes}: a
 * "--" ended the options, as before a NAME that begins with '-'. */
static enum hf_parsed take_operands(struct run_parse *parse, bool dashes)
{
    struct hf_command_line line = {parse->argc, parse->argv, optind};
    char better[HF_ERROR_TEXT_BYTES - 100];
    int left = parse->argc - optind;
    char **operands = parse->argv + optind;
    int names = count_names(operands, left);

    if (left == 0)
        return usage_error(parse,
                           "NAME is missing; expected "
                           "holdfast run [OPTION...] NAME -- COMMAND [ARG...]");
    if (left == 1 && !dashes)
        return usage_error(parse,
                           "COMMAND is missing; expected "
                           "holdfast run %.200s -- COMMAND [ARG...]",
                           operands[0]);
    if (dashes && (names == left || names == 0))
        return usage_error(parse,
                           "NAME is missing before '--'; expected "
                           "holdfast run NAME -- %.200s",
                           operands[0]);
    if (names == left || (!dashes && hf_command_line_has_late_options(&line))) {
        hf_command_line_suggest(&line, better, sizeof better);
        return usage_error(parse, "%s; write: %s",
                           hf_command_line_has_late_options(&line)
                               ? "options stand before NAME"
                               : "'--' is missing between NAME and COMMAND",
                           better);
    }
    if (left == names + 1)
        return usage_error(parse,
                           "COMMAND is missing after '--'; expected "
                           "holdfast run %.200s -- COMMAND [ARG...]",
                           operands[0]);
    if (names > HF_LOCKS_MAX)
        return usage_error(parse, "%d names before '--'; expected at most %d",
                           names, HF_LOCKS_MAX);
    parse->options->names = operands;
    parse->options->name_count = names;
    make_label(parse->options);
    parse->options->command = operands + names + 1;
    return HF_PARSED_RUN;
}

/* getopt_long(), which also remembers what the option is called. */
static int next_option(struct run_parse *parse)
{
    int index = -1;
    int option = getopt_long(parse->argc, parse->argv, short_options,
                             long_options, &index);

    remember_option(parse, option, index);
    return option;
}

enum hf_parsed hf_run_options_parse(int argc, char **argv,
                                    struct hf_run_options *options,
                                    struct hf_error *error)
{
    struct run_parse parse = {
        .argc = argc, .argv = argv, .options = options, .error = error};
    enum hf_parsed parsed;
    int option;

    *options = (struct hf_run_options){.permits = 1,
                                       .limit = 1,
                                       .wait_ms = HF_FOREVER,
                                       .grace_ms = HF_GRACE_DEFAULT_MS,
                                       .busy_exit = HF_EXIT_BUSY,
                                       .verbosity = HF_NORMAL};
    while ((option = next_option(&parse)) != -1) {
        parsed = take_option(&parse, option);
        if (parsed != HF_PARSED_RUN)
            return parsed;
    }
    if (parse.try_seen && parse.wait_seen)
        return usage_error(&parse,
                           "-t and --try contradict each other: give one "
                           "(--try is -t 0s)");
    if (parse.try_seen)
        options->wait_ms = 0;
    parsed = take_operands(&parse, strcmp(argv[optind - 1], "--") == 0);
    if (parsed == HF_PARSED_RUN && !parse.text_seen)
        hf_command_summary(options->command, options->text);
    return parsed;
}
