/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast explain: who holds a lock, what those who wait for it hold
 * themselves, and the deadlock that this is part of. */
#ifndef HF_CLI_EXPLAIN_H
#define HF_CLI_EXPLAIN_H

#include <stdbool.h>
#include <stdio.h>

#include "core/deadlock_search.h"

/* What was found. */
struct hf_explanation {
    const char *name;   /* of the lock */
    const char *engine; /* what hf_client_describe() says */
    struct hf_deadlock_search search;
};

/* Write ${explanation} to ${out} as text; as one JSON object. */
void hf_explain_text(FILE *out, const struct hf_explanation *explanation);
void hf_explain_json(FILE *out, const struct hf_explanation *explanation);

/* `holdfast explain`, with argv[0] "explain".  Returns the exit status. */
int hf_explain_main(int argc, char **argv);

#endif
