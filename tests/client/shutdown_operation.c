/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of the public interface as rows, and the callbacks of an
 * operation that count what comes. */
#include "shutdown_operation.h"

#include <string.h>

#include "shutdown_case.h"

static const struct hf_done nobody = {NULL, NULL, NULL};

struct hf_lock *operation_lock(const struct shutdown_operation *operation)
{
    return operation->which == RIVAL ? operation->run->rival
                                     : operation->run->locks[operation->which];
}

/* ------------------------------------------------------------- callbacks -- */

static void on_drop(void *arg)
{
    atomic_fetch_add(&((struct shutdown_operation *)arg)->drops, 1);
}

static void finish(struct shutdown_operation *operation)
{
    if (operation->calls->after != NULL)
        operation->calls->after(operation);
    atomic_fetch_add(&operation->ended, 1);
    if (atomic_load(&operation->releases_at_once))
        operation_release_grant(operation);
}

void operation_end(struct shutdown_operation *operation, hf_status status)
{
    if (atomic_load(&operation->ended) > 0)
        return;
    operation->status = status;
    atomic_store(&operation->ended, 1);
}

static void on_done(void *arg, const struct hf_result *result)
{
    struct shutdown_operation *operation = arg;

    operation->status = result->status;
    operation->tickets = result->tickets;
    if (result->grant != NULL)
        atomic_store(&operation->grant, result->grant);
    CASE_CHECK(operation->run->test_case,
               (result->status == HF_OK) == (result->text[0] == '\0'));
    finish(operation);
    case_in_callback(operation, INSIDE_DONE);
}

static void on_wait(void *arg, const struct hf_wait *wait)
{
    struct shutdown_operation *operation = arg;

    CASE_CHECK(operation->run->test_case, wait->holder != NULL);
    /* A call that waits may have returned while this callback runs. */
    CASE_CHECK(operation->run->test_case,
               operation->joinable || atomic_load(&operation->ended) == 0);
    case_in_callback(operation, INSIDE_WAIT);
}

static void on_loss(void *arg, struct hf_grant *grant)
{
    struct shutdown_operation *operation = arg;

    CASE_CHECK(operation->run->test_case, hf_grant_check(grant) == HF_ELOST);
    CASE_CHECK(operation->run->test_case,
               atomic_fetch_add(&operation->losses, 1) == 0);
    case_in_callback(operation, INSIDE_LOSS);
}

static void on_revoke(void *arg, struct hf_grant *grant)
{
    struct shutdown_operation *operation = arg;

    (void)grant;
    if (operation->releases_on_revoke)
        operation_release_grant(operation);
}

static struct hf_acquire_opts opts_of(struct shutdown_operation *operation)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    opts.wait_ms = operation->wait_ms;
    opts.on_wait = (struct hf_on_wait){on_wait, operation, on_drop};
    opts.on_loss = (struct hf_on_loss){on_loss, operation, on_drop};
    opts.on_revoke = (struct hf_on_revoke){on_revoke, operation, on_drop};
    operation->callbacks += 3;
    return opts;
}

/* ----------------------------------------------------------------- calls -- */

static hf_status acquire_start(struct shutdown_operation *operation,
                               struct hf_done done)
{
    struct hf_acquire_opts opts = opts_of(operation);
    struct hf_lock *lock = operation_lock(operation);

    return operation->count > 1
               ? hf_locks_acquire_start(operation->run->locks,
                                        (size_t)operation->count, &opts, done,
                                        &operation->op)
               : hf_lock_acquire_start(lock, &opts, done, &operation->op);
}

static hf_status acquire(struct shutdown_operation *operation)
{
    struct hf_acquire_opts opts = opts_of(operation);
    struct hf_lock *lock = operation_lock(operation);
    struct hf_grant *grant;
    hf_status status;

    status = operation->count > 1
                 ? hf_locks_acquire(operation->run->locks,
                                    (size_t)operation->count, &opts, &grant)
                 : hf_lock_acquire(lock, &opts, &grant);
    if (status == HF_OK)
        atomic_store(&operation->grant, grant);
    return status;
}

static hf_status release_start(struct shutdown_operation *operation,
                               struct hf_done done)
{
    return hf_grant_release_start(atomic_exchange(&operation->grant, NULL),
                                  done);
}

static hf_status release(struct shutdown_operation *operation)
{
    return hf_grant_release(atomic_exchange(&operation->grant, NULL));
}

static hf_status downgrade_start(struct shutdown_operation *operation,
                                 struct hf_done done)
{
    return hf_grant_downgrade_start(atomic_load(&operation->grant), done);
}

static hf_status evict_start(struct shutdown_operation *operation,
                             struct hf_done done)
{
    return hf_lock_evict_start(operation_lock(operation), operation->run->id,
                               NULL, operation->wait_ms, done);
}

static hf_status evict(struct shutdown_operation *operation)
{
    return hf_lock_evict(operation_lock(operation), operation->run->id, NULL,
                         operation->wait_ms);
}

static hf_status request_start(struct shutdown_operation *operation,
                               struct hf_done done)
{
    return hf_lock_revoke_start(operation_lock(operation), NULL,
                                operation->wait_ms, done);
}

static hf_status request_release(struct shutdown_operation *operation)
{
    return hf_lock_revoke(operation_lock(operation), NULL, operation->wait_ms);
}

static hf_status wait_start(struct shutdown_operation *operation,
                            struct hf_done done)
{
    return hf_barrier_wait_start(operation->run->barrier, operation->wait_ms,
                                 done, &operation->op);
}

static hf_status enter_start(struct shutdown_operation *operation,
                             struct hf_done done)
{
    return hf_double_barrier_enter_start(
        operation->run->participants[operation->which], operation->wait_ms,
        done, &operation->op);
}

static hf_status leave_start(struct shutdown_operation *operation,
                             struct hf_done done)
{
    return hf_double_barrier_leave_start(
        operation->run->participants[operation->which], operation->wait_ms,
        done, &operation->op);
}

/* The election has callbacks of its own. */
static hf_status campaign(struct shutdown_operation *operation,
                          struct hf_done done)
{
    hf_status status = hf_election_campaign_start(operation->run->election);

    done.drop(done.arg);
    return status;
}

static hf_status resign_start(struct shutdown_operation *operation,
                              struct hf_done done)
{
    return hf_election_resign_start(operation->run->election, done);
}

static hf_status resign(struct shutdown_operation *operation)
{
    return hf_election_resign(operation->run->election);
}

static hf_status lead_start(struct shutdown_operation *operation,
                            struct hf_done done)
{
    return hf_election_wait_start(operation->run->election, operation->wait_ms,
                                  done, &operation->op);
}

static hf_status lead(struct shutdown_operation *operation)
{
    return hf_election_wait(operation->run->election, operation->wait_ms);
}

/* After a resignation the candidate gets no callback any more. */
static void resigned(struct shutdown_operation *operation)
{
    struct shutdown_operation *candidate = &operation->run->operations[0];

    if (operation->status != HF_OK)
        return;
    CASE_CHECK(operation->run->test_case, candidate->calls == &op_campaign);
    operation_end(candidate, HF_ECANCELLED);
    atomic_store(&candidate->leads,
                 2); /* so one more on_elected fails the check */
}

static hf_status close_start(struct shutdown_operation *operation,
                             struct hf_done done)
{
    return hf_client_close_start(operation->run->test_case->fixture.client,
                                 done);
}

static hf_status close_(struct shutdown_operation *operation)
{
    return hf_client_close(operation->run->test_case->fixture.client);
}

const struct operation_calls op_acquire = {acquire_start, acquire, NULL};
const struct operation_calls op_release = {release_start, release, NULL};
const struct operation_calls op_downgrade = {downgrade_start, NULL, NULL};
const struct operation_calls op_evict = {evict_start, evict, NULL};
const struct operation_calls op_request_release = {request_start,
                                                   request_release, NULL};
const struct operation_calls op_campaign = {campaign, NULL, NULL};
const struct operation_calls op_lead = {lead_start, lead, NULL};
const struct operation_calls op_resign = {resign_start, resign, resigned};
const struct operation_calls op_close = {close_start, close_, NULL};

/* Calls that wait and have no starting twin. */
#define BLOCKS(name, waiting)                                                  \
    static hf_status name##_wait(struct shutdown_operation *operation)         \
    {                                                                          \
        return waiting;                                                        \
    }                                                                          \
    const struct operation_calls op_##name = {NULL, name##_wait, NULL};
BLOCKS(lock, hf_mutex_timedlock(operation->run->mutex, operation->wait_ms))
BLOCKS(unlock, hf_mutex_unlock(operation->run->mutex))
BLOCKS(rdlock,
       hf_rwlock_timedrdlock(operation->run->rwlock, operation->wait_ms))
BLOCKS(wrlock,
       hf_rwlock_timedwrlock(operation->run->rwlock, operation->wait_ms))
BLOCKS(wrunlock, hf_rwlock_wrunlock(operation->run->rwlock))

/* Two calls that take a subject and a wait only. */
#define PAIR(name, of, subject)                                                \
    static hf_status name##_begin(struct shutdown_operation *operation,        \
                                  struct hf_done done)                         \
    {                                                                          \
        return hf_##of##_##name##_start(subject, operation->wait_ms, done);    \
    }                                                                          \
    static hf_status name##_wait(struct shutdown_operation *operation)         \
    {                                                                          \
        return hf_##of##_##name(subject, operation->wait_ms);                  \
    }                                                                          \
    const struct operation_calls op_##name = {name##_begin, name##_wait, NULL};
PAIR(set, barrier, operation->run->barrier)
PAIR(clear, barrier, operation->run->barrier)

/* Calls that list tickets. */
#define LIST(name, of, ...)                                                    \
    static hf_status name##_begin(struct shutdown_operation *operation,        \
                                  struct hf_done done)                         \
    {                                                                          \
        return hf_##of##_start(__VA_ARGS__, operation->wait_ms, done);         \
    }                                                                          \
    static hf_status name##_wait(struct shutdown_operation *operation)         \
    {                                                                          \
        return hf_##of(__VA_ARGS__, operation->wait_ms, &operation->tickets);  \
    }                                                                          \
    const struct operation_calls op_##name = {name##_begin, name##_wait, NULL};
LIST(tickets, lock_tickets, operation_lock(operation), HF_TICKETS_ALL)
LIST(holders, lock_tickets, operation_lock(operation), HF_TICKETS_HOLDERS)
LIST(waiters, lock_tickets, operation_lock(operation), HF_TICKETS_WAITERS)
LIST(leader, election_tickets, operation->run->election, HF_TICKETS_HOLDERS)
LIST(candidates, election_tickets, operation->run->election, HF_TICKETS_ALL)
LIST(participants, double_barrier_participants,
     operation->run->participants[operation->which])

/* Calls that start with an hf_op to cancel by. */
#define WAITING(name, of, subject)                                             \
    static hf_status name##_wait(struct shutdown_operation *operation)         \
    {                                                                          \
        return hf_##of##_##name(subject, operation->wait_ms);                  \
    }                                                                          \
    const struct operation_calls op_##name = {name##_start, name##_wait, NULL};
WAITING(wait, barrier, operation->run->barrier)
WAITING(enter, double_barrier, operation->run->participants[operation->which])
WAITING(leave, double_barrier, operation->run->participants[operation->which])

/* ------------------------------------------------------------ operations -- */

static void *operation_main(void *arg)
{
    struct shutdown_operation *operation = arg;

    operation->status = operation->calls->wait_for(operation);
    finish(operation);
    return NULL;
}

void operation_start(struct shutdown_operation *operation)
{
    struct shutdown_case *test_case = operation->run->test_case;
    struct hf_done done = {on_done, operation, on_drop};

    if ((test_case->way == WAY_BLOCKING || operation->blocks) &&
        operation->calls->wait_for != NULL) {
        operation->joinable = true;
        operation->thread = start_thread(operation_main, operation);
        return;
    }
    operation->callbacks++;
    operation->refusal = operation->calls->start(operation, done);
}

struct shutdown_operation *operation_next(struct script_run *run,
                                          const struct operation_calls *calls,
                                          int which, struct hf_grant *grant)
{
    struct shutdown_operation *operation = &run->operations[run->count++];

    CASE_CHECK(run->test_case, run->count <= RUN_OPERATIONS);
    operation->run = run;
    operation->calls = calls;
    operation->which = which;
    operation->count = 1;
    operation->wait_ms = HF_FOREVER;
    atomic_store(&operation->grant, grant);
    return operation;
}

struct shutdown_operation *operation_begin(struct script_run *run,
                                           const struct operation_calls *calls,
                                           int which, struct hf_grant *grant)
{
    struct shutdown_operation *operation =
        operation_next(run, calls, which, grant);

    operation_start(operation);
    return operation;
}

/* A refused operation counts as ended. */
bool operation_has_ended(void *arg)
{
    struct shutdown_operation *operation = arg;

    return operation->calls == NULL || operation->refusal != HF_OK ||
           atomic_load(&operation->ended) > 0;
}

bool operations_have_ended(void *arg)
{
    struct script_run *run = arg;
    bool all = true;

    for (int i = 0; i < run->count; i++)
        all = all && operation_has_ended(&run->operations[i]);
    return all;
}

struct shutdown_operation *operation_finish(struct script_run *run,
                                            const struct operation_calls *calls,
                                            int which, struct hf_grant *grant)
{
    struct shutdown_operation *operation =
        operation_begin(run, calls, which, grant);

    CASE_CHECK(run->test_case, operation->refusal == HF_OK);
    case_until(run->test_case, operation_has_ended, operation,
               "the preparation ends");
    CASE_CHECK(run->test_case, operation->status == HF_OK);
    return operation;
}

void operation_release_grant(struct shutdown_operation *operation)
{
    struct hf_grant *grant = atomic_exchange(&operation->grant, NULL);

    if (grant != NULL)
        CASE_CHECK(operation->run->test_case,
                   hf_grant_release_start(grant, nobody) == HF_OK);
}

void operation_clean_up(struct shutdown_operation *operation)
{
    struct shutdown_case *test_case = operation->run->test_case;
    bool accepted = operation->calls != NULL && operation->refusal == HF_OK;
    struct hf_grant *grant;

    if (operation->joinable)
        pthread_join(operation->thread, NULL);
    grant = atomic_exchange(&operation->grant, NULL);
    CASE_CHECK(test_case, atomic_load(&operation->ended) == accepted);
    if (grant != NULL && operation->calls == &op_acquire)
        CASE_CHECK(test_case, atomic_load(&operation->losses) == 1);
    if (grant != NULL)
        CASE_CHECK(test_case, hf_grant_release(grant) == HF_ELOST);
    hf_op_free(operation->op);
    hf_tickets_free(operation->tickets);
}

void operation_check_drops(const struct shutdown_operation *operation)
{
    CASE_CHECK(operation->run->test_case,
               atomic_load(&operation->drops) == operation->callbacks);
}
