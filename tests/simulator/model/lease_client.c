/* SPDX-License-Identifier: Apache-2.0 */
/* The engine of the lease model: the real machine of src/engines/leased, on a
 * store (store.h) whose links are simulated. */
#include "simulator/model/lease_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/engine_host.h"
#include "base/time_math.h"

static uint64_t now_ms(const struct hf_store *client)
{
    return hf_sim_client_now_ms(client->engine);
}

/* ------------------------------------------------- calls into the client -- */

static void tick(void *arg);

/* Set the timer to when the machine wants it.  An earlier timer that is set
 * serves as well. */
static void arm(struct hf_store *client)
{
    struct hf_engine *engine = client->engine;
    uint64_t at_us =
        hf_sim_client_at_us(engine, hf_leased_wake_at_ms(client->leased));

    if (at_us == UINT64_MAX || engine->frozen || at_us >= engine->armed_us)
        return;
    engine->armed_us = at_us;
    hf_sim_call_at(engine->sim, at_us,
                   client->client_session != NULL ||
                       at_us > engine->sim->now_us + 1000000,
                   tick, client);
}

static void begin_call(struct hf_store *client)
{
    client->call_depth++;
}

static void end_call(struct hf_store *client)
{
    if (--client->call_depth == 0 && !client->engine->gone)
        arm(client);
}

/* The machine's timer. */
static void tick(void *arg)
{
    struct hf_store *client = arg;
    struct hf_engine *engine = client->engine;

    if (engine->gone || engine->frozen ||
        engine->armed_us > engine->sim->now_us)
        return;
    engine->armed_us = UINT64_MAX;
    begin_call(client);
    hf_leased_tick(client->leased, now_ms(client));
    end_call(client);
}

/* ----------------------------------------------------------------- calls -- */

static void forget_executed(struct hf_store *client)
{
    lease_answer_free(&client->executed);
    memset(&client->executed, 0, sizeof client->executed);
}

/* A call whose commit failed is UNSURE for the client, whatever the reason. */
static void answered(struct hf_store *client,
                     const struct lease_message *message)
{
    static const struct hf_store_answer unsure = {
        .failure = HF_FAILURE_UNSURE,
        .status = HF_EUNREACHABLE,
        .text = "the server could not commit"};
    struct lease_answer executed = client->executed;

    memset(&client->executed, 0, sizeof client->executed);
    hf_leased_answered(client->leased, message->call,
                       message->commit == LEASE_COMMITTED ? &executed.answer
                                                          : &unsure,
                       now_ms(client));
    lease_answer_free(&executed);
}

/* The answer is kept until the commit of its call has ended. */
static void executed(struct hf_store *client, struct lease_message *message)
{
    client->executed = message->answer;
    memset(&message->answer, 0, sizeof message->answer);
}

static void down(struct hf_store *client, struct lease_link *link)
{
    lease_link_close(link);
    client->link = NULL;
    forget_executed(client);
    hf_leased_down(client->leased, HF_EUNREACHABLE, "connection reset",
                   now_ms(client));
}

/* A message of the link has arrived at a running process. */
void lease_client_receive(struct hf_store *client, struct lease_link *link,
                          struct lease_message *message)
{
    uint64_t now = now_ms(client);

    assert(client->link == link && client->call_depth == 0);
    begin_call(client);
    switch (message->kind) {
    case LEASE_CONNECTED:
        hf_leased_up(client->leased, message->server_ms, now);
        break;
    case LEASE_EXECUTED:
        executed(client, message);
        break;
    case LEASE_ANSWER:
        answered(client, message);
        break;
    case LEASE_NOTICE:
        hf_leased_notice(client->leased, &message->notice, now);
        break;
    default:
        down(client, link);
    }
    end_call(client);
}

/* ----------------------------------------------------------------- store -- */

static void store_connect(struct hf_store *client, const char *session)
{
    assert(client->link == NULL);
    client->link = lease_link_new(client->engine, session);
}

static void store_disconnect(struct hf_store *client)
{
    struct lease_link *link = client->link;

    assert(link != NULL);
    client->link = NULL;
    forget_executed(client);
    lease_link_close(link);
}

static void store_call(struct hf_store *client, struct hf_store_call *call)
{
    assert(client->link != NULL);
    lease_link_call(client->link, call);
}

static const struct hf_store_ops store_ops = {
    .connect = store_connect,
    .disconnect = store_disconnect,
    .call = store_call,
};

/* --------------------------------------------------------------- watches -- */

static struct lease_watch_request **watch_of(struct hf_store *client,
                                             const struct hf_request *request)
{
    struct lease_watch_request **at = &client->watches;

    while (*at != NULL && (*at)->request != request)
        at = &(*at)->next;
    return at;
}

static void watch_end(struct hf_store *client, const struct hf_request *request)
{
    struct lease_watch_request **at = watch_of(client, request);

    if (*at != NULL)
        *at = (*at)->next;
}

/* The model notes which requests wait for a watch, so that it can notify the
 * observer what a change of the queue fires. */
static void note_watch(struct hf_store *client, const struct hf_event *event)
{
    const struct hf_request *request = event->as.answer.request;

    if (request == NULL || (request->kind != HF_REQUEST_WATCH &&
                            request->kind != HF_REQUEST_WATCH_QUEUE))
        return;
    if (event->kind == HF_EVENT_WATCHING || event->kind == HF_EVENT_LISTED)
        (*watch_of(client, request))->watching = true;
    else
        watch_end(client, request);
}

/* ---------------------------------------------------------------- events -- */

/* Keep the client's session and watches up to date, and trace. */
static void observe_event(struct hf_store *client, const struct hf_event *event)
{
    struct hf_sim *sim = client->engine->sim;

    switch (event->kind) {
    case HF_EVENT_CONNECTED:
        client->client_session = client->link->session;
        sim_trace(sim, client->engine, "engine %s",
                  event->as.connected.resumed ? "resumed" : "connected");
        break;
    case HF_EVENT_SUSPENDED:
        sim_trace(sim, client->engine, "engine suspended");
        break;
    case HF_EVENT_SESSION_LOST:
        sim_trace(sim, client->engine, "engine session lost");
        client->client_session = NULL;
        client->watches = NULL;
        break;
    case HF_EVENT_CLOSED:
        client->client_session = NULL;
        client->watches = NULL;
        break;
    case HF_EVENT_LISTED:
    case HF_EVENT_QUEUE_CHANGED:
    case HF_EVENT_WATCHING:
    case HF_EVENT_GONE:
    case HF_EVENT_FAILED:
        note_watch(client, event);
        break;
    default:
        break;
    }
}

/* The machine's events go to the core, and the model notes them. */
static void on_event(void *host, struct hf_event *event)
{
    struct hf_store *client = host;
    struct hf_engine *engine = client->engine;

    assert(!engine->frozen && !engine->gone);
    event->now_ms = now_ms(client);
    observe_event(client, event);
    engine->host.event(engine->host.host, event);
}

static void on_log(void *host, enum hf_log_level level, const char *format, ...)
{
    (void)host;
    (void)level;
    (void)format;
}

/* ----------------------------------------------------------------- model -- */

/* A machine with the options of this run. */
static struct hf_leased *machine_new(struct hf_store *client)
{
    struct hf_sim *sim = client->engine->sim;
    struct hf_leased_config config = {.ttl_ms = sim->config.timeout_ms,
                                      .clock_drift = sim->config.clock_drift,
                                      .server_address = "model",
                                      .reconnect = sim->config.reconnect,
                                      .renewal_piece_max =
                                          sim->config.leases.renewal_piece_max};
    struct hf_engine_host host = {
        .event = on_event, .log = on_log, .host = client};
    struct hf_leased *leased;

    hf_random_seed(&config.random, hf_random_next(&sim->random));
    leased = hf_leased_new(&config, &host, &store_ops, client, now_ms(client));
    if (leased == NULL)
        abort(); /* tests cannot go on without memory */
    return leased;
}

/* Start the process, or start it anew because its clock was set. */
static void begin(struct hf_engine *engine)
{
    struct hf_store *client = engine->lease;

    if (client == NULL) {
        client = sim_alloc(engine->sim, sizeof *client);
        client->engine = engine;
        engine->lease = client;
    } else { /* the clock was set once more */
        hf_leased_free(client->leased);
    }
    engine->armed_us = UINT64_MAX;
    begin_call(client);
    client->leased = machine_new(client);
    end_call(client);
}

static void request(struct hf_engine *engine, struct hf_request *core_request)
{
    struct hf_store *client = engine->lease;

    assert(!engine->frozen && !engine->gone);
    if (core_request->kind == HF_REQUEST_WATCH ||
        core_request->kind == HF_REQUEST_WATCH_QUEUE) {
        struct lease_watch_request *watch =
            sim_alloc(engine->sim, sizeof *watch);

        watch->request = core_request;
        watch->next = client->watches;
        client->watches = watch;
    }
    begin_call(client);
    hf_leased_request(client->leased, core_request, now_ms(client));
    end_call(client);
}

static void unwatch(struct hf_engine *engine, struct hf_request *watch)
{
    struct hf_store *client = engine->lease;

    watch_end(client, watch);
    begin_call(client);
    hf_leased_forget(client->leased, watch, now_ms(client));
    end_call(client);
}

static void connect_again(struct hf_engine *engine)
{
    struct hf_store *client = engine->lease;

    begin_call(client);
    hf_leased_connect(client->leased, now_ms(client));
    end_call(client);
}

/* The process is gone, without a close. */
static void crash(struct hf_engine *engine)
{
    struct hf_store *client = engine->lease;

    engine->gone = true;
    hf_leased_free(client->leased);
    client->leased = NULL;
    client->client_session = NULL;
    client->watches = NULL;
}

/* Which comes first is random: what has arrived meanwhile, or what the clock
 * says. */
static void thaw(struct hf_engine *engine)
{
    struct hf_store *client = engine->lease;
    bool clock_first = sim_random_between(engine->sim, 0, 1) == 0;

    if (!clock_first && client->link != NULL)
        lease_link_flush(client->link);
    engine->armed_us = engine->sim->now_us;
    hf_sim_call_at(engine->sim, engine->sim->now_us, false, tick, client);
    if (clock_first && client->link != NULL)
        lease_link_flush(client->link);
}

static void flush(struct hf_engine *engine)
{
    if (engine->lease->link != NULL)
        lease_link_flush(engine->lease->link);
}

static void reset(struct hf_engine *engine)
{
    if (engine->lease->link != NULL)
        lease_link_reset(engine->lease->link);
}

static const void *owner(const struct hf_engine *engine)
{
    return engine->lease->client_session;
}

static bool alive(const struct hf_engine *engine)
{
    return engine->lease->client_session != NULL;
}

static bool connected(const struct hf_engine *engine)
{
    const struct lease_link *link = engine->lease->link;
    const struct lease_state *leases = engine->sim->leases;

    return link != NULL && !link->ended && link->server_open &&
           engine->lease->client_session == link->session && !leases->down &&
           leases->frozen == 0;
}

static void free_memory(struct hf_sim *sim)
{
    for (struct hf_engine *e = sim->engines; e != NULL; e = e->next) {
        if (!e->gone)
            crash(e);
    }
    lease_links_free(sim);
    if (sim->leases->standby != NULL)
        lease_server_free(sim->leases->standby);
    lease_server_free(sim->leases->server);
}

const struct sim_model_ops sim_model_lease = {
    .start = begin,
    .request = request,
    .unwatch = unwatch,
    .connect = connect_again,
    .free = crash, /* After CLOSED there is nothing left to send. */
    .thaw = thaw,
    .flush = flush,
    .reset = reset,
    .crash = crash,
    .kill_session = lease_kill_session,
    .stall = lease_stall,
    .restart = lease_restart,
    .end_faults = lease_end_faults,
    .evict = lease_evict,
    .other_enqueue = lease_other_enqueue,
    .set_barrier = lease_set_barrier,
    .touch_barrier = lease_touch_barrier,
    .owner = owner,
    .alive = alive,
    .connected = connected,
    .lease_end_us = lease_end_us,
    .free_memory = free_memory,
};
