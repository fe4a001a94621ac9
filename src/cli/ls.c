/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holdfast ls: the locks that somebody holds or waits for.  One client that
 * only looks, and one walk over the names.  Pages are written as they come, so
 * the longest name is not known at the first.  Therefore the columns of known
 * width come first, then the name, and last the owner.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <holdfast/names.h>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/list_client.h"
#include "cli/show.h"
#include "client/client.h"
#include "command/clock.h"
#include "command/command_line.h"
#include "command/exit_status.h"
#include "command/format.h"
#include "command/ui.h"

/* Long enough to get a session, short enough for a person. */
#define WAIT_DEFAULT_MS 15000

/* Wide enough for what is usual. */
#define NAME_COLUMNS 24

/* How names are written. */
struct ls_format {
    bool long_form; /* for how long, and who */
    bool json;
};

struct ls_options {
    const char *url;  /* NULL: HOLDFAST_URL, else the file engine */
    uint64_t wait_ms; /* how long to wait for each page */
    bool all;         /* walk a tree however large it is */
    struct ls_format format;
    const char *prefix; /* "": all */
};

#define FIELD(field) HF_OPTION_FIELD(struct ls_options, field)

static const struct hf_option_row rows[] = {
    HF_URL_OPTION(FIELD(url)),
    HF_OPTION('w', "timeout", "DURATION", hf_option_wait, FIELD(wait_ms),
              .help = "wait at most so long for each page of names; else 15s"),
    HF_OPTION('l', "long", NULL, hf_option_set, FIELD(format.long_form),
              .set = true,
              .help = "show for how long each is held, how long the longest "
                      "wait is, and who holds it"),
    HF_OPTION('a', "all", NULL, hf_option_set, FIELD(all), .set = true,
              .help = "in ZooKeeper, walk a tree of more than 100000 nodes "
                      "too; each costs a request"),
    HF_OPTION('j', "json", NULL, hf_option_set, FIELD(format.json), .set = true,
              .help = "write one line of JSON for each name"),
};

static const struct hf_command ls_command = {
    .name = "ls",
    .synopsis = "[OPTION...] [PREFIX]",
    .about = "List the locks that somebody holds or waits for: all, or those "
             "that are\nPREFIX or below it (PREFIX/...).\n",
    .notes =
        "HELD is how long the oldest ticket that holds has been in the queue,\n"
        "which is at least as long as it holds; WAITED the same of the one "
        "that\nhas waited longest; '~' where it rests on the clocks of two "
        "machines.\nThe exit status is 0, also if there is none; else as of "
        "'holdfast run'.\nSee holdfast-ls(1).\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .operands = {HF_OPERAND("PREFIX", struct ls_options, prefix,
                            .is_optional = true)},
};

/* -------------------------------------------------------------- lines -- */

/* Write the ticket as the member ${key}, or null. */
static void write_json_ticket(struct hf_json *json, const char *key,
                              const struct hf_ticket_view *view)
{
    if (view == NULL) {
        hf_json_null(json, key);
        return;
    }
    hf_json_begin_object(json, key);
    hf_show_json_ticket(json, view);
    hf_json_end_object(json);
}

/* One name in one line of JSON. */
static void write_json(FILE *out, const struct hf_name_view *view,
                       bool long_form)
{
    struct hf_json json = {.out = out, .one_line = true};

    hf_json_begin_object(&json, NULL);
    hf_json_string(&json, "name", view->name);
    hf_json_string(&json, "kind", hf_format_kind(view->kind));
    hf_json_number(&json, "holders", view->holders);
    hf_json_number(&json, "waiters", view->waiters);
    if (long_form) {
        write_json_ticket(&json, "holder", view->holder);
        write_json_ticket(&json, "waiter", view->waiter);
    }
    hf_json_end_object(&json);
}

/* The age of ${view}; "-" if there is no such ticket. */
static void format_age(const struct hf_ticket_view *view, uint64_t utc_ms,
                       char cell[HF_FORMAT_BYTES])
{
    strcpy(cell, "-");
    if (view != NULL)
        hf_format_age(view, utc_ms, cell);
}

/* The owner of the holder or, if there is none, of the waiter; one of them is
 * there. */
static void format_owner(const struct hf_name_view *view,
                         char cell[HF_FORMAT_BYTES])
{
    const struct hf_ticket_view *shown =
        view->holder != NULL ? view->holder : view->waiter;

    hf_format_owner(shown->owner, cell);
    if (cell[0] == '\0')
        strcpy(cell, "-");
}

/* One name in one line. */
static void write_line(FILE *out, const struct hf_name_view *view,
                       bool long_form, uint64_t utc_ms)
{
    char name[HF_NAME_BYTES + 1], owner[HF_FORMAT_BYTES];
    char held[HF_FORMAT_BYTES], waited[HF_FORMAT_BYTES];

    (void)snprintf(name, sizeof name, "%s", view->name);
    hf_utf8_make_printable(name, false);
    fprintf(out, "%-11s %7" PRIu32 " %7" PRIu32 " ", hf_format_kind(view->kind),
            view->holders, view->waiters);
    if (!long_form) {
        fprintf(out, "%s\n", name);
        return;
    }
    format_age(view->holder, utc_ms, held);
    format_age(view->waiter, utc_ms, waited);
    format_owner(view, owner);
    fprintf(out, "%8s %8s %-*s %s\n", held, waited, NAME_COLUMNS, name, owner);
}

/* Write ${page} to ${out}; ${first}: nothing was written before.  ${utc_ms} is
 * the time of day. */
static void write_names(FILE *out, const struct hf_names_page *page,
                        const struct ls_format *format, bool first,
                        uint64_t utc_ms)
{
    const struct hf_name_view *view;

    if (first && !format->json && hf_names_count(page) > 0)
        fprintf(out, "%-11s %7s %7s %s\n", "KIND", "HOLDERS", "WAITERS",
                format->long_form ? "    HELD   WAITED NAME"
                                    "                     OWNER"
                                  : "NAME");
    for (size_t i = 0; (view = hf_names_at(page, i)) != NULL; i++) {
        if (format->json)
            write_json(out, view, format->long_form);
        else
            write_line(out, view, format->long_form, utc_ms);
    }
}

/* ----------------------------------------------------------------- walk -- */

/* How a walk goes. */
struct progress {
    struct hf_progress shown;
    uint64_t names;
    uint64_t unreadable;
};

/* Show how far the walk is, if it takes long and somebody may look. */
static void show_progress(struct progress *progress,
                          const struct hf_names_page *page)
{
    progress->names += hf_names_count(page);
    progress->unreadable = hf_names_unreadable(page);
    if (hf_progress_is_due(&progress->shown))
        hf_ui_show_progress("%" PRIu64 " names, of %" PRIu64
                            " entries looked at",
                            progress->names, hf_names_looked_at(page));
}

/* Write the page.  False: standard output cannot be written to. */
static bool write_page(const struct ls_options *options,
                       struct progress *progress,
                       const struct hf_names_page *page)
{
    if (hf_names_count(page) > 0) {
        hf_ui_clear_wait();
        write_names(stdout, page, &options->format, progress->names == 0,
                    hf_clock_utc_ms());
    }
    show_progress(progress, page);
    return fflush(stdout) == 0 && !ferror(stdout);
}

/* Print what is not in the list. */
static void finish(const struct ls_options *options,
                   const struct progress *progress)
{
    const char *prefix = options->prefix;
    bool all = strcmp(prefix, "") == 0 || strcmp(prefix, "/") == 0;

    hf_ui_clear_wait();
    if (progress->names == 0 && !options->format.json)
        printf("nobody holds or waits for %s%s\n",
               all ? "anything" : "anything at or below ", all ? "" : prefix);
    if (progress->unreadable > 0)
        hf_ui_log(HF_LOG_WARNING,
                  "%" PRIu64 " of what is there could not be read and is not "
                  "listed; expected the rights to read it, or a PREFIX that "
                  "leaves it out",
                  progress->unreadable);
}

/* Write all pages.  Returns the exit status. */
static int list(struct hf_names *names, const struct ls_options *options)
{
    struct progress progress = {.names = 0};
    struct hf_names_page *page;
    bool written = true;

    hf_progress_begin(&progress.shown);
    while (written && hf_names_next(names, options->wait_ms, &page) == HF_OK) {
        if (page == NULL) {
            finish(options, &progress);
            return hf_command_line_end_output();
        }
        written = write_page(options, &progress, page);
        hf_names_page_free(page);
    }
    hf_ui_clear_wait();
    if (!written)
        return hf_command_line_end_output();
    hf_ui_print_error(hf_last_error());
    if (progress.names > 0)
        hf_ui_log(HF_LOG_WARNING,
                  "the list is not complete: it ends after %" PRIu64 " names",
                  progress.names);
    return hf_exit_status(hf_last_error()->status);
}

/* Returns the exit status. */
static int open_and_list(struct hf_client *client,
                         const struct ls_options *options)
{
    struct hf_names_opts opts = HF_NAMES_OPTS_INIT;
    struct hf_names *names;
    int exit_code;

    opts.all = options->all;
    if (hf_names_open(client, options->prefix, &opts, &names) != HF_OK) {
        hf_ui_print_error(hf_last_error());
        return hf_last_error()->status == HF_ENAME
                   ? HF_EXIT_USAGE
                   : hf_exit_status(hf_last_error()->status);
    }
    exit_code = list(names, options);
    hf_names_free(names);
    return exit_code;
}

int hf_ls_main(int argc, char **argv)
{
    struct ls_options options = {.wait_ms = WAIT_DEFAULT_MS, .prefix = ""};
    struct hf_client *client;
    int exit_code;

    if (!hf_command_line_read(&ls_command, argc, argv, &options, &exit_code))
        return exit_code;
    hf_command_line_warn_password(options.url);
    if (hf_list_client_open(options.url, options.wait_ms, HF_LOG_WARNING,
                            &client) != HF_OK) {
        hf_ui_print_error(hf_last_error());
        return hf_exit_status(hf_last_error()->status);
    }
    exit_code = open_and_list(client, &options);
    (void)hf_client_close(client);
    return exit_code;
}
