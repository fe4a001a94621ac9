/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/show.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "cli/exit_status.h"
#include "cli/json.h"
#include "cli/say.h"
#include "cli/words.h"
#include "core/quote.h"
#include "core/url.h"
#include "host/owner.h"

static const char usage[] =
    "usage: holdfast show [OPTION...] NAME\n"
    "\n"
    "Show who holds the lock NAME and who waits for it, in order; and who is "
    "at the\n"
    "double barrier of that name.\n"
    "\n"
    "  -c URL        the engine; else HOLDFAST_URL, else file:\n"
    "  -t DURATION   wait at most so long for an answer; else 15s\n"
    "  --json        write JSON, with the id of each ticket\n"
    "  -h, --help    this text\n"
    "\n"
    "AGE is how long ago the owner began to wait, with '~' where only the "
    "clocks of\n"
    "two machines tell.  The exit status is 0 also if nobody is there; else "
    "as of\n"
    "'holdfast run'.  See holdfast-show(1).\n";

/* For people only: no decision depends on it. */
static uint64_t utc_now_ms(void)
{
    time_t now = time(NULL);

    return now > 0 ? (uint64_t)now * 1000 : 0;
}

/* ----------------------------------------------------------------- json -- */

static void write_time(struct hf_json *json, uint64_t utc_ms)
{
    time_t seconds = (time_t)(utc_ms / 1000);
    struct tm parts;
    char text[64];

    if (utc_ms != 0 && gmtime_r(&seconds, &parts) != NULL &&
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts) > 0)
        hf_json_string(json, "created", text);
    else
        hf_json_null(json, "created");
}

static void write_owner(struct hf_json *json, const char *payload)
{
    struct hf_owner owner;

    hf_json_string(json, "payload", payload);
    if (!hf_owner_parse(payload, 0, &owner)) {
        hf_json_null(json, "owner");
        return;
    }
    hf_json_begin_object(json, "owner");
    hf_json_string(json, "host", owner.host);
    hf_json_number(json, "pid", owner.pid);
    hf_json_string(json, "command", owner.command);
    hf_json_number(json, "thread", owner.thread);
    hf_json_string(json, "text", owner.text);
    hf_json_end_object(json);
}

static void write_ticket(struct hf_json *json,
                         const struct hf_ticket_view *view, size_t place)
{
    char token[24];

    hf_json_begin_object(json, NULL);
    hf_json_number(json, "place", place + 1);
    hf_json_string(json, "state", hf_words_state(view));
    hf_json_string(json, "kind", hf_words_kind(view->kind));
    if (view->permits != 0)
        hf_json_number(json, "permits", view->permits);
    else
        hf_json_null(json, "permits");
    hf_json_string(json, "id", view->id);
    /* As text: most readers of JSON have no room for 64 bits in a number. */
    (void)snprintf(token, sizeof token, "%" PRIu64, view->token);
    if (view->token != 0)
        hf_json_string(json, "token", token);
    else
        hf_json_null(json, "token");
    if (view->age_ms != HF_FOREVER)
        hf_json_number(json, "age_ms", view->age_ms);
    else
        hf_json_null(json, "age_ms");
    write_time(json, view->created_utc_ms);
    hf_json_string(json, "dialect", view->dialect);
    write_owner(json, view->owner);
    hf_json_end_object(json);
}

static void write_json(const char *name, const char *engine,
                       const struct hf_sights *sights)
{
    struct hf_json json = {.out = stdout};
    const struct hf_ticket_view *view;
    const char *foreign;

    hf_json_begin_object(&json, NULL);
    hf_json_string(&json, "name", name);
    hf_json_string(&json, "engine", engine);
    hf_json_begin_list(&json, "tickets");
    for (size_t i = 0; (view = hf_sights_at(sights, i)) != NULL; i++)
        write_ticket(&json, view, i);
    hf_json_end_list(&json);
    hf_json_begin_list(&json, "foreign");
    for (size_t i = 0; (foreign = hf_sights_foreign(sights, i)) != NULL; i++)
        hf_json_string(&json, NULL, foreign);
    hf_json_end_list(&json);
    hf_json_end_object(&json);
}

/* ----------------------------------------------------------------- show -- */

static void report_foreign(const char *name, const struct hf_sights *sights)
{
    const char *foreign;

    for (size_t i = 0; (foreign = hf_sights_foreign(sights, i)) != NULL; i++)
        hf_say("'%.200s' has a child that is no ticket and has no say: %s",
               name, hf_quote(foreign, strlen(foreign)).text);
}

static int show(const char *engine, const struct hf_show_options *options,
                const struct hf_sights *sights)
{
    if (options->json)
        write_json(sights->name, engine, sights);
    else if (hf_sights_at(sights, 0) == NULL)
        printf("nobody holds or waits for %s\n", sights->name);
    else
        hf_show_table(stdout, sights, utc_now_ms());
    if (fflush(stdout) != 0 || ferror(stdout))
        return HF_EXIT_DIRECTORY;
    report_foreign(sights->name, sights);
    return 0;
}

static void on_log(void *arg, enum hf_log_level level, const char *line)
{
    (void)arg;
    (void)level;
    hf_say("%s", line);
}

static hf_status open_client(const struct hf_show_options *options,
                             struct hf_client **client, struct hf_error *error)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;

    opts.connect_ms = options->wait_ms;
    opts.on_log.fn = on_log;
    return hf_client_open(options->url, &opts, client, error);
}

static int look(struct hf_client *client, const struct hf_show_options *options)
{
    char engine[HF_ERROR_TEXT_BYTES];
    struct hf_sights sights;
    struct hf_error error;
    int exit_code;

    hf_client_describe(client, engine, sizeof engine);
    if (hf_sights_look(client, options->name, options->wait_ms, &sights,
                       &error) == HF_OK) {
        exit_code = show(engine, options, &sights);
    } else {
        hf_say("%s", error.text);
        exit_code = hf_exit_status(error.status);
    }
    hf_sights_free(&sights);
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
        hf_say("%s", error.text);
        return HF_EXIT_USAGE;
    case HF_PARSED_RUN:
        break;
    }
    if (options.url != NULL && hf_url_has_secret(options.url))
        hf_say("warning: every user of this machine can read the password in "
               "-c; put the URL into HOLDFAST_URL instead");
    if (open_client(&options, &client, &error) != HF_OK) {
        hf_say("%s", error.text);
        return hf_exit_status(error.status);
    }
    exit_code = look(client, &options);
    (void)hf_client_close(client);
    return exit_code;
}
