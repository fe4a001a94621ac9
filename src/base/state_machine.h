/* SPDX-License-Identifier: Apache-2.0 */
/* A state machine as a table: each state with its name and its legal
 * successors.  One function changes states, and checks each change. */
#ifndef HF_BASE_STATE_MACHINE_H
#define HF_BASE_STATE_MACHINE_H

#include <stdint.h>

struct hf_state_machine_state {
    const char *name;
    uint32_t successors; /* bit n is set if state n may follow */
};

struct hf_state_machine {
    const char *noun; /* "acquisition", "session" */
    const struct hf_state_machine_state *states;
    unsigned count;
};

/* Set ${state} to ${to}.  A change that is not in the table is our own mistake,
 * and aborts the program in every build. */
void hf_state_machine_move(const struct hf_state_machine *machine,
                           unsigned *state, unsigned to);

#endif
