/* SPDX-License-Identifier: Apache-2.0 */
#include "trace.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define ENTRIES_MAX (1u << 18)

struct entry {
    void *function;
    unsigned thread;
    unsigned depth;
};

static struct entry entries[ENTRIES_MAX];
static atomic_uint entry_count;
static atomic_bool recording;
static atomic_uint thread_count;
static _Thread_local unsigned thread_number; /* 0: has entered nothing yet */
static _Thread_local unsigned depth;

/* What gcc calls at the entry and the exit of each function. */
void __cyg_profile_func_enter(void *function, void *call_site);
void __cyg_profile_func_exit(void *function, void *call_site);

void __cyg_profile_func_enter(void *function, void *call_site)
{
    unsigned at;

    (void)call_site;
    depth++;
    if (!atomic_load(&recording))
        return;
    if (thread_number == 0)
        thread_number = atomic_fetch_add(&thread_count, 1) + 1;
    at = atomic_fetch_add(&entry_count, 1);
    if (at < ENTRIES_MAX)
        entries[at] = (struct entry){function, thread_number, depth};
}

void __cyg_profile_func_exit(void *function, void *call_site)
{
    (void)function;
    (void)call_site;
    depth--;
}

void trace_start(void)
{
    atomic_store(&entry_count, 0);
    atomic_store(&recording, true);
}

void trace_print(const char *what)
{
    unsigned count;

    atomic_store(&recording, false);
    count = atomic_load(&entry_count);
    if (count > ENTRIES_MAX) {
        fprintf(stderr, "%s: %u entries, room for %u\n", what, count,
                ENTRIES_MAX);
        exit(1);
    }
    printf("= %s\n", what);
    for (unsigned i = 0; i < count; i++)
        printf("%u %u %" PRIxPTR "\n", entries[i].thread, entries[i].depth,
               (uintptr_t)entries[i].function);
}
