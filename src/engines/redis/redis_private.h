/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the store share.  redis_store.c opens the engine and has
 * the functions for the leased client, store_events.c what the links and the
 * loop report, routed_call.c the calls on their way, fan_out.c the answers to a
 * call about all queues, cluster_node.c the servers and which of them has which
 * hash slot, successor.c the look for a server that was promoted, and
 * store_wakeup.c the clock and the next wake-up.  Each calls only those behind
 * it.
 *
 * A server that is not a node of a Redis Cluster is the only node, and calls go
 * to it directly.
 */
#ifndef HF_ENGINES_REDIS_REDIS_PRIVATE_H
#define HF_ENGINES_REDIS_REDIS_PRIVATE_H

#include "core/finding_list.h"
#include "engines/redis/hash_slot.h"
#include "engines/redis/redis_link.h"

#define HF_REDIS_NODES_MAX 256
#define HF_REDIS_ROUTED_CALL_BUCKETS 256

/* Used as a hash slot: any node will do. */
#define HF_REDIS_ANY_HASH_SLOT HF_REDIS_HASH_SLOTS

/* A server, with the link to it. */
struct hf_redis_node {
    struct hf_store *store;
    struct hf_redis_host host; /* .name is "": reached by the unix socket */
    struct hf_redis_link *link;
    /* The link is up. */
    bool up;
    bool was_up; /* it was up since the store began to connect */
    /* The URL names it, or the cluster did when a link that is up asked last.
     * No other node is connected to, because it would get our credentials. */
    bool trusted;
    bool asked_nodes; /* CLUSTER NODES was sent to it */
    /* While it is down: when it is tried next, HF_FOREVER if only when it is
     * needed.  .retry_ms is the pause before that, which doubles. */
    uint64_t retry_at_ms;
    uint64_t retry_ms;
    /* The node's clock as last read, in milliseconds since 1970, and when that
     * was by our clock. */
    uint64_t server_ms;
    uint64_t server_clock_at_ms;
};

/* The node that has each hash slot; NULL: unknown. */
struct hf_redis_slot_owners {
    struct hf_redis_node *of[HF_REDIS_HASH_SLOTS];
};

/* What is known of the hash slots. */
struct hf_redis_slot_map {
    struct hf_redis_slot_owners owners;
    /* When the last renewal, or ENQUEUE, of each slot that succeeded was
     * begun. */
    uint64_t renewed_at_ms[HF_REDIS_HASH_SLOTS];
    /* The last renewal that succeeded has given this slot up. */
    bool given_up[HF_REDIS_HASH_SLOTS];
    /* A piece of the renewal under way has given it up. */
    bool giving_up[HF_REDIS_HASH_SLOTS];
};

struct hf_redis_fan_out;

enum hf_redis_routed_call_state {
    /* waits for earlier calls of its hash slot, at another node */
    HF_REDIS_CALL_HELD,
    HF_REDIS_CALL_WAITING, /* waits for its node to be up */
    HF_REDIS_CALL_SENT,    /* its node's link has it */
    /* waits for CLUSTER NODES to confirm .unverified */
    HF_REDIS_CALL_VERIFYING,
    HF_REDIS_CALL_FAILED, /* is answered from the loop */
};

/* A call about one queue on its way to the node that has it. */
struct hf_redis_routed_call {
    struct hf_store_call call; /* the link has only this */
    /* RENEW, CLOSE_SESSION: what .call is about. */
    struct hf_store_ticket_set set;
    /* The leased client's call. */
    struct hf_store_call *user_call;
    struct hf_redis_fan_out *fan_out; /* NULL: it is all of .user_call */
    struct hf_redis_node *node;       /* NULL: HELD, or no node is known */
    unsigned slot;
    enum hf_redis_routed_call_state state;
    /* It follows an ASK redirect. */
    bool asking;
    unsigned redirects;                  /* so far */
    struct hf_redis_redirect unverified; /* VERIFYING */
    uint64_t begun_at_ms;
    enum hf_failure failure; /* FAILED: how it is answered */
    hf_status status;
    char text[HF_CONNECTION_TEXT_BYTES];
    struct hf_redis_routed_call *previous;
    struct hf_redis_routed_call *next;
};

/* A list, oldest first. */
struct hf_redis_routed_calls {
    struct hf_redis_routed_call *first;
    struct hf_redis_routed_call *last;
};

/* The store on a Redis server or cluster. */
struct hf_store {
    struct hf_redis_link_shared shared;
    struct hf_redis_config config;
    /* Set by store_events.c: what the links of the nodes call, with the node as
     * .arg; and what .later calls. */
    struct hf_redis_link_listener link_listener;
    uv_idle_cb on_later;
    uv_idle_t later; /* answers calls that have failed, from the loop; the
                        memory is freed when it is closed */
    struct hf_redis_node *nodes[HF_REDIS_NODES_MAX];
    size_t node_count;
    size_t connect_attempts;            /* each attempt takes another server */
    struct hf_redis_slot_map *slot_map; /* NULL: it was never a Redis Cluster */

    /* The link to the leased client; it is up as long as one node is. */
    bool linked;
    bool up; /* hf_leased_up() was called */
    /* It is a Redis Cluster, and calls are routed. */
    bool clustered;
    bool out_of_memory;
    char session[HF_STORE_SESSION_BYTES];
    struct hf_redis_node *default_node; /* the one that is connected to first */
    struct hf_redis_node
        *slot_map_source; /* node that a refresh asks for the slots, or NULL */
    uint64_t slot_map_deadline_ms; /* when that node is given up */
    /* The link that looks for a server that was promoted in place of ours;
     * NULL: nothing looks, for instance on a Redis Cluster, whose nodes say so
     * themselves.  .look_at_ms: when the next look begins, or the look for
     * .examination is given up; HF_FOREVER: no look is planned. */
    struct hf_redis_link *look;
    uint64_t look_at_ms;
    /* An EXAMINE that waits for a look, or NULL; .look_findings is what the
     * look has found, until the EXAMINE is answered. */
    struct hf_store_call *examination;
    struct hf_finding_list look_findings;
    uint64_t wake_at_ms; /* when a timeout of a node, its next attempt, or a
                            look may be due; HF_FOREVER: none */
    struct hf_redis_routed_calls
        buckets[HF_REDIS_ROUTED_CALL_BUCKETS]; /* calls by hash slot */
    /* Calls that .later will answer. */
    struct hf_redis_routed_calls failed;
};

/* ---------------------------------------------------------------- events -- */

/* Set .link_listener and .on_later. */
void hf_redis_store_init_events(struct hf_store *store);

/* End the link without a report; no call is under way after that. */
void hf_redis_store_disconnect(struct hf_store *store);

/* --------------------------------------------------------------- wake-up -- */

/* CLOCK_BOOTTIME in milliseconds. */
uint64_t hf_redis_store_now_ms(const struct hf_store *store);

/* How long a node may take to answer, or to be up.  It is shorter than the
 * leased client's timeout, so that a dead node does not end the whole link. */
uint64_t hf_redis_node_timeout_ms(const struct hf_store *store);

/* Answer the calls that have failed, from the loop. */
void hf_redis_store_answer_later(struct hf_store *store);

/* End the link and report it, from the loop, because memory ran out. */
void hf_redis_store_out_of_memory(struct hf_store *store);

/* Check the timeouts at ${at_ms} or sooner. */
void hf_redis_store_wake_by(struct hf_store *store, uint64_t at_ms);

/* ------------------------------------------------------------- successor -- */

/* The server, which is not of a cluster, is up: look from now on whether
 * another one was promoted in its place.  The link ends if that is so. */
void hf_redis_successor_watch(struct hf_store *store);

/* Look, if that is due. */
void hf_redis_successor_tick(struct hf_store *store);

/* Look now for ${call}, an EXAMINE, and carry out ${call} when the look is
 * over. */
void hf_redis_successor_examine(struct hf_store *store,
                                struct hf_store_call *call);

/* Move what the look for an EXAMINE has found to ${findings}, which the caller
 * frees; it is empty the next time. */
void hf_redis_successor_take_findings(struct hf_store *store,
                                      struct hf_finding_list *findings);

/* Do not look any more. */
void hf_redis_successor_stop(struct hf_store *store);

/* Free what it has. */
void hf_redis_successor_free(struct hf_store *store);

/* ----------------------------------------------------------------- nodes -- */

/* Returns the node at ${host}, made if there is none.  A host without a name is
 * that of ${reporter}; if that is NULL, the server of the unix socket.  NULL if
 * memory runs out or there are too many nodes. */
struct hf_redis_node *hf_redis_node_get(struct hf_store *store,
                                        const struct hf_redis_host *host,
                                        const struct hf_redis_node *reporter);

/* The same, but returns NULL if there is no such node or it is not trusted. */
struct hf_redis_node *
hf_redis_node_find_trusted(struct hf_store *store,
                           const struct hf_redis_host *host,
                           const struct hf_redis_node *reporter);

/* Trust the nodes of the URL and of the slot map, and no others. */
void hf_redis_nodes_trust_by_map(struct hf_store *store);

/* Send CLUSTER NODES to ${node}; hf_redis_routed_calls_nodes_listed() gets the
 * reply. */
void hf_redis_node_ask_nodes(struct hf_redis_node *node);

/* Connect to ${node}, which is trusted, if its link is closed. */
void hf_redis_node_open(struct hf_redis_node *node);

/* Returns a node that is up, or NULL. */
struct hf_redis_node *hf_redis_node_up(const struct hf_store *store);

/* What the node's clock shows when ours shows ${at_ms}, counted on from when
 * it was last read. */
uint64_t hf_redis_node_clock_ms(const struct hf_redis_node *node,
                                uint64_t at_ms);

/* Connect again to nodes that were up and have hash slots, if their retry is
 * due: while they are down, notices are lost. */
void hf_redis_nodes_retry(struct hf_store *store);

/* The node has not answered for ${silent_ms}: end its link. */
void hf_redis_node_time_out(struct hf_redis_node *node, uint64_t silent_ms);

/* Forget nodes that are no part of the cluster any more, if there are many. */
void hf_redis_nodes_prune(struct hf_store *store);

/* Close all links, or free all nodes. */
void hf_redis_nodes_close(struct hf_store *store);
void hf_redis_nodes_free(struct hf_store *store);

/* -------------------------------------------------------------- slot map -- */

/* Send CLUSTER SLOTS to a node that is up, unless that is under way. */
void hf_redis_slot_map_refresh(struct hf_store *store);

/* Give up the node that has not answered CLUSTER SLOTS in time. */
void hf_redis_slot_map_expire(struct hf_store *store);

/* Replace the map by ${reply}, which ${node} sent, and trust the nodes that it
 * names.  False if that is malformed or memory runs out; the old map stays
 * then. */
bool hf_redis_slot_map_read(struct hf_store *store, struct hf_redis_node *node,
                            const struct redisReply *reply);

/* ---------------------------------------------------------- routed calls -- */

/* Route ${user_call}, or the part of it that is about ${set}.  ${set} is NULL
 * if the call is about one queue or about none. */
void hf_redis_routed_call_begin(struct hf_store *store,
                                struct hf_store_call *user_call,
                                const struct hf_store_ticket_set *set,
                                struct hf_redis_fan_out *fan_out);

/* Carry out a call about all queues of the session: one routed call for each
 * ticket set, and one answer for all (fan-out). */
void hf_redis_routed_calls_begin(struct hf_store *store,
                                 struct hf_store_call *user_call);

/* The node of ${routed} answered, or redirected it. */
void hf_redis_routed_call_answered(struct hf_store *store,
                                   struct hf_redis_routed_call *routed,
                                   const struct hf_store_answer *answer);
void hf_redis_routed_call_redirected(struct hf_store *store,
                                     struct hf_redis_routed_call *routed,
                                     const struct hf_redis_redirect *redirect);

/* ${node} has answered which ${nodes} there are; NULL: it gave no answer, for
 * the reason ${why}.  Calls that wait for this follow their redirects or
 * fail. */
void hf_redis_routed_calls_nodes_listed(struct hf_store *store,
                                        struct hf_redis_node *node,
                                        const char *nodes, const char *why);

/* ${node} is up: send the calls that wait for it. */
void hf_redis_routed_calls_send(struct hf_store *store,
                                struct hf_redis_node *node);

/* ${node} is down: fail the calls on their way to it. */
void hf_redis_routed_calls_fail(struct hf_store *store,
                                struct hf_redis_node *node, hf_status status,
                                const char *why);

/* The map has changed: calls that wait for a node may go to another one. */
void hf_redis_routed_calls_reroute(struct hf_store *store);

/* Answer the calls that have failed. */
void hf_redis_routed_calls_answer_failed(struct hf_store *store);

/* End the links of nodes that have not answered in time. */
void hf_redis_routed_calls_expire(struct hf_store *store);

/* Forget all calls, and answer none of them. */
void hf_redis_routed_calls_clear(struct hf_store *store);

/* --------------------------------------------------------------- fan-out -- */

/* Begin to collect the answers to ${call}, which is about all queues of the
 * session.  NULL if memory runs out. */
struct hf_redis_fan_out *hf_redis_fan_out_new(struct hf_store *store,
                                              struct hf_store_call *call);

/* One more routed call belongs to ${fan_out}. */
void hf_redis_fan_out_add(struct hf_redis_fan_out *fan_out);

/* All routed calls of ${fan_out} were begun.  Frees it if memory has sufficed
 * for none. */
void hf_redis_fan_out_begun(struct hf_redis_fan_out *fan_out);

/* ${routed}, which belongs to a fan-out, was answered.  The last one answers
 * the call of the fan-out, and frees that. */
void hf_redis_fan_out_answered(struct hf_store *store,
                               const struct hf_redis_routed_call *routed,
                               const struct hf_store_answer *answer);

/* One routed call of ${fan_out} was forgotten.  The last one frees
 * ${fan_out}. */
void hf_redis_fan_out_drop(struct hf_redis_fan_out *fan_out);

#endif
