/* SPDX-License-Identifier: Apache-2.0 */
/* Where an exploration has been. */
#ifndef HF_TESTS_SIM_VISITED_H
#define HF_TESTS_SIM_VISITED_H

#include "imprint.h"

struct visit {
    struct digest digest;
    double paths;     /* from there to an end; < 0: not known yet */
    uint64_t next;    /* sum over the digests of those that come next */
    uint16_t longest; /* steps of such a path */
    uint16_t left;    /* steps that could still be taken from there */
    bool whole;       /* and were enough */
};

struct visited {
    struct visit *visits; /* a hash table */
    size_t room;          /* a power of two, or 0 */
    size_t count;
};

void visited_free(struct visited *visited);

/* The visit of ${digest}, added if it is new: then all but its .digest is 0.
 * Valid until the next is added. */
struct visit *visited_at(struct visited *visited, const struct digest *digest,
                         bool *known);

#endif
