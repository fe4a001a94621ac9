/* SPDX-License-Identifier: Apache-2.0 */
/* The suite on the machine of leased tickets, with a server in memory and in
 * virtual time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "conformance/suite.h"
#include "unit/leased_model.h"

#define STEPS_MAX 100000
#define CLIENTS_MAX 64

static struct model *model;
static struct hf_store *clients[CLIENTS_MAX];
static size_t client_count;

/* An engine is a client of the model. */
static struct hf_store *store_of(struct hf_engine *engine)
{
    return (struct hf_store *)engine;
}

static void request(struct hf_engine *engine, struct hf_request *asked)
{
    hf_leased_request(model_leased(store_of(engine)), asked,
                      model_now_ms(model));
}

static void forget(struct hf_engine *engine, struct hf_request *watch)
{
    hf_leased_forget(model_leased(store_of(engine)), watch,
                     model_now_ms(model));
}

static void remove_client(const struct hf_store *store)
{
    size_t kept = 0;

    for (size_t i = 0; i < client_count; i++) {
        if (clients[i] != store)
            clients[kept++] = clients[i];
    }
    client_count = kept;
}

static void free_client(struct hf_engine *engine)
{
    remove_client(store_of(engine));
    model_close(store_of(engine));
}

static const struct hf_engine_ops ops = {
    .abi = HF_ENGINE_ABI,
    .scheme = "leased",
    .traits = HF_LEASED_TRAITS,
    .request = request,
    .forget = forget,
    .free = free_client,
};

/* ----------------------------------------------------------------- bench -- */

static void begin(struct bench *of)
{
    of->ops = &ops;
    client_count = 0;
    model = model_new();
}

static void finish(struct bench *of)
{
    (void)of;
    assert_int_equal(client_count, 0);
    model_free(model);
}

static struct hf_engine *open_client(struct bench *of,
                                     const struct hf_engine_host *host)
{
    struct hf_store *store = model_open(model, host);

    (void)of;
    assert_true(client_count < CLIENTS_MAX);
    clients[client_count++] = store;
    return (struct hf_engine *)store;
}

static void pump(struct bench *of, bool (*done)(void *arg), void *arg)
{
    (void)of;
    for (unsigned i = 0; i < STEPS_MAX && !done(arg); i++) {
        if (!model_step(model))
            return;
    }
}

struct victim {
    struct seat *seat;
};

static struct victim *victim_start(struct bench *of, const char *queue,
                                   struct hf_ticket_id id, uint32_t weight)
{
    struct victim *victim = calloc(1, sizeof *victim);

    assert_non_null(victim);
    victim->seat = seat_open(of);
    if (weight > 0)
        (void)seat_lease(victim->seat, queue, id, weight);
    else
        (void)seat_enqueue(victim->seat, queue, id, HF_TICKET_MUTEX, "victim");
    return victim;
}

static void victim_kill(struct bench *of, struct victim *victim)
{
    (void)of;
    remove_client(store_of(victim->seat->engine));
    model_crash(store_of(victim->seat->engine));
    seat_bury(victim->seat);
    free(victim);
}

static void evict(struct bench *of, const char *queue,
                  const struct hf_ticket *ticket)
{
    (void)of;
    assert_true(model_evict(model, queue, &ticket->id));
}

static void cut(struct bench *of)
{
    (void)of;
    for (size_t i = 0; i < client_count; i++)
        model_cut(clients[i], false);
}

int main(void)
{
    struct bench of = {
        .name = "conformance of leased tickets",
        .begin = begin,
        .finish = finish,
        .open = open_client,
        .pump = pump,
        .victim_start = victim_start,
        .victim_kill = victim_kill,
        .evict = evict,
        .has_members = true,
        .cut = cut,
    };

    return suite_run(&of);
}
