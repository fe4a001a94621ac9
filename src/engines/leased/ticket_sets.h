/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of the tickets and watches that the session has in each queue, for a
 * RENEW or a CLOSE_SESSION, which sends it piece by piece.  It is a copy
 * because the session's tables change while these calls are under way. */
#ifndef HF_ENGINES_LEASED_TICKET_SETS_H
#define HF_ENGINES_LEASED_TICKET_SETS_H

#include <stdbool.h>
#include <stddef.h>

#include "engines/leased/store.h"

struct hf_leased;

/* One block of memory: behind the struct are the sets, then all ticket ids,
 * then the names of the queues and of the session. */
struct hf_leased_ticket_sets {
    size_t count;
    size_t at;           /* index of the first set of the next piece */
    size_t max;          /* the most tickets in a piece, and the most queues */
    const char *session; /* name of the session when the copy was made */
    struct hf_store_ticket_set sets[];
};

/* Copy what the session has now, for pieces of at most ${max} tickets and
 * ${max} queues.  If the tickets of a queue are in several pieces, each piece
 * has a set for the queue.  The caller frees the copy with hf_free(), when no
 * call points into it any more.  Returns NULL if memory runs out. */
struct hf_leased_ticket_sets *
hf_leased_ticket_sets_new(const struct hf_leased *leased, size_t max);

/* Fill ${call} with the next piece.  A piece is empty only if the session has
 * nothing. */
void hf_leased_ticket_sets_next(struct hf_leased_ticket_sets *sets,
                                struct hf_store_call *call);

/* Returns whether hf_leased_ticket_sets_next() has given out all pieces. */
bool hf_leased_ticket_sets_done(const struct hf_leased_ticket_sets *sets);

#endif
