/* SPDX-License-Identifier: Apache-2.0 */
#include "act.h"

#include <stdio.h>

const char *act_queue(struct play *play, const char *what, enum hf_kind kind)
{
    struct play_queue *queue = &play->queues[play->queue_count++];

    CELL_CHECK(play->cell, play->queue_count <= PLAY_LOCKS);
    queue->kind = kind;
    (void)snprintf(queue->name, sizeof(queue->name), "%s-%s", play->name, what);
    return queue->name;
}

static struct hf_lock *open_lock(struct play *play, const char *name,
                                 const struct hf_lock_opts *opts)
{
    struct hf_lock *lock;

    CELL_CHECK(play->cell, hf_lock_open(play->cell->front.client, name, opts,
                                        &lock) == HF_OK);
    return lock;
}

struct hf_lock *act_lock(struct play *play, const char *what, enum hf_kind kind,
                         uint32_t permits, uint32_t limit)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;

    opts.kind = kind;
    opts.permits = permits;
    opts.limit = limit;
    return open_lock(play, act_queue(play, what, kind), &opts);
}

struct deed *act_deed(struct play *play, const struct call *call, int which,
                      struct hf_grant *grant)
{
    struct cell *cell = play->cell;
    struct deed *deed = deed_next(play, call, which, grant);

    play->deed = deed;
    if (play == &cell->plays[0] && cell->ending == END_TIMEOUT)
        deed->wait_ms = cell->venue->patience_ms;
    return deed;
}

void act_begin(struct play *play, const struct call *call, int which,
               struct hf_grant *grant)
{
    deed_start(act_deed(play, call, which, grant));
}

void act_rival(struct play *play, struct hf_lock *lock)
{
    play->rival = lock;
    (void)deed_done(play, &call_acquire, RIVAL, NULL);
}

bool act_rival_goes(struct play *play)
{
    for (int i = 0; i < play->count; i++) {
        struct deed *deed = &play->deeds[i];

        if (deed == play->deed || atomic_load(&deed->grant) == NULL)
            continue;
        deed_give_back(deed);
        return true;
    }
    return false;
}
