/* SPDX-License-Identifier: Apache-2.0 */
/* What several servers say of tickets, added up. */
#ifndef HF_ENGINES_QUORUM_TALLY_H
#define HF_ENGINES_QUORUM_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engines/leased/store.h"

struct hf_quorum_row {
    struct hf_ticket ticket; /* as first told; its payload is ours */
    struct hf_store_lease lease;
    uint32_t there;   /* servers that have it */
    uint32_t missing; /* that said it is missing */
    uint64_t settled; /* with that number, at one server at least; 0: at none */
    uint64_t least;   /* that it was proposed with; 0: it was not */
};

struct hf_quorum_tally {
    struct hf_quorum_row *rows;
    size_t count;
    size_t room;
    bool starved; /* memory has run out: it is not whole */
};

/* Take in what ${server} says of the tickets of ${answer}. */
void hf_quorum_tally_take(struct hf_quorum_tally *tally, size_t server,
                          const struct hf_store_answer *answer);

struct hf_quorum_row *hf_quorum_tally_find(const struct hf_quorum_tally *tally,
                                           const struct hf_ticket_id *id);

/* The number by which it stands in a queue. */
uint64_t hf_quorum_row_number(const struct hf_quorum_row *row);

void hf_quorum_tally_clear(struct hf_quorum_tally *tally);

#endif
