/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A checkpoint copies the struct hf_sim, the heap of timers, and the used part
 * of each chunk of memory.  Chunks stay at their addresses, so pointers in the
 * copied bytes are right after a restore.
 */
#include "simulator/model/plain_checkpoint.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/model/sim_internal.h"

/* .bytes has the timers and then the used part of each chunk, the newest
 * first. */
struct hf_sim_checkpoint {
    struct hf_sim sim;
    unsigned char bytes[];
};

static size_t used_bytes(const struct sim_chunk *chunk)
{
    return chunk->used * sizeof chunk->memory[0];
}

static size_t bytes_of(const struct hf_sim *sim)
{
    size_t bytes = sim->timer_count * sizeof *sim->timers;

    for (const struct sim_chunk *c = sim->chunk; c != NULL; c = c->next)
        bytes += sizeof c->used + used_bytes(c);
    return bytes;
}

static unsigned char *append(unsigned char *to, const void *from, size_t bytes)
{
    if (bytes > 0)
        memcpy(to, from, bytes);
    return to + bytes;
}

static const unsigned char *copy_out(void *to, const unsigned char *from,
                                     size_t bytes)
{
    if (bytes > 0)
        memcpy(to, from, bytes);
    return from + bytes;
}

struct hf_sim_checkpoint *hf_sim_checkpoint_new(const struct hf_sim *sim)
{
    struct hf_sim_checkpoint *checkpoint =
        malloc(sizeof *checkpoint + bytes_of(sim));
    unsigned char *to;

    /* Other models have memory of their own. */
    assert(sim->model == &sim_model_plain);
    if (checkpoint == NULL) {
        fprintf(stderr, "sim: no memory for a checkpoint of the model\n");
        exit(EXIT_FAILURE);
    }
    checkpoint->sim = *sim;
    to = append(checkpoint->bytes, sim->timers,
                sim->timer_count * sizeof *sim->timers);
    for (const struct sim_chunk *c = sim->chunk; c != NULL; c = c->next) {
        to = append(to, &c->used, sizeof c->used);
        to = append(to, c->memory, used_bytes(c));
    }
    return checkpoint;
}

/* Chunks that were added since are freed. */
void hf_sim_checkpoint_restore(const struct hf_sim_checkpoint *checkpoint,
                               struct hf_sim *sim)
{
    const unsigned char *from = checkpoint->bytes;
    /* These two grow with realloc() and may have moved since. */
    struct sim_timer *timers = sim->timers;
    size_t timer_room = sim->timer_room;
    struct hf_ticket *snapshot_tickets = sim->snapshot_tickets;
    size_t snapshot_room = sim->snapshot_room;

    while (sim->chunk != checkpoint->sim.chunk) {
        struct sim_chunk *newer = sim->chunk;

        sim->chunk = newer->next;
        free(newer);
    }
    *sim = checkpoint->sim;
    sim->timers = timers;
    sim->timer_room = timer_room;
    sim->snapshot_tickets = snapshot_tickets;
    sim->snapshot_room = snapshot_room;
    from = copy_out(timers, from, sim->timer_count * sizeof *timers);
    for (struct sim_chunk *c = sim->chunk; c != NULL; c = c->next) {
        /* NOLINTBEGIN(clang-analyzer-unix.Malloc): those freed are newer */
        from = copy_out(&c->used, from, sizeof c->used);
        from = copy_out(c->memory, from, used_bytes(c));
        /* NOLINTEND(clang-analyzer-unix.Malloc) */
    }
}

void hf_sim_checkpoint_free(struct hf_sim_checkpoint *checkpoint)
{
    free(checkpoint);
}
