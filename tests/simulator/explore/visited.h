/* SPDX-License-Identifier: Apache-2.0 */
/* Where an exploration has been. */
#ifndef HF_TESTS_SIMULATOR_EXPLORE_VISITED_H
#define HF_TESTS_SIMULATOR_EXPLORE_VISITED_H

#include "simulator/explore/state_digest.h"

struct visited_state {
    struct digest digest;
    double paths;        /* from there to an end; < 0: not known yet */
    uint64_t next;       /* sum over the digests of those that come next */
    uint16_t longest;    /* steps of such a path */
    uint16_t steps_left; /* steps that could still be taken from there */
    bool complete;       /* and were enough */
};

struct visited_states {
    struct visited_state *states; /* a hash table */
    size_t room;                  /* a power of two, or 0 */
    size_t count;
};

void visited_free(struct visited_states *visited_states);

/* The visit of ${digest}, added if it is new: then all but its .digest is 0.
 * Valid until the next is added. */
struct visited_state *visited_at(struct visited_states *visited_states,
                                 const struct digest *digest, bool *known);

#endif
