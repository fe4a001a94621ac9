/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of one client that want one mutex: a queue of their own, behind one
 * ticket. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "home.h"
#include "host/client.h"
#include "host/client_cohort.h"
#include "kit.h"

#define NAME "nightly"
#define THREADS 8
#define FAR_MS 60000

struct world {
    struct home home;
    struct hf_mutex *mutex;
    struct hf_client *elsewhere; /* another client of the same name ... */
    struct hf_mutex *theirs;     /* ... in strict order; NULL: none */
    /* Who was granted when; written by whoever holds the mutex.  Between two
     * clients that orders nothing in memory. */
    int order[2 * THREADS];
    _Atomic int granted;
};

static struct hf_mutex *open_bounded(struct hf_client *client,
                                     uint32_t handoffs)
{
    struct hf_mutex_opts opts = HF_MUTEX_OPTS_INIT;
    struct hf_mutex *mutex;

    opts.handoffs = handoffs;
    assert_int_equal(hf_mutex_open(client, NAME, &opts, &mutex), HF_OK);
    return mutex;
}

static void world_open(struct world *w)
{
    memset(w, 0, sizeof(*w));
    home_open(&w->home);
    w->mutex = open_bounded(w->home.client, HF_MUTEX_HANDOFFS);
}

static void world_meet(struct world *w)
{
    w->elsewhere = kit_client(w->home.place.url);
    w->theirs = open_bounded(w->elsewhere, 0);
}

static void world_part(struct world *w)
{
    hf_mutex_free(w->theirs);
    assert_int_equal(hf_client_close(w->elsewhere), HF_OK);
}

static void world_close(struct world *w)
{
    hf_mutex_free(w->mutex);
    assert_null(w->home.client->cohorts.root);
    home_close(&w->home);
}

/* One thread that wants ${mutex}, and what came of it. */
struct caller {
    struct world *world;
    struct hf_mutex *mutex;
    pthread_t thread;
    int number;
    uint64_t wait_ms;
    hf_status status;
    hf_status unlocked;
    uint64_t token;
    _Atomic bool ended;
};

static void *caller_main(void *arg)
{
    struct caller *caller = arg;

    caller->status = hf_mutex_timedlock(caller->mutex, caller->wait_ms);
    if (caller->status == HF_OK) {
        caller->token = hf_mutex_token(caller->mutex);
        caller->world->order[caller->world->granted++] = caller->number;
        caller->unlocked = hf_mutex_unlock(caller->mutex);
    }
    atomic_store(&caller->ended, true);
    return NULL;
}

/* Members of the cohort, the holder among them. */
static size_t members(struct world *w)
{
    const struct hf_client_cohort *queue;
    size_t count;

    hf_monitor_lock(&w->home.client->monitor);
    queue = (const void *)w->home.client->cohorts.root;
    count = queue->cohort.count;
    pthread_mutex_unlock(&w->home.client->monitor.lock);
    return count;
}

struct expected {
    struct world *world;
    size_t members;
};

static bool are_members(void *arg)
{
    const struct expected *expected = arg;

    return members(expected->world) == expected->members;
}

static void await_members(struct world *w, size_t count)
{
    struct expected expected = {w, count};

    kit_until(are_members, &expected);
}

static void begin(struct world *w, struct caller *caller, int number,
                  struct hf_mutex *mutex, uint64_t wait_ms)
{
    *caller = (struct caller){.world = w,
                              .mutex = mutex,
                              .number = number,
                              .wait_ms = wait_ms,
                              .status = HF_EBUG,
                              .unlocked = HF_EBUG};
    caller->thread = kit_thread(caller_main, caller);
}

/* Begin the ${number}th, and see it wait. */
static void call(struct world *w, struct caller *caller, int number,
                 struct hf_mutex *mutex, uint64_t wait_ms)
{
    size_t before = members(w);

    begin(w, caller, number, mutex, wait_ms);
    await_members(w, before + 1);
}

static void join(struct caller *caller)
{
    pthread_join(caller->thread, NULL);
}

/* ---------------------------------------------------------------------- */

/* Through two handles, which are one queue. */
static void fn60_threads_are_served_in_order_behind_one_ticket(void **state)
{
    struct world w;
    struct caller callers[THREADS];
    struct hf_mutex *other;
    uint64_t token;

    (void)state;
    world_open(&w);
    assert_int_equal(hf_mutex_open(w.home.client, "/" NAME, NULL, &other),
                     HF_OK);
    assert_int_equal(hf_mutex_lock(w.mutex), HF_OK);
    token = hf_mutex_token(w.mutex);
    for (int i = 0; i < THREADS; i++)
        call(&w, &callers[i], i, i % 2 == 0 ? w.mutex : other, FAR_MS);
    assert_int_equal(place_tickets(&w.home.place), 1);
    assert_int_equal(hf_mutex_unlock(w.mutex), HF_OK);
    for (int i = 0; i < THREADS; i++) {
        join(&callers[i]);
        assert_int_equal(callers[i].status, HF_OK);
        assert_int_equal(callers[i].unlocked, HF_OK);
        assert_true(callers[i].token == token);
        assert_int_equal(w.order[i], i);
    }
    hf_mutex_free(other);
    world_close(&w);
}

static void a_try_is_refused_without_looking(void **state)
{
    struct world w;
    struct caller waits, tries;

    (void)state;
    world_open(&w);
    assert_int_equal(hf_mutex_lock(w.mutex), HF_OK);
    call(&w, &waits, 0, w.mutex, FAR_MS);
    tries = (struct caller){.world = &w, .mutex = w.mutex, .wait_ms = 0};
    kit_elsewhere(caller_main, &tries);
    assert_int_equal(tries.status, HF_EBUSY);
    assert_int_equal(place_tickets(&w.home.place), 1);
    assert_int_equal(hf_mutex_unlock(w.mutex), HF_OK);
    join(&waits);
    assert_int_equal(waits.status, HF_OK);
    world_close(&w);
}

static void a_limit_ends_one_wait_and_no_other(void **state)
{
    struct world w;
    struct caller patient, hasty;

    (void)state;
    world_open(&w);
    assert_int_equal(hf_mutex_lock(w.mutex), HF_OK);
    call(&w, &hasty, 0, w.mutex, 30);
    call(&w, &patient, 1, w.mutex, FAR_MS);
    join(&hasty);
    assert_int_equal(hasty.status, HF_ETIMEDOUT);
    assert_false(atomic_load(&patient.ended));
    assert_int_equal(hf_mutex_unlock(w.mutex), HF_OK);
    join(&patient);
    assert_int_equal(patient.status, HF_OK);
    world_close(&w);
}

/* ------------------------------------------------------------- fairness -- */

/* Threads that want it again and again, until somebody else had it. */
struct crowd {
    struct hf_mutex *mutex;
    _Atomic int turns;
    _Atomic bool over;
    _Atomic int failures;
};

static void *crowd_main(void *arg)
{
    struct crowd *crowd = arg;

    while (!atomic_load(&crowd->over)) {
        atomic_fetch_add(&crowd->failures, hf_mutex_lock(crowd->mutex));
        atomic_fetch_add(&crowd->turns, 1);
        atomic_fetch_add(&crowd->failures, hf_mutex_unlock(crowd->mutex));
    }
    return NULL;
}

static void *outsider_main(void *arg)
{
    struct crowd *crowd = arg;
    struct hf_mutex *theirs = crowd[1].mutex;

    atomic_fetch_add(&crowd->failures, hf_mutex_lock(theirs));
    atomic_store(&crowd[1].turns, atomic_load(&crowd->turns));
    atomic_store(&crowd->over, true);
    atomic_fetch_add(&crowd->failures, hf_mutex_unlock(theirs));
    return NULL;
}

/* Whoever waits elsewhere is let in after so many of ours, however many of them
 * there are. */
static void threads_do_not_starve_another_process(void **state)
{
    struct world w;
    struct hf_client *elsewhere;
    struct crowd crowd[2];
    pthread_t threads[THREADS], outsider;

    (void)state;
    memset(crowd, 0, sizeof(crowd));
    world_open(&w);
    elsewhere = kit_client(w.home.place.url);
    assert_int_equal(hf_mutex_open(elsewhere, NAME, NULL, &crowd[1].mutex),
                     HF_OK);
    crowd->mutex = w.mutex;
    assert_int_equal(hf_mutex_lock(w.mutex), HF_OK);
    outsider = kit_thread(outsider_main, crowd);
    kit_await_tickets(&w.home.place, 2);
    for (int i = 0; i < THREADS; i++)
        threads[i] = kit_thread(crowd_main, crowd);
    await_members(&w, 1 + THREADS);
    assert_int_equal(hf_mutex_unlock(w.mutex), HF_OK);
    pthread_join(outsider, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&crowd->failures), 0);
    assert_in_range(atomic_load(&crowd[1].turns), 1, HF_MUTEX_HANDOFFS);
    hf_mutex_free(crowd[1].mutex);
    assert_int_equal(hf_client_close(elsewhere), HF_OK);
    world_close(&w);
}

/* Four wait, by turns in this client and in another, while this one has it. */
static void wait_by_turns(struct world *w, struct caller callers[4])
{
    assert_int_equal(hf_mutex_lock(w->mutex), HF_OK);
    for (int i = 0; i < 4; i++) {
        begin(w, &callers[i], i, i % 2 == 0 ? w->mutex : w->theirs, FAR_MS);
        kit_await_tickets(&w->home.place, 2 + i);
    }
    assert_int_equal(hf_mutex_unlock(w->mutex), HF_OK);
    for (int i = 0; i < 4; i++) {
        join(&callers[i]);
        assert_int_equal(callers[i].status, HF_OK);
        assert_int_equal(callers[i].unlocked, HF_OK);
    }
}

/* Each has a ticket of its own: nobody is overtaken, neither by threads of this
 * client nor, because a ticket has yet to be made, by those of another. */
static void without_handoffs_nobody_overtakes(void **state)
{
    struct world w;
    struct caller callers[4];

    (void)state;
    world_open(&w);
    world_meet(&w);
    hf_mutex_free(w.mutex);
    w.mutex = open_bounded(w.home.client, 0);
    assert_null(w.home.client->cohorts.root);
    wait_by_turns(&w, callers);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(w.order[i], i);
        assert_true(i == 0 || callers[i].token > callers[i - 1].token);
    }
    world_part(&w);
    world_close(&w);
}

/* As the README says: ours pass the ticket on, at most as often as asked. */
static void a_ticket_is_handed_on_as_often_as_asked(void **state)
{
    static const int expected[] = {0, 3, 1, 2};
    struct world w;
    struct caller callers[4];

    (void)state;
    world_open(&w);
    world_meet(&w);
    hf_mutex_free(w.mutex);
    w.mutex = open_bounded(w.home.client, 1);
    assert_int_equal(hf_mutex_lock(w.mutex), HF_OK);
    for (int i = 0; i < 3; i++)
        call(&w, &callers[i], i, w.mutex, FAR_MS);
    begin(&w, &callers[3], 3, w.theirs, FAR_MS);
    kit_await_tickets(&w.home.place, 2);
    assert_int_equal(hf_mutex_unlock(w.mutex), HF_OK);
    for (int i = 0; i < 4; i++)
        join(&callers[i]);
    assert_memory_equal(w.order, expected, sizeof(expected));
    world_part(&w);
    world_close(&w);
}

/* Two bounds are two queues, each with its own ticket. */
static void handles_with_other_bounds_queue_apart(void **state)
{
    struct world w;
    struct caller callers[2];
    struct hf_mutex *once, *again;

    (void)state;
    world_open(&w);
    once = open_bounded(w.home.client, 1);
    again = open_bounded(w.home.client, 1);
    assert_int_equal(hf_mutex_lock(w.mutex), HF_OK);
    begin(&w, &callers[0], 0, once, FAR_MS);
    kit_await_tickets(&w.home.place, 2);
    call(&w, &callers[1], 1, again, FAR_MS); /* behind the first one's */
    assert_int_equal(place_tickets(&w.home.place), 2);
    assert_int_equal(hf_mutex_unlock(w.mutex), HF_OK);
    for (int i = 0; i < 2; i++) {
        join(&callers[i]);
        assert_int_equal(callers[i].status, HF_OK);
        assert_int_equal(w.order[i], i);
    }
    assert_true(callers[0].token == callers[1].token);
    hf_mutex_free(once);
    hf_mutex_free(again);
    world_close(&w);
}

/* ----------------------------------------------------------------- ends -- */

static void unlock(void *arg)
{
    struct caller *caller = arg;

    caller->unlocked = hf_mutex_unlock(caller->mutex);
}

static void *cancelled_main(void *arg)
{
    struct caller *caller = arg;

    caller->status = hf_mutex_lock(caller->mutex);
    pthread_cleanup_push(unlock, caller);
    pthread_testcancel();
    pthread_cleanup_pop(1);
    return caller;
}

/* It ends behind the call, as its owner, and what it does then is heard. */
static void a_cancelled_thread_keeps_its_place(void **state)
{
    struct world w;
    struct caller cancelled, next;
    void *result;

    (void)state;
    world_open(&w);
    assert_int_equal(hf_mutex_lock(w.mutex), HF_OK);
    cancelled = (struct caller){.world = &w, .mutex = w.mutex};
    cancelled.thread = kit_thread(cancelled_main, &cancelled);
    await_members(&w, 2);
    call(&w, &next, 1, w.mutex, FAR_MS);
    assert_int_equal(pthread_cancel(cancelled.thread), 0);
    assert_int_equal(members(&w), 3);
    assert_int_equal(hf_mutex_unlock(w.mutex), HF_OK);
    pthread_join(cancelled.thread, &result);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    assert_int_equal(cancelled.status, HF_OK);
    assert_int_equal(cancelled.unlocked, HF_OK);
    join(&next);
    assert_int_equal(next.status, HF_OK);
    world_close(&w);
}

static void closing_ends_every_wait(void **state)
{
    struct world w;
    struct caller callers[THREADS];

    (void)state;
    world_open(&w);
    assert_int_equal(hf_mutex_lock(w.mutex), HF_OK);
    for (int i = 0; i < THREADS; i++)
        call(&w, &callers[i], i, w.mutex, FAR_MS);
    assert_int_equal(hf_client_close(w.home.client), HF_OK);
    for (int i = 0; i < THREADS; i++) {
        join(&callers[i]);
        assert_int_equal(callers[i].status, HF_ECLOSED);
    }
    assert_int_equal(hf_mutex_unlock(w.mutex), HF_ELOST);
    assert_int_equal(hf_mutex_trylock(w.mutex), HF_ECLOSED);
    hf_mutex_free(w.mutex);
    assert_int_equal(place_tickets(&w.home.place), 0);
    place_remove(&w.home.place);
}

/* The ticket is taken away under the one that holds: the next one has another,
 * and the first must count down. */
static void a_lost_ticket_is_lost_by_its_holder_alone(void **state)
{
    struct world w;
    struct caller next;
    uint64_t token;

    (void)state;
    world_open(&w);
    assert_int_equal(hf_mutex_lock(w.mutex), HF_OK);
    token = hf_mutex_token(w.mutex);
    call(&w, &next, 0, w.mutex, FAR_MS);
    place_rob(&w.home.place);
    join(&next);
    assert_int_equal(next.status, HF_OK);
    assert_int_equal(next.unlocked, HF_OK);
    assert_true(next.token > token);
    assert_int_equal(hf_mutex_lock(w.mutex), HF_ELOST);
    assert_int_equal(hf_mutex_unlock(w.mutex), HF_ELOST);
    world_close(&w);
}

static int child_story(void *arg)
{
    struct world *w = arg;

    KIT_CHECK(hf_mutex_lock(w->mutex) == HF_EFORKED);
    KIT_CHECK(hf_mutex_unlock(w->mutex) == HF_EFORKED);
    hf_mutex_free(w->mutex);
    return 0;
}

static void a_child_disturbs_nobody_who_waits(void **state)
{
    struct world w;
    struct caller callers[2];

    (void)state;
    world_open(&w);
    assert_int_equal(hf_mutex_lock(w.mutex), HF_OK);
    call(&w, &callers[0], 0, w.mutex, FAR_MS);
    call(&w, &callers[1], 1, w.mutex, FAR_MS);
    kit_in_child(child_story, &w);
    assert_int_equal(members(&w), 3);
    assert_int_equal(place_tickets(&w.home.place), 1);
    assert_int_equal(hf_mutex_unlock(w.mutex), HF_OK);
    for (int i = 0; i < 2; i++) {
        join(&callers[i]);
        assert_int_equal(callers[i].status, HF_OK);
        assert_int_equal(w.order[i], i);
    }
    world_close(&w);
}

/* A queue of their own each, and none is left of it. */
static void other_names_and_clients_have_queues_of_their_own(void **state)
{
    struct world w;
    struct hf_mutex *other;

    (void)state;
    world_open(&w);
    assert_int_equal(hf_mutex_open(w.home.client, "other", NULL, &other),
                     HF_OK);
    assert_int_equal(hf_mutex_lock(w.mutex), HF_OK);
    assert_int_equal(hf_mutex_lock(other), HF_OK);
    assert_int_equal(place_tickets(&w.home.place), 2);
    hf_mutex_free(other); /* and unlocks it */
    kit_await_tickets(&w.home.place, 1);
    assert_int_equal(hf_mutex_unlock(w.mutex), HF_OK);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fn60_threads_are_served_in_order_behind_one_ticket),
        cmocka_unit_test(a_try_is_refused_without_looking),
        cmocka_unit_test(a_limit_ends_one_wait_and_no_other),
        cmocka_unit_test(threads_do_not_starve_another_process),
        cmocka_unit_test(without_handoffs_nobody_overtakes),
        cmocka_unit_test(a_ticket_is_handed_on_as_often_as_asked),
        cmocka_unit_test(handles_with_other_bounds_queue_apart),
        cmocka_unit_test(a_cancelled_thread_keeps_its_place),
        cmocka_unit_test(closing_ends_every_wait),
        cmocka_unit_test(a_lost_ticket_is_lost_by_its_holder_alone),
        cmocka_unit_test(a_child_disturbs_nobody_who_waits),
        cmocka_unit_test(other_names_and_clients_have_queues_of_their_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
