/* SPDX-License-Identifier: Apache-2.0 */
/* See doctor.h.  One client that only looks asks the engine what it finds, and
 * then walks over the tickets; a probe has a client of its own. */
#include "cli/doctor.h"
#include "cli/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/list_client.h"
#include "command/clock.h"
#include "command/command_line.h"
#include "command/exit_status.h"
#include "command/format.h"
#include "command/ui.h"

/* Long enough to get a session, short enough for a monitor that starts it. */
#define WAIT_DEFAULT_MS 15000

#define PROGRESS_MS 1000

struct doctor_options {
    const char *url;  /* NULL: HOLDFAST_URL, else the file engine */
    uint64_t wait_ms; /* for each answer */
    bool probe;
    bool json;
    const char *name; /* of the probe; NULL: one of our own */
};

#define FIELD(field) HF_OPTION_FIELD(struct doctor_options, field)

static const struct hf_option_row rows[] = {
    HF_OPTION('c', "url", "URL", hf_option_url, FIELD(url),
              .help = "the engine, or @PROFILE; else HOLDFAST_URL, "
                      "else file:"),
    HF_OPTION('w', "timeout", "DURATION", hf_option_wait, FIELD(wait_ms),
              .help = "wait at most so long for each answer; else 15s"),
    HF_OPTION('P', "probe", NULL, hf_option_set, FIELD(probe), .set = true,
              .help = "also take and release the lock NAME, else one of "
                      "doctor's own, and measure that"),
    HF_OPTION('j', "json", NULL, hf_option_set, FIELD(json), .set = true,
              .help = "write JSON"),
};

static hf_status check(const struct hf_command_line *line, void *read_options,
                       struct hf_error *error)
{
    const struct doctor_options *options = read_options;

    (void)line;
    if (options->name == NULL || options->probe)
        return HF_OK;
    return hf_error_set(error, HF_EINVAL,
                        "'%.80s': a NAME is for the probe alone; expected "
                        "--probe with it, or holdfast show for one lock",
                        options->name);
}

static const struct hf_command doctor_command = {
    .name = "doctor",
    .synopsis = "[OPTION...] [--probe [NAME]]",
    .about = "Examine the engine and the tickets in it: what is as it should "
             "be, what is\nnot and what to do, and what cannot be seen.  Only "
             "reads, unless --probe.\n",
    .notes =
        "The exit status is that of the worst finding: 0 if there are only\n"
        "ok, unknown and notice, 1 for a warning, 2 for an error.  See\n"
        "holdfast-doctor(1).\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .operands = {HF_OPERAND("NAME", struct doctor_options, name,
                            .is_optional = true)},
    .check = check,
};

/* ------------------------------------------------------------ the engine -- */

/* The answer of the engine, written by the callback. */
struct doctor_answer {
    int fd; /* an eventfd, readable at the end */
    struct hf_error error;
    struct hf_findings *findings;
};

static void on_examined(void *arg, const struct hf_result *result)
{
    struct doctor_answer *answer = arg;
    const uint64_t one = 1;

    answer->error.status = result->status;
    (void)snprintf(answer->error.text, sizeof answer->error.text, "%s",
                   result->text);
    answer->findings = result->findings;
    (void)!write(answer->fd, &one, sizeof one);
}

/* Wait for the end, and show on a terminal that something goes on. */
static void await_end(const struct doctor_answer *answer)
{
    struct pollfd end = {answer->fd, POLLIN, 0};
    uint64_t started_ms = hf_clock_now_ms();

    while (poll(&end, 1, PROGRESS_MS) <= 0) {
        if (hf_ui_shows_wait(HF_NORMAL))
            hf_ui_show_progress("examining the engine (%" PRIu64 "s)",
                                (hf_clock_now_ms() - started_ms) / 1000);
    }
    hf_ui_clear_wait();
}

/* Add that the engine cannot be examined, because of ${error}.  ${missing}: it
 * is there but has no examination, which is no failure. */
static void add_failure(const struct hf_error *error, bool missing,
                        struct hf_finding_list *list)
{
    struct hf_finding_head head = {
        missing ? HF_SEVERITY_UNKNOWN : HF_SEVERITY_ERROR, "engine", "",
        missing ? NULL
                : "mend that first: what else is wrong cannot be seen "
                  "without the engine"};
    char text[HF_ERROR_TEXT_BYTES + HF_FORMAT_BYTES];

    hf_format_error(error->text, 0, text, sizeof text);
    hf_finding_add(list, &head, "%.500s", text);
}

/* Add what the engine finds.  False: it cannot be reached. */
static bool examine_engine(struct hf_client *client,
                           const struct doctor_options *options,
                           struct hf_finding_list *list)
{
    struct doctor_answer answer = {.fd = eventfd(0, EFD_CLOEXEC)};
    struct hf_done done = {on_examined, &answer, NULL};
    const struct hf_finding *finding;
    bool missing;

    if (answer.fd < 0)
        hf_error_set(&answer.error, HF_ELIMIT, "no descriptor: %s",
                     strerror(errno));
    else if (hf_client_examine_start(client, options->wait_ms, done) == HF_OK)
        await_end(&answer);
    else
        answer.error = *hf_last_error();
    if (answer.fd >= 0)
        (void)close(answer.fd);
    if (answer.error.status != HF_OK) {
        /* Not if there is no connection: a server that the client refuses may
         * be HF_EUNSUPPORTED too. */
        missing = answer.error.status == HF_EUNSUPPORTED &&
                  hf_client_state(client) == HF_STATE_CONNECTED;
        add_failure(&answer.error, missing, list);
        return missing;
    }
    for (size_t i = 0; (finding = hf_findings_at(answer.findings, i)) != NULL;
         i++) {
        struct hf_finding_head head = {finding->severity, finding->id,
                                       finding->subject, finding->advice};

        hf_finding_add(list, &head, "%s", finding->text);
    }
    hf_findings_free(answer.findings);
    return hf_client_state(client) == HF_STATE_CONNECTED;
}

/* ---------------------------------------------------------------- report -- */

/* The statuses are those that monitors expect of a check. */
static int exit_status_of(enum hf_severity worst)
{
    if (worst == HF_SEVERITY_ERROR)
        return HF_EXIT_ERROR;
    return worst == HF_SEVERITY_WARNING ? HF_EXIT_WARNING : 0;
}

/* Does ${status} concern the command line or this process, so that there is
 * nothing to examine? */
static bool is_of_command(hf_status status)
{
    return hf_exit_status(status) == HF_EXIT_USAGE ||
           hf_exit_status(status) == HF_EXIT_LIMIT ||
           hf_exit_status(status) == HF_EXIT_BUG;
}

/* The name of the probe if none was given.  It has the name of this machine, so
 * that two machines do not wait for each other. */
static void format_probe_name(char name[HF_NAME_BYTES + 1])
{
    struct utsname machine;

    (void)snprintf(name, HF_NAME_BYTES + 1, "holdfast-doctor/%s",
                   uname(&machine) == 0 && machine.nodename[0] != '\0'
                       ? machine.nodename
                       : "localhost");
}

/* Examine everything through ${client}.  If that is NULL, it could not be
 * opened because of ${error}. */
static void examine(struct hf_client *client, const struct hf_error *error,
                    const struct doctor_options *options,
                    struct hf_doctor_report *report, char *probe_name)
{
    bool reached = false;

    hf_doctor_examine_machine(&report->findings);
    if (client == NULL)
        add_failure(error, false, &report->findings);
    else
        reached = examine_engine(client, options, &report->findings);
    if (reached)
        hf_doctor_examine_tickets(client, options->wait_ms, &report->findings);
    if (!options->probe || !reached)
        return;
    if (options->name == NULL)
        format_probe_name(probe_name);
    hf_doctor_run_probe(options->url,
                        options->name != NULL ? options->name : probe_name,
                        options->wait_ms, report);
}

/* Print the report.  Returns the exit status. */
static int write_report(const struct hf_doctor_report *report, bool json)
{
    int exit_code;

    if (report->findings.failed) {
        hf_ui_print("no memory for the findings");
        return HF_EXIT_LIMIT;
    }
    hf_doctor_write(stdout, report, json);
    exit_code = hf_command_line_end_output();
    return exit_code != 0 ? exit_code
                          : exit_status_of(hf_doctor_worst(&report->findings));
}

int hf_doctor_main(int argc, char **argv)
{
    struct doctor_options options = {.wait_ms = WAIT_DEFAULT_MS};
    char engine[HF_ERROR_TEXT_BYTES] = "", probe_name[HF_NAME_BYTES + 1];
    struct hf_doctor_report report = {.engine = engine};
    struct hf_client *client = NULL;
    struct hf_error error = {.status = HF_OK};
    int exit_code;

    if (!hf_command_line_read(&doctor_command, argc, argv, &options,
                              &exit_code))
        return exit_code;
    hf_command_line_warn_password(options.url);
    if (hf_list_client_open(options.url, options.wait_ms, HF_LOG_ERROR,
                            &client) != HF_OK) {
        error = *hf_last_error();
        if (is_of_command(error.status)) {
            hf_ui_print_error(&error);
            return hf_exit_status(error.status);
        }
    }
    if (client != NULL)
        hf_client_describe(client, engine, sizeof engine);
    examine(client, &error, &options, &report, probe_name);
    exit_code = write_report(&report, options.json);
    if (client != NULL)
        (void)hf_client_close(client);
    hf_finding_list_free(&report.findings);
    return exit_code;
}
