/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `holdfast revoke` and `holdfast evict` share: which ticket of a queue
 * the user means by a word, what its owner will know of what is done to it, and
 * how the outcome is written.
 *
 * A word is the TOKEN that `holdfast show` prints, the id of the ticket, or the
 * first digits of that id.  The position in the queue cannot be used, because
 * it changes while the user types.
 */
#ifndef HF_CLI_TICKET_CHOICE_H
#define HF_CLI_TICKET_CHOICE_H

#include <stdbool.h>
#include <stdio.h>

#include "command/queue_view.h"

/* Check that ${word} can mean a ticket; HF_EINVAL if not. */
hf_status hf_ticket_choice_check(const char *word, struct hf_error *error);

/* Set ${view} to the ticket of ${queue} that ${word} means.
 *   Fails     HF_EGONE if there is none, HF_EINVAL if there are several. */
hf_status hf_ticket_choice_find(const struct hf_queue_view *queue,
                                const char *word,
                                const struct hf_ticket_view **view,
                                struct hf_error *error);

/* Does a request to release reach the owner of a ticket? */
enum hf_revoke_reach {
    HF_REACH_OWNER,   /* it uses this library, and receives it */
    HF_REACH_CURATOR, /* it receives it if it has a Revocable of Curator */
    HF_REACH_UNKNOWN, /* an earlier request has replaced its text */
    HF_REACH_NONE,    /* it uses another library, and receives nothing */
    HF_REACH_BARRIER, /* a participant of a double barrier; no request is
                           for them */
};
enum hf_revoke_reach hf_revoke_reach_of(const struct hf_ticket_view *view);

/* What became of one ticket. */
struct hf_ticket_outcome {
    const struct hf_ticket_view *view;
    bool done;          /* it was done: asked, or evicted */
    const char *result; /* "asked" and so on */
    const char *note;   /* what the user has to know besides; NULL: nothing */
};

/* Write ${count} outcomes to ${out} as one JSON object; ${engine} is what
 * hf_client_describe() says. */
void hf_ticket_outcomes_json(FILE *out, const char *engine, const char *name,
                             const struct hf_ticket_outcome *outcomes,
                             size_t count);

/* Print "asked OWNER, which holds NAME" on stdout, with ${outcome}->result for
 * "asked", and the note on stderr behind it. */
void hf_ticket_outcome_print(const char *name,
                             const struct hf_ticket_outcome *outcome);

#endif
