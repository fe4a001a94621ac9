/* SPDX-License-Identifier: Apache-2.0 */
/* The engine behind "sim:", and the table of engines of the host. */
#include "sim_clients.h"

#include <string.h>

#include "base/engine_host.h"
#include "base/error.h"
#include "client/client.h"
#include "client/engines.h"
#include "fuzz.h"
#include "heap/heap.h"
#include "scheduler.h"

static struct {
    struct hf_sim *sim;
    struct hf_engine_ops ops;
    struct sim_client clients[SIM_CLIENTS_MAX];
    unsigned count;
} sim_clients;

static struct sim_client *sim_client_of(const struct hf_engine *engine)
{
    for (unsigned i = 0; i < sim_clients.count; i++)
        if (sim_clients.clients[i].engine == engine)
            return &sim_clients.clients[i];
    MUST(false);
    return NULL;
}

/* ---------------------------------------------------------------- events -- */

/* Inside a call of the host the client's lock is held.  Otherwise the event
 * comes from the simulator: take the lock, and wake the loop. */
static void on_event(void *arg, struct hf_event *event)
{
    struct sim_client *sim_client = arg;
    struct hf_client *client = sim_client->host.host;
    bool comes_by_itself = sim_client->inside == 0;

    sim_client->interruptions += event->kind == HF_EVENT_SUSPENDED ||
                                 event->kind == HF_EVENT_SESSION_LOST;
    scheduler_note_ready();
    if (comes_by_itself)
        hf_monitor_lock(&client->monitor);
    sim_client->inside++;
    sim_client->host.event(sim_client->host.host, event);
    sim_client->inside--;
    if (comes_by_itself) {
        (void)uv_async_send(&sim_client->wake);
        hf_monitor_unlock(&client->monitor);
    }
}

static uint64_t on_now_ms(void *arg)
{
    struct sim_client *sim_client = arg;

    return sim_client->host.now_ms(sim_client->host.host);
}

static void on_wake(uv_async_t *wake)
{
    (void)wake;
}

/* ---------------------------------------------------------------- vtable -- */

static hf_status open_(const struct hf_url *url,
                       const struct hf_engine_host *host,
                       struct hf_engine **engine, struct hf_error *error)
{
    struct sim_client *sim_client = &sim_clients.clients[sim_clients.count];
    const struct hf_engine_host relay = {
        .event = on_event, .now_ms = on_now_ms, .host = sim_client};

    (void)url;
    (void)error;
    MUST(sim_clients.count++ < SIM_CLIENTS_MAX);
    *sim_client = (struct sim_client){.host = *host};
    MUST(uv_async_init(host->loop(host->host), &sim_client->wake, on_wake) ==
         0);
    heap_exempt(
        true); /* the simulator ends the program when it gets no memory */
    sim_client->engine = hf_sim_engine_new(sim_clients.sim, &relay);
    hf_sim_client_set_clock(sim_client->engine, scheduler_now_ms(), 0);
    heap_exempt(false);
    *engine = sim_client->engine;
    return HF_OK;
}

static void request(struct hf_engine *engine, struct hf_request *asked)
{
    struct sim_client *sim_client = sim_client_of(engine);

    sim_client->inside++;
    hf_sim_ops(sim_clients.sim)->request(engine, asked);
    sim_client->inside--;
}

static void forget_(struct hf_engine *engine, struct hf_request *watch)
{
    struct sim_client *sim_client = sim_client_of(engine);

    sim_client->inside++;
    hf_sim_ops(sim_clients.sim)->unwatch(engine, watch);
    sim_client->inside--;
}

static hf_status hold_(struct hf_engine *engine,
                       const struct hf_ticket_id *ticket, int *fd)
{
    return hf_sim_ops(sim_clients.sim)->hold(engine, ticket, fd);
}

static const char *describe(const struct hf_engine *engine)
{
    return hf_sim_ops(sim_clients.sim)->describe(engine);
}

static void free_(struct hf_engine *engine)
{
    struct sim_client *sim_client = sim_client_of(engine);

    hf_sim_ops(sim_clients.sim)->free(engine);
    sim_client->engine = NULL;
    uv_close((uv_handle_t *)&sim_client->wake, NULL);
}

void sim_clients_begin(struct hf_sim *sim)
{
    for (unsigned i = 0; i < sim_clients.count; i++)
        MUST(sim_clients.clients[i].engine == NULL);
    memset(&sim_clients, 0, sizeof(sim_clients));
    sim_clients.sim = sim;
    sim_clients.ops = *hf_sim_ops(sim);
    sim_clients.ops.open = open_;
    sim_clients.ops.request = request;
    sim_clients.ops.unwatch = forget_;
    sim_clients.ops.hold = hold_;
    sim_clients.ops.describe = describe;
    sim_clients.ops.free = free_;
}

unsigned sim_clients_count(void)
{
    return sim_clients.count;
}

struct sim_client *sim_clients_at(unsigned n)
{
    MUST(n < sim_clients.count);
    return &sim_clients.clients[n];
}

/* --------------------------------------------------- modules of the host -- */

hf_status hf_engines_find(const char *scheme, const struct hf_engine_ops **ops,
                          struct hf_error *error)
{
    if (strcmp(scheme, "sim") != 0)
        return hf_error_set(error, HF_EUNSUPPORTED,
                            "no engine has the scheme \"%.64s\"; expected "
                            "\"sim\"",
                            scheme);
    *ops = &sim_clients.ops;
    return HF_OK;
}

hf_status hf_engines_tls(const struct hf_tls_ops **tls, struct hf_error *error)
{
    *tls = NULL;
    return hf_error_set(error, HF_EUNSUPPORTED, "the model has no TLS");
}

hf_status hf_engines_sasl(const struct hf_sasl_ops **sasl,
                          struct hf_error *error)
{
    *sasl = NULL;
    return hf_error_set(error, HF_EUNSUPPORTED, "the model has no SASL");
}
