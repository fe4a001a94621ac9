/* SPDX-License-Identifier: Apache-2.0 */
/* A moment of a world on the plain model, to go back to. */
#ifndef HF_TESTS_SIM_MOMENT_H
#define HF_TESTS_SIM_MOMENT_H

#include "world.h"

struct moment;

/* Keep how ${world} is, between two steps; to be freed.  The library has its
 * memory in the arena. */
struct moment *moment_new(const struct world *world);

/* Have ${world} as it was.  May be done again; moments taken since can only be
 * freed. */
void moment_return(const struct moment *moment, struct world *world);

void moment_free(struct moment *moment);

#endif
