/* SPDX-License-Identifier: Apache-2.0 */
#include "core/machine.h"

#include <stdio.h>
#include <stdlib.h>

static const char *state_name(const struct hf_machine_table *table,
                              unsigned state)
{
    return state < table->count ? table->states[state].name : "?";
}

/* Not assert(): a core that has lost its way must not go on handing out
 * locks, in whatever build. */
static void refuse(const struct hf_machine_table *table, unsigned from,
                   unsigned to)
{
    fprintf(stderr, "holdfast: BUG: %s cannot go from %s to %s\n", table->noun,
            state_name(table, from), state_name(table, to));
    abort();
}

void hf_machine_move(const struct hf_machine_table *table, unsigned *state,
                     unsigned to)
{
    unsigned from = *state;

    if (from >= table->count || to >= table->count ||
        !(table->states[from].successors >> to & 1))
        refuse(table, from, to);
    *state = to;
}
