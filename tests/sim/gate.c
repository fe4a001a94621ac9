/* SPDX-License-Identifier: Apache-2.0 */
#include "gate.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static struct gate *find(struct world *world, const char *name)
{
    for (unsigned i = 0; i < world->gate_count; i++) {
        if (strcmp(world->gates[i].name, name) == 0)
            return &world->gates[i];
    }
    return NULL;
}

struct gate *gate_called(struct world *world, const char *name)
{
    struct gate *gate = find(world, name);

    if (gate != NULL)
        return gate;
    assert(world->gate_count < WORLD_GATES);
    gate = &world->gates[world->gate_count++];
    snprintf(gate->name, sizeof gate->name, "%s", name);
    return gate;
}

void gate_marked(void *arg, const char *name, bool up)
{
    struct world *world = arg;
    struct gate *gate = find(world, name);

    if (gate == NULL) /* a parent of other nodes */
        return;
    world_line(world, "-", "server %s %s", up ? "raises" : "lowers", name);
    gate->up = up;
    if (up)
        gate->up_us = hf_sim_now_us(world->sim);
    else
        gate->down_us = hf_sim_now_us(world->sim);
}

bool gate_was_down(const struct gate *gate, uint64_t since_us)
{
    return !gate->up || gate->up_us >= since_us;
}

bool gate_was_up(const struct gate *gate, uint64_t since_us)
{
    return gate->up || gate->down_us >= since_us;
}
