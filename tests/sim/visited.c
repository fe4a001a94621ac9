/* SPDX-License-Identifier: Apache-2.0 */
#include "visited.h"

#include <stdio.h>
#include <stdlib.h>

#define FIRST_ROOM ((size_t)1 << 16)

static bool is_free(const struct visit *visit)
{
    return visit->digest.words[0] == 0 && visit->digest.words[1] == 0;
}

/* Where it is, or would be.  A digest is as random as can be. */
static struct visit *find(const struct visited *visited,
                          const struct digest *digest)
{
    size_t i = digest->words[0] & (visited->room - 1);

    while (!is_free(&visited->visits[i]) &&
           (visited->visits[i].digest.words[0] != digest->words[0] ||
            visited->visits[i].digest.words[1] != digest->words[1]))
        i = (i + 1) & (visited->room - 1);
    return &visited->visits[i];
}

static void grow(struct visited *visited)
{
    struct visited larger = {.room = visited->room == 0 ? FIRST_ROOM
                                                        : 2 * visited->room};

    larger.visits = calloc(larger.room, sizeof *larger.visits);
    if (larger.visits == NULL) {
        fprintf(stderr, "holdfast-sim: no memory for %zu states\n",
                larger.room);
        exit(EXIT_FAILURE);
    }
    for (size_t i = 0; i < visited->room; i++) {
        if (!is_free(&visited->visits[i]))
            *find(&larger, &visited->visits[i].digest) = visited->visits[i];
    }
    larger.count = visited->count;
    free(visited->visits);
    *visited = larger;
}

void visited_free(struct visited *visited)
{
    free(visited->visits);
    *visited = (struct visited){0};
}

struct visit *visited_at(struct visited *visited, const struct digest *digest,
                         bool *known)
{
    struct visit *visit;

    if (2 * visited->count >= visited->room)
        grow(visited);
    visit = find(visited, digest);
    *known = !is_free(visit);
    if (!*known) {
        visit->digest = *digest;
        visited->count++;
    }
    return visit;
}
