/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every shutdown race has a name: each script, ended in each way that makes
 * sense, after each number of steps that it takes, and inside its callbacks.
 *
 *     test_shutdown ENGINE WAY [STRIDE]   one in STRIDE moments, 1 by default
 *     test_shutdown --pairs ENGINE WAY [STRIDE]
 *                                         each beside another script
 *     test_shutdown CASE                  one case, by the name that it prints
 *                                         when it fails, for instance
 *                                         plain/uv/mutex-behind/cancel/7
 *     test_shutdown CASE+SCRIPT           the same beside another script
 *
 * The exit status is 0 if all cases passed, 77 if the server of the engine is
 * not there, 2 if the arguments are wrong.  A failed check ends the program
 * with 1.
 */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "heap/heap.h"
#include "shutdown_script.h"

#define STATUS_SKIPPED 77 /* SKIP_RETURN_CODE in CMake */

/* Static, because signal handlers print its name. */
static struct shutdown_case test_case;
static int case_count;

/* -------------------------------------------------------- names of cases -- */

static const char *const inside_names[INSIDES] = {"in-done", "in-wait",
                                                  "in-loss"};

static void name_case(void)
{
    char moment[16];

    (void)snprintf(moment, sizeof(moment), "%d", test_case.moment);
    (void)snprintf(
        test_case.name, sizeof(test_case.name), "%s/%s/%s/%s/%s%s%s",
        test_case.engine->name, way_names[test_case.way],
        test_case.runs[0].script->name, ending_names[test_case.ending],
        test_case.moment < 0 ? inside_names[-1 - test_case.moment] : moment,
        test_case.count > 1 ? "+" : "",
        test_case.count > 1 ? test_case.runs[1].script->name : "");
}

/* For an assertion of the library, a sanitizer's finding, or a hang. */
static void on_crash(int number)
{
    static const char says[] = ": died here\n";

    (void)!write(STDERR_FILENO, test_case.name, strlen(test_case.name));
    (void)!write(STDERR_FILENO, says, sizeof(says) - 1);
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void name_crashed_case(void)
{
    static const int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGALRM};

    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        (void)signal(signals[i], on_crash);
}

/* ------------------------------------------------------------- the sweep -- */

static const struct {
    const struct shutdown_script *scripts;
    const int *count;
} families[] = {{scripts_locks, &scripts_locks_count},
                {scripts_mutexes, &scripts_mutexes_count},
                {scripts_barriers_elections, &scripts_barriers_elections_count},
                {scripts_queues, &scripts_queues_count}};
#define FAMILIES (int)(sizeof(families) / sizeof(families[0]))

static const struct shutdown_script *script_at(int index)
{
    for (int i = 0; i < FAMILIES; index -= *families[i++].count) {
        if (index < *families[i].count)
            return &families[i].scripts[index];
    }
    return NULL;
}

static const struct shutdown_script *script_called(const char *name)
{
    const struct shutdown_script *script;

    for (int i = 0; (script = script_at(i)) != NULL; i++) {
        if (strcmp(script->name, name) == 0)
            break;
    }
    return script;
}

static int run_case(const struct shutdown_engine *engine, enum way way,
                    const struct shutdown_script *script, enum ending ending,
                    int moment, const struct shutdown_script *script_beside)
{
    memset(&test_case, 0, sizeof(test_case));
    test_case.engine = engine;
    test_case.way = way;
    test_case.ending = ending;
    test_case.moment = moment;
    test_case.runs[0].script = script;
    test_case.runs[1].script = script_beside;
    test_case.count = script_beside == NULL ? 1 : 2;
    name_case();
    case_run(&test_case);
    case_count++;
    return test_case.steps;
}

/* A handle must not be freed during a call that waits, and such a call has
 * no hf_op to cancel by. */
static bool makes_sense(const struct shutdown_engine *engine, enum way way,
                        const struct shutdown_script *script,
                        enum ending ending)
{
    if ((script->endings & END(ending)) == 0)
        return false;
    if (ending == END_LOSS && engine->lose == NULL)
        return false;
    return way != WAY_BLOCKING || (ending != END_FREE && ending != END_CANCEL);
}

static bool can_be_inside(enum way way, enum ending ending)
{
    return way != WAY_BLOCKING && ending != END_TIMEOUT && ending != END_LOSS;
}

struct sweep {
    const struct shutdown_engine *engine;
    enum way way;
    int stride;
    bool pairs;
};

static bool is_of_sweep(const struct sweep *sweep,
                        const struct shutdown_script *script)
{
    enum script_form wrong =
        sweep->way == WAY_BLOCKING ? FORM_STARTED : FORM_WAITING;

    return script->form != wrong && (!sweep->pairs || !script->closes);
}

/* In a sweep of pairs, another script for each case. */
static const struct shutdown_script *script_beside(const struct sweep *sweep)
{
    static int last;
    const struct shutdown_script *script = NULL;

    if (!sweep->pairs)
        return NULL;
    while (script == NULL || !is_of_sweep(sweep, script)) {
        script = script_at(last);
        last = script == NULL ? 0 : last + 1;
    }
    return script;
}

static void sweep_ending(const struct sweep *sweep,
                         const struct shutdown_script *script,
                         enum ending ending, int steps)
{
    int first = can_be_inside(sweep->way, ending) ? -INSIDES : 0;

    for (int moment = first; moment <= steps + 1; moment++) {
        if (moment > 0 && moment % sweep->stride != 0)
            continue;
        if (moment == INSIDE_LOSS && sweep->engine->lose == NULL)
            continue;
        (void)run_case(sweep->engine, sweep->way, script, ending, moment,
                       script_beside(sweep));
    }
}

static void sweep_script(const struct sweep *sweep,
                         const struct shutdown_script *script)
{
    int before = case_count;
    int steps =
        run_case(sweep->engine, sweep->way, script, END_NOT, INT_MAX, NULL);

    for (int ending = 1; ending < ENDINGS; ending++) {
        if (makes_sense(sweep->engine, sweep->way, script, (enum ending)ending))
            sweep_ending(sweep, script, (enum ending)ending, steps);
    }
    printf("%s/%s/%s: %d steps, %d cases\n", sweep->engine->name,
           way_names[sweep->way], script->name, steps, case_count - before);
}

static int sweep_all(const struct sweep *sweep)
{
    const struct shutdown_script *script;

    for (int i = 0; (script = script_at(i)) != NULL; i++) {
        if (is_of_sweep(sweep, script))
            sweep_script(sweep, script);
    }
    printf("%d passed, 0 failed\n", case_count);
    return 0;
}

/* ------------------------------------------------------------- arguments -- */

static const struct shutdown_engine *engine_called(const char *name)
{
    for (int i = 0; i < engine_count; i++) {
        if (strcmp(engines[i].name, name) == 0)
            return &engines[i];
    }
    return NULL;
}

static int index_of(const char *name, const char *const *names, int count)
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
                  "ENGINE/WAY/SCRIPT/ENDING/MOMENT[+SCRIPT]\n",
                  what);
    return 2;
}

static int moment_of(const char *text)
{
    int inside = index_of(text, inside_names, INSIDES);

    return inside >= 0 ? -1 - inside : atoi(text);
}

static int run_named(char *name)
{
    char *save, *part[6] = {name};
    int parts = 0;
    const struct shutdown_engine *engine;
    const struct shutdown_script *script, *other = NULL;
    int way, ending;

    for (char *word = strtok_r(name, "/+", &save); word != NULL && parts < 6;
         word = strtok_r(NULL, "/+", &save))
        part[parts++] = word;
    if (parts < 5 || (engine = engine_called(part[0])) == NULL)
        return complain(part[0]);
    if ((way = index_of(part[1], way_names, WAYS)) < 0)
        return complain(part[1]);
    if ((script = script_called(part[2])) == NULL)
        return complain(part[2]);
    if ((ending = index_of(part[3], ending_names, ENDINGS)) < 0)
        return complain(part[3]);
    if (parts == 6 && (other = script_called(part[5])) == NULL)
        return complain(part[5]);
    (void)run_case(engine, (enum way)way, script, (enum ending)ending,
                   moment_of(part[4]), other);
    printf("1 passed, 0 failed\n");
    return 0;
}

static void *nothing(void *arg)
{
    return arg;
}

/* libuv keeps two descriptors from its first loop on, and ThreadSanitizer a
 * thread from the first one on. */
static void start_thread_and_loop(void)
{
    uv_loop_t loop;

    run_on_thread(nothing, NULL);
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
    start_thread_and_loop();
    name_crashed_case();
    if (argc > 1 && strcmp(argv[1], "--pairs") == 0) {
        sweep.pairs = true;
        at = 2;
    }
    if (argc == at + 1)
        return run_named(argv[at]);
    if (argc < at + 2 || (sweep.engine = engine_called(argv[at])) == NULL)
        return complain(argc > at ? argv[at] : "nothing");
    if (!sweep.engine->is_available(sweep.engine)) {
        (void)fprintf(stderr, "test_shutdown: skipped, because %s is not set\n",
                      sweep.engine->detail);
        return STATUS_SKIPPED;
    }
    if ((way = index_of(argv[at + 1], way_names, WAYS)) < 0)
        return complain(argv[at + 1]);
    sweep.way = (enum way)way;
    if (argc > at + 2)
        sweep.stride = atoi(argv[at + 2]);
    return sweep_all(&sweep);
}
