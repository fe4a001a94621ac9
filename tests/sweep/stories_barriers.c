/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of those who wait for each other. */
#include "story.h"

/* ---------------------------------------------------------------- barrier --
 */

static void a_barrier_is_raised_and_lowered(struct cast *cast)
{
    struct hf_lock_opts traced = HF_LOCK_OPTS_INIT;
    const char *name = story_name(cast, "gate", &traced);
    struct hf_client *client = story_join(cast, HF_DELIVER_THREAD);
    struct hf_barrier *barrier;
    struct later waiting;
    hf_status status;

    later_init(&waiting, cast);
    WELL(cast, hf_barrier_open(client, name, &barrier), text_of_client, client);
    WELL(cast, hf_barrier_raise(barrier, STORY_PATIENCE_MS), text_of_barrier,
         barrier);
    GIVES(cast, hf_barrier_wait(barrier, 0), HF_EBUSY, text_of_barrier,
          barrier);
    status = hf_barrier_wait_start(barrier, STORY_PATIENCE_MS,
                                   later_done(&waiting), &waiting.op);
    WELL(cast, hf_barrier_lower(barrier, STORY_PATIENCE_MS), text_of_barrier,
         barrier);
    (void)story_ended_well(cast, "hf_barrier_wait_start",
                           later_end(&waiting, status), NULL);
    WELL(cast, hf_barrier_wait(barrier, STORY_PATIENCE_MS), text_of_barrier,
         barrier);
    hf_barrier_free(barrier);
    story_leave(cast, client);
}

/* --------------------------------------------------------- double barrier --
 */

struct two {
    struct hf_double_barrier *barriers[2];
    struct later laters[2];
    hf_status started[2];
};

static bool has_failed(struct two *two, int i)
{
    return two->started[i] != HF_OK ||
           (atomic_load(&two->laters[i].ended) > 0 &&
            atomic_load(&two->laters[i].status) != HF_OK);
}

static bool are_decided(void *arg)
{
    struct two *two = arg;

    return has_failed(two, 0) || has_failed(two, 1) ||
           (atomic_load(&two->laters[0].ended) > 0 &&
            atomic_load(&two->laters[1].ended) > 0);
}

/* Where one was kept out the other is called off, or goes out again: false. */
static bool have_entered(struct cast *cast, struct two *two)
{
    static const char call[] = "hf_double_barrier_enter_start";
    bool entered = !has_failed(two, 0) && !has_failed(two, 1);
    hf_status status;

    for (int i = 0; i < 2; i++) {
        if (!entered && two->started[i] == HF_OK)
            hf_op_cancel(two->laters[i].op);
        status = later_end(&two->laters[i], two->started[i]);
        if (!entered && status == HF_OK)
            entered = hf_double_barrier_leave(two->barriers[i], 0) == HF_ESTATE;
        else if (entered || status != HF_ECANCELLED)
            (void)story_ended_well(cast, call, status, NULL);
    }
    return entered;
}

static bool enter(struct cast *cast, struct two *two)
{
    for (int i = 0; i < 2; i++)
        two->started[i] = hf_double_barrier_enter_start(
            two->barriers[i], STORY_PATIENCE_MS, later_done(&two->laters[i]),
            &two->laters[i].op);
    story_until(cast, are_decided, two, "two at a double barrier");
    return have_entered(cast, two);
}

/* To leave is to release a ticket, which a fault may leave unconfirmed. */
static void see_left(struct cast *cast, const char *call, hf_status status,
                     const struct hf_double_barrier *barrier)
{
    if (status == HF_ELOST)
        story_released(cast, call, status);
    else
        (void)story_went_well(cast, call, status,
                              barrier != NULL ? text_of_double : NULL, barrier);
}

static void leave(struct cast *cast, struct two *two)
{
    struct later *later = &two->laters[0];
    hf_status status = hf_double_barrier_leave_start(
        two->barriers[0], STORY_PATIENCE_MS, later_done(later), &later->op);
    bool begun =
        story_ended_well(cast, "hf_double_barrier_leave_start", status, NULL);

    if (!begun) /* it is inside still, and out when it is freed */
        CHECK(cast, later_end(later, status) == status);
    see_left(cast, "hf_double_barrier_leave",
             hf_double_barrier_leave(two->barriers[1],
                                     begun ? STORY_PATIENCE_MS : 0),
             two->barriers[1]);
    if (begun)
        see_left(cast, "hf_double_barrier_leave_start", later_end(later, HF_OK),
                 NULL);
}

static void see_members(struct cast *cast, struct hf_double_barrier *barrier,
                        size_t count)
{
    struct hf_tickets *members;

    WELL(cast,
         hf_double_barrier_participants(barrier, STORY_PATIENCE_MS, &members),
         text_of_double, barrier);
    CHECK(cast, hf_tickets_count(members) == count);
    hf_tickets_free(members);
}

static void two_begin_and_end_together(struct cast *cast)
{
    struct hf_lock_opts traced = HF_LOCK_OPTS_INIT;
    const char *name = story_name(cast, "round", &traced);
    struct hf_client *clients[2];
    struct two two;

    for (int i = 0; i < 2; i++) {
        clients[i] = story_join(cast, HF_DELIVER_THREAD);
        later_init(&two.laters[i], cast);
        WELL(cast,
             hf_double_barrier_open(clients[i], name, 2, &two.barriers[i]),
             text_of_client, clients[i]);
    }
    see_members(cast, two.barriers[0], 0);
    if (!enter(cast, &two) && !enter(cast, &two))
        story_complain(cast, "two could not enter, twice");
    see_members(cast, two.barriers[1], 2);
    leave(cast, &two);
    for (int i = 0; i < 2; i++) {
        hf_double_barrier_free(two.barriers[i]);
        story_leave(cast, clients[i]);
    }
}

const struct story stories_of_barriers[] = {
    {"a_barrier_is_raised_and_lowered", a_barrier_is_raised_and_lowered},
    {"two_begin_and_end_together", two_begin_and_end_together},
    {NULL, NULL},
};
