/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a world share: quorum_cluster.c has its links, servers and
 * faults, quorum_client.c who contends in it. */
#ifndef HF_TESTS_UNIT_QUORUM_CLUSTER_PRIVATE_H
#define HF_TESTS_UNIT_QUORUM_CLUSTER_PRIVATE_H

#include "core/random.h"
#include "engines/leased/leased.h"
#include "engines/quorum/quorum.h"
#include "quorum_cluster.h"
#include "quorum_fake_server.h"

#define CLUSTER_TTL_MS UINT64_C(2000)
#define CLUSTER_MESSAGES_MAX 4096
#define CLUSTER_SERVERS_MAX 5

struct cluster_message;

struct quorum_link {
    bool open;
    bool up;
    unsigned epoch;
    char session[HF_STORE_SESSION_BYTES];
    uint64_t to_server_ms; /* nothing overtakes on it */
    uint64_t to_client_ms;
};

enum client_state { IDLE, JOINING, LOOKING, WAITING, HOLDING, LEAVING };

struct quorum_client {
    struct quorum_cluster *cluster;
    size_t number;
    struct hf_leased *leased;
    struct hf_quorum *quorum;
    struct quorum_link links[CLUSTER_SERVERS_MAX];
    bool connected;
    uint64_t safe_until_ms; /* of the session */
    uint64_t next_ms;       /* IDLE: contend; HOLDING: let go */
    enum client_state state;
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

struct server_process {
    struct quorum_cluster *cluster;
    size_t number;
    struct quorum_fake_server server;
    struct quorum_fake_server disk; /* what it was when that was last synced */
    uint64_t synced_ms;
    bool dead;
    uint64_t frozen_until_ms;
    uint64_t started_ms;
    uint64_t starts_ms; /* .dead: again */
    unsigned life;
    bool never;
};

struct quorum_cluster {
    struct quorum_cluster_config config;
    struct hf_random random;
    uint64_t now_ms;
    uint64_t faults_until_ms;
    uint64_t fault_ms;
    uint64_t forgot_ms;
    bool far; /* the clocks of the servers are far apart */
    struct server_process machines[CLUSTER_SERVERS_MAX];
    struct quorum_client clients[CLUSTER_CLIENTS_MAX];
    struct cluster_message *messages[CLUSTER_MESSAGES_MAX];
    size_t message_count;
    uint64_t order;
    uint64_t writer_token;
    uint64_t any_token;
    struct quorum_cluster_result result;
};

static inline uint64_t cluster_random_below(struct quorum_cluster *cluster,
                                            uint64_t bound)
{
    return hf_random_below(&cluster->random, bound);
}

/* As hf_engine_host.event, the host being a client. */
void quorum_client_event(void *host, struct hf_event *event);

/* What it does by itself now. */
void quorum_client_act(struct quorum_client *client);

#endif
