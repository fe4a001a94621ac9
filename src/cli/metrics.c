/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holdfast metrics prints one of two kinds of metrics, never both: what an
 * engine says of the queues of names (holdfast_queue_...), or what clients have
 * counted in the files of a directory (holdfast_client_...).
 */
#include "cli/commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "cli/list_client.h"
#include "cli/metrics_dir.h"
#include "cli/metrics_queues.h"
#include "command/clock.h"
#include "command/command_line.h"
#include "command/exit_status.h"
#include "command/format.h"
#include "command/queue_view.h"
#include "command/ui.h"
#include "core/lock_name.h"
#include "metrics/metrics_block.h"
#include "metrics/metrics_families.h"

/* As that of `holdfast show`. */
#define WAIT_DEFAULT_MS 15000

struct metrics_options {
    const char *url;  /* NULL: HOLDFAST_URL, else the file engine */
    uint64_t wait_ms; /* how long to wait for the answers of each name, or for
                         each page of names */
    const char *dir;
    bool json;
    const char *within; /* the names at or below it; NULL: all */
    bool all;           /* walk a tree however large it is */
    struct hf_metrics_folds folds;
    struct hf_metric_labels labels;
    char **names;
    int name_count;
};

#define FIELD(field) HF_OPTION_FIELD(struct metrics_options, field)

/* Set ${name} to the name in ${text}, without a leading '/'. */
static hf_status check_name(const char *option, const char *text,
                            const char **name, struct hf_error *error)
{
    struct hf_error why;

    if (hf_lock_name_check(text, name, &why) == HF_OK)
        return HF_OK;
    return hf_error_set(error, HF_EINVAL, "%s '%.80s': %s", option, text,
                        why.text);
}

/* "" and "/" are all names, as for holdfast ls. */
static hf_status read_within(const struct hf_option_row *row, const char *name,
                             const char *text, void *field,
                             struct hf_error *error)
{
    (void)row;
    if (strcmp(text, "") == 0 || strcmp(text, "/") == 0) {
        *(const char **)field = "";
        return HF_OK;
    }
    return check_name(name, text, field, error);
}

/* One more prefix.  A prefix that was given before is left out, because it
 * would make two samples of one name. */
static hf_status read_fold(const struct hf_option_row *row, const char *name,
                           const char *text, void *field,
                           struct hf_error *error)
{
    struct hf_metrics_folds *folds = field;
    const char *prefix;

    (void)row;
    if (check_name(name, text, &prefix, error) != HF_OK)
        return error->status;
    for (size_t i = 0; i < folds->count; i++)
        if (strcmp(folds->prefixes[i], prefix) == 0)
            return HF_OK;
    if (folds->count == HF_METRICS_FOLDS)
        return hf_error_set(error, HF_EINVAL,
                            "%s '%.80s': there are %d already; expected at "
                            "most that many, so fold at a shorter prefix",
                            name, text, HF_METRICS_FOLDS);
    folds->prefixes[folds->count++] = prefix;
    return HF_OK;
}

/* Can the ${bytes} of ${key} be the key of a label of the user's?  It must have
 * the form that OpenMetrics asks for, and must be none of our own keys. */
static bool is_label_key(const char *key, size_t bytes)
{
    static const char *const ours[] = {"name", "le", "status", "state"};
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";

    if (bytes == 0 || strchr(letters, key[0]) == NULL ||
        strncmp(key, "__", 2) == 0)
        return false;
    for (size_t i = 0; i < bytes; i++)
        if (strchr(letters, key[i]) == NULL && (key[i] < '0' || key[i] > '9'))
            return false;
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (strlen(ours[i]) == bytes && strncmp(ours[i], key, bytes) == 0)
            return false;
    return true;
}

/* One more label, KEY=VALUE; the '=' in ${text} becomes a NUL. */
static hf_status read_label(const struct hf_option_row *row, const char *name,
                            const char *text, void *field,
                            struct hf_error *error)
{
    struct hf_metric_labels *labels = field;
    char *equals = strchr(text, '=');
    size_t bytes = equals != NULL ? (size_t)(equals - text) : 0;

    (void)row;
    if (!is_label_key(text, bytes) || !hf_metrics_name_valid(equals + 1))
        return hf_error_set(error, HF_EINVAL,
                            "%s '%.80s': expected KEY=VALUE, such as "
                            "engine=prod: a key of letters, digits and '_' "
                            "that is none of name, le, status and state, and a "
                            "value without control characters",
                            name, text);
    if (labels->count == HF_METRIC_LABELS_MAX)
        return hf_error_set(error, HF_EINVAL,
                            "%s '%.80s': there are %d already; expected at "
                            "most that many",
                            name, text, HF_METRIC_LABELS_MAX);
    for (size_t i = 0; i < labels->count; i++)
        if (strlen(labels->items[i].key) == bytes &&
            strncmp(labels->items[i].key, text, bytes) == 0)
            return hf_error_set(error, HF_EINVAL,
                                "%s '%.80s': this key was given before; "
                                "expected it once",
                                name, text);
    *equals = '\0';
    labels->items[labels->count++] = (struct hf_metric_label){text, equals + 1};
    return HF_OK;
}

static const struct hf_option_row rows[] = {
    HF_URL_OPTION(FIELD(url)),
    HF_OPTION('w', "timeout", "DURATION", hf_option_wait, FIELD(wait_ms),
              .help = "wait at most so long for the answers about each NAME, "
                      "or for each page of names; else 15s"),
    HF_OPTION('i', "within", "PREFIX", read_within, FIELD(within),
              .help = "only names that are PREFIX or below it"),
    HF_OPTION('f', "fold", "PREFIX", read_fold, FIELD(folds),
              .help = "count PREFIX and all names below it as one, called "
                      "PREFIX; may be given 16 times, and the first that fits "
                      "counts"),
    HF_OPTION('L', "label", "KEY=VALUE", read_label, FIELD(labels),
              .help = "a label for each sample, so that two engines can be "
                      "told apart; may be given 8 times"),
    HF_OPTION('a', "all", NULL, hf_option_set, FIELD(all), .set = true,
              .help = "in ZooKeeper, walk a tree of more than 100000 nodes "
                      "too; each costs a request"),
    HF_OPTION('d', "dir", "DIR", hf_option_text, FIELD(dir),
              .help = "print what clients have counted in DIR, and fold the "
                      "files of those that are gone"),
    HF_OPTION('j', "json", NULL, hf_option_set, FIELD(json), .set = true,
              .help = "write a JSON object in a line for each sample"),
};

/* All names are counted.  Each NAME then has a sample whether it has a ticket
 * or not. */
static hf_status name_all(struct metrics_options *options,
                          struct hf_error *error)
{
    struct hf_metrics_folds *folds = &options->folds;
    hf_status status = HF_OK;

    for (int i = 0; i < options->name_count && status == HF_OK; i++) {
        const char *name;
        size_t k = 0;

        if (folds->name_count == HF_METRICS_NAMED)
            return hf_error_set(error, HF_EINVAL,
                                "'%.80s': with all names there are at most %d "
                                "NAMEs",
                                options->names[i], HF_METRICS_NAMED);
        status = check_name("NAME", options->names[i], &name, error);
        while (status == HF_OK && k < folds->name_count &&
               strcmp(folds->names[k], name) != 0)
            k++;
        if (status == HF_OK && k == folds->name_count)
            folds->names[folds->name_count++] = name;
    }
    options->name_count = 0;
    return status;
}

static hf_status check(const struct hf_command_line *line, void *read_options,
                       struct hf_error *error)
{
    struct metrics_options *options = read_options;
    bool walk_only =
        options->within != NULL || options->folds.count > 0 || options->all;

    options->names = line->argv + line->operands;
    options->name_count = line->argc - line->operands;
    if (options->dir != NULL &&
        (options->name_count > 0 || options->url != NULL || walk_only))
        return hf_error_set(error, HF_EINVAL,
                            "--dir prints what clients have counted, and all "
                            "other options and NAME are about what an engine "
                            "says; expected one of the two");
    return options->name_count > 0 && walk_only ? name_all(options, error)
                                                : HF_OK;
}

static const struct hf_command metrics_command = {
    .name = "metrics",
    .synopsis = "[OPTION...] [NAME...] | [--label KEY=VALUE] --dir DIR",
    .about =
        "Print metrics as OpenMetrics text: how many hold and wait for each "
        "name, as\nthe engine says, of each NAME or of all that have a ticket; "
        "or the sum of what\nthe clients have counted whose "
        "HOLDFAST_METRICS_DIR is DIR.\n",
    .notes = "Of all names the 64 that most wait for have numbers of their "
             "own; the others\nshare name=\"/other\".  See "
             "holdfast-metrics(1) for all metrics.\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .more_operands = true,
    .check = check,
};

/* ------------------------------------------------------------ the output -- */

static bool write_text(void *arg, const char *text, size_t bytes)
{
    return fwrite(text, 1, bytes, arg) == bytes;
}

static void init_output(struct hf_openmetrics *out,
                        const struct metrics_options *options)
{
    *out = (struct hf_openmetrics){.write = {write_text, stdout},
                                   .labels = options->labels,
                                   .json = options->json,
                                   .terminal = isatty(STDOUT_FILENO) == 1};
}

/* Returns the exit status. */
static int end_output(struct hf_openmetrics *out)
{
    (void)hf_openmetrics_end(out);
    return hf_command_line_end_output();
}

/* --------------------------------------------------------- the directory -- */

static void write_files(struct hf_openmetrics *out,
                        const struct hf_metrics_dir *dir)
{
    static const struct hf_metric_family family = {
        "holdfast_client_files", HF_METRIC_GAUGE,
        "Files in the directory: of living clients, of dead ones that were "
        "counted and are folded now, and those that were skipped."};

    hf_openmetrics_family(out, &family);
    hf_openmetrics_number(
        out, &family, (struct hf_metric_label){"state", "alive"}, dir->alive);
    hf_openmetrics_number(out, &family,
                          (struct hf_metric_label){"state", "dead"}, dir->dead);
    hf_openmetrics_number(out, &family,
                          (struct hf_metric_label){"state", "skipped"},
                          dir->skipped);
}

/* Returns the exit status. */
static int print_dir(const struct metrics_options *options)
{
    struct hf_metrics_dir dir;
    struct hf_openmetrics out;
    struct hf_error error;

    if (hf_metrics_dir_read(options->dir, &dir, &error) != HF_OK) {
        hf_ui_print_error(&error);
        return hf_exit_status(error.status);
    }
    hf_metrics_sum_trim(&dir.sum);
    init_output(&out, options);
    hf_metrics_write_families(&out, &dir.sum);
    write_files(&out, &dir);
    hf_metrics_sum_free(&dir.sum);
    return end_output(&out);
}

/* ------------------------------------------------------------ the engine -- */

/* Count the tickets of ${queue}, but no participants of a double barrier, which
 * neither hold nor wait for a lock. */
static void count_tickets(const struct hf_queue_view *queue,
                          struct hf_queue_numbers *numbers)
{
    uint64_t utc_ms = hf_clock_utc_ms();
    const struct hf_ticket_view *view;

    for (size_t i = 0; (view = hf_queue_view_at(queue, i)) != NULL; i++)
        if (view->kind != HF_KIND_PARTICIPANT)
            hf_queue_tickets_add(view->holds ? &numbers->hold : &numbers->wait,
                                 1, view, utc_ms);
}

/* Is one of the ${count} ${numbers} about ${name}? */
static bool has_name(const struct hf_queue_numbers *numbers, size_t count,
                     const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(numbers[i].name, name) == 0)
            return true;
    return false;
}

/* Ask about the name ${i} of ${options}. */
static hf_status load_name(struct hf_client *client,
                           const struct metrics_options *options, int i,
                           struct hf_queue_numbers *numbers,
                           struct hf_error *error)
{
    const char *name = options->names[i];
    struct hf_queue_view queue;
    hf_status status;

    status = hf_queue_view_load(client, name, HF_TICKETS_ALL, options->wait_ms,
                                &queue, error);
    if (status == HF_OK)
        count_tickets(&queue, numbers);
    hf_queue_view_free(&queue);
    return status;
}

/* Ask about every name, each once; set ${count} to how many there are.  If one
 * fails, all fail, because numbers that are missing would look like locks that
 * are free. */
static hf_status load_names(struct hf_client *client,
                            const struct metrics_options *options,
                            struct hf_queue_numbers *numbers, size_t *count,
                            struct hf_error *error)
{
    hf_status status = HF_OK;

    *count = 0;
    for (int i = 0; i < options->name_count && status == HF_OK; i++) {
        const char *name = options->names[i] + (options->names[i][0] == '/');

        if (has_name(numbers, *count, name))
            continue;
        numbers[*count] = (struct hf_queue_numbers){.name = name};
        status = load_name(client, options, i, &numbers[(*count)++], error);
    }
    return status;
}

/* Returns the exit status. */
static int print_names(struct hf_client *client,
                       const struct metrics_options *options)
{
    struct hf_queue_numbers *numbers =
        hf_alloc((size_t)options->name_count * sizeof *numbers);
    struct hf_openmetrics out;
    struct hf_error error;
    size_t count;
    int exit_code;

    if (numbers == NULL) {
        hf_error_set(&error, HF_ENOMEM, "out of memory");
        hf_ui_print_error(&error);
        return HF_EXIT_LIMIT;
    }
    if (load_names(client, options, numbers, &count, &error) != HF_OK) {
        hf_ui_print_error(&error);
        exit_code = hf_exit_status(error.status);
    } else {
        init_output(&out, options);
        hf_metrics_write_queues(&out, numbers, count);
        exit_code = end_output(&out);
    }
    hf_free(numbers);
    return exit_code;
}

/* ------------------------------------------------------ all its names -- */

/* How a walk goes. */
struct walk {
    struct hf_metrics_names *sum;
    struct hf_progress shown;
    uint64_t names;
    uint64_t unreadable;
};

static void add_page(struct walk *walk, const struct hf_names_page *page)
{
    uint64_t utc_ms = hf_clock_utc_ms();
    const struct hf_name_view *view;

    for (size_t i = 0; (view = hf_names_at(page, i)) != NULL; i++)
        hf_metrics_names_add(walk->sum, view, utc_ms);
    walk->names += hf_names_count(page);
    walk->unreadable = hf_names_unreadable(page);
    if (hf_progress_is_due(&walk->shown))
        hf_ui_show_progress("%" PRIu64 " names, of %" PRIu64
                            " entries looked at",
                            walk->names, hf_names_looked_at(page));
}

/* Add all pages.  If one fails, all fail. */
static hf_status add_pages(struct hf_client *client,
                           const struct metrics_options *options,
                           struct walk *walk, struct hf_error *error)
{
    const char *prefix = options->within != NULL ? options->within : "";
    struct hf_names_opts opts = HF_NAMES_OPTS_INIT;
    struct hf_names_page *page;
    struct hf_names *names;
    hf_status status;

    opts.all = options->all;
    status = hf_names_open(client, prefix, &opts, &names);
    if (status != HF_OK) {
        *error = *hf_last_error();
        return status;
    }
    while ((status = hf_names_next(names, options->wait_ms, &page)) == HF_OK &&
           page != NULL) {
        add_page(walk, page);
        hf_names_page_free(page);
    }
    if (status != HF_OK)
        *error = *hf_last_error();
    hf_names_free(names);
    hf_ui_clear_wait();
    return status;
}

/* Returns the exit status. */
static int print_all_names(struct hf_client *client,
                           const struct metrics_options *options)
{
    struct walk walk = {.sum = hf_metrics_names_new(&options->folds)};
    struct hf_error error = {.status = HF_OK};
    struct hf_openmetrics out;
    int exit_code;

    hf_progress_begin(&walk.shown);
    if (walk.sum == NULL)
        hf_error_set(&error, HF_ENOMEM, "out of memory");
    else
        (void)add_pages(client, options, &walk, &error);
    if (error.status != HF_OK) {
        hf_ui_print_error(&error);
        exit_code = hf_exit_status(error.status);
    } else {
        init_output(&out, options);
        hf_metrics_names_write(&out, walk.sum, walk.unreadable);
        exit_code = end_output(&out);
    }
    hf_metrics_names_free(walk.sum);
    return exit_code;
}

/* By a client that only looks.  Returns the exit status. */
static int print_engine(const struct metrics_options *options)
{
    struct hf_client *client;
    int exit_code;

    hf_command_line_warn_password(options->url);
    if (hf_list_client_open(options->url, options->wait_ms, HF_LOG_WARNING,
                            &client) != HF_OK) {
        hf_ui_print_error(hf_last_error());
        return hf_exit_status(hf_last_error()->status);
    }
    exit_code = options->name_count > 0 ? print_names(client, options)
                                        : print_all_names(client, options);
    (void)hf_client_close(client);
    return exit_code;
}

int hf_metrics_main(int argc, char **argv)
{
    struct metrics_options options = {.wait_ms = WAIT_DEFAULT_MS};
    int exit_code;

    if (!hf_command_line_read(&metrics_command, argc, argv, &options,
                              &exit_code))
        return exit_code;
    return options.dir != NULL ? print_dir(&options) : print_engine(&options);
}
