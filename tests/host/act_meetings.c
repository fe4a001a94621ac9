/* SPDX-License-Identifier: Apache-2.0 */
/* Where several meet: barriers, double barriers, elections. */
#include "act.h"

#include <stdio.h>

#define MARKED                                                                 \
    (END(END_CLOSE) | END(END_RELEASE) | END(END_FREE) | END(END_TIMEOUT) |    \
     END(END_LOSS))
#define WAITED (MARKED | END(END_CANCEL))
#define PARTIES 2

/* --------------------------------------------------------------- barrier -- */

static void barrier(struct play *play)
{
    char name[96];

    (void)snprintf(name, sizeof(name), "%s-barrier", play->name);
    CELL_CHECK(play->cell, hf_barrier_open(play->cell->front.client, name,
                                           &play->barrier) == HF_OK);
}

static void barrier_up(struct play *play)
{
    barrier(play);
    (void)deed_done(play, &call_raise, 0, NULL);
}

static void raise_it(struct play *play)
{
    act_begin(play, &call_raise, 0, NULL);
}

static void lower_it(struct play *play)
{
    act_begin(play, &call_lower, 0, NULL);
}

static void wait_at_it(struct play *play)
{
    act_begin(play, &call_wait, 0, NULL);
}

/* By a handle of his own, for the first may have been freed. */
static bool somebody_lowers(struct play *play)
{
    if (play->helped)
        return false;
    if (play->barrier == NULL)
        barrier(play);
    (void)deed_begin(play, &call_lower, 0, NULL);
    return true;
}

static void lower_meanwhile(struct play *play)
{
    (void)somebody_lowers(play);
}

static void raise_meanwhile(struct play *play)
{
    (void)deed_begin(play, &call_raise, 0, NULL);
}

/* -------------------------------------------------------- double barrier -- */

static void meet(struct play *play)
{
    const char *name = act_queue(play, "round", HF_KIND_PARTICIPANT);

    for (int i = 0; i < PARTIES; i++)
        CELL_CHECK(play->cell,
                   hf_double_barrier_open(play->cell->front.client, name,
                                          PARTIES, &play->parties[i]) == HF_OK);
}

static void round_full(struct play *play)
{
    meet(play);
    (void)deed_begin(play, &call_enter, 0, NULL);
    (void)deed_begin(play, &call_enter, 1, NULL);
    cell_until(play->cell, deeds_have_ended, play, "both are in");
}

static void enter(struct play *play)
{
    act_begin(play, &call_enter, 0, NULL);
}

static void leave(struct play *play)
{
    act_begin(play, &call_leave, 0, NULL);
}

static void members(struct play *play)
{
    act_begin(play, &call_members, 0, NULL);
}

/* What the second party has done last. */
static const struct deed *last_of_other(const struct play *play)
{
    const struct deed *last = &play->deeds[play->count - 1];

    return last->which == 1 ? last : NULL;
}

/* Who frees the first takes the second along; who was lost inside, and with him
 * the place of the first, leaves and comes again.  So does one whose first is
 * in and has not been told yet, as often as there is time for: a few times. */
static bool other_enters(struct play *play)
{
    const struct deed *last = last_of_other(play);
    bool inside = last != NULL && last->call == &call_enter;

    if (deed_has_ended(play->deed) || play->count == PLAY_DEEDS ||
        (last != NULL && !deed_has_ended((void *)last)))
        return false;
    if (play->parties[1] == NULL)
        CELL_CHECK(play->cell,
                   hf_double_barrier_open(play->cell->front.client,
                                          play->queues[0].name, PARTIES,
                                          &play->parties[1]) == HF_OK);
    (void)deed_begin(play, inside ? &call_leave : &call_enter, 1, NULL);
    return true;
}

static bool other_leaves(struct play *play)
{
    if (play->helped || play->parties[1] == NULL)
        return false;
    (void)deed_begin(play, &call_leave, 1, NULL);
    return true;
}

/* -------------------------------------------------------------- election -- */

/* Elected, and deposed, by turns; none of it after a resignation. */
static void on_elected(void *arg, struct hf_election *election, uint64_t token)
{
    struct deed *deed = arg;

    (void)election;
    CELL_CHECK(deed->play->cell, token != 0);
    CELL_CHECK(deed->play->cell, atomic_fetch_add(&deed->leads, 1) == 0);
    deed_end(deed, HF_OK);
    cell_hear(deed, INSIDE_DONE);
}

static void on_deposed(void *arg, struct hf_election *election, uint64_t token)
{
    struct deed *deed = arg;

    (void)election;
    CELL_CHECK(deed->play->cell, token != 0);
    CELL_CHECK(deed->play->cell, atomic_fetch_sub(&deed->leads, 1) == 1);
    cell_hear(deed, INSIDE_LOSS);
}

static void on_ended(void *arg, struct hf_election *election,
                     const struct hf_error *why)
{
    struct deed *deed = arg;

    (void)election;
    CELL_CHECK(deed->play->cell, why->status != HF_OK && why->text[0] != '\0');
    deed_end(deed, why->status);
}

/* The last one: it will hear no more. */
static void on_candidate_drop(void *arg)
{
    struct deed *deed = arg;

    if (atomic_fetch_add(&deed->drops, 1) + 1 == deed->callbacks)
        deed_end(deed, HF_ECANCELLED);
}

static void candidate(struct play *play)
{
    struct hf_election_opts opts = HF_ELECTION_OPTS_INIT;
    struct deed *deed = deed_next(play, &call_run, 0, NULL);

    opts.on_elected =
        (struct hf_on_election){on_elected, deed, on_candidate_drop};
    opts.on_deposed =
        (struct hf_on_election){on_deposed, deed, on_candidate_drop};
    opts.on_ended = (struct hf_on_ended){on_ended, deed, on_candidate_drop};
    deed->callbacks = 3;
    CELL_CHECK(play->cell,
               hf_election_open(play->cell->front.client,
                                act_queue(play, "crown", HF_KIND_ELECTION),
                                &opts, &play->election) == HF_OK);
}

static void run(struct play *play)
{
    play->deed = &play->deeds[0];
    deed_start(play->deed);
}

static void resign_meanwhile(struct play *play)
{
    (void)deed_begin(play, &call_resign, 0, NULL);
}

static void leader(struct play *play)
{
    candidate(play);
    deed_start(&play->deeds[0]);
    cell_until(play->cell, deed_has_ended, &play->deeds[0], "somebody leads");
}

static void standing(struct play *play)
{
    candidate(play);
    deed_start(&play->deeds[0]);
}

static void lead(struct play *play)
{
    act_begin(play, &call_lead, 0, NULL);
}

static void resign(struct play *play)
{
    act_begin(play, &call_resign, 0, NULL);
}

static void list_leader(struct play *play)
{
    act_begin(play, &call_leader, 0, NULL);
}

static void list_candidates(struct play *play)
{
    act_begin(play, &call_candidates, 0, NULL);
}

/* ---------------------------------------------------------------------- */

const struct act acts_meetings[] = {
    {
        .name = "barrier-raise",
        .prepare = barrier,
        .begin = raise_it,
        .release = lower_meanwhile,
        .endings = MARKED,
    },
    {
        .name = "barrier-lower",
        .prepare = barrier_up,
        .begin = lower_it,
        .release = raise_meanwhile,
        .endings = MARKED,
    },
    {
        .name = "barrier-wait",
        .prepare = barrier_up,
        .begin = wait_at_it,
        .help = somebody_lowers,
        .release = lower_meanwhile,
        .endings = WAITED,
    },
    {
        .name = "enter",
        .prepare = meet,
        .begin = enter,
        .help = other_enters,
        .endings = WAITED & ~END(END_RELEASE),
    },
    {
        .name = "leave",
        .prepare = round_full,
        .begin = leave,
        .help = other_leaves,
        .endings = WAITED & ~END(END_RELEASE),
        .other = {HF_ELOST},
    },
    {
        .name = "members",
        .prepare = round_full,
        .begin = members,
        .endings = MARKED & ~END(END_RELEASE),
    },
    {
        .name = "election-run",
        .prepare = candidate,
        .begin = run,
        .release = resign_meanwhile,
        .endings =
            END(END_CLOSE) | END(END_RELEASE) | END(END_FREE) | END(END_LOSS),
        .other = {HF_ECANCELLED},
    },
    {
        .name = "election-wait",
        .prepare = standing,
        .begin = lead,
        .release = resign_meanwhile,
        .endings = WAITED,
        .other = {HF_ECANCELLED, HF_ESTATE},
    },
    {
        .name = "election-resign",
        .prepare = leader,
        .begin = resign,
        .endings = END(END_CLOSE) | END(END_FREE) | END(END_LOSS),
        .finishes = true,
    },
    {
        .name = "election-leader",
        .prepare = leader,
        .begin = list_leader,
        .release = resign_meanwhile,
        .endings = MARKED,
    },
    {
        .name = "election-candidates",
        .prepare = leader,
        .begin = list_candidates,
        .release = resign_meanwhile,
        .endings = MARKED,
    },
};
const int acts_meetings_count =
    sizeof(acts_meetings) / sizeof(acts_meetings[0]);
