/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios of barriers and double barriers. */
#include "scenario.h"

/* --------------------------------------------------------------- barrier -- */

static void a_barrier_is_set_and_cleared(struct sweep_fixture *fixture)
{
    struct hf_lock_opts traced = HF_LOCK_OPTS_INIT;
    const char *name = scenario_name(fixture, "gate", &traced);
    struct hf_client *client = scenario_open_client(fixture, HF_DELIVER_THREAD);
    struct hf_barrier *barrier;
    struct pending_op waiting;
    hf_status status;

    pending_op_init(&waiting, fixture);
    EXPECT_OK(fixture, hf_barrier_open(client, name, &barrier));
    EXPECT_OK(fixture, hf_barrier_set(barrier, SCENARIO_TIMEOUT_MS));
    EXPECT_STATUS(fixture, hf_barrier_wait(barrier, 0), HF_EBUSY);
    status = hf_barrier_wait_start(barrier, SCENARIO_TIMEOUT_MS,
                                   pending_op_done(&waiting), &waiting.op);
    EXPECT_OK(fixture, hf_barrier_clear(barrier, SCENARIO_TIMEOUT_MS));
    (void)scenario_ended_ok(fixture, "hf_barrier_wait_start",
                            pending_op_end(&waiting, status), NULL);
    EXPECT_OK(fixture, hf_barrier_wait(barrier, SCENARIO_TIMEOUT_MS));
    hf_barrier_free(barrier);
    scenario_close_client(fixture, client);
}

/* -------------------------------------------------------- double barrier -- */

struct double_barrier_pair {
    struct hf_double_barrier *barriers[2];
    struct pending_op laters[2];
    hf_status started[2];
};

static bool has_failed(struct double_barrier_pair *two, int i)
{
    return two->started[i] != HF_OK ||
           (atomic_load(&two->laters[i].ended) > 0 &&
            atomic_load(&two->laters[i].status) != HF_OK);
}

static bool are_decided(void *arg)
{
    struct double_barrier_pair *two = arg;

    return has_failed(two, 0) || has_failed(two, 1) ||
           (atomic_load(&two->laters[0].ended) > 0 &&
            atomic_load(&two->laters[1].ended) > 0);
}

/* False if one could not enter; the other one is cancelled then, or leaves. */
static bool have_entered(struct sweep_fixture *fixture,
                         struct double_barrier_pair *two)
{
    static const char call[] = "hf_double_barrier_enter_start";
    bool entered = !has_failed(two, 0) && !has_failed(two, 1);
    hf_status status;

    for (int i = 0; i < 2; i++) {
        if (!entered && two->started[i] == HF_OK)
            hf_op_cancel(two->laters[i].op);
        status = pending_op_end(&two->laters[i], two->started[i]);
        if (!entered && status == HF_OK)
            entered = hf_double_barrier_leave(two->barriers[i], 0) == HF_ESTATE;
        else if (entered || status != HF_ECANCELLED)
            (void)scenario_ended_ok(fixture, call, status, NULL);
    }
    return entered;
}

static bool enter(struct sweep_fixture *fixture,
                  struct double_barrier_pair *two)
{
    for (int i = 0; i < 2; i++)
        two->started[i] = hf_double_barrier_enter_start(
            two->barriers[i], SCENARIO_TIMEOUT_MS,
            pending_op_done(&two->laters[i]), &two->laters[i].op);
    scenario_until(fixture, are_decided, two, "two at a double barrier");
    return have_entered(fixture, two);
}

/* Leaving releases a ticket, which a fault may leave unconfirmed. */
static void see_left(struct sweep_fixture *fixture, const char *call,
                     hf_status status, const char *text)
{
    if (status == HF_ELOST)
        scenario_released(fixture, call, status);
    else
        (void)scenario_ended_ok(fixture, call, status, text);
}

static void leave(struct sweep_fixture *fixture,
                  struct double_barrier_pair *two)
{
    struct pending_op *pending_op = &two->laters[0];
    hf_status status = hf_double_barrier_leave_start(
        two->barriers[0], SCENARIO_TIMEOUT_MS, pending_op_done(pending_op),
        &pending_op->op);
    bool begun = scenario_ended_ok(fixture, "hf_double_barrier_leave_start",
                                   status, NULL);

    if (!begun) /* it is inside still, and out when it is freed */
        CHECK(fixture, pending_op_end(pending_op, status) == status);
    status = hf_double_barrier_leave(two->barriers[1],
                                     begun ? SCENARIO_TIMEOUT_MS : 0);
    see_left(fixture, "hf_double_barrier_leave", status, hf_last_error()->text);
    if (begun)
        see_left(fixture, "hf_double_barrier_leave_start",
                 pending_op_end(pending_op, HF_OK), NULL);
}

static void see_participants(struct sweep_fixture *fixture,
                             struct hf_double_barrier *barrier, size_t count)
{
    struct hf_tickets *participants;

    EXPECT_OK(fixture, hf_double_barrier_participants(
                           barrier, SCENARIO_TIMEOUT_MS, &participants));
    CHECK(fixture, hf_tickets_count(participants) == count);
    hf_tickets_free(participants);
}

static void two_begin_and_end_together(struct sweep_fixture *fixture)
{
    struct hf_lock_opts traced = HF_LOCK_OPTS_INIT;
    const char *name = scenario_name(fixture, "round", &traced);
    struct hf_client *clients[2];
    struct double_barrier_pair two;

    for (int i = 0; i < 2; i++) {
        clients[i] = scenario_open_client(fixture, HF_DELIVER_THREAD);
        pending_op_init(&two.laters[i], fixture);
        EXPECT_OK(fixture, hf_double_barrier_open(clients[i], name, 2,
                                                  &two.barriers[i]));
    }
    see_participants(fixture, two.barriers[0], 0);
    if (!enter(fixture, &two) && !enter(fixture, &two))
        scenario_fail(fixture, "two could not enter, twice");
    see_participants(fixture, two.barriers[1], 2);
    leave(fixture, &two);
    for (int i = 0; i < 2; i++) {
        hf_double_barrier_free(two.barriers[i]);
        scenario_close_client(fixture, clients[i]);
    }
}

const struct scenario scenarios_of_barriers[] = {
    {"a_barrier_is_set_and_cleared", a_barrier_is_set_and_cleared},
    {"two_begin_and_end_together", two_begin_and_end_together},
    {NULL, NULL},
};
