/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nemesis kills and freezes workers at random, like the process of that
 * name in Jepsen.  Half of the faults hit a worker that holds a lock, because
 * that is when a lock service can go wrong.
 */
#include "torture/workers.h"

#include "base/random.h"
#include "command/clock.h"

/* A freeze lasts 2^6 to 2^13 ms: some are shorter than a lease, some longer. */
#define FREEZE_LEAST_LOG 6
#define FREEZE_LOGS 8

struct nemesis {
    struct hf_workers *workers;
    struct hf_random random;
    uint64_t fault_at_ms; /* when the next fault is due; HF_FOREVER: never */
};

/* Choose the time to the next fault: uniform from 0 to twice the mean. */
static void schedule_fault(struct nemesis *nemesis)
{
    uint64_t every_ms = nemesis->workers->opts->fault_every_ms;

    nemesis->fault_at_ms = HF_FOREVER;
    if (every_ms > 0)
        nemesis->fault_at_ms =
            hf_clock_now_ms() + hf_random_below(&nemesis->random, 2 * every_ms);
}

/* Choose the worker for a fault.  In half of the cases it is any worker;
 * otherwise one that holds a lock, if there is one, so that the fault hits it
 * while it relies on the lock. */
static struct hf_worker_process *choose_victim(struct nemesis *nemesis)
{
    struct hf_workers *workers = nemesis->workers;
    uint64_t first = hf_random_below(&nemesis->random, HF_RESOURCES);
    unsigned holder = 0;

    /* Find the holder of a lock that is held, searching from a random lock on.
     */
    for (unsigned i = 0; i < HF_RESOURCES && holder == 0; i++)
        holder =
            atomic_load(&workers->resources[(first + i) % HF_RESOURCES].holder);

    if (holder != 0 && hf_random_below(&nemesis->random, 2) == 0)
        return &workers->processes[holder - 1];
    return &workers->processes[hf_random_below(&nemesis->random,
                                               workers->opts->count)];
}

/* Kill or freeze one worker.  A worker that was killed is started again. */
static void inject_fault(struct nemesis *nemesis)
{
    struct hf_worker_process *victim = choose_victim(nemesis);
    bool kills = hf_random_below(&nemesis->random, 2) == 0;

    /* A worker that is frozen is not hit again, because what it does after the
     * thaw is what the freeze is meant to test. */
    if (victim->pid == 0 || victim->thaw_at_ms != HF_FOREVER)
        return;
    if (kills) {
        hf_workers_kill(nemesis->workers, victim);
        hf_workers_start(nemesis->workers, victim);
    } else {
        uint64_t freeze_ms =
            (uint64_t)1 << (FREEZE_LEAST_LOG +
                            hf_random_below(&nemesis->random, FREEZE_LOGS));

        hf_workers_freeze(nemesis->workers, victim,
                          hf_clock_now_ms() + freeze_ms);
    }
}

void hf_nemesis_run(struct hf_workers *workers)
{
    uint64_t end_at_ms = hf_clock_add(hf_clock_now_ms(), workers->opts->for_ms);
    struct nemesis nemesis = {.workers = workers};
    uint64_t now_ms;

    hf_random_seed(&nemesis.random, workers->opts->seed);
    schedule_fault(&nemesis);
    while (!workers->ending && (now_ms = hf_clock_now_ms()) < end_at_ms) {
        hf_workers_poll(workers);
        hf_workers_thaw_due(workers, now_ms);
        if (now_ms >= nemesis.fault_at_ms) {
            inject_fault(&nemesis);
            schedule_fault(&nemesis);
        }
    }
}
