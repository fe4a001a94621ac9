/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/redis/store.h"

#include "core/error.h"
#include "core/memory.h"
#include "engines/redis/link.h"

struct hf_store {
    struct hf_redis_base base;
    struct hf_redis_link *link;
};

static struct hf_leased *leased_of(const struct hf_store *store)
{
    return store->base.engine->leased;
}

static uint64_t now_ms(const struct hf_store *store)
{
    return hf_leased_engine_now_ms(store->base.engine);
}

/* ------------------------------------------------------ told by the link -- */

static void on_up(void *arg, struct hf_redis_link *link, uint64_t server_ms)
{
    struct hf_store *store = arg;

    (void)link;
    hf_leased_up(leased_of(store), server_ms, now_ms(store));
}

static void on_down(void *arg, struct hf_redis_link *link, hf_status status,
                    const char *why)
{
    struct hf_store *store = arg;

    (void)link;
    hf_leased_down(leased_of(store), status, why, now_ms(store));
}

static void on_answered(void *arg, struct hf_redis_link *link,
                        struct hf_store_call *call,
                        const struct hf_store_answer *answer)
{
    struct hf_store *store = arg;

    (void)link;
    hf_leased_answered(leased_of(store), call, answer, now_ms(store));
}

static void on_notice(void *arg, struct hf_redis_link *link,
                      const struct hf_store_notice *notice)
{
    struct hf_store *store = arg;

    (void)link;
    hf_leased_notice(leased_of(store), notice, now_ms(store));
}

/* ------------------------------------------------------------ operations -- */

static void store_connect(struct hf_store *store, const char *session)
{
    hf_redis_link_open(store->link, session);
}

static void store_disconnect(struct hf_store *store)
{
    hf_redis_link_close(store->link);
}

static void store_call(struct hf_store *store, struct hf_store_call *call)
{
    hf_redis_link_call(store->link, call);
}

static void store_flush(struct hf_store *store)
{
    hf_redis_link_flush(store->link);
}

static void store_after_fork(struct hf_store *store)
{
    hf_redis_link_after_fork(store->link);
}

static void store_free(struct hf_store *store)
{
    if (store->link != NULL)
        hf_redis_link_free(store->link);
    hf_redis_base_end(&store->base);
    hf_free(store);
}

const struct hf_store_ops hf_redis_store_ops = {
    .connect = store_connect,
    .disconnect = store_disconnect,
    .call = store_call,
    .flush = store_flush,
    .after_fork = store_after_fork,
    .free = store_free,
};

struct hf_store *hf_redis_store_new(struct hf_engine *engine,
                                    const struct hf_redis_config *config,
                                    struct hf_error *error)
{
    struct hf_store *store = hf_alloc(sizeof *store);
    const struct hf_redis_link_user user = {
        .up = on_up,
        .down = on_down,
        .answered = on_answered,
        .notice = on_notice,
        .arg = store,
    };

    if (store == NULL) {
        (void)hf_error_set(error, HF_ENOMEM, "no memory for an engine");
        return NULL;
    }
    if (hf_redis_base_begin(&store->base, engine, config, error) != HF_OK)
        goto free_store;
    store->link = hf_redis_link_new(&store->base, config, &user);
    if (store->link == NULL) {
        (void)hf_error_set(error, HF_ENOMEM, "no memory for an engine");
        goto free_store;
    }
    return store;

free_store:
    store_free(store);
    return NULL;
}
