/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bid for a reentrant mutex.  Its calls wait, so a thread makes them, one
 * after another as it is told.  The owner locks what it has again and again:
 * who may do that had it when it asked, so up to then the lock was held.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/bid.h"
#include "cli/clock.h"
#include "core/error.h"
#include "core/memory.h"

/* The longest wait: a contender that is to end waits it out. */
#define PATIENCE_MS 10000

/* What the owner is told, and answers. */
struct order {
    hf_status (*deed)(struct hf_mutex *mutex, uint64_t wait_ms);
    uint64_t wait_ms;
};

struct answer {
    hf_status status;
    uint64_t token;
};

struct reentrant_bid {
    struct hf_bid bid; /* .fd: where the owner answers */
    struct hf_mutex *mutex;
    pthread_t owner;
    int owner_fd;         /* where it is told; -1: there is none */
    uint64_t asked_at_us; /* 0: it has answered */
    uint64_t ask_at_ms;   /* not before, unless there is something to do */
    unsigned count;       /* how often it has locked */
    bool lost;            /* and noted so */
};

static struct reentrant_bid *of(struct hf_bid *bid)
{
    return (struct reentrant_bid *)bid;
}

/* ----------------------------------------------------------------- owner -- */

static hf_status lock_again(struct hf_mutex *mutex, uint64_t wait_ms)
{
    (void)wait_ms;
    return hf_mutex_trylock(mutex);
}

static hf_status unlock(struct hf_mutex *mutex, uint64_t wait_ms)
{
    (void)wait_ms;
    return hf_mutex_unlock(mutex);
}

/* Until nobody is left to tell it. */
static void *own(void *arg)
{
    const struct reentrant_bid *mine = arg;
    struct order order;

    while (recv(mine->owner_fd, &order, sizeof order, 0) == sizeof order) {
        struct answer answer = {0};

        answer.status = order.deed(mine->mutex, order.wait_ms);
        answer.token = hf_mutex_token(mine->mutex);
        send(mine->owner_fd, &answer, sizeof answer, MSG_NOSIGNAL);
    }
    return NULL;
}

static void tell(struct reentrant_bid *mine,
                 hf_status (*deed)(struct hf_mutex *, uint64_t),
                 uint64_t wait_ms)
{
    struct order order = {deed, wait_ms};

    mine->asked_at_us = hf_bid_now_us();
    send(mine->bid.fd, &order, sizeof order, MSG_NOSIGNAL);
}

/* ------------------------------------------------------------------ open -- */

static hf_status start_owner(struct reentrant_bid *mine, struct hf_error *error)
{
    int ends[2];
    int failure;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return hf_error_set(error, HF_ELIMIT,
                            "no descriptors for an owner of a mutex: %s; raise "
                            "the limits (ulimit -a)",
                            strerror(errno));
    mine->bid.fd = ends[0];
    mine->owner_fd = ends[1];
    failure = pthread_create(&mine->owner, NULL, own, mine);
    if (failure == 0)
        return HF_OK;
    close(mine->owner_fd);
    mine->owner_fd = -1;
    return hf_error_set(error, HF_ELIMIT,
                        "no thread for an owner of a mutex: %s; raise the "
                        "limits (ulimit -a)",
                        strerror(failure));
}

static hf_status open_bid(struct hf_bid *bid, struct hf_error *error)
{
    struct reentrant_bid *mine = of(bid);
    struct hf_mutex_opts opts = HF_MUTEX_OPTS_INIT;
    hf_status status = hf_mutex_open(bid->bidder->client, bid->stakes[0].name,
                                     &opts, &mine->mutex);

    bid->stakes[0].wanted = true;
    if (status == HF_OK)
        return start_owner(mine, error);
    hf_client_error(bid->bidder->client, error);
    return status;
}

static void close_bid(struct hf_bid *bid)
{
    struct reentrant_bid *mine = of(bid);

    if (mine->owner_fd >= 0) {
        shutdown(bid->fd, SHUT_RDWR);
        pthread_join(mine->owner, NULL);
        close(mine->owner_fd);
    }
    if (bid->fd >= 0)
        close(bid->fd);
    hf_mutex_free(mine->mutex);
}

/* --------------------------------------------------------------- answers -- */

static void hear_lock(struct reentrant_bid *mine, const struct answer *answer)
{
    struct hf_bid *bid = &mine->bid;

    if (answer->status != HF_OK) {
        hf_bid_give_up(bid, answer->status, hf_status_text(answer->status));
        return;
    }
    mine->count = 1;
    mine->lost = false;
    bid->stakes[0].token = answer->token;
    hf_bid_hold(bid);
    hf_bid_note(bid, HF_NOTE_GRANT);
}

static void hear_lock_again(struct reentrant_bid *mine,
                            const struct answer *answer, uint64_t asked_at_us)
{
    if (answer->status == HF_OK) {
        mine->count++;
        hf_bid_note_seen(&mine->bid, asked_at_us);
        return;
    }
    mine->lost = true;
    hf_bid_note(&mine->bid, HF_NOTE_LOST);
}

/* It unlocks as often as it locked, lost or not. */
static void hear_unlock(struct reentrant_bid *mine)
{
    if (--mine->count > 0)
        tell(mine, unlock, 0);
    else
        hf_bid_rest(&mine->bid);
}

static void listen_to(struct reentrant_bid *mine)
{
    struct answer answer;
    uint64_t asked_at_us = mine->asked_at_us;

    if (recv(mine->bid.fd, &answer, sizeof answer, MSG_DONTWAIT) !=
        sizeof answer)
        return;
    mine->asked_at_us = 0;
    if (mine->bid.state == HF_BID_WAITING)
        hear_lock(mine, &answer);
    else if (mine->bid.state == HF_BID_HOLDING)
        hear_lock_again(mine, &answer, asked_at_us);
    else
        hear_unlock(mine);
}

/* ------------------------------------------------------------------ does -- */

static void want(struct reentrant_bid *mine)
{
    struct hf_bid *bid = &mine->bid;

    hf_bid_wait(bid);
    hf_bid_note_want(bid, HF_KIND_MUTEX, 1, 1);
    tell(mine, hf_mutex_timedlock,
         hf_bid_one_in(bid, 10) ? hf_bid_patience_ms(bid) : PATIENCE_MS);
}

static void let_go(struct reentrant_bid *mine)
{
    struct hf_bid *bid = &mine->bid;

    hf_bid_let_go(bid);
    /* Before, so that it does not claim what may be another's already. */
    if (!mine->lost)
        hf_bid_note(bid, HF_NOTE_RELEASE);
    tell(mine, unlock, 0);
}

static void hold(struct reentrant_bid *mine)
{
    struct hf_bid *bid = &mine->bid;
    bool due = hf_clock_now_ms() >= bid->until_ms || bid->ending;

    if (mine->lost) {
        let_go(mine);
    } else if (due) {
        hf_bid_write_fenced(bid);
        let_go(mine);
    } else if (hf_clock_now_ms() >= mine->ask_at_ms) {
        mine->ask_at_ms = hf_clock_now_ms() + HF_BID_LOOK_MS / 4;
        tell(mine, lock_again, 0);
    }
}

static void advance(struct hf_bid *bid)
{
    struct reentrant_bid *mine = of(bid);

    if (mine->asked_at_us != 0)
        listen_to(mine);
    if (mine->asked_at_us != 0)
        return;
    if (bid->state == HF_BID_HOLDING)
        hold(mine);
    else if (bid->state == HF_BID_IDLE && !bid->ending &&
             hf_clock_now_ms() >= bid->until_ms)
        want(mine);
}

struct hf_bid *hf_bid_new_reentrant(void)
{
    static const struct hf_bid_rules rules = {open_bid, advance, close_bid};
    struct reentrant_bid *mine = hf_alloc(sizeof *mine);

    if (mine == NULL)
        return NULL;
    *mine = (struct reentrant_bid){
        .bid.rules = &rules, .bid.fd = -1, .owner_fd = -1};
    return &mine->bid;
}
