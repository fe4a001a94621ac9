/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look for the server that was promoted in place of ours.
 *
 * A replica that is promoted while its primary lives leaves two servers that
 * take writes, and nothing that the old one says shows it.  A client that is
 * connected there would go on holding its locks, while others get them at the
 * new one.  So from time to time a second link is made to the address of the
 * URL, which leads to the new primary once the name, the proxy or the address
 * has been moved there.  The second link asks for INFO as every link does.  A
 * server that was promoted names the replication id that it had until then
 * (master_replid2), which is that of ours.  Then our link ends, and the next
 * one goes to the new primary: there our tickets are found, or are lost.
 *
 * A server that cannot be reached by the address of the URL, or whose INFO we
 * may not read, is not seen.  docs/safety.md says what that means.
 */
#include <stdio.h>
#include <string.h>

#include "core/time_math.h"
#include "engines/redis/redis_private.h"

/* A look takes a server two connections and the commands of a handshake. */
#define INTERVAL_MIN_MS UINT64_C(5000)

static void plan(struct hf_store *store)
{
    uint64_t interval_ms = hf_max_ms(store->config.ttl_ms, INTERVAL_MIN_MS);

    store->look_at_ms = hf_after_ms(hf_redis_store_now_ms(store), interval_ms);
    hf_redis_store_wake_by(store, store->look_at_ms);
}

/* Was the server of ${found} promoted in place of that of ${ours}? */
static bool is_successor(const struct hf_redis_link *ours,
                         const struct hf_redis_link *found)
{
    return ours->replication_id[0] != '\0' &&
           strcmp(found->earlier_replication_id, ours->replication_id) == 0 &&
           strcmp(found->run_id, ours->run_id) != 0;
}

/* The look has reached a server that can be used. */
static void on_up(void *arg, struct hf_redis_link *link, uint64_t server_ms)
{
    struct hf_store *store = arg;
    struct hf_redis_link *ours = store->default_node->link;
    bool replaced = is_successor(ours, link);

    (void)server_ms;
    hf_redis_link_close(link);
    if (replaced)
        hf_redis_link_down(ours, HF_EUNREACHABLE, "",
                           "another server was promoted in its place, and is "
                           "found at this address now; locks that only the old "
                           "one has are lost");
}

/* A failure of the look says nothing of our server. */
static void on_down(void *arg, struct hf_redis_link *link, hf_status status,
                    const char *why)
{
    (void)arg;
    (void)link;
    (void)status;
    (void)why;
}

/* Our own link receives the same. */
static void on_notice(void *arg, struct hf_redis_link *link,
                      const struct hf_store_notice *notice)
{
    (void)arg;
    (void)link;
    (void)notice;
}

void hf_redis_successor_watch(struct hf_store *store)
{
    const struct hf_redis_link_user user = {
        .up = on_up, .down = on_down, .notice = on_notice, .arg = store};

    if (store->config.path[0] != '\0')
        return; /* a socket file leads nowhere else */
    if (store->look == NULL)
        store->look = hf_redis_link_new(
            &store->shared, &store->default_node->link->config, &user);
    if (store->look != NULL) /* without memory there is no look */
        plan(store);
}

void hf_redis_successor_tick(struct hf_store *store)
{
    if (store->look_at_ms == HF_FOREVER)
        return;
    if (hf_redis_store_now_ms(store) < store->look_at_ms) {
        hf_redis_store_wake_by(store, store->look_at_ms);
        return;
    }
    hf_redis_link_close(store->look); /* the last one got no answer */
    hf_redis_link_open(store->look, store->session);
    plan(store);
}

void hf_redis_successor_stop(struct hf_store *store)
{
    store->look_at_ms = HF_FOREVER;
    if (store->look != NULL)
        hf_redis_link_close(store->look);
}

void hf_redis_successor_free(struct hf_store *store)
{
    if (store->look != NULL)
        hf_redis_link_free(store->look);
    store->look = NULL;
}
