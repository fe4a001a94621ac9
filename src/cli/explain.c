/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See explain.h.  About one name: a search (deadlock_survey.h) begins with its
 * queues and goes on from what the owners of the tickets there hold.  If
 * tickets of other programs wait there, and no certain deadlock was found, a
 * second search also knows what their sessions hold elsewhere.  About all
 * names: see explain_all.c.
 */
#include "cli/explain.h"
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>

#include <holdfast/names.h>
#include <holdfast/tickets.h>

#include "base/error.h"
#include "cli/deadlock_survey.h"
#include "cli/list_client.h"
#include "client/client.h"
#include "command/clock.h"
#include "command/command_line.h"
#include "command/exit_status.h"
#include "command/ui.h"

/* Long enough to get a session, short enough for a person. */
#define WAIT_DEFAULT_MS 15000

struct explain_options {
    const char *url;    /* NULL: HOLDFAST_URL, else the file engine */
    uint64_t wait_ms;   /* how long to wait for all answers */
    const char *within; /* where waits of holders are looked for; NULL: nowhere
                         */
    bool all;           /* look at all names */
    bool json;
    const char *name; /* with .all: look at this name and those below it; "": at
                         all names */
};

#define FIELD(field) HF_OPTION_FIELD(struct explain_options, field)

static const struct hf_option_row rows[] = {
    HF_URL_OPTION(FIELD(url)),
    HF_OPTION('w', "timeout", "DURATION", hf_option_wait, FIELD(wait_ms),
              .help = "wait at most so long for all answers; else 15s"),
    HF_OPTION('i', "within", "PREFIX", hf_option_text, FIELD(within),
              .help = "look for what the holders wait for at all names that "
                      "are PREFIX or below it; in ZooKeeper each node costs a "
                      "request"),
    HF_OPTION('a', "all", NULL, hf_option_set, FIELD(all), .set = true,
              .help = "look for deadlocks at all names, or those that are "
                      "PREFIX or below it, at the same cost"),
    HF_OPTION('j', "json", NULL, hf_option_set, FIELD(json), .set = true,
              .help = "write JSON, with the id of each ticket"),
};

static hf_status check(const struct hf_command_line *line, void *read_options,
                       struct hf_error *error)
{
    struct explain_options *options = read_options;
    char **operands = line->argv + line->operands;
    int count = line->argc - line->operands;

    if (options->all && options->within != NULL)
        return hf_error_set(error, HF_EINVAL,
                            "--within is about one NAME, and --all about all; "
                            "expected one of the two");
    if (options->name == NULL && !options->all)
        return hf_error_set(error, HF_EINVAL,
                            "NAME is missing; expected holdfast explain "
                            "[OPTION...] NAME, or holdfast explain --all "
                            "[PREFIX]");
    if (count > 1)
        return hf_error_set(error, HF_EINVAL,
                            "'%.80s': one %s at a time; explain each by itself",
                            operands[1], options->all ? "PREFIX" : "NAME");
    if (options->name == NULL)
        options->name = "";
    return HF_OK;
}

static const struct hf_command explain_command = {
    .name = "explain",
    .synopsis = "[OPTION...] NAME\n"
                "       holdfast explain [OPTION...] --all [PREFIX]",
    .about = "Say who holds the lock NAME, what those who wait for it hold "
             "themselves,\nand whether they wait for each other in a "
             "deadlock.  With --all: print each\ndeadlock that there is.\n",
    .notes = "The exit status is 0, whatever is found of a NAME.  With --all "
             "it is 0 if no\ndeadlock was found, 1 if one is possible, and 2 "
             "if there is one.  Else it is\nas of 'holdfast run'.  See "
             "holdfast-explain(1).\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .operands = {HF_OPERAND("NAME", struct explain_options, name,
                            .is_optional = true)},
    .more_operands = true,
    .check = check,
};

/* --------------------------------------------------------------- explain -- */

/* The lock that is explained; .names is NULL without --within. */
struct question {
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_names *names;
};

/* Search for a deadlock, with what is known of sessions. */
static hf_status search(const struct question *question,
                        const struct hf_list_times *times,
                        struct hf_explanation *explanation,
                        struct hf_error *error)
{
    const struct hf_deadlock_sessions sessions = {hf_session_table_find,
                                                  &explanation->sessions};
    struct hf_deadlock_search *search = &explanation->search;
    hf_status status;

    hf_deadlock_search_free(search);
    search->sessions = &sessions;
    status = hf_deadlock_search_begin_locks(search, &explanation->name, 1);
    if (status == HF_OK)
        status = hf_deadlock_survey_run(question->client, search, times, NULL,
                                        error);
    else
        hf_error_set(error, status, "out of memory");
    search->sessions = NULL;
    return status;
}

/* Does a ticket of another program wait in one of the queues that were read, so
 * that its session may be part of a deadlock? */
static bool sessions_wait(const struct hf_explanation *explanation)
{
    const struct hf_deadlock_graph *graph =
        hf_deadlock_search_graph(&explanation->search);
    const struct hf_deadlock_ticket *ticket;

    FOR_EACH_TICKET (ticket, graph) {
        if (ticket->session != 0 && ticket->state != HF_DEADLOCK_ADMITTED)
            return true;
    }
    return false;
}

static hf_status add_tickets(void *arg, const char *name,
                             const struct hf_tickets *tickets,
                             struct hf_error *error)
{
    struct hf_explanation *explanation = arg;
    const struct hf_ticket_view *view;

    (void)error;
    for (size_t i = 0; (view = hf_tickets_at(tickets, i)) != NULL; i++)
        hf_session_table_add(&explanation->sessions, name, view);
    return HF_OK;
}

/* Set below which name sessions are looked for: --within, else the name above
 * the one that is explained. */
static void choose_beside(struct hf_explanation *explanation)
{
    const char *end = strrchr(explanation->name, '/');
    size_t bytes = end != NULL ? (size_t)(end - explanation->name) : 0;

    if (explanation->within != NULL)
        (void)snprintf(explanation->beside, sizeof explanation->beside, "%s",
                       explanation->within);
    else
        memcpy(explanation->beside, explanation->name, bytes);
}

/* Look at the tickets of sessions in half of the time that is left.  A failure
 * does not end the command: what was not found is then not known. */
static void look_at_sessions(const struct question *question,
                             const struct hf_list_times *times,
                             struct hf_explanation *explanation)
{
    struct hf_names_opts opts = HF_NAMES_OPTS_INIT;
    uint64_t now_ms = hf_clock_now_ms(), left_ms;
    struct hf_names *names;
    struct hf_error error;

    choose_beside(explanation);
    opts.all = true;
    if (now_ms >= times->until_ms ||
        hf_names_open(question->client, explanation->beside, &opts, &names) !=
            HF_OK)
        return;
    left_ms = (times->until_ms - now_ms) / 2;
    explanation->session_walk = (struct hf_waiters_walk){
        .client = question->client,
        .names = names,
        .wait_ms = left_ms,
        .until_ms = hf_clock_add(now_ms, left_ms),
        .aim = "what sessions hold",
        .visit = add_tickets,
        .arg = explanation,
    };
    (void)hf_waiters_walk_run(&explanation->session_walk, &error);
    hf_names_free(names);
}

/* Look up all that is printed.  ${found}: the search has ended, so there is
 * something to print even if the walk over names fails. */
static hf_status look_up(const struct question *question,
                         const struct explain_options *options,
                         struct hf_explanation *explanation, bool *found,
                         struct hf_error *error)
{
    const struct hf_list_times times = {
        hf_clock_add(hf_clock_now_ms(), options->wait_ms), HF_FOREVER};
    hf_status status = search(question, &times, explanation, error);

    if (status == HF_OK && sessions_wait(explanation) &&
        (explanation->search.cycle.count == 0 ||
         explanation->search.possible)) {
        look_at_sessions(question, &times, explanation);
        if (explanation->sessions.tickets.root != NULL)
            status = search(question, &times, explanation, error);
    }
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
    hf_session_table_free(&explanation.sessions);
    hf_deadlock_search_free(&explanation.search);
    return exit_code;
}

/* Open the lock, and take its name as tickets have it, without a leading '/'.
 * Open the walk too, so that a wrong PREFIX is seen at once. */
static hf_status open_question(struct question *question,
                               const struct explain_options *options)
{
    struct hf_names_opts opts = HF_NAMES_OPTS_INIT;
    hf_status status =
        hf_lock_open(question->client, options->name, NULL, &question->lock);

    opts.all = true;
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
    int exit_code;

    if (open_question(&question, options) == HF_OK) {
        exit_code = answer(&question, options);
    } else {
        hf_ui_print_error(hf_last_error());
        exit_code = hf_exit_status(hf_last_error()->status);
    }
    hf_names_free(question.names);
    hf_lock_free(question.lock);
    return exit_code;
}

int hf_explain_main(int argc, char **argv)
{
    struct explain_options options = {.wait_ms = WAIT_DEFAULT_MS};
    struct hf_client *client;
    int exit_code;

    if (!hf_command_line_read(&explain_command, argc, argv, &options,
                              &exit_code))
        return exit_code;
    hf_command_line_warn_password(options.url);
    if (hf_list_client_open(options.url, options.wait_ms, HF_LOG_WARNING,
                            &client) != HF_OK) {
        hf_ui_print_error(hf_last_error());
        return hf_exit_status(hf_last_error()->status);
    }
    exit_code = options.all ? hf_explain_all(client, options.name,
                                             options.wait_ms, options.json)
                            : explain(client, &options);
    (void)hf_client_close(client);
    return exit_code;
}
