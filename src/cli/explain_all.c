/* SPDX-License-Identifier: Apache-2.0 */
/* `holdfast explain --all`: a walk over the names shows those where somebody
 * waits to a survey, and each deadlock is printed as it is found. */
#include <inttypes.h>

#include <holdfast/names.h>
#include <holdfast/tickets.h>

#include "cli/deadlock_survey.h"
#include "cli/explain.h"
#include "command/command_line.h"
#include "command/exit_status.h"
#include "command/ui.h"

struct explain_all {
    struct hf_deadlock_survey survey;
    struct hf_waiters_walk walk;
    const char *prefix;
    struct hf_json json; /* .out is NULL: text is written */
};

/* ---------------------------------------------------------------- output -- */

static void write_found(void *arg, const struct hf_deadlock_search *search)
{
    struct explain_all *all = arg;

    hf_ui_clear_wait();
    if (all->json.out == NULL) {
        hf_explain_cycle_text(stdout, search);
        return;
    }
    hf_json_begin_object(&all->json, NULL);
    hf_json_bool(&all->json, "possible", search->possible);
    hf_explain_cycle_json(&all->json, "waiters", search);
    hf_json_end_object(&all->json);
}

/* Begin the output.  Text has no beginning before the first deadlock. */
static void write_begin(struct explain_all *all, struct hf_client *client)
{
    char engine[HF_ERROR_TEXT_BYTES];

    if (all->json.out == NULL)
        return;
    hf_client_describe(client, engine, sizeof engine);
    hf_json_begin_object(&all->json, NULL);
    hf_json_string(&all->json, "engine", engine);
    hf_json_string(&all->json, "prefix", all->prefix);
    hf_json_begin_list(&all->json, "deadlocks");
}

static void write_end_json(struct explain_all *all)
{
    struct hf_json *json = &all->json;

    hf_json_end_list(json);
    hf_json_number(json, "names", all->walk.name_count);
    hf_json_number(json, "unreadable",
                   all->walk.unreadable + all->survey.unreadable);
    hf_json_number(json, "silent", all->survey.silent);
    hf_json_bool(json, "complete", all->walk.ended && !all->survey.cut);
    hf_json_end_object(json);
}

/* How many were found. */
static void write_counts(const struct hf_deadlock_survey *survey)
{
    if (survey->certain > 0)
        printf("%" PRIu64 " deadlock%s", survey->certain,
               survey->certain == 1 ? "" : "s");
    if (survey->certain > 0 && survey->possible > 0)
        fputs(" and ", stdout);
    if (survey->possible > 0)
        printf("%" PRIu64 " possible deadlock%s", survey->possible,
               survey->possible == 1 ? "" : "s");
    fputs(" found", stdout);
}

/* The last line. */
static void write_end_text(const struct explain_all *all)
{
    const struct hf_deadlock_survey *survey = &all->survey;
    const struct hf_waiters_walk *walk = &all->walk;
    uint64_t unreadable = walk->unreadable + survey->unreadable;
    bool found = survey->certain + survey->possible > 0;
    bool unknown = survey->cut || survey->silent > 0;

    if (found)
        write_counts(survey);
    else if (!unknown)
        fputs("no deadlock was found", stdout);
    if (unknown) {
        fputs(found ? "; whether there is another one"
                    : "whether there is a deadlock",
              stdout);
        hf_explain_unknown(stdout, survey->cut, survey->silent);
    }
    printf("; %" PRIu64 " name%s", walk->name_count,
           walk->name_count == 1 ? "" : "s");
    hf_explain_prefix(stdout, all->prefix);
    fputs(walk->name_count == 1 ? " was looked at" : " were looked at", stdout);
    if (unreadable > 0)
        printf("; %" PRIu64 " of what is there could not be read", unreadable);
    puts(walk->ended ? "" : "; there may be more");
}

/* The exit statuses are those of doctor, as monitors expect them of a check. */
static int exit_status_of(const struct hf_deadlock_survey *survey)
{
    if (survey->certain > 0)
        return HF_EXIT_ERROR;
    return survey->possible > 0 || survey->cut ? HF_EXIT_WARNING : 0;
}

/* ------------------------------------------------------------------ walk -- */

/* Show the survey the tickets of the lock called ${name}. */
static hf_status visit(void *arg, const char *name,
                       const struct hf_tickets *tickets, struct hf_error *error)
{
    struct explain_all *all = arg;
    const struct hf_ticket_view *view;
    bool leads_on = false;

    for (size_t i = 0; (view = hf_tickets_at(tickets, i)) != NULL; i++)
        leads_on |= hf_deadlock_survey_sees(&all->survey, name, view);
    return leads_on ? hf_deadlock_survey_add(&all->survey, name, error) : HF_OK;
}

/* Look at all names.  If that fails, what was found before is written all the
 * same, and the exit status is that of the failure unless a certain deadlock
 * was found. */
static int look_at_all(struct explain_all *all)
{
    struct hf_error error;
    hf_status status;
    int exit_code;

    write_begin(all, all->survey.client);
    status = hf_waiters_walk_run(&all->walk, &error);
    if (status == HF_OK)
        status = hf_deadlock_survey_finish(&all->survey, &error);
    if (status != HF_OK)
        all->walk.ended = false;
    if (all->json.out != NULL)
        write_end_json(all);
    else
        write_end_text(all);
    exit_code = hf_command_line_end_output();
    if (status != HF_OK)
        hf_ui_print_error(&error);
    if (exit_code == 0)
        exit_code = exit_status_of(&all->survey);
    if (status != HF_OK && exit_code <= HF_EXIT_WARNING)
        exit_code = hf_exit_status(status);
    return exit_code;
}

int hf_explain_all(struct hf_client *client, const char *prefix,
                   uint64_t wait_ms, bool json)
{
    struct explain_all all = {.prefix = prefix};
    struct hf_names_opts opts = HF_NAMES_OPTS_INIT;
    int exit_code;

    opts.all = true;
    if (hf_names_open(client, prefix, &opts, &all.walk.names) != HF_OK) {
        hf_ui_print_error(hf_last_error());
        return hf_exit_status(hf_last_error()->status);
    }
    all.survey.client = all.walk.client = client;
    all.survey.wait_ms = all.walk.wait_ms = wait_ms;
    all.survey.found = write_found;
    all.walk.aim = "deadlocks";
    all.walk.visit = visit;
    all.survey.arg = all.walk.arg = &all;
    all.json.out = json ? stdout : NULL;
    exit_code = look_at_all(&all);
    hf_deadlock_survey_free(&all.survey);
    hf_names_free(all.walk.names);
    return exit_code;
}
