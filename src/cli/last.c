/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast last: when a holder of a lock has last written that it succeeded.
 * One client that only looks. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include <holdfast/lock.h>

#include "base/url.h"
#include "cli/commands.h"
#include "cli/list_client.h"
#include "command/command_line.h"
#include "command/exit_status.h"
#include "command/json.h"
#include "command/ui.h"

/* Long enough to get a session, short enough for a person. */
#define WAIT_DEFAULT_MS 15000

struct last_options {
    const char *url;  /* NULL: HOLDFAST_URL, else the file engine */
    uint64_t wait_ms; /* how long to wait for an answer */
    bool json;
    const char *name;
};

#define FIELD(field) HF_OPTION_FIELD(struct last_options, field)

static const struct hf_option_row rows[] = {
    HF_URL_OPTION(FIELD(url)),
    HF_ANSWER_TIMEOUT_OPTION(FIELD(wait_ms)),
    HF_OPTION('j', "json", NULL, hf_option_set, FIELD(json), .set = true,
              .help = "write JSON"),
};

static const struct hf_command last_command = {
    .name = "last",
    .synopsis = "[OPTION...] NAME",
    .about = "Print when 'holdfast run --once-per' has last succeeded for "
             "NAME, and how long\nago.\n",
    .notes = "The exit status is 0, 1 if it has never succeeded; else as of\n"
             "'holdfast run'.  See holdfast-last(1).\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .operands = {HF_OPERAND("NAME", struct last_options, name)},
};

/* "2026-11-29T03:00:00Z". */
static void format_time(int64_t utc_ms, char text[32])
{
    time_t seconds = (time_t)(utc_ms / 1000);
    struct tm utc;

    if (gmtime_r(&seconds, &utc) == NULL ||
        strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
        (void)snprintf(text, 32, "?");
}

static void write_json(const struct last_options *options,
                       const struct hf_success *last)
{
    struct hf_json json = {.out = stdout};
    char at[32];

    hf_json_begin_object(&json, NULL);
    hf_json_string(&json, "name", options->name);
    if (last->token == 0) {
        hf_json_null(&json, "success");
    } else {
        format_time(last->at_utc_ms, at);
        hf_json_begin_object(&json, "success");
        hf_json_string(&json, "at", at);
        hf_json_signed(&json, "age_ms", last->age_ms);
        hf_json_number(&json, "token", last->token);
        hf_json_end_object(&json);
    }
    hf_json_end_object(&json);
}

static void write_text(const struct last_options *options,
                       const struct hf_success *last)
{
    char at[32], age[HF_DURATION_BYTES];
    bool future = last->age_ms < 0;

    if (last->token == 0) {
        printf("%s has never succeeded\n", options->name);
        return;
    }
    format_time(last->at_utc_ms, at);
    hf_duration_format_short((uint64_t)(future ? -last->age_ms : last->age_ms),
                             age);
    printf("%s  %s %s, token %" PRIu64 "\n", at, age,
           future ? "ahead of the clock" : "ago", last->token);
}

/* Returns the exit status. */
static int print_last(struct hf_client *client,
                      const struct last_options *options)
{
    struct hf_success last;
    struct hf_lock *lock;
    int exit_code;

    if (hf_lock_open(client, options->name, NULL, &lock) != HF_OK) {
        hf_ui_print_error(hf_last_error());
        return hf_last_error()->status == HF_ENAME
                   ? HF_EXIT_USAGE
                   : hf_exit_status(hf_last_error()->status);
    }
    if (hf_lock_last_success(lock, options->wait_ms, &last) != HF_OK) {
        exit_code = hf_exit_status(hf_last_error()->status);
        hf_ui_print_error(hf_last_error());
        hf_lock_free(lock);
        return exit_code;
    }
    hf_lock_free(lock);
    if (options->json)
        write_json(options, &last);
    else
        write_text(options, &last);
    exit_code = hf_command_line_end_output();
    return exit_code == 0 && last.token == 0 ? HF_EXIT_NONE : exit_code;
}

int hf_last_main(int argc, char **argv)
{
    struct last_options options = {.wait_ms = WAIT_DEFAULT_MS};
    struct hf_client *client;
    int exit_code;

    if (!hf_command_line_read(&last_command, argc, argv, &options, &exit_code))
        return exit_code;
    hf_command_line_warn_password(options.url);
    if (hf_list_client_open(options.url, options.wait_ms, HF_LOG_WARNING,
                            &client) != HF_OK) {
        hf_ui_print_error(hf_last_error());
        return hf_exit_status(hf_last_error()->status);
    }
    exit_code = print_last(client, &options);
    (void)hf_client_close(client);
    return exit_code;
}
