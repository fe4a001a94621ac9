/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which node has which hash slot, as CLUSTER SLOTS says.  Its rows are
 *
 *     first slot, last slot, {host, port, ...} of the primary, replicas ...
 */
#include <string.h>

#include "base/memory.h"
#include "base/time_math.h"
#include "engines/redis/redis_private.h"

void hf_redis_slot_map_refresh(struct hf_store *store)
{
    struct hf_redis_node *node = hf_redis_node_up(store);

    if (node == NULL || store->slot_map_source != NULL)
        return;
    store->slot_map_source = node;
    store->slot_map_deadline_ms = hf_after_ms(hf_redis_store_now_ms(store),
                                              hf_redis_node_timeout_ms(store));
    hf_redis_store_wake_by(store, store->slot_map_deadline_ms);
    hf_redis_link_ask_slots(node->link);
}

void hf_redis_slot_map_expire(struct hf_store *store)
{
    struct hf_redis_node *source = store->slot_map_source;

    if (source == NULL)
        return;
    if (hf_redis_store_now_ms(store) >= store->slot_map_deadline_ms)
        hf_redis_node_time_out(source, hf_redis_node_timeout_ms(store));
    else
        hf_redis_store_wake_by(store, store->slot_map_deadline_ms);
}

static bool is_number(const struct redisReply *reply, long long min,
                      long long max)
{
    return reply->type == REDIS_REPLY_INTEGER && reply->integer >= min &&
           reply->integer <= max;
}

/* Parse {host, port, ...}.  A host of nil, "" or "?" is the host of the node
 * that says so. */
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

/* Add one row.  False if it is malformed, or memory runs out. */
static bool read_row(struct hf_redis_slot_owners *owners,
                     struct hf_redis_node *reporter,
                     const struct redisReply *row)
{
    struct hf_redis_host host;
    struct hf_redis_node *node;

    if (row->type != REDIS_REPLY_ARRAY || row->elements < 3 ||
        !is_number(row->element[0], 0, HF_REDIS_HASH_SLOTS - 1) ||
        !is_number(row->element[1], row->element[0]->integer,
                   HF_REDIS_HASH_SLOTS - 1) ||
        !read_host(&host, row->element[2]))
        return false;
    node = hf_redis_node_get(reporter->store, &host, reporter);
    if (node == NULL)
        return false;
    for (long long slot = row->element[0]->integer;
         slot <= row->element[1]->integer; slot++) {
        if (owners->of[slot] != NULL)
            return false; /* a slot has one owner */
        owners->of[slot] = node;
    }
    return true;
}

static bool read_rows(struct hf_redis_slot_owners *owners,
                      struct hf_redis_node *reporter,
                      const struct redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ARRAY)
        return false;
    for (size_t i = 0; i < reply->elements; i++) {
        if (!read_row(owners, reporter, reply->element[i]))
            return false;
    }
    return true;
}

bool hf_redis_slot_map_read(struct hf_store *store, struct hf_redis_node *node,
                            const struct redisReply *reply)
{
    struct hf_redis_slot_owners *owners;
    bool valid;

    if (store->slot_map == NULL)
        store->slot_map = hf_alloc(sizeof *store->slot_map);
    owners = hf_alloc(sizeof *owners);
    valid = store->slot_map != NULL && owners != NULL &&
            read_rows(owners, node, reply);
    if (valid) {
        store->slot_map->owners = *owners;
        hf_redis_nodes_trust_by_map(store);
    }
    hf_free(owners);
    return valid;
}
