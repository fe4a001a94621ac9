/* SPDX-License-Identifier: Apache-2.0 */
#include "judge.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

/* --------------------------------------------------------- of the process --
 */

static long entries_of(const char *path)
{
    DIR *dir = opendir(path);
    long count = 0;

    if (dir == NULL)
        return -1;
    while (readdir(dir) != NULL)
        count++;
    (void)closedir(dir);
    return count;
}

/* Threads that nobody waits for end in their own time. */
static bool is_alone(void *arg)
{
    (void)arg;
    return entries_of("/proc/self/task") == 3; /* with "." and ".." */
}

void judge_count(struct cast *cast, struct rest *rest)
{
    rest->fds = entries_of("/proc/self/fd");
    rest->uv_memory = atomic_load(&cast->report->uv_memory);
}

static void judge_process(struct cast *cast, const struct rest *usual)
{
    long memory = atomic_load(&cast->report->own_memory);
    struct rest rest;

    judge_count(cast, &rest);
    if (memory != 0)
        story_complain(cast, "%ld pieces of memory are left", memory);
    if (rest.fds > usual->fds)
        story_complain(cast, "%ld descriptors are left, usually %ld", rest.fds,
                       usual->fds);
    if (rest.uv_memory > usual->uv_memory)
        story_complain(cast,
                       "%ld pieces of libuv's memory are left, usually "
                       "%ld",
                       rest.uv_memory, usual->uv_memory);
#if defined(__SANITIZE_ADDRESS__)
    if (__lsan_do_recoverable_leak_check() != 0)
        story_complain(cast, "memory has leaked: see the report above");
#endif
}

/* ----------------------------------------------------------- of the queues --
 */

/* Whoever is new. */
static void enter_as_heir(struct cast *cast, struct hf_client *client,
                          struct trace *trace)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_grant *grant;
    struct hf_lock *lock;
    hf_status status;

    status = hf_lock_open(client, trace->name, &trace->opts, &lock);
    CHECK(cast, status == HF_OK);
    opts.wait_ms = cast->has_leases ? STORY_PATIENCE_MS : 0;
    status = hf_lock_acquire(lock, &opts, &grant);
    if (status != HF_OK)
        story_complain(cast, "who comes to %s after it hears %s", trace->name,
                       hf_status_name(status));
    CHECK(cast, hf_grant_release(grant) == HF_OK);
    hf_lock_free(lock);
}

struct look {
    struct cast *cast;
    struct hf_lock *lock;
    size_t count;
};

static bool is_empty(void *arg)
{
    struct look *look = arg;
    struct hf_tickets *tickets;
    hf_status status = hf_lock_tickets(look->lock, HF_TICKETS_ALL,
                                       STORY_PATIENCE_MS, &tickets);

    if (status != HF_OK)
        story_complain(look->cast, "who looks after it hears %s",
                       hf_status_name(status));
    look->count = hf_tickets_count(tickets);
    hf_tickets_free(tickets);
    return look->count == 0;
}

static void look_as_heir(struct cast *cast, struct hf_client *client,
                         struct trace *trace)
{
    struct look look = {.cast = cast};
    hf_status status;

    status = hf_lock_open(client, trace->name, &trace->opts, &look.lock);
    CHECK(cast, status == HF_OK);
    if (cast->has_leases)
        story_until(cast, is_empty, &look, "an empty queue");
    else if (!is_empty(&look))
        story_complain(cast, "%zu tickets are left in %s", look.count,
                       trace->name);
    hf_lock_free(look.lock);
}

static void lower_as_heir(struct cast *cast, struct hf_client *client,
                          struct trace *trace)
{
    struct hf_barrier *barrier;

    CHECK(cast, hf_barrier_open(client, trace->name, &barrier) == HF_OK);
    CHECK(cast, hf_barrier_lower(barrier, STORY_PATIENCE_MS) == HF_OK);
    hf_barrier_free(barrier);
}

static void judge_queues(struct cast *cast)
{
    struct hf_client *client;
    hf_status status = hf_client_open(cast->url, NULL, &client, NULL);

    CHECK(cast, status == HF_OK);
    for (unsigned i = 0; i < cast->trace_count; i++) {
        struct trace *trace = &cast->traces[i];

        if (strstr(trace->name, "/gate") != NULL) {
            lower_as_heir(cast, client, trace);
            continue;
        }
        if (strstr(trace->name, "/round") == NULL)
            enter_as_heir(cast, client, trace);
        look_as_heir(cast, client, trace);
    }
    CHECK(cast, hf_client_close(client) == HF_OK);
}

void judge_what_is_left(struct cast *cast, const struct rest *usual)
{
    story_until(cast, is_alone, NULL, "the end of all threads");
    judge_process(cast, usual);
    judge_queues(cast);
}
