/* SPDX-License-Identifier: Apache-2.0 */
/* Scripts for the shutdown sweep: barriers, double barriers, elections. */
#include "shutdown_script.h"

#include <stdio.h>

#define FLAG_ENDINGS                                                           \
    (END(END_CLOSE) | END(END_RELEASE) | END(END_FREE) | END(END_TIMEOUT) |    \
     END(END_LOSS))
#define WAIT_ENDINGS (FLAG_ENDINGS | END(END_CANCEL))
#define PARTICIPANTS 2

/* --------------------------------------------------------------- barrier -- */

static void barrier(struct script_run *run)
{
    char name[96];

    (void)snprintf(name, sizeof(name), "%s-barrier", run->name);
    CASE_CHECK(run->test_case, hf_barrier_open(run->test_case->fixture.client,
                                               name, &run->barrier) == HF_OK);
}

static void barrier_up(struct script_run *run)
{
    barrier(run);
    (void)operation_finish(run, &op_set, 0, NULL);
}

static void set_it(struct script_run *run)
{
    script_begin(run, &op_set, 0, NULL);
}

static void clear_it(struct script_run *run)
{
    script_begin(run, &op_clear, 0, NULL);
}

static void wait_at_it(struct script_run *run)
{
    script_begin(run, &op_wait, 0, NULL);
}

/* On a new handle if the first was freed. */
static bool other_clears(struct script_run *run)
{
    if (run->helped)
        return false;
    if (run->barrier == NULL)
        barrier(run);
    (void)operation_begin(run, &op_clear, 0, NULL);
    return true;
}

static void clear_meanwhile(struct script_run *run)
{
    (void)other_clears(run);
}

static void set_meanwhile(struct script_run *run)
{
    (void)operation_begin(run, &op_set, 0, NULL);
}

/* -------------------------------------------------------- double barrier -- */

static void open_participants(struct script_run *run)
{
    const char *name = script_queue(run, "round", HF_KIND_PARTICIPANT);

    for (int i = 0; i < PARTICIPANTS; i++)
        CASE_CHECK(run->test_case,
                   hf_double_barrier_open(run->test_case->fixture.client, name,
                                          PARTICIPANTS,
                                          &run->participants[i]) == HF_OK);
}

static void both_inside(struct script_run *run)
{
    open_participants(run);
    (void)operation_begin(run, &op_enter, 0, NULL);
    (void)operation_begin(run, &op_enter, 1, NULL);
    case_until(run->test_case, operations_have_ended, run, "both are in");
}

static void enter(struct script_run *run)
{
    script_begin(run, &op_enter, 0, NULL);
}

static void leave(struct script_run *run)
{
    script_begin(run, &op_leave, 0, NULL);
}

static void list_participants(struct script_run *run)
{
    script_begin(run, &op_participants, 0, NULL);
}

/* The last operation of the second participant. */
static const struct shutdown_operation *
last_of_other(const struct script_run *run)
{
    const struct shutdown_operation *last = &run->operations[run->count - 1];

    return last->which == 1 ? last : NULL;
}

/* The second participant enters, so that the first can.  If the first was
 * freed or lost inside, the second takes its turn alone: it leaves and
 * enters again, a few times. */
static bool other_enters(struct script_run *run)
{
    const struct shutdown_operation *last = last_of_other(run);
    bool inside = last != NULL && last->calls == &op_enter;

    if (operation_has_ended(run->operation) || run->count == RUN_OPERATIONS ||
        (last != NULL && !operation_has_ended((void *)last)))
        return false;
    if (run->participants[1] == NULL)
        CASE_CHECK(run->test_case,
                   hf_double_barrier_open(run->test_case->fixture.client,
                                          run->queues[0].name, PARTICIPANTS,
                                          &run->participants[1]) == HF_OK);
    (void)operation_begin(run, inside ? &op_leave : &op_enter, 1, NULL);
    return true;
}

static bool other_leaves(struct script_run *run)
{
    if (run->helped || run->participants[1] == NULL)
        return false;
    (void)operation_begin(run, &op_leave, 1, NULL);
    return true;
}

/* -------------------------------------------------------------- election -- */

/* on_elected and on_deposed alternate, and neither comes after a
 * resignation. */
static void on_elected(void *arg, struct hf_election *election, uint64_t token)
{
    struct shutdown_operation *operation = arg;

    (void)election;
    CASE_CHECK(operation->run->test_case, token != 0);
    CASE_CHECK(operation->run->test_case,
               atomic_fetch_add(&operation->leads, 1) == 0);
    operation_end(operation, HF_OK);
    case_in_callback(operation, INSIDE_DONE);
}

static void on_deposed(void *arg, struct hf_election *election, uint64_t token)
{
    struct shutdown_operation *operation = arg;

    (void)election;
    CASE_CHECK(operation->run->test_case, token != 0);
    CASE_CHECK(operation->run->test_case,
               atomic_fetch_sub(&operation->leads, 1) == 1);
    case_in_callback(operation, INSIDE_LOSS);
}

static void on_ended(void *arg, struct hf_election *election,
                     const struct hf_error *why)
{
    struct shutdown_operation *operation = arg;

    (void)election;
    CASE_CHECK(operation->run->test_case,
               why->status != HF_OK && why->text[0] != '\0');
    operation_end(operation, why->status);
}

/* After the last drop the candidate gets no callback any more. */
static void on_candidate_drop(void *arg)
{
    struct shutdown_operation *operation = arg;

    if (atomic_fetch_add(&operation->drops, 1) + 1 == operation->callbacks)
        operation_end(operation, HF_ECANCELLED);
}

static void candidate(struct script_run *run)
{
    struct hf_election_opts opts = HF_ELECTION_OPTS_INIT;
    struct shutdown_operation *operation =
        operation_next(run, &op_campaign, 0, NULL);

    opts.on_elected =
        (struct hf_on_election){on_elected, operation, on_candidate_drop};
    opts.on_deposed =
        (struct hf_on_election){on_deposed, operation, on_candidate_drop};
    opts.on_ended =
        (struct hf_on_ended){on_ended, operation, on_candidate_drop};
    operation->callbacks = 3;
    CASE_CHECK(run->test_case,
               hf_election_open(run->test_case->fixture.client,
                                script_queue(run, "crown", HF_KIND_ELECTION),
                                &opts, &run->election) == HF_OK);
}

static void begin_campaign(struct script_run *run)
{
    run->operation = &run->operations[0];
    operation_start(run->operation);
}

static void resign_meanwhile(struct script_run *run)
{
    (void)operation_begin(run, &op_resign, 0, NULL);
}

static void leader(struct script_run *run)
{
    candidate(run);
    operation_start(&run->operations[0]);
    case_until(run->test_case, operation_has_ended, &run->operations[0],
               "somebody leads");
}

static void campaigning(struct script_run *run)
{
    candidate(run);
    operation_start(&run->operations[0]);
}

static void wait_to_lead(struct script_run *run)
{
    script_begin(run, &op_lead, 0, NULL);
}

static void resign(struct script_run *run)
{
    script_begin(run, &op_resign, 0, NULL);
}

static void list_leader(struct script_run *run)
{
    script_begin(run, &op_leader, 0, NULL);
}

static void list_candidates(struct script_run *run)
{
    script_begin(run, &op_candidates, 0, NULL);
}

/* ---------------------------------------------------------------------- */

const struct shutdown_script scripts_barriers_elections[] = {
    {
        .name = "barrier-set",
        .prepare = barrier,
        .begin = set_it,
        .release = clear_meanwhile,
        .endings = FLAG_ENDINGS,
    },
    {
        .name = "barrier-clear",
        .prepare = barrier_up,
        .begin = clear_it,
        .release = set_meanwhile,
        .endings = FLAG_ENDINGS,
    },
    {
        .name = "barrier-wait",
        .prepare = barrier_up,
        .begin = wait_at_it,
        .help = other_clears,
        .release = clear_meanwhile,
        .endings = WAIT_ENDINGS,
    },
    {
        .name = "enter",
        .prepare = open_participants,
        .begin = enter,
        .help = other_enters,
        .endings = WAIT_ENDINGS & ~END(END_RELEASE),
    },
    {
        .name = "leave",
        .prepare = both_inside,
        .begin = leave,
        .help = other_leaves,
        .endings = WAIT_ENDINGS & ~END(END_RELEASE),
        .other_status = {HF_ELOST},
    },
    {
        .name = "members",
        .prepare = both_inside,
        .begin = list_participants,
        .endings = FLAG_ENDINGS & ~END(END_RELEASE),
    },
    {
        .name = "election-run",
        .prepare = candidate,
        .begin = begin_campaign,
        .release = resign_meanwhile,
        .endings =
            END(END_CLOSE) | END(END_RELEASE) | END(END_FREE) | END(END_LOSS),
        .other_status = {HF_ECANCELLED},
    },
    {
        .name = "election-wait",
        .prepare = campaigning,
        .begin = wait_to_lead,
        .release = resign_meanwhile,
        .endings = WAIT_ENDINGS,
        .other_status = {HF_ECANCELLED, HF_ESTATE},
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
        .endings = FLAG_ENDINGS,
    },
    {
        .name = "election-candidates",
        .prepare = leader,
        .begin = list_candidates,
        .release = resign_meanwhile,
        .endings = FLAG_ENDINGS,
    },
};
const int scripts_barriers_elections_count =
    sizeof(scripts_barriers_elections) / sizeof(scripts_barriers_elections[0]);
