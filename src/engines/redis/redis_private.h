/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the store share: redis_store.c has the seam, and whether
 * there is a link; cluster_node.c the servers, slot_map.c which of them has
 * which slot, routed_call.c the ways of single calls, and fan_out.c calls about
 * all queues, which are several of these.
 *
 * A server that is no node of a Redis Cluster is the only node, and calls go to
 * it as they are.
 */
#ifndef HF_ENGINES_REDIS_REDIS_PRIVATE_H
#define HF_ENGINES_REDIS_REDIS_PRIVATE_H

#include "engines/redis/hash_slot.h"
#include "engines/redis/redis_link.h"
#include "engines/redis/redis_store.h"

#define HF_REDIS_NODES_MAX 256
#define HF_REDIS_ROUTED_CALL_BUCKETS 256

/* In the place of a slot: whichever node. */
#define HF_REDIS_ANY_HASH_SLOT HF_REDIS_HASH_SLOTS

struct hf_redis_node {
    struct hf_store *store;
    struct hf_redis_host host; /* .name is "": by the unix socket */
    struct hf_redis_link *link;
    bool up;
    bool was_up; /* since the store was connected */
    /* The URL, or the cluster as it was last heard over a link that is up,
     * names it.  No other is connected to: it would be given credentials. */
    bool trusted;
    bool asked_nodes; /* is being asked which nodes there are */
    /* It is not: when it is tried next, HF_FOREVER if when it is needed; and
     * the pause before that. */
    uint64_t retry_at_ms;
    uint64_t retry_ms;
    /* Its clock, and when by ours it showed that. */
    uint64_t server_ms;
    uint64_t server_clock_at_ms;
};

/* Who has which slot, as far as is known: else NULL. */
struct hf_redis_slot_owners {
    struct hf_redis_node *of[HF_REDIS_HASH_SLOTS];
};

/* What is known of slots. */
struct hf_redis_slot_map {
    struct hf_redis_slot_owners owners;
    /* When what was last renewed there was sent, or enqueued. */
    uint64_t renewed_at_ms[HF_REDIS_HASH_SLOTS];
    /* The last renewal that was answered as done left this slot out. */
    bool given_up[HF_REDIS_HASH_SLOTS];
    /* So do the pieces so far of the one that is under way. */
    bool giving_up[HF_REDIS_HASH_SLOTS];
};

struct hf_redis_fan_out;

enum hf_redis_routed_call_state {
    HF_REDIS_CALL_HELD, /* until those before it of its slot are at its node */
    HF_REDIS_CALL_WAITING, /* for its node to be up */
    HF_REDIS_CALL_SENT,
    HF_REDIS_CALL_VERIFYING, /* until its node has said whether .sought is one
                                too */
    HF_REDIS_CALL_FAILED,    /* and will be told so */
};

/* A call about one queue on its way to the node that has it. */
struct hf_redis_routed_call {
    struct hf_store_call call; /* the first member */
    struct hf_store_ticket_set set;
    struct hf_store_call *user_call;
    struct hf_redis_fan_out *fan_out; /* NULL: it is all of .asked */
    struct hf_redis_node *node;       /* NULL: HELD, or none is known */
    unsigned slot;
    enum hf_redis_routed_call_state state;
    bool asking;
    unsigned redirects;
    struct hf_redis_redirect unverified; /* SEEKING */
    uint64_t begun_at_ms;
    enum hf_failure failure; /* FAILED */
    hf_status status;
    char text[HF_CONNECTION_TEXT_BYTES];
    struct hf_redis_routed_call *previous;
    struct hf_redis_routed_call *next;
};

struct hf_redis_routed_calls {
    struct hf_redis_routed_call *first;
    struct hf_redis_routed_call *last;
};

struct hf_store {
    struct hf_redis_link_shared shared;
    struct hf_redis_config config;
    uv_idle_t later;  /* tells what cannot be told at once */
    uv_timer_t timer; /* with nodes */
    unsigned handles; /* open or closing; memory is freed with the last */
    struct hf_redis_node *nodes[HF_REDIS_NODES_MAX];
    size_t node_count;
    size_t connect_attempts;            /* to connect: each to another node */
    struct hf_redis_slot_map *slot_map; /* NULL: never was it a Redis Cluster */

    /* The link, which is there as long as one of the nodes' is. */
    bool linked;
    bool up; /* and it has been told so */
    bool clustered;
    bool out_of_memory;
    char session[HF_STORE_SESSION_BYTES];
    struct hf_redis_node *default_node; /* the first that was up */
    struct hf_redis_node
        *slot_map_source;          /* is being asked who has what, or NULL */
    uint64_t slot_map_deadline_ms; /* and has been for too long then */
    uint64_t wake_at_ms;           /* .patience, while it is active */
    struct hf_redis_routed_calls
        buckets[HF_REDIS_ROUTED_CALL_BUCKETS]; /* by slot */
    struct hf_redis_routed_calls failed;
};

/* ----------------------------------------------------------------- store -- */

uint64_t hf_redis_store_now_ms(const struct hf_store *store);

/* There is no link any more: end it and tell. */
void hf_redis_store_down(struct hf_store *store, hf_status status,
                         const char *why);

/* The same in the next turn, for lack of memory. */
void hf_redis_store_out_of_memory(struct hf_store *store);

/* What has been failed is told in the next turn. */
void hf_redis_store_answer_later(struct hf_store *store);

/* Look for nodes that are silent at ${at_ms}, at the latest. */
void hf_redis_store_wake_by(struct hf_store *store, uint64_t at_ms);

/* It can be called now. */
void hf_redis_store_up(struct hf_store *store, bool clustered,
                       uint64_t server_ms);

/* How long a node may take for an answer, or to be up: less than the leased
 * client allows, so that one that is dead costs only what it has. */
uint64_t hf_redis_node_timeout_ms(const struct hf_store *store);

/* ----------------------------------------------------------------- nodes -- */

/* The node at ${host}, made if there is none; a host without a name is that of
 * ${teller}, or if that is NULL the server of the unix socket.  NULL for lack
 * of memory or room. */
struct hf_redis_node *hf_redis_node_get(struct hf_store *store,
                                        const struct hf_redis_host *host,
                                        const struct hf_redis_node *reporter);

/* The same if it is there and named, else NULL. */
struct hf_redis_node *
hf_redis_node_find_trusted(struct hf_store *store,
                           const struct hf_redis_host *host,
                           const struct hf_redis_node *reporter);

/* Name those of the URL and of the map, and no others. */
void hf_redis_nodes_trust_by_map(struct hf_store *store);

/* Ask which nodes there are: hf_redis_routed_calls_nodes_listed() is told. */
void hf_redis_node_ask_nodes(struct hf_redis_node *node);

/* Have it up, some time. */
void hf_redis_node_open(struct hf_redis_node *node);

/* One that is up, NULL if none is. */
struct hf_redis_node *hf_redis_node_up(const struct hf_store *store);

/* ${at_ms} of our clock, by its clock as last heard. */
uint64_t hf_redis_node_clock_ms(const struct hf_redis_node *node,
                                uint64_t at_ms);

/* Try those again that were up, for they may know what was missed. */
void hf_redis_nodes_retry(struct hf_store *store);

/* It has not answered for too long. */
void hf_redis_node_time_out(struct hf_redis_node *node, uint64_t silent_ms);

/* Forget those that are no part of the cluster any more, if they are many. */
void hf_redis_nodes_prune(struct hf_store *store);

void hf_redis_nodes_close(struct hf_store *store);
void hf_redis_nodes_free(struct hf_store *store);

/* ------------------------------------------------------------------- map -- */

/* Ask a node that is up who has what, unless that is being asked. */
void hf_redis_slot_map_refresh(struct hf_store *store);

/* Give up the node that has been asked for too long. */
void hf_redis_slot_map_expire(struct hf_store *store);

/* As ${node} says in ${reply}; false if it makes no sense, or for lack of
 * memory: then what was known is kept. */
bool hf_redis_slot_map_read(struct hf_store *store, struct hf_redis_node *node,
                            const struct redisReply *reply);

/* --------------------------------------------------------------- errands -- */

/* Send what ${asked} is about; ${stake} of it, or NULL if it is of one queue,
 * or of none (RENEW, GOODBYE without stakes). */
void hf_redis_routed_call_begin(struct hf_store *store,
                                struct hf_store_call *user_call,
                                const struct hf_store_ticket_set *set,
                                struct hf_redis_fan_out *fan_out);

void hf_redis_routed_call_answered(struct hf_store *store,
                                   struct hf_redis_routed_call *routed,
                                   const struct hf_store_answer *answer);
void hf_redis_routed_call_redirected(struct hf_store *store,
                                     struct hf_redis_routed_call *routed,
                                     const struct hf_redis_redirect *redirect);

/* ${node} has said which ${nodes} there are, or, if that is NULL, ${why} it
 * does not: send what seeks one of them there, and fail what seeks another. */
void hf_redis_routed_calls_nodes_listed(struct hf_store *store,
                                        struct hf_redis_node *node,
                                        const char *nodes, const char *why);

/* ${node} is up: send what waits for it. */
void hf_redis_routed_calls_send(struct hf_store *store,
                                struct hf_redis_node *node);

/* ${node} is not: fail what is on its way to it. */
void hf_redis_routed_calls_fail(struct hf_store *store,
                                struct hf_redis_node *node, hf_status status,
                                const char *why);

/* The map has changed: what waits for a node may go to another one. */
void hf_redis_routed_calls_reroute(struct hf_store *store);

/* Tell of what has failed. */
void hf_redis_routed_calls_answer_failed(struct hf_store *store);

/* Give up the nodes that have been silent for too long. */
void hf_redis_routed_calls_expire(struct hf_store *store);

/* Drop all, and tell nothing. */
void hf_redis_routed_calls_clear(struct hf_store *store);

/* ---------------------------------------------------------------- gather -- */

/* A call about what the session has in all queues. */
void hf_redis_fan_out_begin(struct hf_store *store, struct hf_store_call *call);

/* One part more: an errand has begun. */
void hf_redis_fan_out_add(struct hf_redis_fan_out *fan_out);

/* ${errand}, a part of it, has been answered; the last one answers the call. */
void hf_redis_fan_out_answered(struct hf_store *store,
                               const struct hf_redis_routed_call *routed,
                               const struct hf_store_answer *answer);

/* One part less, of a call that is dropped. */
void hf_redis_fan_out_drop(struct hf_redis_fan_out *fan_out);

#endif
