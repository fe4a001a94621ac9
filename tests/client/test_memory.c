/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation of a lock, an election and a barrier fails, one after the
 * other: each call returns a status, no grant is lost, and no ticket is
 * left. */
#include <string.h>
#include <time.h>

#include "allocation_faults.h"
#include "base/memory.h"
#include "cmocka/runner.h"
#include "heap/heap.h"

/* --------------------------------------------------------------- fixture -- */

struct memory_fixture {
    struct hf_client *client;
    struct hf_lock *lock;
    _Atomic int ended;
    _Atomic int dropped;
    _Atomic hf_status status;
    struct hf_grant *grant;
    _Atomic int events;   /* of locks */
    _Atomic int warnings; /* that one is missing */
};

static void on_log(void *arg, enum hf_log_level level, const char *line)
{
    struct memory_fixture *f = arg;

    assert_true(line[0] != '\0');
    if (level == HF_LOG_WARNING &&
        strstr(line, "1 events of locks were not reported") != NULL)
        atomic_fetch_add(&f->warnings, 1);
}

static void on_event(void *arg, const struct hf_lock_event *event)
{
    (void)event;
    atomic_fetch_add(&((struct memory_fixture *)arg)->events, 1);
}

static void on_state(void *arg, enum hf_state state)
{
    (void)arg;
    (void)state;
}

static void on_drop(void *arg)
{
    atomic_fetch_add(&((struct memory_fixture *)arg)->dropped, 1);
}

static bool fixture_open(struct memory_fixture *f,
                         const struct client_directory *directory)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;

    memset(f, 0, sizeof(*f));
    opts.on_log = (struct hf_on_log){on_log, f, HF_LOG_DEBUG};
    opts.on_event = (struct hf_on_event){on_event, f};
    opts.on_state = (struct hf_on_state){on_state, f, NULL};
    if (!status_is_expected(
            hf_client_open(directory->url, &opts, &f->client))) {
        assert_true(hf_last_error()->text[0] != '\0');
        assert_null(f->client);
        return false;
    }
    if (status_is_expected(hf_lock_open(f->client, "nightly", NULL, &f->lock)))
        return true;
    assert_int_equal(hf_last_error()->status, HF_ENOMEM);
    assert_null(f->lock);
    return false;
}

static void fixture_close(struct memory_fixture *f)
{
    hf_lock_free(f->lock);
    assert_int_equal(hf_client_close(f->client), HF_OK);
}

static struct hf_acquire_opts opts_that_wait(void)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    opts.wait_ms = allocation_wait_ms();
    return opts;
}

static bool has_ended(void *arg)
{
    return atomic_load(&((struct memory_fixture *)arg)->ended) > 0;
}

static bool has_queued_or_ended(void *arg)
{
    struct memory_fixture *f = arg;
    struct hf_grant *grant;

    /* One ticket is in the queue before the next is asked for. */
    if (has_ended(f))
        return true;
    if (hf_lock_try_acquire(f->lock, &grant) == HF_OK)
        return hf_grant_release(grant) != HF_OK;
    return true;
}

/* ----------------------------------------------------------------- cases -- */

static void *wait_main(void *arg)
{
    struct memory_fixture *f = arg;
    struct hf_acquire_opts opts = opts_that_wait();

    f->status = hf_lock_acquire(f->lock, &opts, &f->grant);
    atomic_fetch_add(&f->ended, 1);
    return NULL;
}

static void wait_and_hand_over(struct memory_fixture *a,
                               struct memory_fixture *b)
{
    struct hf_acquire_opts opts = opts_that_wait();
    struct hf_grant *grant;
    pthread_t thread;

    if (!status_is_expected(hf_lock_acquire(a->lock, &opts, &grant))) {
        assert_null(grant);
        return;
    }
    thread = start_thread(wait_main, b);
    wait_until(has_queued_or_ended, a);
    (void)status_is_expected(hf_grant_release(grant));
    pthread_join(thread, NULL);
    if (status_is_expected(b->status))
        (void)status_is_expected(hf_grant_release(b->grant));
    else
        assert_null(b->grant);
}

static void waiting(const struct client_directory *directory)
{
    struct memory_fixture a = {.client = NULL}, b = {.client = NULL};

    if (fixture_open(&a, directory) && fixture_open(&b, directory))
        wait_and_hand_over(&a, &b);
    fixture_close(&a);
    fixture_close(&b);
}

static void on_wait(void *arg, const struct hf_wait *wait)
{
    (void)arg;
    assert_non_null(wait->holder);
}

static void on_done(void *arg, const struct hf_result *result)
{
    struct memory_fixture *f = arg;

    f->status = result->status;
    f->grant = result->grant;
    assert_true(result->status == HF_OK || result->text[0] != '\0');
    atomic_fetch_add(&f->ended, 1);
}

/* True if it started and has ended. */
static bool with_callbacks(struct memory_fixture *f, hf_status started)
{
    if (!status_is_expected(started)) {
        assert_int_equal(atomic_load(&f->ended), 0);
        return false;
    }
    wait_until(has_ended, f);
    assert_int_equal(atomic_load(&f->ended), 1);
    atomic_store(&f->ended, 0);
    return status_is_expected(f->status);
}

/* The number of drops that there must be in the end. */
static int start_and_give_back(struct memory_fixture *a)
{
    struct hf_acquire_opts opts = opts_that_wait();
    struct hf_done done = {on_done, a, on_drop};
    struct hf_op *op;
    int drops = 2; /* of the acquire: .done and .on_wait */

    opts.on_wait = (struct hf_on_wait){on_wait, a, on_drop};
    if (with_callbacks(a, hf_lock_acquire_start(a->lock, &opts, done, &op))) {
        assert_non_null(a->grant);
        (void)with_callbacks(a, hf_grant_release_start(a->grant, done));
        drops++;
    }
    hf_op_free(op);
    return drops;
}

static void starting(const struct client_directory *directory)
{
    struct memory_fixture a = {.client = NULL};
    int drops = 0;

    if (fixture_open(&a, directory))
        drops = start_and_give_back(&a);
    fixture_close(&a);
    assert_int_equal(atomic_load(&a.dropped), drops);
}

/* Each event is reported, or the log says that it is not. */
static void reporting(const struct client_directory *directory)
{
    struct memory_fixture a = {.client = NULL};
    struct hf_acquire_opts opts = opts_that_wait();
    struct hf_grant *grant;
    int events = 0;

    if (fixture_open(&a, directory) &&
        status_is_expected(hf_lock_acquire(a.lock, &opts, &grant)) &&
        status_is_expected(hf_grant_release(grant)))
        events = 2;
    fixture_close(&a);
    assert_true(atomic_load(&a.events) + atomic_load(&a.warnings) >= events);
}

static void on_asked(void *arg, struct hf_mutex *mutex, uint64_t owner)
{
    (void)arg;
    (void)mutex;
    (void)owner;
}

static void count_and_look(struct hf_mutex *mutex)
{
    struct hf_tickets *tickets;

    if (!status_is_expected(hf_mutex_timedlock(mutex, allocation_wait_ms())))
        return;
    assert_int_equal(hf_mutex_lock(mutex), HF_OK);
    (void)status_is_expected(hf_mutex_tickets(mutex, HF_TICKETS_ALL,
                                              allocation_wait_ms(), &tickets));
    hf_tickets_free(tickets);
    assert_int_equal(hf_mutex_unlock(mutex), HF_OK);
    assert_int_equal(hf_mutex_unlock(mutex), HF_OK);
}

static void counting(const struct client_directory *directory)
{
    struct hf_mutex_opts opts = HF_MUTEX_OPTS_INIT;
    struct memory_fixture a = {.client = NULL};
    struct hf_mutex *mutex = NULL;
    int drops = 0;

    opts.on_revoke = (struct hf_on_mutex_revoke){on_asked, &a, on_drop};
    if (fixture_open(&a, directory)) {
        drops = 1;
        if (status_is_expected(
                hf_mutex_open(a.client, "counted", &opts, &mutex)))
            count_and_look(mutex);
    }
    hf_mutex_free(mutex);
    fixture_close(&a);
    assert_int_equal(atomic_load(&a.dropped), drops);
}

static void on_elected(void *arg, struct hf_election *election, uint64_t token)
{
    (void)election;
    assert_true(token != 0);
    atomic_fetch_add(&((struct memory_fixture *)arg)->ended, 1);
}

static void on_candidacy_ended(void *arg, struct hf_election *election,
                               const struct hf_error *why)
{
    struct memory_fixture *f = arg;

    (void)election;
    assert_true(why->text[0] != '\0');
    f->status = why->status;
    atomic_fetch_add(&f->ended, 1);
}

/* It leads, is evicted, and leads again; or it gets the reason why not. */
static void lead_and_lose(struct memory_fixture *a,
                          struct hf_election *election,
                          const struct client_directory *directory)
{
    for (int i = 0; i < 2 && status_is_expected(a->status); i++) {
        if (i > 0)
            client_directory_remove_tickets(directory);
        wait_until(has_ended, a);
        atomic_store(&a->ended, 0);
    }
    (void)status_is_expected(hf_election_resign(election));
}

static void campaign(struct memory_fixture *a,
                     const struct client_directory *directory)
{
    struct hf_election_opts opts = HF_ELECTION_OPTS_INIT;
    struct hf_election *election;

    opts.on_elected = (struct hf_on_election){on_elected, a, on_drop};
    opts.on_ended = (struct hf_on_ended){on_candidacy_ended, a, on_drop};
    if (status_is_expected(
            hf_election_open(a->client, "nightly", &opts, &election)) &&
        status_is_expected(hf_election_campaign_start(election))) {
        if (all_allocations_fail()) /* its retries would last longer than the
                                       test */
            (void)status_is_expected(hf_election_resign(election));
        else
            lead_and_lose(a, election, directory);
    }
    hf_election_free(election);
}

static void campaigning(const struct client_directory *directory)
{
    struct memory_fixture a = {.client = NULL};
    int drops = 0;

    if (fixture_open(&a, directory)) {
        campaign(&a, directory);
        drops = 2;
    }
    fixture_close(&a);
    assert_int_equal(atomic_load(&a.dropped), drops);
}

static void set_and_wait(struct hf_barrier *barrier)
{
    uint64_t wait_ms = allocation_wait_ms();
    hf_status status;

    if (!status_is_expected(hf_barrier_set(barrier, wait_ms)))
        return;
    status = hf_barrier_wait(barrier, 0);
    assert_int_not_equal(status, HF_OK);
    if (status != HF_EBUSY)
        (void)status_is_expected(status);
    if (status_is_expected(hf_barrier_clear(barrier, wait_ms)))
        (void)status_is_expected(hf_barrier_wait(barrier, wait_ms));
}

static void blocking_barrier(const struct client_directory *directory)
{
    struct memory_fixture a = {.client = NULL};
    struct hf_barrier *barrier = NULL;

    if (fixture_open(&a, directory) &&
        status_is_expected(hf_barrier_open(a.client, "gate", &barrier)))
        set_and_wait(barrier);
    hf_barrier_free(barrier);
    fixture_close(&a);
}

/* ----------------------------------------------------------------- watch -- */

/* What a watch has reported. */
struct watch_events {
    _Atomic int listed;
    _Atomic int ended;
};

static void on_queue_event(void *arg, const struct hf_queue_event *event)
{
    struct watch_events *events = arg;

    if (event->kind == HF_QUEUE_LISTED)
        atomic_fetch_add(&events->listed, 1);
    else if (event->kind == HF_QUEUE_ENDED)
        atomic_fetch_add(&events->ended, 1);
}

/* Wait until the watch has listed, or has ended; or for a while, where it lists
 * again and again in vain. */
static void await_list(struct watch_events *events)
{
    const struct timespec moment = {0, 1000000};

    for (uint64_t ms = 0; ms < allocation_wait_ms(); ms++) {
        if (atomic_load(&events->listed) > 0 || atomic_load(&events->ended) > 0)
            return;
        nanosleep(&moment, NULL);
    }
    assert_true(all_allocations_fail());
}

/* A lock that is held is watched. */
static void watching(const struct client_directory *directory)
{
    struct memory_fixture a = {.client = NULL};
    struct watch_events events = {0};
    const struct hf_on_queue_event on = {on_queue_event, &events, NULL};
    struct hf_queue_watch *watch = NULL;
    struct hf_acquire_opts opts = opts_that_wait();
    struct hf_grant *grant = NULL;

    if (fixture_open(&a, directory)) {
        (void)status_is_expected(hf_lock_acquire(a.lock, &opts, &grant));
        if (status_is_expected(
                hf_queue_watch_open(a.client, "nightly", NULL, on, &watch)))
            await_list(&events);
    }
    if (grant != NULL)
        (void)hf_grant_release(grant);
    hf_queue_watch_free(watch);
    fixture_close(&a);
}

/* ------------------------------------------------------------- the sweep -- */

EACH_ALLOCATION_FAILS(each_fails_while_waiting, all_fail_while_waiting, waiting)
EACH_ALLOCATION_FAILS(each_fails_with_callbacks, all_fail_with_callbacks,
                      starting)
TEST(each_fails_with_events)
{
    fail_each_allocation(reporting, false);
}

EACH_ALLOCATION_FAILS(each_fails_while_counting, all_fail_while_counting,
                      counting)
EACH_ALLOCATION_FAILS(each_fails_while_campaigning, all_fail_while_campaigning,
                      campaigning)
EACH_ALLOCATION_FAILS(each_fails_while_watching, all_fail_while_watching,
                      watching)
EACH_ALLOCATION_FAILS(each_fails_at_a_barrier, all_fail_at_a_barrier,
                      blocking_barrier)

TEST(it_is_too_late_for_another)
{
    struct hf_allocator another = *hf_allocator_in_use();

    assert_int_equal(hf_set_allocator(&another), HF_ESTATE);
}

TEST_FILE(memory)
{
    heap_install();
    return RUN_TESTS(NULL, NULL);
}
