/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states of a cache: which changes of state are legal, what must be true in
 * each state, and when the cache is current.
 */
#include <assert.h>

#include "base/state_machine.h"
#include "zookeeper_cache/cache.h"

#define STATE(name) HF_CACHE_##name
#define TO(name) (1u << HF_CACHE_##name)

static const struct hf_state_machine_state states[] = {
    [STATE(UNWATCHED)] = {"UNWATCHED", TO(FILLING) | TO(STOPPED)},
    [STATE(FILLING)] = {"FILLING", TO(CURRENT) | TO(STOPPED)},
    [STATE(CURRENT)] = {"CURRENT", TO(CATCHING_UP) | TO(STOPPED)},
    [STATE(CATCHING_UP)] = {"CATCHING_UP", TO(CURRENT) | TO(STOPPED)},
    [STATE(STOPPED)] = {"STOPPED", 0},
};

static const struct hf_state_machine table = {"cache", states,
                                              sizeof states / sizeof states[0]};

bool hf_cache_follows(const struct hf_zookeeper_cache *cache)
{
    return cache->state == HF_CACHE_FILLING ||
           cache->state == HF_CACHE_CURRENT ||
           cache->state == HF_CACHE_CATCHING_UP;
}

void hf_cache_move(struct hf_zookeeper_cache *cache, enum hf_cache_state state)
{
    hf_state_machine_move(&table, &cache->state, state);
}

void hf_cache_check(const struct hf_zookeeper_cache *cache)
{
    assert(cache->references > 0);
    switch (cache->state) {
    case HF_CACHE_UNWATCHED:
        assert(cache->tree.reading == 0 && !cache->initialised);
        assert(cache->sync == NULL && !cache->sync_due);
        break;
    case HF_CACHE_FILLING:
        assert(!cache->initialised);
        break;
    case HF_CACHE_CURRENT:
        assert(cache->connection != HF_CACHE_NOT_CONNECTED);
        assert(cache->initialised);
        break;
    case HF_CACHE_CATCHING_UP:
        assert(cache->initialised);
        break;
    default:
        assert(cache->waits == NULL);
    }
    if (hf_cache_follows(cache))
        assert(cache->tree.recursive == (cache->watch != NULL));
}

bool hf_cache_is_current(const struct hf_zookeeper_cache *cache)
{
    const struct hf_zookeeper_watch *watch = cache->watch;

    /* In a new session the watch may not be set again yet. */
    if (cache->state == HF_CACHE_UNWATCHED ||
        (watch != NULL && !hf_zk_watcher_is_armed(&watch->watcher)))
        return false;
    return cache->connection == HF_CACHE_CONNECTED && !cache->sync_due &&
           cache->sync == NULL && hf_cache_tree_idle(&cache->tree);
}

void hf_cache_be_current(struct hf_zookeeper_cache *cache)
{
    static const struct hf_error current = {.status = HF_OK};

    if (cache->state != HF_CACHE_CURRENT) {
        hf_cache_move(cache, HF_CACHE_CURRENT);
        cache->initialised = true;
        if (cache->on_change.fn != NULL)
            hf_cache_tree_mark(&cache->tree);
    }
    hf_zookeeper_waits_end(&cache->waits, &current);
}
