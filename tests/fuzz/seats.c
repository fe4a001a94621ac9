/* SPDX-License-Identifier: Apache-2.0 */
#include "seats.h"

#include <string.h>

#include "core/error.h"
#include "fuzz.h"
#include "heap/heap.h"
#include "host/client.h"
#include "host/engines.h"
#include "turns.h"

static struct {
    struct hf_sim *sim;
    struct hf_engine_ops ops;
    struct seat seats[SEATS_MAX];
    unsigned count;
} hall;

static struct seat *seat_of(const struct hf_engine *engine)
{
    for (unsigned i = 0; i < hall.count; i++)
        if (hall.seats[i].engine == engine)
            return &hall.seats[i];
    MUST(false);
    return NULL;
}

/* ---------------------------------------------------------------- events -- */

/* From inside a call of the host the client's lock is held; else the model has
 * it now, and the loop is told that there may be something to do. */
static void on_event(void *arg, struct hf_event *event)
{
    struct seat *seat = arg;
    struct hf_client *client = seat->host.host;
    bool comes_by_itself = seat->inside == 0;

    seat->troubles += event->kind == HF_EVENT_SUSPENDED ||
                      event->kind == HF_EVENT_SESSION_LOST;
    turns_stir();
    if (comes_by_itself)
        hf_monitor_lock(&client->monitor);
    seat->inside++;
    seat->host.event(seat->host.host, event);
    seat->inside--;
    if (comes_by_itself) {
        (void)uv_async_send(&seat->wake);
        hf_monitor_unlock(&client->monitor);
    }
}

static uint64_t on_now_ms(void *arg)
{
    struct seat *seat = arg;

    return seat->host.now_ms(seat->host.host);
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
    struct seat *seat = &hall.seats[hall.count];
    const struct hf_engine_host by_way_of_here = {
        .event = on_event, .now_ms = on_now_ms, .host = seat};

    (void)url;
    (void)error;
    MUST(hall.count++ < SEATS_MAX);
    *seat = (struct seat){.host = *host};
    MUST(uv_async_init(host->loop(host->host), &seat->wake, on_wake) == 0);
    heap_exempt(true); /* the model ends the program without memory */
    seat->engine = hf_sim_engine_new(hall.sim, &by_way_of_here);
    hf_sim_client_set_clock(seat->engine, turns_now_ms(), 0);
    heap_exempt(false);
    *engine = seat->engine;
    return HF_OK;
}

static void request(struct hf_engine *engine, struct hf_request *asked)
{
    struct seat *seat = seat_of(engine);

    seat->inside++;
    hf_sim_ops(hall.sim)->request(engine, asked);
    seat->inside--;
}

static void forget_(struct hf_engine *engine, struct hf_request *watch)
{
    struct seat *seat = seat_of(engine);

    seat->inside++;
    hf_sim_ops(hall.sim)->unwatch(engine, watch);
    seat->inside--;
}

static hf_status hold_(struct hf_engine *engine,
                       const struct hf_ticket_id *ticket, int *fd)
{
    return hf_sim_ops(hall.sim)->hold(engine, ticket, fd);
}

static const char *describe(const struct hf_engine *engine)
{
    return hf_sim_ops(hall.sim)->describe(engine);
}

static void free_(struct hf_engine *engine)
{
    struct seat *seat = seat_of(engine);

    hf_sim_ops(hall.sim)->free(engine);
    seat->engine = NULL;
    uv_close((uv_handle_t *)&seat->wake, NULL);
}

void seats_begin(struct hf_sim *sim)
{
    for (unsigned i = 0; i < hall.count; i++)
        MUST(hall.seats[i].engine == NULL);
    memset(&hall, 0, sizeof(hall));
    hall.sim = sim;
    hall.ops = *hf_sim_ops(sim);
    hall.ops.open = open_;
    hall.ops.request = request;
    hall.ops.unwatch = forget_;
    hall.ops.hold = hold_;
    hall.ops.describe = describe;
    hall.ops.free = free_;
}

unsigned seats_taken(void)
{
    return hall.count;
}

struct seat *seats_at(unsigned n)
{
    MUST(n < hall.count);
    return &hall.seats[n];
}

/* --------------------------------------------------- what the host loads -- */

hf_status hf_engines_find(const char *scheme, const struct hf_engine_ops **ops,
                          struct hf_error *error)
{
    if (strcmp(scheme, "sim") != 0)
        return hf_error_set(error, HF_EUNSUPPORTED,
                            "no engine has the scheme \"%.64s\"; expected "
                            "\"sim\"",
                            scheme);
    *ops = &hall.ops;
    return HF_OK;
}

hf_status hf_engines_tls(const struct hf_tls_ops **tls, struct hf_error *error)
{
    *tls = NULL;
    return hf_error_set(error, HF_EUNSUPPORTED, "the model has no TLS");
}
