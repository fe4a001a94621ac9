/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast explain: who holds a lock, what those who wait for it hold
 * themselves, and the deadlock that this is part of. */
#ifndef HF_CLI_EXPLAIN_H
#define HF_CLI_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <holdfast/holdfast.h>

#include "core/deadlock_search.h"

/* The most waits of holders that are kept. */
#define HF_HOLDER_WAITS_MAX 256

/* A ticket by which a holder of the lock waits for another one. */
struct hf_holder_wait {
    struct hf_holder_wait *next;
    const struct hf_deadlock_ticket *holder; /* its ticket of the lock */
    struct hf_ticket_id id;
    uint64_t inner_run_pid; /* that waits; 0: the process of the holder */
    char name[];            /* of the lock that it waits for */
};

/* What was found. */
struct hf_explanation {
    const char *name;   /* of the lock */
    const char *engine; /* what hf_client_describe() says */
    struct hf_deadlock_search search;
    struct hf_holder_wait *waits; /* in the order in which they were found */
    size_t wait_count;
    bool waits_cut;      /* there are more than HF_HOLDER_WAITS_MAX */
    const char *within;  /* where waits were looked for; NULL: nowhere */
    bool within_ended;   /* all names there were seen, as far as they may be */
    uint64_t names;      /* that were seen there */
    uint64_t unreadable; /* that may not be read */
};

/* The search has ended: add what it has read of what the holders wait for.
 * False: no memory. */
bool hf_explain_waits_of_search(struct hf_explanation *explanation);

/* Add what ${names}, a walk over those at or below .within, show of it.  Each
 * page, and each queue, may take ${wait_ms}. */
hf_status hf_explain_waits_of_names(struct hf_client *client,
                                    struct hf_names *names, uint64_t wait_ms,
                                    struct hf_explanation *explanation,
                                    struct hf_error *error);

/* Free them. */
void hf_explain_waits_free(struct hf_explanation *explanation);

/* Write ${explanation} to ${out} as text; as one JSON object. */
void hf_explain_text(FILE *out, const struct hf_explanation *explanation);
void hf_explain_json(FILE *out, const struct hf_explanation *explanation);

/* `holdfast explain`, with argv[0] "explain".  Returns the exit status. */
int hf_explain_main(int argc, char **argv);

#endif
