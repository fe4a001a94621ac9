/* SPDX-License-Identifier: Apache-2.0 */
#include "plants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/plant.h"

#if defined(HF_PLANTS)

static const struct {
    const char *name;
    int invariant;
    const char *what;
} plants[] = {[HF_PLANT_NONE] = {"(none)", 0, "the core as it is"},
#define PLANT_ROW(name, invariant, what)                                       \
    [HF_PLANT_##name] = {#name, invariant, what},
              HF_PLANT_TABLE(PLANT_ROW)
#undef PLANT_ROW
};

int plants_print(void)
{
    for (unsigned plant = 1; plant < HF_PLANT_COUNT; plant++)
        printf("%s %d %s\n", plants[plant].name, plants[plant].invariant,
               plants[plant].what);
    return EXIT_SUCCESS;
}

bool plants_select(const char *name)
{
    for (unsigned plant = 1; plant < HF_PLANT_COUNT; plant++) {
        if (strcmp(plants[plant].name, name) == 0) {
            hf_plant = (enum hf_plant)plant;
            return true;
        }
    }
    return false;
}

const char *plants_selected(void)
{
    return hf_plant == HF_PLANT_NONE ? NULL : plants[hf_plant].name;
}

#else

static void complain(void)
{
    fprintf(stderr, "holdfast-sim: built without planted faults; use "
                    "holdfast-sim-plants\n");
}

int plants_print(void)
{
    complain();
    return 64;
}

bool plants_select(const char *name)
{
    (void)name;
    complain();
    return false;
}

const char *plants_selected(void)
{
    return NULL;
}

#endif
