/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-scale URL NAME: many locks and many waiters.  bench/scale.py asks, one
 * line answers, in pairs of a word and a number:
 *
 *   hold COUNT UNDERWAY   acquire the locks NAME-locks/0, NAME-locks/1, ...
 *                         through one client, at most UNDERWAY at once, and
 *                         keep them
 *   pair COUNT            acquire and release another lock, beside these
 *   give UNDERWAY         release them all; their names stay
 *   fill COUNT SESSIONS   acquire NAME, and have COUNT waiters queue for it, in
 *                         that many sessions; ends when all are in the queue
 *   drain COUNT HOLD      release it; the first COUNT that are granted hold for
 *                         HOLD microseconds, and these alone are timed; the
 *                         others release at once.  COUNT 0: nobody holds, and
 *                         all are timed
 *
 * "us" is the time that passed, "cpu" that of the processor and "switches" the
 * changes of context, of this process; "bytes" what it has more of memory.
 */
#include <inttypes.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <holdfast/holdfast.h>

#include "protocol.h"

#define WAIT_MS 600000

/* A lock that is held, or a waiter. */
struct one {
    struct hf_lock *lock;
    struct hf_grant *grant;
    atomic_bool queued; /* it is in the queue */
};

struct session {
    struct hf_client *client;
    struct hf_lock *lock;
};

struct usage {
    uint64_t at_ns;
    uint64_t cpu_us;
    uint64_t switches;
    uint64_t bytes;
};

static const char *url, *name;
static struct session self;
static struct one *ones;
static unsigned count;
static struct session *sessions;
static unsigned session_count;
static struct hf_grant *head; /* what the waiters wait for */
static sem_t free_operations, ended;
/* While some hold: those that have entered, for which the main thread releases.
 */
static sem_t entered;
static struct hf_grant *holder;
static bool all_timed;
static atomic_uint to_hold; /* so many more do */
static _Atomic uint64_t released_at_ns, first_ns;
static struct usage before;

/* ----------------------------------------------------------------- meter -- */

static uint64_t us_of(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

static struct usage usage_now(void)
{
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage);
    return (struct usage){
        .at_ns = bench_now_ns(),
        .cpu_us = us_of(usage.ru_utime) + us_of(usage.ru_stime),
        .switches = (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw,
        .bytes = bench_resident_bytes(),
    };
}

static void begin(void)
{
    before = usage_now();
}

static void print_figure(const char *what, uint64_t number)
{
    printf("%s %" PRIu64 " ", what, number);
}

static void end(void)
{
    struct usage now = usage_now();

    print_figure("us", (now.at_ns - before.at_ns) / 1000);
    print_figure("cpu", now.cpu_us - before.cpu_us);
    print_figure("switches", now.switches - before.switches);
    print_figure("bytes",
                 now.bytes > before.bytes ? now.bytes - before.bytes : 0);
    printf("\n");
}

static void *make(size_t number, size_t bytes)
{
    void *made = calloc(number, bytes);

    if (made == NULL)
        bench_fail("out of memory");
    return made;
}

static void await(sem_t *sem, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        while (sem_wait(sem) != 0)
            continue;
}

/* -------------------------------------------------------------- sessions -- */

static void open_session(struct session *session)
{
    if (hf_client_open(url, NULL, &session->client) != HF_OK ||
        hf_lock_open(session->client, name, NULL, &session->lock) != HF_OK)
        bench_fail("no client could be opened");
}

static void close_session(const struct session *session)
{
    hf_lock_free(session->lock);
    if (hf_client_close(session->client) != HF_OK)
        bench_fail("a client could not be closed");
}

/* ----------------------------------------------------------------- locks -- */

static void on_held(void *arg, const struct hf_result *result)
{
    struct one *one = arg;

    if (result->status != HF_OK)
        bench_fail(result->text);
    one->grant = result->grant;
    (void)sem_post(&free_operations);
    (void)sem_post(&ended);
}

static void on_given(void *arg, const struct hf_result *result)
{
    (void)arg;
    if (result->status != HF_OK)
        bench_fail(result->text);
    (void)sem_post(&free_operations);
    (void)sem_post(&ended);
}

static void open_locks(unsigned wanted)
{
    char path[256];

    if (ones != NULL)
        return; /* the same as before: names that exist */
    ones = make(wanted, sizeof(*ones));
    count = wanted;
    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(path, sizeof(path), "%s-locks/%u", name, i);
        if (hf_lock_open(self.client, path, NULL, &ones[i].lock) != HF_OK)
            bench_fail("a lock could not be opened");
    }
}

static void hold(unsigned wanted, unsigned underway)
{
    open_locks(wanted);
    (void)sem_init(&free_operations, 0, underway);
    begin();
    for (unsigned i = 0; i < count; i++) {
        struct hf_done done = {.fn = on_held, .arg = &ones[i]};

        await(&free_operations, 1);
        if (hf_lock_acquire_start(ones[i].lock, NULL, done, NULL) != HF_OK)
            bench_fail("an acquire could not be started");
    }
    await(&ended, count);
    end();
}

static void give(unsigned underway)
{
    (void)sem_init(&free_operations, 0, underway);
    begin();
    for (unsigned i = 0; i < count; i++) {
        struct hf_done done = {.fn = on_given};

        await(&free_operations, 1);
        if (hf_grant_release_start(ones[i].grant, done) != HF_OK)
            bench_fail("a release could not be started");
    }
    await(&ended, count);
    end();
}

static void close_locks(void)
{
    for (unsigned i = 0; i < count; i++)
        hf_lock_free(ones[i].lock);
    free(ones);
    ones = NULL;
    count = 0;
}

static void pairs(unsigned times)
{
    struct hf_grant *grant;

    begin();
    for (unsigned i = 0; i < times; i++) {
        if (hf_lock_acquire(self.lock, NULL, &grant) != HF_OK ||
            hf_grant_release(grant) != HF_OK)
            bench_fail("a pair failed");
    }
    end();
}

/* --------------------------------------------------------------- waiters -- */

static void on_wait(void *arg, const struct hf_wait *wait)
{
    struct one *one = arg;

    (void)wait;
    if (!atomic_exchange(&one->queued, true))
        (void)sem_post(&ended);
}

static void leave(struct hf_grant *grant)
{
    const struct hf_done done = {.fn = on_given};

    atomic_store(&released_at_ns, bench_now_ns());
    if (hf_grant_release_start(grant, done) != HF_OK)
        bench_fail("a release could not be started");
}

static void on_turn(void *arg, const struct hf_result *result)
{
    uint64_t took_ns = bench_now_ns() - atomic_load(&released_at_ns);
    uint64_t none = 0;

    (void)arg;
    if (result->status != HF_OK)
        bench_fail(result->text);
    (void)atomic_compare_exchange_strong(&first_ns, &none, took_ns);
    if (atomic_load(&to_hold) > 0) {
        bench_sample(took_ns);
        holder = result->grant;
        (void)sem_post(&entered);
        return;
    }
    if (all_timed)
        bench_sample(took_ns);
    leave(result->grant);
}

static void fill(unsigned waiters, unsigned wanted_sessions)
{
    ones = make(waiters, sizeof(*ones));
    count = waiters;
    session_count = wanted_sessions;
    sessions = make(session_count, sizeof(*sessions));
    for (unsigned i = 0; i < session_count; i++)
        open_session(&sessions[i]);
    if (hf_lock_acquire(self.lock, NULL, &head) != HF_OK)
        bench_fail("an acquire failed");
    begin();
    for (unsigned i = 0; i < count; i++) {
        struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
        struct hf_done done = {.fn = on_turn, .arg = &ones[i]};

        opts.wait_ms = WAIT_MS;
        opts.on_wait = (struct hf_on_wait){.fn = on_wait, .arg = &ones[i]};
        if (hf_lock_acquire_start(sessions[i % session_count].lock, &opts, done,
                                  NULL) != HF_OK)
            bench_fail("an acquire could not be started");
    }
    await(&ended, count);
    end();
}

static void end_drain(void)
{
    print_figure("first", atomic_load(&first_ns) / 1000);
    print_figure("p50_ns", bench_median());
    print_figure("mean_ns", bench_mean());
    end();
}

/* Whoever enters holds; the last of them lets all others pass. */
static void hold_each(unsigned wanted, unsigned hold_us)
{
    for (unsigned i = 0; i < wanted; i++) {
        await(&entered, 1);
        (void)usleep(hold_us);
        atomic_store(&to_hold, wanted - i - 1);
        leave(holder);
    }
}

static void drain(unsigned wanted, unsigned hold_us)
{
    atomic_store(&first_ns, 0);
    atomic_store(&to_hold, wanted);
    all_timed = wanted == 0;
    bench_begin();
    begin();
    atomic_store(&released_at_ns, bench_now_ns());
    if (hf_grant_release(head) != HF_OK)
        bench_fail("a release failed");
    hold_each(wanted, hold_us);
    if (!all_timed)
        end_drain();
    await(&ended, count);
    if (all_timed)
        end_drain();
    for (unsigned i = 0; i < session_count; i++)
        close_session(&sessions[i]);
    free(sessions);
    free(ones);
    ones = NULL;
    count = 0;
}

int main(int arguments, char **words)
{
    struct bench_request request;

    if (arguments != 3)
        return 64;
    url = words[1];
    name = words[2];
    (void)sem_init(&ended, 0, 0);
    (void)sem_init(&entered, 0, 0);
    open_session(&self);
    while (bench_next_request(&request)) {
        if (strcmp(request.word, "hold") == 0)
            hold(request.first, request.second);
        else if (strcmp(request.word, "pair") == 0)
            pairs(request.first);
        else if (strcmp(request.word, "give") == 0)
            give(request.first);
        else if (strcmp(request.word, "fill") == 0)
            fill(request.first, request.second);
        else if (strcmp(request.word, "drain") == 0)
            drain(request.first, request.second);
        else
            bench_fail("a request that is not known");
    }
    close_locks();
    close_session(&self);
    return 0;
}
