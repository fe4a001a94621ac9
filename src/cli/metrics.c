/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See metrics.h.  There are two kinds of metrics, which are never printed
 * together: what an engine says of the queues of names (holdfast_queue_...),
 * and what clients have counted in the files of a directory
 * (holdfast_client_...).
 */
#include "cli/metrics.h"

#include <stdio.h>
#include <string.h>

#include "cli/command_line.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/list_client.h"
#include "cli/metrics_dir.h"
#include "cli/queue_view.h"
#include "cli/ui.h"
#include "core/error.h"
#include "core/memory.h"
#include "metrics/metrics_families.h"

/* As that of `holdfast show`. */
#define WAIT_DEFAULT_MS 15000

struct metrics_options {
    const char *url;  /* NULL: HOLDFAST_URL, else the file engine */
    uint64_t wait_ms; /* how long to wait for the answers of each name */
    const char *dir;
    bool json;
    char **names;
    int name_count;
};

#define FIELD(field) HF_OPTION_FIELD(struct metrics_options, field)

static const struct hf_option_row rows[] = {
    HF_OPTION('c', "url", "URL", hf_option_url, FIELD(url),
              .help = "the engine, or @PROFILE; else HOLDFAST_URL, "
                      "else file:"),
    HF_OPTION('t', "timeout", "DURATION", hf_option_duration, FIELD(wait_ms),
              .help = "wait at most so long for the answers about each NAME; "
                      "else 15s"),
    HF_OPTION('d', "dir", "DIR", hf_option_text, FIELD(dir),
              .help = "print what clients have counted in DIR, and fold the "
                      "files of those that are gone"),
    HF_OPTION('j', "json", NULL, hf_option_set, FIELD(json), .set = true,
              .help = "write a JSON object in a line for each sample"),
};

static hf_status read_operands(const struct hf_command_line *line,
                               void *read_options, struct hf_error *error)
{
    struct metrics_options *options = read_options;

    options->names = line->argv + line->operands;
    options->name_count = line->argc - line->operands;
    if (options->dir != NULL &&
        (options->name_count > 0 || options->url != NULL))
        return hf_error_set(error, HF_EINVAL,
                            "--dir prints what clients have counted, and a URL "
                            "or NAME what an engine says; expected one of the "
                            "two");
    if (options->dir == NULL && options->name_count == 0)
        return hf_error_set(error, HF_EINVAL,
                            "NAME is missing; expected holdfast metrics [-c "
                            "URL] NAME..., or holdfast metrics --dir DIR");
    return HF_OK;
}

static const struct hf_command metrics_command = {
    .name = "metrics",
    .synopsis = "[OPTION...] NAME... | --dir DIR",
    .about =
        "Print metrics as OpenMetrics text: of each NAME how many hold it and\n"
        "wait for it, as the engine says; or the sum of what the clients have\n"
        "counted whose HOLDFAST_METRICS_DIR is DIR.\n",
    .notes = "See holdfast-metrics(1) for all metrics.\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .read_operands = read_operands,
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
                                   .json = options->json};
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

/* What the engine says of a name. */
struct queue_numbers {
    const char *name; /* as the user wrote it, without a leading '/' */
    uint64_t holders;
    uint64_t waiters;
    uint64_t oldest_wait_ms; /* HF_FOREVER: not known */
    uint64_t oldest_hold_ms; /* the same, from when the owner began to ask */
};

/* Set ${oldest_ms} to ${age_ms} if that is more, or not known. */
static void keep_oldest(uint64_t *oldest_ms, uint64_t age_ms)
{
    if (age_ms > *oldest_ms)
        *oldest_ms = age_ms;
}

/* Participants of a double barrier neither hold nor wait for a lock. */
static void count_tickets(const struct hf_queue_view *queue,
                          struct queue_numbers *numbers)
{
    const struct hf_ticket_view *view;

    for (size_t i = 0; (view = hf_queue_view_at(queue, i)) != NULL; i++) {
        if (view->kind == HF_KIND_PARTICIPANT)
            continue;
        if (view->holds) {
            numbers->holders++;
            keep_oldest(&numbers->oldest_hold_ms, view->age_ms);
        } else {
            numbers->waiters++;
            keep_oldest(&numbers->oldest_wait_ms, view->age_ms);
        }
    }
}

/* Is one of the ${count} ${numbers} about ${name}? */
static bool has_name(const struct queue_numbers *numbers, int count,
                     const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(numbers[i].name, name) == 0)
            return true;
    return false;
}

/* Ask about the name ${i} of ${options}. */
static hf_status load_name(struct hf_client *client,
                           const struct metrics_options *options, int i,
                           struct queue_numbers *numbers,
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

/* Ask about every name, each once; set ${count} to how many there are.  A
 * failure of one is that of all, because numbers that are missing would look
 * like locks that are free. */
static hf_status load_names(struct hf_client *client,
                            const struct metrics_options *options,
                            struct queue_numbers *numbers, int *count,
                            struct hf_error *error)
{
    hf_status status = HF_OK;

    *count = 0;
    for (int i = 0; i < options->name_count && status == HF_OK; i++) {
        const char *name = options->names[i] + (options->names[i][0] == '/');

        if (has_name(numbers, *count, name))
            continue;
        numbers[*count] = (struct queue_numbers){.name = name};
        status = load_name(client, options, i, &numbers[(*count)++], error);
    }
    return status;
}

enum queue_metric { HOLDERS, WAITERS, OLDEST_WAIT, OLDEST_HOLD, QUEUE_METRICS };

static const struct hf_metric_family queue_families[] = {
    [HOLDERS] = {"holdfast_queue_holders", HF_METRIC_GAUGE,
                 "Tickets that hold the lock, or permits of the semaphore."},
    [WAITERS] = {"holdfast_queue_waiters", HF_METRIC_GAUGE,
                 "Tickets that wait."},
    [OLDEST_WAIT] = {"holdfast_queue_oldest_wait_seconds",
                     HF_METRIC_GAUGE_SECONDS,
                     "Time since the oldest waiter began to ask; not there if "
                     "that is not known."},
    [OLDEST_HOLD] = {"holdfast_queue_oldest_hold_seconds",
                     HF_METRIC_GAUGE_SECONDS,
                     "Time since the oldest holder began to ask, so at most "
                     "that long it has held; not there if that is not known."},
};

/* HF_FOREVER: there is no sample. */
static uint64_t queue_number(const struct queue_numbers *numbers,
                             enum queue_metric metric)
{
    uint64_t ms = metric == OLDEST_WAIT ? numbers->oldest_wait_ms
                                        : numbers->oldest_hold_ms;

    if (metric == HOLDERS)
        return numbers->holders;
    if (metric == WAITERS)
        return numbers->waiters;
    return ms == HF_FOREVER ? HF_FOREVER : ms * 1000;
}

static void write_queues(struct hf_openmetrics *out,
                         const struct queue_numbers *numbers, int count)
{
    for (int metric = 0; metric < QUEUE_METRICS; metric++) {
        const struct hf_metric_family *family = &queue_families[metric];

        hf_openmetrics_family(out, family);
        for (int i = 0; i < count; i++) {
            uint64_t number =
                queue_number(&numbers[i], (enum queue_metric)metric);

            if (number != HF_FOREVER)
                hf_openmetrics_number(
                    out, family,
                    (struct hf_metric_label){"name", numbers[i].name}, number);
        }
    }
}

/* Returns the exit status. */
static int print_names(struct hf_client *client,
                       const struct metrics_options *options)
{
    struct queue_numbers *numbers =
        hf_alloc((size_t)options->name_count * sizeof *numbers);
    struct hf_openmetrics out;
    struct hf_error error;
    int count, exit_code;

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
        write_queues(&out, numbers, count);
        exit_code = end_output(&out);
    }
    hf_free(numbers);
    return exit_code;
}

/* By a client that only looks.  Returns the exit status. */
static int print_engine(const struct metrics_options *options)
{
    struct hf_client *client;
    struct hf_error error;
    int exit_code;

    hf_command_line_warn_password(options->url);
    if (hf_list_client_open(options->url, options->wait_ms, HF_LOG_WARNING,
                            &client, &error) != HF_OK) {
        hf_ui_print_error(&error);
        return hf_exit_status(error.status);
    }
    exit_code = print_names(client, options);
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
