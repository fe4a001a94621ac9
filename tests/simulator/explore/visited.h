/* SPDX-License-Identifier: Apache-2.0 */
/* The states that an exploration has visited, by their digests. */
#ifndef HF_TESTS_SIMULATOR_EXPLORE_VISITED_H
#define HF_TESTS_SIMULATOR_EXPLORE_VISITED_H

#include "simulator/explore/state_digest.h"

struct visited_state {
    struct digest digest;
    double paths;     /* from this state to an end; < 0: it is being explored */
    uint64_t next;    /* sum over the digests of its successors */
    uint16_t longest; /* actions in the longest of these paths */
    uint16_t steps_left; /* actions that were left for paths from here */
    bool complete;       /* these were enough */
};

struct visited_states {
    struct visited_state *states; /* a hash table with linear probing */
    size_t room;                  /* a power of two, or 0 */
    size_t count;
};

void visited_free(struct visited_states *visited_states);

/* The state with ${digest}.  ${known}: was it there?  A new one is 0 but for
 * its .digest.  Valid until the next call. */
struct visited_state *visited_at(struct visited_states *visited_states,
                                 const struct digest *digest, bool *known);

#endif
