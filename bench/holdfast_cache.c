/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-holdfast-cache PORT PATH: a cache of PATH and of all that is below it,
 * through <holdfast/zookeeper_cache.h>.  Requests are
 *
 *   fill            open it, and wait until it is initialised
 *   resync COUNT    wait until it is current again after an outage in which
 *                   COUNT nodes were changed; the sample is the time until the
 *                   last of them was reported
 *   memory          the sample is the memory that is allocated, in bytes
 *   free            free it
 *
 * and the answer counts the nodes of the cache.
 */
#include <malloc.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include <holdfast/zookeeper_cache.h>

#include "protocol.h"

#define URL_BYTES 64

static struct hf_zookeeper *zookeeper;
static struct hf_zookeeper_cache *cache;
static sem_t current;
/* Of the callback, until it has posted ${current}: the nodes of the cache, the
 * changes since the last resync, and when the last one was reported. */
static unsigned nodes;
static unsigned seen;
static uint64_t seen_at_ns;

static void on_change(void *arg, const struct hf_zookeeper_cache_event *event)
{
    (void)arg;
    switch (event->kind) {
    case HF_ZOOKEEPER_CACHE_ADDED:
        nodes++;
        break;
    case HF_ZOOKEEPER_CACHE_REMOVED:
        nodes--;
        break;
    case HF_ZOOKEEPER_CACHE_CHANGED:
        seen++;
        seen_at_ns = bench_now_ns();
        break;
    case HF_ZOOKEEPER_CACHE_INITIALISED:
    case HF_ZOOKEEPER_CACHE_RESYNCED:
        (void)sem_post(&current);
        break;
    }
}

static void open_handle(const char *port)
{
    struct hf_zookeeper_result *result;
    char url[URL_BYTES];

    (void)snprintf(url, sizeof url, "zk://127.0.0.1:%s?timeout=30s", port);
    if (hf_zookeeper_open(url, NULL, &zookeeper) != HF_OK)
        bench_fail("no handle could be opened");
    /* It is connected after this. */
    if (hf_zookeeper_get(zookeeper, "/", HF_FOREVER, &result) != HF_OK)
        bench_fail("an operation failed");
    hf_zookeeper_result_free(result);
}

static void fill(const char *path)
{
    const struct hf_zookeeper_on_change events = {on_change, NULL, NULL};

    nodes = 0;
    bench_begin();
    if (hf_zookeeper_cache_open(zookeeper, path, NULL, events, &cache) != HF_OK)
        bench_fail("no cache could be opened");
    (void)sem_wait(&current);
    bench_end(nodes);
}

/* RESYNCED comes after the changes. */
static void resync(unsigned changed)
{
    uint64_t began_ns = bench_now_ns();

    bench_begin();
    (void)sem_wait(&current);
    if (seen != changed)
        bench_fail("the cache is current without all that was changed");
    if (changed > 0)
        bench_sample(seen_at_ns - began_ns);
    seen = 0;
    bench_end(nodes);
}

static void memory(void)
{
    struct mallinfo2 info = mallinfo2();

    bench_begin();
    bench_sample(info.uordblks + info.hblkhd);
    bench_end(nodes);
}

static void free_cache(void)
{
    bench_begin();
    hf_zookeeper_cache_free(cache);
    cache = NULL;
    nodes = 0;
    bench_end(0);
}

int main(int count, char **arguments)
{
    struct bench_request request;

    if (count != 3)
        return 64;
    (void)sem_init(&current, 0, 0);
    open_handle(arguments[1]);
    while (bench_next_request(&request)) {
        if (strcmp(request.word, "fill") == 0)
            fill(arguments[2]);
        else if (strcmp(request.word, "resync") == 0)
            resync(request.first);
        else if (strcmp(request.word, "memory") == 0)
            memory();
        else if (strcmp(request.word, "free") == 0)
            free_cache();
        else
            bench_fail("a request that is not known");
    }
    hf_zookeeper_cache_free(cache);
    return hf_zookeeper_close(zookeeper) == HF_OK ? 0 : 1;
}
