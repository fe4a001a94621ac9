/* SPDX-License-Identifier: Apache-2.0 */
/* A close that meets resistance: a callback that is running elsewhere, and a
 * process without descriptors to spare. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "kit.h"

struct slow {
    struct front front;
    _Atomic int entered;
    _Atomic int left;
    atomic_bool may_leave;
};

static bool may_leave(void *arg)
{
    return atomic_load(&((struct slow *)arg)->may_leave);
}

static void on_slow(void *arg, const struct hf_result *result)
{
    struct slow *slow = arg;

    (void)result;
    atomic_fetch_add(&slow->entered, 1);
    kit_until(may_leave, slow);
    atomic_fetch_add(&slow->left, 1);
}

static bool has_entered(void *arg)
{
    return atomic_load(&((struct slow *)arg)->entered) > 0;
}

static void *dispatch_main(void *arg)
{
    struct slow *slow = arg;

    while (!has_entered(slow))
        assert_int_equal(hf_client_dispatch(slow->front.client), HF_OK);
    return NULL;
}

static void *let_leave_main(void *arg)
{
    struct slow *slow = arg;

    /* The close has got as far as it can. */
    while (hf_client_state(slow->front.client) != HF_STATE_CLOSED)
        sched_yield();
    atomic_store(&slow->may_leave, true);
    return NULL;
}

/* A callback is running on another thread when the client is closed: it has
 * returned when the close has. */
static void close_waits_for_a_callback(enum way way)
{
    struct slow slow = {.entered = 0};
    struct hf_done done = {on_slow, &slow, NULL};
    struct place place;
    struct hf_lock *lock;
    pthread_t dispatcher = 0;
    pthread_t helper;

    place_make(&place);
    front_open(&slow.front, way, place.url, no_listener);
    lock = front_lock(&slow.front, "nightly");
    assert_int_equal(
        hf_grant_release_start(front_take(&slow.front, lock), done), HF_OK);
    if (way == WAY_DISPATCH)
        dispatcher = kit_thread(dispatch_main, &slow);
    kit_until(has_entered, &slow);
    helper = kit_thread(let_leave_main, &slow);
    assert_int_equal(hf_client_close(slow.front.client), HF_OK);
    assert_int_equal(atomic_load(&slow.left), 1);
    pthread_join(helper, NULL);
    if (way == WAY_DISPATCH)
        pthread_join(dispatcher, NULL);
    hf_lock_free(lock);
    place_remove(&place);
}

static void close_waits_for_a_callback_thread(void **state)
{
    (void)state;
    close_waits_for_a_callback(WAY_THREAD);
}

static void close_waits_for_a_callback_in_dispatch(void **state)
{
    (void)state;
    close_waits_for_a_callback(WAY_DISPATCH);
}

/* Nothing can be opened any more, but what is open must be closable. */
static void close_needs_no_descriptors(enum way way)
{
    struct rlimit before, none;
    struct place place;
    struct front front;
    struct hf_lock *lock;
    struct hf_grant *grant;

    place_make(&place);
    front_open(&front, way, place.url, no_listener);
    lock = front_lock(&front, "nightly");
    grant = front_take(&front, lock);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    front_close(&front);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(place_tickets(&place), 0);
    assert_int_equal(hf_grant_release(grant), HF_ELOST);
    hf_lock_free(lock);
    place_remove(&place);
}

struct ends {
    _Atomic int closed;
    _Atomic int drops;
};

static void on_closed(void *arg, const struct hf_result *result)
{
    (void)result;
    atomic_fetch_add(&((struct ends *)arg)->closed, 1);
}

static void on_close_drop(void *arg)
{
    atomic_fetch_add(&((struct ends *)arg)->drops, 1);
}

/* Without a thread to bring the end there is no start, and no harm. */
static void a_close_may_fail_to_start(void **state)
{
    struct front front;
    struct ends ends = {.closed = 0};
    struct hf_done done = {on_closed, &ends, on_close_drop};
    struct rlimit before, none;
    struct place place;
    hf_status status;

    (void)state;
    place_make(&place);
    front_open(&front, WAY_DISPATCH, place.url, no_listener);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    status = hf_client_close_start(front.client, done);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(status, HF_ELIMIT);
    assert_int_equal(atomic_load(&ends.drops), 1);
    front_close(&front);
    assert_int_equal(atomic_load(&ends.closed), 0);
    place_remove(&place);
}

/* ---------------------------------------------------------------------- */

#define STORIES(X) X(close_needs_no_descriptors)

#include "in_each_way.h"

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORIES(STORY_TESTS) /* in four ways */
        cmocka_unit_test(close_waits_for_a_callback_thread),
        cmocka_unit_test(close_waits_for_a_callback_in_dispatch),
        cmocka_unit_test(a_close_may_fail_to_start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
