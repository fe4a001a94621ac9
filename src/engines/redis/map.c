/* SPDX-License-Identifier: Apache-2.0 */
/* Which node has which slot, as CLUSTER SLOTS says: rows of
 *
 *     first slot, last slot, {host, port, ...} of the primary, replicas ...
 */
#include <string.h>

#include "core/memory.h"
#include "core/time_math.h"
#include "engines/redis/private.h"

void hf_redis_map_refresh(struct hf_store *store)
{
    struct hf_redis_node *node = hf_redis_node_up(store);

    if (node == NULL || store->mapper != NULL)
        return;
    store->mapper = node;
    store->mapper_silent_at_ms =
        hf_after_ms(hf_redis_store_now_ms(store), hf_redis_patience_ms(store));
    hf_redis_store_wake_by(store, store->mapper_silent_at_ms);
    hf_redis_link_ask_slots(node->link);
}

void hf_redis_map_expire(struct hf_store *store)
{
    struct hf_redis_node *mapper = store->mapper;

    if (mapper == NULL)
        return;
    if (hf_redis_store_now_ms(store) >= store->mapper_silent_at_ms)
        hf_redis_node_give_up(mapper, hf_redis_patience_ms(store));
    else
        hf_redis_store_wake_by(store, store->mapper_silent_at_ms);
}

static bool is_number(const struct redisReply *reply, long long least,
                      long long most)
{
    return reply->type == REDIS_REPLY_INTEGER && reply->integer >= least &&
           reply->integer <= most;
}

/* {host, port, ...}; a host may be nil, "" or "?": that of who says so. */
static bool read_host(struct hf_redis_host *host, const struct redisReply *row)
{
    const struct redisReply *name;

    *host = (struct hf_redis_host){.port = 0};
    if (row->type != REDIS_REPLY_ARRAY || row->elements < 2 ||
        !is_number(row->element[1], 1, UINT16_MAX))
        return false;
    name = row->element[0];
    host->port = (uint16_t)row->element[1]->integer;
    if (name->type == REDIS_REPLY_NIL)
        return true;
    if (name->type != REDIS_REPLY_STRING ||
        strlen(name->str) >= sizeof host->name)
        return false;
    if (strcmp(name->str, "?") != 0)
        memcpy(host->name, name->str, strlen(name->str) + 1);
    return true;
}

static bool take_row(struct hf_redis_owners *owners,
                     struct hf_redis_node *teller, const struct redisReply *row)
{
    struct hf_redis_host host;
    struct hf_redis_node *node;

    if (row->type != REDIS_REPLY_ARRAY || row->elements < 3 ||
        !is_number(row->element[0], 0, HF_REDIS_SLOTS - 1) ||
        !is_number(row->element[1], row->element[0]->integer,
                   HF_REDIS_SLOTS - 1) ||
        !read_host(&host, row->element[2]))
        return false;
    node = hf_redis_node_at(teller->store, &host, teller);
    if (node == NULL)
        return false;
    for (long long slot = row->element[0]->integer;
         slot <= row->element[1]->integer; slot++) {
        if (owners->of[slot] != NULL)
            return false; /* each slot is one node's */
        owners->of[slot] = node;
    }
    return true;
}

static bool take_rows(struct hf_redis_owners *owners,
                      struct hf_redis_node *teller,
                      const struct redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ARRAY)
        return false;
    for (size_t i = 0; i < reply->elements; i++) {
        if (!take_row(owners, teller, reply->element[i]))
            return false;
    }
    return true;
}

bool hf_redis_map_take(struct hf_store *store, struct hf_redis_node *node,
                       const struct redisReply *reply)
{
    struct hf_redis_owners *owners;
    bool taken;

    if (store->map == NULL)
        store->map = hf_alloc(sizeof *store->map);
    owners = hf_alloc(sizeof *owners);
    taken =
        store->map != NULL && owners != NULL && take_rows(owners, node, reply);
    if (taken) {
        store->map->owners = *owners;
        hf_redis_nodes_name_by_map(store);
        hf_redis_errands_reroute(store);
        hf_redis_nodes_prune(store);
    }
    hf_free(owners);
    return taken;
}
