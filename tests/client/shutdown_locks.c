/* SPDX-License-Identifier: Apache-2.0 */
/* Scripts for the shutdown sweep: locks of every kind, acquired, released
 * and downgraded. */
#include "shutdown_script.h"

#define ACQUIRE_ENDINGS                                                        \
    (END(END_CLOSE) | END(END_CANCEL) | END(END_RELEASE) | END(END_FREE) |     \
     END(END_TIMEOUT) | END(END_LOSS))
#define RELEASE_ENDINGS (END(END_CLOSE) | END(END_FREE) | END(END_LOSS))

/* A second handle for the same queue; the rival's. */
static struct hf_lock *open_again(struct script_run *run, enum hf_kind kind,
                                  uint32_t permits, uint32_t limit)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    struct hf_lock *lock;

    opts.kind = kind;
    opts.permits = permits;
    opts.limit = limit;
    CASE_CHECK(run->test_case,
               hf_lock_open(run->test_case->fixture.client, run->queues[0].name,
                            &opts, &lock) == HF_OK);
    return lock;
}

/* --------------------------------------------------------------- acquire -- */

static void begin(struct script_run *run)
{
    script_begin(run, &op_acquire, 0, NULL);
}

static void begin_and_cancel(struct script_run *run)
{
    begin(run);
    hf_op_cancel(run->operation->op);
}

static void try(struct script_run *run)
{
    struct shutdown_operation *operation =
        script_operation(run, &op_acquire, 0, NULL);

    operation->wait_ms = 0;
    operation_start(operation);
}

static void mutex(struct script_run *run)
{
    run->locks[0] = script_lock(run, "a", HF_KIND_MUTEX, 1, 1);
}

static void mutex_behind(struct script_run *run)
{
    mutex(run);
    script_rival(run, open_again(run, HF_KIND_MUTEX, 1, 1));
}

/* Behind the holder and behind another waiter. */
static void mutex_third(struct script_run *run)
{
    mutex_behind(run);
    (void)operation_begin(run, &op_acquire, RIVAL, NULL);
    while (case_step(run->test_case))
        continue;
}

static void reader(struct script_run *run)
{
    run->locks[0] = script_lock(run, "a", HF_KIND_READ, 1, 1);
}

static void reader_behind(struct script_run *run)
{
    reader(run);
    script_rival(run, open_again(run, HF_KIND_WRITE, 1, 1));
}

static void writer(struct script_run *run)
{
    run->locks[0] = script_lock(run, "a", HF_KIND_WRITE, 1, 1);
}

static void writer_behind(struct script_run *run)
{
    writer(run);
    script_rival(run, open_again(run, HF_KIND_READ, 1, 1));
}

static void semaphore(struct script_run *run)
{
    run->locks[0] = script_lock(run, "a", HF_KIND_SEMAPHORE, 2, 3);
}

static void semaphore_behind(struct script_run *run)
{
    semaphore(run);
    script_rival(run, open_again(run, HF_KIND_SEMAPHORE, 2, 3));
}

/* Raise the limit of this handle. */
static bool more_permits(struct script_run *run)
{
    if (run->helped || run->locks[0] == NULL)
        return script_rival_releases(run);
    CASE_CHECK(run->test_case, hf_lock_set_limit(run->locks[0], 4) == HF_OK);
    return true;
}

static void several(struct script_run *run)
{
    run->locks[0] = script_lock(run, "a", HF_KIND_MUTEX, 1, 1);
    run->locks[1] = script_lock(run, "b", HF_KIND_SEMAPHORE, 1, 2);
    run->locks[2] = script_lock(run, "c", HF_KIND_WRITE, 1, 1);
}

static void several_behind(struct script_run *run)
{
    several(run);
    run->rival = open_again(run, HF_KIND_MUTEX, 1, 1);
    (void)operation_finish(run, &op_acquire, RIVAL, NULL);
}

static void begin_several(struct script_run *run)
{
    struct shutdown_operation *operation =
        script_operation(run, &op_acquire, 0, NULL);

    operation->count = 3;
    operation_start(operation);
}

/* --------------------------------------------------------------- release -- */

/* Take the grant of the operation before. */
static struct hf_grant *taken(struct script_run *run)
{
    return atomic_exchange(&run->operations[run->count - 1].grant, NULL);
}

static void held(struct script_run *run)
{
    mutex(run);
    (void)operation_finish(run, &op_acquire, 0, NULL);
}

static void writer_held(struct script_run *run)
{
    writer(run);
    (void)operation_finish(run, &op_acquire, 0, NULL);
}

static void semaphore_held(struct script_run *run)
{
    semaphore(run);
    (void)operation_finish(run, &op_acquire, 0, NULL);
}

static void several_held(struct script_run *run)
{
    struct shutdown_operation *operation;

    several(run);
    operation = operation_next(run, &op_acquire, 0, NULL);
    operation->count = 3;
    operation_start(operation);
    case_until(run->test_case, operation_has_ended, operation,
               "the locks are taken");
}

static void release_grant(struct script_run *run)
{
    script_begin(run, &op_release, 0, taken(run));
}

static void downgrade(struct script_run *run)
{
    script_begin(run, &op_downgrade, 0, taken(run));
}

/* ----------------------------------------------------------------- close -- */

static void close_it(struct script_run *run)
{
    run->operation = case_close(run->test_case);
}

/* Handles stay valid until they are freed, but after a close nothing starts. */
static void use_handles(struct script_run *run)
{
    struct shutdown_operation *late;

    operation_release_grant(&run->operations[0]);
    late = operation_begin(run, &op_acquire, 0, NULL);
    CASE_CHECK(run->test_case, late->joinable || late->refusal == HF_ECLOSED);
}

/* ---------------------------------------------------------------------- */

#define FREE_TO_HAVE(called, made)                                             \
    {                                                                          \
        .name = called, .prepare = made, .begin = begin,                       \
        .endings = ACQUIRE_ENDINGS                                             \
    }
#define BEHIND(called, made, helped)                                           \
    {                                                                          \
        .name = called, .prepare = made, .begin = begin, .help = helped,       \
        .endings = ACQUIRE_ENDINGS                                             \
    }
#define RELEASES(called, made)                                                 \
    {                                                                          \
        .name = called, .prepare = made, .begin = release_grant,               \
        .endings = RELEASE_ENDINGS, .other_status = {HF_ELOST},                \
        .finishes = true,                                                      \
    }

const struct shutdown_script scripts_locks[] = {
    FREE_TO_HAVE("mutex", mutex),
    BEHIND("mutex-behind", mutex_behind, script_rival_releases),
    BEHIND("mutex-third", mutex_third, script_rival_releases),
    {
        .name = "mutex-cancel",
        .prepare = mutex_behind,
        .begin = begin_and_cancel,
        .endings = ACQUIRE_ENDINGS & ~END(END_CANCEL),
        .usual_status = HF_ECANCELLED,
        .form = FORM_STARTED,
    },
    {
        .name = "mutex-try",
        .prepare = mutex_behind,
        .begin = try,
        .endings = ACQUIRE_ENDINGS & ~END(END_TIMEOUT),
        .usual_status = HF_EBUSY,
    },
    FREE_TO_HAVE("read", reader),
    BEHIND("read-behind", reader_behind, script_rival_releases),
    FREE_TO_HAVE("write", writer),
    BEHIND("write-behind", writer_behind, script_rival_releases),
    FREE_TO_HAVE("semaphore", semaphore),
    BEHIND("semaphore-behind", semaphore_behind, script_rival_releases),
    BEHIND("semaphore-limit", semaphore_behind, more_permits),
    {
        .name = "several",
        .prepare = several,
        .begin = begin_several,
        .endings = ACQUIRE_ENDINGS,
    },
    {
        .name = "several-behind",
        .prepare = several_behind,
        .begin = begin_several,
        .help = script_rival_releases,
        .endings = ACQUIRE_ENDINGS,
    },
    RELEASES("release", held),
    RELEASES("release-semaphore", semaphore_held),
    RELEASES("release-several", several_held),
    {
        .name = "downgrade",
        .prepare = writer_held,
        .begin = downgrade,
        .endings = RELEASE_ENDINGS | END(END_RELEASE),
        .other_status = {HF_ELOST, HF_ECANCELLED},
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
const int scripts_locks_count =
    sizeof(scripts_locks) / sizeof(scripts_locks[0]);
