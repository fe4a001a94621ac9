/* SPDX-License-Identifier: Apache-2.0 */
/* Merges the answers of several servers about tickets into one row for each
 * ticket, and finds the rows that a majority has. */
#ifndef HF_ENGINES_QUORUM_MERGED_TICKETS_H
#define HF_ENGINES_QUORUM_MERGED_TICKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engines/leased/store.h"

struct hf_quorum;
struct hf_quorum_request;

/* What the servers have answered about one ticket. */
struct hf_quorum_merged_ticket {
    /* The ticket as in the first answer that has it; but its kind is READ if
     * any answer says so, and .payload and .created_utc_ms are the first that
     * an answer has.  .payload belongs to the row. */
    struct hf_ticket ticket;
    struct hf_store_lease lease;
    uint32_t present_at; /* bit set of the servers that have the ticket */
    /* bit set of the servers that answered that it is missing */
    uint32_t missing_at;
    /* the greatest number with which a server committed it; 0: none did */
    uint64_t committed;
    /* the least number with which it was proposed; 0: it was not */
    uint64_t least_proposed;
};

/* The merged answers of one round. */
struct hf_quorum_merged {
    /* one for each ticket, in no order */
    struct hf_quorum_merged_ticket *rows;
    size_t count;
    size_t room; /* rows that fit */
    /* memory ran out, so an answer is not merged completely */
    bool out_of_memory;
};

/* Merge the tickets of ${answer}, which ${server} sent. */
void hf_quorum_merged_add(struct hf_quorum_merged *merged, size_t server,
                          const struct hf_store_answer *answer);

/* Returns the row of the ticket ${id}, or NULL. */
struct hf_quorum_merged_ticket *
hf_quorum_merged_find(const struct hf_quorum_merged *merged,
                      const struct hf_ticket_id *id);

/* Returns the number that gives the ticket its position in the queue. */
uint64_t hf_quorum_merged_number(const struct hf_quorum_merged_ticket *row);

/* Returns whether it is not known yet if a majority has one of the tickets that
 * ${request} is about, because only some of the servers have shown it.  If
 * .number of ${request} is not 0, only tickets with a lesser number matter. */
bool hf_quorum_merged_has_undecided(const struct hf_quorum *quorum,
                                    const struct hf_quorum_request *request);

/* Prepare the answer to ${request}: select the tickets that a majority has or
 * may have, except tickets of ours whose ENQUEUE failed.  Fills in their rows
 * and moves them to the front, in the order of the queue.  Returns how many
 * there are.  If a row could not be filled in, sets .merged.out_of_memory, and
 * the rows must not be used. */
size_t hf_quorum_merged_select(const struct hf_quorum *quorum,
                               struct hf_quorum_request *request);

/* Returns the nearest ticket that the one at ${at} of the selected ${rows}
 * waits for, if it is only proposed; else NULL.  A reader waits for writers
 * only. */
const struct hf_quorum_merged_ticket *
hf_quorum_merged_uncommitted_ahead(const struct hf_quorum_merged_ticket *rows,
                                   size_t at);

/* Free the rows. */
void hf_quorum_merged_clear(struct hf_quorum_merged *merged);

#endif
