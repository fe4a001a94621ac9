/* SPDX-License-Identifier: Apache-2.0 */
/* The barriers of a world, as they are in truth. */
#ifndef HF_TESTS_SIM_GATE_H
#define HF_TESTS_SIM_GATE_H

#include "world.h"

/* The one called ${name}, which is down when it is first heard of. */
struct gate *gate_called(struct world *world, const char *name);

/* What a world's observer is told. */
void gate_marked(void *world, const char *name, bool up);

/* Was it down, or up, at some moment since ${since_us}? */
bool gate_was_down(const struct gate *gate, uint64_t since_us);
bool gate_was_up(const struct gate *gate, uint64_t since_us);

#endif
