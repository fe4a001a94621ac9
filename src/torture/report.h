/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of a history once it has been judged. */
#ifndef HF_TORTURE_REPORT_H
#define HF_TORTURE_REPORT_H

#include <stdio.h>

#include "torture/checker.h"

/* For people: the violations, each in a line, then what was seen. */
void hf_report_text(FILE *out, const struct hf_history *history,
                    const struct hf_check_result *verdict);

/* For programs. */
void hf_report_json(FILE *out, const struct hf_history *history,
                    const struct hf_check_result *verdict);

/* Judge what ${name}, "-" for standard input, has, with its report on standard
 * output.  The exit status: HF_EXIT_VIOLATION if there is one, HF_EXIT_DATA if
 * there is no grant to judge. */
struct hf_report_opts {
    const char *name;
    const char *lock; /* for which contenders were started; NULL: for none */
    const char *svg;  /* a picture is written there; NULL: none */
    uint64_t late_ms;
    bool json;
};
int hf_report(const struct hf_report_opts *opts);

#endif
