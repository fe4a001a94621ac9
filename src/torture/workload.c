/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all kinds of workload share: recording events, choosing times, and
 * changes of state.
 */
#include "torture/workload.h"

#include <assert.h>
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "command/clock.h"
#include "command/exit_status.h"
#include "command/ui.h"

/* The longest usual hold, and the longest wait that has a limit. */
#define HOLD_MAX_MS 30
#define WAIT_LIMIT_MAX_MS 500

/* The longest rest of a workload that rests (.rest_one_in). */
#define REST_MAX_MS 16000

/* One hold in this many is 2 to 2^8 times as long as usual.  So some holds
 * outlast their lease, and their holders have to be notified. */
#define LONG_HOLD_ONE_IN 16
#define LONG_HOLD_LOGS 8

void hf_workload_free(struct hf_workload *workload)
{
    hf_free(workload);
}

/* ---------------------------------------------------------------- events -- */

uint64_t hf_workload_now_us(void)
{
    struct timespec now;
    int failed = clock_gettime(CLOCK_BOOTTIME, &now);

    assert(!failed);
    (void)failed;
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Write ${event} for ${lock} to the pipe, in one write(2). */
static void write_event(const struct hf_workload *workload,
                        const struct hf_workload_lock *lock,
                        struct hf_history_event *event)
{
    char line[HF_HISTORY_EVENT_BYTES];
    size_t bytes;

    event->at_us = hf_workload_now_us();
    event->client = workload->worker->name;
    event->lock = lock->name;
    event->token = lock->token;
    bytes = hf_history_event_format(event, line);
    while (write(workload->worker->history, line, bytes) < 0)
        if (errno != EINTR)
            _exit(HF_EXIT_DIRECTORY); /* the parent has ended */
}

/* Record ${event} for each lock that is wanted. */
static void record_wanted(const struct hf_workload *workload,
                          struct hf_history_event *event)
{
    for (unsigned i = 0; i < workload->lock_count; i++)
        if (workload->locks[i].wanted)
            write_event(workload, &workload->locks[i], event);
}

void hf_workload_record(const struct hf_workload *workload,
                        enum hf_history_event_type type)
{
    struct hf_history_event event = {.type = type};

    record_wanted(workload, &event);
}

void hf_workload_record_want(const struct hf_workload *workload,
                             enum hf_kind kind, uint32_t permits,
                             uint32_t limit)
{
    struct hf_history_event event = {.type = HF_HISTORY_WANT,
                                     .kind = kind,
                                     .permits = permits,
                                     .limit = limit};

    record_wanted(workload, &event);
}

uint64_t hf_workload_safe_until_us(uint64_t safe_until_ms)
{
    return safe_until_ms == HF_FOREVER ? HF_FOREVER : safe_until_ms * 1000;
}

void hf_workload_record_safe_until(struct hf_workload *workload,
                                   enum hf_history_event_type type,
                                   uint64_t safe_until_us)
{
    struct hf_history_event event = {.type = type,
                                     .safe_until_us = safe_until_us};

    if (safe_until_us == 0)
        event.safe_until_us = hf_workload_now_us();
    workload->safe_until_us = event.safe_until_us;
    record_wanted(workload, &event);
}

void hf_workload_record_seen(const struct hf_workload *workload, uint64_t at_us)
{
    struct hf_history_event event = {.type = HF_HISTORY_SEEN, .seen_us = at_us};

    record_wanted(workload, &event);
}

void hf_workload_record_renewal(struct hf_workload *workload,
                                uint64_t safe_until_us)
{
    if (safe_until_us != 0 && safe_until_us != workload->safe_until_us)
        hf_workload_record_safe_until(workload, HF_HISTORY_HELD, safe_until_us);
}

/* ---------------------------------------------------------------- states -- */

bool hf_workload_one_in(struct hf_workload *workload, uint64_t count)
{
    return hf_random_below(&workload->random, count) == 0;
}

uint64_t hf_workload_wait_limit_ms(struct hf_workload *workload)
{
    return 1 + hf_random_below(&workload->random, WAIT_LIMIT_MAX_MS);
}

void hf_workload_begin_wait(struct hf_workload *workload)
{
    for (unsigned i = 0; i < workload->lock_count; i++)
        workload->locks[i].token = 0;
    workload->state = HF_WORKLOAD_WAITING;
    workload->until_ms = HF_FOREVER;
}

void hf_workload_choose_end(struct hf_workload *workload)
{
    uint64_t hold_ms = hf_random_below(&workload->random, HOLD_MAX_MS);

    if (hf_workload_one_in(workload, LONG_HOLD_ONE_IN))
        hold_ms = (uint64_t)HOLD_MAX_MS
                  << (1 + hf_random_below(&workload->random, LONG_HOLD_LOGS));
    workload->until_ms = hf_clock_now_ms() + hold_ms;
}

void hf_workload_begin_hold(struct hf_workload *workload)
{
    workload->state = HF_WORKLOAD_HOLDING;
    hf_workload_choose_end(workload);
    for (unsigned i = 0; i < workload->lock_count; i++)
        if (workload->locks[i].wanted)
            atomic_store(&workload->locks[i].resource->holder,
                         workload->worker->number);
}

void hf_workload_end_hold(struct hf_workload *workload)
{
    for (unsigned i = 0; i < workload->lock_count; i++) {
        unsigned number = workload->worker->number;

        atomic_compare_exchange_strong(&workload->locks[i].resource->holder,
                                       &number, 0);
    }
    workload->state = HF_WORKLOAD_RELEASING;
}

void hf_workload_idle(struct hf_workload *workload)
{
    workload->state = HF_WORKLOAD_IDLE;
    hf_workload_choose_end(workload);
    if (workload->rest_one_in > 0 &&
        hf_workload_one_in(workload, workload->rest_one_in))
        workload->until_ms =
            hf_clock_now_ms() + hf_random_below(&workload->random, REST_MAX_MS);
}

void hf_workload_give_up(struct hf_workload *workload, hf_status status,
                         const char *text)
{
    hf_workload_record(workload, HF_HISTORY_GAVEUP);
    workload->state = HF_WORKLOAD_IDLE;
    workload->until_ms = hf_clock_now_ms() + HF_WORKLOAD_POLL_MS;
    if (workload->ending || hf_status_retry(status) == HF_RETRY_LATER)
        return;
    hf_ui_print("%s", text);
    workload->exit_code = hf_exit_status(status);
}

/* Write to one resource.  The write is accepted unless the resource has seen a
 * greater token. */
static void write_resource(const struct hf_workload *workload,
                           const struct hf_workload_lock *lock)
{
    struct hf_history_event event = {.type = HF_HISTORY_WRITE};
    uint64_t seen = atomic_load(&lock->resource->token);

    do
        event.accepted = lock->token >= seen;
    while (event.accepted && !atomic_compare_exchange_weak(
                                 &lock->resource->token, &seen, lock->token));
    write_event(workload, lock, &event);
}

void hf_workload_write_fenced(struct hf_workload *workload)
{
    for (unsigned i = 0; i < workload->lock_count; i++)
        if (workload->locks[i].wanted)
            write_resource(workload, &workload->locks[i]);
}
