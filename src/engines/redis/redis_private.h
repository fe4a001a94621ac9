/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the store for one server or one cluster share:
 *
 *     redis_store.c   opens the engine; the functions for the leased client
 *     store_events.c  the callbacks of the links and of the loop
 *     routed_call.c   the calls on their way to a node
 *     fan_out.c       joins the answers to a call about all queues
 *     cluster_node.c  the servers, and which hash slots each of them has
 *     successor.c     looks for a server that was promoted in place of ours
 *     store_wakeup.c  the clock, and the time of the next wake-up
 *
 * A file calls only functions of files below it in this list.
 *
 * A server that is not a node of a Redis Cluster is treated as a cluster of one
 * node, except that calls go straight to its link.
 */
#ifndef HF_ENGINES_REDIS_REDIS_PRIVATE_H
#define HF_ENGINES_REDIS_REDIS_PRIVATE_H

#include "core/finding_list.h"
#include "engines/redis/hash_slot.h"
#include "engines/redis/redis_link.h"

#define HF_REDIS_NODES_MAX 256
#define HF_REDIS_ROUTED_CALL_BUCKETS 256

/* Used in place of a hash slot when any node will do. */
#define HF_REDIS_ANY_HASH_SLOT HF_REDIS_HASH_SLOTS

/* A server and the link to it. */
struct hf_redis_node {
    struct hf_store *store;
    /* .name is "" if it is reached by the unix socket */
    struct hf_redis_host host;
    struct hf_redis_link *link;
    /* The link is up. */
    bool up;
    bool was_up; /* it was up at some time since the store began to connect */
    /* We may connect to this node: the URL names it, or the cluster did when it
     * was asked last.  We connect to no other node, because the node would get
     * our credentials. */
    bool trusted;
    bool asked_nodes; /* CLUSTER NODES was sent to it and is not answered yet */
    /* When to connect again to a node that is down.  HF_FOREVER: only when a
     * call needs the node.  .retry_ms is the pause before that attempt; it
     * doubles with each failure. */
    uint64_t retry_at_ms;
    uint64_t retry_ms;
    /* The node's clock when it was last read, in milliseconds since 1970, and
     * the time of that reading by our clock. */
    uint64_t server_ms;
    uint64_t server_clock_at_ms;
};

/* The node that has each hash slot; NULL: unknown. */
struct hf_redis_slot_owners {
    struct hf_redis_node *of[HF_REDIS_HASH_SLOTS];
};

/* What is known of the hash slots, and which of them were given up, because
 * their tickets could not be renewed (fan_out.c). */
struct hf_redis_slot_map {
    struct hf_redis_slot_owners owners;
    /* When the last successful RENEW or ENQUEUE in each slot was begun. */
    uint64_t renewed_at_ms[HF_REDIS_HASH_SLOTS];
    /* The last complete renewal has given this slot up. */
    bool given_up[HF_REDIS_HASH_SLOTS];
    /* A piece of the renewal that is under way has given this slot up. */
    bool giving_up[HF_REDIS_HASH_SLOTS];
};

struct hf_redis_fan_out;

enum hf_redis_routed_call_state {
    /* waits, because earlier calls of its hash slot are at another node */
    HF_REDIS_CALL_HELD,
    HF_REDIS_CALL_WAITING, /* waits for its node to be up */
    HF_REDIS_CALL_SENT,    /* was given to the link of its node */
    /* waits for CLUSTER NODES to confirm .unverified */
    HF_REDIS_CALL_VERIFYING,
    /* has failed; the failure is reported later, from the loop */
    HF_REDIS_CALL_FAILED,
};

/* A call about one queue on its way to the node that has the queue. */
struct hf_redis_routed_call {
    struct hf_store_call call; /* the copy of .user_call that the link gets */
    /* For RENEW and CLOSE_SESSION: the ticket set of .call. */
    struct hf_store_ticket_set set;
    /* The call of the leased client that this call carries out, or a part of
     * it. */
    struct hf_store_call *user_call;
    /* collects the answers of several routed calls; NULL: this is the only one
     * for .user_call */
    struct hf_redis_fan_out *fan_out;
    /* NULL: the state is HELD, or no node is known for the slot */
    struct hf_redis_node *node;
    unsigned slot;
    enum hf_redis_routed_call_state state;
    /* The call follows an ASK redirect. */
    bool asking;
    unsigned redirects; /* number of redirects so far */
    /* VERIFYING: the redirect that is to be confirmed */
    struct hf_redis_redirect unverified;
    uint64_t begun_at_ms;
    /* FAILED: these three are reported to the leased client */
    enum hf_failure failure;
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
    /* The callbacks for the links of the nodes; .arg of each link is its
     * node. */
    struct hf_redis_link_listener link_listener;
    uv_idle_cb on_later;
    /* runs .on_later from the loop; the memory of the store is freed when this
     * handle is closed */
    uv_idle_t later;
    struct hf_redis_node *nodes[HF_REDIS_NODES_MAX];
    size_t node_count;
    /* selects the server that the next attempt connects to */
    size_t connect_attempts;
    struct hf_redis_slot_map *slot_map; /* NULL: it was never a Redis Cluster */

    /* The leased client has asked for a link (connect).  That link is up as
     * long as one node is up. */
    bool linked;
    bool up; /* hf_leased_up() was called */
    /* The server is a node of a Redis Cluster, so calls are routed. */
    bool clustered;
    bool out_of_memory;
    char session[HF_STORE_SESSION_BYTES];
    /* the node that is connected to first */
    struct hf_redis_node *default_node;
    /* the node that was sent CLUSTER SLOTS and has not answered; or NULL */
    struct hf_redis_node *slot_map_source;
    /* when the link of .slot_map_source is ended */
    uint64_t slot_map_deadline_ms;
    /* The second link that looks for a server promoted in place of ours
     * (successor.c).  NULL if nobody looks, for instance on a Redis Cluster,
     * whose nodes report a promotion themselves.  .look_at_ms is when the next
     * look begins, or when the look for .examination is given up; HF_FOREVER:
     * no look is planned. */
    struct hf_redis_link *look;
    uint64_t look_at_ms;
    /* An EXAMINE that waits until a look has ended, or NULL.  .look_findings
     * keeps what that look found until the EXAMINE is answered. */
    struct hf_store_call *examination;
    struct hf_finding_list look_findings;
    /* when store_tick() has something to do at the earliest; HF_FOREVER:
     * nothing is planned */
    uint64_t wake_at_ms;
    /* the calls on their way, by hash slot */
    struct hf_redis_routed_calls buckets[HF_REDIS_ROUTED_CALL_BUCKETS];
    /* Calls that have failed and are answered by .later. */
    struct hf_redis_routed_calls failed;
};

/* ---------------------------------------------------------------- events -- */

/* Set .link_listener and .on_later. */
void hf_redis_store_init_events(struct hf_store *store);

/* Close the links of all nodes without a callback, and forget all calls. */
void hf_redis_store_disconnect(struct hf_store *store);

/* --------------------------------------------------------------- wake-up -- */

/* CLOCK_BOOTTIME in milliseconds. */
uint64_t hf_redis_store_now_ms(const struct hf_store *store);

/* How long a node may take to answer, or to connect.  This is shorter than the
 * leased client's own timeout, so that one dead node does not end the whole
 * link. */
uint64_t hf_redis_node_timeout_ms(const struct hf_store *store);

/* Answer the calls that have failed (.failed) later, from the loop. */
void hf_redis_store_answer_later(struct hf_store *store);

/* Because memory ran out, close all links and report that, later, from the
 * loop. */
void hf_redis_store_out_of_memory(struct hf_store *store);

/* Have store_tick() check the timeouts at ${at_ms} at the latest. */
void hf_redis_store_wake_by(struct hf_store *store, uint64_t at_ms);

/* ------------------------------------------------------------- successor -- */

/* Begin to look from time to time whether another server was promoted in place
 * of ours, which is up and not a node of a cluster.  If another server was
 * promoted, our link is ended. */
void hf_redis_successor_watch(struct hf_store *store);

/* Begin a look if one is due, and give up a look for an EXAMINE that took too
 * long. */
void hf_redis_successor_tick(struct hf_store *store);

/* Look now, and carry out ${call}, an EXAMINE, when the look is over. */
void hf_redis_successor_examine(struct hf_store *store,
                                struct hf_store_call *call);

/* Move what the look for an EXAMINE has found to ${findings}, which the caller
 * frees. */
void hf_redis_successor_take_findings(struct hf_store *store,
                                      struct hf_finding_list *findings);

/* Plan no more looks, and end the look that is under way. */
void hf_redis_successor_stop(struct hf_store *store);

/* Free the link that looks. */
void hf_redis_successor_free(struct hf_store *store);

/* ----------------------------------------------------------------- nodes -- */

/* Returns the node at ${host}, and makes it if it is new.  If ${host} has no
 * name, it means the host of ${reporter}, the node that named it; if
 * ${reporter} is NULL, too, the server of the unix socket.  Returns NULL if
 * memory runs out or there are too many nodes. */
struct hf_redis_node *hf_redis_node_get(struct hf_store *store,
                                        const struct hf_redis_host *host,
                                        const struct hf_redis_node *reporter);

/* The same as hf_redis_node_get(), but returns NULL if the node is unknown or
 * is not trusted. */
struct hf_redis_node *
hf_redis_node_find_trusted(struct hf_store *store,
                           const struct hf_redis_host *host,
                           const struct hf_redis_node *reporter);

/* Trust the nodes that the URL names and those that have a hash slot, and no
 * others. */
void hf_redis_nodes_trust_by_map(struct hf_store *store);

/* Send CLUSTER NODES to ${node}, unless that is under way.  The reply goes to
 * hf_redis_routed_calls_nodes_listed(). */
void hf_redis_node_ask_nodes(struct hf_redis_node *node);

/* Connect to ${node}, which is trusted, if its link is closed. */
void hf_redis_node_open(struct hf_redis_node *node);

/* Returns a node that is up, or NULL. */
struct hf_redis_node *hf_redis_node_up(const struct hf_store *store);

/* Returns what the node's clock shows when ours shows ${at_ms}, as computed
 * from the last reading of both. */
uint64_t hf_redis_node_clock_ms(const struct hf_redis_node *node,
                                uint64_t at_ms);

/* Connect again to nodes that went down and have hash slots, if that is due.
 * This does not wait for a call, because while a node is down its notices are
 * lost. */
void hf_redis_nodes_retry(struct hf_store *store);

/* End the link of ${node}, because the node has not answered for
 * ${silent_ms}. */
void hf_redis_node_time_out(struct hf_redis_node *node, uint64_t silent_ms);

/* If there are many nodes, free those that are not connected and have no hash
 * slot any more. */
void hf_redis_nodes_prune(struct hf_store *store);

/* Close all links, or free all nodes. */
void hf_redis_nodes_close(struct hf_store *store);
void hf_redis_nodes_free(struct hf_store *store);

/* -------------------------------------------------------------- slot map -- */

/* Send CLUSTER SLOTS to a node that is up, unless that is under way.  The reply
 * replaces the slot map. */
void hf_redis_slot_map_refresh(struct hf_store *store);

/* End the link of the node that has not answered CLUSTER SLOTS in time. */
void hf_redis_slot_map_expire(struct hf_store *store);

/* Replace the slot map by ${reply}, which ${node} sent, and trust the nodes in
 * it.  If ${reply} is malformed or memory runs out, returns false and keeps the
 * old map. */
bool hf_redis_slot_map_read(struct hf_store *store, struct hf_redis_node *node,
                            const struct redisReply *reply);

/* ---------------------------------------------------------- routed calls -- */

/* Send ${user_call} to the node that has its queue.  If ${set} is not NULL,
 * send only the part that is about this ticket set.  ${fan_out} collects the
 * answers of the parts; NULL: there is only one part. */
void hf_redis_routed_call_begin(struct hf_store *store,
                                struct hf_store_call *user_call,
                                const struct hf_store_ticket_set *set,
                                struct hf_redis_fan_out *fan_out);

/* Carry out a call about all queues of the session: begin one routed call for
 * each ticket set and join their answers (fan-out). */
void hf_redis_routed_calls_begin(struct hf_store *store,
                                 struct hf_store_call *user_call);

/* hf_redis_routed_call_answered(): pass the node's answer on.
 * hf_redis_routed_call_redirected(): the node did not carry out the call; send
 * it to the node that ${redirect} names. */
void hf_redis_routed_call_answered(struct hf_store *store,
                                   struct hf_redis_routed_call *routed,
                                   const struct hf_store_answer *answer);
void hf_redis_routed_call_redirected(struct hf_store *store,
                                     struct hf_redis_routed_call *routed,
                                     const struct hf_redis_redirect *redirect);

/* Decide about the redirects that were to be confirmed by ${node}: follow those
 * to one of ${nodes}, the reply to CLUSTER NODES, and fail the other calls.  If
 * ${nodes} is NULL, the node gave no list, for the reason ${why}. */
void hf_redis_routed_calls_nodes_listed(struct hf_store *store,
                                        struct hf_redis_node *node,
                                        const char *nodes, const char *why);

/* Send the calls that wait for ${node}, which is now up. */
void hf_redis_routed_calls_send(struct hf_store *store,
                                struct hf_redis_node *node);

/* Fail the calls that are on their way to ${node}, which is now down. */
void hf_redis_routed_calls_fail(struct hf_store *store,
                                struct hf_redis_node *node, hf_status status,
                                const char *why);

/* Choose the node again for calls that are not sent yet, because the slot map
 * has changed. */
void hf_redis_routed_calls_reroute(struct hf_store *store);

/* Answer the calls on the list .failed. */
void hf_redis_routed_calls_answer_failed(struct hf_store *store);

/* End the links of nodes that have not answered a call in time. */
void hf_redis_routed_calls_expire(struct hf_store *store);

/* Forget all calls, and answer none of them. */
void hf_redis_routed_calls_clear(struct hf_store *store);

/* --------------------------------------------------------------- fan-out -- */

/* Make a fan-out, which joins the answers of several routed calls to the one
 * answer to ${call}, a call about all queues of the session.  Returns NULL if
 * memory runs out. */
struct hf_redis_fan_out *hf_redis_fan_out_new(struct hf_store *store,
                                              struct hf_store_call *call);

/* Expect one more routed call. */
void hf_redis_fan_out_add(struct hf_redis_fan_out *fan_out);

/* Call this when all routed calls of ${fan_out} were begun.  Frees ${fan_out}
 * if memory sufficed for none of them. */
void hf_redis_fan_out_begun(struct hf_redis_fan_out *fan_out);

/* Add the answer of ${routed}, which belongs to a fan-out.  The last answer
 * completes the fan-out: the call is answered and the fan-out is freed. */
void hf_redis_fan_out_answered(struct hf_store *store,
                               const struct hf_redis_routed_call *routed,
                               const struct hf_store_answer *answer);

/* Expect one routed call less, because it was freed without an answer.  Frees
 * ${fan_out} if it was the last one. */
void hf_redis_fan_out_drop(struct hf_redis_fan_out *fan_out);

#endif
