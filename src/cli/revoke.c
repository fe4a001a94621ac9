/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holdfast revoke: asks owners to release.  The queue is looked up first, so
 * that the user learns whom the request goes to, and then each owner is asked.
 * A request is a message: the owner decides what it does.
 */
#include "cli/commands.h"

#include <stdlib.h>

#include "base/error.h"
#include "cli/list_client.h"
#include "cli/ticket_choice.h"
#include "command/command_line.h"
#include "command/exit_status.h"
#include "command/ui.h"

/* Long enough to get a session, short enough for a person. */
#define WAIT_DEFAULT_MS 15000

/* A lock may be handed over faster than its holders can be asked, so look at
 * most this often. */
#define LOOKS_MAX 16

struct revoke_options {
    const char *url;  /* NULL: HOLDFAST_URL, else the file engine */
    uint64_t wait_ms; /* how long to wait for each answer */
    bool json;
    const char *name;
    char **words; /* the tickets to ask for; none: those that hold */
    int word_count;
};

#define FIELD(field) HF_OPTION_FIELD(struct revoke_options, field)

static const struct hf_option_row rows[] = {
    HF_URL_OPTION(FIELD(url)),
    HF_ANSWER_TIMEOUT_OPTION(FIELD(wait_ms)),
    HF_OPTION('j', "json", NULL, hf_option_set, FIELD(json), .set = true,
              .help = "write JSON: each ticket, and what became of it"),
};

static hf_status check(const struct hf_command_line *line, void *read_options,
                       struct hf_error *error)
{
    struct revoke_options *options = read_options;
    hf_status status = HF_OK;

    options->words = line->argv + line->operands + 1;
    options->word_count = line->argc - line->operands - 1;
    for (int i = 0; i < options->word_count && status == HF_OK; i++)
        status = hf_ticket_choice_check(options->words[i], error);
    return status;
}

static const struct hf_command revoke_command = {
    .name = "revoke",
    .synopsis = "[OPTION...] NAME [TICKET...]",
    .about = "Ask the holder of the lock NAME to release it, or the owners of "
             "the TICKETs.\nEach owner decides for itself what it does.\n",
    .notes =
        "TICKET is the TOKEN that 'holdfast show' prints, or the id of "
        "'holdfast show\n--json', of which the first digits are enough.  The "
        "exit status is 0 if all\nwere asked, 1 if there was nobody to ask, a "
        "ticket was gone, or its owner\nreceives no requests; else as of "
        "'holdfast run'.  See holdfast-revoke(1).\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .operands = {HF_OPERAND("NAME", struct revoke_options, name)},
    .more_operands = true,
    .check = check,
};

/* The tickets of one look at the queue. */
struct revocation {
    const struct revoke_options *options;
    struct hf_client *client;
    struct hf_queue_view queue;
    struct hf_ticket_outcome *outcomes; /* one for each ticket */
    size_t count;
    bool missing; /* a TICKET was not there */
};

/* --------------------------------------------------------------- choose -- */

static hf_status fail_memory(struct hf_error *error)
{
    return hf_error_set(error, HF_ENOMEM, "no memory is left");
}

/* Choose the tickets that hold.  A participant of a double barrier holds
 * nothing. */
static hf_status choose_holders(struct revocation *revocation,
                                struct hf_error *error)
{
    const struct hf_ticket_view *view;
    size_t room = 0;

    while (hf_queue_view_at(&revocation->queue, room) != NULL)
        room++;
    revocation->outcomes = calloc(room + 1, sizeof *revocation->outcomes);
    if (revocation->outcomes == NULL)
        return fail_memory(error);
    for (size_t i = 0; i < room; i++) {
        view = hf_queue_view_at(&revocation->queue, i);
        if (view->holds && view->kind != HF_KIND_PARTICIPANT)
            revocation->outcomes[revocation->count++].view = view;
    }
    return HF_OK;
}

/* Is ${view} chosen already?  Two TICKETs may mean the same one. */
static bool is_chosen(const struct revocation *revocation,
                      const struct hf_ticket_view *view)
{
    for (size_t i = 0; i < revocation->count; i++)
        if (revocation->outcomes[i].view == view)
            return true;
    return false;
}

/* Choose the TICKETs of the command line; one that is not there is printed. */
static hf_status choose_words(struct revocation *revocation,
                              struct hf_error *error)
{
    const struct revoke_options *options = revocation->options;
    const struct hf_ticket_view *view;
    hf_status status;

    revocation->outcomes =
        calloc((size_t)options->word_count, sizeof *revocation->outcomes);
    if (revocation->outcomes == NULL)
        return fail_memory(error);
    for (int i = 0; i < options->word_count; i++) {
        status = hf_ticket_choice_find(&revocation->queue, options->words[i],
                                       &view, error);
        if (status == HF_EGONE) {
            hf_ui_print_error(error);
            revocation->missing = true;
        } else if (status != HF_OK) {
            return status;
        } else if (!is_chosen(revocation, view)) {
            revocation->outcomes[revocation->count++].view = view;
        }
    }
    return HF_OK;
}

/* ------------------------------------------------------------------ ask -- */

/* What the user has to know of a request to an owner of this kind; NULL:
 * nothing. */
static const char *note_of(enum hf_revoke_reach reach)
{
    switch (reach) {
    case HF_REACH_CURATOR:
        return "that owner does not use holdfast: a program with Curator "
               "releases only if it has made the lock revocable, which cannot "
               "be seen from here";
    case HF_REACH_UNKNOWN:
        return "that owner was asked before, and has not said since that it "
               "received the request";
    case HF_REACH_NONE:
        return "that owner was not asked: it uses another library, which "
               "receives no requests; end its program, or see 'holdfast evict'";
    case HF_REACH_BARRIER:
        return "that owner was not asked: participants of a double barrier "
               "receive no requests; end its program, or see 'holdfast evict'";
    case HF_REACH_OWNER:
        break;
    }
    return NULL;
}

/* Ask the owner of one ticket. */
static hf_status ask(struct revocation *revocation,
                     struct hf_ticket_outcome *outcome, struct hf_error *error)
{
    enum hf_revoke_reach reach = hf_revoke_reach_of(outcome->view);
    struct hf_lock *lock =
        hf_queue_view_lock_of(&revocation->queue, outcome->view);
    hf_status status;

    outcome->note = note_of(reach);
    outcome->result = "not asked";
    if (reach == HF_REACH_NONE || reach == HF_REACH_BARRIER)
        return HF_OK;
    status =
        hf_lock_revoke(lock, outcome->view->id, revocation->options->wait_ms);
    outcome->done = status == HF_OK;
    if (outcome->done) {
        outcome->result = "asked";
        return HF_OK;
    }
    outcome->result = "gone already";
    outcome->note = NULL;
    if (status == HF_EGONE)
        return HF_OK;
    *error = *hf_last_error();
    return status;
}

/* Ask all that were chosen. */
static hf_status ask_all(struct revocation *revocation, struct hf_error *error)
{
    hf_status status = HF_OK;

    for (size_t i = 0; i < revocation->count && status == HF_OK; i++)
        status = ask(revocation, &revocation->outcomes[i], error);
    return status;
}

/* Were all tickets that were chosen gone before they could be asked? */
static bool all_gone(const struct revocation *revocation)
{
    for (size_t i = 0; i < revocation->count; i++)
        if (revocation->outcomes[i].done ||
            revocation->outcomes[i].note != NULL)
            return false;
    return revocation->count > 0;
}

/* ----------------------------------------------------------------- look -- */

static void free_look(struct revocation *revocation)
{
    free(revocation->outcomes);
    revocation->outcomes = NULL;
    revocation->count = 0;
    hf_queue_view_free(&revocation->queue);
}

/* Look up the queue once, choose, and ask. */
static hf_status look_and_ask(struct revocation *revocation,
                              struct hf_error *error)
{
    const struct revoke_options *options = revocation->options;
    hf_status status =
        hf_queue_view_load(revocation->client, options->name, HF_TICKETS_ALL,
                           options->wait_ms, &revocation->queue, error);

    if (status != HF_OK)
        return status;
    status = options->word_count > 0 ? choose_words(revocation, error)
                                     : choose_holders(revocation, error);
    return status == HF_OK ? ask_all(revocation, error) : status;
}

/* Must we look again?  The holders were asked for, and all that were found were
 * gone before they could be asked. */
static bool is_outdated(const struct revocation *revocation)
{
    return revocation->options->word_count == 0 && all_gone(revocation);
}

/* --------------------------------------------------------------- report -- */

/* The exit status when nothing has failed. */
static int exit_status_of(const struct revocation *revocation)
{
    bool all = revocation->count > 0 && !revocation->missing;

    for (size_t i = 0; i < revocation->count; i++)
        all = all && revocation->outcomes[i].done;
    return all ? 0 : HF_EXIT_NO_TICKET;
}

/* Nobody holds the lock: say so, and who is there instead. */
static void report_nobody(const struct revocation *revocation)
{
    const struct hf_ticket_view *first =
        hf_queue_view_at(&revocation->queue, 0);
    const char *name = revocation->queue.name;

    if (first != NULL && first->kind == HF_KIND_PARTICIPANT)
        hf_ui_log(HF_LOG_WARNING,
                  "nobody was asked: '%.200s' is a double barrier, whose "
                  "participants receive no requests; end their programs, or "
                  "see 'holdfast evict'",
                  name);
    else
        hf_ui_log(HF_LOG_WARNING, "nobody was asked: nobody holds '%.200s'",
                  name);
}

/* Print what became of each ticket.  Returns the exit status. */
static int report(const struct revocation *revocation)
{
    const char *name = revocation->queue.name;
    char engine[HF_ERROR_TEXT_BYTES];
    int exit_code;

    hf_client_describe(revocation->client, engine, sizeof engine);
    if (revocation->options->json)
        hf_ticket_outcomes_json(stdout, engine, name, revocation->outcomes,
                                revocation->count);
    else
        for (size_t i = 0; i < revocation->count; i++)
            hf_ticket_outcome_print(name, &revocation->outcomes[i]);
    if (revocation->count == 0 && !revocation->missing)
        report_nobody(revocation);
    exit_code = hf_command_line_end_output();
    return exit_code != 0 ? exit_code : exit_status_of(revocation);
}

/* Returns the exit status. */
static int revoke(struct revocation *revocation)
{
    struct hf_error error;
    hf_status status = look_and_ask(revocation, &error);
    int exit_code;

    for (int i = 1; i < LOOKS_MAX && status == HF_OK && is_outdated(revocation);
         i++) {
        free_look(revocation);
        status = look_and_ask(revocation, &error);
    }
    if (status == HF_OK) {
        exit_code = report(revocation);
    } else {
        hf_ui_print_error(&error);
        exit_code = hf_exit_status(status);
    }
    free_look(revocation);
    return exit_code;
}

int hf_revoke_main(int argc, char **argv)
{
    struct revoke_options options = {.wait_ms = WAIT_DEFAULT_MS};
    struct revocation revocation = {.options = &options};
    int exit_code;

    if (!hf_command_line_read(&revoke_command, argc, argv, &options,
                              &exit_code))
        return exit_code;
    hf_command_line_warn_password(options.url);
    if (hf_list_client_open(options.url, options.wait_ms, HF_LOG_WARNING,
                            &revocation.client) != HF_OK) {
        hf_ui_print_error(hf_last_error());
        return hf_exit_status(hf_last_error()->status);
    }
    exit_code = revoke(&revocation);
    (void)hf_client_close(revocation.client);
    return exit_code;
}
