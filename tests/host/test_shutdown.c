/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every shutdown race has a name: each act, ended in each way that makes sense,
 * after each number of turns that it takes, and inside its callbacks.
 *
 *     test_shutdown ENGINE WAY [STRIDE]   one in STRIDE moments, 1 by default
 *     test_shutdown --pairs ENGINE WAY [STRIDE]
 *                                         each beside another act
 *     test_shutdown CELL                  one cell, by the name that it has
 *                                         when it fails, for instance
 *                                         plain/uv/mutex-behind/cancel/7
 *     test_shutdown CELL+ACT              the same beside ACT
 */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "act.h"
#include "heap/heap.h"

static struct cell cell; /* its callers look at it when it fails */
static int cells;

/* ------------------------------------------------------------- its name -- */

static const char *const inside_names[INSIDES] = {"in-done", "in-wait",
                                                  "in-loss"};

static void name_cell(void)
{
    char moment[16];

    (void)snprintf(moment, sizeof(moment), "%d", cell.moment);
    (void)snprintf(cell.name, sizeof(cell.name), "%s/%s/%s/%s/%s%s%s",
                   cell.venue->name, way_names[cell.way],
                   cell.plays[0].act->name, ending_names[cell.ending],
                   cell.moment < 0 ? inside_names[-1 - cell.moment] : moment,
                   cell.count > 1 ? "+" : "",
                   cell.count > 1 ? cell.plays[1].act->name : "");
}

/* An assertion of the library's, a sanitizer's finding, a hang. */
static void on_death(int number)
{
    static const char says[] = ": died here\n";

    (void)!write(STDERR_FILENO, cell.name, strlen(cell.name));
    (void)!write(STDERR_FILENO, says, sizeof(says) - 1);
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void name_the_dead(void)
{
    static const int deaths[] = {SIGABRT, SIGSEGV, SIGBUS, SIGALRM};

    for (size_t i = 0; i < sizeof(deaths) / sizeof(deaths[0]); i++)
        (void)signal(deaths[i], on_death);
}

/* ------------------------------------------------------------- the sweep -- */

static const struct {
    const struct act *acts;
    const int *count;
} families[] = {{acts_locks, &acts_locks_count},
                {acts_owned, &acts_owned_count},
                {acts_meetings, &acts_meetings_count},
                {acts_sights, &acts_sights_count}};
#define FAMILIES (int)(sizeof(families) / sizeof(families[0]))

static const struct act *act_at(int index)
{
    for (int i = 0; i < FAMILIES; index -= *families[i++].count) {
        if (index < *families[i].count)
            return &families[i].acts[index];
    }
    return NULL;
}

static const struct act *act_called(const char *name)
{
    const struct act *act;

    for (int i = 0; (act = act_at(i)) != NULL; i++) {
        if (strcmp(act->name, name) == 0)
            break;
    }
    return act;
}

static int run_cell(const struct venue *venue, enum way way,
                    const struct act *act, enum ending ending, int moment,
                    const struct act *beside)
{
    memset(&cell, 0, sizeof(cell));
    cell.venue = venue;
    cell.way = way;
    cell.ending = ending;
    cell.moment = moment;
    cell.plays[0].act = act;
    cell.plays[1].act = beside;
    cell.count = beside == NULL ? 1 : 2;
    name_cell();
    cell_run(&cell);
    cells++;
    return cell.turns;
}

/* Freeing a handle under a call that waits is against the rules, and such a
 * call has no handle to cancel it by. */
static bool makes_sense(const struct venue *venue, enum way way,
                        const struct act *act, enum ending ending)
{
    if ((act->endings & END(ending)) == 0)
        return false;
    if (ending == END_LOSS && venue->lose == NULL)
        return false;
    return way != WAY_BLOCKING || (ending != END_FREE && ending != END_CANCEL);
}

static bool can_be_inside(enum way way, enum ending ending)
{
    return way != WAY_BLOCKING && ending != END_TIMEOUT && ending != END_LOSS;
}

struct sweep {
    const struct venue *venue;
    enum way way;
    int stride;
    bool pairs;
};

static bool is_of_sweep(const struct sweep *sweep, const struct act *act)
{
    enum act_form wrong =
        sweep->way == WAY_BLOCKING ? FORM_STARTED : FORM_WAITING;

    return act->form != wrong && (!sweep->pairs || !act->closes);
}

/* In a sweep of pairs another one for each cell. */
static const struct act *beside(const struct sweep *sweep)
{
    static int last;
    const struct act *act = NULL;

    if (!sweep->pairs)
        return NULL;
    while (act == NULL || !is_of_sweep(sweep, act)) {
        act = act_at(last);
        last = act == NULL ? 0 : last + 1;
    }
    return act;
}

static void sweep_ending(const struct sweep *sweep, const struct act *act,
                         enum ending ending, int turns)
{
    int first = can_be_inside(sweep->way, ending) ? -INSIDES : 0;

    for (int moment = first; moment <= turns + 1; moment++) {
        if (moment > 0 && moment % sweep->stride != 0)
            continue;
        if (moment == INSIDE_LOSS && sweep->venue->lose == NULL)
            continue;
        (void)run_cell(sweep->venue, sweep->way, act, ending, moment,
                       beside(sweep));
    }
}

static void sweep_act(const struct sweep *sweep, const struct act *act)
{
    int before = cells;
    int turns = run_cell(sweep->venue, sweep->way, act, END_NOT, INT_MAX, NULL);

    for (int ending = 1; ending < ENDINGS; ending++) {
        if (makes_sense(sweep->venue, sweep->way, act, (enum ending)ending))
            sweep_ending(sweep, act, (enum ending)ending, turns);
    }
    printf("%s/%s/%s: %d turns, %d cells\n", sweep->venue->name,
           way_names[sweep->way], act->name, turns, cells - before);
}

static int sweep_all(const struct sweep *sweep)
{
    const struct act *act;

    for (int i = 0; (act = act_at(i)) != NULL; i++) {
        if (is_of_sweep(sweep, act))
            sweep_act(sweep, act);
    }
    printf("%d passed, 0 failed\n", cells);
    return 0;
}

/* ------------------------------------------------------------- arguments -- */

static const struct venue *venue_called(const char *name)
{
    for (int i = 0; i < venue_count; i++) {
        if (strcmp(venues[i].name, name) == 0)
            return &venues[i];
    }
    return NULL;
}

static int place_of(const char *name, const char *const *names, int count)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0)
            return i;
    }
    return -1;
}

static int complain(const char *what)
{
    (void)fprintf(stderr,
                  "test_shutdown: %s is none; expected ENGINE WAY [STRIDE] or "
                  "ENGINE/WAY/ACT/ENDING/MOMENT[+ACT]\n",
                  what);
    return 2;
}

static int moment_of(const char *text)
{
    int inside = place_of(text, inside_names, INSIDES);

    return inside >= 0 ? -1 - inside : atoi(text);
}

static int run_named(char *name)
{
    char *save, *part[6] = {name};
    int parts = 0;
    const struct venue *venue;
    const struct act *act, *other = NULL;
    int way, ending;

    for (char *word = strtok_r(name, "/+", &save); word != NULL && parts < 6;
         word = strtok_r(NULL, "/+", &save))
        part[parts++] = word;
    if (parts < 5 || (venue = venue_called(part[0])) == NULL)
        return complain(part[0]);
    if ((way = place_of(part[1], way_names, WAYS)) < 0)
        return complain(part[1]);
    if ((act = act_called(part[2])) == NULL)
        return complain(part[2]);
    if ((ending = place_of(part[3], ending_names, ENDINGS)) < 0)
        return complain(part[3]);
    if (parts == 6 && (other = act_called(part[5])) == NULL)
        return complain(part[5]);
    (void)run_cell(venue, (enum way)way, act, (enum ending)ending,
                   moment_of(part[4]), other);
    printf("1 passed, 0 failed\n");
    return 0;
}

static void *nothing(void *arg)
{
    return arg;
}

/* libuv keeps two descriptors for the process from its first loop on, and
 * ThreadSanitizer a thread from the first one on. */
static void warm_up(void)
{
    uv_loop_t loop;

    kit_elsewhere(nothing, NULL);
    if (uv_loop_init(&loop) == 0)
        (void)uv_loop_close(&loop);
}

int main(int argc, char **argv)
{
    struct sweep sweep = {.stride = 1};
    int at = 1;
    int way;

    heap_install();
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    warm_up();
    name_the_dead();
    if (argc > 1 && strcmp(argv[1], "--pairs") == 0) {
        sweep.pairs = true;
        at = 2;
    }
    if (argc == at + 1)
        return run_named(argv[at]);
    if (argc < at + 2 || (sweep.venue = venue_called(argv[at])) == NULL)
        return complain(argc > at ? argv[at] : "nothing");
    if ((way = place_of(argv[at + 1], way_names, WAYS)) < 0)
        return complain(argv[at + 1]);
    sweep.way = (enum way)way;
    if (argc > at + 2)
        sweep.stride = atoi(argv[at + 2]);
    return sweep_all(&sweep);
}
