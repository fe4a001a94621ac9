/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records decisions with the states of the random generators, and replays
 * them.
 */
#include "simulator/random/decision.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

const char *const fault_chance_names[CHANCES] = {
    [CHANCE_REFUSE] = "refuse", [CHANCE_LOSE] = "lose",
    [CHANCE_SLOW] = "slow",     [CHANCE_LATE] = "late",
    [CHANCE_DENY] = "deny",     [CHANCE_GARBLE] = "garble",
    [CHANCE_NOTICE] = "notice", [CHANCE_COMMIT] = "commit",
    [CHANCE_DRIFT] = "drift",
};

/* The run that is being recorded or replayed. */
static struct {
    struct decision_log *recorded;
    const struct decision_selection *selection; /* NULL: the run is recorded */
    struct hf_random *random;
    struct hf_sim *sim;
    /* The number behind the last decision of each actor. */
    unsigned next[DECISION_KINDS][DECISION_ACTORS_MAX];
} replay;

void decisions_follow(struct decision_log *recorded,
                      const struct decision_selection *selection)
{
    assert(recorded != NULL || selection == NULL);
    replay.recorded = recorded;
    replay.selection = selection;
}

static bool drops_chance(enum fault_chance chance)
{
    return replay.selection != NULL && replay.selection->without >> chance & 1;
}

bool decisions_without_drift(void)
{
    return drops_chance(CHANCE_DRIFT);
}

static void drop_chance(enum fault_chance chance, uint32_t *kind)
{
    if (drops_chance(chance))
        *kind = 0;
}

/* The configuration without the faults that are left out. */
void decisions_drop_chances(struct hf_sim_config *config)
{
    drop_chance(CHANCE_REFUSE, &config->refuse_chance);
    drop_chance(CHANCE_LOSE, &config->lose_chance);
    drop_chance(CHANCE_SLOW, &config->slow_chance);
    drop_chance(CHANCE_LATE, &config->late_chance);
    drop_chance(CHANCE_DENY, &config->deny_chance);
    drop_chance(CHANCE_GARBLE, &config->garble_chance);
    drop_chance(CHANCE_NOTICE, &config->leases.notice_lost_chance);
    drop_chance(CHANCE_NOTICE, &config->leases.notice_twice_chance);
    drop_chance(CHANCE_NOTICE, &config->leases.notice_late_chance);
    drop_chance(CHANCE_COMMIT, &config->leases.commit_chance);
    if (decisions_without_drift())
        config->server_ppm = 0;
}

void decisions_start(struct hf_random *random, struct hf_sim *sim)
{
    replay.random = random;
    replay.sim = sim;
    memset(replay.next, 0, sizeof replay.next);
    if (replay.recorded != NULL && replay.selection == NULL)
        replay.recorded->count = 0;
}

/* Record a decision and the random numbers before it. */
static void append(enum decision_kind kind, unsigned actor)
{
    struct decision_log *recorded = replay.recorded;

    if (recorded->count == DECISIONS_MAX)
        return;
    recorded->decisions[recorded->count++] = (struct decision){
        .kind = kind,
        .actor = actor,
        .at_us = hf_sim_now_us(replay.sim),
        .random = *replay.random,
        .model = *hf_sim_random(replay.sim),
    };
}

/* The number of the next recorded decision of ${actor}; the count if there is
 * none. */
static unsigned next_of(enum decision_kind kind, unsigned actor)
{
    const struct decision_log *recorded = replay.recorded;
    unsigned i = replay.next[kind][actor];

    while (i < recorded->count && (recorded->decisions[i].kind != kind ||
                                   recorded->decisions[i].actor != actor))
        i++;
    return i;
}

/* A decision that is kept starts from the recorded random numbers. */
bool decision_taken(enum decision_kind kind, unsigned actor)
{
    const struct decision *decision;
    unsigned i;

    assert(actor < DECISION_ACTORS_MAX);
    if (replay.recorded == NULL)
        return true;
    if (replay.selection == NULL) {
        append(kind, actor);
        return true;
    }
    i = next_of(kind, actor);
    if (i == replay.recorded->count)
        return false;
    replay.next[kind][actor] = i + 1;
    if (!replay.selection->kept[i])
        return false;
    decision = &replay.recorded->decisions[i];
    *replay.random = decision->random;
    *hf_sim_random(replay.sim) = decision->model;
    return true;
}

/* While recording this is ${us}; a replay takes the recorded time. */
uint64_t decision_delay_us(enum decision_kind kind, unsigned actor, uint64_t us)
{
    uint64_t now_us, at_us;
    unsigned i;

    if (replay.selection == NULL)
        return us;
    i = next_of(kind, actor);
    if (i == replay.recorded->count)
        return us;
    now_us = hf_sim_now_us(replay.sim);
    at_us = replay.recorded->decisions[i].at_us;
    return at_us > now_us ? at_us - now_us : us;
}
