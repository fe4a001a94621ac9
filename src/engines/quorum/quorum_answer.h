/* SPDX-License-Identifier: Apache-2.0 */
/* Answers with tickets, from what the servers of a quorum have answered. */
#ifndef HF_ENGINES_QUORUM_QUORUM_ANSWER_H
#define HF_ENGINES_QUORUM_QUORUM_ANSWER_H

#include "engines/quorum/quorum_private.h"

/* An answer under construction, with the memory for its arrays. */
struct hf_quorum_answer {
    struct hf_store_answer answer;
    struct hf_ticket *tickets;     /* ours; .answer points there */
    struct hf_store_lease *leases; /* ours; .answer points there */
};

/* Allocate room for all merged tickets.  False: memory ran out; ${request}
 * needs no answer, because the quorum goes down in the next tick.  In both
 * cases hf_quorum_answer_end() is due. */
bool hf_quorum_answer_begin(struct hf_quorum_answer *answer,
                            struct hf_quorum *quorum,
                            const struct hf_quorum_request *request);

/* Append a ticket.  Its payload still belongs to ${row}. */
void hf_quorum_answer_add(struct hf_quorum_answer *answer,
                          const struct hf_quorum_merged_ticket *row);

/* Free the arrays. */
void hf_quorum_answer_end(struct hf_quorum_answer *answer);

/* Answer ${request} with the merged queue, or wait a little if a ticket in it
 * is undecided. */
void hf_quorum_answer_queue(struct hf_quorum *quorum,
                            struct hf_quorum_request *request);

#endif
