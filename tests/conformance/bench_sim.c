/* SPDX-License-Identifier: Apache-2.0 */
/* The suite on a simulated engine, in virtual time. */
#include "conformance/bench_sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "conformance/seat.h"

#define STEPS_MAX 100000

static struct hf_sim *sim;

static void begin(struct bench *bench)
{
    sim = hf_sim_new(bench->data);
    bench->ops = hf_sim_ops(sim);
}

static void finish(struct bench *bench)
{
    (void)bench;
    hf_sim_free(sim);
}

static uint64_t now_ms(void *host)
{
    (void)host;
    return hf_sim_now_us(sim) / 1000;
}

static struct hf_engine *open_client(struct bench *bench,
                                     const struct hf_engine_host *host)
{
    struct hf_engine_host whole = *host;

    (void)bench;
    whole.now_ms = now_ms;
    return hf_sim_engine_new(sim, &whole);
}

static void pump(struct bench *bench, bool (*done)(void *arg), void *arg)
{
    (void)bench;
    for (unsigned i = 0; i < STEPS_MAX && !done(arg); i++)
        if (!hf_sim_next(sim))
            return;
}

struct victim {
    struct seat *seat;
};

static struct victim *victim_start(struct bench *bench, const char *queue,
                                   struct hf_ticket_id id, uint32_t weight)
{
    struct victim *victim = calloc(1, sizeof(*victim));

    assert_non_null(victim);
    victim->seat = seat_open(bench);
    if (weight > 0)
        (void)seat_lease(victim->seat, queue, id, weight);
    else
        (void)seat_enqueue(victim->seat, queue, id, HF_TICKET_MUTEX, "victim");
    return victim;
}

static void victim_kill(struct bench *bench, struct victim *victim)
{
    (void)bench;
    hf_sim_crash(victim->seat->engine);
    seat_bury(victim->seat);
    free(victim);
}

static void evict(struct bench *bench, const char *queue,
                  const struct hf_ticket *ticket)
{
    (void)bench;
    assert_true(hf_sim_evict(sim, queue, &ticket->id));
}

static void cut(struct bench *bench)
{
    (void)bench;
    hf_sim_restart(sim);
}

int bench_sim_run(const char *name, const struct hf_sim_config *config,
                  const enum hf_ticket_kind *shown)
{
    struct hf_sim_config copy = *config;
    struct bench bench = {
        .name = name,
        .begin = begin,
        .finish = finish,
        .open = open_client,
        .pump = pump,
        .victim_start = victim_start,
        .victim_kill = victim_kill,
        .evict = evict,
        .shown = shown,
        .leases_have_no_order = config->ensemble.layout == HF_ZK_KAZOO,
        .has_members = true,
        .cut = cut,
        .data = &copy,
    };

    return suite_run(&bench);
}
