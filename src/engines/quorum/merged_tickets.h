/* SPDX-License-Identifier: Apache-2.0 */
/* The answers of several servers about tickets, merged into one row for each
 * ticket, and which of the rows a majority has. */
#ifndef HF_ENGINES_QUORUM_MERGED_TICKETS_H
#define HF_ENGINES_QUORUM_MERGED_TICKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engines/leased/store.h"

struct hf_quorum;
struct hf_quorum_request;

/* What the servers say of one ticket. */
struct hf_quorum_merged_ticket {
    /* As in the first answer that has it, but READ if any answer says so, and
     * with the first payload and time of creation that an answer knows.
     * .payload belongs to the row. */
    struct hf_ticket ticket;
    struct hf_store_lease lease;
    uint32_t present_at; /* bit set of the servers that have it */
    uint32_t missing_at; /* bit set of the servers that answered .missing */
    /* greatest number that a server committed it with; 0: none did */
    uint64_t committed;
    /* least number that it was proposed with; 0: it was not */
    uint64_t least_proposed;
};

/* The merged answers of one round. */
struct hf_quorum_merged {
    /* In no order. */
    struct hf_quorum_merged_ticket *rows;
    size_t count;
    size_t room;        /* rows that fit */
    bool out_of_memory; /* an answer is not merged in full */
};

/* Merge the tickets of ${answer}, which ${server} sent. */
void hf_quorum_merged_add(struct hf_quorum_merged *merged, size_t server,
                          const struct hf_store_answer *answer);

/* Returns the row of the ticket ${id}, or NULL. */
struct hf_quorum_merged_ticket *
hf_quorum_merged_find(const struct hf_quorum_merged *merged,
                      const struct hf_ticket_id *id);

/* The number that gives the ticket its place in a queue. */
uint64_t hf_quorum_merged_number(const struct hf_quorum_merged_ticket *row);

/* Is it undecided whether a majority has one of the tickets that ${request} is
 * about: did only some of the servers show it?  If .number of ${request} is
 * not 0, only tickets with a lesser number matter. */
bool hf_quorum_merged_has_undecided(const struct hf_quorum *quorum,
                                    const struct hf_quorum_request *request);

/* The answer to ${request} shows the tickets that a majority has, or may have,
 * except those of ours whose ENQUEUE failed: fill in their rows, and move them
 * to the front in the order of the queue.  Returns how many they are.  Sets
 * .merged.out_of_memory if a row could not be filled in: they are no answer
 * then. */
size_t hf_quorum_merged_select(const struct hf_quorum *quorum,
                               struct hf_quorum_request *request);

/* The nearest ticket that the one at ${at} of the selected ${rows} waits for,
 * if it is only proposed; else NULL.  A reader waits for writers alone. */
const struct hf_quorum_merged_ticket *
hf_quorum_merged_uncommitted_ahead(const struct hf_quorum_merged_ticket *rows,
                                   size_t at);

/* Free the rows. */
void hf_quorum_merged_clear(struct hf_quorum_merged *merged);

#endif
