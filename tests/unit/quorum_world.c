/* SPDX-License-Identifier: Apache-2.0 */
#include "quorum_world.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/admission.h"
#include "core/instant.h"
#include "core/random.h"
#include "core/session.h"
#include "engines/leased/leased.h"
#include "engines/quorum/quorum.h"
#include "quorum_server.h"

#define TTL_MS UINT64_C(2000)
#define START_MS UINT64_C(100000)
#define MESSAGES_MAX 4096
#define SERVERS_MAX 5
#define LATENCY_MS 15
/* A server forgets no sooner after another one did than tickets live. */
#define FORGET_GAP_MS (TTL_MS + 1500)

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

struct link {
    bool open;
    bool up;
    unsigned epoch;
    char session[HF_STORE_SESSION_BYTES];
    uint64_t to_server_ms; /* nothing overtakes on it */
    uint64_t to_client_ms;
};

enum contending { IDLE, JOINING, LOOKING, WAITING, HOLDING, LEAVING };

struct client {
    struct world *world;
    size_t number;
    struct hf_leased *leased;
    struct hf_quorum *quorum;
    struct link links[SERVERS_MAX];
    bool connected;
    uint64_t safe_until_ms; /* of the session */
    uint64_t next_ms;       /* IDLE: contend; HOLDING: let go */
    enum contending state;
    enum hf_ticket_kind kind;
    struct hf_ticket_id id;
    uint64_t token;
    bool busy;  /* .request is asked */
    bool again; /* list once more */
    bool watching;
    struct hf_request request;
    struct hf_request watch;
    struct hf_request downgrade;
    bool downgrading;
    unsigned grants; /* after the faults */
};

struct machine {
    struct world *world;
    size_t number;
    struct quorum_server server;
    bool dead;
    uint64_t frozen_until_ms;
    uint64_t started_ms;
    uint64_t starts_ms; /* .dead: again */
    unsigned life;
    bool never;
};

struct world {
    struct world_config config;
    struct hf_random random;
    uint64_t now_ms;
    uint64_t faults_until_ms;
    uint64_t fault_ms;
    uint64_t forgot_ms;
    struct machine machines[SERVERS_MAX];
    struct client clients[WORLD_CLIENTS_MAX];
    struct message *messages[MESSAGES_MAX];
    size_t message_count;
    uint64_t order;
    uint64_t writer_token;
    uint64_t any_token;
    struct world_result result;
};

static uint64_t below(struct world *world, uint64_t bound)
{
    return hf_random_below(&world->random, bound);
}

/* -------------------------------------------------------------- messages -- */

static uint64_t latency_ms(struct world *world)
{
    /* Now and then something is held up. */
    if (world->config.faults && world->now_ms < world->faults_until_ms &&
        below(world, 40) == 0)
        return below(world, 600);
    return 1 + below(world, LATENCY_MS);
}

static struct message *send_message(struct world *world, enum message_kind kind,
                                    size_t client, size_t server,
                                    bool to_server)
{
    struct link *link = &world->clients[client].links[server];
    uint64_t *last_ms = to_server ? &link->to_server_ms : &link->to_client_ms;
    struct message *message = calloc(1, sizeof *message);

    assert(message != NULL && world->message_count < MESSAGES_MAX);
    message->kind = kind;
    message->client = client;
    message->server = server;
    message->epoch = link->epoch;
    message->life = world->machines[server].life;
    message->at_ms = hf_later_ms(world->now_ms + latency_ms(world), *last_ms);
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
                                                op_call};

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

/* ---------------------------------------------------------------- checks -- */

static void broken(struct world *world, const char *what)
{
    if (world->result.broken != NULL)
        return;
    world->result.broken = what;
    world->result.at_ms = world->now_ms;
}

static bool holds(const struct client *client)
{
    return client->state == HOLDING &&
           client->world->now_ms < client->safe_until_ms;
}

static void check_grant(struct client *client)
{
    struct world *world = client->world;
    bool writes = client->kind != HF_TICKET_READ;

    for (size_t i = 0; i < world->config.clients; i++) {
        const struct client *other = &world->clients[i];

        if (other != client && holds(other) &&
            (writes || other->kind != HF_TICKET_READ))
            broken(world, "two have it");
    }
    if (client->token <= (writes ? world->any_token : world->writer_token))
        broken(world, "a token did not rise");
    world->any_token = hf_later_ms(world->any_token, client->token);
    if (writes)
        world->writer_token = client->token;
}

/* ------------------------------------------------------------ contending -- */

static void ask(struct client *client, enum hf_request_kind kind)
{
    assert(!client->busy);
    client->busy = true;
    client->request = (struct hf_request){.kind = kind,
                                          .queue = "q",
                                          .ticket = client->id,
                                          .ticket_kind = client->kind,
                                          .weight = 1,
                                          .payload = ""};
    hf_leased_request(client->leased, &client->request, client->world->now_ms);
}

static void unwatch(struct client *client)
{
    if (client->watching)
        hf_leased_forget(client->leased, &client->watch, client->world->now_ms);
    client->watching = false;
}

static void give_up(struct client *client)
{
    client->state = LEAVING;
    client->next_ms = client->world->now_ms;
}

static void grant(struct client *client)
{
    struct world *world = client->world;

    if (!client->connected || world->now_ms >= client->safe_until_ms) {
        client->again = true;
        return;
    }
    client->state = HOLDING;
    check_grant(client);
    world->result.grants++;
    if (world->now_ms >= world->faults_until_ms)
        client->grants++;
    client->next_ms = world->now_ms + below(world, 120);
}

static void watch(struct client *client, const struct hf_ticket *ticket)
{
    client->watching = true;
    client->watch = (struct hf_request){.kind = HF_REQUEST_WATCH,
                                        .queue = "q",
                                        .ticket = ticket->id,
                                        .ticket_kind = ticket->kind,
                                        .payload = ""};
    hf_leased_request(client->leased, &client->watch, client->world->now_ms);
}

static void decide(struct client *client, const struct hf_snapshot *snapshot)
{
    struct hf_admission admission =
        hf_admission_decide(snapshot, &client->id, client->kind);

    unwatch(client);
    if (admission.answer == HF_MISSING) {
        give_up(client);
        return;
    }
    client->state = WAITING;
    if (admission.answer == HF_ADMITTED)
        grant(client);
    else
        watch(client, admission.before);
}

static void placed(struct client *client, const struct hf_snapshot *snapshot)
{
    size_t at = hf_snapshot_find(snapshot, &client->id);

    if (at == snapshot->count) {
        give_up(client);
        return;
    }
    client->token = snapshot->tickets[at].token;
    decide(client, snapshot);
}

static void on_answer(struct client *client, const struct hf_event *event)
{
    const struct hf_snapshot *snapshot = &event->as.answer.snapshot;

    client->busy = false;
    if (event->kind == HF_EVENT_ENQUEUED && client->state == JOINING) {
        placed(client, snapshot);
    } else if (event->kind == HF_EVENT_LISTED && client->state == LOOKING) {
        placed(client, snapshot);
    } else if (event->kind == HF_EVENT_LISTED && client->state == WAITING) {
        decide(client, snapshot);
    } else if (event->kind == HF_EVENT_WITHDRAWN) {
        client->state = IDLE;
        client->next_ms = client->world->now_ms + below(client->world, 200);
    } else if (event->kind == HF_EVENT_FAILED) {
        client->again = client->state == WAITING || client->state == LOOKING;
        if (client->state == JOINING &&
            event->as.answer.failure == HF_FAILURE_UNSURE) {
            client->state = LOOKING;
            client->again = true;
        } else if (client->state == JOINING) {
            client->state = IDLE;
        }
        client->next_ms = client->world->now_ms + 20;
    }
}

static void lose(struct client *client)
{
    client->connected = false;
    client->safe_until_ms = 0;
    client->watching = false;
    client->busy = client->downgrading = false;
    if (client->state == HOLDING)
        client->world->result.losses++;
    client->state = IDLE;
}

static void on_gone(struct client *client, const struct hf_request *request)
{
    if (request != &client->watch)
        return;
    client->watching = false;
    client->again = client->state == WAITING;
}

static void on_event(void *host, struct hf_event *event)
{
    struct client *client = host;
    struct hf_request *request = event->as.answer.request;
    uint64_t margin_ms = hf_session_margin_ms(TTL_MS);

    switch (event->kind) {
    case HF_EVENT_CONNECTED:
        client->connected = true;
        client->safe_until_ms =
            hf_later_ms(client->safe_until_ms,
                        event->as.connected.anchor_ms + TTL_MS - margin_ms);
        break;
    case HF_EVENT_PROVEN:
        client->safe_until_ms =
            hf_later_ms(client->safe_until_ms,
                        event->as.answer.anchor_ms + TTL_MS - margin_ms);
        break;
    case HF_EVENT_SUSPENDED:
        client->connected = false;
        break;
    case HF_EVENT_SESSION_LOST:
        lose(client);
        break;
    case HF_EVENT_TROUBLE:
    case HF_EVENT_WATCHING:
    case HF_EVENT_REVOKED:
        break;
    case HF_EVENT_GONE:
        on_gone(client, request);
        break;
    case HF_EVENT_DOWNGRADED:
        client->downgrading = false;
        break;
    default:
        if (request == &client->watch)
            on_gone(client, request); /* FAILED */
        else if (request == &client->downgrade)
            client->downgrading = false;
        else
            on_answer(client, event);
    }
}

static void on_log(void *host, enum hf_log_level level, const char *format, ...)
{
    (void)host;
    (void)level;
    (void)format;
}

static void contend(struct client *client)
{
    struct world *world = client->world;
    static const enum hf_ticket_kind kinds[] = {HF_TICKET_READ,
                                                HF_TICKET_WRITE};

    client->id = hf_random_ticket_id(&world->random);
    client->kind =
        world->config.readers ? kinds[below(world, 2)] : HF_TICKET_MUTEX;
    client->state = JOINING;
    client->again = false;
    ask(client, HF_REQUEST_ENQUEUE);
}

/* Whoever writes may go on to read. */
static bool wants_downgrade(struct client *client)
{
    return client->kind == HF_TICKET_WRITE && client->connected &&
           !client->downgrading && below(client->world, 3) == 0;
}

static void downgrade(struct client *client)
{
    client->kind = HF_TICKET_READ;
    client->downgrading = true;
    client->downgrade = (struct hf_request){.kind = HF_REQUEST_DOWNGRADE,
                                            .queue = "q",
                                            .ticket = client->id,
                                            .payload = ""};
    client->next_ms = client->world->now_ms + below(client->world, 100);
    hf_leased_request(client->leased, &client->downgrade,
                      client->world->now_ms);
}

static void let_go(struct client *client)
{
    if (wants_downgrade(client)) {
        downgrade(client);
        return;
    }
    client->state = LEAVING;
    client->next_ms = client->world->now_ms;
}

/* What the client does by itself now. */
static void act(struct client *client)
{
    uint64_t now_ms = client->world->now_ms;

    if (client->state == HOLDING && now_ms >= client->safe_until_ms)
        client->state = LEAVING; /* it is told so in time */
    if (client->busy || !client->connected)
        return;
    /* Now and then one looks for no reason. */
    if (client->state == WAITING && below(client->world, 50) == 0)
        client->again = true;
    if (client->state == IDLE && now_ms >= client->next_ms) {
        contend(client);
    } else if (client->state == HOLDING && now_ms >= client->next_ms) {
        let_go(client);
    } else if (client->state == LEAVING && now_ms >= client->next_ms &&
               !client->downgrading) {
        unwatch(client);
        ask(client, HF_REQUEST_WITHDRAW);
    } else if ((client->state == WAITING || client->state == LOOKING) &&
               client->again && now_ms >= client->next_ms) {
        client->again = false;
        client->next_ms = now_ms;
        ask(client, HF_REQUEST_LIST);
    }
}

/* ---------------------------------------------------------------- faults -- */

static void cut(struct world *world, size_t c, size_t s)
{
    struct link *link = &world->clients[c].links[s];
    bool late = below(world, 2) == 0;
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
    machine->starts_ms = world->now_ms + 50 + below(world, 3000);
    if (forget)
        quorum_server_clear(&machine->server);
    for (size_t c = 0; c < world->config.clients; c++)
        cut(world, c, s);
}

static void fault(struct world *world)
{
    size_t s = below(world, world->config.servers);
    size_t c = below(world, world->config.clients);
    struct machine *machine = &world->machines[s];
    bool forget = world->now_ms >= world->forgot_ms + FORGET_GAP_MS &&
                  below(world, 2) == 0;

    world->fault_ms = world->now_ms + 50 + below(world, 1200);
    if (machine->dead)
        return;
    switch (below(world, 6)) {
    case 0:
    case 1:
        cut(world, c, s);
        break;
    case 2:
        machine->frozen_until_ms = world->now_ms + below(world, 3000);
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
        hf_earlier_ms(machine->started_ms, world->now_ms) / 1000 * 1000;

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
        act(client);
    }
    if (world->config.faults && world->now_ms >= world->fault_ms &&
        world->now_ms < world->faults_until_ms)
        fault(world);
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

static void begin_client(struct world *world, size_t number)
{
    struct client *client = &world->clients[number];
    struct hf_engine_host host = {
        .event = on_event, .log = on_log, .host = client};
    struct hf_leased_config leased = {.ttl_ms = TTL_MS, .place = "world"};
    struct hf_quorum_config quorum = {.servers = world->config.servers,
                                      .ttl_ms = TTL_MS,
                                      .rejoin_ms = TTL_MS};
    const struct hf_quorum_user user = {user_up, user_down, user_answered,
                                        user_notice, client};

    client->world = world;
    client->number = number;
    client->next_ms = world->now_ms + below(world, 100);
    hf_random_seed(&leased.random, hf_random_next(&world->random));
    hf_random_seed(&quorum.random, hf_random_next(&world->random));
    client->quorum = hf_quorum_new(&quorum, &quorum_ops, client, &user);
    assert(client->quorum != NULL);
    client->leased =
        hf_leased_new(&leased, &host, &store_ops,
                      (struct hf_store *)(void *)client, world->now_ms);
    assert(client->leased != NULL);
}

static void begin(struct world *world, const struct world_config *config,
                  uint64_t seed, uint64_t ms)
{
    world->config = *config;
    hf_random_seed(&world->random, seed);
    world->now_ms = START_MS;
    world->faults_until_ms = START_MS + (config->faults ? ms * 2 / 3 : 0);
    world->fault_ms = START_MS + 500;
    for (size_t s = 0; s < config->servers; s++) {
        struct machine *machine = &world->machines[s];

        machine->world = world;
        machine->number = s;
        machine->server.notice = on_server_notice;
        machine->server.arg = machine;
        machine->server.ahead_ms = (int64_t)below(world, 4000);
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
