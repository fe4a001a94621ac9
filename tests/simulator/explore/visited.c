/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table of digests.  A digest of zeros marks an empty place.
 */
#include "simulator/explore/visited.h"

#include <stdio.h>
#include <stdlib.h>

#define FIRST_ROOM ((size_t)1 << 16)

static bool is_empty(const struct visited_state *visited_state)
{
    return visited_state->digest.words[0] == 0 &&
           visited_state->digest.words[1] == 0;
}

/* Where the state is or would be.  A digest is random, so a part of it is its
 * hash. */
static struct visited_state *find(const struct visited_states *visited_states,
                                  const struct digest *digest)
{
    size_t i = digest->words[0] & (visited_states->room - 1);

    while (!is_empty(&visited_states->states[i]) &&
           (visited_states->states[i].digest.words[0] != digest->words[0] ||
            visited_states->states[i].digest.words[1] != digest->words[1]))
        i = (i + 1) & (visited_states->room - 1);
    return &visited_states->states[i];
}

/* Double the table and insert all states again. */
static void grow(struct visited_states *visited_states)
{
    struct visited_states larger = {.room = visited_states->room == 0
                                                ? FIRST_ROOM
                                                : 2 * visited_states->room};

    larger.states = calloc(larger.room, sizeof *larger.states);
    if (larger.states == NULL) {
        fprintf(stderr, "holdfast-sim: no memory for %zu states\n",
                larger.room);
        exit(EXIT_FAILURE);
    }
    for (size_t i = 0; i < visited_states->room; i++) {
        if (!is_empty(&visited_states->states[i]))
            *find(&larger, &visited_states->states[i].digest) =
                visited_states->states[i];
    }
    larger.count = visited_states->count;
    free(visited_states->states);
    *visited_states = larger;
}

void visited_free(struct visited_states *visited_states)
{
    free(visited_states->states);
    *visited_states = (struct visited_states){0};
}

struct visited_state *visited_at(struct visited_states *visited_states,
                                 const struct digest *digest, bool *known)
{
    struct visited_state *visited_state;

    if (2 * visited_states->count >= visited_states->room)
        grow(visited_states);
    visited_state = find(visited_states, digest);
    *known = !is_empty(visited_state);
    if (!*known) {
        visited_state->digest = *digest;
        visited_states->count++;
    }
    return visited_state;
}
