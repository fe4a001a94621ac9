/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one acquire, one release and one handoff enter.
 *
 * usage: entered URL
 *
 * A few pairs go before, so that connections, sessions and nodes are there.
 * Each is recorded several times, because what an earlier call has left to do
 * may be recorded too: only what is in each record counts.
 */
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <holdfast/holdfast.h>
#include <holdfast/tickets.h>

#include "trace.h"

#define PAIRS_BEFORE 3
#define TIMES 24
#define WAIT_MS 60000

static _Atomic(struct hf_grant *) granted;

static void check(hf_status status, const char *what)
{
    if (status == HF_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, hf_status_text(status));
    exit(1);
}

static void on_granted(void *arg, const struct hf_result *result)
{
    (void)arg;
    check(result->status, "hf_lock_acquire_start");
    atomic_store(&granted, result->grant);
}

static struct hf_grant *wait_for_grant(void)
{
    struct hf_grant *grant;

    for (int ms = 0; ms < WAIT_MS; ms++) {
        grant = atomic_load(&granted);
        if (grant != NULL)
            return grant;
        (void)poll(NULL, 0, 1);
    }
    check(HF_ETIMEDOUT, "handoff");
    return NULL;
}

/* Wait until somebody waits for ${lock}. */
static void wait_until_queued(struct hf_lock *lock)
{
    struct hf_tickets *tickets;

    for (int ms = 0; ms < WAIT_MS; ms++) {
        check(hf_lock_tickets(lock, HF_TICKETS_ALL, WAIT_MS, &tickets),
              "hf_lock_tickets");
        if (hf_tickets_count(tickets) == 2) {
            hf_tickets_free(tickets);
            return;
        }
        hf_tickets_free(tickets);
        (void)poll(NULL, 0, 1);
    }
    check(HF_ETIMEDOUT, "waiter");
}

static void open_lock(const char *url, struct hf_client **client,
                      struct hf_lock **lock)
{
    struct hf_grant *grant;

    check(hf_client_open(url, NULL, client), "hf_client_open");
    check(hf_lock_open(*client, "entered", NULL, lock), "hf_lock_open");
    for (int i = 0; i < PAIRS_BEFORE; i++) {
        check(hf_lock_acquire(*lock, NULL, &grant), "hf_lock_acquire");
        check(hf_grant_release(grant), "hf_grant_release");
    }
}

static void enter(struct hf_lock *first, struct hf_lock *second)
{
    struct hf_done done = {.fn = on_granted};
    struct hf_grant *grant;

    trace_start();
    check(hf_lock_acquire(first, NULL, &grant), "hf_lock_acquire");
    trace_print("acquire");
    trace_start();
    check(hf_grant_release(grant), "hf_grant_release");
    trace_print("release");

    check(hf_lock_acquire(first, NULL, &grant), "hf_lock_acquire");
    atomic_store(&granted, NULL);
    check(hf_lock_acquire_start(second, NULL, done, NULL),
          "hf_lock_acquire_start");
    wait_until_queued(second);
    trace_start();
    check(hf_grant_release(grant), "hf_grant_release");
    grant = wait_for_grant();
    trace_print("handoff");
    check(hf_grant_release(grant), "hf_grant_release");
}

int main(int argc, char **argv)
{
    struct hf_client *first_client, *second_client;
    struct hf_lock *first, *second;

    if (argc != 2) {
        fprintf(stderr, "usage: entered URL\n");
        return 64;
    }
    open_lock(argv[1], &first_client, &first);
    open_lock(argv[1], &second_client, &second);
    for (int i = 0; i < TIMES; i++)
        enter(first, second);
    hf_lock_free(second);
    hf_lock_free(first);
    check(hf_client_close(second_client), "hf_client_close");
    check(hf_client_close(first_client), "hf_client_close");
    return 0;
}
