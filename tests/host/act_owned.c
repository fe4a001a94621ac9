/* SPDX-License-Identifier: Apache-2.0 */
/* Locks that are counted per owner, whose calls all wait. */
#include "act.h"

#define WAITED (END(END_CLOSE) | END(END_TIMEOUT) | END(END_LOSS))
#define UNLOCKED (END(END_CLOSE) | END(END_LOSS))

/* One for all threads. */
static uint64_t owner(void *arg)
{
    (void)arg;
    return 7;
}

static void mutex(struct play *play)
{
    struct hf_mutex_opts opts = HF_MUTEX_OPTS_INIT;

    opts.owner = owner;
    CELL_CHECK(play->cell, hf_mutex_open(play->cell->front.client,
                                         act_queue(play, "a", HF_KIND_MUTEX),
                                         &opts, &play->mutex) == HF_OK);
}

static void rwlock(struct play *play)
{
    struct hf_rwlock_opts opts = HF_RWLOCK_OPTS_INIT;

    opts.owner = owner;
    CELL_CHECK(play->cell, hf_rwlock_open(play->cell->front.client,
                                          act_queue(play, "a", HF_KIND_MUTEX),
                                          &opts, &play->rwlock) == HF_OK);
}

/* Another one has it. */
static void taken(struct play *play, enum hf_kind kind)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    struct hf_lock *lock;

    opts.kind = kind;
    CELL_CHECK(play->cell,
               hf_lock_open(play->cell->front.client, play->queues[0].name,
                            &opts, &lock) == HF_OK);
    act_rival(play, lock);
}

static void mutex_taken(struct play *play)
{
    mutex(play);
    taken(play, HF_KIND_MUTEX);
}

static void mutex_locked(struct play *play)
{
    mutex(play);
    (void)deed_done(play, &call_lock, 0, NULL);
}

static void written(struct play *play)
{
    rwlock(play);
    taken(play, HF_KIND_WRITE);
}

static void read_and_written(struct play *play)
{
    rwlock(play);
    (void)deed_done(play, &call_wrlock, 0, NULL);
    (void)deed_done(play, &call_rdlock, 0, NULL);
}

#define BEGINS(name)                                                           \
    static void name(struct play *play)                                        \
    {                                                                          \
        act_begin(play, &call_##name, 0, NULL);                                \
    }
BEGINS(lock)
BEGINS(unlock)
BEGINS(rdlock)
BEGINS(wrlock)
BEGINS(wrunlock)

#define FREE_TO_HAVE(called, made, begun)                                      \
    {                                                                          \
        .name = called, .prepare = made, .begin = begun, .endings = WAITED,    \
        .form = FORM_WAITING                                                   \
    }
#define BEHIND(called, made, begun)                                            \
    {                                                                          \
        .name = called, .prepare = made, .begin = begun,                       \
        .help = act_rival_goes, .endings = WAITED, .form = FORM_WAITING        \
    }
#define COUNT_DOWN(called, made, begun)                                        \
    {                                                                          \
        .name = called, .prepare = made, .begin = begun, .endings = UNLOCKED,  \
        .other = {HF_ELOST}, .form = FORM_WAITING                              \
    }

const struct act acts_owned[] = {
    FREE_TO_HAVE("reentrant", mutex, lock),
    BEHIND("reentrant-behind", mutex_taken, lock),
    COUNT_DOWN("reentrant-unlock", mutex_locked, unlock),
    FREE_TO_HAVE("rwlock-read", rwlock, rdlock),
    BEHIND("rwlock-read-behind", written, rdlock),
    BEHIND("rwlock-write-behind", written, wrlock),
    /* The last write of one who reads on. */
    COUNT_DOWN("rwlock-downgrade", read_and_written, wrunlock),
};
const int acts_owned_count = sizeof(acts_owned) / sizeof(acts_owned[0]);
