/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of the store: what the links of its nodes report, and what the
 * loop calls.  Decides when the link to the leased client is up, which is as
 * long as one node is up, and passes answers and redirects on to the routed
 * calls. */
#include <assert.h>
#include <stdio.h>

#include "base/container_of.h"
#include "base/time_math.h"
#include "engines/redis/redis_private.h"
#include "engines/redis/reply.h"

/* ---------------------------------------- the link to the leased client -- */

void hf_redis_store_disconnect(struct hf_store *store)
{
    hf_redis_successor_stop(store);
    /* first, because the links still have pointers to the routed calls */
    hf_redis_nodes_close(store);
    hf_redis_routed_calls_clear(store);
    store->linked = store->up = store->out_of_memory = false;
    store->slot_map_source = NULL;
    (void)uv_idle_stop(&store->later);
    store->wake_at_ms = HF_FOREVER;
}

/* Report to the leased client that it can make calls. */
static void report_up(struct hf_store *store, bool clustered,
                      uint64_t server_ms)
{
    store->up = true;
    store->clustered = clustered;
    hf_leased_up(store->shared.engine->leased, server_ms,
                 hf_redis_store_now_ms(store));
}

/* Close all links and report that to the leased client.  ${status} and ${why}
 * are those of hf_leased_down(). */
static void report_down(struct hf_store *store, hf_status status,
                        const char *why)
{
    hf_redis_store_disconnect(store);
    hf_leased_down(store->shared.engine->leased, status, why,
                   hf_redis_store_now_ms(store));
}

/* -------------------------------------------------------------- the loop -- */

/* Report what could not be reported earlier, because a store must not report
 * from inside a call of the leased client. */
static void on_later(uv_idle_t *later)
{
    struct hf_store *store = later->data;

    (void)uv_idle_stop(later);
    hf_leased_engine_enter(store->shared.engine);
    if (store->out_of_memory)
        report_down(store, HF_EUNREACHABLE, "out of memory");
    else
        hf_redis_routed_calls_answer_failed(store);
    hf_leased_engine_leave(store->shared.engine);
}

/* ---------------------------------------------------- links of the nodes -- */

/* Note the time of the node's clock.  0 means that it is not known. */
static void set_server_clock(struct hf_redis_node *node, uint64_t server_ms)
{
    if (server_ms == 0)
        return;
    node->server_ms = server_ms;
    node->server_clock_at_ms = hf_redis_store_now_ms(node->store);
}

/* Close all links and report that. */
static void fail_store(struct hf_redis_node *node, hf_status status,
                       const char *why)
{
    report_down(node->store, status, why);
}

/* Use ${node}, which is not a node of a cluster, as the only server. */
static void use_single_server(struct hf_redis_node *node)
{
    if (node->store->config.host_count > 1) {
        fail_store(
            node, HF_EURL,
            "it is no node of a Redis Cluster, or does not say so; expected "
            "one server in the URL, or nodes of one cluster");
        return;
    }
    hf_redis_successor_watch(node->store);
    report_up(node->store, false, node->server_ms);
}

/* The link to a node is up.  The first link decides whether the server is a
 * node of a cluster.  When a later link is up, the calls that wait for its node
 * are sent. */
static void on_up(void *arg, struct hf_redis_link *link, uint64_t server_ms)
{
    struct hf_redis_node *node = arg;
    struct hf_store *store = node->store;
    bool reconnected = node->was_up;

    set_server_clock(node, server_ms);
    node->up = node->was_up = true;
    node->retry_ms = 0;
    if (!store->up && (link->info == HF_REDIS_INFO_CLUSTER_NODE ||
                       link->info == HF_REDIS_INFO_DENIED)) {
        hf_redis_link_ask_slots(link);
    } else if (!store->up) {
        use_single_server(node);
    } else {
        hf_redis_routed_calls_send(store, node);
        if (reconnected)
            hf_leased_notices_lost(store->shared.engine->leased,
                                   hf_redis_store_now_ms(store));
    }
}

/* While a node is down, its notices are lost.  So the pause between two
 * attempts to connect is short. */
#define RETRY_MIN_MS UINT64_C(250)
#define RETRY_MAX_MS UINT64_C(2000)

static void plan_retry(struct hf_redis_node *node)
{
    if (!node->was_up)
        return;
    node->retry_ms =
        hf_min_ms(hf_max_ms(2 * node->retry_ms, RETRY_MIN_MS), RETRY_MAX_MS);
    node->retry_at_ms =
        hf_after_ms(hf_redis_store_now_ms(node->store), node->retry_ms);
    hf_redis_store_wake_by(node->store, node->retry_at_ms);
}

/* The link to a node is down: fail its calls, and find out which node has its
 * slots now.  If no other node is up, the store goes down. */
static void on_down(void *arg, struct hf_redis_link *link, hf_status status,
                    const char *why)
{
    struct hf_redis_node *node = arg;
    struct hf_store *store = node->store;
    char address[HF_REDIS_HOST_TEXT_BYTES];
    char text[HF_CONNECTION_TEXT_BYTES];

    (void)link;
    node->up = node->asked_nodes = false;
    if (store->slot_map_source == node)
        store->slot_map_source = NULL;
    (void)snprintf(text, sizeof text, "%s", why);
    if (store->clustered || store->config.host_count > 1) {
        hf_redis_host_format(&node->host, address);
        (void)snprintf(text, sizeof text, "the node %.60s: %.180s", address,
                       why);
    }
    if (hf_redis_node_up(store) == NULL) {
        report_down(store, status, text);
        return;
    }
    plan_retry(node);
    hf_redis_routed_calls_fail(store, node, status, text);
    hf_redis_slot_map_refresh(store);
}

/* Report the answer to a call.  The answer to an EXAMINE gets the findings of
 * the look for a successor as well. */
static void report_answer(struct hf_store *store, struct hf_store_call *call,
                          const struct hf_store_answer *answer)
{
    struct hf_store_answer reported = *answer;
    struct hf_finding_list findings = {0};

    if (answer->findings != NULL) {
        hf_redis_successor_take_findings(store, &findings);
        hf_finding_list_append(&findings, answer->findings);
        reported.findings = &findings;
    }
    hf_leased_answered(store->shared.engine->leased, call, &reported,
                       hf_redis_store_now_ms(store));
    hf_finding_list_free(&findings);
}

/* A link has answered a call.  Only on a cluster is this a routed call. */
static void on_answered(void *arg, struct hf_redis_link *link,
                        struct hf_store_call *call,
                        const struct hf_store_answer *answer)
{
    struct hf_redis_node *node = arg;
    struct hf_store *store = node->store;

    (void)link;
    if (!store->clustered) {
        report_answer(store, call, answer);
        return;
    }
    set_server_clock(node, answer->server_ms);
    hf_redis_routed_call_answered(
        store, container_of(call, struct hf_redis_routed_call, call), answer);
}

static void on_notice(void *arg, struct hf_redis_link *link,
                      const struct hf_store_notice *notice)
{
    struct hf_store *store = ((struct hf_redis_node *)arg)->store;

    (void)link;
    if (store->up)
        hf_leased_notice(store->shared.engine->leased, notice,
                         hf_redis_store_now_ms(store));
}

/* Fail a call that was redirected although we treat the server as a single one.
 * This happens if the user may not run the commands that show the cluster. */
static void fail_redirected(struct hf_store *store, struct hf_store_call *call)
{
    const struct hf_store_answer answer = {
        .failure = HF_FAILURE_FATAL,
        .status = HF_EUNSUPPORTED,
        .text = "this lock is another node's of a Redis Cluster; expected a "
                "user who may +info or +cluster|slots",
    };

    hf_leased_answered(store->shared.engine->leased, call, &answer,
                       hf_redis_store_now_ms(store));
}

/* A link reports that another node has the queue of the call. */
static void on_redirected(void *arg, struct hf_redis_link *link,
                          struct hf_store_call *call,
                          const struct hf_redis_redirect *redirect)
{
    struct hf_store *store = ((struct hf_redis_node *)arg)->store;

    (void)link;
    if (store->clustered)
        hf_redis_routed_call_redirected(
            store, container_of(call, struct hf_redis_routed_call, call),
            redirect);
    else
        fail_redirected(store, call);
}

/* Replace the slot map, and route by it the calls that wait for their node.
 * Returns false if hf_redis_slot_map_read() does. */
static bool read_slots(struct hf_redis_node *node,
                       const struct redisReply *reply)
{
    struct hf_store *store = node->store;

    if (!hf_redis_slot_map_read(store, node, reply))
        return false;
    hf_redis_routed_calls_reroute(store);
    hf_redis_nodes_prune(store);
    return true;
}

/* Handle the reply to CLUSTER SLOTS. */
static void on_slots(void *arg, struct hf_redis_link *link,
                     const struct redisReply *reply)
{
    struct hf_redis_node *node = arg;
    struct hf_store *store = node->store;
    bool refused = reply->type == REDIS_REPLY_ERROR;
    char text[HF_CONNECTION_TEXT_BYTES];

    store->slot_map_source = NULL;
    if (store->up) {
        if (!refused)
            (void)read_slots(node, reply);
    } else if (refused && link->info != HF_REDIS_INFO_CLUSTER_NODE) {
        use_single_server(node);
    } else if (refused) {
        (void)snprintf(text, sizeof text,
                       "it does not say which node has what: %.120s; expected "
                       "a user who may +cluster|slots",
                       reply->str);
        fail_store(node, hf_redis_connection_status(reply->str), text);
    } else if (read_slots(node, reply)) {
        report_up(store, true, hf_redis_store_now_ms(store));
    } else {
        fail_store(node, HF_EPROTOCOL, "CLUSTER SLOTS gave no slots");
    }
}

/* Handle the reply to CLUSTER NODES. */
static void on_nodes(void *arg, struct hf_redis_link *link,
                     const struct redisReply *reply)
{
    struct hf_redis_node *node = arg;
    bool listed = reply->type == REDIS_REPLY_STRING;
    const char *why = reply->type == REDIS_REPLY_ERROR ? reply->str : "no text";

    (void)link;
    node->asked_nodes = false;
    hf_redis_routed_calls_nodes_listed(node->store, node,
                                       listed ? reply->str : NULL, why);
}

void hf_redis_store_init_events(struct hf_store *store)
{
    store->link_listener = (struct hf_redis_link_listener){
        .up = on_up,
        .down = on_down,
        .answered = on_answered,
        .notice = on_notice,
        .redirected = on_redirected,
        .slots = on_slots,
        .nodes = on_nodes,
    };
    store->on_later = on_later;
}
