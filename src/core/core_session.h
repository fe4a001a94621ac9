/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of the session, for core.c: losses, the end of a session, a close,
 * and the proofs that grants need.  Each concerns many objects at once.
 */
#ifndef HF_CORE_CORE_SESSION_H
#define HF_CORE_CORE_SESSION_H

#include "core/cohort.h"
#include "core/core_state.h"

/* Run through the acquisitions; each may leave the list in its turn. */
#define FOR_EACH(core, a, next)                                                \
    for (struct hf_acquisition *a = (core)->acquisitions.first, *next;         \
         a != NULL && (hf_core_count_visit(core), next = a->next, true);       \
         a = next)

#define FOR_EACH_OPERATION(core, operation, next)                              \
    for (struct hf_operation *operation = (core)->operations.first, *next;     \
         operation != NULL &&                                                  \
         (hf_core_count_visit(core), next = operation->next, true);            \
         operation = next)

#define FOR_EACH_COHORT(core, cohort)                                          \
    for (struct hf_cohort *cohort = (core)->cohorts.first;                     \
         cohort != NULL && (hf_core_count_visit(core), true);                  \
         cohort = cohort->next)

/* Take in ${event}, which is one of the session: from CONNECTED to CLOSED,
 * PROVEN, FAILED for a request of the session, CHECK, CLOSE. */
void hf_core_session_event(struct hf_core *core, const struct hf_event *event);

/* Something is HELD: end every grant if the instant at which grants end has
 * passed (hf_session_grants_end_at_ms()). */
void hf_core_expire(struct hf_core *core);

/* Request the next proof, or plan it, as long as somebody needs one. */
void hf_core_prove(struct hf_core *core);

/* The engine has returned from the UNWATCH .unwatching, so that request can be
 * used again.  Return the acquisition that it belongs to, which is to be
 * pumped; NULL: none. */
struct hf_acquisition *hf_core_unwatch_returned(struct hf_core *core);

#endif
