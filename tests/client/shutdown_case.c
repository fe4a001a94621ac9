/* SPDX-License-Identifier: Apache-2.0 */
/* How one case runs: begin, steps until the moment, the end, checks, and
 * release of all that is left. */
#include "shutdown_case.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "heap/heap.h"

const char *const ending_names[ENDINGS] = {
    "nothing", "close", "cancel", "release", "free", "timeout", "loss"};

/* No operation takes as many steps. */
#define STEPS_MAX 20000

/* A case that takes longer hangs, in seconds. */
#define TIMEOUT_S 30

void case_fail(const struct shutdown_case *test_case, const char *file,
               int line, const char *what)
{
    const struct shutdown_operation *operation = test_case->runs[0].operation;

    (void)fprintf(stderr, "%s: after %d steps, %s:%d: not so: %s\n",
                  test_case->name, test_case->steps, file, line, what);
    if (operation != NULL)
        (void)fprintf(stderr, "%s: ended %d times, the last with %s\n",
                      test_case->name, atomic_load(&operation->ended),
                      hf_status_name(operation->status));
    _exit(1);
}

/* ----------------------------------------------------------------- steps -- */

static bool is_closed(void *arg)
{
    struct shutdown_case *test_case = arg;

    return atomic_load(&test_case->closing) &&
           operation_has_ended(&test_case->close);
}

static void dispatch(struct shutdown_case *test_case)
{
    if (test_case->way == WAY_DISPATCH && !test_case->close.blocks)
        CASE_CHECK(test_case,
                   hf_client_dispatch(test_case->fixture.client) == HF_OK);
}

static bool help(struct shutdown_case *test_case)
{
    bool helps;

    for (int i = 0; i < test_case->count && !test_case->unhelped; i++) {
        struct script_run *run = &test_case->runs[i];

        if (run->script->help == NULL)
            continue;
        /* Set it first, because the callback that ends the script may run
         * inside help(). */
        atomic_store(&run->helping, true);
        helps = run->script->help(run);
        run->helped |= helps;
        atomic_store(&run->helping, run->helped);
        if (helps)
            return true;
    }
    return false;
}

bool case_step(struct shutdown_case *test_case)
{
    if (is_closed(test_case))
        return false;
    dispatch(test_case);
    if (test_case->way == WAY_UV && case_is_readable(test_case, 0)) {
        (void)uv_run(&test_case->fixture.loop, UV_RUN_NOWAIT);
    } else if (!test_case->engine->is_idle(test_case)) {
        test_case->engine->step(test_case);
    } else if (!test_case->paused) {
        test_case->paused = true;
        test_case->engine->pause(test_case);
    } else if (help(test_case)) {
        test_case->paused = false;
    } else {
        return false;
    }
    return true;
}

/* With other threads the number of polls says nothing, so it is not counted. */
static int let_other_threads_run(int steps)
{
    sched_yield();
    return steps - 1;
}

void case_until(struct shutdown_case *test_case, bool (*so)(void *arg),
                void *arg, const char *what)
{
    for (int i = 0; !so(arg); i++) {
        if (i == STEPS_MAX)
            case_fail(test_case, __FILE__, __LINE__, what);
        if (!case_step(test_case))
            test_case->engine->step(test_case);
        if (test_case->way != WAY_UV)
            i = let_other_threads_run(i);
    }
}

/* ---------------------------------------------------------------- ending -- */

struct shutdown_operation *case_close(struct shutdown_case *test_case)
{
    test_case->close.run = &test_case->runs[0];
    test_case->close.calls = &op_close;
    /* By either call, where both are allowed. */
    test_case->close.blocks =
        (test_case->way == WAY_THREAD || test_case->way == WAY_DISPATCH) &&
        test_case->moment >= 0 && test_case->steps % 2 == 1;
    operation_start(&test_case->close);
    CASE_CHECK(test_case, test_case->close.refusal == HF_OK);
    atomic_store(&test_case->closing, true);
    return &test_case->close;
}

static void cancel(struct script_run *run)
{
    if (run->operation->op == NULL)
        return;
    hf_op_cancel(run->operation->op);
    hf_op_cancel(run->operation->op);
}

static void release(struct script_run *run)
{
    if (run->script->release != NULL) {
        run->script->release(run);
        return;
    }
    atomic_store(&run->operation->releases_at_once, true);
    operation_release_grant(run->operation);
}

static void free_handles(struct script_run *run)
{
    for (int i = 0; i < RUN_LOCKS; i++)
        hf_lock_free(run->locks[i]);
    memset(run->locks, 0, sizeof(run->locks));
    hf_mutex_free(run->mutex);
    run->mutex = NULL;
    hf_rwlock_free(run->rwlock);
    run->rwlock = NULL;
    hf_barrier_free(run->barrier);
    run->barrier = NULL;
    for (int i = 0; i < 2; i++)
        hf_double_barrier_free(run->participants[i]);
    memset(run->participants, 0, sizeof(run->participants));
    hf_election_free(run->election);
    run->election = NULL;
}

static void free_all(struct script_run *run)
{
    hf_op_free(run->operation->op);
    run->operation->op = NULL;
    free_handles(run);
}

static void end(struct shutdown_case *test_case)
{
    struct script_run *run = &test_case->runs[0];

    test_case->had_ended = operation_has_ended(run->operation);
    test_case->was_unconnected =
        test_case->ending == END_TIMEOUT &&
        hf_client_state(test_case->fixture.client) == HF_STATE_CONNECTING;
    test_case->helped_before = atomic_load(&run->helping);
    switch (test_case->ending) {
    case END_CLOSE:
        (void)case_close(test_case);
        break;
    case END_CANCEL:
        cancel(run);
        break;
    case END_RELEASE:
        release(run);
        break;
    case END_FREE:
        free_all(run);
        break;
    case END_TIMEOUT:
        test_case->engine->time_out(test_case);
        break;
    case END_LOSS:
        test_case->engine->lose(test_case);
        break;
    case END_NOT:
    case ENDINGS:
        break;
    }
    atomic_store(&test_case->ended, true);
}

void case_in_callback(struct shutdown_operation *operation, int inside)
{
    struct shutdown_case *test_case = operation->run->test_case;

    if (operation == test_case->runs[0].operation &&
        inside == test_case->moment &&
        !atomic_exchange(&test_case->moment_came, true))
        end(test_case);
}

static bool is_ended(void *arg)
{
    return atomic_load(&((struct shutdown_case *)arg)->ended);
}

static void run_steps(struct shutdown_case *test_case)
{
    while (!is_ended(test_case) && test_case->steps < test_case->max_steps &&
           case_step(test_case))
        test_case->steps++;
}

static void reach_moment(struct shutdown_case *test_case)
{
    test_case->max_steps = test_case->moment < 0 ? INT_MAX : test_case->moment;
    run_steps(test_case);
    if (test_case->moment == INSIDE_LOSS) {
        test_case->engine->lose(test_case);
        run_steps(test_case);
    }
    if (test_case->moment >= 0)
        end(test_case);
    else if (atomic_exchange(&test_case->moment_came,
                             true)) /* else the moment never comes */
        case_until(test_case, is_ended, test_case, "the callback returns");
}

/* ---------------------------------------------------------------- checks -- */

/* A client that never reached the engine says so; in real time the wait may
 * end before the case ends it. */
static bool is_unreachable(const struct shutdown_case *test_case,
                           hf_status status)
{
    return test_case->ending == END_TIMEOUT &&
           (test_case->was_unconnected || !test_case->engine->virtual_time) &&
           status == HF_EUNREACHABLE;
}

static bool is_expected(const struct shutdown_case *test_case,
                        const struct script_run *run)
{
    static const hf_status asked[ENDINGS] = {
        [END_CLOSE] = HF_ECLOSED,
        [END_CANCEL] = HF_ECANCELLED,
        [END_TIMEOUT] = HF_ETIMEDOUT,
    };
    bool applies = run == &test_case->runs[0] ||
                   test_case->ending == END_CLOSE ||
                   test_case->ending == END_LOSS;
    hf_status status = run->operation->status;
    bool other = false;

    for (int i = 0; i < 2; i++)
        other = other || (run->script->other_status[i] != HF_OK &&
                          run->script->other_status[i] == status);
    return applies && test_case->ending != END_NOT &&
           (other || is_unreachable(test_case, status) ||
            (!run->script->finishes && asked[test_case->ending] == status));
}

/* The script waits for another owner and was ended before that one let it
 * in, so it cannot have succeeded. */
static bool is_surely_ended(const struct shutdown_case *test_case)
{
    return test_case->runs[0].script->help != NULL &&
           test_case->runs[0].script->usual_status == HF_OK &&
           !test_case->had_ended && !test_case->helped_before &&
           is_ended((void *)test_case) &&
           (test_case->ending == END_CLOSE ||
            test_case->ending == END_TIMEOUT ||
            (test_case->ending == END_CANCEL &&
             test_case->runs[0].operation->op != NULL));
}

static void check_status(struct shutdown_case *test_case,
                         struct script_run *run)
{
    bool usual_status = run->operation->status == run->script->usual_status;

    if (run->operation->refusal != HF_OK)
        return;
    CASE_CHECK(test_case, usual_status || is_expected(test_case, run));
    if (run == &test_case->runs[0] && is_surely_ended(test_case))
        CASE_CHECK(test_case, !usual_status);
}

/* ------------------------------------------------------------------- end -- */

static bool has_no_tickets(void *arg)
{
    struct shutdown_case *test_case = arg;

    return test_case->engine->tickets(test_case) == 0;
}

/* Cancel what still waits and release what was granted; false if something
 * can be neither cancelled nor joined. */
static bool cancel_all(struct script_run *run)
{
    bool can = true;

    for (int i = 0; i < run->count; i++) {
        struct shutdown_operation *operation = &run->operations[i];

        operation_release_grant(operation);
        if (!operation_has_ended(operation) && operation->op != NULL)
            hf_op_cancel(operation->op);
        else if (!operation_has_ended(operation))
            can = can && operation->thread == 0;
    }
    return can;
}

static bool is_cancelled(void *arg)
{
    struct script_run *run = arg;

    (void)cancel_all(run);
    return operations_have_ended(run);
}

/* Release everything; no ticket may be left. */
static void release_all(struct shutdown_case *test_case)
{
    for (int i = 0; i < test_case->count; i++) {
        struct script_run *run = &test_case->runs[i];

        if (!cancel_all(run) && run->participants[0] != NULL)
            return; /* no handle can end a call that waits for the other
                       participant */
        case_until(test_case, is_cancelled, run, "every operation ends");
        (void)cancel_all(run);
        free_handles(run);
    }
    case_until(test_case, has_no_tickets, test_case, "no ticket is left");
}

static void end_loop(struct shutdown_case *test_case)
{
    uv_loop_t *loop = &test_case->fixture.loop;

    if (test_case->way != WAY_UV)
        return;
    for (int i = 0; uv_run(loop, UV_RUN_NOWAIT) != 0; i++)
        CASE_CHECK(test_case, i < 100); /* nothing keeps the loop alive */
    CASE_CHECK(test_case, uv_loop_close(loop) == 0);
}

static void clean_up(struct script_run *run)
{
    for (int i = 0; i < run->count; i++)
        operation_clean_up(&run->operations[i]);
    free_handles(run);
    hf_lock_free(run->rival);
    for (int i = 0; i < run->count; i++)
        operation_check_drops(&run->operations[i]);
}

static void finish(struct shutdown_case *test_case)
{
    test_case->unhelped = true;
    if (!atomic_load(&test_case->closing)) {
        release_all(test_case);
        (void)case_close(test_case);
    }
    case_until(test_case, is_closed, test_case, "the close ends");
    CASE_CHECK(test_case,
               atomic_load(&test_case->last_state) == HF_STATE_CLOSED);
    operation_clean_up(&test_case->close);
    end_loop(test_case);
    while (count_threads() > test_case->threads)
        sched_yield();
    operation_check_drops(&test_case->close);
    for (int i = 0; i < test_case->count; i++)
        clean_up(&test_case->runs[i]);
    test_case->engine->close(test_case);
}

/* ---------------------------------------------------------------- a case -- */

static void on_state(void *arg, enum hf_state state)
{
    atomic_store(&((struct shutdown_case *)arg)->last_state, (int)state);
}

void case_open(struct shutdown_case *test_case, const char *url)
{
    client_open(&test_case->fixture, test_case->way, url,
                (struct hf_on_state){on_state, test_case, NULL});
}

static void begin(struct shutdown_case *test_case)
{
    test_case->unhelped = true;
    test_case->engine->open(test_case);
    if (test_case->way == WAY_UV) /* let its handles reach the kernel */
        (void)uv_run(&test_case->fixture.loop, UV_RUN_NOWAIT);
    for (int i = 0; i < test_case->count; i++) {
        struct script_run *run = &test_case->runs[i];

        run->test_case = test_case;
        (void)snprintf(run->name, sizeof(run->name), "%s-%d-%llx",
                       run->script->name, i, (unsigned long long)boottime_ms());
        if (run->script->prepare != NULL)
            run->script->prepare(run);
    }
    for (int i = 0; i < test_case->count; i++)
        test_case->runs[i].script->begin(&test_case->runs[i]);
    test_case->unhelped = false;
    test_case->paused = false;
}

static void check_all(struct shutdown_case *test_case)
{
    struct script_run *first = &test_case->runs[0];

    test_case->unhelped = is_surely_ended(test_case);
    case_until(test_case, operation_has_ended, first->operation, "it ends");
    test_case->unhelped = false;
    if (atomic_load(&test_case->closing))
        case_until(test_case, is_closed, test_case, "the close ends");
    for (int i = 0; i < test_case->count; i++) {
        case_until(test_case, operation_has_ended, test_case->runs[i].operation,
                   "it ends");
        check_status(test_case, &test_case->runs[i]);
    }
}

void case_run(struct shutdown_case *test_case)
{
    int fds = count_fds();

    test_case->threads = count_threads();
    alarm(TIMEOUT_S);
    begin(test_case);
    reach_moment(test_case);
    check_all(test_case);
    finish(test_case);
    alarm(0);
    CASE_CHECK(test_case, heap_live() == 0);
    CASE_CHECK(test_case, count_fds() == fds);
}
