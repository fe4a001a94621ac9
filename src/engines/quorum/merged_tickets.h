/* SPDX-License-Identifier: Apache-2.0 */
/* What several servers say of tickets, added up. */
#ifndef HF_ENGINES_QUORUM_MERGED_TICKETS_H
#define HF_ENGINES_QUORUM_MERGED_TICKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engines/leased/store.h"

struct hf_quorum_merged_ticket {
    struct hf_ticket ticket; /* as first told; its payload is ours */
    struct hf_store_lease lease;
    uint32_t present_at; /* servers that have it */
    uint32_t missing_at; /* that said it is missing */
    uint64_t
        committed; /* with that number, at one server at least; 0: at none */
    uint64_t least_proposed; /* that it was proposed with; 0: it was not */
};

struct hf_quorum_merged {
    struct hf_quorum_merged_ticket *rows;
    size_t count;
    size_t room;
    bool out_of_memory; /* memory has run out: it is not whole */
};

/* Take in what ${server} says of the tickets of ${answer}. */
void hf_quorum_merged_add(struct hf_quorum_merged *merged, size_t server,
                          const struct hf_store_answer *answer);

struct hf_quorum_merged_ticket *
hf_quorum_merged_find(const struct hf_quorum_merged *merged,
                      const struct hf_ticket_id *id);

/* The number by which it stands in a queue. */
uint64_t hf_quorum_merged_number(const struct hf_quorum_merged_ticket *row);

void hf_quorum_merged_clear(struct hf_quorum_merged *merged);

#endif
