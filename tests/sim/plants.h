/* SPDX-License-Identifier: Apache-2.0 */
/* Planted faults, and who finds them. */
#ifndef HF_TESTS_SIM_PLANTS_H
#define HF_TESTS_SIM_PLANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* See that each planted fault is found within ${count} worlds or by one of the
 * stories at ${paths}, and that what is sound is not.  An exit code. */
int plants_run(uint64_t count, char **paths, size_t path_count);

/* See that those of them that show without much time passing are found by
 * exploring scenes, on paths of at most ${depth} steps.  An exit code. */
int plants_explore(unsigned depth);

/* Have the fault called ${name} in force; false if there is none. */
bool plants_select(const char *name);

/* The one that is in force, or NULL. */
const char *plants_selected(void);

#endif
