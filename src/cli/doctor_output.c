/* SPDX-License-Identifier: Apache-2.0 */
/* The report of `holdfast doctor`, for people and as JSON. */
#include <inttypes.h>
#include <string.h>

#include "cli/doctor.h"
#include "command/json.h"

#define SEVERITIES (HF_SEVERITY_ERROR + 1)

enum hf_severity hf_doctor_worst(const struct hf_finding_list *list)
{
    enum hf_severity worst = HF_SEVERITY_OK;

    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].severity > worst)
            worst = list->items[i].severity;
    }
    return worst;
}

/* Call ${write} with each finding, the worst last. */
static void for_each_finding(const struct hf_finding_list *list,
                             void (*write)(void *arg,
                                           const struct hf_finding *finding),
                             void *arg)
{
    for (unsigned severity = 0; severity < SEVERITIES; severity++) {
        for (size_t i = 0; i < list->count; i++) {
            if ((unsigned)list->items[i].severity == severity)
                write(arg, &list->items[i]);
        }
    }
}

/* ----------------------------------------------------------------- JSON -- */

static void write_json_finding(void *arg, const struct hf_finding *finding)
{
    struct hf_json *json = arg;

    hf_json_begin_object(json, NULL);
    hf_json_string(json, "severity", hf_severity_name(finding->severity));
    hf_json_string(json, "id", finding->id);
    hf_json_string(json, "subject", finding->subject);
    hf_json_string(json, "text", finding->text);
    hf_json_string(json, "advice", finding->advice);
    hf_json_end_object(json);
}

static void write_json_probe(struct hf_json *json,
                             const struct hf_doctor_probe *probe)
{
    if (!probe->done) {
        hf_json_null(json, "probe");
        return;
    }
    hf_json_begin_object(json, "probe");
    hf_json_string(json, "name", probe->name);
    hf_json_number(json, "acquire_us", probe->acquire_us);
    hf_json_number(json, "release_us", probe->release_us);
    hf_json_number(json, "round_trip_us", probe->round_trip_us);
    hf_json_end_object(json);
}

static void write_json(FILE *out, const struct hf_doctor_report *report)
{
    struct hf_json json = {.out = out};

    hf_json_begin_object(&json, NULL);
    hf_json_string(&json, "engine", report->engine);
    hf_json_string(&json, "worst",
                   hf_severity_name(hf_doctor_worst(&report->findings)));
    hf_json_begin_list(&json, "findings");
    for_each_finding(&report->findings, write_json_finding, &json);
    hf_json_end_list(&json);
    write_json_probe(&json, &report->probe);
    hf_json_end_object(&json);
}

/* ---------------------------------------------------------------- lines -- */

static void write_line(void *arg, const struct hf_finding *finding)
{
    FILE *out = arg;
    const char *subject = finding->subject;

    fprintf(out, "%-8s %s: %s%s%s\n", hf_severity_name(finding->severity),
            finding->id, subject, subject[0] != '\0' ? ": " : "",
            finding->text);
    if (finding->advice[0] != '\0')
        fprintf(out, "%8s to do: %s\n", "", finding->advice);
}

/* Has the name of ${severity} a plural? */
static bool is_noun(enum hf_severity severity)
{
    return severity >= HF_SEVERITY_NOTICE;
}

/* "1 error, 2 notices, 5 ok": the worst first, as the last line. */
static void write_summary(FILE *out, const struct hf_finding_list *list)
{
    const char *comma = "";

    for (unsigned severity = SEVERITIES; severity-- > 0;) {
        unsigned count = 0;

        for (size_t i = 0; i < list->count; i++)
            count += (unsigned)list->items[i].severity == severity;
        if (count == 0)
            continue;
        fprintf(out, "%s%u %s%s", comma, count,
                hf_severity_name((enum hf_severity)severity),
                count > 1 && is_noun((enum hf_severity)severity) ? "s" : "");
        comma = ", ";
    }
    fprintf(out, "\n");
}

void hf_doctor_write(FILE *out, const struct hf_doctor_report *report,
                     bool json)
{
    if (json) {
        write_json(out, report);
        return;
    }
    if (report->engine[0] != '\0')
        fprintf(out, "%s\n", report->engine);
    for_each_finding(&report->findings, write_line, out);
    write_summary(out, &report->findings);
}
