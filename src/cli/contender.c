/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/contender.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/exit_status.h"
#include "cli/say.h"
#include "core/error.h"

/* "/semaphore" and the like, below a name. */
#define LOCK_BYTES (HF_NAME_BYTES + 32)

struct contending {
    const struct hf_contender *self;
    struct hf_bidder bidder;
    struct hf_bid *bids[HF_BIDS]; /* by kind; NULL: not for those */
    char names[HF_BIDS][HF_BID_LOCKS][LOCK_BYTES];
    bool ending; /* SIGTERM has come, or a failure */
    int exit_code;
};

/* ------------------------------------------------------------------ open -- */

static const struct {
    const char *below[HF_BID_LOCKS]; /* of a name that is for all kinds */
    enum hf_bid_kind resource;       /* whose it writes to */
} kinds[HF_BIDS] = {
    [HF_BID_MUTEX] = {{"mutex"}, HF_BID_MUTEX},
    [HF_BID_TOOL] = {{"mutex"}, HF_BID_MUTEX},
    [HF_BID_REENTRANT] = {{"mutex"}, HF_BID_MUTEX},
    [HF_BID_RWLOCK] = {{"rwlock"}, HF_BID_RWLOCK},
    [HF_BID_SEMAPHORE] = {{"semaphore"}, HF_BID_SEMAPHORE},
    [HF_BID_SEVERAL] = {{"one", "two"}, HF_BID_SEVERAL},
    [HF_BID_ELECTION] = {{"election"}, HF_BID_ELECTION},
};

/* Its way to the mutex, where it could go every one. */
static enum hf_bid_kind way_of(const struct hf_contender *self)
{
    switch (self->number % HF_CONTENDER_MUTEX_WAYS) {
    case 0:
        return HF_BID_TOOL;
    case 1:
        return HF_BID_REENTRANT;
    default:
        return HF_BID_MUTEX;
    }
}

static bool is_for_one_kind(const struct hf_contender *self)
{
    return (self->kinds & (self->kinds - 1)) == 0;
}

static bool is_wanted(const struct hf_contender *self, enum hf_bid_kind kind)
{
    if (!is_for_one_kind(self) && kinds[kind].resource == HF_BID_MUTEX)
        return kind == way_of(self);
    return self->kinds & HF_BID_SET(kind);
}

static void stake(struct contending *contending, struct hf_bid *bid,
                  enum hf_bid_kind kind)
{
    const struct hf_contender *self = contending->self;

    for (unsigned i = 0; i < HF_BID_LOCKS && kinds[kind].below[i]; i++) {
        struct hf_stake *stake = &bid->stakes[bid->stake_count++];

        if (is_for_one_kind(self) && kind != HF_BID_SEVERAL)
            snprintf(contending->names[kind][i], LOCK_BYTES, "%s", self->lock);
        else
            snprintf(contending->names[kind][i], LOCK_BYTES, "%s/%s",
                     self->lock, kinds[kind].below[i]);
        stake->name = contending->names[kind][i];
        stake->resource =
            &self->resources[kinds[kind].resource * HF_BID_LOCKS + i];
    }
}

static hf_status open_bid(struct contending *contending, enum hf_bid_kind kind,
                          struct hf_error *error)
{
    struct hf_bid *bid = hf_bid_new(kind);

    if (bid == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory for a contender");
    contending->bids[kind] = bid;
    bid->bidder = &contending->bidder;
    hf_random_seed(&bid->random, contending->self->seed * HF_BIDS + kind);
    stake(contending, bid, kind);
    return bid->rules->open(bid, error);
}

static hf_status open_all(struct contending *contending, struct hf_error *error)
{
    const struct hf_contender *self = contending->self;
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    hf_status status;

    opts.delivery = HF_DELIVER_DISPATCH;
    status =
        hf_client_open(self->url, &opts, &contending->bidder.client, error);
    for (unsigned kind = 0; kind < HF_BIDS && status == HF_OK; kind++)
        if (is_wanted(self, (enum hf_bid_kind)kind))
            status = open_bid(contending, (enum hf_bid_kind)kind, error);
    return status;
}

static void close_all(struct contending *contending)
{
    for (unsigned kind = 0; kind < HF_BIDS; kind++)
        if (contending->bids[kind] != NULL)
            contending->bids[kind]->rules->close(contending->bids[kind]);
    if (contending->bidder.client != NULL)
        (void)hf_client_close(contending->bidder.client);
    for (unsigned kind = 0; kind < HF_BIDS; kind++)
        hf_bid_free(contending->bids[kind]);
}

/* ------------------------------------------------------------------ loop -- */

static void sleep_until_news(struct contending *contending, int signals)
{
    struct pollfd polled[HF_BIDS + 2] = {
        {hf_client_fd(contending->bidder.client), POLLIN, 0},
        {signals, POLLIN, 0}};
    struct signalfd_siginfo info;
    nfds_t count = 2;

    for (unsigned kind = 0; kind < HF_BIDS; kind++)
        if (contending->bids[kind] != NULL)
            polled[count++] =
                (struct pollfd){contending->bids[kind]->fd, POLLIN, 0};
    poll(polled, count, HF_BID_LOOK_MS);
    if (polled[1].revents && read(signals, &info, sizeof info) > 0)
        contending->ending = true;
    if (polled[0].revents)
        hf_client_dispatch(contending->bidder.client);
}

static void advance(struct contending *contending, struct hf_bid *bid)
{
    bid->ending = contending->ending;
    bid->rules->advance(bid);
    if (bid->exit_code == 0)
        return;
    if (contending->exit_code == 0)
        contending->exit_code = bid->exit_code;
    contending->ending = true;
}

/* Does anybody want, or have, anything? */
static bool is_busy(const struct contending *contending)
{
    for (unsigned kind = 0; kind < HF_BIDS; kind++)
        if (contending->bids[kind] != NULL &&
            contending->bids[kind]->state != HF_BID_IDLE)
            return true;
    return false;
}

/* Who started us ends this if it takes too long. */
static void contend(struct contending *contending, int signals)
{
    while (!contending->ending || is_busy(contending)) {
        sleep_until_news(contending, signals);
        for (unsigned kind = 0; kind < HF_BIDS; kind++)
            if (contending->bids[kind] != NULL)
                advance(contending, contending->bids[kind]);
    }
}

int hf_contender_main(const struct hf_contender *self)
{
    struct contending contending = {
        .self = self,
        .bidder = {.name = self->name,
                   .number = self->number,
                   .history = self->history},
    };
    struct hf_error error;
    sigset_t mask;
    int signals;

    sigemptyset(&mask);
    sigaddset(&mask, SIGTERM);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    signals = signalfd(-1, &mask, SFD_CLOEXEC);
    if (signals < 0 ||
        (self->url != NULL && setenv("HOLDFAST_URL", self->url, 1) != 0)) {
        hf_say("no descriptor or memory to begin with: %s", strerror(errno));
        contending.exit_code = HF_EXIT_LIMIT;
    } else if (open_all(&contending, &error) != HF_OK) {
        hf_say("%s", error.text);
        contending.exit_code = hf_exit_status(error.status);
    } else {
        contend(&contending, signals);
    }
    close_all(&contending);
    return contending.exit_code;
}
