/* SPDX-License-Identifier: Apache-2.0 */
/* The report on a history that was checked. */
#ifndef HF_TORTURE_REPORT_H
#define HF_TORTURE_REPORT_H

#include <stdio.h>

#include "torture/checker.h"

/* Write the report for people: a line for each violation, then the counts. */
void hf_report_text(FILE *out, const struct hf_history *history,
                    const struct hf_check_result *result);

/* Write the report for programs: one JSON object. */
void hf_report_json(FILE *out, const struct hf_history *history,
                    const struct hf_check_result *result);

/* What to check and how to report it. */
struct hf_report_opts {
    const char *name; /* the file of the history; "-": standard input */
    const char *lock; /* the lock that torture used; NULL: no workers were
                         started */
    const char *svg;  /* write a timeline to this file; NULL: none */
    uint64_t late_ms; /* how late a loss may be notified, see
                         hf_check_history() */
    bool json;        /* write JSON instead of text */
};
/* Check a history and write the report to standard output.  Returns the exit
 * status: HF_EXIT_VIOLATION if a rule was broken, HF_EXIT_DATA if there was no
 * grant to check. */
int hf_report(const struct hf_report_opts *opts);

#endif
