/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See explain.h.  The search of core/deadlock_search.h says which queue to list
 * next, and each list is a call of the public interface.  It begins with the
 * queues of NAME and goes on from what those who are there hold.
 */
#include "cli/explain.h"

#include <string.h>

#include "cli/clock.h"
#include "cli/command_line.h"
#include "cli/exit_status.h"
#include "cli/list_client.h"
#include "cli/progress.h"
#include "cli/ui.h"
#include "core/error.h"
#include "core/memory.h"
#include "host/client.h"

/* Long enough to get a session, short enough for a person. */
#define WAIT_DEFAULT_MS 15000

struct explain_options {
    const char *url;    /* NULL: HOLDFAST_URL, else the file engine */
    uint64_t wait_ms;   /* how long to wait for all answers */
    const char *within; /* where waits of holders are looked for; NULL: nowhere
                         */
    bool all;           /* look at a tree of names however large it is */
    bool json;
    const char *name;
};

#define FIELD(field) HF_OPTION_FIELD(struct explain_options, field)

static const struct hf_option_row rows[] = {
    HF_URL_OPTION(FIELD(url)),
    HF_OPTION('t', "timeout", "DURATION", hf_option_duration, FIELD(wait_ms),
              .help = "wait at most so long for all answers; else 15s"),
    HF_OPTION('w', "within", "PREFIX", hf_option_text, FIELD(within),
              .help = "look for what the holders wait for at all names that "
                      "are PREFIX or below it"),
    HF_OPTION('a', "all", NULL, hf_option_set, FIELD(all), .set = true,
              .help = "with --within in ZooKeeper, walk a tree of more than "
                      "100000 nodes too; each costs a request"),
    HF_OPTION('j', "json", NULL, hf_option_set, FIELD(json), .set = true,
              .help = "write JSON, with the id of each ticket"),
};

static hf_status read_operands(const struct hf_command_line *line,
                               void *read_options, struct hf_error *error)
{
    struct explain_options *options = read_options;
    char **operands = line->argv + line->operands;
    int count = line->argc - line->operands;

    options->name = operands[0];
    if (options->all && options->within == NULL)
        return hf_error_set(error, HF_EINVAL,
                            "--all is about the names of --within, which is "
                            "missing; expected --within PREFIX too, or no "
                            "--all");
    if (count == 0)
        return hf_error_set(error, HF_EINVAL,
                            "NAME is missing; expected holdfast explain "
                            "[OPTION...] NAME");
    if (count > 1)
        return hf_error_set(error, HF_EINVAL,
                            "'%.80s': one NAME at a time; explain each by "
                            "itself",
                            operands[1]);
    return HF_OK;
}

static const struct hf_command explain_command = {
    .name = "explain",
    .synopsis = "[OPTION...] NAME",
    .about = "Say who holds the lock NAME, what those who wait for it hold "
             "themselves,\nand whether they wait for each other in a "
             "deadlock.\n",
    .notes = "The exit status is 0, whatever is found; else as of 'holdfast "
             "run'.\nSee holdfast-explain(1).\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .read_operands = read_operands,
};

/* ----------------------------------------------------------------- lists -- */

/* The kind of the ticket that ${view} shows. */
static enum hf_ticket_kind kind_of(const struct hf_ticket_view *view)
{
    switch (view->kind) {
    case HF_KIND_READ:
        return HF_TICKET_READ;
    case HF_KIND_WRITE:
        return HF_TICKET_WRITE;
    case HF_KIND_SEMAPHORE:
        return HF_TICKET_LEASE;
    case HF_KIND_ELECTION:
        return HF_TICKET_ELECTION;
    case HF_KIND_EXCLUSIVE:
        return HF_TICKET_EXCLUSIVE;
    case HF_KIND_PARTICIPANT:
        return HF_TICKET_PARTICIPANT;
    case HF_KIND_MUTEX:
        break;
    }
    return HF_TICKET_MUTEX;
}

/* The ticket that ${view} shows, at position ${index}. */
static struct hf_ticket ticket_of(const struct hf_ticket_view *view,
                                  size_t index)
{
    struct hf_ticket ticket = {
        .sequence = index,
        .token = view->token,
        .kind = kind_of(view),
        .weight = view->permits,
        .payload = view->owner,
    };

    (void)hf_ticket_id_parse(&ticket.id, view->id, strlen(view->id));
    return ticket;
}

/* Hand ${listed} to ${search}. */
static hf_status take_in(struct hf_deadlock_search *search,
                         const struct hf_tickets *listed,
                         struct hf_error *error)
{
    size_t count = hf_tickets_count(listed);
    struct hf_ticket *tickets = hf_alloc((count + 1) * sizeof *tickets);
    struct hf_snapshot snapshot = {tickets, count, 0};

    if (tickets == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    for (size_t i = 0; i < count; i++)
        tickets[i] = ticket_of(hf_tickets_at(listed, i), i);
    hf_deadlock_search_listed(search, &snapshot);
    hf_free(tickets);
    return HF_OK;
}

/* From now to ${until_ms}; 0 if that has passed. */
static uint64_t left_ms(uint64_t until_ms)
{
    uint64_t now_ms = hf_clock_now_ms();

    if (until_ms == HF_FOREVER)
        return HF_FOREVER;
    return until_ms > now_ms ? until_ms - now_ms : 0;
}

/* List ${queue} for ${search}. */
static hf_status list(struct hf_client *client, const char *queue,
                      uint64_t until_ms, struct hf_deadlock_search *search,
                      struct hf_error *error)
{
    struct hf_tickets *tickets = NULL;
    struct hf_lock *lock;
    hf_status status = hf_lock_open(client, queue, NULL, &lock);

    if (status != HF_OK) {
        hf_client_error(client, error);
        return status;
    }
    status = hf_lock_tickets(lock, HF_TICKETS_ALL, left_ms(until_ms), &tickets);
    if (status == HF_OK)
        status = take_in(search, tickets, error);
    else
        hf_lock_error(lock, error);
    hf_tickets_free(tickets);
    hf_lock_free(lock);
    return status;
}

/* Run the search to its end. */
static hf_status run_search(struct hf_client *client, uint64_t wait_ms,
                            struct hf_explanation *explanation,
                            struct hf_error *error)
{
    struct hf_deadlock_search *search = &explanation->search;
    uint64_t until_ms = hf_clock_add(hf_clock_now_ms(), wait_ms);
    char queue[HF_DEADLOCK_QUEUE_NAME_BYTES];
    struct hf_text_range texts;
    struct hf_progress progress;
    size_t count = 0;
    hf_status status = hf_deadlock_search_begin_lock(search, explanation->name);

    if (status != HF_OK)
        return hf_error_set(error, status, "out of memory");
    hf_progress_begin(&progress);
    while (status == HF_OK && hf_deadlock_search_next(search, queue, &texts)) {
        if (hf_progress_is_due(&progress))
            hf_ui_show_progress("looking for a deadlock: %zu queue%s read",
                                count, count == 1 ? "" : "s");
        status = list(client, queue, until_ms, search, error);
        count++;
    }
    hf_ui_clear_wait();
    if (status == HF_OK && hf_deadlock_search_status(search) == HF_ENOMEM)
        status = hf_error_set(error, HF_ENOMEM, "out of memory");
    return status;
}

/* --------------------------------------------------------------- explain -- */

/* The lock that is explained; .names is NULL without --within. */
struct question {
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_names *names;
};

/* Look up all that is printed.  ${found}: the search has come to its end, so
 * that there is something to print even if the walk over names fails. */
static hf_status look_up(const struct question *question,
                         const struct explain_options *options,
                         struct hf_explanation *explanation, bool *found,
                         struct hf_error *error)
{
    hf_status status =
        run_search(question->client, options->wait_ms, explanation, error);

    *found = status == HF_OK;
    if (status != HF_OK)
        return status;
    if (!hf_explain_waits_of_search(explanation))
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    if (question->names == NULL)
        return HF_OK;
    return hf_explain_waits_of_names(question->client, question->names,
                                     options->wait_ms, explanation, error);
}

/* Returns the exit status. */
static int answer(const struct question *question,
                  const struct explain_options *options)
{
    struct hf_explanation explanation = {.name = hf_lock_name(question->lock),
                                         .within = options->within};
    char engine[HF_ERROR_TEXT_BYTES];
    struct hf_error error;
    bool found;
    hf_status status = look_up(question, options, &explanation, &found, &error);
    int exit_code;

    hf_client_describe(question->client, engine, sizeof engine);
    explanation.engine = engine;
    if (found && options->json)
        hf_explain_json(stdout, &explanation);
    else if (found)
        hf_explain_text(stdout, &explanation);
    exit_code = hf_command_line_end_output();
    if (status != HF_OK) {
        hf_ui_print_error(&error);
        exit_code = hf_exit_status(status);
    }
    hf_explain_waits_free(&explanation);
    hf_deadlock_search_free(&explanation.search);
    return exit_code;
}

/* Open the lock, so that its name is as tickets have it: without a leading '/';
 * and the walk, so that a wrong PREFIX is seen at once. */
static hf_status open_question(struct question *question,
                               const struct explain_options *options)
{
    struct hf_names_opts opts = HF_NAMES_OPTS_INIT;
    hf_status status =
        hf_lock_open(question->client, options->name, NULL, &question->lock);

    opts.all = options->all;
    if (status == HF_OK && options->within != NULL)
        status = hf_names_open(question->client, options->within, &opts,
                               &question->names);
    return status;
}

/* Returns the exit status. */
static int explain(struct hf_client *client,
                   const struct explain_options *options)
{
    struct question question = {.client = client};
    struct hf_error error;
    int exit_code;

    if (open_question(&question, options) == HF_OK) {
        exit_code = answer(&question, options);
    } else {
        hf_client_error(client, &error);
        hf_ui_print_error(&error);
        exit_code = hf_exit_status(error.status);
    }
    hf_names_free(question.names);
    hf_lock_free(question.lock);
    return exit_code;
}

int hf_explain_main(int argc, char **argv)
{
    struct explain_options options = {.wait_ms = WAIT_DEFAULT_MS};
    struct hf_client *client;
    struct hf_error error;
    int exit_code;

    if (!hf_command_line_read(&explain_command, argc, argv, &options,
                              &exit_code))
        return exit_code;
    hf_command_line_warn_password(options.url);
    if (hf_list_client_open(options.url, options.wait_ms, HF_LOG_WARNING,
                            &client, &error) != HF_OK) {
        hf_ui_print_error(&error);
        return hf_exit_status(error.status);
    }
    exit_code = explain(client, &options);
    (void)hf_client_close(client);
    return exit_code;
}
