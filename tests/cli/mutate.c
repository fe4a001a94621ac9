/* SPDX-License-Identifier: Apache-2.0 */
/* The tool with its deliberate faults compiled in: the one that HF_MUTATION
 * names is in force from the start. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/mutation.h"

static void __attribute__((constructor)) mutate(void)
{
    static const char *const names[] = {[HF_MUTATION_NONE] = "NONE",
#define NAME_(name, what) [HF_MUTATION_##name] = #name,
                                        HF_MUTATION_TABLE(NAME_)
#undef NAME_
    };
    const char *name = getenv("HF_MUTATION");

    for (int i = 0; i < HF_MUTATION_COUNT; i++) {
        if (name != NULL && strcmp(name, names[i]) == 0) {
            hf_mutation = (enum hf_mutation)i;
            return;
        }
    }
    fputs("HF_MUTATION names no fault; see src/cli/mutation.h\n", stderr);
    exit(64);
}
