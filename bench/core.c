/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The core alone, for bench/core.py to count its instructions:
 *
 *   bench-core GRANTS TIMES
 *
 * acquires and releases one lock TIMES times, in a core that holds GRANTS other
 * locks.  The engine's answers come at once.
 */
#include <stdio.h>
#include <stdlib.h>

#include "idle_fixture.h"

static void acquire_and_release(struct idle_fixture *f)
{
    idle_subject(f, &f->a);
    (void)idle_step(f, idle_user(HF_EVENT_ACQUIRE, &f->a));
    (void)idle_listed(f, HF_EVENT_ENQUEUED, HF_REQUEST_ENQUEUE, 0);
    (void)idle_step(f, idle_user(HF_EVENT_RELEASE, &f->a));
    (void)idle_step(f, idle_answer(f, HF_EVENT_REMOVED, HF_REQUEST_REMOVE));
}

int main(int arguments, char **words)
{
    unsigned long times;
    struct idle_fixture *f;

    if (arguments != 3) {
        fputs("usage: bench-core GRANTS TIMES\n", stderr);
        return 64;
    }
    times = strtoul(words[2], NULL, 10);
    f = idle_new(IDLE_GRANTS, strtoul(words[1], NULL, 10));
    while (times-- > 0)
        acquire_and_release(f);
    idle_free(f);
    return 0;
}
