/* SPDX-License-Identifier: Apache-2.0 */
#include "deed.h"

#include <string.h>

#include "cell.h"

static const struct hf_done untold = {NULL, NULL, NULL};

struct hf_lock *deed_lock(const struct deed *deed)
{
    return deed->which == RIVAL ? deed->play->rival
                                : deed->play->locks[deed->which];
}

/* ------------------------------------------------------------- callbacks -- */

static void on_drop(void *arg)
{
    atomic_fetch_add(&((struct deed *)arg)->drops, 1);
}

static void finish(struct deed *deed)
{
    if (deed->call->after != NULL)
        deed->call->after(deed);
    atomic_fetch_add(&deed->ended, 1);
    if (atomic_load(&deed->gives_back))
        deed_give_back(deed);
}

void deed_end(struct deed *deed, hf_status status)
{
    if (atomic_load(&deed->ended) > 0)
        return;
    deed->status = status;
    atomic_store(&deed->ended, 1);
}

static void on_done(void *arg, const struct hf_result *result)
{
    struct deed *deed = arg;

    deed->status = result->status;
    deed->tickets = result->tickets;
    if (result->grant != NULL)
        atomic_store(&deed->grant, result->grant);
    CELL_CHECK(deed->play->cell,
               (result->status == HF_OK) == (result->text[0] == '\0'));
    finish(deed);
    cell_hear(deed, INSIDE_DONE);
}

static void on_wait(void *arg, const struct hf_wait *wait)
{
    struct deed *deed = arg;

    CELL_CHECK(deed->play->cell, wait->holder != NULL);
    /* A call that waits may return while this runs. */
    CELL_CHECK(deed->play->cell,
               deed->joinable || atomic_load(&deed->ended) == 0);
    cell_hear(deed, INSIDE_WAIT);
}

static void on_loss(void *arg, struct hf_grant *grant)
{
    struct deed *deed = arg;

    CELL_CHECK(deed->play->cell, hf_grant_check(grant) == HF_ELOST);
    CELL_CHECK(deed->play->cell, atomic_fetch_add(&deed->losses, 1) == 0);
    cell_hear(deed, INSIDE_LOSS);
}

static void on_revoke(void *arg, struct hf_grant *grant)
{
    struct deed *deed = arg;

    (void)grant;
    if (deed->obliges)
        deed_give_back(deed);
}

static struct hf_acquire_opts opts_of(struct deed *deed)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    opts.wait_ms = deed->wait_ms;
    opts.on_wait = (struct hf_on_wait){on_wait, deed, on_drop};
    opts.on_loss = (struct hf_on_loss){on_loss, deed, on_drop};
    opts.on_revoke = (struct hf_on_revoke){on_revoke, deed, on_drop};
    deed->callbacks += 3;
    return opts;
}

/* ----------------------------------------------------------------- calls -- */

static hf_status acquire_start(struct deed *deed, struct hf_done done)
{
    struct hf_acquire_opts opts = opts_of(deed);
    struct hf_lock *lock = deed_lock(deed);

    return deed->count > 1
               ? hf_locks_acquire_start(deed->play->locks, (size_t)deed->count,
                                        &opts, done, &deed->op)
               : hf_lock_acquire_start(lock, &opts, done, &deed->op);
}

static hf_status acquire(struct deed *deed)
{
    struct hf_acquire_opts opts = opts_of(deed);
    struct hf_lock *lock = deed_lock(deed);
    struct hf_grant *grant;
    hf_status status;

    status = deed->count > 1
                 ? hf_locks_acquire(deed->play->locks, (size_t)deed->count,
                                    &opts, &grant)
                 : hf_lock_acquire(lock, &opts, &grant);
    if (status == HF_OK)
        atomic_store(&deed->grant, grant);
    return status;
}

static hf_status release_start(struct deed *deed, struct hf_done done)
{
    return hf_grant_release_start(atomic_exchange(&deed->grant, NULL), done);
}

static hf_status release(struct deed *deed)
{
    return hf_grant_release(atomic_exchange(&deed->grant, NULL));
}

static hf_status downgrade_start(struct deed *deed, struct hf_done done)
{
    return hf_grant_downgrade_start(atomic_load(&deed->grant), done);
}

static hf_status evict_start(struct deed *deed, struct hf_done done)
{
    return hf_lock_evict_start(deed_lock(deed), deed->play->id, deed->wait_ms,
                               done);
}

static hf_status evict(struct deed *deed)
{
    return hf_lock_evict(deed_lock(deed), deed->play->id, deed->wait_ms);
}

static hf_status request_start(struct deed *deed, struct hf_done done)
{
    return hf_lock_revoke_start(deed_lock(deed), NULL, deed->wait_ms, done);
}

static hf_status request(struct deed *deed)
{
    return hf_lock_revoke(deed_lock(deed), NULL, deed->wait_ms);
}

static hf_status wait_start(struct deed *deed, struct hf_done done)
{
    return hf_barrier_wait_start(deed->play->barrier, deed->wait_ms, done,
                                 &deed->op);
}

static hf_status enter_start(struct deed *deed, struct hf_done done)
{
    return hf_double_barrier_enter_start(deed->play->parties[deed->which],
                                         deed->wait_ms, done, &deed->op);
}

static hf_status leave_start(struct deed *deed, struct hf_done done)
{
    return hf_double_barrier_leave_start(deed->play->parties[deed->which],
                                         deed->wait_ms, done, &deed->op);
}

/* Its election has callbacks of its own. */
static hf_status run(struct deed *deed, struct hf_done done)
{
    hf_status status = hf_election_campaign_start(deed->play->election);

    done.drop(done.arg);
    return status;
}

static hf_status resign_start(struct deed *deed, struct hf_done done)
{
    return hf_election_resign_start(deed->play->election, done);
}

static hf_status resign(struct deed *deed)
{
    return hf_election_resign(deed->play->election);
}

static hf_status lead_start(struct deed *deed, struct hf_done done)
{
    return hf_election_wait_start(deed->play->election, deed->wait_ms, done,
                                  &deed->op);
}

static hf_status lead(struct deed *deed)
{
    return hf_election_wait(deed->play->election, deed->wait_ms);
}

/* He who has resigned hears no more. */
static void resigned(struct deed *deed)
{
    struct deed *candidate = &deed->play->deeds[0];

    if (deed->status != HF_OK)
        return;
    CELL_CHECK(deed->play->cell, candidate->call == &call_run);
    deed_end(candidate, HF_ECANCELLED);
    atomic_store(&candidate->leads, 2); /* that he leads would be too many */
}

static hf_status close_start(struct deed *deed, struct hf_done done)
{
    return hf_client_close_start(deed->play->cell->front.client, done);
}

static hf_status close_(struct deed *deed)
{
    return hf_client_close(deed->play->cell->front.client);
}

const struct call call_acquire = {acquire_start, acquire, NULL};
const struct call call_release = {release_start, release, NULL};
const struct call call_downgrade = {downgrade_start, NULL, NULL};
const struct call call_evict = {evict_start, evict, NULL};
const struct call call_request = {request_start, request, NULL};
const struct call call_run = {run, NULL, NULL};
const struct call call_lead = {lead_start, lead, NULL};
const struct call call_resign = {resign_start, resign, resigned};
const struct call call_close = {close_start, close_, NULL};

/* Calls that only wait. */
#define WAITS(name, waiting)                                                   \
    static hf_status name##_wait(struct deed *deed)                            \
    {                                                                          \
        return waiting;                                                        \
    }                                                                          \
    const struct call call_##name = {NULL, name##_wait, NULL};
WAITS(lock, hf_mutex_timedlock(deed->play->mutex, deed->wait_ms))
WAITS(unlock, hf_mutex_unlock(deed->play->mutex))
WAITS(rdlock, hf_rwlock_timedrdlock(deed->play->rwlock, deed->wait_ms))
WAITS(wrlock, hf_rwlock_timedwrlock(deed->play->rwlock, deed->wait_ms))
WAITS(wrunlock, hf_rwlock_wrunlock(deed->play->rwlock))

/* A pair that takes a subject and how long it may take, and no more. */
#define PAIR(name, of, subject)                                                \
    static hf_status name##_begin(struct deed *deed, struct hf_done done)      \
    {                                                                          \
        return hf_##of##_##name##_start(subject, deed->wait_ms, done);         \
    }                                                                          \
    static hf_status name##_wait(struct deed *deed)                            \
    {                                                                          \
        return hf_##of##_##name(subject, deed->wait_ms);                       \
    }                                                                          \
    const struct call call_##name = {name##_begin, name##_wait, NULL};
PAIR(raise, barrier, deed->play->barrier)
PAIR(lower, barrier, deed->play->barrier)

/* One that lists. */
#define LIST(name, of, ...)                                                    \
    static hf_status name##_begin(struct deed *deed, struct hf_done done)      \
    {                                                                          \
        return hf_##of##_start(__VA_ARGS__, deed->wait_ms, done);              \
    }                                                                          \
    static hf_status name##_wait(struct deed *deed)                            \
    {                                                                          \
        return hf_##of(__VA_ARGS__, deed->wait_ms, &deed->tickets);            \
    }                                                                          \
    const struct call call_##name = {name##_begin, name##_wait, NULL};
LIST(tickets, lock_tickets, deed_lock(deed), HF_TICKETS_ALL)
LIST(holders, lock_tickets, deed_lock(deed), HF_TICKETS_HOLDERS)
LIST(waiters, lock_tickets, deed_lock(deed), HF_TICKETS_WAITERS)
LIST(leader, election_tickets, deed->play->election, HF_TICKETS_HOLDERS)
LIST(candidates, election_tickets, deed->play->election, HF_TICKETS_ALL)
LIST(members, double_barrier_participants, deed->play->parties[deed->which])

/* One with a handle to cancel it by. */
#define WAITING(name, of, subject)                                             \
    static hf_status name##_wait(struct deed *deed)                            \
    {                                                                          \
        return hf_##of##_##name(subject, deed->wait_ms);                       \
    }                                                                          \
    const struct call call_##name = {name##_start, name##_wait, NULL};
WAITING(wait, barrier, deed->play->barrier)
WAITING(enter, double_barrier, deed->play->parties[deed->which])
WAITING(leave, double_barrier, deed->play->parties[deed->which])

/* ----------------------------------------------------------------- deeds -- */

static void *deed_main(void *arg)
{
    struct deed *deed = arg;

    deed->status = deed->call->wait_for(deed);
    finish(deed);
    return NULL;
}

void deed_start(struct deed *deed)
{
    struct cell *cell = deed->play->cell;
    struct hf_done done = {on_done, deed, on_drop};

    if ((cell->way == WAY_BLOCKING || deed->waits) &&
        deed->call->wait_for != NULL) {
        deed->joinable = true;
        deed->thread = kit_thread(deed_main, deed);
        return;
    }
    deed->callbacks++;
    deed->refusal = deed->call->start(deed, done);
}

struct deed *deed_next(struct play *play, const struct call *call, int which,
                       struct hf_grant *grant)
{
    struct deed *deed = &play->deeds[play->count++];

    CELL_CHECK(play->cell, play->count <= PLAY_DEEDS);
    deed->play = play;
    deed->call = call;
    deed->which = which;
    deed->count = 1;
    deed->wait_ms = HF_FOREVER;
    atomic_store(&deed->grant, grant);
    return deed;
}

struct deed *deed_begin(struct play *play, const struct call *call, int which,
                        struct hf_grant *grant)
{
    struct deed *deed = deed_next(play, call, which, grant);

    deed_start(deed);
    return deed;
}

/* One that was refused has ended. */
bool deed_has_ended(void *arg)
{
    struct deed *deed = arg;

    return deed->call == NULL || deed->refusal != HF_OK ||
           atomic_load(&deed->ended) > 0;
}

bool deeds_have_ended(void *arg)
{
    struct play *play = arg;
    bool all = true;

    for (int i = 0; i < play->count; i++)
        all = all && deed_has_ended(&play->deeds[i]);
    return all;
}

struct deed *deed_done(struct play *play, const struct call *call, int which,
                       struct hf_grant *grant)
{
    struct deed *deed = deed_begin(play, call, which, grant);

    CELL_CHECK(play->cell, deed->refusal == HF_OK);
    cell_until(play->cell, deed_has_ended, deed, "an end of what comes first");
    CELL_CHECK(play->cell, deed->status == HF_OK);
    return deed;
}

void deed_give_back(struct deed *deed)
{
    struct hf_grant *grant = atomic_exchange(&deed->grant, NULL);

    if (grant != NULL)
        CELL_CHECK(deed->play->cell,
                   hf_grant_release_start(grant, untold) == HF_OK);
}

void deed_forget(struct deed *deed)
{
    struct cell *cell = deed->play->cell;
    bool heard = deed->call != NULL && deed->refusal == HF_OK;
    struct hf_grant *grant;

    if (deed->joinable)
        pthread_join(deed->thread, NULL);
    grant = atomic_exchange(&deed->grant, NULL);
    CELL_CHECK(cell, atomic_load(&deed->ended) == heard);
    if (grant != NULL && deed->call == &call_acquire)
        CELL_CHECK(cell, atomic_load(&deed->losses) == 1);
    if (grant != NULL)
        CELL_CHECK(cell, hf_grant_release(grant) == HF_ELOST);
    hf_op_free(deed->op);
    hf_tickets_free(deed->tickets);
}

void deed_judge_drops(const struct deed *deed)
{
    CELL_CHECK(deed->play->cell, atomic_load(&deed->drops) == deed->callbacks);
}
