/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a world share: quorum_world.c has its links, servers and
 * faults, quorum_contender.c who contends in it. */
#ifndef HF_TESTS_UNIT_QUORUM_WORLD_PRIVATE_H
#define HF_TESTS_UNIT_QUORUM_WORLD_PRIVATE_H

#include "core/random.h"
#include "engines/leased/leased.h"
#include "engines/quorum/quorum.h"
#include "quorum_server.h"
#include "quorum_world.h"

#define WORLD_TTL_MS UINT64_C(2000)
#define WORLD_MESSAGES_MAX 4096
#define WORLD_SERVERS_MAX 5

struct message;

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
    struct link links[WORLD_SERVERS_MAX];
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
    struct quorum_server disk; /* what it was when that was last synced */
    uint64_t synced_ms;
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
    bool far; /* the clocks of the servers are far apart */
    struct machine machines[WORLD_SERVERS_MAX];
    struct client clients[WORLD_CLIENTS_MAX];
    struct message *messages[WORLD_MESSAGES_MAX];
    size_t message_count;
    uint64_t order;
    uint64_t writer_token;
    uint64_t any_token;
    struct world_result result;
};

static inline uint64_t world_below(struct world *world, uint64_t bound)
{
    return hf_random_below(&world->random, bound);
}

/* As hf_engine_host.event, the host being a client. */
void contender_event(void *host, struct hf_event *event);

/* What it does by itself now. */
void contender_act(struct client *client);

#endif
