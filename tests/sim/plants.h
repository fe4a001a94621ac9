/* SPDX-License-Identifier: Apache-2.0 */
/* Planted faults, of which the simulator can have one in force; mutate.py sees
 * that each is found. */
#ifndef HF_TESTS_SIM_PLANTS_H
#define HF_TESTS_SIM_PLANTS_H

#include <stdbool.h>

/* Print what there are, one a line: the name, the invariant, what is done
 * wrong.  An exit code. */
int plants_print(void);

/* Have the fault called ${name} in force; false if there is none. */
bool plants_select(const char *name);

/* The one that is in force, or NULL. */
const char *plants_selected(void);

#endif
