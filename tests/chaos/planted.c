/* SPDX-License-Identifier: Apache-2.0 */
/* For programs with the planted faults compiled in: the one that HF_PLANT
 * names is in force from the start. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/plant.h"

static void __attribute__((constructor)) plant(void)
{
    static const char *const names[] = {[HF_PLANT_NONE] = "",
#define NAME_(name, invariant, what) [HF_PLANT_##name] = #name,
                                        HF_PLANT_TABLE(NAME_)
#undef NAME_
    };
    const char *name = getenv("HF_PLANT");

    for (int i = 0; i < HF_PLANT_COUNT; i++) {
        if (name != NULL && strcmp(name, names[i]) == 0) {
            hf_plant = (enum hf_plant)i;
            return;
        }
    }
    fputs("HF_PLANT names no fault; see src/core/plant.h\n", stderr);
    exit(64);
}
