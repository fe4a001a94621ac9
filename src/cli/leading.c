/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast leading: who leads, and whether it is this machine.  For probes,
 * which ask again and again: one client that only looks, and one list. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <holdfast/lock.h>
#include <holdfast/tickets.h>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/list_client.h"
#include "cli/show.h"
#include "client/owner_text.h"
#include "command/clock.h"
#include "command/command_line.h"
#include "command/exit_status.h"
#include "command/format.h"
#include "command/ui.h"

/* Long enough to get a session, short enough for a person. */
#define WAIT_DEFAULT_MS 15000

struct leading_options {
    const char *url;  /* NULL: HOLDFAST_URL, else the file engine */
    uint64_t wait_ms; /* how long to wait for an answer */
    bool here;        /* only a leader on this machine counts */
    const char *host; /* only a leader on that machine counts; NULL: any */
    bool quiet;       /* print nothing */
    bool json;
    const char *name;
};

#define FIELD(field) HF_OPTION_FIELD(struct leading_options, field)

static const char one_host[] =
    "--here and --host contradict each other: give one";

static const struct hf_option_row rows[] = {
    HF_URL_OPTION(FIELD(url)),
    HF_ANSWER_TIMEOUT_OPTION(FIELD(wait_ms)),
    HF_OPTION(0, "here", NULL, hf_option_set, FIELD(here), .set = true,
              .one_of = one_host,
              .help = "exit with 0 only if the leader is on this machine "
                      "(uname -n)"),
    HF_OPTION(0, "host", "HOST", hf_option_text, FIELD(host),
              .one_of = one_host,
              .help = "exit with 0 only if the leader is on HOST"),
    HF_OPTION('q', "quiet", NULL, hf_option_set, FIELD(quiet), .set = true,
              .help = "print nothing but errors"),
    HF_OPTION('j', "json", NULL, hf_option_set, FIELD(json), .set = true,
              .help = "write JSON"),
};

static hf_status check(const struct hf_command_line *line, void *read_options,
                       struct hf_error *error)
{
    const struct leading_options *options = read_options;

    (void)line;
    if (options->quiet && options->json)
        return hf_error_set(error, HF_EINVAL,
                            "-q leaves nothing to print; expected it without "
                            "--json");
    if (options->host != NULL && options->host[0] == '\0')
        return hf_error_set(error, HF_EINVAL,
                            "--host '': not the name of a machine; expected "
                            "one as 'uname -n' prints it there, or --here");
    return HF_OK;
}

static const struct hf_command leading_command = {
    .name = "leading",
    .synopsis = "[OPTION...] NAME",
    .about = "Print who leads NAME; with --here or --host answer whether that "
             "machine\ndoes.\n",
    .notes = "The exit status is 0 if somebody leads, or that machine; 1 if "
             "not; else as\nof 'holdfast run'.  It is of a moment ago.  See "
             "holdfast-leading(1).\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .operands = {HF_OPERAND("NAME", struct leading_options, name)},
    .check = check,
};

/* The ticket that leads; NULL: none does.  A mutex leads too, because
 * elections of kazoo are mutexes. */
static const struct hf_ticket_view *
find_leader(const struct hf_tickets *holders)
{
    const struct hf_ticket_view *view;

    for (size_t i = 0; (view = hf_tickets_at(holders, i)) != NULL; i++)
        if (hf_ticket_view_is_held(view) && view->kind != HF_KIND_READ &&
            view->kind != HF_KIND_SEMAPHORE)
            return view;
    return NULL;
}

/* Is ${leader} one that was asked for? */
static bool is_wanted(const struct leading_options *options,
                      const struct hf_ticket_view *leader)
{
    if (leader == NULL)
        return false;
    return (!options->here && options->host == NULL) ||
           hf_owner_text_is_of_host(leader->owner, options->host);
}

static void write_json(const struct leading_options *options, const char *name,
                       const struct hf_ticket_view *leader)
{
    struct hf_json json = {.out = stdout};

    hf_json_begin_object(&json, NULL);
    hf_json_string(&json, "name", name);
    hf_json_bool(&json, "leading", is_wanted(options, leader));
    if (leader == NULL) {
        hf_json_null(&json, "leader");
    } else {
        hf_json_begin_object(&json, "leader");
        hf_show_json_ticket(&json, leader);
        hf_json_end_object(&json);
    }
    hf_json_end_object(&json);
}

/* The time of the grant is not recorded: how long ago the ticket was queued is
 * how long it has led at most. */
static void write_text(const char *name, const struct hf_ticket_view *leader)
{
    char owner[HF_FORMAT_BYTES], age[HF_FORMAT_BYTES];

    if (leader == NULL) {
        printf("nobody leads %s\n", name);
        return;
    }
    hf_format_owner(leader->owner, owner);
    printf("%s", owner[0] != '\0' ? owner : "-");
    if (leader->token != 0)
        printf(", token %" PRIu64, leader->token);
    hf_format_age(leader, hf_clock_utc_ms(), age);
    if (strcmp(age, "-") != 0)
        printf(", for %s at most", age);
    printf("\n");
}

/* Returns the exit status. */
static int print_leader(const struct leading_options *options, const char *name,
                        const struct hf_tickets *holders)
{
    const struct hf_ticket_view *leader = find_leader(holders);
    int exit_code = 0;

    if (options->json)
        write_json(options, name, leader);
    else if (!options->quiet)
        write_text(name, leader);
    exit_code = hf_command_line_end_output();
    if (exit_code == 0 && !is_wanted(options, leader))
        exit_code = HF_EXIT_NO_LEADER;
    return exit_code;
}

/* Print the failure of a call.  Returns the exit status. */
static int fail(void)
{
    hf_status status = hf_last_error()->status;

    hf_ui_print_error(hf_last_error());
    return status == HF_ENAME ? HF_EXIT_USAGE : hf_exit_status(status);
}

/* Returns the exit status. */
static int list_and_print(struct hf_client *client,
                          const struct leading_options *options)
{
    struct hf_tickets *holders;
    struct hf_lock *lock;
    int exit_code;

    if (hf_lock_open(client, options->name, NULL, &lock) != HF_OK)
        return fail();
    if (hf_lock_tickets(lock, HF_TICKETS_HOLDERS, options->wait_ms, &holders) ==
        HF_OK) {
        exit_code = print_leader(options, hf_lock_name(lock), holders);
        hf_tickets_free(holders);
    } else {
        exit_code = fail();
    }
    hf_lock_free(lock);
    return exit_code;
}

int hf_leading_main(int argc, char **argv)
{
    struct leading_options options = {.wait_ms = WAIT_DEFAULT_MS};
    struct hf_client *client;
    int exit_code;

    if (!hf_command_line_read(&leading_command, argc, argv, &options,
                              &exit_code))
        return exit_code;
    if (!options.quiet)
        hf_command_line_warn_password(options.url);
    if (hf_list_client_open(options.url, options.wait_ms,
                            options.quiet ? HF_LOG_ERROR : HF_LOG_WARNING,
                            &client) != HF_OK)
        return fail();
    exit_code = list_and_print(client, &options);
    (void)hf_client_close(client);
    return exit_code;
}
