/* SPDX-License-Identifier: Apache-2.0 */
/* What several scripts of the shutdown sweep use. */
#include "shutdown_script.h"

#include <stdio.h>

const char *script_queue(struct script_run *run, const char *what,
                         enum hf_kind kind)
{
    struct run_queue *queue = &run->queues[run->queue_count++];

    CASE_CHECK(run->test_case, run->queue_count <= RUN_LOCKS);
    queue->kind = kind;
    (void)snprintf(queue->name, sizeof(queue->name), "%s-%s", run->name, what);
    return queue->name;
}

static struct hf_lock *open_lock(struct script_run *run, const char *name,
                                 const struct hf_lock_opts *opts)
{
    struct hf_lock *lock;

    CASE_CHECK(run->test_case, hf_lock_open(run->test_case->fixture.client,
                                            name, opts, &lock) == HF_OK);
    return lock;
}

struct hf_lock *script_lock(struct script_run *run, const char *what,
                            enum hf_kind kind, uint32_t permits, uint32_t limit)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;

    opts.kind = kind;
    opts.permits = permits;
    opts.limit = limit;
    return open_lock(run, script_queue(run, what, kind), &opts);
}

struct shutdown_operation *script_operation(struct script_run *run,
                                            const struct operation_calls *calls,
                                            int which, struct hf_grant *grant)
{
    struct shutdown_case *test_case = run->test_case;
    struct shutdown_operation *operation =
        operation_next(run, calls, which, grant);

    run->operation = operation;
    if (run == &test_case->runs[0] && test_case->ending == END_TIMEOUT)
        operation->wait_ms = test_case->engine->timeout_ms;
    return operation;
}

void script_begin(struct script_run *run, const struct operation_calls *calls,
                  int which, struct hf_grant *grant)
{
    operation_start(script_operation(run, calls, which, grant));
}

void script_rival(struct script_run *run, struct hf_lock *lock)
{
    run->rival = lock;
    (void)operation_finish(run, &op_acquire, RIVAL, NULL);
}

bool script_rival_releases(struct script_run *run)
{
    for (int i = 0; i < run->count; i++) {
        struct shutdown_operation *operation = &run->operations[i];

        if (operation == run->operation ||
            atomic_load(&operation->grant) == NULL)
            continue;
        operation_release_grant(operation);
        return true;
    }
    return false;
}
