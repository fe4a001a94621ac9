/* SPDX-License-Identifier: Apache-2.0 */
/* See show.h.  One client, one lookup, one table.  Options may also follow
 * NAME, because nothing else can. */
#include "cli/show.h"

#include <string.h>

#include "base/error.h"
#include "base/quote.h"
#include "cli/commands.h"
#include "cli/list_client.h"
#include "command/clock.h"
#include "command/command_line.h"
#include "command/exit_status.h"
#include "command/ui.h"

/* Long enough to get a session, short enough for a person. */
#define WAIT_DEFAULT_MS 15000

struct show_options {
    const char *url;  /* NULL: HOLDFAST_URL, else the file engine */
    uint64_t wait_ms; /* how long to wait for the answer */
    bool held;  /* show holders only; the exit status says if there is one */
    bool quiet; /* print nothing */
    bool json;
    bool watch; /* go on, and show what changes */
    const char *name;
};

#define FIELD(field) HF_OPTION_FIELD(struct show_options, field)

static const struct hf_option_row rows[] = {
    HF_URL_OPTION(FIELD(url)),
    HF_ANSWER_TIMEOUT_OPTION(FIELD(wait_ms)),
    HF_OPTION('H', "held", NULL, hf_option_set, FIELD(held), .set = true,
              .help = "show only holders, and exit with 0 if there is one, "
                      "with 1 if the lock is not held"),
    HF_OPTION('q', "quiet", NULL, hf_option_set, FIELD(quiet), .set = true,
              .help = "with --held: print nothing but errors"),
    HF_OPTION('j', "json", NULL, hf_option_set, FIELD(json), .set = true,
              .help = "write JSON, with the id of each ticket"),
    HF_OPTION('W', "watch", NULL, hf_option_set, FIELD(watch), .set = true,
              .help = "go on until a signal comes: print who comes, who is "
                      "granted and who goes, a line each; on a terminal the "
                      "queue again"),
};

static hf_status check(const struct hf_command_line *line, void *read_options,
                       struct hf_error *error)
{
    const struct show_options *options = read_options;

    (void)line;
    if (options->quiet && (!options->held || options->json))
        return hf_error_set(error, HF_EINVAL,
                            "-q leaves nothing to show; expected it with "
                            "--held, whose exit status answers, and without "
                            "--json");
    if (options->watch && options->held)
        return hf_error_set(error, HF_EINVAL,
                            "--held answers at once and --watch goes on; "
                            "expected one of the two");
    return HF_OK;
}

static const struct hf_command show_command = {
    .name = "show",
    .synopsis = "[OPTION...] NAME",
    .about =
        "Show who holds the lock NAME and who waits for it, in order; and who\n"
        "is at the double barrier of that name.\n",
    .notes =
        "QUEUED is how long the ticket has been in the queue, with '~' where\n"
        "it rests on the clocks of two machines; a holder has held the lock "
        "for\n"
        "at most as long.  The exit status is 0, also if nobody is there,\n"
        "unless --held asks; else as of 'holdfast run'.  See\n"
        "holdfast-show(1).\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .operands = {HF_OPERAND("NAME", struct show_options, name)},
    .check = check,
};

/* ----------------------------------------------------------------- show -- */

/* How many unknown children are named; --json has all. */
#define UNKNOWN_MAX 20

/* Print children of the name that are no tickets, on stderr. */
static void report_unknown(const char *name, const struct hf_queue_view *queue)
{
    const char *unknown;

    for (size_t i = 0;
         i < UNKNOWN_MAX && (unknown = hf_queue_view_unknown(queue, i)) != NULL;
         i++)
        hf_ui_log(HF_LOG_WARNING,
                  "'%.200s' has a child that is no ticket and has no say: %s",
                  name, hf_quote(unknown, strlen(unknown)).text);
    if (queue->unknown_count > UNKNOWN_MAX)
        hf_ui_log(HF_LOG_WARNING,
                  "'%.200s' has %zu more of them; --json has all", name,
                  queue->unknown_count - UNKNOWN_MAX);
}

static bool is_empty(const struct hf_queue_view *queue)
{
    return hf_queue_view_at(queue, 0) == NULL;
}

/* Print the queue as JSON, as a table or as one line. */
static void print(const char *engine, const struct show_options *options,
                  const struct hf_queue_view *queue)
{
    if (options->json)
        hf_show_json(stdout, engine, queue);
    else if (is_empty(queue))
        printf("nobody holds %s%s\n", options->held ? "" : "or waits for ",
               queue->name);
    else
        hf_show_table(stdout, queue, hf_clock_utc_ms());
    report_unknown(queue->name, queue);
}

/* Returns the exit status. */
static int show(const char *engine, const struct show_options *options,
                const struct hf_queue_view *queue)
{
    int exit_code;

    if (!options->quiet)
        print(engine, options, queue);
    exit_code = hf_command_line_end_output();
    if (exit_code != 0)
        return exit_code;
    return options->held && is_empty(queue) ? HF_EXIT_NOT_HELD : 0;
}

/* Returns the exit status. */
static int load_and_show(struct hf_client *client,
                         const struct show_options *options)
{
    char engine[HF_ERROR_TEXT_BYTES];
    struct hf_queue_view queue;
    struct hf_error error;
    int exit_code;

    hf_client_describe(client, engine, sizeof engine);
    if (hf_queue_view_load(client, options->name,
                           options->held ? HF_TICKETS_HOLDERS : HF_TICKETS_ALL,
                           options->wait_ms, &queue, &error) == HF_OK) {
        exit_code = show(engine, options, &queue);
    } else {
        hf_ui_print_error(&error);
        exit_code = hf_exit_status(error.status);
    }
    hf_queue_view_free(&queue);
    return exit_code;
}

int hf_show_main(int argc, char **argv)
{
    struct show_options options = {.wait_ms = WAIT_DEFAULT_MS};
    struct hf_client *client;
    int exit_code;

    if (!hf_command_line_read(&show_command, argc, argv, &options, &exit_code))
        return exit_code;
    hf_command_line_warn_password(options.url);
    if (options.watch)
        return hf_show_watch(&(struct hf_show_watch_options){
            options.url, options.name, options.wait_ms, options.json});
    if (hf_list_client_open(options.url, options.wait_ms,
                            options.quiet ? HF_LOG_ERROR : HF_LOG_WARNING,
                            &client) != HF_OK) {
        hf_ui_print_error(hf_last_error());
        return hf_exit_status(hf_last_error()->status);
    }
    exit_code = load_and_show(client, &options);
    (void)hf_client_close(client);
    return exit_code;
}
