/* SPDX-License-Identifier: Apache-2.0 */
#include "quorum_world.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/time_math.h"
#include "quorum_world_private.h"

#define START_MS UINT64_C(100000)
#define LATENCY_MS 15
/* A server forgets no sooner after another one did than tickets live. */
#define FORGET_GAP_MS (WORLD_TTL_MS + 1500)
#define SYNC_MS 1000
/* How far apart the clocks of servers are.  The same, they often give out the
 * same numbers.  Far, one never comes near what another one gives out; then no
 * server forgets, because a number that it was told may be known to no other.
 */
#define SAME_MS 64
#define NEAR_MS (WORLD_TTL_MS - 100)
#define FAR_MS UINT64_C(3600000)
/* And how much faster one may run than another. */
#define FAST_PPM 2000

enum message_kind { CALL, ANSWER, NOTICE, OPENED, CUT };

struct message {
    enum message_kind kind;
    uint64_t at_ms;
    uint64_t order;
    size_t client;
    size_t server;
    unsigned epoch; /* of the link */
    unsigned life;  /* of the server */
    struct wire_call call;
    struct wire_answer answer;
    struct hf_store_notice notice;
};

/* -------------------------------------------------------------- messages -- */

static uint64_t latency_ms(struct world *world)
{
    /* Now and then something is held up. */
    if (world->config.faults && world->now_ms < world->faults_until_ms &&
        world_below(world, 40) == 0)
        return world_below(world, 600);
    return 1 + world_below(world, LATENCY_MS);
}

static struct message *send_message(struct world *world, enum message_kind kind,
                                    size_t client, size_t server,
                                    bool to_server)
{
    struct link *link = &world->clients[client].links[server];
    uint64_t *last_ms = to_server ? &link->to_server_ms : &link->to_client_ms;
    struct message *message = calloc(1, sizeof *message);

    assert(message != NULL && world->message_count < WORLD_MESSAGES_MAX);
    message->kind = kind;
    message->client = client;
    message->server = server;
    message->epoch = link->epoch;
    message->life = world->machines[server].life;
    message->at_ms = hf_max_ms(world->now_ms + latency_ms(world), *last_ms);
    *last_ms = message->at_ms;
    message->order = ++world->order;
    world->messages[world->message_count++] = message;
    return message;
}

static bool is_before(const struct message *a, const struct message *b)
{
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->order < b->order;
}

static struct message *next_message(struct world *world)
{
    size_t first = 0;
    struct message *message;

    if (world->message_count == 0)
        return NULL;
    for (size_t i = 1; i < world->message_count; i++) {
        if (is_before(world->messages[i], world->messages[first]))
            first = i;
    }
    message = world->messages[first];
    if (message->at_ms > world->now_ms)
        return NULL;
    world->messages[first] = world->messages[--world->message_count];
    return message;
}

/* --------------------------------------------------------------- servers -- */

static void on_server_notice(void *arg, const char *session,
                             const struct hf_store_notice *notice)
{
    struct machine *machine = arg;
    struct world *world = machine->world;

    for (size_t c = 0; c < world->config.clients; c++) {
        const struct link *link = &world->clients[c].links[machine->number];

        if (link->up && strcmp(link->session, session) == 0)
            send_message(world, NOTICE, c, machine->number, false)->notice =
                *notice;
    }
}

static void serve(struct world *world, const struct message *message)
{
    struct machine *machine = &world->machines[message->server];
    struct client *client = &world->clients[message->client];
    struct wire_answer answer = {0};
    struct message *reply;

    if (machine->dead || machine->life != message->life)
        return;
    quorum_server_carry_out(&machine->server, world->now_ms, &message->call,
                            &answer);
    if (client->links[message->server].epoch != message->epoch)
        return; /* it was late: nobody listens */
    reply =
        send_message(world, ANSWER, message->client, message->server, false);
    reply->call = message->call;
    reply->answer = answer;
}

/* ---------------------------------------------------------------- stores -- */

static void op_connect(void *servers, size_t server, const char *session)
{
    struct client *client = servers;
    struct link *link = &client->links[server];
    struct world *world = client->world;
    bool dead = world->machines[server].dead;

    assert(!link->open);
    link->open = true;
    link->epoch++;
    (void)snprintf(link->session, sizeof link->session, "%s", session);
    link->to_server_ms = link->to_client_ms = 0;
    (void)send_message(world, dead ? CUT : OPENED, client->number, server,
                       false);
}

static void op_disconnect(void *servers, size_t server)
{
    struct client *client = servers;
    struct link *link = &client->links[server];

    assert(link->open);
    link->open = link->up = false;
    link->epoch++;
}

static void op_call(void *servers, size_t server, struct hf_store_call *call)
{
    struct client *client = servers;
    struct message *message;

    if (!client->links[server].up)
        return; /* it is cut, which it does not know yet */
    message = send_message(client->world, CALL, client->number, server, true);
    wire_call_copy(&message->call, call);
}

static const struct hf_quorum_ops quorum_ops = {op_connect, op_disconnect,
                                                op_call, NULL};

static void user_up(void *arg, uint64_t server_ms, uint64_t now_ms)
{
    hf_leased_up(((struct client *)arg)->leased, server_ms, now_ms);
}

static void user_down(void *arg, hf_status status, const char *why,
                      uint64_t now_ms)
{
    hf_leased_down(((struct client *)arg)->leased, status, why, now_ms);
}

static void user_answered(void *arg, struct hf_store_call *call,
                          const struct hf_store_answer *answer, uint64_t now_ms)
{
    hf_leased_answered(((struct client *)arg)->leased, call, answer, now_ms);
}

static void user_notice(void *arg, const struct hf_store_notice *notice,
                        uint64_t now_ms)
{
    hf_leased_notice(((struct client *)arg)->leased, notice, now_ms);
}

static struct client *client_of(struct hf_store *store)
{
    return (struct client *)(void *)store;
}

static void store_connect(struct hf_store *store, const char *session)
{
    struct client *client = client_of(store);

    hf_quorum_connect(client->quorum, session, client->world->now_ms);
}

static void store_disconnect(struct hf_store *store)
{
    hf_quorum_disconnect(client_of(store)->quorum);
}

static void store_call(struct hf_store *store, struct hf_store_call *call)
{
    struct client *client = client_of(store);

    hf_quorum_call(client->quorum, call, client->world->now_ms);
}

static void store_nothing(struct hf_store *store)
{
    (void)store;
}

static const struct hf_store_ops store_ops = {
    .connect = store_connect,
    .disconnect = store_disconnect,
    .call = store_call,
    .flush = store_nothing,
    .after_fork = store_nothing,
    .free = store_nothing,
};

/* ---------------------------------------------------------------- faults -- */

static void cut(struct world *world, size_t c, size_t s)
{
    struct link *link = &world->clients[c].links[s];
    bool late = world_below(world, 2) == 0;
    size_t kept = 0;

    if (!link->open)
        return;
    for (size_t i = 0; i < world->message_count; i++) {
        struct message *message = world->messages[i];

        if (message->client == c && message->server == s &&
            (message->kind != CALL || !late))
            free(message);
        else
            world->messages[kept++] = message;
    }
    world->message_count = kept;
    link->up = false;
    (void)send_message(world, CUT, c, s, false);
}

static void kill_server(struct world *world, size_t s, bool forget)
{
    struct machine *machine = &world->machines[s];

    machine->dead = true;
    machine->life++;
    machine->starts_ms = world->now_ms + 50 + world_below(world, 3000);
    if (forget && world_below(world, 2) == 0)
        quorum_server_clear(&machine->server);
    else if (forget)
        machine->server = machine->disk;
    for (size_t c = 0; c < world->config.clients; c++)
        cut(world, c, s);
}

static void fault(struct world *world)
{
    size_t s = world_below(world, world->config.servers);
    size_t c = world_below(world, world->config.clients);
    struct machine *machine = &world->machines[s];
    bool forget = !world->far &&
                  world->now_ms >= world->forgot_ms + FORGET_GAP_MS &&
                  world_below(world, 2) == 0;

    world->fault_ms = world->now_ms + 50 + world_below(world, 1200);
    if (machine->dead)
        return;
    switch (world_below(world, 6)) {
    case 0:
    case 1:
        cut(world, c, s);
        break;
    case 2:
        machine->frozen_until_ms = world->now_ms + world_below(world, 3000);
        break;
    case 3:
        kill_server(world, s, false);
        break;
    case 4:
    case 5:
        /* The gap counts from when it is there again. */
        kill_server(world, s, forget);
        if (forget)
            world->forgot_ms = machine->starts_ms;
        break;
    default:
        break;
    }
}

/* What a server answers is on its disk up to a second later. */
static void sync_disks(struct world *world)
{
    for (size_t s = 0; s < world->config.servers; s++) {
        struct machine *machine = &world->machines[s];

        if (machine->dead || machine->frozen_until_ms > world->now_ms ||
            world->now_ms < machine->synced_ms + SYNC_MS)
            continue;
        machine->disk = machine->server;
        machine->synced_ms = world->now_ms;
    }
}

static void revive(struct world *world)
{
    for (size_t s = 0; s < world->config.servers; s++) {
        struct machine *machine = &world->machines[s];

        if (!machine->dead || machine->never ||
            machine->starts_ms > world->now_ms)
            continue;
        machine->dead = false;
        machine->started_ms = world->now_ms;
        machine->frozen_until_ms = 0;
    }
}

/* ----------------------------------------------------------------- world -- */

static void opened(struct world *world, const struct message *message)
{
    struct client *client = &world->clients[message->client];
    const struct machine *machine = &world->machines[message->server];
    uint64_t served_ms =
        world->now_ms / 1000 * 1000 -
        hf_min_ms(machine->started_ms, world->now_ms) / 1000 * 1000;

    if (machine->dead || machine->life != message->life) {
        client->links[message->server].open = false;
        hf_quorum_server_down(client->quorum, message->server, HF_EUNREACHABLE,
                              "dead", world->now_ms);
        return;
    }
    client->links[message->server].up = true;
    hf_quorum_server_up(client->quorum, message->server,
                        quorum_server_clock(&machine->server, world->now_ms),
                        served_ms, world->now_ms);
}

static void deliver(struct world *world, struct message *message)
{
    struct client *client = &world->clients[message->client];
    struct link *link = &client->links[message->server];

    if (message->kind == CALL) {
        serve(world, message);
        return;
    }
    if (!link->open || link->epoch != message->epoch)
        return;
    if (message->kind == OPENED) {
        opened(world, message);
    } else if (message->kind == CUT) {
        link->open = link->up = false;
        link->epoch++;
        hf_quorum_server_down(client->quorum, message->server, HF_EUNREACHABLE,
                              "cut", world->now_ms);
    } else if (message->kind == NOTICE) {
        hf_quorum_server_notice(client->quorum, message->server,
                                &message->notice, world->now_ms);
    } else {
        message->answer.answer.tickets = message->answer.tickets;
        message->answer.answer.leases = message->answer.leases;
        hf_quorum_server_answered(client->quorum, message->call.origin,
                                  &message->answer.answer, world->now_ms);
    }
}

/* A server that does nothing does so to whatever it was about to hear. */
static bool is_held_up(struct world *world, struct message *message)
{
    struct machine *machine = &world->machines[message->server];

    if (machine->frozen_until_ms <= world->now_ms ||
        (message->kind != CALL && message->kind != OPENED))
        return false;
    message->at_ms = machine->frozen_until_ms;
    world->messages[world->message_count++] = message;
    return true;
}

static void deliver_all(struct world *world)
{
    struct message *message;

    while (world->result.broken == NULL &&
           (message = next_message(world)) != NULL) {
        if (is_held_up(world, message))
            continue;
        deliver(world, message);
        free(message);
    }
}

static void step(struct world *world)
{
    deliver_all(world);
    for (size_t i = 0; i < world->config.clients; i++) {
        struct client *client = &world->clients[i];

        if (hf_quorum_wake_at_ms(client->quorum) <= world->now_ms)
            hf_quorum_tick(client->quorum, world->now_ms);
        if (hf_leased_wake_at_ms(client->leased) <= world->now_ms)
            hf_leased_tick(client->leased, world->now_ms);
        contender_act(client);
    }
    if (world->config.faults && world->now_ms >= world->fault_ms &&
        world->now_ms < world->faults_until_ms)
        fault(world);
    sync_disks(world);
    revive(world);
}

/* All that are idle want it at the same instant. */
static void rush(struct world *world)
{
    if (!world->config.at_once)
        return;
    for (size_t i = 0; i < world->config.clients; i++) {
        if (world->clients[i].state != IDLE || world->clients[i].busy)
            return;
    }
    for (size_t i = 0; i < world->config.clients; i++)
        world->clients[i].next_ms = world->now_ms;
}

static void on_log(void *host, enum hf_log_level level, const char *format, ...)
{
    (void)host;
    (void)level;
    (void)format;
}

static void begin_client(struct world *world, size_t number)
{
    struct client *client = &world->clients[number];
    struct hf_engine_host host = {
        .event = contender_event, .log = on_log, .host = client};
    struct hf_leased_config leased = {.ttl_ms = WORLD_TTL_MS,
                                      .server_address = "world"};
    struct hf_quorum_config quorum = {.servers = world->config.servers,
                                      .ttl_ms = WORLD_TTL_MS,
                                      .rejoin_ms = WORLD_TTL_MS};
    const struct hf_quorum_user user = {user_up, user_down, user_answered,
                                        user_notice, client};

    client->world = world;
    client->number = number;
    client->next_ms = world->now_ms + world_below(world, 100);
    hf_random_seed(&leased.random, hf_random_next(&world->random));
    hf_random_seed(&quorum.random, hf_random_next(&world->random));
    client->quorum = hf_quorum_new(&quorum, &quorum_ops, client, &user);
    assert(client->quorum != NULL);
    client->leased =
        hf_leased_new(&leased, &host, &store_ops,
                      (struct hf_store *)(void *)client, world->now_ms);
    assert(client->leased != NULL);
}

static uint64_t choose_apart_ms(struct world *world)
{
    static const uint64_t apart_ms[] = {SAME_MS, NEAR_MS, NEAR_MS, FAR_MS};

    return apart_ms[world_below(world, 4)];
}

static void begin(struct world *world, const struct world_config *config,
                  uint64_t seed, uint64_t ms)
{
    uint64_t apart_ms;

    world->config = *config;
    hf_random_seed(&world->random, seed);
    world->now_ms = START_MS;
    world->faults_until_ms = START_MS + (config->faults ? ms * 2 / 3 : 0);
    world->fault_ms = START_MS + 500;
    apart_ms = choose_apart_ms(world);
    world->far = apart_ms == FAR_MS;
    for (size_t s = 0; s < config->servers; s++) {
        struct machine *machine = &world->machines[s];

        machine->world = world;
        machine->number = s;
        machine->server.notice = on_server_notice;
        machine->server.arg = machine;
        machine->server.ahead_ms = world_below(world, apart_ms);
        machine->server.fast_ppm = world_below(world, FAST_PPM);
        machine->disk = machine->server;
        machine->synced_ms = world->now_ms - world_below(world, SYNC_MS);
        machine->never = machine->dead = config->one_down && s == 0;
    }
    for (size_t c = 0; c < config->clients; c++)
        begin_client(world, c);
}

static void end(struct world *world)
{
    for (size_t i = 0; i < world->config.clients; i++) {
        hf_leased_free(world->clients[i].leased);
        hf_quorum_free(world->clients[i].quorum);
    }
    for (size_t i = 0; i < world->message_count; i++)
        free(world->messages[i]);
}

struct world_result world_run(const struct world_config *config, uint64_t seed,
                              uint64_t ms)
{
    struct world *world = calloc(1, sizeof *world);
    struct world_result result;

    assert(world != NULL);
    begin(world, config, seed, ms);
    while (world->now_ms < START_MS + ms && world->result.broken == NULL) {
        rush(world);
        step(world);
        world->now_ms++;
    }
    result = world->result;
    result.least_grants = world->clients[0].grants;
    for (size_t i = 1; i < config->clients; i++) {
        if (world->clients[i].grants < result.least_grants)
            result.least_grants = world->clients[i].grants;
    }
    end(world);
    free(world);
    return result;
}
