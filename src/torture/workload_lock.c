/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workload that acquires a mutex, a read/write lock, a semaphore, or one or
 * two mutexes at a time.
 */
#include <assert.h>

#include <holdfast/grant.h>

#include "base/container_of.h"
#include "base/memory.h"
#include "command/clock.h"
#include "torture/workload.h"

/* The semaphore has three permits.  Some workers take one of them, others two.
 */
#define PERMITS_MAX 2
#define LIMIT 3

struct lock_workload {
    struct hf_workload workload;
    enum hf_kind kind; /* MUTEX, SEMAPHORE, WRITE */
    uint32_t permits;
    struct hf_lock *handles[HF_WORKLOAD_LOCKS]; /* handles of the workload's
                                                   locks */
    struct hf_lock *readers; /* handle for reading, of a read/write lock;
                                NULL for other locks */
    struct hf_op *op;        /* the operation that acquires; NULL: none is
                                under way */
    struct hf_grant *grant;
    bool queued;        /* QUEUED was recorded for a ticket */
    uint32_t displaced; /* how many earlier tickets of the wait had been lost
                           then */
    bool reads;         /* it holds or wants the lock as a reader */
    bool lost;          /* LOST was recorded */
};

/* Return the struct that begins with ${workload}. */
static struct lock_workload *lock_of(struct hf_workload *workload)
{
    return container_of(workload, struct lock_workload, workload);
}

/* ------------------------------------------------------------------ open -- */

/* Open a handle of the lock ${name}. */
static hf_status open_lock(struct hf_workload *workload, const char *name,
                           enum hf_kind kind, struct hf_lock **lock)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;

    opts.kind = kind;
    if (kind == HF_KIND_SEMAPHORE) {
        opts.permits = lock_of(workload)->permits;
        opts.limit = LIMIT;
    }
    return hf_lock_open(workload->worker->client, name, &opts, lock);
}

/* See struct hf_workload_ops. */
static hf_status open_workload(struct hf_workload *workload,
                               struct hf_error *error)
{
    struct lock_workload *self = lock_of(workload);
    hf_status status = HF_OK;

    self->permits = 1 + workload->worker->number % PERMITS_MAX;
    for (unsigned i = 0; i < workload->lock_count && status == HF_OK; i++)
        status = open_lock(workload, workload->locks[i].name, self->kind,
                           &self->handles[i]);
    if (status == HF_OK && self->kind == HF_KIND_WRITE)
        status = open_lock(workload, workload->locks[0].name, HF_KIND_READ,
                           &self->readers);
    if (status != HF_OK)
        *error = *hf_last_error();
    return status;
}

static void close_workload(struct hf_workload *workload)
{
    for (unsigned i = 0; i < HF_WORKLOAD_LOCKS; i++)
        hf_lock_free(lock_of(workload)->handles[i]);
    hf_lock_free(lock_of(workload)->readers);
}

/* ------------------------------------------------------------------ want -- */

/* The wait goes on: record QUEUED, and before that UNQUEUED if the last ticket
 * was lost.  Used only if one lock is acquired, because with several it is not
 * known here which of them the wait is for. */
static void on_wait(void *arg, const struct hf_wait *wait)
{
    struct lock_workload *self = arg;

    if (self->queued && wait->displaced == self->displaced)
        return;
    if (self->queued)
        hf_workload_record(&self->workload, HF_HISTORY_UNQUEUED);
    hf_workload_record(&self->workload, HF_HISTORY_QUEUED);
    self->queued = true;
    self->displaced = wait->displaced;
}

/* The grant was lost. */
static void on_loss(void *arg, struct hf_grant *grant)
{
    struct lock_workload *self = arg;

    (void)grant;
    self->lost = true;
    hf_workload_record(&self->workload, HF_HISTORY_LOST);
}

/* Return the handle that the lock ${index} is acquired with this time. */
static struct hf_lock *handle_of(const struct lock_workload *self,
                                 unsigned index)
{
    struct hf_lock *lock = self->reads ? self->readers : self->handles[index];

    assert(lock != NULL);
    return lock;
}

/* Set ${locks} to the handles of the locks that are wanted, and return how many
 * there are. */
static size_t wanted_handles(const struct lock_workload *self,
                             struct hf_lock *locks[HF_WORKLOAD_LOCKS])
{
    size_t count = 0;

    for (unsigned i = 0; i < self->workload.lock_count; i++)
        if (self->workload.locks[i].wanted)
            locks[count++] = handle_of(self, i);
    return count;
}

static uint64_t safe_until_us(const struct lock_workload *self)
{
    return hf_workload_safe_until_us(hf_grant_safe_until_ms(self->grant));
}

/* Remember the tokens of the grant. */
static void take_tokens(struct lock_workload *self)
{
    for (unsigned i = 0; i < self->workload.lock_count; i++)
        if (self->workload.locks[i].wanted)
            self->workload.locks[i].token =
                hf_grant_token_of(self->grant, handle_of(self, i));
}

/* The acquire has ended. */
static void on_done(void *arg, const struct hf_result *result)
{
    struct lock_workload *self = arg;

    hf_op_free(self->op);
    self->op = NULL;
    if (result->status != HF_OK) {
        hf_workload_give_up(&self->workload, result->status, result->text);
        return;
    }
    self->grant = result->grant;
    take_tokens(self);
    hf_workload_begin_hold(&self->workload);
    hf_workload_record_safe_until(&self->workload, HF_HISTORY_GRANT,
                                  safe_until_us(self));
}

/* Choose what to acquire this time: as a reader or as a writer, one lock or
 * both. */
static void choose_locks(struct lock_workload *self)
{
    struct hf_workload *workload = &self->workload;

    self->queued = false;
    self->lost = false;
    self->reads = self->readers != NULL && !hf_workload_one_in(workload, 3);
    workload->locks[0].wanted = workload->locks[1].wanted = true;
    if (workload->lock_count > 1 && hf_workload_one_in(workload, 2))
        workload->locks[hf_random_below(&workload->random, 2)].wanted = false;
}

/* Begin to acquire. */
static void want(struct lock_workload *self)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_done done = {on_done, self, NULL};
    struct hf_lock *locks[HF_WORKLOAD_LOCKS];
    struct hf_workload *workload = &self->workload;
    hf_status status;
    size_t count;

    choose_locks(self);
    count = wanted_handles(self, locks);
    if (count == 1)
        opts.on_wait = (struct hf_on_wait){on_wait, self, NULL};
    opts.on_loss = (struct hf_on_loss){on_loss, self, NULL};
    if (hf_workload_one_in(workload, 10))
        opts.wait_ms = hf_workload_wait_limit_ms(workload);
    hf_workload_begin_wait(workload);
    hf_workload_record_want(workload, self->reads ? HF_KIND_READ : self->kind,
                            self->kind == HF_KIND_SEMAPHORE ? self->permits : 1,
                            self->kind == HF_KIND_SEMAPHORE ? LIMIT : 1);
    status = hf_locks_acquire_start(locks, count, &opts, done, &self->op);
    if (status != HF_OK)
        hf_workload_give_up(workload, status, hf_status_text(status));
}

/* ------------------------------------------------------------------ hold -- */

static void on_released(void *arg, const struct hf_result *result)
{
    (void)result;
    hf_workload_idle(arg);
}

/* Begin to release. */
static void release(struct lock_workload *self)
{
    struct hf_done done = {on_released, &self->workload, NULL};

    hf_workload_end_hold(&self->workload);
    /* Recorded before, because somebody else may hold the lock as soon as it is
     * released. */
    if (!self->lost)
        hf_workload_record(&self->workload, HF_HISTORY_RELEASE);
    if (hf_grant_release_start(self->grant, done) != HF_OK)
        hf_workload_idle(
            &self->workload); /* the client was closed, which ends everything */
    self->grant = NULL;
}

/* The downgrade has ended. */
static void on_downgraded(void *arg, const struct hf_result *result)
{
    struct hf_workload *workload = arg;

    (void)result; /* after a failure it is still a writer, but writes no more */
    if (workload->state == HF_WORKLOAD_DOWNGRADING)
        workload->state = HF_WORKLOAD_HOLDING;
}

/* Begin to downgrade a writer to a reader.  This is recorded before, as a
 * release is. */
static void downgrade(struct lock_workload *self)
{
    struct hf_done done = {on_downgraded, &self->workload, NULL};

    hf_workload_record(&self->workload, HF_HISTORY_SHARED);
    self->reads = true;
    hf_workload_choose_end(&self->workload);
    if (hf_grant_downgrade_start(self->grant, done) == HF_OK)
        self->workload.state = HF_WORKLOAD_DOWNGRADING;
}

/* End a hold: write to the resource, then release or downgrade. */
static void finish(struct lock_workload *self)
{
    struct hf_workload *workload = &self->workload;

    hf_workload_record_renewal(workload, safe_until_us(self));
    if (self->kind != HF_KIND_SEMAPHORE && !self->reads)
        hf_workload_write_fenced(workload);
    if (self->kind == HF_KIND_WRITE && !self->reads && !workload->ending &&
        hf_workload_one_in(workload, 3))
        downgrade(self);
    else
        release(self);
}

/* See struct hf_workload_ops. */
static void advance(struct hf_workload *workload)
{
    struct lock_workload *self = lock_of(workload);
    bool due = hf_clock_now_ms() >= workload->until_ms || workload->ending;

    switch (workload->state) {
    case HF_WORKLOAD_IDLE:
        if (due && !workload->ending)
            want(self);
        break;
    case HF_WORKLOAD_WAITING:
        if (workload->ending)
            hf_op_cancel(self->op);
        break;
    case HF_WORKLOAD_HOLDING:
        if (self->lost)
            release(self);
        else if (due)
            finish(self);
        else
            hf_workload_record_renewal(workload, safe_until_us(self));
        break;
    case HF_WORKLOAD_DOWNGRADING:
    case HF_WORKLOAD_RELEASING:
        break;
    }
}

struct hf_workload *hf_workload_new_lock(enum hf_workload_kind kind)
{
    static const struct hf_workload_ops ops = {open_workload, advance,
                                               close_workload};
    struct lock_workload *self = hf_alloc(sizeof *self);

    if (self == NULL)
        return NULL;
    *self = (struct lock_workload){.workload.ops = &ops, .workload.fd = -1};
    if (kind == HF_WORKLOAD_RWLOCK)
        self->kind = HF_KIND_WRITE;
    else if (kind == HF_WORKLOAD_SEMAPHORE)
        self->kind = HF_KIND_SEMAPHORE;
    else
        self->kind = HF_KIND_MUTEX;
    return &self->workload;
}
