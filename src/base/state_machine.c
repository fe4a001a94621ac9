/* SPDX-License-Identifier: Apache-2.0 */
#include "base/state_machine.h"

#include <stdio.h>
#include <stdlib.h>

static const char *state_name(const struct hf_state_machine *machine,
                              unsigned state)
{
    return state < machine->count ? machine->states[state].name : "?";
}

/* Abort.  Not assert(), which release builds may lack: a core in a wrong state
 * must not go on granting locks. */
static void refuse(const struct hf_state_machine *machine, unsigned from,
                   unsigned to)
{
    fprintf(stderr, "holdfast: BUG: %s cannot go from %s to %s\n",
            machine->noun, state_name(machine, from), state_name(machine, to));
    abort();
}

void hf_state_machine_move(const struct hf_state_machine *machine,
                           unsigned *state, unsigned to)
{
    unsigned from = *state;

    if (from >= machine->count || to >= machine->count ||
        !(machine->states[from].successors >> to & 1))
        refuse(machine, from, to);
    *state = to;
}
