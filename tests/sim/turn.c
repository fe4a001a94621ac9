/* SPDX-License-Identifier: Apache-2.0 */
#include "turn.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

const char *const turn_chances[CHANCES] = {
    [CHANCE_REFUSE] = "refuse", [CHANCE_LOSE] = "lose",
    [CHANCE_SLOW] = "slow",     [CHANCE_LATE] = "late",
    [CHANCE_DENY] = "deny",     [CHANCE_GARBLE] = "garble",
    [CHANCE_NOTICE] = "notice", [CHANCE_COMMIT] = "commit",
    [CHANCE_DRIFT] = "drift",
};

/* The world under way. */
static struct {
    struct turn_record *record;
    const struct turn_choice *choice; /* NULL: it is being recorded */
    struct hf_random *own;
    struct hf_sim *sim;
    unsigned after[TURNS_OF][TURN_TAKERS]; /* the turn each had last */
} course;

void turns_follow(struct turn_record *record, const struct turn_choice *choice)
{
    assert(record != NULL || choice == NULL);
    course.record = record;
    course.choice = choice;
}

static bool is_without(enum turn_chance chance)
{
    return course.choice != NULL && course.choice->without >> chance & 1;
}

bool turns_without_drift(void)
{
    return is_without(CHANCE_DRIFT);
}

static void leave_out(enum turn_chance chance, uint32_t *of)
{
    if (is_without(chance))
        *of = 0;
}

void turns_still(struct hf_sim_config *config)
{
    leave_out(CHANCE_REFUSE, &config->refuse_chance);
    leave_out(CHANCE_LOSE, &config->lose_chance);
    leave_out(CHANCE_SLOW, &config->slow_chance);
    leave_out(CHANCE_LATE, &config->late_chance);
    leave_out(CHANCE_DENY, &config->deny_chance);
    leave_out(CHANCE_GARBLE, &config->garble_chance);
    leave_out(CHANCE_NOTICE, &config->leases.notice_lost_chance);
    leave_out(CHANCE_NOTICE, &config->leases.notice_twice_chance);
    leave_out(CHANCE_NOTICE, &config->leases.notice_late_chance);
    leave_out(CHANCE_COMMIT, &config->leases.commit_chance);
    if (turns_without_drift())
        config->server_ppm = 0;
}

void turns_begin(struct hf_random *own, struct hf_sim *sim)
{
    course.own = own;
    course.sim = sim;
    memset(course.after, 0, sizeof course.after);
    if (course.record != NULL && course.choice == NULL)
        course.record->count = 0;
}

static void note(enum turn_of of, unsigned taker)
{
    struct turn_record *record = course.record;

    if (record->count == TURNS_MAX)
        return;
    record->turns[record->count++] = (struct turn){
        .of = of,
        .taker = taker,
        .at_us = hf_sim_now_us(course.sim),
        .own = *course.own,
        .model = *hf_sim_random(course.sim),
    };
}

/* The number of the next turn that ${taker} had; their count if there is none.
 */
static unsigned next_of(enum turn_of of, unsigned taker)
{
    const struct turn_record *record = course.record;
    unsigned i = course.after[of][taker];

    while (i < record->count &&
           (record->turns[i].of != of || record->turns[i].taker != taker))
        i++;
    return i;
}

bool turn_taken(enum turn_of of, unsigned taker)
{
    const struct turn *turn;
    unsigned i;

    assert(taker < TURN_TAKERS);
    if (course.record == NULL)
        return true;
    if (course.choice == NULL) {
        note(of, taker);
        return true;
    }
    i = next_of(of, taker);
    if (i == course.record->count)
        return false;
    course.after[of][taker] = i + 1;
    if (!course.choice->kept[i])
        return false;
    turn = &course.record->turns[i];
    *course.own = turn->own;
    *hf_sim_random(course.sim) = turn->model;
    return true;
}

uint64_t turn_in_us(enum turn_of of, unsigned taker, uint64_t us)
{
    uint64_t now_us, at_us;
    unsigned i;

    if (course.choice == NULL)
        return us;
    i = next_of(of, taker);
    if (i == course.record->count)
        return us;
    now_us = hf_sim_now_us(course.sim);
    at_us = course.record->turns[i].at_us;
    return at_us > now_us ? at_us - now_us : us;
}
