/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting until a cache has read everything that has changed.
 */
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/time_math.h"
#include "operation/done.h"
#include "zookeeper_cache/cache.h"

/* A call that waits, on the stack of its caller, or a started one.  All fields
 * under the monitor's lock. */
struct hf_cache_wait {
    struct hf_zookeeper *zookeeper;
    struct hf_cache_wait *next;
    struct hf_cache_wait **link;
    struct hf_zookeeper_timer timer;
    struct hf_error outcome;  /* once it has ended */
    struct hf_waiter *waiter; /* the call that waits, or NULL: */
    struct hf_done done;
    struct hf_callback callback; /* of .done */
};

bool hf_cache_is_current(const struct hf_zookeeper_cache *cache)
{
    const struct hf_zookeeper_watch *watch = cache->watch;

    /* In a new session the watch may not be set again yet. */
    if (cache->state == HF_CACHE_UNWATCHED ||
        (watch != NULL && !watch->watcher.armed))
        return false;
    return cache->connection == HF_CACHE_CONNECTED && !cache->sync_due &&
           cache->sync == NULL && hf_cache_tree_idle(&cache->tree);
}

/* The .run of the callback: report the end. */
static void run_done(void *arg)
{
    struct hf_cache_wait *wait = arg;
    struct hf_zookeeper *zookeeper = wait->zookeeper;
    struct hf_monitor *monitor = zookeeper->monitor;
    const struct hf_result result = {.status = wait->outcome.status,
                                     .text = wait->outcome.text};

    hf_done_call(monitor, &wait->done, &result);
    if (hf_fork_is_child(&monitor->fork))
        return;
    hf_free(wait);
    hf_zookeeper_dereference(zookeeper);
}

/* ${wait} is in no list any more. */
static void unlink_wait(struct hf_cache_wait *wait)
{
    *wait->link = wait->next;
    if (wait->next != NULL)
        wait->next->link = wait->link;
    hf_zookeeper_timer_set(wait->zookeeper, &wait->timer, HF_FOREVER);
}

/* End ${wait}: answer its caller, or queue its callback. */
static void end(struct hf_cache_wait *wait, hf_status status, const char *text)
{
    unlink_wait(wait);
    wait->outcome.status = status;
    (void)snprintf(wait->outcome.text, sizeof wait->outcome.text, "%s", text);
    if (wait->waiter != NULL)
        hf_waiter_answer(wait->zookeeper->monitor, wait->waiter, status);
    else
        hf_monitor_queue(wait->zookeeper->monitor, &wait->callback);
}

/* The .fn of the timer. */
static void time_is_over(void *arg)
{
    struct hf_cache_wait *wait = arg;
    const char *outage = hf_zookeeper_connection_error(wait->zookeeper);
    char text[HF_ERROR_TEXT_BYTES];

    (void)snprintf(text, sizeof text,
                   "the time was over before everything that has changed was "
                   "read; wait longer%s%.300s",
                   outage[0] != '\0' ? "; there is no connection: " : "",
                   outage);
    end(wait, HF_ETIMEDOUT, text);
}

void hf_cache_waits_end(struct hf_zookeeper_cache *cache, hf_status status,
                        const char *text)
{
    while (cache->waits != NULL)
        end(cache->waits, status, text);
}

/* Have ${wait}, zeroed but for how it ends, wait. */
static void add(struct hf_zookeeper_cache *cache, struct hf_cache_wait *wait,
                uint64_t wait_ms)
{
    wait->zookeeper = cache->zookeeper;
    wait->callback = (struct hf_callback){.run = run_done, .arg = wait};
    wait->timer.fn = time_is_over;
    wait->timer.arg = wait;
    wait->link = &cache->waits;
    wait->next = cache->waits;
    if (wait->next != NULL)
        wait->next->link = &wait->next;
    cache->waits = wait;
    if (cache->state == HF_CACHE_STOPPED)
        end(wait, HF_ECLOSED, "the handle was closed");
    else if (hf_cache_is_current(cache))
        end(wait, HF_OK, "");
    else if (wait_ms == 0)
        time_is_over(wait);
    else
        hf_zookeeper_timer_set(cache->zookeeper, &wait->timer,
                               hf_deadline_ms(hf_now_ms(), wait_ms));
}

/* Wait for the end of ${wait}, whose waiter is ${waiter}. */
static hf_status await(struct hf_cache_wait *wait, struct hf_waiter *waiter,
                       struct hf_error *error)
{
    hf_status status = hf_monitor_wait(wait->zookeeper->monitor, waiter, error);

    if (!waiter->done)
        unlink_wait(wait);
    else if (status != HF_OK)
        *error = wait->outcome;
    return status;
}

/* A free ends the waits, and keeps the handle only as long as a reference of
 * its own lasts; so this holds one, too. */
hf_status hf_zookeeper_cache_wait(struct hf_zookeeper_cache *cache,
                                  uint64_t wait_ms)
{
    struct hf_zookeeper *zookeeper = cache->zookeeper;
    struct hf_monitor *monitor = zookeeper->monitor;
    struct hf_waiter waiter = {.done = false};
    struct hf_cache_wait wait = {.waiter = &waiter};
    struct hf_error error;
    hf_status status;

    if (hf_monitor_may_block(monitor, &error) != HF_OK)
        return hf_zookeeper_fail_unlocked(zookeeper, "hf_zookeeper_cache_wait",
                                          &error);
    if ((status = hf_monitor_enter(monitor)) != HF_OK)
        return status;
    hf_zookeeper_reference(zookeeper);
    add(cache, &wait, wait_ms);
    if ((status = await(&wait, &waiter, &error)) != HF_OK)
        (void)hf_zookeeper_fail(zookeeper, "hf_zookeeper_cache_wait", &error);
    hf_monitor_leave(monitor);
    hf_zookeeper_release(zookeeper);
    return status;
}

hf_status hf_zookeeper_cache_wait_start(struct hf_zookeeper_cache *cache,
                                        uint64_t wait_ms, struct hf_done done)
{
    struct hf_monitor *monitor = cache->zookeeper->monitor;
    hf_status status = hf_monitor_enter(monitor);
    struct hf_cache_wait *wait;
    struct hf_error error;

    if (status == HF_OK) {
        wait = hf_alloc(sizeof *wait);
        if (wait != NULL && !hf_zookeeper_is_closing(cache->zookeeper)) {
            wait->done = done;
            hf_zookeeper_reference(cache->zookeeper);
            add(cache, wait, wait_ms);
        } else {
            status = wait == NULL ? HF_ENOMEM : HF_ECLOSED;
            hf_free(wait);
            (void)hf_error_set(&error, status, "%s", hf_status_text(status));
            (void)hf_zookeeper_fail(cache->zookeeper,
                                    "hf_zookeeper_cache_wait_start", &error);
        }
        hf_monitor_leave(monitor);
    }
    if (status != HF_OK && done.drop != NULL)
        done.drop(done.arg);
    return status;
}
