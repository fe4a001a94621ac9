/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast explain: who holds a lock, what those who wait for it hold
 * themselves, and the deadlock that this is part of. */
#ifndef HF_CLI_EXPLAIN_H
#define HF_CLI_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <holdfast/lock.h>
#include <holdfast/status.h>

#include "cli/session_table.h"
#include "cli/waiters_walk.h"
#include "command/json.h"
#include "core/deadlock_search.h"

/* The most waits of holders that are kept. */
#define HF_HOLDER_WAITS_MAX 256

/* A ticket by which a holder of the lock waits for another one. */
struct hf_holder_wait {
    struct hf_holder_wait *next;
    const struct hf_deadlock_ticket *holder; /* its ticket of that lock */
    struct hf_ticket_id id;
    uint64_t inner_run_pid; /* of the run that waits; 0: the holder itself */
    char name[];            /* of the lock that it waits for */
};

/* What was found. */
struct hf_explanation {
    const char *name;   /* of the lock */
    const char *engine; /* what hf_client_describe() says */
    struct hf_deadlock_search search;
    struct hf_holder_wait *waits; /* in the order in which they were found */
    size_t wait_count;
    bool waits_cut;     /* there are more than HF_HOLDER_WAITS_MAX */
    const char *within; /* where waits were looked for; NULL: nowhere */
    struct hf_waiters_walk walk; /* over the names there */
    /* The tickets of other programs; the walk that found them, whose .client is
     * NULL if there was none; and the names that it looked at, "": all. */
    struct hf_session_table sessions;
    struct hf_waiters_walk session_walk;
    char beside[HF_NAME_BYTES + 1];
};

/* The search has ended: add what the holders wait for, as far as it has read
 * that.  False: no memory. */
bool hf_explain_waits_of_search(struct hf_explanation *explanation);

/* Add what the holders wait for as ${names} shows it, a walk over the names at
 * or below .within.  Each page, and each queue, may take ${wait_ms}. */
hf_status hf_explain_waits_of_names(struct hf_client *client,
                                    struct hf_names *names, uint64_t wait_ms,
                                    struct hf_explanation *explanation,
                                    struct hf_error *error);

/* Free them. */
void hf_explain_waits_free(struct hf_explanation *explanation);

/* Write ${explanation} to ${out} as text; as one JSON object. */
void hf_explain_text(FILE *out, const struct hf_explanation *explanation);
void hf_explain_json(FILE *out, const struct hf_explanation *explanation);

/* Write the cycle of ${search}, one waiter in a line; as a list called
 * ${key}. */
void hf_explain_cycle_text(FILE *out, const struct hf_deadlock_search *search);
void hf_explain_cycle_json(struct hf_json *json, const char *key,
                           const struct hf_deadlock_search *search);

/* Write why a deadlock could not be known: a search was cut, or ${silent}
 * tickets do not say what their owners hold. */
void hf_explain_unknown(FILE *out, bool cut, uint64_t silent);

/* Write below which name was looked; nothing if all names were looked at. */
void hf_explain_prefix(FILE *out, const char *prefix);

/* explain_all.c: print each deadlock among the names at or below ${prefix}, as
 * text or as JSON.  Each page and each list may take ${wait_ms}.  Returns the
 * exit status. */
int hf_explain_all(struct hf_client *client, const char *prefix,
                   uint64_t wait_ms, bool json);

#endif
