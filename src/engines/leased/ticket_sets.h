/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of what the session has in each queue, which a RENEW or a GOODBYE
 * names.  The session goes on while they are under way, so they cannot point
 * into its tables.  A RENEW takes the copy piece by piece. */
#ifndef HF_ENGINES_LEASED_TICKET_SETS_H
#define HF_ENGINES_LEASED_TICKET_SETS_H

#include <stdbool.h>
#include <stddef.h>

#include "engines/leased/store.h"

struct hf_leased;

/* One piece of memory: behind it are the sets, then all tickets, then the names
 * of the queues and of the session. */
struct hf_leased_ticket_sets {
    size_t count;
    size_t at;   /* the first set that has something left to take */
    size_t left; /* tickets of that set that are cut off from the last piece */
    const char *session; /* by which it was called when this was copied */
    struct hf_store_ticket_set sets[];
};

/* A copy of all that the session has now, wants hf_free().  NULL for lack of
 * memory. */
struct hf_leased_ticket_sets *
hf_leased_ticket_sets_new(const struct hf_leased *leased);

/* Have ${call} name the next piece: at most ${most} tickets, and as many
 * queues.  A set with more is cut.  The piece before must have been answered.
 * The piece is empty only if the session has nothing. */
void hf_leased_ticket_sets_next(struct hf_leased_ticket_sets *sets, size_t max,
                                struct hf_store_call *call);

/* Was that the last piece? */
bool hf_leased_ticket_sets_done(const struct hf_leased_ticket_sets *sets);

#endif
