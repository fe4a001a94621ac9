/* SPDX-License-Identifier: Apache-2.0 */
/* Makes answers with tickets from the merged answers of the servers. */
#ifndef HF_ENGINES_QUORUM_QUORUM_ANSWER_H
#define HF_ENGINES_QUORUM_QUORUM_ANSWER_H

#include "engines/quorum/quorum_private.h"

/* An answer that is being made, with the memory of its arrays. */
struct hf_quorum_answer {
    struct hf_store_answer answer;
    /* belongs to this struct; .answer points there */
    struct hf_ticket *tickets;
    /* belongs to this struct; .answer points there */
    struct hf_store_lease *leases;
};

/* Allocate room for all merged tickets.  Returns false if memory ran out; then
 * the quorum goes down in the next tick and ${request} needs no answer.  In
 * both cases call hf_quorum_answer_end() afterwards. */
bool hf_quorum_answer_begin(struct hf_quorum_answer *answer,
                            struct hf_quorum *quorum,
                            const struct hf_quorum_request *request);

/* Append the ticket of ${row}, to which its payload still belongs. */
void hf_quorum_answer_add(struct hf_quorum_answer *answer,
                          const struct hf_quorum_merged_ticket *row);

/* Free the arrays. */
void hf_quorum_answer_end(struct hf_quorum_answer *answer);

/* Answer ${request} with the merged queue; or wait a little, if it is not known
 * whether a majority has a ticket in it. */
void hf_quorum_answer_queue(struct hf_quorum *quorum,
                            struct hf_quorum_request *request);

#endif
