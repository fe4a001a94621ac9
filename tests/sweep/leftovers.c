/* SPDX-License-Identifier: Apache-2.0 */
/* What a scenario may not leave: threads, memory, descriptors and tickets. */
#include "leftovers.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

/* -------------------------------------------------------- of the process -- */

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

/* Threads that are not joined end a little later. */
static bool is_alone(void *arg)
{
    (void)arg;
    return entries_of("/proc/self/task") == 3; /* with "." and ".." */
}

void leftovers_count(struct sweep_fixture *fixture, struct leftovers *leftovers)
{
    leftovers->fds = entries_of("/proc/self/fd");
    leftovers->uv_memory = atomic_load(&fixture->report->uv_memory);
}

static void check_process(struct sweep_fixture *fixture,
                          const struct leftovers *usual)
{
    long memory = atomic_load(&fixture->report->own_memory);
    struct leftovers leftovers;

    leftovers_count(fixture, &leftovers);
    if (memory != 0)
        scenario_fail(fixture, "%ld pieces of memory are left", memory);
    if (leftovers.fds > usual->fds)
        scenario_fail(fixture, "%ld descriptors are left, usually %ld",
                      leftovers.fds, usual->fds);
    if (leftovers.uv_memory > usual->uv_memory)
        scenario_fail(fixture,
                      "%ld pieces of libuv's memory are left, usually "
                      "%ld",
                      leftovers.uv_memory, usual->uv_memory);
#if defined(__SANITIZE_ADDRESS__)
    if (__lsan_do_recoverable_leak_check() != 0)
        scenario_fail(fixture, "memory has leaked: see the report above");
#endif
}

/* --------------------------------------------------------- of the queues -- */

/* Another client gets the lock. */
static void enter_as_next(struct sweep_fixture *fixture,
                          struct hf_client *client, struct used_lock *used_lock)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_grant *grant;
    struct hf_lock *lock;
    hf_status status;

    status = hf_lock_open(client, used_lock->name, &used_lock->opts, &lock);
    CHECK(fixture, status == HF_OK);
    opts.wait_ms = fixture->has_leases ? SCENARIO_TIMEOUT_MS : 0;
    status = hf_lock_acquire(lock, &opts, &grant);
    if (status != HF_OK)
        scenario_fail(fixture, "another acquire of %s ended with %s",
                      used_lock->name, hf_status_name(status));
    CHECK(fixture, hf_grant_release(grant) == HF_OK);
    hf_lock_free(lock);
}

struct look {
    struct sweep_fixture *fixture;
    struct hf_lock *lock;
    size_t count;
};

static bool is_empty(void *arg)
{
    struct look *look = arg;
    struct hf_tickets *tickets;
    hf_status status = hf_lock_tickets(look->lock, HF_TICKETS_ALL,
                                       SCENARIO_TIMEOUT_MS, &tickets);

    if (status != HF_OK)
        scenario_fail(look->fixture, "the list of the queue ended with %s",
                      hf_status_name(status));
    look->count = hf_tickets_count(tickets);
    hf_tickets_free(tickets);
    return look->count == 0;
}

static void look_as_next(struct sweep_fixture *fixture,
                         struct hf_client *client, struct used_lock *used_lock)
{
    struct look look = {.fixture = fixture};
    hf_status status;

    status =
        hf_lock_open(client, used_lock->name, &used_lock->opts, &look.lock);
    CHECK(fixture, status == HF_OK);
    if (fixture->has_leases)
        scenario_until(fixture, is_empty, &look, "an empty queue");
    else if (!is_empty(&look))
        scenario_fail(fixture, "%zu tickets are left in %s", look.count,
                      used_lock->name);
    hf_lock_free(look.lock);
}

static void clear_as_next(struct sweep_fixture *fixture,
                          struct hf_client *client, struct used_lock *used_lock)
{
    struct hf_barrier *barrier;

    CHECK(fixture, hf_barrier_open(client, used_lock->name, &barrier) == HF_OK);
    CHECK(fixture, hf_barrier_clear(barrier, SCENARIO_TIMEOUT_MS) == HF_OK);
    hf_barrier_free(barrier);
}

static void check_queues(struct sweep_fixture *fixture)
{
    struct hf_client *client;
    hf_status status = hf_client_open(fixture->url, NULL, &client);

    CHECK(fixture, status == HF_OK);
    for (unsigned i = 0; i < fixture->used_lock_count; i++) {
        struct used_lock *used_lock = &fixture->used_locks[i];

        if (strstr(used_lock->name, "/gate") != NULL) {
            clear_as_next(fixture, client, used_lock);
            continue;
        }
        if (strstr(used_lock->name, "/round") == NULL)
            enter_as_next(fixture, client, used_lock);
        look_as_next(fixture, client, used_lock);
    }
    CHECK(fixture, hf_client_close(client) == HF_OK);
}

void leftovers_check(struct sweep_fixture *fixture,
                     const struct leftovers *usual)
{
    scenario_until(fixture, is_alone, NULL, "the end of all threads");
    check_process(fixture, usual);
    check_queues(fixture);
}
