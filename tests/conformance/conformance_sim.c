/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance fixture of simulated servers, in virtual time. */
#include "conformance/conformance_sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/engine_host.h"
#include "conformance/engine_client.h"

#define STEPS_MAX 100000

static struct hf_sim *sim;

static void begin(struct conformance_fixture *fixture)
{
    sim = hf_sim_new(fixture->data);
    fixture->ops = hf_sim_ops(sim);
}

static void finish(struct conformance_fixture *fixture)
{
    (void)fixture;
    hf_sim_free(sim);
}

static uint64_t now_ms(void *host)
{
    (void)host;
    return hf_sim_now_us(sim) / 1000;
}

static struct hf_engine *open_client(struct conformance_fixture *fixture,
                                     const struct hf_engine_host *host)
{
    struct hf_engine_host whole = *host;

    (void)fixture;
    whole.now_ms = now_ms;
    return hf_sim_engine_new(sim, &whole);
}

static void pump(struct conformance_fixture *fixture, bool (*done)(void *arg),
                 void *arg)
{
    (void)fixture;
    for (unsigned i = 0; i < STEPS_MAX && !done(arg); i++)
        if (!hf_sim_run_next(sim))
            return;
}

struct victim {
    struct engine_client *client;
};

static struct victim *victim_start(struct conformance_fixture *fixture,
                                   const char *queue, struct hf_ticket_id id,
                                   uint32_t weight)
{
    struct victim *victim = calloc(1, sizeof(*victim));

    assert_non_null(victim);
    victim->client = client_open(fixture);
    if (weight > 0)
        (void)client_lease(victim->client, queue, id, weight);
    else
        (void)client_enqueue(victim->client, queue, id, HF_TICKET_MUTEX,
                             "victim");
    return victim;
}

static void victim_kill(struct conformance_fixture *fixture,
                        struct victim *victim)
{
    (void)fixture;
    hf_sim_crash(victim->client->engine);
    client_free_crashed(victim->client);
    free(victim);
}

static void evict(struct conformance_fixture *fixture, const char *queue,
                  const struct hf_ticket *ticket)
{
    (void)fixture;
    assert_true(hf_sim_evict(sim, queue, &ticket->id));
}

static void cut(struct conformance_fixture *fixture)
{
    (void)fixture;
    hf_sim_restart_servers(sim);
}

int conformance_sim_run(const char *name, const struct hf_sim_config *config,
                        const enum hf_ticket_kind *shown)
{
    struct hf_sim_config copy = *config;
    struct conformance_fixture fixture = {
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
        .evictions_are_silent = config->ensemble.servers == 0 &&
                                !config->leases.enabled &&
                                config->etcd.members == 0,
        .has_double_barriers = true,
        .has_no_success = config->etcd.members > 0,
        .cut = cut,
        .data = &copy,
    };

    return suite_run(&fixture);
}
