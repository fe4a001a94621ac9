/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/sim/moment.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engines/sim/model.h"

/* Behind it: what was due, then what was used of each chunk, the newest
 * first. */
struct hf_sim_moment {
    struct hf_sim sim;
    unsigned char bytes[];
};

static size_t used_bytes(const struct sim_chunk *chunk)
{
    return chunk->used * sizeof chunk->memory[0];
}

static size_t bytes_of(const struct hf_sim *sim)
{
    size_t bytes = sim->due_count * sizeof *sim->due;

    for (const struct sim_chunk *c = sim->chunk; c != NULL; c = c->next)
        bytes += sizeof c->used + used_bytes(c);
    return bytes;
}

static unsigned char *put(unsigned char *to, const void *from, size_t bytes)
{
    if (bytes > 0)
        memcpy(to, from, bytes);
    return to + bytes;
}

static const unsigned char *get(void *to, const unsigned char *from,
                                size_t bytes)
{
    if (bytes > 0)
        memcpy(to, from, bytes);
    return from + bytes;
}

struct hf_sim_moment *hf_sim_moment_new(const struct hf_sim *sim)
{
    struct hf_sim_moment *moment = malloc(sizeof *moment + bytes_of(sim));
    unsigned char *to;

    assert(sim->model == &sim_plain); /* another has memory of its own */
    if (moment == NULL) {
        fprintf(stderr, "sim: no memory for a moment of the model\n");
        exit(EXIT_FAILURE);
    }
    moment->sim = *sim;
    to = put(moment->bytes, sim->due, sim->due_count * sizeof *sim->due);
    for (const struct sim_chunk *c = sim->chunk; c != NULL; c = c->next) {
        to = put(to, &c->used, sizeof c->used);
        to = put(to, c->memory, used_bytes(c));
    }
    return moment;
}

void hf_sim_moment_return(const struct hf_sim_moment *moment,
                          struct hf_sim *sim)
{
    const unsigned char *from = moment->bytes;
    /* These may have been moved to grow since. */
    struct sim_due *due = sim->due;
    size_t due_room = sim->due_room;
    struct hf_ticket *truth = sim->truth;
    size_t truth_room = sim->truth_room;

    while (sim->chunk != moment->sim.chunk) {
        struct sim_chunk *newer = sim->chunk;

        sim->chunk = newer->next;
        free(newer);
    }
    *sim = moment->sim;
    sim->due = due;
    sim->due_room = due_room;
    sim->truth = truth;
    sim->truth_room = truth_room;
    from = get(due, from, sim->due_count * sizeof *due);
    for (struct sim_chunk *c = sim->chunk; c != NULL; c = c->next) {
        /* NOLINTBEGIN(clang-analyzer-unix.Malloc): those freed are newer */
        from = get(&c->used, from, sizeof c->used);
        from = get(c->memory, from, used_bytes(c));
        /* NOLINTEND(clang-analyzer-unix.Malloc) */
    }
}

void hf_sim_moment_free(struct hf_sim_moment *moment)
{
    free(moment);
}
