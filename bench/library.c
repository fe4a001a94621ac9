/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-library URL NAME: the public API as a program would use it.  Requests:
 *
 *   pair COUNT          acquire and release, with nobody else about
 *   contend CLIENTS MS  for MS each of CLIENTS, a session and a thread each,
 *                       acquires and releases at once, again and again; a
 *                       sample is from the call of a release to the grant of
 *                       another client
 *   handoff COUNT MS    COUNT times a client releases what another one, of
 *                       another session, has been waiting for since MS ago; a
 *                       sample is from the call of the release to that grant
 *   queue COUNT         acquire once, and begin to COUNT times more; returns
 *                       before they are all in the queue
 *   drain               release; each waiter that is granted releases at once;
 *                       the same samples
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <holdfast/holdfast.h>

#include "protocol.h"

#define WARM_UP 50
#define CLIENTS_MAX 64

struct contender {
    struct hf_client *client;
    struct hf_lock *lock;
    pthread_t thread;
    unsigned number;
    uint64_t grants;
};

static const char *url, *name;

/* Of the iteration: written by the holder of the lock. */
static _Atomic uint64_t released_at_ns;
static atomic_uint holder; /* its number; 0: nobody yet */
static uint64_t deadline_ns;
static pthread_barrier_t start, finish;

/* Leaves .thread alone, which the thread that has started it writes. */
static void contender_open(struct contender *contender)
{
    if (hf_client_open(url, NULL, &contender->client) != HF_OK ||
        hf_lock_open(contender->client, name, NULL, &contender->lock) != HF_OK)
        bench_fail("no client could be opened");
}

static void contender_close(struct contender *contender)
{
    hf_lock_free(contender->lock);
    if (hf_client_close(contender->client) != HF_OK)
        bench_fail("a client could not be closed");
}

static struct hf_grant *acquire(const struct contender *contender)
{
    struct hf_grant *grant;

    if (hf_lock_acquire(contender->lock, NULL, &grant) != HF_OK)
        bench_fail(hf_last_error()->text);
    return grant;
}

static void release(struct hf_grant *grant)
{
    if (hf_grant_release(grant) != HF_OK)
        bench_fail("a release failed");
}

/* ------------------------------------------------------------------ pair -- */

static void pairs(const struct contender *contender, unsigned count)
{
    uint64_t began_ns;

    for (unsigned i = 0; i < WARM_UP; i++)
        release(acquire(contender));
    bench_begin();
    for (unsigned i = 0; i < count; i++) {
        began_ns = bench_now_ns();
        release(acquire(contender));
        bench_sample(bench_now_ns() - began_ns);
    }
    bench_end(count);
}

/* --------------------------------------------------------------- contend -- */

/* The lock was just granted to ${number}. */
static void take_over(unsigned number)
{
    uint64_t now_ns = bench_now_ns();
    unsigned before = atomic_exchange(&holder, number);

    if (before != 0 && before != number)
        bench_sample(now_ns - atomic_load(&released_at_ns));
}

static void *contend(void *arg)
{
    struct contender *contender = arg;
    struct hf_grant *grant;

    contender_open(contender);
    release(acquire(contender));
    (void)pthread_barrier_wait(&start); /* all have a session */
    (void)pthread_barrier_wait(&start); /* and clocks run */
    while (bench_now_ns() < deadline_ns) {
        grant = acquire(contender);
        take_over(contender->number);
        contender->grants++;
        atomic_store(&released_at_ns, bench_now_ns());
        release(grant);
    }
    (void)pthread_barrier_wait(&finish);
    contender_close(contender);
    return NULL;
}

static void contest(unsigned clients, unsigned ms)
{
    struct contender contenders[CLIENTS_MAX];
    uint64_t grants = 0;

    if (clients > CLIENTS_MAX)
        bench_fail("too many clients; expected up to 64");
    atomic_store(&holder, 0);
    (void)pthread_barrier_init(&start, NULL, clients + 1);
    (void)pthread_barrier_init(&finish, NULL, clients + 1);
    for (unsigned i = 0; i < clients; i++) {
        contenders[i] = (struct contender){.number = i + 1};
        if (pthread_create(&contenders[i].thread, NULL, contend,
                           &contenders[i]) != 0)
            bench_fail("a thread could not be started");
    }
    (void)pthread_barrier_wait(&start);
    bench_begin();
    deadline_ns = bench_now_ns() + (uint64_t)ms * 1000000;
    (void)pthread_barrier_wait(&start);
    (void)pthread_barrier_wait(&finish);
    for (unsigned i = 0; i < clients; i++)
        grants += contenders[i].grants;
    bench_end(grants);
    for (unsigned i = 0; i < clients; i++)
        if (pthread_join(contenders[i].thread, NULL) != 0)
            bench_fail("a thread could not be joined");
    (void)pthread_barrier_destroy(&start);
    (void)pthread_barrier_destroy(&finish);
}

/* --------------------------------------------------------------- handoff -- */

struct waiter {
    struct hf_grant *grant;
    uint64_t granted_at_ns;
    sem_t granted;
};

static void on_handed_over(void *arg, const struct hf_result *result)
{
    struct waiter *waiter = arg;

    waiter->granted_at_ns = bench_now_ns();
    if (result->status != HF_OK)
        bench_fail(result->text);
    waiter->grant = result->grant;
    (void)sem_post(&waiter->granted);
}

/* ${held} goes to ${next}. */
static struct hf_grant *hand_over(struct hf_grant *held,
                                  const struct contender *next,
                                  unsigned pause_ms)
{
    struct waiter waiter = {.grant = NULL};
    const struct hf_done done = {.fn = on_handed_over, .arg = &waiter};
    uint64_t began_ns;

    (void)sem_init(&waiter.granted, 0, 0);
    if (hf_lock_acquire_start(next->lock, NULL, done, NULL) != HF_OK)
        bench_fail("an acquire could not be started");
    bench_pause(pause_ms);
    began_ns = bench_now_ns();
    release(held);
    (void)sem_wait(&waiter.granted);
    bench_sample(waiter.granted_at_ns - began_ns);
    (void)sem_destroy(&waiter.granted);
    return waiter.grant;
}

static void handoffs(const struct contender *first, unsigned count,
                     unsigned pause_ms)
{
    struct contender second = {.number = 2};
    const struct contender *turn[2] = {first, &second};
    struct hf_grant *held = acquire(first);

    contender_open(&second);
    bench_begin();
    for (unsigned i = 1; i <= count; i++)
        held = hand_over(held, turn[i % 2], pause_ms);
    bench_end(count);
    release(held);
    contender_close(&second);
}

/* ----------------------------------------------------------------- queue -- */

static struct hf_grant *head; /* what the queue waits for */
static atomic_uint granted;
static sem_t drained; /* posted for each that has left the queue */

static void on_released(void *arg, const struct hf_result *result)
{
    (void)arg;
    if (result->status != HF_OK)
        bench_fail("a release failed");
    (void)sem_post(&drained);
}

static void on_granted(void *arg, const struct hf_result *result)
{
    const struct hf_done done = {.fn = on_released};

    (void)arg;
    if (result->status != HF_OK)
        bench_fail(result->text);
    take_over(atomic_fetch_add(&granted, 1) + 2);
    atomic_store(&released_at_ns, bench_now_ns());
    if (hf_grant_release_start(result->grant, done) != HF_OK)
        bench_fail("a release could not be started");
}

static void fill_queue(const struct contender *contender, unsigned count)
{
    const struct hf_done done = {.fn = on_granted};

    head = acquire(contender);
    atomic_store(&holder, 1);
    atomic_store(&granted, 0);
    bench_begin();
    for (unsigned i = 0; i < count; i++) {
        if (hf_lock_acquire_start(contender->lock, NULL, done, NULL) != HF_OK)
            bench_fail("an acquire could not be started");
    }
    bench_end(0);
}

static void drain(unsigned count)
{
    bench_begin();
    atomic_store(&released_at_ns, bench_now_ns());
    release(head);
    for (unsigned i = 0; i < count; i++)
        (void)sem_wait(&drained);
    bench_end(count);
}

int main(int count, char **arguments)
{
    struct bench_request request;
    struct contender contender = {.number = 1};
    unsigned queued = 0;

    if (count != 3)
        return 64;
    url = arguments[1];
    name = arguments[2];
    (void)sem_init(&drained, 0, 0);
    contender_open(&contender);
    while (bench_next_request(&request)) {
        if (strcmp(request.word, "pair") == 0)
            pairs(&contender, request.first);
        else if (strcmp(request.word, "contend") == 0)
            contest(request.first, request.second);
        else if (strcmp(request.word, "handoff") == 0)
            handoffs(&contender, request.first, request.second);
        else if (strcmp(request.word, "queue") == 0)
            fill_queue(&contender, queued = request.first);
        else if (strcmp(request.word, "drain") == 0)
            drain(queued);
        else
            bench_fail("a request that is not known");
    }
    contender_close(&contender);
    return 0;
}
