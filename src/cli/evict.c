/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holdfast evict: removes a ticket by force.  Its owner may go on as if it held
 * the lock.  So the user first sees whose ticket it is and what the removal
 * means, and is then asked; a script answers in advance, by --yes.
 */
#include "cli/commands.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/error.h"
#include "base/utf8.h"
#include "cli/list_client.h"
#include "cli/ticket_choice.h"
#include "client/owner_text.h"
#include "command/clock.h"
#include "command/command_line.h"
#include "command/exit_status.h"
#include "command/format.h"
#include "command/ui.h"

/* Long enough to get a session, short enough for a person. */
#define WAIT_DEFAULT_MS 15000

/* The owner of the ticket reads "USER@HOST: REASON". */
#define USER_BYTES 48
#define HOST_BYTES 64
#define REASON_BYTES 140
_Static_assert(USER_BYTES + 1 + HOST_BYTES + 2 + REASON_BYTES <=
                   HF_EVICTED_BY_BYTES,
               "an eviction with the longest reason is refused");

struct evict_options {
    const char *url;    /* NULL: HOLDFAST_URL, else the file engine */
    uint64_t wait_ms;   /* how long to wait for each answer */
    const char *reason; /* NULL: none */
    bool yes;           /* do not ask */
    bool json;
    const char *name;
    const char *word; /* the ticket */
};

#define FIELD(field) HF_OPTION_FIELD(struct evict_options, field)

static const struct hf_option_row rows[] = {
    HF_URL_OPTION(FIELD(url)),
    HF_ANSWER_TIMEOUT_OPTION(FIELD(wait_ms)),
    HF_OPTION('m', "reason", "TEXT", hf_option_text, FIELD(reason),
              .help = "say why; its owner sees that, with user and host"),
    HF_OPTION('y', "yes", NULL, hf_option_set, FIELD(yes), .set = true,
              .help = "do not ask; without a terminal this is needed"),
    HF_OPTION('j', "json", NULL, hf_option_set, FIELD(json), .set = true,
              .help = "write JSON: the ticket, and what became of it"),
};

/* Can the user be asked? */
static bool has_terminal(void)
{
    return isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1;
}

static hf_status check(const struct hf_command_line *line, void *read_options,
                       struct hf_error *error)
{
    const struct evict_options *options = read_options;

    (void)line;
    if (options->word == NULL)
        return hf_error_set(error, HF_EINVAL,
                            "TICKET is missing; expected holdfast evict "
                            "[OPTION...] NAME TICKET; 'holdfast show NAME' "
                            "lists the tickets");
    if (options->reason != NULL &&
        hf_owner_text_check_value("reason", options->reason, REASON_BYTES,
                                  error) != HF_OK)
        return error->status;
    if (!options->yes && !has_terminal())
        return hf_error_set(error, HF_EINVAL,
                            "there is no terminal to ask on; expected --yes");
    return HF_OK;
}

static const struct hf_command evict_command = {
    .name = "evict",
    .synopsis = "[OPTION...] NAME TICKET",
    .about =
        "Remove the TICKET from the queue of the lock NAME by force, after "
        "asking.\nThe next one in the queue may enter before the owner of the "
        "ticket knows.\n",
    .notes =
        "TICKET is the TOKEN that 'holdfast show' prints, or the id of "
        "'holdfast show\n--json', of which the first digits are enough.  The "
        "exit status is 0 if it was\nremoved, 1 if it was not there or the "
        "answer was no; else as of 'holdfast run'.\nSee holdfast-evict(1).  "
        "'holdfast revoke' asks the owner instead.\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .operands = {HF_OPERAND("NAME", struct evict_options, name),
                 HF_OPERAND("TICKET", struct evict_options, word,
                            .is_optional = true,
                            .check = hf_ticket_choice_check)},
    .check = check,
};

/* ------------------------------------------------------------- question -- */

/* What the removal means to the owner of ${view}. */
static const char *consequence(const struct hf_ticket_view *view)
{
    switch (hf_revoke_reach_of(view)) {
    case HF_REACH_OWNER:
        return view->holds ? "its owner is notified that the lock is lost; the "
                             "next one may enter before that"
                           : "its owner queues again at the end";
    case HF_REACH_BARRIER:
        return "a double barrier that counts on it may not open, or may not "
               "close";
    case HF_REACH_UNKNOWN:
    case HF_REACH_CURATOR:
    case HF_REACH_NONE:
        break;
    }
    return view->holds ? "its owner may not use holdfast: it is not notified, "
                         "and goes on as if it held the lock"
                       : "its owner may not use holdfast: it is not notified, "
                         "and may wait for ever or fail";
}

/* Show ${view}, and what its removal means. */
static void warn(const char *name, const struct hf_ticket_view *view)
{
    char owner[HF_FORMAT_BYTES];

    hf_format_holder(view->owner, hf_clock_now_ms(), owner);
    hf_ui_log(HF_LOG_INFO, "%.200s, which %s '%.200s' (%s): %s",
              owner[0] != '\0' ? owner : "an owner that gives no name",
              view->kind == HF_KIND_PARTICIPANT ? "is at the barrier"
              : view->holds                     ? "holds"
                                                : "waits for",
              name, hf_format_kind(view->kind), consequence(view));
}

/* Ask whether to evict the ticket that was shown. */
static bool is_confirmed(void)
{
    char answer[16] = "";

    fputs("holdfast: evict it? [y/N] ", stderr);
    if (fgets(answer, sizeof answer, stdin) == NULL)
        fputc('\n', stderr);
    return strcmp(answer, "y\n") == 0 || strcmp(answer, "yes\n") == 0;
}

/* ---------------------------------------------------------------- evict -- */

/* Write "alice@db1: REASON" to ${text}.  The user is the one whose rights the
 * process has. */
static void format_evicted_by(const char *reason,
                              char text[HF_EVICTED_BY_BYTES + 1])
{
    char user[USER_BYTES + 1], memory[4096];
    struct passwd entry, *found = NULL;
    struct utsname machine;

    if (getpwuid_r(geteuid(), &entry, memory, sizeof memory, &found) == 0 &&
        found != NULL)
        (void)snprintf(user, sizeof user, "%s", entry.pw_name);
    else
        (void)snprintf(user, sizeof user, "%ld", (long)geteuid());
    (void)snprintf(text, HF_EVICTED_BY_BYTES + 1, "%s@%.*s", user, HOST_BYTES,
                   uname(&machine) == 0 ? machine.nodename : "?");
    hf_utf8_make_printable(text, true);
    if (reason != NULL)
        (void)strcat(strcat(text, ": "), reason);
}

/* Evict ${outcome}->view. */
static hf_status evict(const struct evict_options *options,
                       const struct hf_queue_view *queue,
                       struct hf_ticket_outcome *outcome,
                       struct hf_error *error)
{
    struct hf_lock *lock = hf_queue_view_lock_of(queue, outcome->view);
    char evicted_by[HF_EVICTED_BY_BYTES + 1];
    hf_status status;

    format_evicted_by(options->reason, evicted_by);
    status =
        hf_lock_evict(lock, outcome->view->id, evicted_by, options->wait_ms);

    outcome->done = status == HF_OK;
    outcome->result = outcome->done ? "evicted" : "gone already";
    if (outcome->done && options->json)
        outcome->note = consequence(outcome->view);
    if (status == HF_OK || status == HF_EGONE)
        return HF_OK;
    *error = *hf_last_error();
    return status;
}

/* Print what became of the ticket.  Returns the exit status. */
static int report(struct hf_client *client, const struct evict_options *options,
                  const char *name, const struct hf_ticket_outcome *outcome)
{
    char engine[HF_ERROR_TEXT_BYTES];
    int exit_code;

    hf_client_describe(client, engine, sizeof engine);
    if (options->json)
        hf_ticket_outcomes_json(stdout, engine, name, outcome, 1);
    else
        hf_ticket_outcome_print(name, outcome);
    exit_code = hf_command_line_end_output();
    if (exit_code != 0)
        return exit_code;
    return outcome->done ? 0 : HF_EXIT_NO_TICKET;
}

/* Print a failure that came before anything was removed.  Returns the exit
 * status. */
static int fail(const struct hf_error *error)
{
    hf_ui_print_error(error);
    return error->status == HF_EGONE ? HF_EXIT_NO_TICKET
                                     : hf_exit_status(error->status);
}

/* Find the ticket in ${queue}, warn, ask, and evict it.  Returns the exit
 * status. */
static int find_and_evict(struct hf_client *client,
                          const struct evict_options *options,
                          const struct hf_queue_view *queue)
{
    struct hf_ticket_outcome outcome = {.done = false};
    struct hf_error error;

    if (hf_ticket_choice_find(queue, options->word, &outcome.view, &error) !=
        HF_OK)
        return fail(&error);
    if (!options->yes || !options->json)
        warn(queue->name, outcome.view);
    if (!options->yes && !is_confirmed()) {
        hf_ui_log(HF_LOG_INFO, "nothing was evicted");
        return HF_EXIT_NO_TICKET;
    }
    if (evict(options, queue, &outcome, &error) != HF_OK)
        return fail(&error);
    return report(client, options, queue->name, &outcome);
}

int hf_evict_main(int argc, char **argv)
{
    struct evict_options options = {.wait_ms = WAIT_DEFAULT_MS};
    struct hf_queue_view queue;
    struct hf_client *client;
    struct hf_error error;
    int exit_code;

    if (!hf_command_line_read(&evict_command, argc, argv, &options, &exit_code))
        return exit_code;
    hf_command_line_warn_password(options.url);
    if (hf_list_client_open(options.url, options.wait_ms, HF_LOG_WARNING,
                            &client) != HF_OK)
        return fail(hf_last_error());
    if (hf_queue_view_load(client, options.name, HF_TICKETS_ALL,
                           options.wait_ms, &queue, &error) == HF_OK)
        exit_code = find_and_evict(client, &options, &queue);
    else
        exit_code = fail(&error);
    hf_queue_view_free(&queue);
    (void)hf_client_close(client);
    return exit_code;
}
