/* SPDX-License-Identifier: Apache-2.0 */
#include "cell.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "heap/heap.h"

const char *const ending_names[ENDINGS] = {
    "nothing", "close", "cancel", "release", "free", "timeout", "loss"};

/* Nothing that is asked of the library takes as many. */
#define TURNS_MAX 20000

/* A cell that takes so many seconds hangs. */
#define PATIENCE_S 30

void cell_fail(const struct cell *cell, const char *file, int line,
               const char *what)
{
    const struct deed *deed = cell->plays[0].deed;

    (void)fprintf(stderr, "%s: after %d turns, %s:%d: not so: %s\n", cell->name,
                  cell->turns, file, line, what);
    if (deed != NULL)
        (void)fprintf(stderr, "%s: ended %d times, the last with %s\n",
                      cell->name, atomic_load(&deed->ended),
                      hf_status_name(deed->status));
    _exit(1);
}

/* ----------------------------------------------------------------- turns -- */

static bool is_closed(void *arg)
{
    struct cell *cell = arg;

    return atomic_load(&cell->closing) && deed_has_ended(&cell->close);
}

static void dispatch(struct cell *cell)
{
    if (cell->way == WAY_DISPATCH && !cell->close.waits)
        CELL_CHECK(cell, hf_client_dispatch(cell->front.client) == HF_OK);
}

static bool help(struct cell *cell)
{
    bool helps;

    for (int i = 0; i < cell->count && !cell->alone; i++) {
        struct play *play = &cell->plays[i];

        if (play->act->help == NULL)
            continue;
        /* First: a callback that ends the act may come of it. */
        atomic_store(&play->helping, true);
        helps = play->act->help(play);
        play->helped |= helps;
        atomic_store(&play->helping, play->helped);
        if (helps)
            return true;
    }
    return false;
}

bool cell_turn(struct cell *cell)
{
    if (is_closed(cell))
        return false;
    dispatch(cell);
    if (cell->way == WAY_UV && venue_is_readable(cell, 0)) {
        (void)uv_run(&cell->front.loop, UV_RUN_NOWAIT);
    } else if (!cell->venue->rests(cell)) {
        cell->venue->step(cell);
    } else if (!cell->rested) {
        cell->rested = true;
        cell->venue->pause(cell);
    } else if (help(cell)) {
        cell->rested = false;
    } else {
        return false;
    }
    return true;
}

/* Other threads have a part in it, and none in how often this one looks. */
static int let_others(int turns)
{
    sched_yield();
    return turns - 1;
}

void cell_until(struct cell *cell, bool (*so)(void *arg), void *arg,
                const char *what)
{
    for (int i = 0; !so(arg); i++) {
        if (i == TURNS_MAX)
            cell_fail(cell, __FILE__, __LINE__, what);
        if (!cell_turn(cell))
            cell->venue->step(cell);
        if (cell->way != WAY_UV)
            i = let_others(i);
    }
}

/* ---------------------------------------------------------------- ending -- */

struct deed *cell_close(struct cell *cell)
{
    cell->close.play = &cell->plays[0];
    cell->close.call = &call_close;
    /* By either call, where both can be made. */
    cell->close.waits =
        (cell->way == WAY_THREAD || cell->way == WAY_DISPATCH) &&
        cell->moment >= 0 && cell->turns % 2 == 1;
    deed_start(&cell->close);
    CELL_CHECK(cell, cell->close.refusal == HF_OK);
    atomic_store(&cell->closing, true);
    return &cell->close;
}

static void cancel(struct play *play)
{
    if (play->deed->op == NULL)
        return;
    hf_op_cancel(play->deed->op);
    hf_op_cancel(play->deed->op);
}

static void release(struct play *play)
{
    if (play->act->release != NULL) {
        play->act->release(play);
        return;
    }
    atomic_store(&play->deed->gives_back, true);
    deed_give_back(play->deed);
}

static void free_handles(struct play *play)
{
    for (int i = 0; i < PLAY_LOCKS; i++)
        hf_lock_free(play->locks[i]);
    memset(play->locks, 0, sizeof(play->locks));
    hf_mutex_free(play->mutex);
    play->mutex = NULL;
    hf_rwlock_free(play->rwlock);
    play->rwlock = NULL;
    hf_barrier_free(play->barrier);
    play->barrier = NULL;
    for (int i = 0; i < 2; i++)
        hf_double_barrier_free(play->parties[i]);
    memset(play->parties, 0, sizeof(play->parties));
    hf_election_free(play->election);
    play->election = NULL;
}

static void free_all(struct play *play)
{
    hf_op_free(play->deed->op);
    play->deed->op = NULL;
    free_handles(play);
}

static void end(struct cell *cell)
{
    struct play *play = &cell->plays[0];

    cell->was_over = deed_has_ended(play->deed);
    cell->was_apart =
        cell->ending == END_TIMEOUT &&
        hf_client_state(cell->front.client) == HF_STATE_CONNECTING;
    cell->helped_before = atomic_load(&play->helping);
    switch (cell->ending) {
    case END_CLOSE:
        (void)cell_close(cell);
        break;
    case END_CANCEL:
        cancel(play);
        break;
    case END_RELEASE:
        release(play);
        break;
    case END_FREE:
        free_all(play);
        break;
    case END_TIMEOUT:
        cell->venue->time_out(cell);
        break;
    case END_LOSS:
        cell->venue->lose(cell);
        break;
    case END_NOT:
    case ENDINGS:
        break;
    }
    atomic_store(&cell->ended, true);
}

void cell_hear(struct deed *deed, int inside)
{
    struct cell *cell = deed->play->cell;

    if (deed == cell->plays[0].deed && inside == cell->moment &&
        !atomic_exchange(&cell->come, true))
        end(cell);
}

static bool is_ended(void *arg)
{
    return atomic_load(&((struct cell *)arg)->ended);
}

static void run_to_rest(struct cell *cell)
{
    while (!is_ended(cell) && cell->turns < cell->most && cell_turn(cell))
        cell->turns++;
}

static void reach_moment(struct cell *cell)
{
    cell->most = cell->moment < 0 ? INT_MAX : cell->moment;
    run_to_rest(cell);
    if (cell->moment == INSIDE_LOSS) {
        cell->venue->lose(cell);
        run_to_rest(cell);
    }
    if (cell->moment >= 0)
        end(cell);
    else if (atomic_exchange(&cell->come, true)) /* else it never will */
        cell_until(cell, is_ended, cell, "the callback returns");
}

/* --------------------------------------------------------------- judging -- */

/* Who never saw the engine says so; in real time the wait may be over before
 * it is ended here. */
static bool is_unreachable(const struct cell *cell, hf_status status)
{
    return cell->ending == END_TIMEOUT &&
           (cell->was_apart || !cell->venue->by_hand) &&
           status == HF_EUNREACHABLE;
}

static bool is_called_for(const struct cell *cell, const struct play *play)
{
    static const hf_status asked[ENDINGS] = {
        [END_CLOSE] = HF_ECLOSED,
        [END_CANCEL] = HF_ECANCELLED,
        [END_TIMEOUT] = HF_ETIMEDOUT,
    };
    bool concerns = play == &cell->plays[0] || cell->ending == END_CLOSE ||
                    cell->ending == END_LOSS;
    hf_status status = play->deed->status;
    bool other = false;

    for (int i = 0; i < 2; i++)
        other = other ||
                (play->act->other[i] != HF_OK && play->act->other[i] == status);
    return concerns && cell->ending != END_NOT &&
           (other || is_unreachable(cell, status) ||
            (!play->act->finishes && asked[cell->ending] == status));
}

/* Who waits for somebody, and was ended before that one came, has not got what
 * it waited for. */
static bool is_ended_for_sure(const struct cell *cell)
{
    return cell->plays[0].act->help != NULL &&
           cell->plays[0].act->natural == HF_OK && !cell->was_over &&
           !cell->helped_before && is_ended((void *)cell) &&
           (cell->ending == END_CLOSE || cell->ending == END_TIMEOUT ||
            (cell->ending == END_CANCEL && cell->plays[0].deed->op != NULL));
}

static void judge(struct cell *cell, struct play *play)
{
    bool natural = play->deed->status == play->act->natural;

    if (play->deed->refusal != HF_OK)
        return;
    CELL_CHECK(cell, natural || is_called_for(cell, play));
    if (play == &cell->plays[0] && is_ended_for_sure(cell))
        CELL_CHECK(cell, !natural);
}

/* ------------------------------------------------------------------- end -- */

static bool has_no_tickets(void *arg)
{
    struct cell *cell = arg;

    return cell->venue->tickets(cell) == 0;
}

/* Whoever waits still is called back, and who was granted something gives it
 * back; false if there is one that cannot be called back. */
static bool call_home(struct play *play)
{
    bool can = true;

    for (int i = 0; i < play->count; i++) {
        struct deed *deed = &play->deeds[i];

        deed_give_back(deed);
        if (!deed_has_ended(deed) && deed->op != NULL)
            hf_op_cancel(deed->op);
        else if (!deed_has_ended(deed))
            can = can && deed->thread == 0;
    }
    return can;
}

static bool is_home(void *arg)
{
    struct play *play = arg;

    (void)call_home(play);
    return deeds_have_ended(play);
}

/* Everybody goes home, and nothing is left. */
static void wind_down(struct cell *cell)
{
    for (int i = 0; i < cell->count; i++) {
        struct play *play = &cell->plays[i];

        if (!call_home(play) && play->parties[0] != NULL)
            return; /* there is no handle for one who waits for his party */
        cell_until(cell, is_home, play, "every deed ends");
        (void)call_home(play);
        free_handles(play);
    }
    cell_until(cell, has_no_tickets, cell, "no ticket stays behind");
}

static void end_loop(struct cell *cell)
{
    uv_loop_t *loop = &cell->front.loop;

    if (cell->way != WAY_UV)
        return;
    for (int i = 0; uv_run(loop, UV_RUN_NOWAIT) != 0; i++)
        CELL_CHECK(cell, i < 100); /* nothing keeps it alive */
    CELL_CHECK(cell, uv_loop_close(loop) == 0);
}

static void forget(struct play *play)
{
    for (int i = 0; i < play->count; i++)
        deed_forget(&play->deeds[i]);
    free_handles(play);
    hf_lock_free(play->rival);
    for (int i = 0; i < play->count; i++)
        deed_judge_drops(&play->deeds[i]);
}

static void finish(struct cell *cell)
{
    cell->alone = true;
    if (!atomic_load(&cell->closing)) {
        wind_down(cell);
        (void)cell_close(cell);
    }
    cell_until(cell, is_closed, cell, "the close ends");
    CELL_CHECK(cell, atomic_load(&cell->last_state) == HF_STATE_CLOSED);
    deed_forget(&cell->close);
    end_loop(cell);
    while (kit_threads() > cell->threads)
        sched_yield();
    deed_judge_drops(&cell->close);
    for (int i = 0; i < cell->count; i++)
        forget(&cell->plays[i]);
    cell->venue->close(cell);
}

/* ----------------------------------------------------------------- a cell */

static void on_state(void *arg, enum hf_state state)
{
    atomic_store(&((struct cell *)arg)->last_state, (int)state);
}

void cell_open(struct cell *cell, const char *url)
{
    front_open(&cell->front, cell->way, url,
               (struct hf_on_state){on_state, cell, NULL});
}

static void begin(struct cell *cell)
{
    cell->alone = true;
    cell->venue->open(cell);
    if (cell->way == WAY_UV) /* its handles reach the kernel */
        (void)uv_run(&cell->front.loop, UV_RUN_NOWAIT);
    for (int i = 0; i < cell->count; i++) {
        struct play *play = &cell->plays[i];

        play->cell = cell;
        (void)snprintf(play->name, sizeof(play->name), "%s-%d-%llx",
                       play->act->name, i, (unsigned long long)kit_now_ms());
        if (play->act->prepare != NULL)
            play->act->prepare(play);
    }
    for (int i = 0; i < cell->count; i++)
        cell->plays[i].act->begin(&cell->plays[i]);
    cell->alone = false;
    cell->rested = false;
}

static void judge_all(struct cell *cell)
{
    struct play *first = &cell->plays[0];

    cell->alone = is_ended_for_sure(cell);
    cell_until(cell, deed_has_ended, first->deed, "it ends");
    cell->alone = false;
    if (atomic_load(&cell->closing))
        cell_until(cell, is_closed, cell, "the close ends");
    for (int i = 0; i < cell->count; i++) {
        cell_until(cell, deed_has_ended, cell->plays[i].deed, "it ends");
        judge(cell, &cell->plays[i]);
    }
}

void cell_run(struct cell *cell)
{
    int fds = kit_fds();

    cell->threads = kit_threads();
    alarm(PATIENCE_S);
    begin(cell);
    reach_moment(cell);
    judge_all(cell);
    finish(cell);
    alarm(0);
    CELL_CHECK(cell, heap_live() == 0);
    CELL_CHECK(cell, kit_fds() == fds);
}
