/* SPDX-License-Identifier: Apache-2.0 */
/* Bids for a mutex, a read/write lock, a semaphore, or one or two mutexes. */
#include <assert.h>

#include "cli/bid.h"
#include "cli/clock.h"
#include "core/memory.h"

/* Of a semaphore: some contenders take one permit, others two. */
#define PERMITS_MAX 2
#define LIMIT 3

struct lock_bid {
    struct hf_bid bid;
    enum hf_kind kind; /* MUTEX, SEMAPHORE, WRITE */
    uint32_t permits;
    struct hf_lock *locks[HF_BID_LOCKS]; /* of its stakes */
    struct hf_lock *readers;             /* of a read/write lock, else NULL */
    struct hf_op *op;
    struct hf_grant *grant;
    bool queued;        /* noted so, of a place that ... */
    uint32_t displaced; /* ... was had after so many others */
    bool reads;         /* it may not write */
    bool lost;          /* and noted so */
};

static struct lock_bid *of(struct hf_bid *bid)
{
    return (struct lock_bid *)bid;
}

/* ------------------------------------------------------------------ open -- */

static hf_status open_lock(struct hf_bid *bid, const char *name,
                           enum hf_kind kind, struct hf_lock **lock)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;

    opts.kind = kind;
    if (kind == HF_KIND_SEMAPHORE) {
        opts.permits = of(bid)->permits;
        opts.limit = LIMIT;
    }
    return hf_lock_open(bid->bidder->client, name, &opts, lock);
}

static hf_status open_bid(struct hf_bid *bid, struct hf_error *error)
{
    struct lock_bid *mine = of(bid);
    hf_status status = HF_OK;

    mine->permits = 1 + bid->bidder->number % PERMITS_MAX;
    for (unsigned i = 0; i < bid->stake_count && status == HF_OK; i++)
        status =
            open_lock(bid, bid->stakes[i].name, mine->kind, &mine->locks[i]);
    if (status == HF_OK && mine->kind == HF_KIND_WRITE)
        status =
            open_lock(bid, bid->stakes[0].name, HF_KIND_READ, &mine->readers);
    if (status != HF_OK)
        hf_client_error(bid->bidder->client, error);
    return status;
}

static void close_bid(struct hf_bid *bid)
{
    for (unsigned i = 0; i < HF_BID_LOCKS; i++)
        hf_lock_free(of(bid)->locks[i]);
    hf_lock_free(of(bid)->readers);
}

/* ------------------------------------------------------------------ want -- */

/* Of several locks it does not say for which. */
static void on_wait(void *arg, const struct hf_wait *wait)
{
    struct lock_bid *mine = arg;

    if (mine->queued && wait->displaced == mine->displaced)
        return;
    if (mine->queued)
        hf_bid_note(&mine->bid, HF_NOTE_UNQUEUED);
    hf_bid_note(&mine->bid, HF_NOTE_QUEUED);
    mine->queued = true;
    mine->displaced = wait->displaced;
}

static void on_loss(void *arg, struct hf_grant *grant)
{
    struct lock_bid *mine = arg;

    (void)grant;
    mine->lost = true;
    hf_bid_note(&mine->bid, HF_NOTE_LOST);
}

static struct hf_lock *handle(const struct lock_bid *mine, unsigned stake)
{
    struct hf_lock *lock = mine->reads ? mine->readers : mine->locks[stake];

    assert(lock != NULL);
    return lock;
}

/* The handles of those that are wanted; how many. */
static size_t wanted(const struct lock_bid *mine,
                     struct hf_lock *locks[HF_BID_LOCKS])
{
    size_t count = 0;

    for (unsigned i = 0; i < mine->bid.stake_count; i++)
        if (mine->bid.stakes[i].wanted)
            locks[count++] = handle(mine, i);
    return count;
}

static uint64_t promise_us(const struct lock_bid *mine)
{
    return hf_bid_promise_us(hf_grant_safe_until_ms(mine->grant));
}

static void take_tokens(struct lock_bid *mine)
{
    for (unsigned i = 0; i < mine->bid.stake_count; i++)
        if (mine->bid.stakes[i].wanted)
            mine->bid.stakes[i].token =
                hf_grant_token_of(mine->grant, handle(mine, i));
}

static void on_done(void *arg, const struct hf_result *result)
{
    struct lock_bid *mine = arg;

    hf_op_free(mine->op);
    mine->op = NULL;
    if (result->status != HF_OK) {
        hf_bid_give_up(&mine->bid, result->status, result->text);
        return;
    }
    mine->grant = result->grant;
    take_tokens(mine);
    hf_bid_hold(&mine->bid);
    hf_bid_note_promise(&mine->bid, HF_NOTE_GRANT, promise_us(mine));
}

static void choose(struct lock_bid *mine)
{
    struct hf_bid *bid = &mine->bid;

    mine->queued = false;
    mine->lost = false;
    mine->reads = mine->readers != NULL && !hf_bid_one_in(bid, 3);
    bid->stakes[0].wanted = bid->stakes[1].wanted = true;
    if (bid->stake_count > 1 && hf_bid_one_in(bid, 2))
        bid->stakes[hf_random_below(&bid->random, 2)].wanted = false;
}

static void want(struct lock_bid *mine)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_done done = {on_done, mine, NULL};
    struct hf_lock *locks[HF_BID_LOCKS];
    struct hf_bid *bid = &mine->bid;
    hf_status status;
    size_t count;

    choose(mine);
    count = wanted(mine, locks);
    if (count == 1)
        opts.on_wait = (struct hf_on_wait){on_wait, mine, NULL};
    opts.on_loss = (struct hf_on_loss){on_loss, mine, NULL};
    if (hf_bid_one_in(bid, 10))
        opts.wait_ms = hf_bid_patience_ms(bid);
    hf_bid_wait(bid);
    hf_bid_note_want(bid, mine->reads ? HF_KIND_READ : mine->kind,
                     mine->kind == HF_KIND_SEMAPHORE ? mine->permits : 1,
                     mine->kind == HF_KIND_SEMAPHORE ? LIMIT : 1);
    status = hf_locks_acquire_start(locks, count, &opts, done, &mine->op);
    if (status != HF_OK)
        hf_bid_give_up(bid, status, hf_status_text(status));
}

/* ------------------------------------------------------------------ hold -- */

static void on_released(void *arg, const struct hf_result *result)
{
    (void)result;
    hf_bid_rest(arg);
}

static void release(struct lock_bid *mine)
{
    struct hf_done done = {on_released, &mine->bid, NULL};

    hf_bid_let_go(&mine->bid);
    /* Before, so that it does not claim what may be another's already. */
    if (!mine->lost)
        hf_bid_note(&mine->bid, HF_NOTE_RELEASE);
    if (hf_grant_release_start(mine->grant, done) != HF_OK)
        hf_bid_rest(&mine->bid); /* the client has closed: it takes it all */
    mine->grant = NULL;
}

static void on_shared(void *arg, const struct hf_result *result)
{
    struct hf_bid *bid = arg;

    (void)result; /* then it is a writer as before, and does not write */
    if (bid->state == HF_BID_CHANGING)
        bid->state = HF_BID_HOLDING;
}

/* A writer becomes a reader.  Noted before, as a release is. */
static void share(struct lock_bid *mine)
{
    struct hf_done done = {on_shared, &mine->bid, NULL};

    hf_bid_note(&mine->bid, HF_NOTE_SHARED);
    mine->reads = true;
    hf_bid_hold_on(&mine->bid);
    if (hf_grant_downgrade_start(mine->grant, done) == HF_OK)
        mine->bid.state = HF_BID_CHANGING;
}

/* At the end of a hold: what it was all for, then let go. */
static void finish(struct lock_bid *mine)
{
    struct hf_bid *bid = &mine->bid;

    hf_bid_note_new_promise(bid, promise_us(mine));
    if (mine->kind != HF_KIND_SEMAPHORE && !mine->reads)
        hf_bid_write_fenced(bid);
    if (mine->kind == HF_KIND_WRITE && !mine->reads && !bid->ending &&
        hf_bid_one_in(bid, 3))
        share(mine);
    else
        release(mine);
}

static void advance(struct hf_bid *bid)
{
    struct lock_bid *mine = of(bid);
    bool due = hf_clock_now_ms() >= bid->until_ms || bid->ending;

    switch (bid->state) {
    case HF_BID_IDLE:
        if (due && !bid->ending)
            want(mine);
        break;
    case HF_BID_WAITING:
        if (bid->ending)
            hf_op_cancel(mine->op);
        break;
    case HF_BID_HOLDING:
        if (mine->lost)
            release(mine);
        else if (due)
            finish(mine);
        else
            hf_bid_note_new_promise(bid, promise_us(mine));
        break;
    case HF_BID_CHANGING:
    case HF_BID_RELEASING:
        break;
    }
}

struct hf_bid *hf_bid_new_lock(enum hf_bid_kind kind)
{
    static const struct hf_bid_rules rules = {open_bid, advance, close_bid};
    struct lock_bid *mine = hf_alloc(sizeof *mine);

    if (mine == NULL)
        return NULL;
    *mine = (struct lock_bid){.bid.rules = &rules, .bid.fd = -1};
    if (kind == HF_BID_RWLOCK)
        mine->kind = HF_KIND_WRITE;
    else if (kind == HF_BID_SEMAPHORE)
        mine->kind = HF_KIND_SEMAPHORE;
    else
        mine->kind = HF_KIND_MUTEX;
    return &mine->bid;
}
