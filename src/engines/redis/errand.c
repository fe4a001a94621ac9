/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways of calls to the nodes.  Calls about one queue have to take effect in the
 * order in which they were made, and a link keeps that order; so one is held
 * back while another of its slot, made before it, is on its way to another
 * node.
 */
#include <assert.h>
#include <stdio.h>

#include "core/memory.h"
#include "core/time_math.h"
#include "engines/redis/private.h"

/* A slot moves once in a while.  Nodes that send us round in circles do not
 * agree yet. */
#define REDIRECTS_MAX 4

/* ----------------------------------------------------------------- lists -- */

static struct hf_redis_errands *bucket_of(struct hf_store *store, unsigned slot)
{
    return &store->buckets[slot % HF_REDIS_ERRAND_BUCKETS];
}

static void append(struct hf_redis_errands *list,
                   struct hf_redis_errand *errand)
{
    errand->previous = list->last;
    errand->next = NULL;
    if (list->last != NULL)
        list->last->next = errand;
    else
        list->first = errand;
    list->last = errand;
}

static void take_out(struct hf_redis_errands *list,
                     struct hf_redis_errand *errand)
{
    if (errand->previous != NULL)
        errand->previous->next = errand->next;
    else
        list->first = errand->next;
    if (errand->next != NULL)
        errand->next->previous = errand->previous;
    else
        list->last = errand->previous;
}

/* ------------------------------------------------------------------ send -- */

static void fail(struct hf_store *store, struct hf_redis_errand *errand,
                 hf_status status, const char *why)
{
    bool open =
        errand->state == HF_REDIS_SENT && hf_store_call_writes(&errand->call);

    take_out(bucket_of(store, errand->slot), errand);
    append(&store->failed, errand);
    errand->state = HF_REDIS_FAILED;
    errand->failure = open ? HF_FAILURE_UNSURE : HF_FAILURE_RETRY;
    errand->status = status;
    (void)snprintf(errand->text, sizeof errand->text, "%s", why);
    hf_redis_store_tell_later(store);
}

static void dispatch(struct hf_redis_errand *errand)
{
    struct hf_redis_node *node = errand->node;

    assert(node->up);
    errand->state = HF_REDIS_SENT;
    errand->call.not_after_ms =
        hf_redis_node_clock_ms(node, errand->asked->not_after_ms);
    if (errand->asking)
        hf_redis_link_call_asking(node->link, &errand->call);
    else
        hf_redis_link_call(node->link, &errand->call);
}

static bool is_held(const struct hf_redis_errand *errand,
                    const struct hf_redis_node *node)
{
    const struct hf_redis_errand *other = errand->previous;

    while (other != NULL &&
           (other->slot != errand->slot ||
            (other->state != HF_REDIS_HELD &&
             other->state != HF_REDIS_SEEKING && other->node == node)))
        other = other->previous;
    return other != NULL;
}

static struct hf_redis_node *owner_of(const struct hf_store *store,
                                      unsigned slot)
{
    if (slot == HF_REDIS_ANY_SLOT)
        return hf_redis_node_up(store);
    return store->map->owners.of[slot];
}

/* To ${node}, now or as soon as it can be. */
static void route(struct hf_store *store, struct hf_redis_errand *errand,
                  struct hf_redis_node *node)
{
    errand->node = NULL;
    errand->state = HF_REDIS_HELD;
    if (node == NULL) {
        hf_redis_map_refresh(store);
        fail(store, errand, HF_EUNREACHABLE,
             "no node of the cluster has the slot of this lock; see CLUSTER "
             "INFO");
        return;
    }
    if (is_held(errand, node))
        return;
    errand->node = node;
    errand->state = HF_REDIS_WAITING;
    if (node->up)
        dispatch(errand);
    else
        hf_redis_node_open(node);
}

/* To whom the map has for it. */
static void route_home(struct hf_store *store, struct hf_redis_errand *errand)
{
    errand->asking = false;
    route(store, errand, owner_of(store, errand->slot));
}

/* Those of ${slot} that were held may not be any more. */
static void release(struct hf_store *store, unsigned slot)
{
    struct hf_redis_errand *errand, *next;

    for (errand = bucket_of(store, slot)->first; errand != NULL;
         errand = next) {
        next = errand->next;
        if (errand->slot == slot && errand->state == HF_REDIS_HELD)
            route_home(store, errand);
    }
}

/* ----------------------------------------------------------------- begin -- */

static unsigned slot_of(const struct hf_store_call *call)
{
    if (call->queue != NULL)
        return hf_redis_slot_of_queue(call->queue);
    return call->stake_count > 0 ? hf_redis_slot_of_queue(call->stakes->queue)
                                 : HF_REDIS_ANY_SLOT;
}

void hf_redis_errand_begin(struct hf_store *store, struct hf_store_call *asked,
                           const struct hf_store_stake *stake,
                           struct hf_redis_gather *gather)
{
    struct hf_redis_errand *errand = hf_alloc(sizeof *errand);

    if (errand == NULL) {
        hf_redis_store_starve(store);
        return;
    }
    errand->call = *asked;
    errand->call.store_data = NULL;
    errand->call.stakes = &errand->stake;
    errand->call.stake_count = stake != NULL ? 1 : 0;
    if (stake != NULL)
        errand->stake = *stake;
    errand->asked = asked;
    errand->gather = gather;
    if (gather != NULL)
        hf_redis_gather_add(gather);
    errand->slot = slot_of(&errand->call);
    errand->begun_at_ms = hf_redis_store_now_ms(store);
    append(bucket_of(store, errand->slot), errand);
    hf_redis_store_wake_by(
        store, hf_after_ms(errand->begun_at_ms, hf_redis_patience_ms(store)));
    route_home(store, errand);
}

/* --------------------------------------------------------------- answers -- */

/* A ticket whose last renewal was left out may have run out, or be about to,
 * while proofs went on: it must not be found until it has been renewed. */
static bool is_too_late(const struct hf_redis_errand *errand,
                        const struct hf_store_answer *answer,
                        const struct hf_redis_map *map)
{
    switch (errand->call.kind) {
    case HF_STORE_ENQUEUE:
    case HF_STORE_LIST:
    case HF_STORE_PROBE:
    case HF_STORE_DOWNGRADE:
    case HF_STORE_STAMP:
        return answer->ok && map->given_up[errand->slot];
    case HF_STORE_RENEW:
    case HF_STORE_REMOVE:
    case HF_STORE_REVOKE:
    case HF_STORE_DESCRIBE:
    case HF_STORE_RAISE:
    case HF_STORE_LOWER:
    case HF_STORE_GOODBYE:
        break;
    }
    return false;
}

static void tell(struct hf_store *store, struct hf_redis_errand *errand,
                 const struct hf_store_answer *answer)
{
    uint64_t now_ms = hf_redis_store_now_ms(store);
    struct hf_store_answer told = *answer;
    struct hf_store_call *asked = errand->asked;

    told.server_ms = now_ms; /* nodes have each their own: ours */
    if (is_too_late(errand, answer, store->map))
        told = (struct hf_store_answer){
            .failure = hf_store_call_writes(&errand->call) ? HF_FAILURE_UNSURE
                                                           : HF_FAILURE_RETRY,
            .status = HF_EUNREACHABLE,
            .text = "the node of this lock has been away, and has not renewed "
                    "our tickets yet",
            .server_ms = now_ms,
        };
    else if (answer->ok && errand->call.kind == HF_STORE_ENQUEUE)
        store->map->renewed_at_ms[errand->slot] = errand->begun_at_ms;
    if (errand->gather != NULL)
        hf_redis_gather_take(store, errand, &told);
    else
        hf_leased_answered(store->base.engine->leased, asked, &told, now_ms);
    hf_free(errand);
}

void hf_redis_errand_answered(struct hf_store *store,
                              struct hf_redis_errand *errand,
                              const struct hf_store_answer *answer)
{
    take_out(bucket_of(store, errand->slot), errand);
    release(store, errand->slot);
    tell(store, errand, answer);
}

/* It has done nothing where it was, and ${to} is of the cluster. */
static void follow(struct hf_store *store, struct hf_redis_errand *errand,
                   const struct hf_redis_redirect *redirect,
                   struct hf_redis_node *to)
{
    errand->asking = redirect->kind == HF_REDIS_ASK;
    if (redirect->kind == HF_REDIS_MOVED)
        store->map->owners.of[errand->slot] = to;
    route(store, errand, to);
}

/* A node that is sent to is given our credentials, so the redirect alone is not
 * enough: the cluster must name it. */
static void seek(struct hf_redis_errand *errand,
                 const struct hf_redis_redirect *redirect)
{
    errand->state = HF_REDIS_SEEKING;
    errand->sought = *redirect;
    hf_redis_node_ask_names(errand->node);
}

void hf_redis_errand_redirected(struct hf_store *store,
                                struct hf_redis_errand *errand,
                                const struct hf_redis_redirect *redirect)
{
    struct hf_redis_node *to =
        hf_redis_node_named(store, &redirect->to, errand->node);
    unsigned slot = errand->slot;

    assert(slot != HF_REDIS_ANY_SLOT);
    errand->state = HF_REDIS_HELD; /* it has done nothing */
    if (redirect->kind == HF_REDIS_MOVED)
        hf_redis_map_refresh(store);
    if (++errand->redirects > REDIRECTS_MAX)
        fail(store, errand, HF_EUNREACHABLE,
             "the nodes of the cluster do not agree on who has the slot of "
             "this lock");
    else if (to == NULL)
        seek(errand, redirect);
    else
        follow(store, errand, redirect, to);
    release(store, slot);
}

/* -------------------------------------------------------------- all of it --
 */

/* Do ${deed} to each; it may take that one out. */
static void for_each(struct hf_store *store,
                     void (*deed)(struct hf_store *store,
                                  struct hf_redis_errand *errand, void *arg),
                     void *arg)
{
    struct hf_redis_errand *errand, *next;

    for (size_t i = 0; i < HF_REDIS_ERRAND_BUCKETS; i++) {
        for (errand = store->buckets[i].first; errand != NULL; errand = next) {
            next = errand->next;
            deed(store, errand, arg);
        }
    }
}

static void dispatch_if(struct hf_store *store, struct hf_redis_errand *errand,
                        void *node)
{
    (void)store;
    if (errand->state == HF_REDIS_WAITING && errand->node == node)
        dispatch(errand);
}

void hf_redis_errands_send(struct hf_store *store, struct hf_redis_node *node)
{
    for_each(store, dispatch_if, node);
}

static void route_if(struct hf_store *store, struct hf_redis_errand *errand,
                     void *arg)
{
    (void)arg;
    if (errand->state == HF_REDIS_HELD)
        route_home(store, errand);
}

/* What a node has said of those that there are. */
struct naming {
    struct hf_redis_node *node;
    const char *nodes; /* NULL: nothing */
    const char *why;
};

/* The address stands first: what is behind it may be cut. */
static void refuse_sought(struct hf_store *store,
                          struct hf_redis_errand *errand,
                          const struct naming *naming)
{
    char from[HF_REDIS_HOST_TEXT_BYTES], to[HF_REDIS_HOST_TEXT_BYTES];
    char text[HF_CONNECTION_TEXT_BYTES];

    hf_redis_host_format(&naming->node->host, from);
    hf_redis_host_format(&errand->sought.to, to);
    if (naming->nodes != NULL)
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
                       to, from, naming->why);
    fail(store, errand, HF_EDENIED, text);
}

static void send_sought(struct hf_store *store, struct hf_redis_errand *errand)
{
    struct hf_redis_node *to =
        hf_redis_node_at(store, &errand->sought.to, errand->node);

    if (to == NULL) {
        fail(store, errand, HF_EUNREACHABLE,
             "no memory for another node of the cluster, or too many of them");
        return;
    }
    to->named = true;
    follow(store, errand, &errand->sought, to);
}

static void decide_if(struct hf_store *store, struct hf_redis_errand *errand,
                      void *arg)
{
    const struct naming *naming = arg;

    if (errand->state != HF_REDIS_SEEKING || errand->node != naming->node)
        return;
    errand->state = HF_REDIS_HELD;
    if (naming->nodes != NULL &&
        hf_redis_nodes_name(naming->nodes, &errand->sought.to))
        send_sought(store, errand);
    else
        refuse_sought(store, errand, naming);
}

void hf_redis_errands_named(struct hf_store *store, struct hf_redis_node *node,
                            const char *nodes, const char *why)
{
    struct naming naming = {node, nodes, why};

    for_each(store, decide_if, &naming);
    for_each(store, route_if, NULL); /* who was held behind those */
}

struct downfall {
    const struct hf_redis_node *node;
    hf_status status;
    const char *why;
};

static void fail_if(struct hf_store *store, struct hf_redis_errand *errand,
                    void *arg)
{
    const struct downfall *downfall = arg;

    if (errand->node == downfall->node)
        fail(store, errand, downfall->status, downfall->why);
}

void hf_redis_errands_fail(struct hf_store *store, struct hf_redis_node *node,
                           hf_status status, const char *why)
{
    struct downfall downfall = {node, status, why};

    for_each(store, fail_if, &downfall);
    for_each(store, route_if, NULL); /* who was held behind those */
}

static void hold_if(struct hf_store *store, struct hf_redis_errand *errand,
                    void *arg)
{
    (void)store;
    (void)arg;
    if (errand->state == HF_REDIS_WAITING && !errand->asking) {
        errand->state = HF_REDIS_HELD;
        errand->node = NULL;
    }
}

void hf_redis_errands_reroute(struct hf_store *store)
{
    for_each(store, hold_if, NULL);
    for_each(store, route_if, NULL);
}

/* The telling may end everything. */
void hf_redis_errands_tell(struct hf_store *store)
{
    struct hf_redis_errand *errand;

    while ((errand = store->failed.first) != NULL) {
        const struct hf_store_answer answer = {
            .failure = errand->failure,
            .status = errand->status,
            .text = errand->text,
        };

        take_out(&store->failed, errand);
        tell(store, errand, &answer);
    }
}

/* ------------------------------------------------------------------ time -- */

static struct hf_redis_errand *find_oldest(struct hf_store *store)
{
    struct hf_redis_errand *oldest = NULL;

    for (size_t i = 0; i < HF_REDIS_ERRAND_BUCKETS; i++) {
        struct hf_redis_errand *first = store->buckets[i].first;

        if (first != NULL &&
            (oldest == NULL || first->begun_at_ms < oldest->begun_at_ms))
            oldest = first;
    }
    return oldest;
}

void hf_redis_errands_expire(struct hf_store *store)
{
    uint64_t patience_ms = hf_redis_patience_ms(store);
    uint64_t now_ms = hf_redis_store_now_ms(store);
    struct hf_redis_errand *oldest;

    /* Each round fails one at least, or all. */
    while ((oldest = find_oldest(store)) != NULL &&
           now_ms >= hf_after_ms(oldest->begun_at_ms, patience_ms)) {
        assert(oldest->node != NULL); /* nobody is before it */
        hf_redis_node_give_up(oldest->node, now_ms - oldest->begun_at_ms);
    }
    if (oldest != NULL)
        hf_redis_store_wake_by(store,
                               hf_after_ms(oldest->begun_at_ms, patience_ms));
}

static void clear(struct hf_redis_errands *list)
{
    struct hf_redis_errand *errand;

    while ((errand = list->first) != NULL) {
        take_out(list, errand);
        if (errand->gather != NULL)
            hf_redis_gather_drop(errand->gather);
        hf_free(errand);
    }
}

void hf_redis_errands_clear(struct hf_store *store)
{
    for (size_t i = 0; i < HF_REDIS_ERRAND_BUCKETS; i++)
        clear(&store->buckets[i]);
    clear(&store->failed);
}
