/* SPDX-License-Identifier: Apache-2.0 */
/* Locks of every kind: asked for, released, downgraded. */
#include "act.h"

#define ASKED                                                                  \
    (END(END_CLOSE) | END(END_CANCEL) | END(END_RELEASE) | END(END_FREE) |     \
     END(END_TIMEOUT) | END(END_LOSS))
#define LETTING_GO (END(END_CLOSE) | END(END_FREE) | END(END_LOSS))

/* Two handles for one queue; of the second it is the rival's. */
static struct hf_lock *again(struct play *play, enum hf_kind kind,
                             uint32_t permits, uint32_t limit)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    struct hf_lock *lock;

    opts.kind = kind;
    opts.permits = permits;
    opts.limit = limit;
    CELL_CHECK(play->cell,
               hf_lock_open(play->cell->front.client, play->queues[0].name,
                            &opts, &lock) == HF_OK);
    return lock;
}

/* ----------------------------------------------------------------- asked -- */

static void begin(struct play *play)
{
    act_begin(play, &call_acquire, 0, NULL);
}

static void begin_and_cancel(struct play *play)
{
    begin(play);
    hf_op_cancel(play->deed->op);
}

static void try(struct play *play)
{
    struct deed *deed = act_deed(play, &call_acquire, 0, NULL);

    deed->wait_ms = 0;
    deed_start(deed);
}

static void mutex(struct play *play)
{
    play->locks[0] = act_lock(play, "a", HF_KIND_MUTEX, 1, 1);
}

static void mutex_behind(struct play *play)
{
    mutex(play);
    act_rival(play, again(play, HF_KIND_MUTEX, 1, 1));
}

/* And behind one who waits himself. */
static void mutex_third(struct play *play)
{
    mutex_behind(play);
    (void)deed_begin(play, &call_acquire, RIVAL, NULL);
    while (cell_turn(play->cell))
        continue;
}

static void reader(struct play *play)
{
    play->locks[0] = act_lock(play, "a", HF_KIND_READ, 1, 1);
}

static void reader_behind(struct play *play)
{
    reader(play);
    act_rival(play, again(play, HF_KIND_WRITE, 1, 1));
}

static void writer(struct play *play)
{
    play->locks[0] = act_lock(play, "a", HF_KIND_WRITE, 1, 1);
}

static void writer_behind(struct play *play)
{
    writer(play);
    act_rival(play, again(play, HF_KIND_READ, 1, 1));
}

static void semaphore(struct play *play)
{
    play->locks[0] = act_lock(play, "a", HF_KIND_SEMAPHORE, 2, 3);
}

static void semaphore_behind(struct play *play)
{
    semaphore(play);
    act_rival(play, again(play, HF_KIND_SEMAPHORE, 2, 3));
}

/* More permits, for this handle. */
static bool more_permits(struct play *play)
{
    if (play->helped || play->locks[0] == NULL)
        return act_rival_goes(play);
    CELL_CHECK(play->cell, hf_lock_set_limit(play->locks[0], 4) == HF_OK);
    return true;
}

static void several(struct play *play)
{
    play->locks[0] = act_lock(play, "a", HF_KIND_MUTEX, 1, 1);
    play->locks[1] = act_lock(play, "b", HF_KIND_SEMAPHORE, 1, 2);
    play->locks[2] = act_lock(play, "c", HF_KIND_WRITE, 1, 1);
}

static void several_behind(struct play *play)
{
    several(play);
    play->rival = again(play, HF_KIND_MUTEX, 1, 1);
    (void)deed_done(play, &call_acquire, RIVAL, NULL);
}

static void begin_several(struct play *play)
{
    struct deed *deed = act_deed(play, &call_acquire, 0, NULL);

    deed->count = 3;
    deed_start(deed);
}

/* ------------------------------------------------------------ letting go -- */

/* The grant of the deed before. */
static struct hf_grant *taken(struct play *play)
{
    return atomic_exchange(&play->deeds[play->count - 1].grant, NULL);
}

static void held(struct play *play)
{
    mutex(play);
    (void)deed_done(play, &call_acquire, 0, NULL);
}

static void writer_held(struct play *play)
{
    writer(play);
    (void)deed_done(play, &call_acquire, 0, NULL);
}

static void semaphore_held(struct play *play)
{
    semaphore(play);
    (void)deed_done(play, &call_acquire, 0, NULL);
}

static void several_held(struct play *play)
{
    struct deed *deed;

    several(play);
    deed = deed_next(play, &call_acquire, 0, NULL);
    deed->count = 3;
    deed_start(deed);
    cell_until(play->cell, deed_has_ended, deed, "the locks are taken");
}

static void let_go(struct play *play)
{
    act_begin(play, &call_release, 0, taken(play));
}

static void downgrade(struct play *play)
{
    act_begin(play, &call_downgrade, 0, taken(play));
}

/* ----------------------------------------------------------------- close -- */

static void close_it(struct play *play)
{
    play->deed = cell_close(play->cell);
}

/* Handles are good for as long as they are not freed; but nothing is begun any
 * more. */
static void use_handles(struct play *play)
{
    struct deed *late;

    deed_give_back(&play->deeds[0]);
    late = deed_begin(play, &call_acquire, 0, NULL);
    CELL_CHECK(play->cell, late->joinable || late->refusal == HF_ECLOSED);
}

/* ---------------------------------------------------------------------- */

#define FREE_TO_HAVE(called, made)                                             \
    {                                                                          \
        .name = called, .prepare = made, .begin = begin, .endings = ASKED      \
    }
#define BEHIND(called, made, helped)                                           \
    {                                                                          \
        .name = called, .prepare = made, .begin = begin, .help = helped,       \
        .endings = ASKED                                                       \
    }
#define LET_GO(called, made)                                                   \
    {                                                                          \
        .name = called, .prepare = made, .begin = let_go,                      \
        .endings = LETTING_GO, .other = {HF_ELOST}, .finishes = true,          \
    }

const struct act acts_locks[] = {
    FREE_TO_HAVE("mutex", mutex),
    BEHIND("mutex-behind", mutex_behind, act_rival_goes),
    BEHIND("mutex-third", mutex_third, act_rival_goes),
    {
        .name = "mutex-cancel",
        .prepare = mutex_behind,
        .begin = begin_and_cancel,
        .endings = ASKED & ~END(END_CANCEL),
        .natural = HF_ECANCELLED,
        .form = FORM_STARTED,
    },
    {
        .name = "mutex-try",
        .prepare = mutex_behind,
        .begin = try,
        .endings = ASKED & ~END(END_TIMEOUT),
        .natural = HF_EBUSY,
    },
    FREE_TO_HAVE("read", reader),
    BEHIND("read-behind", reader_behind, act_rival_goes),
    FREE_TO_HAVE("write", writer),
    BEHIND("write-behind", writer_behind, act_rival_goes),
    FREE_TO_HAVE("semaphore", semaphore),
    BEHIND("semaphore-behind", semaphore_behind, act_rival_goes),
    BEHIND("semaphore-limit", semaphore_behind, more_permits),
    {
        .name = "several",
        .prepare = several,
        .begin = begin_several,
        .endings = ASKED,
    },
    {
        .name = "several-behind",
        .prepare = several_behind,
        .begin = begin_several,
        .help = act_rival_goes,
        .endings = ASKED,
    },
    LET_GO("release", held),
    LET_GO("release-semaphore", semaphore_held),
    LET_GO("release-several", several_held),
    {
        .name = "downgrade",
        .prepare = writer_held,
        .begin = downgrade,
        .endings = LETTING_GO | END(END_RELEASE),
        .other = {HF_ELOST, HF_ECANCELLED},
    },
    {
        .name = "close",
        .prepare = held,
        .begin = close_it,
        .release = use_handles,
        .endings = END(END_RELEASE) | END(END_FREE),
        .closes = true,
    },
};
const int acts_locks_count = sizeof(acts_locks) / sizeof(acts_locks[0]);
