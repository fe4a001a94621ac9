/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depth-first search with checkpoints: before each but the last action the
 * state is restored.
 */
#include "simulator/explore/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "simulator/explore/arena.h"
#include "simulator/explore/checkpoint.h"
#include "simulator/explore/state_digest.h"
#include "simulator/explore/visited.h"

/* One of this many states with a known digest is checked. */
#define CHECK_EVERY 8

static struct cluster cluster; /* too large for a stack */

static struct {
    struct exploration exploration;
    struct search_report *found;
    struct case_run case_run;
    struct visited_states visited_states;
    uint64_t revisits;
} search;

/* What was found from some state on. */
struct search_result {
    double paths;
    unsigned longest;
    bool complete; /* no path was cut off */
    uint64_t self; /* from the digest of the state */
    uint64_t next; /* sum over the digests of its successors */
};

static void explore(unsigned depth, struct search_result *search_result);

struct search_report *search_map_report(void)
{
    void *memory =
        mmap(NULL, sizeof(struct search_report), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        perror("holdfast-sim: mmap");
        exit(EXIT_FAILURE);
    }
    return memory;
}

/* ----------------------------------------------------------------- steps -- */

/* Record the action in the path and take it. */
static void take_action(const struct action *action, unsigned depth)
{
    struct search_report *found = search.found;

    found->path[depth] = action_label(action);
    found->length = depth + 1;
    found->steps++;
    found->faults += action_is_fault(action->kind);
    action_take(&search.case_run, action);
}

static void restore(const struct checkpoint *checkpoint,
                    const struct case_run *case_run)
{
    checkpoint_restore(checkpoint, &cluster);
    search.case_run = *case_run;
}

static void add(struct search_result *sum,
                const struct search_result *search_result)
{
    sum->paths += search_result->paths;
    sum->complete &= search_result->complete;
    sum->next += search_result->self;
    if (search_result->longest + 1 > sum->longest)
        sum->longest = search_result->longest + 1;
}

/* Take ${action} and explore all that comes after it. */
static void explore_action(const struct action *action, unsigned depth,
                           struct search_result *sum)
{
    struct search_result search_result = {.complete = true};

    take_action(action, depth);
    if (cluster.broken != 0)
        return;
    explore(depth + 1, &search_result);
    add(sum, &search_result);
}

/* ------------------------------------------------------------- reduction -- */

static const struct action *first_with(const struct action *actions,
                                       size_t count,
                                       enum action_independence independence)
{
    for (size_t i = 0; !search.exploration.check_reduction && i < count; i++) {
        if (action_independence(&search.case_run, &actions[i]) == independence)
            return &actions[i];
    }
    return NULL;
}

/* Explore ${action} alone if it is independent of all others; false if it is
 * not, and then nothing has happened. */
static bool explore_independent(const struct action *action, unsigned depth,
                                struct search_result *sum)
{
    struct checkpoint *checkpoint;
    struct case_run case_run = search.case_run;
    uint64_t notified = cluster.grants + cluster.losses;
    bool seen;

    if (action == NULL)
        return false;
    checkpoint = checkpoint_new(&cluster);
    take_action(action, depth);
    seen = cluster.grants + cluster.losses != notified;
    if (seen && cluster.broken == 0)
        restore(checkpoint, &case_run);
    checkpoint_free(checkpoint);
    if (cluster.broken != 0)
        return true;
    if (seen) {
        search.found->steps--;
        return false;
    }
    struct search_result search_result = {.complete = true};
    explore(depth + 1, &search_result);
    add(sum, &search_result);
    return true;
}

/* ------------------------------------------------------------ all orders -- */

/* Explore all of them, each from the current state. */
static void explore_actions(const struct action *actions, size_t count,
                            unsigned depth, struct search_result *sum)
{
    struct checkpoint *checkpoint = checkpoint_new(&cluster);
    struct case_run case_run = search.case_run;

    for (size_t i = 0; i < count && cluster.broken == 0; i++) {
        if (i > 0)
            restore(checkpoint, &case_run);
        explore_action(&actions[i], depth, sum);
    }
    checkpoint_free(checkpoint);
}

/* Explore all successors of the current state. */
static void expand(unsigned depth, struct search_result *sum)
{
    struct action actions[ACTIONS_MAX];
    size_t count = actions_find(&search.case_run, actions);
    const struct action *independent =
        first_with(actions, count, ACTION_INDEPENDENT);

    if (count == 0) {
        search.found->ends++;
        sum->paths = 1;
        explore_case_finish(&cluster);
    } else if (depth == search.exploration.depth) {
        search.found->cut_off++;
        sum->complete = false;
    } else if (independent != NULL) {
        explore_action(independent, depth, sum);
    } else if (!explore_independent(
                   first_with(actions, count,
                              ACTION_INDEPENDENT_UNLESS_NOTIFIED),
                   depth, sum)) {
        explore_actions(actions, count, depth, sum);
    }
}

/* ------------------------------------------------ check of the reduction -- */

/* The digest of ${visited_state} has come up again: check that the current
 * state has the successors that it had. */
static void check_same_successors(const struct visited_state *visited_state)
{
    struct action actions[ACTIONS_MAX];
    size_t count = actions_find(&search.case_run, actions);
    struct checkpoint *checkpoint = checkpoint_new(&cluster);
    struct case_run case_run = search.case_run;
    uint64_t next = 0;

    for (size_t i = 0; i < count && cluster.broken == 0; i++) {
        action_take(&search.case_run, &actions[i]);
        next += case_run_digest(&search.case_run).words[1];
        restore(checkpoint, &case_run);
    }
    checkpoint_free(checkpoint);
    search.found->checked++;
    if (next != visited_state->next)
        cluster_broken(
            &cluster, 0x100,
            "states with one digest have other successors: "
            "tests/simulator/explore/state_digest.c misses something");
}

/* Explore the current state, unless it is known and was explored far enough. */
static void explore(unsigned depth, struct search_result *search_result)
{
    struct digest digest = case_run_digest(&search.case_run);
    unsigned left = search.exploration.depth - depth;
    bool known;
    struct visited_state *visited_state =
        visited_at(&search.visited_states, &digest, &known);

    search_result->self = digest.words[1];
    if (known && visited_state->paths < 0) {
        cluster_broken(&cluster, 4, "the run returns to a state it was in");
        return;
    }
    if (known &&
        (visited_state->complete || visited_state->steps_left >= left)) {
        *search_result =
            (struct search_result){.paths = visited_state->paths,
                                   .longest = visited_state->longest,
                                   .complete = visited_state->complete,
                                   .self = digest.words[1]};
        if (search.exploration.check_reduction && visited_state->complete &&
            ++search.revisits % CHECK_EVERY == 0)
            check_same_successors(visited_state);
        return;
    }
    visited_state->paths = -1;
    expand(depth, search_result);
    visited_state = visited_at(&search.visited_states, &digest, &known);
    visited_state->paths = search_result->paths;
    visited_state->longest = (uint16_t)search_result->longest;
    visited_state->complete = search_result->complete;
    visited_state->next = search_result->next;
    visited_state->steps_left = (uint16_t)left;
}

/* ---------------------------------------------------------- entry points -- */

void search_prepare(const struct exploration *exploration,
                    struct search_report *found)
{
    memset(found, 0, sizeof *found);
    search.exploration = *exploration;
    search.found = found;
}

/* The exploration begins at the state in which all clients are connected. */
void search_run(struct seeds_report *report)
{
    struct search_result search_result = {.complete = true};

    search.case_run = (struct case_run){
        .explore_case = search.exploration.explore_case,
        .cluster = &cluster,
        .other_steps =
            search.exploration.explore_case->fault == CASE_FAULT_OTHER_CLIENT,
        .no_symmetry = search.exploration.check_reduction};
    arena_begin();
    explore_case_start(search.exploration.explore_case, &cluster);
    explore(0, &search_result);
    search.found->paths = search_result.paths;
    search.found->longest = search_result.longest;
    search.found->states = search.visited_states.count;
    report->broken = cluster.broken;
    memcpy(report->message, cluster.message, sizeof report->message);
    visited_free(&search.visited_states);
}
