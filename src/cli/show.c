/* SPDX-License-Identifier: Apache-2.0 */
/* See show.h.  One client, one lookup, one table. */
#include "cli/show.h"

#include <string.h>
#include <time.h>

#include "cli/exit_status.h"
#include "cli/ui.h"
#include "core/quote.h"
#include "core/url.h"
#include "host/client.h"

static const char usage[] =
    "usage: holdfast show [OPTION...] NAME\n"
    "\n"
    "Show who holds the lock NAME and who waits for it, in order; and who is "
    "at the\n"
    "double barrier of that name.\n"
    "\n"
    "  -c, --url URL           the engine; else HOLDFAST_URL, else file:\n"
    "  -t, --timeout DURATION  wait at most so long for an answer; else 15s\n"
    "  -H, --held              show only holders, and exit with 0 if there is\n"
    "                          one, with 1 if the lock is not held\n"
    "  -q, --quiet             with --held: print nothing but errors\n"
    "  -j, --json              write JSON, with the id of each ticket\n"
    "  -h, --help              this text\n"
    "\n"
    "QUEUED is how long the ticket has been in the queue, with '~' where only "
    "the\n"
    "clocks of two machines tell; a holder has held the lock for at most as "
    "long.\n"
    "The exit status is 0, also if nobody is there, unless --held asks; else "
    "as of\n"
    "'holdfast run'.  See holdfast-show(1).\n";

/* The time of day; for people only, no decision depends on it. */
static uint64_t utc_now_ms(void)
{
    time_t now = time(NULL);

    return now > 0 ? (uint64_t)now * 1000 : 0;
}

/* ----------------------------------------------------------------- show -- */

/* Print children of the name that are no tickets, on stderr. */
static void report_unknown(const char *name, const struct hf_queue_view *queue)
{
    const char *unknown;

    for (size_t i = 0; (unknown = hf_queue_view_unknown(queue, i)) != NULL; i++)
        hf_ui_print("'%.200s' has a child that is no ticket and has no say: %s",
                    name, hf_quote(unknown, strlen(unknown)).text);
}

static bool is_empty(const struct hf_queue_view *queue)
{
    return hf_queue_view_at(queue, 0) == NULL;
}

/* Print the queue as JSON, as a table or as one line. */
static void print(const char *engine, const struct hf_show_options *options,
                  const struct hf_queue_view *queue)
{
    if (options->json)
        hf_show_json(stdout, engine, queue);
    else if (is_empty(queue))
        printf("nobody holds %s%s\n", options->held ? "" : "or waits for ",
               queue->name);
    else
        hf_show_table(stdout, queue, utc_now_ms());
    report_unknown(queue->name, queue);
}

/* Returns the exit status. */
static int show(const char *engine, const struct hf_show_options *options,
                const struct hf_queue_view *queue)
{
    if (!options->quiet)
        print(engine, options, queue);
    if (fflush(stdout) != 0 || ferror(stdout))
        return HF_EXIT_DIRECTORY;
    return options->held && is_empty(queue) ? HF_EXIT_NOT_HELD : 0;
}

static void on_log(void *arg, enum hf_log_level level, const char *line)
{
    (void)arg;
    (void)level;
    hf_ui_print("%s", line);
}

/* Open a client that only looks, for which the engine creates nothing. */
static hf_status open_client(const struct hf_show_options *options,
                             struct hf_client **client, struct hf_error *error)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;

    opts.connect_ms = options->wait_ms;
    opts.on_log.fn = on_log;
    if (options->quiet)
        opts.on_log.level = HF_LOG_ERROR;
    return hf_client_open_list_only(options->url, &opts, client, error);
}

/* Returns the exit status. */
static int load_and_show(struct hf_client *client,
                         const struct hf_show_options *options)
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
    struct hf_show_options options;
    struct hf_client *client;
    struct hf_error error;
    int exit_code;

    switch (hf_show_options_parse(argc, argv, &options, &error)) {
    case HF_PARSED_HELP:
        if (fputs(usage, stdout) < 0 || fflush(stdout) < 0)
            return HF_EXIT_DIRECTORY;
        return 0;
    case HF_PARSED_WRONG:
        hf_ui_print_error(&error);
        return HF_EXIT_USAGE;
    case HF_PARSED_RUN:
        break;
    }
    if (options.url != NULL && hf_url_has_secret(options.url))
        hf_ui_print(
            "warning: every user of this machine can read the password in "
            "-c; put the URL into HOLDFAST_URL instead");
    if (open_client(&options, &client, &error) != HF_OK) {
        hf_ui_print_error(&error);
        return hf_exit_status(error.status);
    }
    exit_code = load_and_show(client, &options);
    (void)hf_client_close(client);
    return exit_code;
}
