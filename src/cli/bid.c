/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bid.h"

#include <assert.h>
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/exit_status.h"
#include "cli/say.h"
#include "core/memory.h"

/* The longest hold, and how long one is willing to wait who is not patient. */
#define HOLD_MAX_MS 30
#define IMPATIENT_MAX_MS 500

/* One hold in so many is 2 to 2^8 times as long instead: some outlive a lease,
 * so that who is cut off has to be told. */
#define LONG_ONE_IN 16
#define LONG_LOGS 8

struct hf_bid *hf_bid_new(enum hf_bid_kind kind)
{
    switch (kind) {
    case HF_BID_ELECTION:
        return hf_bid_new_election();
    case HF_BID_TOOL:
        return hf_bid_new_tool();
    case HF_BID_REENTRANT:
        return hf_bid_new_reentrant();
    default:
        return hf_bid_new_lock(kind);
    }
}

void hf_bid_free(struct hf_bid *bid)
{
    hf_free(bid);
}

/* ----------------------------------------------------------------- notes -- */

uint64_t hf_bid_now_us(void)
{
    struct timespec now;
    int failed = clock_gettime(CLOCK_BOOTTIME, &now);

    assert(!failed);
    (void)failed;
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void put(const struct hf_bid *bid, const struct hf_stake *stake,
                struct hf_note *note)
{
    char line[HF_NOTE_BYTES];
    size_t bytes;

    note->at_us = hf_bid_now_us();
    note->client = bid->bidder->name;
    note->lock = stake->name;
    note->token = stake->token;
    bytes = hf_note_format(note, line);
    while (write(bid->bidder->history, line, bytes) < 0)
        if (errno != EINTR)
            _exit(HF_EXIT_DIRECTORY); /* whoever reads it has gone */
}

static void put_all(const struct hf_bid *bid, struct hf_note *note)
{
    for (unsigned i = 0; i < bid->stake_count; i++)
        if (bid->stakes[i].wanted)
            put(bid, &bid->stakes[i], note);
}

void hf_bid_note(const struct hf_bid *bid, enum hf_note_word word)
{
    struct hf_note note = {.word = word};

    put_all(bid, &note);
}

void hf_bid_note_want(const struct hf_bid *bid, enum hf_kind kind,
                      uint32_t permits, uint32_t limit)
{
    struct hf_note note = {
        .word = HF_NOTE_WANT, .kind = kind, .permits = permits, .limit = limit};

    put_all(bid, &note);
}

uint64_t hf_bid_promise_us(uint64_t safe_until_ms)
{
    return safe_until_ms == HF_FOREVER ? HF_FOREVER : safe_until_ms * 1000;
}

void hf_bid_note_promise(struct hf_bid *bid, enum hf_note_word word,
                         uint64_t safe_until_us)
{
    struct hf_note note = {.word = word, .safe_until_us = safe_until_us};

    if (safe_until_us == 0)
        note.safe_until_us = hf_bid_now_us();
    bid->safe_until_us = note.safe_until_us;
    put_all(bid, &note);
}

void hf_bid_note_seen(const struct hf_bid *bid, uint64_t at_us)
{
    struct hf_note note = {.word = HF_NOTE_SEEN, .seen_us = at_us};

    put_all(bid, &note);
}

void hf_bid_note_new_promise(struct hf_bid *bid, uint64_t safe_until_us)
{
    if (safe_until_us != 0 && safe_until_us != bid->safe_until_us)
        hf_bid_note_promise(bid, HF_NOTE_HELD, safe_until_us);
}

/* ----------------------------------------------------------------- moves -- */

bool hf_bid_one_in(struct hf_bid *bid, uint64_t count)
{
    return hf_random_below(&bid->random, count) == 0;
}

uint64_t hf_bid_patience_ms(struct hf_bid *bid)
{
    return 1 + hf_random_below(&bid->random, IMPATIENT_MAX_MS);
}

void hf_bid_wait(struct hf_bid *bid)
{
    for (unsigned i = 0; i < bid->stake_count; i++)
        bid->stakes[i].token = 0;
    bid->state = HF_BID_WAITING;
    bid->until_ms = HF_FOREVER;
}

void hf_bid_hold_on(struct hf_bid *bid)
{
    uint64_t hold_ms = hf_random_below(&bid->random, HOLD_MAX_MS);

    if (hf_bid_one_in(bid, LONG_ONE_IN))
        hold_ms = (uint64_t)HOLD_MAX_MS
                  << (1 + hf_random_below(&bid->random, LONG_LOGS));
    bid->until_ms = hf_clock_now_ms() + hold_ms;
}

void hf_bid_hold(struct hf_bid *bid)
{
    bid->state = HF_BID_HOLDING;
    hf_bid_hold_on(bid);
    for (unsigned i = 0; i < bid->stake_count; i++)
        if (bid->stakes[i].wanted)
            atomic_store(&bid->stakes[i].resource->holder, bid->bidder->number);
}

void hf_bid_let_go(struct hf_bid *bid)
{
    for (unsigned i = 0; i < bid->stake_count; i++) {
        unsigned number = bid->bidder->number;

        atomic_compare_exchange_strong(&bid->stakes[i].resource->holder,
                                       &number, 0);
    }
    bid->state = HF_BID_RELEASING;
}

void hf_bid_rest(struct hf_bid *bid)
{
    bid->state = HF_BID_IDLE;
    hf_bid_hold_on(bid);
}

void hf_bid_give_up(struct hf_bid *bid, hf_status status, const char *text)
{
    hf_bid_note(bid, HF_NOTE_GAVEUP);
    bid->state = HF_BID_IDLE;
    bid->until_ms = hf_clock_now_ms() + HF_BID_LOOK_MS;
    if (bid->ending || hf_status_retry(status) == HF_RETRY_LATER)
        return;
    hf_say("%s", text);
    bid->exit_code = hf_exit_status(status);
}

static void write_to(const struct hf_bid *bid, const struct hf_stake *stake)
{
    struct hf_note note = {.word = HF_NOTE_WRITE};
    uint64_t seen = atomic_load(&stake->resource->token);

    do
        note.accepted = stake->token >= seen;
    while (note.accepted && !atomic_compare_exchange_weak(
                                &stake->resource->token, &seen, stake->token));
    put(bid, stake, &note);
}

void hf_bid_write_fenced(struct hf_bid *bid)
{
    for (unsigned i = 0; i < bid->stake_count; i++)
        if (bid->stakes[i].wanted)
            write_to(bid, &bid->stakes[i]);
}
