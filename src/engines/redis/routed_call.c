/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls on their way to the nodes of a Redis Cluster.
 *
 * Calls about one queue must take effect in the order in which they were made.
 * One link keeps that order.  So a call is held only while an earlier call of
 * the same hash slot is on its way to another node.
 *
 * A node may redirect a call to another node (MOVED, ASK).  The call is sent
 * there when the cluster has confirmed that the other node belongs to it.
 */
#include <assert.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/time_math.h"
#include "engines/redis/redis_private.h"
#include "engines/redis/scan.h"

/* Hash slots move rarely.  If a call is redirected more often than this, the
 * nodes do not agree yet on who has the slot. */
#define REDIRECTS_MAX 4

/* ----------------------------------------------------------------- lists -- */

static struct hf_redis_routed_calls *bucket_of(struct hf_store *store,
                                               unsigned slot)
{
    return &store->buckets[slot % HF_REDIS_ROUTED_CALL_BUCKETS];
}

static void append(struct hf_redis_routed_calls *list,
                   struct hf_redis_routed_call *routed)
{
    routed->previous = list->last;
    routed->next = NULL;
    if (list->last != NULL)
        list->last->next = routed;
    else
        list->first = routed;
    list->last = routed;
}

static void unlink_call(struct hf_redis_routed_calls *list,
                        struct hf_redis_routed_call *routed)
{
    if (routed->previous != NULL)
        routed->previous->next = routed->next;
    else
        list->first = routed->next;
    if (routed->next != NULL)
        routed->next->previous = routed->previous;
    else
        list->last = routed->previous;
}

/* ------------------------------------------------------------------ send -- */

/* Fail the call.  The failure is reported later, from the loop, because a store
 * must not report from inside a call of the leased client. */
static void fail(struct hf_store *store, struct hf_redis_routed_call *routed,
                 hf_status status, const char *why)
{
    bool sent = routed->state == HF_REDIS_CALL_SENT &&
                hf_store_call_writes(&routed->call);

    unlink_call(bucket_of(store, routed->slot), routed);
    append(&store->failed, routed);
    routed->state = HF_REDIS_CALL_FAILED;
    routed->failure = sent ? HF_FAILURE_UNSURE : HF_FAILURE_RETRY;
    routed->status = status;
    (void)snprintf(routed->text, sizeof routed->text, "%s", why);
    hf_redis_store_answer_later(store);
}

/* Give the call to the link of its node.  Its .not_after_ms is converted to the
 * clock of that node. */
static void send_to_node(struct hf_redis_routed_call *routed)
{
    struct hf_redis_node *node = routed->node;

    assert(node->up);
    routed->state = HF_REDIS_CALL_SENT;
    routed->call.not_after_ms =
        hf_redis_node_clock_ms(node, routed->user_call->not_after_ms);
    if (routed->asking)
        hf_redis_link_call_after_asking(node->link, &routed->call);
    else
        hf_redis_link_call(node->link, &routed->call);
}

/* Returns whether ${routed} must wait before it goes to ${node}, because an
 * earlier call of its hash slot is held, is being verified, or is on its way to
 * another node. */
static bool is_held(const struct hf_redis_routed_call *routed,
                    const struct hf_redis_node *node)
{
    const struct hf_redis_routed_call *other = routed->previous;

    while (other != NULL &&
           (other->slot != routed->slot ||
            (other->state != HF_REDIS_CALL_HELD &&
             other->state != HF_REDIS_CALL_VERIFYING && other->node == node)))
        other = other->previous;
    return other != NULL;
}

/* Returns the node that has the hash slot by the slot map; NULL: unknown. */
static struct hf_redis_node *owner_of(const struct hf_store *store,
                                      unsigned slot)
{
    if (slot == HF_REDIS_ANY_HASH_SLOT)
        return hf_redis_node_up(store);
    return store->slot_map->owners.of[slot];
}

/* Send the call to ${node}, now or when the node is up.  Hold the call if
 * earlier calls require that, and fail it if ${node} is NULL. */
static void route(struct hf_store *store, struct hf_redis_routed_call *routed,
                  struct hf_redis_node *node)
{
    routed->node = NULL;
    routed->state = HF_REDIS_CALL_HELD;
    if (node == NULL) {
        hf_redis_slot_map_refresh(store);
        fail(store, routed, HF_EUNREACHABLE,
             "no node of the cluster has the slot of this lock; see CLUSTER "
             "INFO");
        return;
    }
    if (is_held(routed, node))
        return;
    routed->node = node;
    routed->state = HF_REDIS_CALL_WAITING;
    if (node->up)
        send_to_node(routed);
    else
        hf_redis_node_open(node);
}

/* Send the call to the node that has its hash slot by the slot map. */
static void route_by_map(struct hf_store *store,
                         struct hf_redis_routed_call *routed)
{
    routed->asking = false;
    route(store, routed, owner_of(store, routed->slot));
}

/* Route the calls of ${slot} that were held, and of which some may be sent
 * now. */
static void route_held(struct hf_store *store, unsigned slot)
{
    struct hf_redis_routed_call *routed, *next;

    for (routed = bucket_of(store, slot)->first; routed != NULL;
         routed = next) {
        next = routed->next;
        if (routed->slot == slot && routed->state == HF_REDIS_CALL_HELD)
            route_by_map(store, routed);
    }
}

/* ----------------------------------------------------------------- calls -- */

static unsigned hash_slot_of(const struct hf_store_call *call)
{
    if (call->kind == HF_STORE_NAMES)
        return hf_redis_scan_slot(call);
    if (call->queue != NULL)
        return hf_redis_hash_slot_of_queue(call->queue);
    return call->ticket_set_count > 0
               ? hf_redis_hash_slot_of_queue(call->ticket_sets->queue)
               : HF_REDIS_ANY_HASH_SLOT;
}

/* The same as hf_redis_routed_call_begin(), but for the node that has ${slot}.
 * HF_REDIS_HASH_SLOTS + 1 stands for the slot of the queue that the call is
 * about. */
static void begin_at(struct hf_store *store, struct hf_store_call *user_call,
                     const struct hf_store_ticket_set *set,
                     struct hf_redis_fan_out *fan_out, unsigned slot)
{
    struct hf_redis_routed_call *routed = hf_alloc(sizeof *routed);

    if (routed == NULL) {
        hf_redis_store_out_of_memory(store);
        return;
    }
    routed->call = *user_call;
    routed->call.store_data = NULL;
    routed->call.ticket_sets = &routed->set;
    routed->call.ticket_set_count = set != NULL ? 1 : 0;
    if (set != NULL)
        routed->set = *set;
    routed->user_call = user_call;
    routed->fan_out = fan_out;
    if (fan_out != NULL)
        hf_redis_fan_out_add(fan_out);
    routed->slot =
        slot <= HF_REDIS_ANY_HASH_SLOT ? slot : hash_slot_of(&routed->call);
    routed->begun_at_ms = hf_redis_store_now_ms(store);
    append(bucket_of(store, routed->slot), routed);
    hf_redis_store_wake_by(store, hf_after_ms(routed->begun_at_ms,
                                              hf_redis_node_timeout_ms(store)));
    route_by_map(store, routed);
}

void hf_redis_routed_call_begin(struct hf_store *store,
                                struct hf_store_call *user_call,
                                const struct hf_store_ticket_set *set,
                                struct hf_redis_fan_out *fan_out)
{
    begin_at(store, user_call, set, fan_out, HF_REDIS_HASH_SLOTS + 1);
}

/* Returns the first slot behind ${slot} whose node has no slot up to ${slot},
 * by the slot map.  By these slots the caller asks each node once.  Returns
 * HF_REDIS_HASH_SLOTS if there is no further node. */
static unsigned next_node_slot(const struct hf_redis_slot_map *map,
                               unsigned slot)
{
    struct hf_redis_node *const *of = map->owners.of;
    unsigned earlier;

    for (unsigned at = slot + 1; at < HF_REDIS_HASH_SLOTS; at++) {
        if (of[at] == NULL || of[at] == of[at - 1])
            continue;
        earlier = 0;
        while (earlier < at && of[earlier] != of[at])
            earlier++;
        if (earlier == at)
            return at;
    }
    return HF_REDIS_HASH_SLOTS;
}

/* Begin one routed call for each node that has slots.  If no node has slots,
 * begin one for any node. */
static void begin_at_each_node(struct hf_store *store,
                               struct hf_store_call *user_call,
                               struct hf_redis_fan_out *fan_out)
{
    const struct hf_redis_slot_map *map = store->slot_map;
    unsigned slot = map->owners.of[0] != NULL ? 0 : next_node_slot(map, 0);

    do {
        begin_at(store, user_call, NULL, fan_out, slot);
        if (slot < HF_REDIS_HASH_SLOTS)
            slot = next_node_slot(map, slot);
    } while (slot < HF_REDIS_HASH_SLOTS);
}

void hf_redis_routed_calls_begin(struct hf_store *store,
                                 struct hf_store_call *user_call)
{
    struct hf_redis_fan_out *fan_out = hf_redis_fan_out_new(store, user_call);

    if (fan_out == NULL) {
        hf_redis_store_out_of_memory(store);
        return;
    }
    if (user_call->kind == HF_STORE_EXAMINE)
        begin_at_each_node(store, user_call, fan_out);
    else if (user_call->ticket_set_count == 0)
        hf_redis_routed_call_begin(store, user_call, NULL, fan_out);
    for (size_t i = 0; i < user_call->ticket_set_count; i++)
        hf_redis_routed_call_begin(store, user_call, &user_call->ticket_sets[i],
                                   fan_out);
    hf_redis_fan_out_begun(fan_out);
}

/* --------------------------------------------------------------- answers -- */

/* Returns whether the answer must be kept from the client.  If the last renewal
 * gave up the hash slot, its tickets may have expired while renewals went on to
 * prove the rest of the session.  The client must not find such tickets before
 * they are renewed. */
static bool must_hide(const struct hf_redis_routed_call *routed,
                      const struct hf_store_answer *answer,
                      const struct hf_redis_slot_map *map)
{
    switch (routed->call.kind) {
    case HF_STORE_ENQUEUE:
    case HF_STORE_LIST:
    case HF_STORE_EXISTS:
    case HF_STORE_DOWNGRADE:
    case HF_STORE_NEW_GENERATION:
        return answer->ok && map->given_up[routed->slot];
    case HF_STORE_RENEW:
    case HF_STORE_REMOVE:
    case HF_STORE_REVOKE:
    case HF_STORE_DESCRIBE:
    case HF_STORE_READ_SUCCESS:
    case HF_STORE_WRITE_SUCCESS:
    case HF_STORE_SET_FLAG:
    case HF_STORE_CLEAR_FLAG:
    case HF_STORE_CLOSE_SESSION:
    case HF_STORE_NAMES:
    case HF_STORE_EXAMINE:
        break;
    }
    return false;
}

/* If a node has named all its locks, set the cursor so that the next page is
 * asked from the next node.  ${names} is a copy of that of the answer, and
 * ${cursor} is room for a new cursor. */
static void go_to_next_node(struct hf_store *store,
                            const struct hf_redis_routed_call *routed,
                            struct hf_names_answer *names,
                            char cursor[HF_REDIS_CURSOR_BYTES])
{
    unsigned next = next_node_slot(store->slot_map, routed->slot);

    if (names->cursor_bytes > 0 || next == HF_REDIS_HASH_SLOTS)
        return;
    names->cursor = cursor;
    names->cursor_bytes = hf_redis_scan_begin(next, cursor);
}

/* Answer the call, or add the answer to its fan-out, and free the call.  If
 * must_hide() says so, a failure is reported instead of the answer.
 *
 * Otherwise an ENQUEUE that succeeded counts as a renewal of its hash slot,
 * because its ticket has a whole ttl left.  If it did not count, a slot that
 * had no tickets for a while would be given up at the first renewal that fails
 * (fan_out.c, is_due_to_give_up()). */
static void answer_call(struct hf_store *store,
                        struct hf_redis_routed_call *routed,
                        const struct hf_store_answer *answer)
{
    uint64_t now_ms = hf_redis_store_now_ms(store);
    struct hf_store_answer reported = *answer;
    struct hf_store_call *user_call = routed->user_call;
    char cursor[HF_REDIS_CURSOR_BYTES];
    struct hf_names_answer names;

    if (answer->names != NULL) {
        names = *answer->names;
        go_to_next_node(store, routed, &names, cursor);
        reported.names = &names;
    }
    /* nodes have different clocks, so the client gets the time of ours */
    reported.server_ms = now_ms;
    if (must_hide(routed, answer, store->slot_map))
        reported = (struct hf_store_answer){
            .failure = hf_store_call_writes(&routed->call) ? HF_FAILURE_UNSURE
                                                           : HF_FAILURE_RETRY,
            .status = HF_EUNREACHABLE,
            .text = "the node of this lock has been away, and has not renewed "
                    "our tickets yet",
            .server_ms = now_ms,
        };
    else if (answer->ok && routed->call.kind == HF_STORE_ENQUEUE)
        store->slot_map->renewed_at_ms[routed->slot] = routed->begun_at_ms;
    if (routed->fan_out != NULL)
        hf_redis_fan_out_answered(store, routed, &reported);
    else
        hf_leased_answered(store->shared.engine->leased, user_call, &reported,
                           now_ms);
    hf_free(routed);
}

void hf_redis_routed_call_answered(struct hf_store *store,
                                   struct hf_redis_routed_call *routed,
                                   const struct hf_store_answer *answer)
{
    unlink_call(bucket_of(store, routed->slot), routed);
    route_held(store, routed->slot);
    answer_call(store, routed, answer);
}

/* Send the redirected call to ${to}, which is known to be a node of the
 * cluster. */
static void follow(struct hf_store *store, struct hf_redis_routed_call *routed,
                   const struct hf_redis_redirect *redirect,
                   struct hf_redis_node *to)
{
    routed->asking = redirect->kind == HF_REDIS_ASK;
    if (redirect->kind == HF_REDIS_MOVED)
        store->slot_map->owners.of[routed->slot] = to;
    route(store, routed, to);
}

/* Ask the cluster whether the target of ${redirect} is one of its nodes, before
 * we connect to it and send it our credentials. */
static void verify_target(struct hf_redis_routed_call *routed,
                          const struct hf_redis_redirect *redirect)
{
    routed->state = HF_REDIS_CALL_VERIFYING;
    routed->unverified = *redirect;
    hf_redis_node_ask_nodes(routed->node);
}

/* Send the call to the node that ${redirect} names.  If we do not know that
 * node as one of the cluster, verify its address first. */
void hf_redis_routed_call_redirected(struct hf_store *store,
                                     struct hf_redis_routed_call *routed,
                                     const struct hf_redis_redirect *redirect)
{
    struct hf_redis_node *to =
        hf_redis_node_find_trusted(store, &redirect->to, routed->node);
    unsigned slot = routed->slot;

    assert(slot != HF_REDIS_ANY_HASH_SLOT);
    /* not SENT any more: a redirected call had no effect */
    routed->state = HF_REDIS_CALL_HELD;
    if (redirect->kind == HF_REDIS_MOVED)
        hf_redis_slot_map_refresh(store);
    if (++routed->redirects > REDIRECTS_MAX)
        fail(store, routed, HF_EUNREACHABLE,
             "the nodes of the cluster do not agree on who has the slot of "
             "this lock");
    else if (to == NULL)
        verify_target(routed, redirect);
    else
        follow(store, routed, redirect, to);
    route_held(store, slot);
}

/* ------------------------------------------------------------- all calls -- */

/* Call ${action} for each call.  The action may unlink that call. */
static void for_each(struct hf_store *store,
                     void (*action)(struct hf_store *store,
                                    struct hf_redis_routed_call *routed,
                                    void *arg),
                     void *arg)
{
    struct hf_redis_routed_call *routed, *next;

    for (size_t i = 0; i < HF_REDIS_ROUTED_CALL_BUCKETS; i++) {
        for (routed = store->buckets[i].first; routed != NULL; routed = next) {
            next = routed->next;
            action(store, routed, arg);
        }
    }
}

static void send_if_waiting(struct hf_store *store,
                            struct hf_redis_routed_call *routed, void *node)
{
    (void)store;
    if (routed->state == HF_REDIS_CALL_WAITING && routed->node == node)
        send_to_node(routed);
}

void hf_redis_routed_calls_send(struct hf_store *store,
                                struct hf_redis_node *node)
{
    for_each(store, send_if_waiting, node);
}

static void route_if_held(struct hf_store *store,
                          struct hf_redis_routed_call *routed, void *arg)
{
    (void)arg;
    if (routed->state == HF_REDIS_CALL_HELD)
        route_by_map(store, routed);
}

/* The reply of ${node} to CLUSTER NODES. */
struct node_list {
    struct hf_redis_node *node;
    const char *nodes; /* NULL: there is no list, for the reason .why */
    const char *why;
};

/* Fail a call whose redirect was not confirmed.  The message begins with the
 * address, because its end may be cut off. */
static void fail_unverified(struct hf_store *store,
                            struct hf_redis_routed_call *routed,
                            const struct node_list *node_list)
{
    char from[HF_REDIS_HOST_TEXT_BYTES], to[HF_REDIS_HOST_TEXT_BYTES];
    char text[HF_CONNECTION_TEXT_BYTES];

    hf_redis_host_format(&node_list->node->host, from);
    hf_redis_host_format(&routed->unverified.to, to);
    if (node_list->nodes != NULL)
        (void)snprintf(text, sizeof text,
                       "%.60s, where the node %.60s sends us, is not in its "
                       "CLUSTER NODES and gets no credentials; expected a node "
                       "of the cluster",
                       to, from);
    else
        (void)snprintf(text, sizeof text,
                       "%.60s, where the node %.60s sends us, may be no node "
                       "of the cluster; expected a user who may "
                       "+cluster|nodes: %.36s",
                       to, from, node_list->why);
    fail(store, routed, HF_EDENIED, text);
}

/* Send the call to the target of its redirect, which the cluster has
 * confirmed. */
static void follow_verified(struct hf_store *store,
                            struct hf_redis_routed_call *routed)
{
    struct hf_redis_node *to =
        hf_redis_node_get(store, &routed->unverified.to, routed->node);

    if (to == NULL) {
        fail(store, routed, HF_EUNREACHABLE,
             "no memory for another node of the cluster, or too many of them");
        return;
    }
    to->trusted = true;
    follow(store, routed, &routed->unverified, to);
}

/* Follow or fail the redirect of ${routed}, if it waits for the list ${arg}. */
static void verify_if_waiting(struct hf_store *store,
                              struct hf_redis_routed_call *routed, void *arg)
{
    const struct node_list *node_list = arg;

    if (routed->state != HF_REDIS_CALL_VERIFYING ||
        routed->node != node_list->node)
        return;
    routed->state = HF_REDIS_CALL_HELD;
    if (node_list->nodes != NULL &&
        hf_redis_nodes_include(node_list->nodes, &routed->unverified.to))
        follow_verified(store, routed);
    else
        fail_unverified(store, routed, node_list);
}

void hf_redis_routed_calls_nodes_listed(struct hf_store *store,
                                        struct hf_redis_node *node,
                                        const char *nodes, const char *why)
{
    struct node_list node_list = {node, nodes, why};

    for_each(store, verify_if_waiting, &node_list);
    /* calls that were held because of these */
    for_each(store, route_if_held, NULL);
}

struct node_failure {
    const struct hf_redis_node *node;
    hf_status status;
    const char *why;
};

static void fail_if_at_node(struct hf_store *store,
                            struct hf_redis_routed_call *routed, void *arg)
{
    const struct node_failure *node_failure = arg;

    if (routed->node == node_failure->node)
        fail(store, routed, node_failure->status, node_failure->why);
}

void hf_redis_routed_calls_fail(struct hf_store *store,
                                struct hf_redis_node *node, hf_status status,
                                const char *why)
{
    struct node_failure node_failure = {node, status, why};

    for_each(store, fail_if_at_node, &node_failure);
    /* calls that were held because of these */
    for_each(store, route_if_held, NULL);
}

/* Hold a call that waits for its node, so that it is routed again by the new
 * slot map.  A call that follows an ASK keeps its node, because the slot map
 * does not know where an ASK leads. */
static void hold_if_waiting(struct hf_store *store,
                            struct hf_redis_routed_call *routed, void *arg)
{
    (void)store;
    (void)arg;
    if (routed->state == HF_REDIS_CALL_WAITING && !routed->asking) {
        routed->state = HF_REDIS_CALL_HELD;
        routed->node = NULL;
    }
}

void hf_redis_routed_calls_reroute(struct hf_store *store)
{
    for_each(store, hold_if_waiting, NULL);
    for_each(store, route_if_held, NULL);
}

/* The receiver of an answer may disconnect the store, which clears the list.
 * So the loop always takes the first call. */
void hf_redis_routed_calls_answer_failed(struct hf_store *store)
{
    struct hf_redis_routed_call *routed;

    while ((routed = store->failed.first) != NULL) {
        const struct hf_store_answer answer = {
            .failure = routed->failure,
            .status = routed->status,
            .text = routed->text,
        };

        unlink_call(&store->failed, routed);
        answer_call(store, routed, &answer);
    }
}

/* ------------------------------------------------------------------ time -- */

/* Returns the call that was begun first.  Each bucket has its oldest call at
 * the front. */
static struct hf_redis_routed_call *find_oldest(struct hf_store *store)
{
    struct hf_redis_routed_call *oldest = NULL;

    for (size_t i = 0; i < HF_REDIS_ROUTED_CALL_BUCKETS; i++) {
        struct hf_redis_routed_call *first = store->buckets[i].first;

        if (first != NULL &&
            (oldest == NULL || first->begun_at_ms < oldest->begun_at_ms))
            oldest = first;
    }
    return oldest;
}

void hf_redis_routed_calls_expire(struct hf_store *store)
{
    uint64_t timeout_ms = hf_redis_node_timeout_ms(store);
    uint64_t now_ms = hf_redis_store_now_ms(store);
    struct hf_redis_routed_call *oldest;

    /* Each pass of the loop fails at least one call. */
    while ((oldest = find_oldest(store)) != NULL &&
           now_ms >= hf_after_ms(oldest->begun_at_ms, timeout_ms)) {
        /* it is the oldest call, so it is not held and has a node */
        assert(oldest->node != NULL);
        hf_redis_node_time_out(oldest->node, now_ms - oldest->begun_at_ms);
    }
    if (oldest != NULL)
        hf_redis_store_wake_by(store,
                               hf_after_ms(oldest->begun_at_ms, timeout_ms));
}

static void clear(struct hf_redis_routed_calls *list)
{
    struct hf_redis_routed_call *routed;

    while ((routed = list->first) != NULL) {
        unlink_call(list, routed);
        if (routed->fan_out != NULL)
            hf_redis_fan_out_drop(routed->fan_out);
        hf_free(routed);
    }
}

void hf_redis_routed_calls_clear(struct hf_store *store)
{
    for (size_t i = 0; i < HF_REDIS_ROUTED_CALL_BUCKETS; i++)
        clear(&store->buckets[i]);
    clear(&store->failed);
}
