/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast doctor: what is so at an engine's service, and what to do. */
#ifndef HF_CLI_DOCTOR_H
#define HF_CLI_DOCTOR_H

#include <stdio.h>

#include <holdfast/findings.h>
#include <holdfast/status.h>

#include "cli/deadlock_survey.h"
#include "core/finding_list.h"

/* What a probe has measured, in microseconds. */
struct hf_doctor_probe {
    bool done; /* the lock was taken and released */
    const char *name;
    uint64_t acquire_us;
    uint64_t release_us;
    uint64_t round_trip_us; /* of a list of its queue */
};

/* The report that hf_doctor_write() prints. */
struct hf_doctor_report {
    const char *engine; /* what it is connected to; "": that is not known */
    struct hf_finding_list findings;
    struct hf_doctor_probe probe;
};

/* doctor_machine.c: look at this machine. */
void hf_doctor_examine_machine(struct hf_finding_list *list);

/* doctor_tickets.c: look at the tickets of the names that there are, as far as
 * ${wait_ms} for each request allows, and add what was found to ${list}. */
void hf_doctor_examine_tickets(struct hf_client *client, uint64_t wait_ms,
                               struct hf_finding_list *list);

/* doctor_deadlocks.c: the deadlocks among these tickets. */
struct hf_doctor_deadlocks {
    struct hf_deadlock_survey survey;
    struct hf_finding_list *list;
    hf_status status; /* of the survey; after a failure it looks no more */
    struct hf_error error;
};

/* Begin.  Show the tickets to .survey (hf_deadlock_survey_sees()), and add the
 * names for which that returns true. */
void hf_doctor_deadlocks_begin(struct hf_doctor_deadlocks *deadlocks,
                               struct hf_client *client, uint64_t wait_ms,
                               struct hf_finding_list *list);
void hf_doctor_deadlocks_add(struct hf_doctor_deadlocks *deadlocks,
                             const char *name);

/* Add to the list what was found, and free the survey. */
void hf_doctor_deadlocks_end(struct hf_doctor_deadlocks *deadlocks);

/* doctor_probe.c: take and release the lock ${name} of the engine at ${url},
 * each within ${wait_ms}, and add how that went to ${report}. */
void hf_doctor_run_probe(const char *url, const char *name, uint64_t wait_ms,
                         struct hf_doctor_report *report);

/* doctor_output.c: write the report, the worst findings last. */
void hf_doctor_write(FILE *out, const struct hf_doctor_report *report,
                     bool json);

/* The worst of ${list}. */
enum hf_severity hf_doctor_worst(const struct hf_finding_list *list);

#endif
