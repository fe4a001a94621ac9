/* SPDX-License-Identifier: Apache-2.0 */
/* A bid to lead. */
#include "cli/bid.h"
#include "cli/clock.h"
#include "core/memory.h"

struct election_bid {
    struct hf_bid bid;
    struct hf_election *election;
    bool gave_up; /* it resigns without having led */
};

static struct election_bid *of(struct hf_bid *bid)
{
    return (struct election_bid *)bid;
}

/* ----------------------------------------------------------------- hears -- */

static void stand(struct hf_bid *bid)
{
    hf_bid_wait(bid);
    hf_bid_note_want(bid, HF_KIND_ELECTION, 1, 1);
    if (hf_bid_one_in(bid, 10))
        bid->until_ms = hf_clock_now_ms() + hf_bid_patience_ms(bid);
}

/* Of the leadership that was told, for there may be another one already; 0 if
 * it is lost. */
static uint64_t promise_us(struct hf_bid *bid)
{
    const struct hf_election *election = of(bid)->election;
    uint64_t safe_until_ms = hf_election_safe_until_ms(election);

    if (hf_election_token(election) != bid->stakes[0].token)
        return 0;
    return hf_bid_promise_us(safe_until_ms);
}

static void on_elected(void *arg, struct hf_election *election, uint64_t token)
{
    struct hf_bid *bid = arg;

    (void)election;
    bid->stakes[0].token = token;
    hf_bid_hold(bid);
    hf_bid_note_promise(bid, HF_NOTE_GRANT, promise_us(bid));
}

/* It stands again without being asked to. */
static void on_deposed(void *arg, struct hf_election *election, uint64_t token)
{
    struct hf_bid *bid = arg;

    (void)election;
    (void)token;
    hf_bid_let_go(bid);
    hf_bid_note(bid, HF_NOTE_LOST);
    stand(bid);
}

static void on_ended(void *arg, struct hf_election *election,
                     const struct hf_error *why)
{
    (void)election;
    hf_bid_give_up(arg, why->status, why->text);
}

static void on_resigned(void *arg, const struct hf_result *result)
{
    struct hf_bid *bid = arg;

    (void)result;
    if (of(bid)->gave_up)
        hf_bid_note(bid, HF_NOTE_GAVEUP);
    hf_bid_rest(bid);
}

/* ------------------------------------------------------------------ does -- */

static hf_status open_bid(struct hf_bid *bid, struct hf_error *error)
{
    struct hf_election_opts opts = HF_ELECTION_OPTS_INIT;
    hf_status status;

    bid->stakes[0].wanted = true;
    opts.on_elected = (struct hf_on_election){on_elected, bid, NULL};
    opts.on_deposed = (struct hf_on_election){on_deposed, bid, NULL};
    opts.on_ended = (struct hf_on_ended){on_ended, bid, NULL};
    status = hf_election_open(bid->bidder->client, bid->stakes[0].name, &opts,
                              &of(bid)->election);
    if (status != HF_OK)
        hf_client_error(bid->bidder->client, error);
    return status;
}

static void close_bid(struct hf_bid *bid)
{
    hf_election_free(of(bid)->election);
}

static void run(struct hf_bid *bid)
{
    hf_status status;

    stand(bid);
    status = hf_election_campaign_start(of(bid)->election);
    if (status != HF_OK)
        hf_bid_give_up(bid, status, hf_status_text(status));
}

static void resign(struct hf_bid *bid)
{
    struct hf_done done = {on_resigned, bid, NULL};

    of(bid)->gave_up = bid->state == HF_BID_WAITING;
    hf_bid_let_go(bid);
    if (!of(bid)->gave_up)
        hf_bid_note(bid, HF_NOTE_RELEASE);
    if (hf_election_resign_start(of(bid)->election, done) != HF_OK)
        hf_bid_rest(bid); /* the client has closed: it takes it all */
}

static void advance(struct hf_bid *bid)
{
    bool due = hf_clock_now_ms() >= bid->until_ms || bid->ending;

    if (bid->state == HF_BID_IDLE && due && !bid->ending)
        run(bid);
    else if (bid->state == HF_BID_WAITING && due)
        resign(bid);
    else if (bid->state == HF_BID_HOLDING) {
        hf_bid_note_new_promise(bid, promise_us(bid));
        if (!due)
            return;
        hf_bid_write_fenced(bid);
        resign(bid);
    }
}

struct hf_bid *hf_bid_new_election(void)
{
    static const struct hf_bid_rules rules = {open_bid, advance, close_bid};
    struct election_bid *mine = hf_alloc(sizeof *mine);

    if (mine == NULL)
        return NULL;
    *mine = (struct election_bid){.bid.rules = &rules, .bid.fd = -1};
    return &mine->bid;
}
