/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the cluster share: quorum_cluster.c has links, servers and
 * faults, quorum_client.c the clients and the checks, quorum_fake_server.c what
 * one server does. */
#ifndef HF_TESTS_UNIT_QUORUM_CLUSTER_PRIVATE_H
#define HF_TESTS_UNIT_QUORUM_CLUSTER_PRIVATE_H

#include "base/random.h"
#include "engines/leased/leased.h"
#include "engines/quorum/quorum.h"
#include "quorum_cluster.h"
#include "quorum_fake_server.h"

#define CLUSTER_TTL_MS UINT64_C(2000)
#define CLUSTER_MESSAGES_MAX 4096
#define CLUSTER_SERVERS_MAX 5

struct cluster_message;

/* The link of one client to one server. */
struct quorum_link {
    bool open;      /* the client has connected, and not seen it end */
    bool up;        /* the server has accepted it, and it was not cut */
    unsigned epoch; /* counts links; messages of an earlier one are dropped */
    char session[HF_STORE_SESSION_BYTES];
    /* When the last message in each direction arrives: messages of one link
     * keep their order. */
    uint64_t to_server_ms;
    uint64_t to_client_ms;
};

/* JOINING: the enqueue has no answer.  LOOKING: its answer was lost, and a list
 * is to show whether it took effect. */

enum client_state { IDLE, JOINING, LOOKING, WAITING, HOLDING, LEAVING };

struct quorum_client {
    struct quorum_cluster *cluster;
    size_t number;
    struct hf_leased *leased;
    struct hf_quorum *quorum;
    struct quorum_link links[CLUSTER_SERVERS_MAX];
    bool connected;
    uint64_t safe_until_ms; /* of the session; 0: there is none */
    uint64_t next_ms;       /* not before then: enqueue, release or ask again */
    enum client_state state;
    enum hf_ticket_kind kind;
    struct hf_ticket_id id; /* of the ticket in the queue, with .token */
    uint64_t token;
    bool busy;                 /* .request has no answer yet */
    bool again;                /* list the queue once more */
    bool watching;             /* .watch has not ended */
    bool downgrading;          /* .downgrade has no answer yet */
    struct hf_request request; /* ENQUEUE, LIST or REMOVE */
    struct hf_request watch;
    struct hf_request downgrade;
    unsigned grants; /* after the faults */
};

/* A server that can die, and its disk. */
struct server_process {
    struct quorum_cluster *cluster;
    size_t number;
    struct quorum_fake_server server;
    struct quorum_fake_server disk; /* the server as of .synced_ms */
    uint64_t synced_ms;
    bool dead;
    bool never; /* it stays dead */
    uint64_t frozen_until_ms;
    uint64_t started_ms;
    uint64_t starts_ms; /* dead: when it starts again */
    unsigned life; /* counts deaths; messages of an earlier life are dropped */
};

struct quorum_cluster {
    struct quorum_cluster_config config;
    struct hf_random random;
    uint64_t now_ms;
    uint64_t faults_until_ms;
    uint64_t fault_ms;  /* the next one */
    uint64_t forgot_ms; /* when a server last started without all it had */
    bool far;           /* clocks of servers are up to an hour apart */
    struct server_process processes[CLUSTER_SERVERS_MAX];
    struct quorum_client clients[CLUSTER_CLIENTS_MAX];
    struct cluster_message *messages[CLUSTER_MESSAGES_MAX];
    size_t message_count; /* of .messages, in no order */
    uint64_t order;       /* of the last message: ties are delivered as sent */
    /* The greatest tokens that were granted, for the check that they rise. */
    uint64_t writer_token;
    uint64_t any_token;
    struct quorum_cluster_result result;
};

static inline uint64_t cluster_random_below(struct quorum_cluster *cluster,
                                            uint64_t bound)
{
    return hf_random_below(&cluster->random, bound);
}

/* hf_engine_host.event, whose host is a struct quorum_client. */
void quorum_client_event(void *host, struct hf_event *event);

/* Called each millisecond: enqueue, release or list, if it is time. */
void quorum_client_step(struct quorum_client *client);

#endif
