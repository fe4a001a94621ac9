/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ends URL REPEATS: acquires that end without a grant, again and again, while
 * another client holds the lock: by a deadline, by a cancel or as a try, of
 * each kind of lock, of one lock and of several.  After each end a third client
 * lists the queue.
 *
 * Prints one line for each way to end: "WAY ENDS LEFT SAID".  LEFT counts the
 * ends after which a ticket was still there although the text did not say so,
 * SAID those of which the text said that a ticket may stay.  The status is 1,
 * with a line that says why, if anything else went wrong.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <holdfast/holdfast.h>

#define LOOK_MS 30000
#define LOOKS_MAX 10000 /* each is an answer of the engine */

static struct hf_client *holder, *waiter, *observer;

static unsigned ends, left, said;

static void need(hf_status status, const char *what)
{
    if (status == HF_OK)
        return;
    fprintf(stderr, "ends: %s: %s\n", what, hf_status_name(status));
    exit(1);
}

static void need_status(hf_status status, hf_status expected, const char *what)
{
    if (status == expected)
        return;
    fprintf(stderr, "ends: %s: %s, expected %s\n", what, hf_status_name(status),
            hf_status_name(expected));
    exit(1);
}

/* ----------------------------------------------------------------- locks -- */

static struct hf_lock *open_lock(struct hf_client *client, const char *name,
                                 enum hf_kind kind)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    struct hf_lock *lock;

    opts.kind = kind;
    if (kind == HF_KIND_SEMAPHORE)
        opts.limit = opts.permits = 1;
    need(hf_lock_open(client, name, &opts, &lock), name);
    return lock;
}

static struct hf_grant *take(struct hf_lock *lock)
{
    struct hf_grant *grant;

    need(hf_lock_acquire(lock, NULL, &grant), "the holder's acquire");
    return grant;
}

static size_t count_tickets(struct hf_lock *lock)
{
    struct hf_tickets *tickets;
    size_t count;

    need(hf_lock_tickets(lock, HF_TICKETS_ALL, LOOK_MS, &tickets), "the list");
    count = hf_tickets_count(tickets);
    hf_tickets_free(tickets);
    return count;
}

/* A holder of permits is granted them before its ticket has left the entry
 * mutex: what is counted later must not be that one. */
static void await_alone(struct hf_lock *lock)
{
    unsigned looks = 0;

    while (count_tickets(lock) != 1)
        if (++looks == LOOKS_MAX)
            need(HF_ETIMEDOUT, "the holder's ticket of the entry mutex");
}

/* ${lock}, of the observer, should show ${expected} tickets now. */
static void look(struct hf_lock *lock, size_t expected, const char *text)
{
    size_t count = count_tickets(lock);

    ends++;
    if (strstr(text, "may stay in the queue") != NULL)
        said++;
    else
        left += count != expected;
}

static void report(const char *way)
{
    printf("%s %u %u %u\n", way, ends, left, said);
    ends = left = said = 0;
}

/* ------------------------------------------------------------------ ways -- */

/* By a deadline, or as a try. */
static void waits(const char *way, enum hf_kind kind, bool tries,
                  unsigned repeats)
{
    hf_status expected = tries ? HF_EBUSY : HF_ETIMEDOUT;
    struct hf_lock *held = open_lock(holder, way, kind);
    struct hf_lock *wanted = open_lock(waiter, way, kind);
    struct hf_lock *seen = open_lock(observer, way, kind);
    struct hf_grant *grant = take(held);

    await_alone(seen);
    for (unsigned i = 0; i < repeats; i++) {
        struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
        struct hf_grant *none;

        opts.wait_ms = tries ? 0 : 1 + i % 20;
        need_status(hf_lock_acquire(wanted, &opts, &none), expected, way);
        look(seen, 1, hf_last_error()->text);
    }
    need(hf_grant_release(grant), "release");
    hf_lock_free(held);
    hf_lock_free(wanted);
    hf_lock_free(seen);
    report(way);
}

/* Threads of one client queue for one ticket of a struct hf_mutex. */
static void mutexes(unsigned repeats)
{
    const char *way = "mutex-of-threads";
    struct hf_lock *held = open_lock(holder, way, HF_KIND_MUTEX);
    struct hf_lock *seen = open_lock(observer, way, HF_KIND_MUTEX);
    struct hf_grant *grant = take(held);
    struct hf_mutex *mutex;

    need(hf_mutex_open(waiter, way, NULL, &mutex), way);
    for (unsigned i = 0; i < repeats; i++) {
        need_status(hf_mutex_timedlock(mutex, 1 + i % 20), HF_ETIMEDOUT, way);
        look(seen, 1, "");
    }
    need(hf_grant_release(grant), "release");
    hf_mutex_free(mutex);
    hf_lock_free(held);
    hf_lock_free(seen);
    report(way);
}

/* Of two locks the first is had and the second is not: both are free of us
 * afterwards, and another client's try for the first is granted. */
static void several(unsigned repeats)
{
    const char *way = "several";
    struct hf_lock *held = open_lock(holder, "several-b", HF_KIND_MUTEX);
    struct hf_lock *wanted[2] = {open_lock(waiter, "several-a", HF_KIND_MUTEX),
                                 open_lock(waiter, "several-b", HF_KIND_MUTEX)};
    struct hf_lock *seen = open_lock(observer, "several-b", HF_KIND_MUTEX);
    struct hf_lock *other = open_lock(observer, "several-a", HF_KIND_MUTEX);
    struct hf_grant *grant = take(held), *none, *tried;

    for (unsigned i = 0; i < repeats; i++) {
        struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
        struct hf_error error;
        hf_status status;

        opts.wait_ms = 10 + i % 20;
        need_status(hf_locks_acquire(wanted, 2, &opts, &none), HF_ETIMEDOUT,
                    way);
        error = *hf_last_error();
        status = hf_lock_try_acquire(other, &tried);
        if (status == HF_OK)
            need(hf_grant_release(tried), "release");
        else if (strstr(error.text, "may stay in the queue") == NULL)
            left++;
        look(seen, 1, error.text);
    }
    need(hf_grant_release(grant), "release");
    for (int i = 0; i < 2; i++)
        hf_lock_free(wanted[i]);
    hf_lock_free(held);
    hf_lock_free(seen);
    hf_lock_free(other);
    report(way);
}

/* --------------------------------------------------------------- cancels -- */

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool queued, ended;
static char text[HF_ERROR_TEXT_BYTES];

static void on_wait(void *arg, const struct hf_wait *wait)
{
    (void)arg;
    (void)wait;
    pthread_mutex_lock(&guard);
    queued = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&guard);
}

static void on_done(void *arg, const struct hf_result *result)
{
    (void)arg;
    need_status(result->status, HF_ECANCELLED, "a cancel");
    pthread_mutex_lock(&guard);
    (void)snprintf(text, sizeof text, "%s", result->text);
    ended = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&guard);
}

static void await(const bool *flag)
{
    pthread_mutex_lock(&guard);
    while (!*flag)
        pthread_cond_wait(&changed, &guard);
    pthread_mutex_unlock(&guard);
}

static void cancels(unsigned repeats)
{
    const char *way = "cancel";
    const struct hf_done done = {on_done, NULL, NULL};
    struct hf_lock *held = open_lock(holder, way, HF_KIND_MUTEX);
    struct hf_lock *wanted = open_lock(waiter, way, HF_KIND_MUTEX);
    struct hf_lock *seen = open_lock(observer, way, HF_KIND_MUTEX);
    struct hf_grant *grant = take(held);

    for (unsigned i = 0; i < repeats; i++) {
        struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
        struct hf_op *op;

        queued = ended = false;
        opts.on_wait.fn = on_wait;
        need(hf_lock_acquire_start(wanted, &opts, done, &op), way);
        if (i % 2 == 0) /* else while its enqueue is under way */
            await(&queued);
        hf_op_cancel(op);
        await(&ended);
        hf_op_free(op);
        look(seen, 1, text);
    }
    need(hf_grant_release(grant), "release");
    hf_lock_free(held);
    hf_lock_free(wanted);
    hf_lock_free(seen);
    report(way);
}

/* A deadline before the first connection would end with HF_EUNREACHABLE. */
static void connect_first(struct hf_client *client)
{
    struct hf_lock *lock = open_lock(client, "connected", HF_KIND_MUTEX);

    need(hf_grant_release(take(lock)), "release");
    hf_lock_free(lock);
}

int main(int count, char **arguments)
{
    unsigned repeats;

    if (count != 3) {
        fputs("usage: see the top of ends.c\n", stderr);
        return 64;
    }
    repeats = (unsigned)strtoul(arguments[2], NULL, 10);
    need(hf_client_open(arguments[1], NULL, &holder), "open");
    need(hf_client_open(arguments[1], NULL, &waiter), "open");
    need(hf_client_open(arguments[1], NULL, &observer), "open");
    connect_first(holder);
    connect_first(waiter);
    connect_first(observer);
    waits("mutex", HF_KIND_MUTEX, false, repeats);
    waits("write", HF_KIND_WRITE, false, repeats);
    waits("semaphore", HF_KIND_SEMAPHORE, false, repeats);
    waits("try", HF_KIND_MUTEX, true, repeats);
    mutexes(repeats);
    several(repeats);
    cancels(repeats);
    hf_client_close(waiter);
    hf_client_close(observer);
    hf_client_close(holder);
    return 0;
}
