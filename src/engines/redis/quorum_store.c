/* SPDX-License-Identifier: Apache-2.0 */
/* The store of a quorum of Redis servers: connects engines/quorum, which has
 * the protocol, with the leased client above it and the links to the servers
 * below it. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "engines/redis/redis_link.h"
#include "engines/redis/redis_quorum.h"

/* The argument of a link's callbacks: the store, and the index of the
 * server. */
struct server_ref {
    struct hf_store *store;
    size_t index;
};

/* The store of a quorum. */
struct hf_store {
    struct hf_redis_link_shared shared;
    struct hf_quorum *quorum;
    size_t count;
    struct hf_redis_link *links[HF_QUORUM_SERVERS_MAX];
    struct server_ref server_refs[HF_QUORUM_SERVERS_MAX];
};

static uint64_t now_ms(const struct hf_store *store)
{
    return hf_leased_engine_now_ms(store->shared.engine);
}

static struct hf_leased *leased_of(const struct hf_store *store)
{
    return store->shared.engine->leased;
}

/* ------------------------------------------------------------------ time -- */

static uint64_t store_wake_at_ms(const struct hf_store *store)
{
    return hf_quorum_wake_at_ms(store->quorum);
}

static void store_tick(struct hf_store *store)
{
    hf_quorum_tick(store->quorum, now_ms(store));
}

/* --------------------------------------------------- called by the links -- */

static void on_link_up(void *arg, struct hf_redis_link *link,
                       uint64_t server_ms)
{
    const struct server_ref *server_ref = arg;

    hf_quorum_server_up(server_ref->store->quorum, server_ref->index, server_ms,
                        link->served_ms, now_ms(server_ref->store));
}

static void on_link_down(void *arg, struct hf_redis_link *link,
                         hf_status status, const char *why)
{
    const struct server_ref *server_ref = arg;

    (void)link;
    hf_quorum_server_down(server_ref->store->quorum, server_ref->index, status,
                          why, now_ms(server_ref->store));
}

static void on_link_answered(void *arg, struct hf_redis_link *link,
                             struct hf_store_call *call,
                             const struct hf_store_answer *answer)
{
    const struct server_ref *server_ref = arg;

    (void)link;
    hf_quorum_server_answered(server_ref->store->quorum, call, answer,
                              now_ms(server_ref->store));
}

static void on_link_notice(void *arg, struct hf_redis_link *link,
                           const struct hf_store_notice *notice)
{
    const struct server_ref *server_ref = arg;

    (void)link;
    hf_quorum_server_notice(server_ref->store->quorum, server_ref->index,
                            notice, now_ms(server_ref->store));
}

/* -------------------------------------------------- called by the quorum -- */

static void quorum_connect(void *servers, size_t server, const char *session)
{
    hf_redis_link_open(((struct hf_store *)servers)->links[server], session);
}

static void quorum_disconnect(void *servers, size_t server)
{
    hf_redis_link_close(((struct hf_store *)servers)->links[server]);
}

static void quorum_call(void *servers, size_t server,
                        struct hf_store_call *call)
{
    hf_redis_link_call(((struct hf_store *)servers)->links[server], call);
}

static const char *quorum_awaited(const void *servers, size_t server)
{
    return hf_redis_link_awaited(
        ((const struct hf_store *)servers)->links[server]);
}

static const struct hf_quorum_ops quorum_ops = {
    quorum_connect, quorum_disconnect, quorum_call, quorum_awaited};

static void on_up(void *arg, uint64_t server_ms, uint64_t at_ms)
{
    hf_leased_up(leased_of(arg), server_ms, at_ms);
}

static void on_down(void *arg, hf_status status, const char *why,
                    uint64_t at_ms)
{
    hf_leased_down(leased_of(arg), status, why, at_ms);
}

static void on_answered(void *arg, struct hf_store_call *call,
                        const struct hf_store_answer *answer, uint64_t at_ms)
{
    struct hf_store *store = arg;
    struct hf_finding_list findings = {0};
    struct hf_store_answer reported = *answer;

    if (answer->findings != NULL) {
        hf_finding_list_append(&findings, answer->findings);
        hf_redis_quorum_examine(store->quorum, store->links, store->count,
                                &findings);
        reported.findings = &findings;
    }
    hf_leased_answered(leased_of(arg), call, &reported, at_ms);
    hf_finding_list_free(&findings);
}

static void on_notice(void *arg, const struct hf_store_notice *notice,
                      uint64_t at_ms)
{
    hf_leased_notice(leased_of(arg), notice, at_ms);
}

/* ------------------------------------------------ functions of the store -- */

static void store_connect(struct hf_store *store, const char *session)
{
    hf_quorum_connect(store->quorum, session, now_ms(store));
}

static void store_disconnect(struct hf_store *store)
{
    hf_quorum_disconnect(store->quorum);
}

static void store_call(struct hf_store *store, struct hf_store_call *call)
{
    hf_quorum_call(store->quorum, call, now_ms(store));
}

static void store_flush(struct hf_store *store)
{
    for (size_t i = 0; i < store->count; i++)
        hf_redis_link_flush(store->links[i]);
}

static void store_after_fork(struct hf_store *store)
{
    for (size_t i = 0; i < store->count; i++)
        hf_redis_link_after_fork(store->links[i]);
}

static void store_free(struct hf_store *store)
{
    for (size_t i = 0; i < store->count; i++)
        hf_redis_link_free(store->links[i]);
    store->count = 0;
    hf_redis_link_shared_free(&store->shared);
    if (store->quorum != NULL)
        hf_quorum_free(store->quorum);
    hf_free(store);
}

const struct hf_store_ops hf_redis_quorum_store_ops = {
    .connect = store_connect,
    .disconnect = store_disconnect,
    .call = store_call,
    .flush = store_flush,
    .wake_at_ms = store_wake_at_ms,
    .tick = store_tick,
    .after_fork = store_after_fork,
    .free = store_free,
};

/* ------------------------------------------------------------- beginning -- */

/* Make a link to each server.  Returns false if memory runs out. */
static bool make_links(struct hf_store *store,
                       const struct hf_redis_quorum_config *config)
{
    struct hf_redis_link_listener listener = {
        .up = on_link_up,
        .down = on_link_down,
        .answered = on_link_answered,
        .notice = on_link_notice,
    };

    for (size_t i = 0; i < config->count; i++) {
        store->server_refs[i] = (struct server_ref){store, i};
        listener.arg = &store->server_refs[i];
        store->links[i] =
            hf_redis_link_new(&store->shared, &config->servers[i], &listener);
        if (store->links[i] == NULL)
            return false;
        store->count++;
    }
    return true;
}

/* Make the quorum, which uses the links.  Returns false if memory runs out. */
static bool make_quorum(struct hf_store *store,
                        const struct hf_redis_quorum_config *config,
                        const struct hf_random *random)
{
    const struct hf_quorum_listener listener = {on_up, on_down, on_answered,
                                                on_notice, store};
    const struct hf_quorum_config quorum = {.servers = config->count,
                                            .ttl_ms = config->ttl_ms,
                                            .clock_drift = config->clock_drift,
                                            .rejoin_ms = config->rejoin_ms,
                                            .random = *random};

    store->quorum = hf_quorum_new(&quorum, &quorum_ops, store, &listener);
    return store->quorum != NULL;
}

struct hf_store *hf_redis_quorum_store_new(
    struct hf_engine *engine, const struct hf_redis_quorum_config *config,
    const struct hf_random *random, struct hf_error *error)
{
    struct hf_store *store = hf_alloc(sizeof *store);

    if (store == NULL) {
        (void)hf_error_set(error, HF_ENOMEM, "no memory for an engine");
        return NULL;
    }
    if (hf_redis_link_shared_init(&store->shared, engine, &config->servers[0],
                                  error) != HF_OK) {
        hf_free(store);
        return NULL;
    }
    /* a warning is not needed: rejoin= copes with such servers */
    store->shared.warned_not_durable = true;
    if (make_links(store, config) && make_quorum(store, config, random))
        return store;
    (void)hf_error_set(error, HF_ENOMEM, "no memory for an engine");
    store_free(store);
    return NULL;
}
