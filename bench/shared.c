/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-shared URL: an uncontended lock and unlock on a ZooKeeper, alone; while
 * a handle on a session of its own fills nodes as fast as it can; and while one
 * on the session of the locks does (hf_client_zookeeper()).  The three take
 * turns.  It prints medians of the pairs, their ratios, and how much the fills
 * have done meanwhile.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <holdfast/holdfast.h>
#include <holdfast/zookeeper.h>

#include "figures.h"

#define ITERATIONS 5
#define PAIRS 500
#define WAIT_MS 30000

/* Sets that a fill has started and that have not ended. */
#define UNDER_WAY 1000
#define DATA_BYTES 100

enum way { ALONE, BESIDE, SHARED, WAYS };

static const char *const names[WAYS] = {
    "alone", "a fill on a session of its own", "a fill on the same session"};

static void must(hf_status status, const char *what)
{
    if (status == HF_OK)
        return;
    fprintf(stderr, "bench-shared: %s: %s\n", what, hf_status_text(status));
    exit(1);
}

/* ------------------------------------------------------------------ fill -- */

/* Sets of one node, each of which starts the next one. */
struct fill {
    struct hf_zookeeper *zookeeper;
    atomic_bool stopped;
    atomic_ulong under_way;
    atomic_ulong done;
};

static void set_ended(void *arg, const struct hf_zookeeper_result *result);

static void start_set(struct fill *fill)
{
    static const char data[DATA_BYTES];
    const struct hf_zookeeper_done done = {set_ended, fill, NULL};

    atomic_fetch_add(&fill->under_way, 1);
    must(hf_zookeeper_set_start(fill->zookeeper, "/filled", data, sizeof data,
                                HF_ZOOKEEPER_ANY_VERSION, HF_FOREVER, done),
         "set");
}

static void set_ended(void *arg, const struct hf_zookeeper_result *result)
{
    struct fill *fill = arg;

    must(result->status, "set");
    atomic_fetch_add(&fill->done, 1);
    if (!atomic_load(&fill->stopped))
        start_set(fill);
    atomic_fetch_sub(&fill->under_way, 1);
}

static void begin_fill(struct fill *fill)
{
    atomic_store(&fill->stopped, false);
    atomic_store(&fill->done, 0);
    for (int i = 0; i < UNDER_WAY; i++)
        start_set(fill);
}

static void end_fill(struct fill *fill)
{
    atomic_store(&fill->stopped, true);
    while (atomic_load(&fill->under_way) > 0)
        usleep(1000);
}

/* ----------------------------------------------------------------- pairs -- */

/* The median of the pairs, in microseconds. */
static double time_pairs(struct hf_lock *lock)
{
    const size_t middle = PAIRS / 2;
    static uint64_t ns[PAIRS];
    struct hf_grant *grant;

    for (int i = 0; i < PAIRS; i++) {
        uint64_t began_ns = bench_now_ns();

        must(hf_lock_acquire(lock, NULL, &grant), "acquire");
        must(hf_grant_release(grant), "release");
        ns[i] = bench_now_ns() - began_ns;
    }
    bench_sort_times(ns, PAIRS);
    return (double)ns[middle] / 1000;
}

/* Time the pairs while ${fill} (NULL: none) works, and set ${rate} to what it
 * does in a second. */
static double time_beside(struct hf_lock *lock, struct fill *fill, double *rate)
{
    uint64_t began_ns;
    double us;

    if (fill == NULL)
        return time_pairs(lock);
    begin_fill(fill);
    began_ns = bench_now_ns();
    us = time_pairs(lock);
    *rate = (double)atomic_load(&fill->done) * 1e9 /
            (double)(bench_now_ns() - began_ns);
    end_fill(fill);
    return us;
}

int main(int count, char **arguments)
{
    double us[WAYS][ITERATIONS], ratios[WAYS][ITERATIONS];
    double rates[WAYS][ITERATIONS] = {{0}};
    struct fill own = {.zookeeper = NULL}, shared = {.zookeeper = NULL};
    struct fill *const fills[WAYS] = {NULL, &own, &shared};
    struct hf_client *client;
    struct hf_lock *lock;

    if (count != 2)
        return 64;
    must(hf_client_open(arguments[1], NULL, &client), "open");
    must(hf_lock_open(client, "bench", NULL, &lock), "lock");
    must(hf_zookeeper_open(arguments[1], NULL, &own.zookeeper), "open");
    must(hf_client_zookeeper(client, &shared.zookeeper), "share");
    must(hf_zookeeper_create(own.zookeeper, "/filled", NULL, 0,
                             HF_ZOOKEEPER_PERSISTENT, WAIT_MS, NULL),
         "create");
    for (int i = 0; i < 4; i++)
        (void)time_pairs(lock); /* the server warms up */
    for (int i = 0; i < ITERATIONS; i++) {
        for (enum way way = ALONE; way < WAYS; way++) {
            us[way][i] = time_beside(lock, fills[way], &rates[way][i]);
            ratios[way][i] = us[way][i] / us[ALONE][i];
        }
    }
    for (enum way way = ALONE; way < WAYS; way++) {
        bench_sort_figures(us[way], ITERATIONS);
        bench_sort_figures(ratios[way], ITERATIONS);
        bench_sort_figures(rates[way], ITERATIONS);
        printf("%-32s %8.0f us a pair (%.0f to %.0f), %5.2f times alone, "
               "%.0f sets/s\n",
               names[way], us[way][ITERATIONS / 2], us[way][0],
               us[way][ITERATIONS - 1], ratios[way][ITERATIONS / 2],
               rates[way][ITERATIONS / 2]);
    }
    must(hf_zookeeper_close(shared.zookeeper), "close");
    must(hf_zookeeper_close(own.zookeeper), "close");
    hf_lock_free(lock);
    must(hf_client_close(client), "close");
    return 0;
}
