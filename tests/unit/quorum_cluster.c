/* SPDX-License-Identifier: Apache-2.0 */
/* Time goes on by the millisecond: messages that are due arrive, clients act,
 * and a fault may happen.  Messages of one link keep their order; those of
 * different links overtake each other. */
#include "quorum_cluster.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/engine_host.h"
#include "base/time_math.h"
#include "quorum_cluster_private.h"

#define START_MS UINT64_C(100000)
#define LATENCY_MS 15
/* A server forgets what it had only if the last one that did so has been up for
 * longer than tickets live: the engine does not promise more. */
#define FORGET_GAP_MS (CLUSTER_TTL_MS + 1500)
#define SYNC_MS 1000
/* How far apart the clocks of servers are.  With SAME they often propose equal
 * numbers.  With FAR the numbers of one server are never near those of another.
 * Then no server forgets: a number that it has seen may be known to no other.
 */
#define SAME_MS 64
#define NEAR_MS (CLUSTER_TTL_MS - 100)
#define FAR_MS UINT64_C(3600000)
/* By how much one clock may be faster than another. */
#define FAST_PPM 83333

enum cluster_message_kind { CALL, ANSWER, NOTICE, OPENED, CUT };

struct cluster_message {
    enum cluster_message_kind kind;
    uint64_t at_ms; /* when it arrives */
    uint64_t order; /* when it was sent, among those */
    size_t client;
    size_t server;
    unsigned epoch; /* of the link, when it was sent */
    unsigned life;  /* of the server, likewise */
    struct wire_call call;
    struct wire_answer answer;
    struct hf_store_notice notice;
};

/* -------------------------------------------------------------- messages -- */

static uint64_t latency_ms(struct quorum_cluster *cluster)
{
    /* While there are faults, one message in forty is slow. */
    if (cluster->config.faults && cluster->now_ms < cluster->faults_until_ms &&
        cluster_random_below(cluster, 40) == 0)
        return cluster_random_below(cluster, 600);
    return 1 + cluster_random_below(cluster, LATENCY_MS);
}

static struct cluster_message *send_message(struct quorum_cluster *cluster,
                                            enum cluster_message_kind kind,
                                            size_t client, size_t server,
                                            bool to_server)
{
    struct quorum_link *link = &cluster->clients[client].links[server];
    uint64_t *last_ms = to_server ? &link->to_server_ms : &link->to_client_ms;
    struct cluster_message *message = calloc(1, sizeof *message);

    assert(message != NULL && cluster->message_count < CLUSTER_MESSAGES_MAX);
    message->kind = kind;
    message->client = client;
    message->server = server;
    message->epoch = link->epoch;
    message->life = cluster->processes[server].life;
    message->at_ms = hf_max_ms(cluster->now_ms + latency_ms(cluster), *last_ms);
    *last_ms = message->at_ms;
    message->order = ++cluster->order;
    cluster->messages[cluster->message_count++] = message;
    return message;
}

static bool is_before(const struct cluster_message *a,
                      const struct cluster_message *b)
{
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->order < b->order;
}

static struct cluster_message *next_message(struct quorum_cluster *cluster)
{
    size_t first = 0;
    struct cluster_message *message;

    if (cluster->message_count == 0)
        return NULL;
    for (size_t i = 1; i < cluster->message_count; i++) {
        if (is_before(cluster->messages[i], cluster->messages[first]))
            first = i;
    }
    message = cluster->messages[first];
    if (message->at_ms > cluster->now_ms)
        return NULL;
    cluster->messages[first] = cluster->messages[--cluster->message_count];
    return message;
}

/* --------------------------------------------------------------- servers -- */

static void on_server_notice(void *arg, const char *session,
                             const struct hf_store_notice *notice)
{
    struct server_process *process = arg;
    struct quorum_cluster *cluster = process->cluster;

    for (size_t c = 0; c < cluster->config.clients; c++) {
        const struct quorum_link *link =
            &cluster->clients[c].links[process->number];

        if (link->up && strcmp(link->session, session) == 0)
            send_message(cluster, NOTICE, c, process->number, false)->notice =
                *notice;
    }
}

static void serve(struct quorum_cluster *cluster,
                  const struct cluster_message *message)
{
    struct server_process *process = &cluster->processes[message->server];
    struct quorum_client *client = &cluster->clients[message->client];
    struct wire_answer answer = {0};
    struct cluster_message *reply;

    if (process->dead || process->life != message->life)
        return;
    quorum_fake_server_carry_out(&process->server, cluster->now_ms,
                                 &message->call, &answer);
    if (client->links[message->server].epoch != message->epoch)
        return; /* the link has ended, the call took effect */
    reply =
        send_message(cluster, ANSWER, message->client, message->server, false);
    reply->call = message->call;
    reply->answer = answer;
}

/* ---------------------------------------------------------------- stores -- */

static void op_connect(void *servers, size_t server, const char *session)
{
    struct quorum_client *client = servers;
    struct quorum_link *link = &client->links[server];
    struct quorum_cluster *cluster = client->cluster;
    bool dead = cluster->processes[server].dead;

    assert(!link->open);
    link->open = true;
    link->epoch++;
    (void)snprintf(link->session, sizeof link->session, "%s", session);
    link->to_server_ms = link->to_client_ms = 0;
    (void)send_message(cluster, dead ? CUT : OPENED, client->number, server,
                       false);
}

static void op_disconnect(void *servers, size_t server)
{
    struct quorum_client *client = servers;
    struct quorum_link *link = &client->links[server];

    assert(link->open);
    link->open = link->up = false;
    link->epoch++;
}

static void op_call(void *servers, size_t server, struct hf_store_call *call)
{
    struct quorum_client *client = servers;
    struct cluster_message *message;

    if (!client->links[server].up)
        return; /* it is cut, which it does not know yet */
    message = send_message(client->cluster, CALL, client->number, server, true);
    wire_call_copy(&message->call, call);
}

static const struct hf_quorum_ops quorum_ops = {op_connect, op_disconnect,
                                                op_call, NULL};

static void user_up(void *arg, uint64_t server_ms, uint64_t now_ms)
{
    hf_leased_up(((struct quorum_client *)arg)->leased, server_ms, now_ms);
}

static void user_down(void *arg, hf_status status, const char *why,
                      uint64_t now_ms)
{
    hf_leased_down(((struct quorum_client *)arg)->leased, status, why, now_ms);
}

static void user_answered(void *arg, struct hf_store_call *call,
                          const struct hf_store_answer *answer, uint64_t now_ms)
{
    hf_leased_answered(((struct quorum_client *)arg)->leased, call, answer,
                       now_ms);
}

static void user_notice(void *arg, const struct hf_store_notice *notice,
                        uint64_t now_ms)
{
    hf_leased_notice(((struct quorum_client *)arg)->leased, notice, now_ms);
}

static struct quorum_client *client_of(struct hf_store *store)
{
    return (struct quorum_client *)(void *)store;
}

static void store_connect(struct hf_store *store, const char *session)
{
    struct quorum_client *client = client_of(store);

    hf_quorum_connect(client->quorum, session, client->cluster->now_ms);
}

static void store_disconnect(struct hf_store *store)
{
    hf_quorum_disconnect(client_of(store)->quorum);
}

static void store_call(struct hf_store *store, struct hf_store_call *call)
{
    struct quorum_client *client = client_of(store);

    hf_quorum_call(client->quorum, call, client->cluster->now_ms);
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

/* Break a link: its messages are lost, or all but the calls. */
static void cut(struct quorum_cluster *cluster, size_t c, size_t s)
{
    struct quorum_link *link = &cluster->clients[c].links[s];
    bool late = cluster_random_below(cluster, 2) == 0;
    size_t kept = 0;

    if (!link->open)
        return;
    for (size_t i = 0; i < cluster->message_count; i++) {
        struct cluster_message *message = cluster->messages[i];

        if (message->client == c && message->server == s &&
            (message->kind != CALL || !late))
            free(message);
        else
            cluster->messages[kept++] = message;
    }
    cluster->message_count = kept;
    link->up = false;
    (void)send_message(cluster, CUT, c, s, false);
}

/* Kill a server, which starts again.  With ${forget} it starts empty or with
 * what was on its disk, else with all it had. */
static void kill_server(struct quorum_cluster *cluster, size_t s, bool forget)
{
    struct server_process *process = &cluster->processes[s];

    process->dead = true;
    process->life++;
    process->starts_ms =
        cluster->now_ms + 50 + cluster_random_below(cluster, 3000);
    if (forget && cluster_random_below(cluster, 2) == 0)
        quorum_fake_server_clear(&process->server);
    else if (forget)
        process->server = process->disk;
    for (size_t c = 0; c < cluster->config.clients; c++)
        cut(cluster, c, s);
}

static void fault(struct quorum_cluster *cluster)
{
    size_t s = cluster_random_below(cluster, cluster->config.servers);
    size_t c = cluster_random_below(cluster, cluster->config.clients);
    struct server_process *process = &cluster->processes[s];
    bool forget = !cluster->far &&
                  cluster->now_ms >= cluster->forgot_ms + FORGET_GAP_MS &&
                  cluster_random_below(cluster, 2) == 0;

    cluster->fault_ms =
        cluster->now_ms + 50 + cluster_random_below(cluster, 1200);
    if (process->dead)
        return;
    switch (cluster_random_below(cluster, 6)) {
    case 0:
    case 1:
        cut(cluster, c, s);
        break;
    case 2:
        process->frozen_until_ms =
            cluster->now_ms + cluster_random_below(cluster, 3000);
        break;
    case 3:
        kill_server(cluster, s, false);
        break;
    case 4:
    case 5:
        /* FORGET_GAP_MS counts from when it is up again. */
        kill_server(cluster, s, forget);
        if (forget)
            cluster->forgot_ms = process->starts_ms;
        break;
    default:
        break;
    }
}

/* The disk of a server is up to a second behind what it answers. */
static void sync_disks(struct quorum_cluster *cluster)
{
    for (size_t s = 0; s < cluster->config.servers; s++) {
        struct server_process *process = &cluster->processes[s];

        if (process->dead || process->frozen_until_ms > cluster->now_ms ||
            cluster->now_ms < process->synced_ms + SYNC_MS)
            continue;
        process->disk = process->server;
        process->synced_ms = cluster->now_ms;
    }
}

/* Start the servers that are due. */
static void revive(struct quorum_cluster *cluster)
{
    for (size_t s = 0; s < cluster->config.servers; s++) {
        struct server_process *process = &cluster->processes[s];

        if (!process->dead || process->never ||
            process->starts_ms > cluster->now_ms)
            continue;
        process->dead = false;
        process->started_ms = cluster->now_ms;
        process->frozen_until_ms = 0;
    }
}

/* --------------------------------------------------------------- cluster -- */

/* The server has accepted a link, or is dead after all. */
static void opened(struct quorum_cluster *cluster,
                   const struct cluster_message *message)
{
    struct quorum_client *client = &cluster->clients[message->client];
    const struct server_process *process = &cluster->processes[message->server];
    uint64_t served_ms =
        cluster->now_ms / 1000 * 1000 -
        hf_min_ms(process->started_ms, cluster->now_ms) / 1000 * 1000;

    if (process->dead || process->life != message->life) {
        client->links[message->server].open = false;
        hf_quorum_server_down(client->quorum, message->server, HF_EUNREACHABLE,
                              "dead", cluster->now_ms);
        return;
    }
    client->links[message->server].up = true;
    hf_quorum_server_up(
        client->quorum, message->server,
        quorum_fake_server_clock(&process->server, cluster->now_ms), served_ms,
        cluster->now_ms);
}

static void deliver(struct quorum_cluster *cluster,
                    struct cluster_message *message)
{
    struct quorum_client *client = &cluster->clients[message->client];
    struct quorum_link *link = &client->links[message->server];

    if (message->kind == CALL) {
        serve(cluster, message);
        return;
    }
    if (!link->open || link->epoch != message->epoch)
        return;
    if (message->kind == OPENED) {
        opened(cluster, message);
    } else if (message->kind == CUT) {
        link->open = link->up = false;
        link->epoch++;
        hf_quorum_server_down(client->quorum, message->server, HF_EUNREACHABLE,
                              "cut", cluster->now_ms);
    } else if (message->kind == NOTICE) {
        hf_quorum_server_notice(client->quorum, message->server,
                                &message->notice, cluster->now_ms);
    } else {
        message->answer.answer.tickets = message->answer.tickets;
        message->answer.answer.leases = message->answer.leases;
        hf_quorum_server_answered(client->quorum, message->call.origin,
                                  &message->answer.answer, cluster->now_ms);
    }
}

/* A frozen server receives nothing: keep the message until it goes on. */
static bool is_held_up(struct quorum_cluster *cluster,
                       struct cluster_message *message)
{
    struct server_process *process = &cluster->processes[message->server];

    if (process->frozen_until_ms <= cluster->now_ms ||
        (message->kind != CALL && message->kind != OPENED))
        return false;
    message->at_ms = process->frozen_until_ms;
    cluster->messages[cluster->message_count++] = message;
    return true;
}

static void deliver_all(struct quorum_cluster *cluster)
{
    struct cluster_message *message;

    while (cluster->result.broken == NULL &&
           (message = next_message(cluster)) != NULL) {
        if (is_held_up(cluster, message))
            continue;
        deliver(cluster, message);
        free(message);
    }
}

static void step(struct quorum_cluster *cluster)
{
    deliver_all(cluster);
    for (size_t i = 0; i < cluster->config.clients; i++) {
        struct quorum_client *client = &cluster->clients[i];

        if (hf_quorum_wake_at_ms(client->quorum) <= cluster->now_ms)
            hf_quorum_tick(client->quorum, cluster->now_ms);
        if (hf_leased_wake_at_ms(client->leased) <= cluster->now_ms)
            hf_leased_tick(client->leased, cluster->now_ms);
        quorum_client_step(client);
    }
    if (cluster->config.faults && cluster->now_ms >= cluster->fault_ms &&
        cluster->now_ms < cluster->faults_until_ms)
        fault(cluster);
    sync_disks(cluster);
    revive(cluster);
}

/* For .at_once: once all clients are idle, all enqueue at this instant. */
static void start_at_once(struct quorum_cluster *cluster)
{
    if (!cluster->config.at_once)
        return;
    for (size_t i = 0; i < cluster->config.clients; i++) {
        if (cluster->clients[i].state != IDLE || cluster->clients[i].busy)
            return;
    }
    for (size_t i = 0; i < cluster->config.clients; i++)
        cluster->clients[i].next_ms = cluster->now_ms;
}

static void on_log(void *host, enum hf_log_level level, const char *format, ...)
{
    (void)host;
    (void)level;
    (void)format;
}

static void begin_client(struct quorum_cluster *cluster, size_t number)
{
    struct quorum_client *client = &cluster->clients[number];
    struct hf_engine_host host = {
        .event = quorum_client_event, .log = on_log, .host = client};
    struct hf_leased_config leased = {.ttl_ms = CLUSTER_TTL_MS,
                                      .clock_drift = HF_CLOCK_DRIFT,
                                      .server_address = "cluster"};
    struct hf_quorum_config quorum = {.servers = cluster->config.servers,
                                      .ttl_ms = CLUSTER_TTL_MS,
                                      .clock_drift = HF_CLOCK_DRIFT,
                                      .rejoin_ms = CLUSTER_TTL_MS};
    const struct hf_quorum_listener listener = {
        user_up, user_down, user_answered, user_notice, client};

    client->cluster = cluster;
    client->number = number;
    client->next_ms = cluster->now_ms + cluster_random_below(cluster, 100);
    hf_random_seed(&leased.random, hf_random_next(&cluster->random));
    hf_random_seed(&quorum.random, hf_random_next(&cluster->random));
    client->quorum = hf_quorum_new(&quorum, &quorum_ops, client, &listener);
    assert(client->quorum != NULL);
    client->leased =
        hf_leased_new(&leased, &host, &store_ops,
                      (struct hf_store *)(void *)client, cluster->now_ms);
    assert(client->leased != NULL);
}

static uint64_t choose_apart_ms(struct quorum_cluster *cluster)
{
    static const uint64_t apart_ms[] = {SAME_MS, NEAR_MS, NEAR_MS, FAR_MS};

    return apart_ms[cluster_random_below(cluster, 4)];
}

static void begin(struct quorum_cluster *cluster,
                  const struct quorum_cluster_config *config, uint64_t seed,
                  uint64_t ms)
{
    uint64_t apart_ms;

    cluster->config = *config;
    hf_random_seed(&cluster->random, seed);
    cluster->now_ms = START_MS;
    cluster->faults_until_ms = START_MS + (config->faults ? ms * 2 / 3 : 0);
    cluster->fault_ms = START_MS + 500;
    apart_ms = choose_apart_ms(cluster);
    cluster->far = apart_ms == FAR_MS;
    for (size_t s = 0; s < config->servers; s++) {
        struct server_process *process = &cluster->processes[s];

        process->cluster = cluster;
        process->number = s;
        process->server.notice = on_server_notice;
        process->server.arg = process;
        process->server.ahead_ms = cluster_random_below(cluster, apart_ms);
        process->server.fast_ppm = cluster_random_below(cluster, FAST_PPM);
        process->disk = process->server;
        process->synced_ms =
            cluster->now_ms - cluster_random_below(cluster, SYNC_MS);
        process->never = process->dead = config->one_down && s == 0;
    }
    for (size_t c = 0; c < config->clients; c++)
        begin_client(cluster, c);
}

static void end(struct quorum_cluster *cluster)
{
    for (size_t i = 0; i < cluster->config.clients; i++) {
        hf_leased_free(cluster->clients[i].leased);
        hf_quorum_free(cluster->clients[i].quorum);
    }
    for (size_t i = 0; i < cluster->message_count; i++)
        free(cluster->messages[i]);
}

struct quorum_cluster_result
quorum_cluster_run(const struct quorum_cluster_config *config, uint64_t seed,
                   uint64_t ms)
{
    struct quorum_cluster *cluster = calloc(1, sizeof *cluster);
    struct quorum_cluster_result result;

    assert(cluster != NULL);
    begin(cluster, config, seed, ms);
    while (cluster->now_ms < START_MS + ms && cluster->result.broken == NULL) {
        start_at_once(cluster);
        step(cluster);
        cluster->now_ms++;
    }
    result = cluster->result;
    result.least_grants = cluster->clients[0].grants;
    for (size_t i = 1; i < config->clients; i++) {
        if (cluster->clients[i].grants < result.least_grants)
            result.least_grants = cluster->clients[i].grants;
    }
    end(cluster);
    free(cluster);
    return result;
}
