/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See run_options.h.  A "--" is required between NAME and COMMAND, because a
 * guess might run the wrong command.  The error text shows a line without it as
 * it should have been written (suggestion.h).
 */
#include "cli/run_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/url.h"
#include "cli/suggestion.h"
#include "client/owner_text.h"
#include "command/ui.h"

/* -------------------------------------------------------------- options -- */

/* A duration.  Where only the unit is missing, the text says so. */
static hf_status read_duration(const struct hf_option_row *row,
                               const char *name, const char *text, void *field,
                               struct hf_error *error)
{
    if (*text != '\0' && text[strspn(text, "0123456789")] == '\0')
        return hf_error_set(error, HF_EINVAL,
                            "%s %.40s: give a unit, for instance %.40ss", name,
                            text, text);
    return hf_option_duration(row, name, text, field, error);
}

/* The period of --once-per: a duration with its unit, or "day".  A number alone
 * is refused, because hardly anybody means seconds here. */
static hf_status read_period(const struct hf_option_row *row, const char *name,
                             const char *text, void *field,
                             struct hf_error *error)
{
    uint64_t *period_ms = field;
    hf_status status = HF_OK;

    (void)row;
    if (strcmp(text, "day") == 0)
        *period_ms = HF_ONCE_PER_DAY;
    else if (!hf_duration_parse(text, field))
        status = hf_error_set(error, HF_EINVAL,
                              "%s '%.40s': not a period; expected a number and "
                              "a unit (d h m s ms), for instance 20h, or day",
                              name, text);
    if (status == HF_OK &&
        (*period_ms == 0 || *period_ms > HF_ONCE_PER_MAX_MS) &&
        *period_ms != HF_ONCE_PER_DAY)
        status = hf_error_set(error, HF_EINVAL,
                              "%s %.40s: expected a period, for instance 20h, "
                              "or day",
                              name, text);
    return status;
}

/* The time to wait.  A user who guesses the letter may mean a write lock by -w,
 * so the error text names -x. */
static hf_status read_wait(const struct hf_option_row *row, const char *name,
                           const char *text, void *field,
                           struct hf_error *error)
{
    hf_status status = hf_option_wait(row, name, text, field, error);

    if (status == HF_OK || name[1] == '-' || strspn(text, "0123456789.") > 0)
        return status;
    return hf_error_set(error, status,
                        "%s '%.80s': not a time to wait; expected seconds or a "
                        "duration, for instance %s 30 or %s 1m30s; a write "
                        "lock is -x",
                        name, text, name, name);
}

/* Parse a number at ${text}, and move ${text} behind it.  False if there is
 * none, or one of more than 9 digits. */
static bool take_count(const char **text, uint32_t *count)
{
    size_t digits = strspn(*text, "0123456789");

    if (digits == 0 || digits > 9)
        return false;
    *count = (uint32_t)strtoul(*text, NULL, 10);
    *text += digits;
    return true;
}

/* N/M: take N permits of a semaphore that has M.  ${field} is the struct of all
 * options. */
static hf_status read_permits(const struct hf_option_row *row, const char *name,
                              const char *text, void *field,
                              struct hf_error *error)
{
    struct hf_run_options *options = field;
    const char *rest = text;

    (void)row;
    if (!take_count(&rest, &options->permits) || *rest++ != '/' ||
        !take_count(&rest, &options->limit) || *rest != '\0' ||
        options->permits == 0 || options->permits > HF_PERMITS_MAX ||
        options->permits > options->limit)
        return hf_error_set(
            error, HF_EINVAL,
            "%s '%.80s': expected N/M, to take N of M, for instance "
            "1/4; N is 1 to %d, and no more than M",
            name, text, HF_PERMITS_MAX);
    options->kind = HF_KIND_SEMAPHORE;
    return HF_OK;
}

/* The value of --text, which must be fit for a ticket. */
static hf_status read_text(const struct hf_option_row *row, const char *name,
                           const char *text, void *field,
                           struct hf_error *error)
{
    struct hf_error unfit;

    if (hf_owner_text_check(text, &unfit) != HF_OK)
        return hf_error_set(error, HF_EINVAL, "%s: %s", name, unfit.text);
    return hf_option_text(row, name, text, field, error);
}

/* A script for sh -c. */
static hf_status read_hook(const struct hf_option_row *row, const char *name,
                           const char *text, void *field,
                           struct hf_error *error)
{
    if (text[strspn(text, " \t\n")] == '\0')
        return hf_error_set(error, HF_EINVAL,
                            "%s '': not a command; expected one as sh -c has "
                            "it, one word of this line: %s 'CMD ARG'",
                            name, name);
    return hf_option_text(row, name, text, field, error);
}

static const char one_wait[] =
    "-w and --try contradict each other: give one (--try is -w 0)";
static const char one_kind[] =
    "--read, --write and --permits contradict each other: give one";
static const char one_verbosity[] = "-q and -v contradict each other: give one";

static const char *const on_revoke_actions[] = {"ignore", "TERM", "HUP", "exit",
                                                NULL};

#define FIELD(field) HF_OPTION_FIELD(struct hf_run_options, field)

static const struct hf_option_row run_rows[] = {
    HF_URL_OPTION(FIELD(url)),
    HF_OPTION('w', "timeout", "DURATION", read_wait, FIELD(wait_ms),
              .one_of = one_wait,
              .help = "wait this long at most, in seconds if there is no "
                      "unit; else without a limit"),
    HF_OPTION('n', "try", NULL, hf_option_set, FIELD(wait_ms), .set = 0,
              .one_of = one_wait, .help = "do not wait: the same as -w 0"),
    HF_OPTION('s', "read", NULL, hf_option_set, FIELD(kind),
              .set = HF_KIND_READ, .one_of = one_kind,
              .help = "share NAME with other readers"),
    HF_OPTION('x', "write", NULL, hf_option_set, FIELD(kind), .also = 'e',
              .set = HF_KIND_WRITE, .one_of = one_kind,
              .help = "have it alone, in the queue of the readers"),
    HF_OPTION('p', "permits", "N/M", read_permits, .one_of = one_kind,
              .help = "take N of the M permits of the semaphore NAME"),
    /* As flock(1). */
    HF_OPTION('E', "conflict-exit-code", "N", hf_option_number,
              FIELD(busy_exit), .max = 255,
              .help = "exit with N, not 75, if the lock is not obtained"),
    HF_OPTION('D', "detect-deadlock", NULL, hf_option_set,
              FIELD(detect_deadlock), .set = true,
              .help = "inside another run: end with 80 if this wait is part of "
                      "a deadlock"),
    HF_OPTION('g', "grace", "DURATION", read_duration, FIELD(grace_ms),
              .help = "from SIGTERM to SIGKILL for what COMMAND leaves behind; "
                      "else 5s"),
    HF_OPTION('k', "at-least", "DURATION", read_duration, FIELD(at_least_ms),
              .help = "keep the lock this long, from the grant on, though "
                      "COMMAND was quicker"),
    HF_OPTION(0, "once-per", "PERIOD", read_period, FIELD(once_per_ms),
              .help = "not if COMMAND has succeeded within PERIOD, a duration "
                      "or 'day': exit with 0 then"),
    HF_OPTION('T', "text", "TEXT", read_text, FIELD(text),
              .help = "what others are shown; else the command's name"),
    HF_OPTION('R', "on-revoke", "WHAT", hf_option_choice, FIELD(on_revoke),
              .choices = on_revoke_actions,
              .help = "when another program asks for the lock; else ignore"),
    HF_OPTION('q', "quiet", NULL, hf_option_set, FIELD(verbosity),
              .set = HF_QUIET, .one_of = one_verbosity,
              .help = "say nothing but errors"),
    HF_OPTION('v', "verbose", NULL, hf_option_set, FIELD(verbosity),
              .set = HF_VERBOSE, .one_of = one_verbosity, .help = "say more"),
};

/* Those of run that are of use without a command. */
static const char *const hold_on_revoke_actions[] = {"ignore", "exit", NULL};

static const struct hf_option_row hold_rows[] = {
    HF_URL_OPTION(FIELD(url)),
    HF_OPTION('w', "timeout", "DURATION", read_wait, FIELD(wait_ms),
              .one_of = one_wait,
              .help = "wait this long at most, in seconds if there is no "
                      "unit; else without a limit"),
    HF_OPTION('n', "try", NULL, hf_option_set, FIELD(wait_ms), .set = 0,
              .one_of = one_wait, .help = "do not wait: the same as -w 0"),
    HF_OPTION('s', "read", NULL, hf_option_set, FIELD(kind),
              .set = HF_KIND_READ, .one_of = one_kind,
              .help = "share NAME with other readers"),
    HF_OPTION('x', "write", NULL, hf_option_set, FIELD(kind), .also = 'e',
              .set = HF_KIND_WRITE, .one_of = one_kind,
              .help = "have it alone, in the queue of the readers"),
    HF_OPTION('p', "permits", "N/M", read_permits, .one_of = one_kind,
              .help = "take N of the M permits of the semaphore NAME"),
    HF_OPTION('E', "conflict-exit-code", "N", hf_option_number,
              FIELD(busy_exit), .max = 255,
              .help = "exit with N, not 75, if the lock is not obtained"),
    HF_OPTION('T', "text", "TEXT", read_text, FIELD(text),
              .help = "what others are shown; else 'holdfast hold'"),
    HF_OPTION('R', "on-revoke", "WHAT", hf_option_choice, FIELD(on_revoke),
              .choices = hold_on_revoke_actions,
              .help = "when another program asks for the lock; else ignore"),
    HF_OPTION('U', "until-signal", NULL, hf_option_set, FIELD(until_signal),
              .set = true,
              .help = "hold until a signal: do not read standard input"),
    HF_OPTION('q', "quiet", NULL, hf_option_set, FIELD(verbosity),
              .set = HF_QUIET, .one_of = one_verbosity,
              .help = "say nothing but errors"),
    HF_OPTION('v', "verbose", NULL, hf_option_set, FIELD(verbosity),
              .set = HF_VERBOSE, .one_of = one_verbosity, .help = "say more"),
};

/* In the order of enum hf_restart_when. */
static const char *const restarts[] = {"always", "on-failure", "never", NULL};

/* The options of run that elect has too, and what to do when the command
 * ends. */
static const struct hf_option_row elect_rows[] = {
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
              .choices = on_revoke_actions,
              .help = "when another program asks the leader to resign; else "
                      "ignore"),
    HF_OPTION('g', "grace", "DURATION", read_duration, FIELD(grace_ms),
              .help = "from SIGTERM to SIGKILL for what COMMAND leaves behind; "
                      "else 5s"),
    HF_OPTION('T', "text", "TEXT", read_text, FIELD(text),
              .help = "what others are shown; else the command's name"),
    HF_OPTION(0, "on-lead", "CMD", read_hook, FIELD(on_lead),
              .help = "run CMD by 'sh -c' before COMMAND, once for each "
                      "leadership; resign if it fails"),
    HF_OPTION(0, "on-resign", "CMD", read_hook, FIELD(on_resign),
              .help = "run CMD by 'sh -c' at each end of leading, after "
                      "COMMAND"),
    HF_OPTION(0, "resign-timeout", "DURATION", read_duration,
              FIELD(resign_timeout_ms),
              .help = "kill what --on-resign runs after this time; else 5s"),
    HF_OPTION('q', "quiet", NULL, hf_option_set, FIELD(verbosity),
              .set = HF_QUIET, .one_of = one_verbosity,
              .help = "say nothing but errors"),
    HF_OPTION('v', "verbose", NULL, hf_option_set, FIELD(verbosity),
              .set = HF_VERBOSE, .one_of = one_verbosity, .help = "say more"),
};

bool hf_run_shows_wait(const struct hf_run_options *options)
{
    return !options->elect && hf_ui_shows_wait(options->verbosity);
}

/* ------------------------------------------------------------- operands -- */

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

/* --resign-timeout, which has no default before. */
static hf_status check_resign_timeout(struct hf_run_options *options,
                                      struct hf_error *error)
{
    bool given = options->resign_timeout_ms != HF_FOREVER;

    if (given && options->on_resign == NULL)
        return hf_error_set(error, HF_EINVAL,
                            "--resign-timeout is for --on-resign; expected "
                            "that, too");
    if (options->resign_timeout_ms == 0)
        return hf_error_set(error, HF_EINVAL,
                            "--resign-timeout 0s: --on-resign could do "
                            "nothing; expected a time, for instance 5s");
    if (!given)
        options->resign_timeout_ms = HF_RESIGN_TIMEOUT_DEFAULT_MS;
    return HF_OK;
}

/* What others see of the run, unless --text says it. */
static void make_text(struct hf_run_options *options)
{
    if (options->text != NULL)
        return;
    options->text = "holdfast elect";
    if (options->command == NULL)
        return;
    hf_command_summary(options->command, options->summary);
    options->text = options->summary;
}

static hf_status check(const struct hf_command_line *line, void *read_options,
                       struct hf_error *error)
{
    struct hf_run_options *options = read_options;
    char better[HF_ERROR_TEXT_BYTES - 100];
    const char *command = options->elect ? "elect" : "run";
    int left = line->argc - line->operands;
    char **operands = line->argv + line->operands;
    int names = count_names(operands, left);
    bool late = left > 0 && hf_suggestion_has_late_options(line);
    /* A "--" ended the options, as before a NAME that begins with '-'. */
    bool dashes = strcmp(operands[-1], "--") == 0;
    /* elect may do without a COMMAND if it has hooks. */
    bool is_bare = left == 1 && !dashes &&
                   (options->on_lead != NULL || options->on_resign != NULL);

    if (left == 0)
        return hf_error_set(error, HF_EINVAL,
                            "NAME is missing; expected "
                            "holdfast %s [OPTION...] NAME -- COMMAND [ARG...]",
                            command);
    if (left == 1 && !dashes && !is_bare)
        return hf_error_set(error, HF_EINVAL,
                            "COMMAND is missing; expected "
                            "holdfast %s %.200s -- COMMAND [ARG...]",
                            command, operands[0]);
    if (dashes && (names == left || names == 0))
        return hf_error_set(error, HF_EINVAL,
                            "NAME is missing before '--'; expected "
                            "holdfast %s NAME -- %.200s",
                            command, operands[0]);
    if (!is_bare && (names == left || (!dashes && late))) {
        hf_suggestion_write(options->elect ? &hf_elect_command
                                           : &hf_run_command,
                            line, better, sizeof better);
        return hf_error_set(error, HF_EINVAL, "%s; write: %s",
                            late ? "options stand before NAME"
                                 : "'--' is missing between NAME and COMMAND",
                            better);
    }
    if (left == names + 1)
        return hf_error_set(error, HF_EINVAL,
                            "COMMAND is missing after '--'; expected "
                            "holdfast %s %.200s -- COMMAND [ARG...]",
                            command, operands[0]);
    if (options->elect && names > 1)
        return hf_error_set(error, HF_EINVAL,
                            "%d names before '--'; expected one: a command "
                            "leads in one election",
                            names);
    if (names > HF_LOCKS_MAX)
        return hf_error_set(error, HF_EINVAL,
                            "%d names before '--'; expected at most %d", names,
                            HF_LOCKS_MAX);
    if (options->once_per_ms != 0 &&
        (names > 1 ||
         (options->kind != HF_KIND_MUTEX && options->kind != HF_KIND_WRITE)))
        return hf_error_set(error, HF_EINVAL,
                            "--once-per is for one NAME that is had alone; "
                            "expected neither several NAMEs nor --read nor "
                            "--permits");
    options->names = operands;
    options->name_count = names;
    options->command = is_bare ? NULL : operands + names + 1;
    make_label(options);
    make_text(options);
    return check_resign_timeout(options, error);
}

/* The operands of hold are names alone. */
static hf_status check_hold(const struct hf_command_line *line,
                            void *read_options, struct hf_error *error)
{
    struct hf_run_options *options = read_options;
    char **operands = line->argv + line->operands;
    int left = line->argc - line->operands;
    bool dashes = strcmp(operands[-1], "--") == 0;

    if (left == 0)
        return hf_command_line_missing(&hf_hold_command, "NAME", error);
    if (count_names(operands, left) < left)
        return hf_error_set(error, HF_EINVAL,
                            "'--': hold runs no command; expected holdfast "
                            "hold %.200s, or holdfast run %.200s -- COMMAND "
                            "[ARG...]",
                            operands[0], operands[0]);
    for (int i = 0; i < left && !dashes; i++)
        if (operands[i][0] == '-')
            return hf_error_set(error, HF_EINVAL,
                                "'%.80s': options stand before NAME; expected "
                                "holdfast hold %s",
                                operands[i], hf_hold_command.synopsis);
    if (left > HF_LOCKS_MAX)
        return hf_error_set(error, HF_EINVAL, "%d names; expected at most %d",
                            left, HF_LOCKS_MAX);
    options->names = operands;
    options->name_count = left;
    make_label(options);
    if (options->text == NULL)
        options->text = "holdfast hold";
    return HF_OK;
}

const struct hf_command hf_hold_command = {
    .name = "hold",
    .synopsis = "[OPTION...] NAME...",
    .about = "Hold the lock NAME without a command: until a signal, or until\n"
             "standard input ends.  Several NAMEs are taken together, all or "
             "none.\n",
    .notes =
        "When the lock is held its fencing token is printed, a line on\n"
        "standard output.  Standard input that has ended from the start\n"
        "(</dev/null, a service) holds nothing: give -U there.\n"
        "The exit status is 0 after a signal or the end of the input, 75 if\n"
        "the lock was not obtained, 76 if it was lost, 79 if it was released\n"
        "because another program asked; others as of 'holdfast run'.  See\n"
        "holdfast-hold(1).\n",
    .rows = hold_rows,
    .row_count = sizeof hold_rows / sizeof *hold_rows,
    .options_first = true,
    .more_operands = true,
    .check = check_hold,
};

const struct hf_command hf_run_command = {
    .name = "run",
    .synopsis = "[OPTION...] NAME... -- COMMAND [ARG...]",
    .about =
        "Run COMMAND while holding the lock NAME; wait for the lock first.\n"
        "Several NAMEs are taken together, all or none.\n",
    .notes =
        "A DURATION is a number and a unit (d h m s ms), or several: 30s,\n"
        "1m30s.  COMMAND is given HOLDFAST_URL, HOLDFAST_NAME(S) and\n"
        "HOLDFAST_TOKEN(S).  Its exit status is passed through, 128+N if\n"
        "signal N ended it.  Those of holdfast itself: 64 usage, 69 engine\n"
        "unreachable, 70 a fault of holdfast, 71 out of processes or\n"
        "descriptors, 73 directory unusable or full, 75 not obtained, 76\n"
        "lost while running, 77 denied, 79 released because another program\n"
        "asked, 80 deadlock, 126 and 127 as shells do.  See\n"
        "holdfast-run(1).\n",
    .rows = run_rows,
    .row_count = sizeof run_rows / sizeof *run_rows,
    .options_first = true,
    .more_operands = true,
    .check = check,
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
        "HOLDFAST_TOKEN.  With --on-lead or --on-resign there may be none.\n"
        "The exit status is that of the last COMMAND, or one of holdfast\n"
        "itself as of 'holdfast run'.  See holdfast-elect(1).\n",
    .rows = elect_rows,
    .row_count = sizeof elect_rows / sizeof *elect_rows,
    .options_first = true,
    .more_operands = true,
    .check = check,
};
