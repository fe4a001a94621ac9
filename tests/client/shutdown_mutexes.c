/* SPDX-License-Identifier: Apache-2.0 */
/* Scripts for the shutdown sweep: locks that count per owner.  All of their
 * calls wait. */
#include "shutdown_script.h"

#define WAIT_ENDINGS (END(END_CLOSE) | END(END_TIMEOUT) | END(END_LOSS))
#define UNLOCK_ENDINGS (END(END_CLOSE) | END(END_LOSS))

/* One owner for all threads. */
static uint64_t owner(void *arg)
{
    (void)arg;
    return 7;
}

static void mutex(struct script_run *run)
{
    struct hf_mutex_opts opts = HF_MUTEX_OPTS_INIT;

    opts.owner = owner;
    CASE_CHECK(run->test_case,
               hf_mutex_open(run->test_case->fixture.client,
                             script_queue(run, "a", HF_KIND_MUTEX), &opts,
                             &run->mutex) == HF_OK);
}

static void rwlock(struct script_run *run)
{
    struct hf_rwlock_opts opts = HF_RWLOCK_OPTS_INIT;

    opts.owner = owner;
    CASE_CHECK(run->test_case,
               hf_rwlock_open(run->test_case->fixture.client,
                              script_queue(run, "a", HF_KIND_MUTEX), &opts,
                              &run->rwlock) == HF_OK);
}

/* Another owner holds it. */
static void taken(struct script_run *run, enum hf_kind kind)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    struct hf_lock *lock;

    opts.kind = kind;
    CASE_CHECK(run->test_case,
               hf_lock_open(run->test_case->fixture.client, run->queues[0].name,
                            &opts, &lock) == HF_OK);
    script_rival(run, lock);
}

static void mutex_taken(struct script_run *run)
{
    mutex(run);
    taken(run, HF_KIND_MUTEX);
}

static void mutex_locked(struct script_run *run)
{
    mutex(run);
    (void)operation_finish(run, &op_lock, 0, NULL);
}

static void write_locked(struct script_run *run)
{
    rwlock(run);
    taken(run, HF_KIND_WRITE);
}

static void read_and_written(struct script_run *run)
{
    rwlock(run);
    (void)operation_finish(run, &op_wrlock, 0, NULL);
    (void)operation_finish(run, &op_rdlock, 0, NULL);
}

#define BEGINS(name)                                                           \
    static void name(struct script_run *run)                                   \
    {                                                                          \
        script_begin(run, &op_##name, 0, NULL);                                \
    }
BEGINS(lock)
BEGINS(unlock)
BEGINS(rdlock)
BEGINS(wrlock)
BEGINS(wrunlock)

#define FREE_TO_HAVE(called, made, begun)                                      \
    {                                                                          \
        .name = called, .prepare = made, .begin = begun,                       \
        .endings = WAIT_ENDINGS, .form = FORM_WAITING                          \
    }
#define BEHIND(called, made, begun)                                            \
    {                                                                          \
        .name = called, .prepare = made, .begin = begun,                       \
        .help = script_rival_releases, .endings = WAIT_ENDINGS,                \
        .form = FORM_WAITING                                                   \
    }
#define COUNT_DOWN(called, made, begun)                                        \
    {                                                                          \
        .name = called, .prepare = made, .begin = begun,                       \
        .endings = UNLOCK_ENDINGS, .other_status = {HF_ELOST},                 \
        .form = FORM_WAITING                                                   \
    }

const struct shutdown_script scripts_mutexes[] = {
    FREE_TO_HAVE("reentrant", mutex, lock),
    BEHIND("reentrant-behind", mutex_taken, lock),
    COUNT_DOWN("reentrant-unlock", mutex_locked, unlock),
    FREE_TO_HAVE("rwlock-read", rwlock, rdlock),
    BEHIND("rwlock-read-behind", write_locked, rdlock),
    BEHIND("rwlock-write-behind", write_locked, wrlock),
    /* The last write unlock of an owner that still reads. */
    COUNT_DOWN("rwlock-downgrade", read_and_written, wrunlock),
};
const int scripts_mutexes_count =
    sizeof(scripts_mutexes) / sizeof(scripts_mutexes[0]);
