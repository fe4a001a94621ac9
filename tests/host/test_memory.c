/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation fails, one after the other: each call then has a status,
 * nothing is lost, and no ticket stays behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kit.h"

/* ---------------------------------------------------------- the allocator */

static struct {
    _Atomic long live;  /* allocated and not released */
    _Atomic long calls; /* since the story began */
    long fail_at;       /* which of them fails, from 1; 0: none */
    bool for_good;      /* and all after it */
    _Atomic long failed;
} heap;

static bool fails_now(void)
{
    long call = atomic_fetch_add(&heap.calls, 1) + 1;
    bool fails = heap.fail_at != 0 &&
                 (heap.for_good ? call >= heap.fail_at : call == heap.fail_at);

    if (fails)
        atomic_fetch_add(&heap.failed, 1);
    return fails;
}

static void *allocate(size_t bytes, void *arg)
{
    void *memory;

    assert_ptr_equal(arg, &heap);
    if (fails_now())
        return NULL;
    memory = malloc(bytes);
    if (memory != NULL)
        atomic_fetch_add(&heap.live, 1);
    return memory;
}

static void *resize(void *memory, size_t bytes, void *arg)
{
    void *resized;

    assert_ptr_equal(arg, &heap);
    if (fails_now())
        return NULL;
    resized = realloc(memory, bytes);
    if (memory == NULL && resized != NULL)
        atomic_fetch_add(&heap.live, 1);
    return resized;
}

static void release(void *memory, void *arg)
{
    assert_ptr_equal(arg, &heap);
    assert_non_null(memory);
    free(memory);
    atomic_fetch_sub(&heap.live, 1);
}

static const struct hf_allocator allocator = {allocate, resize, release, &heap};

/* ---------------------------------------------------------------- parties */

struct party {
    struct hf_client *client;
    struct hf_lock *lock;
    _Atomic int ended;
    _Atomic int dropped;
    _Atomic hf_status status;
    struct hf_grant *grant;
};

static void on_log(void *arg, enum hf_log_level level, const char *line)
{
    (void)arg;
    (void)level;
    assert_true(line[0] != '\0');
}

/* Success, or the trouble that was made, or what comes of it in time. */
static bool note(hf_status status)
{
    enum hf_class class = hf_status_class(status);
    bool expected = status == HF_OK ||
                    (heap.fail_at != 0 && class == HF_CLASS_RESOURCE) ||
                    (heap.for_good && class == HF_CLASS_TIMEOUT);

    if (!expected)
        print_error("allocation %ld%s: %s\n", heap.fail_at,
                    heap.for_good ? " and all after it" : "",
                    hf_status_name(status));
    assert_true(expected);
    return status == HF_OK;
}

static void on_state(void *arg, enum hf_state state)
{
    (void)arg;
    (void)state;
}

static void on_drop(void *arg)
{
    atomic_fetch_add(&((struct party *)arg)->dropped, 1);
}

static bool party_open(struct party *party, const struct place *place)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    struct hf_error error;

    memset(party, 0, sizeof(*party));
    opts.on_log = (struct hf_on_log){on_log, NULL, HF_LOG_DEBUG};
    opts.on_state = (struct hf_on_state){on_state, party, NULL};
    if (!note(hf_client_open(place->url, &opts, &party->client, &error))) {
        assert_true(error.text[0] != '\0');
        assert_null(party->client);
        return false;
    }
    if (note(hf_lock_open(party->client, "nightly", NULL, &party->lock)))
        return true;
    hf_client_error(party->client, &error);
    assert_int_equal(error.status, HF_ENOMEM);
    assert_null(party->lock);
    return false;
}

static void party_close(struct party *party)
{
    hf_lock_free(party->lock);
    assert_int_equal(hf_client_close(party->client), HF_OK);
}

static struct hf_acquire_opts patient(void)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    opts.wait_ms = heap.for_good ? 30 : 10000;
    return opts;
}

static bool has_ended(void *arg)
{
    return atomic_load(&((struct party *)arg)->ended) > 0;
}

static bool has_queued_or_ended(void *arg)
{
    struct party *party = arg;
    struct hf_grant *grant;

    /* Somebody is in the queue before whoever asks now. */
    if (has_ended(party))
        return true;
    if (hf_try_acquire(party->lock, &grant) == HF_OK)
        return hf_grant_release(grant) != HF_OK;
    return true;
}

/* ---------------------------------------------------------------- stories */

static void *wait_main(void *arg)
{
    struct party *party = arg;
    struct hf_acquire_opts opts = patient();

    party->status = hf_acquire(party->lock, &opts, &party->grant);
    atomic_fetch_add(&party->ended, 1);
    return NULL;
}

static void wait_and_hand_over(struct party *a, struct party *b)
{
    struct hf_acquire_opts opts = patient();
    struct hf_grant *grant;
    pthread_t thread;

    if (!note(hf_acquire(a->lock, &opts, &grant))) {
        assert_null(grant);
        return;
    }
    thread = kit_thread(wait_main, b);
    kit_until(has_queued_or_ended, a);
    (void)note(hf_grant_release(grant));
    pthread_join(thread, NULL);
    if (note(b->status))
        (void)note(hf_grant_release(b->grant));
    else
        assert_null(b->grant);
}

static void waiting(const struct place *place)
{
    struct party a = {.client = NULL}, b = {.client = NULL};

    if (party_open(&a, place) && party_open(&b, place))
        wait_and_hand_over(&a, &b);
    party_close(&a);
    party_close(&b);
}

static void on_wait(void *arg, const struct hf_wait *wait)
{
    (void)arg;
    assert_non_null(wait->holder);
}

static void on_done(void *arg, const struct hf_result *result)
{
    struct party *party = arg;

    party->status = result->status;
    party->grant = result->grant;
    assert_true(result->status == HF_OK || result->text[0] != '\0');
    atomic_fetch_add(&party->ended, 1);
}

/* True if it was started, and has ended. */
static bool called_back(struct party *party, hf_status started)
{
    if (!note(started)) {
        assert_int_equal(atomic_load(&party->ended), 0);
        return false;
    }
    kit_until(has_ended, party);
    assert_int_equal(atomic_load(&party->ended), 1);
    atomic_store(&party->ended, 0);
    return note(party->status);
}

/* How many drops there must have been in the end. */
static int start_and_give_back(struct party *a)
{
    struct hf_acquire_opts opts = patient();
    struct hf_done done = {on_done, a, on_drop};
    struct hf_op *op;
    int drops = 2; /* of the acquire: its end and its waiting */

    opts.on_wait = (struct hf_on_wait){on_wait, a, on_drop};
    if (called_back(a, hf_acquire_start(a->lock, &opts, done, &op))) {
        assert_non_null(a->grant);
        (void)called_back(a, hf_grant_release_start(a->grant, done));
        drops++;
    }
    hf_op_free(op);
    return drops;
}

static void starting(const struct place *place)
{
    struct party a = {.client = NULL};
    int drops = 0;

    if (party_open(&a, place))
        drops = start_and_give_back(&a);
    party_close(&a);
    assert_int_equal(atomic_load(&a.dropped), drops);
}

static void counting(const struct place *place)
{
    struct party a = {.client = NULL};
    struct hf_mutex *mutex = NULL;

    if (party_open(&a, place) &&
        note(hf_mutex_open(a.client, "counted", NULL, &mutex)) &&
        note(hf_mutex_timedlock(mutex, heap.for_good ? 30 : 10000))) {
        assert_int_equal(hf_mutex_lock(mutex), HF_OK);
        assert_int_equal(hf_mutex_unlock(mutex), HF_OK);
        assert_int_equal(hf_mutex_unlock(mutex), HF_OK);
    }
    hf_mutex_free(mutex);
    party_close(&a);
}

static void on_elected(void *arg, struct hf_election *election, uint64_t token)
{
    (void)election;
    assert_true(token != 0);
    atomic_fetch_add(&((struct party *)arg)->ended, 1);
}

static void on_candidature_ended(void *arg, struct hf_election *election,
                                 const struct hf_error *why)
{
    struct party *party = arg;

    (void)election;
    assert_true(why->text[0] != '\0');
    party->status = why->status;
    atomic_fetch_add(&party->ended, 1);
}

/* It leads, is thrown out, and leads again; or hears why not. */
static void lead_and_fall(struct party *a, struct hf_election *election,
                          const struct place *place)
{
    for (int i = 0; i < 2 && note(a->status); i++) {
        if (i > 0)
            place_rob(place);
        kit_until(has_ended, a);
        atomic_store(&a->ended, 0);
    }
    (void)note(hf_election_resign(election));
}

static void stand(struct party *a, const struct place *place)
{
    struct hf_election_opts opts = HF_ELECTION_OPTS_INIT;
    struct hf_election *election;

    opts.on_elected = (struct hf_on_election){on_elected, a, on_drop};
    opts.on_ended = (struct hf_on_ended){on_candidature_ended, a, on_drop};
    if (note(hf_election_open(a->client, "nightly", &opts, &election)) &&
        note(hf_election_run(election))) {
        if (heap.for_good) /* its retries would outlast us */
            (void)note(hf_election_resign(election));
        else
            lead_and_fall(a, election, place);
    }
    hf_election_free(election);
}

static void standing(const struct place *place)
{
    struct party a = {.client = NULL};
    int drops = 0;

    if (party_open(&a, place)) {
        stand(&a, place);
        drops = 2;
    }
    party_close(&a);
    assert_int_equal(atomic_load(&a.dropped), drops);
}

static void raise_and_wait(struct hf_barrier *barrier)
{
    uint64_t wait_ms = heap.for_good ? 30 : 10000;
    hf_status status;

    if (!note(hf_barrier_raise(barrier, wait_ms)))
        return;
    status = hf_barrier_wait(barrier, 0);
    assert_int_not_equal(status, HF_OK);
    if (status != HF_EBUSY)
        (void)note(status);
    if (note(hf_barrier_lower(barrier, wait_ms)))
        (void)note(hf_barrier_wait(barrier, wait_ms));
}

static void barring(const struct place *place)
{
    struct party a = {.client = NULL};
    struct hf_barrier *barrier = NULL;

    if (party_open(&a, place) &&
        note(hf_barrier_open(a.client, "gate", &barrier)))
        raise_and_wait(barrier);
    hf_barrier_free(barrier);
    party_close(&a);
}

/* ------------------------------------------------------------- the sweep */

static bool all_is_released(void *arg)
{
    (void)arg;
    return atomic_load(&heap.live) == 0;
}

/* Threads that nobody waits for give theirs back in their own time. */
static void tell(void (*story)(const struct place *place))
{
    struct place place;

    place_make(&place);
    atomic_store(&heap.calls, 0);
    atomic_store(&heap.failed, 0);
    story(&place);
    heap.fail_at = 0;
    kit_until(all_is_released, NULL);
    assert_int_equal(place_tickets(&place), 0);
    place_remove(&place);
}

/* Until there is no such allocation any more; how many there are may differ a
 * little from run to run. */
static void sweep(void (*story)(const struct place *place), bool for_good)
{
    long nth;

    tell(story);
    assert_true(atomic_load(&heap.calls) > 3);
    heap.for_good = for_good;
    for (nth = 1;; nth++) {
        assert_true(nth < 1000);
        heap.fail_at = nth;
        tell(story);
        if (atomic_load(&heap.failed) == 0)
            break;
    }
    heap.for_good = false;
    assert_true(nth > 3);
}

static void each_fails_while_waiting(void **state)
{
    (void)state;
    sweep(waiting, false);
}

static void all_fail_while_waiting(void **state)
{
    (void)state;
    sweep(waiting, true);
}

static void each_fails_with_callbacks(void **state)
{
    (void)state;
    sweep(starting, false);
}

static void all_fail_with_callbacks(void **state)
{
    (void)state;
    sweep(starting, true);
}

static void each_fails_while_counting(void **state)
{
    (void)state;
    sweep(counting, false);
}

static void all_fail_while_counting(void **state)
{
    (void)state;
    sweep(counting, true);
}

static void each_fails_while_standing(void **state)
{
    (void)state;
    sweep(standing, false);
}

static void all_fail_while_standing(void **state)
{
    (void)state;
    sweep(standing, true);
}

static void each_fails_at_a_barrier(void **state)
{
    (void)state;
    sweep(barring, false);
}

static void all_fail_at_a_barrier(void **state)
{
    (void)state;
    sweep(barring, true);
}

static void it_is_too_late_for_another(void **state)
{
    (void)state;
    assert_int_equal(hf_set_allocator(&allocator), HF_ESTATE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_fails_while_waiting),
        cmocka_unit_test(all_fail_while_waiting),
        cmocka_unit_test(each_fails_with_callbacks),
        cmocka_unit_test(all_fail_with_callbacks),
        cmocka_unit_test(each_fails_while_counting),
        cmocka_unit_test(all_fail_while_counting),
        cmocka_unit_test(each_fails_while_standing),
        cmocka_unit_test(all_fail_while_standing),
        cmocka_unit_test(each_fails_at_a_barrier),
        cmocka_unit_test(all_fail_at_a_barrier),
        cmocka_unit_test(it_is_too_late_for_another),
    };

    if (hf_set_allocator(&allocator) != HF_OK)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
