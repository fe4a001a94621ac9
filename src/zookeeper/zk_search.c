/* SPDX-License-Identifier: Apache-2.0 */
/* A round begins behind the current server and ends where it would come to it
 * again. */
#include "zookeeper/zk_search.h"

#include <string.h>

#include "base/time_math.h"

static void pause_search(struct hf_zk_search *search, uint64_t now_ms)
{
    search->state = HF_ZK_SEARCH_PAUSING;
    search->at_ms = hf_after_ms(now_ms, search->pause_ms);
    search->pause_ms =
        hf_min_ms(2 * search->pause_ms, HF_ZK_SEARCH_PAUSE_MAX_MS);
}

/* Ask the server behind ${before}, unless the round is over. */
static void ask_behind(struct hf_zk_search *search, size_t before,
                       uint64_t now_ms)
{
    size_t server = (before + 1) % search->server_count;

    if (server == search->current) {
        pause_search(search, now_ms);
        return;
    }
    search->state = HF_ZK_SEARCH_ASKING;
    search->server = server;
    search->number++;
    search->at_ms = hf_after_ms(now_ms, HF_ZK_SEARCH_ATTEMPT_MS);
    search->answer_bytes = 0;
}

void hf_zk_search_begin(struct hf_zk_search *search, size_t server_count,
                        size_t current, uint64_t now_ms)
{
    search->state = HF_ZK_SEARCH_ENDED;
    search->server_count = server_count;
    search->current = current;
    search->pause_ms = HF_ZK_SEARCH_PAUSE_MS;
    if (server_count > 1)
        pause_search(search, now_ms);
}

void hf_zk_search_end(struct hf_zk_search *search)
{
    search->state = HF_ZK_SEARCH_ENDED;
}

bool hf_zk_search_received(struct hf_zk_search *search, const void *bytes,
                           size_t count, uint64_t now_ms)
{
    size_t left = HF_ZK_SEARCH_ANSWER_BYTES - search->answer_bytes;
    size_t taken = count < left ? count : left;

    memcpy(search->answer + search->answer_bytes, bytes, taken);
    search->answer_bytes += taken;
    if (search->answer_bytes < HF_ZK_SEARCH_ANSWER_BYTES)
        return false;
    if (memcmp(search->answer, "rw", HF_ZK_SEARCH_ANSWER_BYTES) == 0) {
        search->state = HF_ZK_SEARCH_FOUND;
        return true;
    }
    hf_zk_search_failed(search, now_ms);
    return false;
}

void hf_zk_search_failed(struct hf_zk_search *search, uint64_t now_ms)
{
    ask_behind(search, search->server, now_ms);
}

void hf_zk_search_tick(struct hf_zk_search *search, uint64_t now_ms)
{
    if (now_ms < hf_zk_search_wake_at_ms(search))
        return;
    if (search->state == HF_ZK_SEARCH_PAUSING)
        ask_behind(search, search->current, now_ms);
    else
        hf_zk_search_failed(search, now_ms);
}

uint64_t hf_zk_search_wake_at_ms(const struct hf_zk_search *search)
{
    switch (search->state) {
    case HF_ZK_SEARCH_PAUSING:
    case HF_ZK_SEARCH_ASKING:
        return search->at_ms;
    default:
        return HF_FOREVER;
    }
}
