/* SPDX-License-Identifier: Apache-2.0 */
/* Double barriers, in each way to use a client: rounds, threads, processes and
 * wrong calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "round.h"

/* ---------------------------------------------------------------- rounds -- */

static void all_come_and_all_go(enum way way)
{
    struct errand first;
    struct round w;

    round_open(&w, way);
    for (int i = 0; i < ROUNDS; i++) {
        round_begin(&w, &first, w.mine, ROUND_ENTER, HF_FOREVER);
        round_until_there(&w, 1);
        assert_int_equal(atomic_load(&first.ended), 0);
        assert_int_equal(round_run(&w, w.theirs, ROUND_ENTER, HF_FOREVER),
                         HF_OK);
        assert_int_equal(errand_end(&first), HF_OK);
        round_begin(&w, &first, i % 2 == 0 ? w.mine : w.theirs, ROUND_LEAVE,
                    HF_FOREVER);
        assert_int_equal(atomic_load(&first.ended), 0);
        assert_int_equal(round_run(&w, i % 2 == 0 ? w.theirs : w.mine,
                                   ROUND_LEAVE, HF_FOREVER),
                         HF_OK);
        assert_int_equal(errand_end(&first), HF_OK);
        assert_int_equal(round_there(&w), 0);
    }
    round_close(&w);
}

static void one_alone_is_enough_for_one(enum way way)
{
    struct hf_double_barrier *alone;
    struct round w;

    round_open(&w, way);
    alone = round_party(&w, 1);
    assert_int_equal(round_run(&w, alone, ROUND_ENTER, 0), HF_OK);
    assert_int_equal(round_run(&w, alone, ROUND_LEAVE, 0), HF_OK);
    assert_int_equal(round_run(&w, alone, ROUND_ENTER, HF_FOREVER), HF_OK);
    assert_int_equal(round_run(&w, alone, ROUND_LEAVE, HF_FOREVER), HF_OK);
    hf_double_barrier_free(alone);
    round_close(&w);
}

static void so_many_as_there_may_be(enum way way)
{
    struct hf_double_barrier *all[HF_PARTIES_MAX];
    struct hf_done nobody = {NULL, NULL, NULL};
    struct round w;

    round_open(&w, way);
    for (size_t i = 0; i < HF_PARTIES_MAX; i++)
        all[i] = round_party(&w, 60);
    for (size_t i = 0; i < 59; i++)
        assert_int_equal(
            hf_double_barrier_enter_start(all[i], HF_FOREVER, nobody, NULL),
            HF_OK);
    assert_int_equal(round_there(&w), 59);
    assert_int_equal(round_run(&w, all[59], ROUND_ENTER, HF_FOREVER), HF_OK);
    for (size_t i = 0; i < HF_PARTIES_MAX; i++)
        hf_double_barrier_free(all[i]);
    round_until_there(&w, 0); /* each as he is let in */
    round_close(&w);
}

/* Whoever counts enough lets all in who are there. */
static void the_smaller_number_is_enough(enum way way)
{
    struct hf_double_barrier *three;
    struct errand first;
    struct round w;

    round_open(&w, way);
    three = round_party(&w, 3);
    round_begin(&w, &first, three, ROUND_ENTER, HF_FOREVER);
    round_until_there(&w, 1);
    assert_int_equal(round_run(&w, w.mine, ROUND_ENTER, HF_FOREVER), HF_OK);
    assert_int_equal(errand_end(&first), HF_OK);
    round_begin(&w, &first, three, ROUND_LEAVE, HF_FOREVER);
    assert_int_equal(round_run(&w, w.mine, ROUND_LEAVE, HF_FOREVER), HF_OK);
    assert_int_equal(errand_end(&first), HF_OK);
    hf_double_barrier_free(three);
    round_close(&w);
}

static void nobody_waits_longer_than_he_wants(enum way way)
{
    struct errand e;
    struct round w;

    round_open(&w, way);
    round_begin(&w, &e, w.mine, ROUND_ENTER, 0);
    assert_int_equal(errand_end(&e), HF_EBUSY);
    assert_non_null(strstr(e.text, "1 of 2 parties are there"));
    assert_int_equal(round_run(&w, w.mine, ROUND_ENTER, 20), HF_ETIMEDOUT);
    assert_int_equal(round_there(&w), 0);
    round_both(&w, ROUND_ENTER);
    round_begin(&w, &e, w.mine, ROUND_LEAVE, 0);
    assert_int_equal(errand_end(&e), HF_EBUSY);
    assert_non_null(strstr(e.text, "others of the round are there"));
    assert_int_equal(round_there(&w), 1); /* it is outside */
    assert_int_equal(round_run(&w, w.theirs, ROUND_LEAVE, 0), HF_OK);
    round_both(&w, ROUND_ENTER);
    round_begin(&w, &e, w.theirs, ROUND_LEAVE, 20);
    assert_int_equal(errand_end(&e), HF_ETIMEDOUT);
    assert_non_null(strstr(e.text, "others of the round were still there"));
    assert_int_equal(round_run(&w, w.mine, ROUND_LEAVE, 0), HF_OK);
    assert_int_equal(round_there(&w), 0);
    round_close(&w);
}

/* The lowest keeps its ticket until it is alone, any other goes before the
 * wait; to whoever leaves that makes no difference. */
static void it_waits_with_its_ticket_or_without(enum way way)
{
    static const char comes[] = {SCRIPTED_FIRST_COMES, SCRIPTED_LAST_COMES};
    static const char goes[] = {SCRIPTED_FIRST_GOES, SCRIPTED_LAST_GOES};
    struct errand e;
    struct round w;

    round_open(&w, way);
    for (int keeps = 0; keeps < 2; keeps++) {
        round_say_first(&w, comes[keeps]);
        assert_int_equal(round_run(&w, w.mine, ROUND_ENTER, HF_FOREVER), HF_OK);
        round_begin(&w, &e, w.mine, ROUND_LEAVE, HF_FOREVER);
        round_until_there(&w, 1 + keeps);
        assert_int_equal(atomic_load(&e.ended), 0);
        round_say(&w, goes[keeps]);
        assert_int_equal(errand_end(&e), HF_OK);
        assert_int_equal(round_there(&w), 0);
    }
    round_close(&w);
}

/* What the first of its looks found is no failure. */
static void who_left_well_has_no_story(enum way way)
{
    struct hf_error error;
    struct errand e;
    struct round w;

    round_open(&w, way);
    round_say_first(&w, SCRIPTED_FIRST_COMES);
    assert_int_equal(round_run(&w, w.mine, ROUND_ENTER, HF_FOREVER), HF_OK);
    round_begin(&w, &e, w.mine, ROUND_LEAVE, HF_FOREVER);
    round_until_there(&w, 1);
    round_say(&w, SCRIPTED_FIRST_GOES);
    assert_int_equal(errand_end(&e), HF_OK);
    hf_double_barrier_error(w.mine, &error);
    assert_int_equal(error.status, HF_OK);
    assert_string_equal(error.text, "");
    round_close(&w);
}

/* "w" for each who waits and "i" for each inside, in order. */
static void assert_seen(struct round *w, const char *expected)
{
    const struct hf_ticket_view *view;
    char seen[8] = "";
    struct errand e;

    round_begin(w, &e, w->mine, ROUND_MEMBERS, HF_FOREVER);
    assert_int_equal(errand_end(&e), HF_OK);
    assert_in_range(hf_tickets_count(e.tickets), 0, sizeof(seen) - 1);
    for (size_t i = 0; (view = hf_tickets_at(e.tickets, i)) != NULL; i++) {
        assert_int_equal(view->kind, HF_KIND_PARTICIPANT);
        assert_true(view->own || strcmp(view->owner, "stranger") == 0);
        seen[i] = view->holds ? 'i' : 'w';
    }
    hf_tickets_free(e.tickets);
    assert_string_equal(seen, expected);
}

static void who_is_there_can_be_seen(enum way way)
{
    struct errand first;
    struct round w;

    round_open(&w, way);
    assert_seen(&w, "");
    round_begin(&w, &first, w.theirs, ROUND_ENTER, HF_FOREVER);
    round_until_there(&w, 1);
    assert_seen(&w, "w");
    assert_int_equal(round_run(&w, w.mine, ROUND_ENTER, HF_FOREVER), HF_OK);
    assert_int_equal(errand_end(&first), HF_OK);
    assert_seen(&w, "ii");
    round_say_first(&w, SCRIPTED_LAST_COMES);
    assert_seen(&w, "iiw");
    round_both(&w, ROUND_LEAVE);
    assert_seen(&w, "w");
    round_close(&w);
}

/* Nobody is notified that it has entered, and it is inside only when that
 * callback would have run, perhaps on another thread. */
static bool leaves(void *arg)
{
    struct hf_done nobody = {NULL, NULL, NULL};
    struct round *w = arg;
    hf_status status =
        hf_double_barrier_leave_start(w->mine, HF_FOREVER, nobody, NULL);

    assert_true(status == HF_OK || status == HF_ESTATE);
    return status == HF_OK;
}

/* A caller that passes no callback is not notified. */
static void the_end_need_not_be_heard(enum way way)
{
    struct hf_done nobody = {NULL, NULL, NULL};
    struct round w;

    round_open(&w, way);
    assert_int_equal(
        hf_double_barrier_enter_start(w.mine, HF_FOREVER, nobody, NULL), HF_OK);
    assert_int_equal(round_run(&w, w.theirs, ROUND_ENTER, HF_FOREVER), HF_OK);
    assert_int_equal(round_run(&w, w.theirs, ROUND_LEAVE, 20), HF_ETIMEDOUT);
    round_until_there(&w, 1);
    front_until(&w.front, leaves, &w);
    round_until_there(&w, 0);
    round_close(&w);
}

/* ------------------------------------------------------- from a callback -- */

struct chain {
    struct round *world;
    struct hf_op *op;
    _Atomic int left;
    hf_status in_callback;
    hf_status status;
};

static void on_left(void *arg, const struct hf_result *result)
{
    struct chain *chain = arg;

    chain->status = result->status;
    atomic_store(&chain->left, 1);
}

static void on_entered(void *arg, const struct hf_result *result)
{
    struct chain *chain = arg;
    struct hf_done done = {on_left, chain, NULL};

    assert_int_equal(result->status, HF_OK);
    chain->in_callback = hf_double_barrier_leave(chain->world->mine, 0);
    assert_int_equal(hf_double_barrier_leave_start(chain->world->mine,
                                                   HF_FOREVER, done, NULL),
                     HF_OK);
}

static bool has_left(void *arg)
{
    return atomic_load(&((struct chain *)arg)->left) > 0;
}

/* It is inside from the callback on, and may be left there and then; not by a
 * call that waits, where that would wait for itself. */
static void it_can_be_left_in_its_callback(enum way way)
{
    struct round w;
    struct chain chain = {.world = &w, .in_callback = HF_OK};
    struct hf_done done = {on_entered, &chain, NULL};

    if (way == WAY_BLOCKING)
        return;
    round_open(&w, way);
    assert_int_equal(
        hf_double_barrier_enter_start(w.mine, HF_FOREVER, done, &chain.op),
        HF_OK);
    assert_int_equal(round_run(&w, w.theirs, ROUND_ENTER, HF_FOREVER), HF_OK);
    assert_int_equal(round_run(&w, w.theirs, ROUND_LEAVE, HF_FOREVER), HF_OK);
    front_until(&w.front, has_left, &chain);
    assert_int_equal(chain.in_callback, HF_EREENTRANT);
    assert_int_equal(chain.status, HF_OK);
    hf_op_free(chain.op);
    round_close(&w);
}

#define STORIES(X)                                                             \
    X(all_come_and_all_go)                                                     \
    X(one_alone_is_enough_for_one)                                             \
    X(so_many_as_there_may_be)                                                 \
    X(the_smaller_number_is_enough)                                            \
    X(nobody_waits_longer_than_he_wants)                                       \
    X(it_waits_with_its_ticket_or_without)                                     \
    X(who_left_well_has_no_story)                                              \
    X(who_is_there_can_be_seen)                                                \
    X(the_end_need_not_be_heard)                                               \
    X(it_can_be_left_in_its_callback)

#include "in_each_way.h"

/* ------------------------------------------------- threads and processes -- */

static void *go_round(void *arg)
{
    for (int i = 0; i < 10 * ROUNDS; i++) {
        assert_int_equal(hf_double_barrier_enter(arg, HF_FOREVER), HF_OK);
        assert_int_equal(hf_double_barrier_leave(arg, HF_FOREVER), HF_OK);
    }
    return NULL;
}

static void two_threads_go_round(void **state)
{
    pthread_t thread;
    struct round w;

    (void)state;
    round_open(&w, WAY_BLOCKING);
    thread = kit_thread(go_round, w.theirs);
    (void)go_round(w.mine);
    pthread_join(thread, NULL);
    round_close(&w);
}

static void *push_in(void *arg)
{
    int *got_in = calloc(1, sizeof(*got_in));

    assert_non_null(got_in);
    for (int i = 0; i < 10 * ROUNDS; i++) {
        hf_status status = hf_double_barrier_enter(arg, HF_FOREVER);

        assert_true(status == HF_OK || status == HF_ESTATE);
        if (status == HF_OK)
            assert_int_equal(hf_double_barrier_leave(arg, HF_FOREVER), HF_OK);
        *got_in += status == HF_OK;
    }
    return got_in;
}

/* One handle is one party, whoever calls. */
static void two_threads_are_not_one_party_twice(void **state)
{
    struct hf_double_barrier *alone;
    pthread_t thread;
    struct round w;
    int *got_in[2];
    void *theirs;

    (void)state;
    round_open(&w, WAY_BLOCKING);
    alone = round_party(&w, 1);
    thread = kit_thread(push_in, alone);
    got_in[0] = push_in(alone);
    pthread_join(thread, &theirs);
    got_in[1] = theirs;
    /* One who is refused may be so many times while the other is in. */
    assert_true(*got_in[0] + *got_in[1] > 0);
    free(got_in[0]);
    free(got_in[1]);
    hf_double_barrier_free(alone);
    round_close(&w);
}

static int use_parents(void *arg)
{
    struct hf_done nobody = {NULL, NULL, NULL};
    struct round *w = arg;
    struct hf_double_barrier *other;
    struct hf_tickets *tickets;
    struct hf_error error;
    struct hf_op *op;

    KIT_CHECK(hf_double_barrier_open(w->front.client, "round", 2, &other) ==
              HF_EFORKED);
    KIT_CHECK(hf_double_barrier_open(w->front.client, "round", 0, &other) ==
              HF_EFORKED);
    KIT_CHECK(hf_double_barrier_participants(w->mine, 0, &tickets) ==
              HF_EFORKED);
    KIT_CHECK(tickets == NULL);
    KIT_CHECK(hf_double_barrier_leave(w->mine, 0) == HF_EFORKED);
    KIT_CHECK(hf_double_barrier_leave_start(w->mine, 0, nobody, &op) ==
              HF_EFORKED);
    KIT_CHECK(op == NULL);
    KIT_CHECK(hf_double_barrier_enter(w->theirs, 0) == HF_EFORKED);
    KIT_CHECK(hf_double_barrier_enter_start(w->theirs, 0, nobody, &op) ==
              HF_EFORKED);
    KIT_CHECK(op == NULL);
    hf_double_barrier_error(w->mine, &error);
    KIT_CHECK(error.status == HF_EFORKED);
    hf_double_barrier_free(w->mine);
    hf_double_barrier_free(w->theirs);
    return 0;
}

static void a_child_leaves_it_alone(void **state)
{
    struct round w;

    (void)state;
    round_open(&w, WAY_BLOCKING);
    round_say_first(&w, SCRIPTED_LAST_COMES);
    assert_int_equal(round_run(&w, w.mine, ROUND_ENTER, HF_FOREVER), HF_OK);
    kit_in_child(use_parents, &w);
    assert_int_equal(round_there(&w), 2);
    round_say_first(&w, SCRIPTED_LAST_GOES);
    assert_int_equal(round_run(&w, w.mine, ROUND_LEAVE, HF_FOREVER), HF_OK);
    round_close(&w);
}

/* ---------------------------------------------------------------- misuse -- */

static void refuse(struct round *w, const char *name, uint32_t parties,
                   hf_status expected)
{
    struct hf_double_barrier *barrier = w->mine;
    struct hf_error error;

    assert_int_equal(
        hf_double_barrier_open(w->front.client, name, parties, &barrier),
        expected);
    assert_null(barrier);
    hf_client_error(w->front.client, &error);
    assert_int_equal(error.status, expected);
    assert_non_null(strstr(error.text, "hf_double_barrier_open: "));
}

static void what_cannot_be_opened(void **state)
{
    struct hf_double_barrier *most;
    struct round w;

    (void)state;
    round_open(&w, WAY_BLOCKING);
    refuse(&w, "round", 0, HF_EINVAL);
    refuse(&w, "round", HF_PARTIES_MAX + 1, HF_EINVAL);
    refuse(&w, "round", UINT32_MAX, HF_EINVAL);
    refuse(&w, "a//b", 2, HF_ENAME);
    hf_double_barrier_free(NULL);
    most = round_party(&w, HF_PARTIES_MAX);
    hf_double_barrier_free(most);
    round_close(&w);
}

static void expect_error(struct hf_double_barrier *barrier, const char *text)
{
    struct hf_error error;

    hf_double_barrier_error(barrier, &error);
    assert_string_equal(error.text, text);
}

static void what_is_called_out_of_turn(void **state)
{
    struct errand e = {.ended = 0};
    struct hf_op *op;
    struct round w;

    (void)state;
    round_open(&w, WAY_THREAD);
    assert_int_equal(hf_double_barrier_leave(w.mine, 0), HF_ESTATE);
    expect_error(w.mine, "hf_double_barrier_leave: it is not inside; enter "
                         "first");
    assert_int_equal(
        hf_double_barrier_leave_start(w.mine, 0, errand_done(&e), &op),
        HF_ESTATE);
    assert_null(op);
    assert_int_equal(atomic_load(&e.dropped), 1);
    round_begin(&w, &e, w.mine, ROUND_ENTER, HF_FOREVER);
    assert_int_equal(hf_double_barrier_enter(w.mine, 0), HF_ESTATE);
    expect_error(w.mine, "hf_double_barrier_enter: it is entering; wait for "
                         "the end");
    assert_int_equal(round_run(&w, w.theirs, ROUND_ENTER, HF_FOREVER), HF_OK);
    assert_int_equal(errand_end(&e), HF_OK);
    assert_int_equal(hf_double_barrier_enter(w.mine, 0), HF_ESTATE);
    expect_error(w.mine, "hf_double_barrier_enter: it is inside already; leave "
                         "first");
    round_begin(&w, &e, w.mine, ROUND_LEAVE, HF_FOREVER);
    assert_int_equal(
        hf_double_barrier_leave_start(w.mine, 0, errand_done(&e), &op),
        HF_ESTATE);
    expect_error(w.mine, "hf_double_barrier_leave_start: it is leaving; wait "
                         "for the end");
    assert_int_equal(atomic_exchange(&e.dropped, 0), 1);
    assert_int_equal(round_run(&w, w.theirs, ROUND_LEAVE, HF_FOREVER), HF_OK);
    assert_int_equal(errand_end(&e), HF_OK);
    round_close(&w);
}

static void what_is_called_after_the_end(void **state)
{
    struct errand e = {.ended = 0};
    struct hf_op *op;
    struct round w;

    (void)state;
    round_open(&w, WAY_THREAD);
    round_both(&w, ROUND_ENTER);
    assert_int_equal(hf_double_barrier_leave(w.theirs, 0), HF_EBUSY);
    front_close(&w.front);
    assert_int_equal(hf_double_barrier_enter(w.theirs, 0), HF_ECLOSED);
    assert_int_equal(
        hf_double_barrier_enter_start(w.theirs, 0, errand_done(&e), &op),
        HF_ECLOSED);
    assert_null(op);
    assert_int_equal(
        hf_double_barrier_leave_start(w.mine, 0, errand_done(&e), &op),
        HF_ECLOSED);
    assert_null(op);
    assert_int_equal(atomic_load(&e.dropped), 2);
    assert_int_equal(atomic_load(&e.ended), 0);
    assert_int_equal(hf_double_barrier_leave(w.mine, 0), HF_ESTATE);
    hf_double_barrier_free(w.mine);
    hf_double_barrier_free(w.theirs);
    round_forget(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORIES(STORY_TESTS) cmocka_unit_test(two_threads_go_round),
        cmocka_unit_test(two_threads_are_not_one_party_twice),
        cmocka_unit_test(a_child_leaves_it_alone),
        cmocka_unit_test(what_cannot_be_opened),
        cmocka_unit_test(what_is_called_out_of_turn),
        cmocka_unit_test(what_is_called_after_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
