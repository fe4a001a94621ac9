/* SPDX-License-Identifier: Apache-2.0 */
/* The verifier of histories (src/history): it reports every violation that is
 * certain, and nothing that is not. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "cmocka/runner.h"
#include "torture/timeline.h"

#define LATE_US 100

struct checked_history {
    struct hf_history history;
    struct hf_check_result result;
};

static hf_status read_text(const char *text, size_t most_bytes,
                           struct hf_history *history, struct hf_error *error)
{
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    hf_status status;

    assert_non_null(file);
    status = hf_history_read(file, most_bytes, history, error);
    fclose(file);
    return status;
}

static void check_history(const char *notes, struct checked_history *checked)
{
    char text[4096];
    struct hf_error error = {HF_OK, ""};

    (void)snprintf(text, sizeof text, "%s\n%s", HF_HISTORY_FIRST_LINE, notes);
    if (read_text(text, sizeof text, &checked->history, &error) != HF_OK)
        fail_msg("%s", error.text);
    assert_true(hf_check_history(&checked->history, LATE_US, &checked->result));
}

static void done(struct checked_history *checked)
{
    hf_check_result_free(&checked->result);
    hf_history_free(&checked->history);
}

static void assert_clean(const char *notes)
{
    struct checked_history checked;

    check_history(notes, &checked);
    if (hf_check_result_violations(&checked.result) != 0)
        fail_msg("%s broken by line %zu",
                 hf_check_rule_name(checked.result.violations[0].rule),
                 checked.result.violations[0].line);
    done(&checked);
}

/* Exactly that rule is broken, once, and that line shows it. */
static void assert_broken(enum hf_check_rule rule, size_t line,
                          const char *notes)
{
    struct checked_history checked;

    check_history(notes, &checked);
    assert_int_equal(hf_check_result_violations(&checked.result), 1);
    assert_string_equal(hf_check_rule_name(checked.result.violations[0].rule),
                        hf_check_rule_name(rule));
    assert_int_equal(checked.result.violations[0].line, line);
    done(&checked);
}

/* ------------------------------------------------------------- exclusion -- */

TEST(one_after_the_other)
{
    assert_clean("10 a want x kind=mutex\n"
                 "20 a grant x token=1 safe_until=900\n"
                 "30 b want x kind=mutex\n"
                 "40 a release x token=1\n"
                 "40 b grant x token=2 safe_until=900\n"
                 "50 b release x token=2\n");
}

TEST(two_at_once)
{
    assert_broken(HF_CHECK_EXCLUSION, 6,
                  "10 a want x kind=mutex\n"
                  "20 a grant x token=1 safe_until=900\n"
                  "30 b want x kind=mutex\n"
                  "40 a release x token=1\n"
                  "39 b grant x token=2 safe_until=900\n"
                  "50 b release x token=2\n");
}

/* A grant without a safe-until counts until its holder was last seen. */
TEST(what_is_seen_counts)
{
    assert_clean("10 a want x kind=mutex\n"
                 "20 a grant x token=1\n"
                 "30 a seen x at=25\n"
                 "30 b want x kind=mutex\n"
                 "40 b grant x token=2 safe_until=forever\n"
                 "9000000 a release x token=1\n");
    assert_broken(HF_CHECK_EXCLUSION, 6,
                  "10 a want x kind=mutex\n"
                  "20 a grant x token=1\n"
                  "45 a seen x at=41\n"
                  "30 b want x kind=mutex\n"
                  "40 b grant x token=2 safe_until=forever\n"
                  "90 a release x token=1\n");
}

TEST(locks_do_not_exclude_each_other)
{
    assert_clean("10 a want x kind=mutex\n"
                 "11 a want y kind=mutex\n"
                 "20 a grant x token=1 safe_until=forever\n"
                 "30 b want y kind=mutex\n"
                 "40 b grant y token=1 safe_until=forever\n");
}

/* A frozen holder keeps its grant until safe-until and not longer. */
TEST(a_safe_until_ends_by_itself)
{
    assert_clean("10 a want x kind=mutex\n"
                 "20 a grant x token=1 safe_until=100\n"
                 "21 a frozen -\n"
                 "30 b want x kind=mutex\n"
                 "100 b grant x token=2 safe_until=500\n"
                 "200 b release x token=2\n"
                 "900 a thawed -\n"
                 "950 a lost x token=1\n");
    assert_broken(HF_CHECK_EXCLUSION, 6,
                  "10 a want x kind=mutex\n"
                  "20 a grant x token=1 safe_until=100\n"
                  "21 a frozen -\n"
                  "30 b want x kind=mutex\n"
                  "99 b grant x token=2 safe_until=500\n"
                  "200 b release x token=2\n"
                  "900 a thawed -\n"
                  "950 a lost x token=1\n");
}

TEST(a_safe_until_that_moved_counts)
{
    assert_broken(HF_CHECK_EXCLUSION, 6,
                  "10 a want x kind=mutex\n"
                  "20 a grant x token=1 safe_until=100\n"
                  "60 a held x safe_until=200\n"
                  "70 b want x kind=mutex\n"
                  "150 b grant x token=2 safe_until=500\n"
                  "160 b release x token=2\n"
                  "170 a release x token=1\n");
}

TEST(the_dead_hold_nothing)
{
    assert_clean("10 a want x kind=mutex\n"
                 "20 a grant x token=1 safe_until=900\n"
                 "30 b want x kind=mutex\n"
                 "40 a died -\n"
                 "41 a release x token=1\n"
                 "41 b grant x token=2 safe_until=900\n"
                 "50 b release x token=2\n");
}

TEST(readers_share)
{
    assert_clean("10 a want x kind=read\n"
                 "11 b want x kind=read\n"
                 "20 a grant x token=2 safe_until=900\n"
                 "21 b grant x token=1 safe_until=900\n"
                 "30 a release x token=2\n"
                 "31 b release x token=1\n");
    assert_broken(HF_CHECK_EXCLUSION, 5,
                  "10 a want x kind=read\n"
                  "11 b want x kind=write\n"
                  "20 a grant x token=1 safe_until=900\n"
                  "21 b grant x token=2 safe_until=900\n"
                  "30 a release x token=1\n"
                  "31 b release x token=2\n");
}

TEST(a_writer_becomes_a_reader)
{
    assert_clean("10 a want x kind=write\n"
                 "11 b want x kind=read\n"
                 "20 a grant x token=1 safe_until=900\n"
                 "30 a shared x token=1\n"
                 "31 b grant x token=2 safe_until=900\n"
                 "40 a release x token=1\n"
                 "41 b release x token=2\n");
    assert_broken(HF_CHECK_EXCLUSION, 6,
                  "10 a want x kind=write\n"
                  "11 b want x kind=read\n"
                  "20 a grant x token=1 safe_until=900\n"
                  "30 a shared x token=1\n"
                  "29 b grant x token=2 safe_until=900\n"
                  "40 a release x token=1\n"
                  "41 b release x token=2\n");
}

/* As a reader it excludes writers still. */
TEST(a_writer_that_reads_holds_writers_up)
{
    assert_broken(HF_CHECK_EXCLUSION, 6,
                  "10 a want x kind=write\n"
                  "11 b want x kind=write\n"
                  "20 a grant x token=1 safe_until=900\n"
                  "30 a shared x token=1\n"
                  "35 b grant x token=2 safe_until=900\n"
                  "40 a release x token=1\n"
                  "41 b release x token=2\n");
}

TEST(permits_add_up)
{
    assert_clean("1 a want x kind=semaphore permits=1 limit=3\n"
                 "2 b want x kind=semaphore permits=2 limit=3\n"
                 "3 a grant x token=1 safe_until=900\n"
                 "4 b grant x token=2 safe_until=900\n"
                 "5 a release x token=1\n"
                 "6 b release x token=2\n");
    assert_broken(HF_CHECK_EXCLUSION, 7,
                  "1 a want x kind=semaphore permits=1 limit=3\n"
                  "2 b want x kind=semaphore permits=1 limit=3\n"
                  "3 c want x kind=semaphore permits=2 limit=3\n"
                  "4 a grant x token=1 safe_until=900\n"
                  "5 b grant x token=2 safe_until=900\n"
                  "6 c grant x token=3 safe_until=900\n"
                  "7 a release x token=1\n"
                  "8 b release x token=2\n"
                  "9 c release x token=3\n");
}

/* The greatest limit that anybody has asked for is what there is. */
TEST(limits_may_differ)
{
    assert_clean("1 a want x kind=semaphore permits=2 limit=4\n"
                 "2 b want x kind=semaphore permits=1 limit=2\n"
                 "3 a grant x token=1 safe_until=900\n"
                 "4 b grant x token=2 safe_until=900\n"
                 "5 a release x token=1\n"
                 "6 b release x token=2\n");
}

TEST(a_semaphore_excludes_no_lock_of_its_name)
{
    assert_clean("1 a want x kind=semaphore permits=2 limit=2\n"
                 "2 b want x kind=mutex\n"
                 "3 a grant x token=1 safe_until=900\n"
                 "4 b grant x token=2 safe_until=900\n"
                 "5 a release x token=1\n"
                 "6 b release x token=2\n");
}

/* A grant counts against those of the same microsecond, too. */
TEST(permits_of_one_microsecond_add_up)
{
    assert_broken(HF_CHECK_EXCLUSION, 5,
                  "1 a want x kind=semaphore permits=2 limit=3\n"
                  "2 b want x kind=semaphore permits=2 limit=3\n"
                  "4 a grant x token=1 safe_until=900\n"
                  "4 b grant x token=2 safe_until=900\n"
                  "7 a release x token=1\n"
                  "8 b release x token=2\n");
}

/* --------------------------------------------------- tokens, order, loss -- */

TEST(a_token_that_does_not_rise)
{
    assert_broken(HF_CHECK_TOKENS, 6,
                  "10 a want x kind=mutex\n"
                  "20 a grant x token=5 safe_until=900\n"
                  "30 b want x kind=mutex\n"
                  "40 a release x token=5\n"
                  "40 b grant x token=5 safe_until=900\n"
                  "50 b release x token=5\n");
}

/* A ticket that is kept is granted again, within its client. */
TEST(a_token_that_is_kept)
{
    assert_clean("10 a want x kind=mutex\n"
                 "20 a grant x token=5 safe_until=900\n"
                 "30 a release x token=5\n"
                 "40 a want x kind=mutex\n"
                 "50 a grant x token=5 safe_until=900\n"
                 "60 a release x token=5\n");
}

TEST(a_token_that_is_kept_while_another_holds)
{
    assert_broken(HF_CHECK_TOKENS, 9,
                  "10 a want x kind=mutex\n"
                  "20 a grant x token=5 safe_until=900\n"
                  "30 a release x token=5\n"
                  "31 b want x kind=mutex\n"
                  "32 b grant x token=6 safe_until=900\n"
                  "33 b release x token=6\n"
                  "40 a want x kind=mutex\n"
                  "50 a grant x token=5 safe_until=900\n"
                  "60 a release x token=5\n");
}

/* A grant that was noted after its end was used for nothing. */
TEST(an_empty_window_has_no_token)
{
    assert_clean("10 a want x kind=mutex\n"
                 "11 b want x kind=mutex\n"
                 "20 b grant x token=2 safe_until=900\n"
                 "25 b release x token=2\n"
                 "30 a grant x token=1 safe_until=15\n"
                 "31 a lost x token=1\n");
}

TEST(somebody_was_overtaken)
{
    assert_broken(HF_CHECK_ORDER, 5,
                  "10 a want x kind=mutex\n"
                  "11 a queued x\n"
                  "20 b want x kind=mutex\n"
                  "30 b grant x token=1 safe_until=900\n"
                  "40 b release x token=1\n"
                  "50 a grant x token=2 safe_until=900\n"
                  "60 a release x token=2\n");
}

/* The ticket was there before that of the one that waits. */
TEST(who_kept_its_ticket_was_not_overtaking)
{
    assert_clean("10 a want x kind=mutex\n"
                 "20 a grant x token=5 safe_until=900\n"
                 "25 b want x kind=mutex\n"
                 "26 b queued x\n"
                 "30 a release x token=5\n"
                 "40 a want x kind=mutex\n"
                 "50 a grant x token=5 safe_until=900\n"
                 "60 a release x token=5\n"
                 "70 b grant x token=6 safe_until=900\n"
                 "80 b release x token=6\n");
}

TEST(who_has_another_ticket_was_overtaking)
{
    assert_broken(HF_CHECK_ORDER, 8,
                  "10 a want x kind=mutex\n"
                  "20 a grant x token=5 safe_until=900\n"
                  "25 b want x kind=mutex\n"
                  "26 b queued x\n"
                  "30 a release x token=5\n"
                  "40 a want x kind=mutex\n"
                  "50 a grant x token=6 safe_until=900\n"
                  "60 a release x token=6\n"
                  "70 b grant x token=7 safe_until=900\n"
                  "80 b release x token=7\n");
}

TEST(who_lost_its_place_was_not_overtaken)
{
    assert_clean("10 a want x kind=mutex\n"
                 "11 a queued x\n"
                 "20 b want x kind=mutex\n"
                 "30 b grant x token=1 safe_until=900\n"
                 "35 a unqueued x\n"
                 "36 a queued x\n"
                 "40 b release x token=1\n"
                 "50 a grant x token=2 safe_until=900\n"
                 "60 a release x token=2\n");
}

TEST(who_came_before_was_not_overtaking)
{
    assert_clean("10 b want x kind=mutex\n"
                 "11 a want x kind=mutex\n"
                 "12 a queued x\n"
                 "30 b grant x token=1 safe_until=900\n"
                 "40 b release x token=1\n"
                 "50 a grant x token=2 safe_until=900\n"
                 "60 a release x token=2\n");
}

/* Nobody knows which of the two came first. */
TEST(who_came_in_the_same_microsecond_was_not_overtaking)
{
    assert_clean("10 a want x kind=mutex\n"
                 "12 a queued x\n"
                 "12 b want x kind=mutex\n"
                 "30 b grant x token=1 safe_until=900\n"
                 "40 b release x token=1\n"
                 "50 a grant x token=2 safe_until=900\n"
                 "60 a release x token=2\n");
}

TEST(the_dead_are_notified_of_no_loss)
{
    assert_clean("10 a want x kind=mutex\n"
                 "20 a grant x token=1 safe_until=100\n"
                 "500 a died -\n");
}

/* ------------------------------------------------ order of many attempts -- */

#define ATTEMPTS 24
#define LOCKS 2
#define CLIENTS 3
#define TOKENS 4

/* Instants are few, so many are equal. */
static uint64_t instant(struct hf_random *random, uint64_t from_us)
{
    return from_us + hf_random_below(random, 12);
}

static struct hf_history_attempt random_attempt(struct hf_random *random)
{
    static const enum hf_kind kinds[] = {HF_KIND_MUTEX, HF_KIND_READ,
                                         HF_KIND_WRITE, HF_KIND_SEMAPHORE};
    struct hf_history_attempt attempt = {
        .client = (uint32_t)hf_random_below(random, CLIENTS),
        .lock = (uint32_t)hf_random_below(random, LOCKS),
        .token = 1 + hf_random_below(random, TOKENS),
        .kind = kinds[hf_random_below(random, 4)],
        .permits = 1,
        .limit = 1,
        .want_us = instant(random, 0),
        .shared_us = HF_FOREVER,
        .safe_until_us = HF_FOREVER,
        .ending = HF_ENDING_RELEASED,
    };

    if (attempt.kind == HF_KIND_SEMAPHORE) {
        attempt.permits = 1 + (uint32_t)hf_random_below(random, 4);
        attempt.limit = 3 + (uint32_t)hf_random_below(random, 3);
    }
    attempt.queued_us = hf_random_below(random, 5) == 0
                            ? HF_FOREVER
                            : instant(random, attempt.want_us);
    attempt.granted_us = hf_random_below(random, 5) == 0
                             ? HF_FOREVER
                             : instant(random, attempt.want_us);
    attempt.ended_us = attempt.granted_us;
    if (attempt.granted_us != HF_FOREVER)
        attempt.ended_us = instant(random, attempt.granted_us);
    if (attempt.kind == HF_KIND_WRITE && hf_random_below(random, 2) == 0)
        attempt.shared_us = instant(random, attempt.granted_us);
    return attempt;
}

/* When the ticket of the interval ${index} came: with the first of the grants
 * of its client that follow each other and have one token. */
static uint64_t came_us(const struct hf_history *history,
                        const struct hf_hold_intervals *intervals, size_t index)
{
    const struct hf_history_attempt *attempt =
        &history->attempts[intervals->items[index].attempt];
    uint64_t came = attempt->want_us;

    for (size_t i = index; i-- > 0;) {
        const struct hf_history_attempt *that =
            &history->attempts[intervals->items[i].attempt];

        if (that->client != attempt->client || that->lock != attempt->lock)
            continue;
        if (that->token != attempt->token)
            break;
        came = that->want_us;
    }
    return came;
}

/* The rule as it is said, of each two intervals. */
static bool was_overtaken(const struct hf_history *history,
                          const struct hf_hold_intervals *intervals,
                          size_t index, size_t of)
{
    const struct hf_hold_interval *interval = &intervals->items[index];
    const struct hf_hold_interval *other = &intervals->items[of];
    const struct hf_history_attempt *attempt =
        &history->attempts[interval->attempt];
    const struct hf_history_attempt *that = &history->attempts[other->attempt];

    return interval->from_us == attempt->granted_us &&
           other->lock == interval->lock &&
           other->attempt != interval->attempt &&
           other->from_us > attempt->queued_us &&
           came_us(history, intervals, of) > attempt->queued_us &&
           hf_history_attempts_conflict(attempt, attempt->kind, that,
                                        that->kind);
}

static bool is_kept(const struct hf_check_result *result,
                    enum hf_check_rule rule, uint32_t attempt, uint32_t other)
{
    for (size_t i = 0; i < result->kept; i++)
        if (result->violations[i].rule == rule &&
            result->violations[i].attempt == attempt &&
            result->violations[i].other == other)
            return true;
    return false;
}

/* Was ${other}, which began before, held still when ${interval} began? */
static bool was_open(const struct hf_hold_interval *interval,
                     const struct hf_hold_interval *other)
{
    return other->lock == interval->lock && other->until_us > interval->from_us;
}

/* The permits that were held when interval ${index} began, its own among them,
 * were more than the greatest number that was asked for: the last one that was
 * granted before; else SIZE_MAX. */
static size_t last_of_too_many(const struct hf_history *history,
                               const struct hf_hold_intervals *intervals,
                               size_t index)
{
    const struct hf_hold_interval *interval = &intervals->items[index];
    uint64_t permits = history->attempts[interval->attempt].permits;
    uint32_t limit = history->attempts[interval->attempt].limit;
    size_t last = SIZE_MAX;

    for (size_t k = 0; k < index; k++) {
        const struct hf_hold_interval *other = &intervals->items[k];
        const struct hf_history_attempt *that =
            &history->attempts[other->attempt];

        if (other->kind != HF_KIND_SEMAPHORE || !was_open(interval, other))
            continue;
        permits += that->permits;
        limit = that->limit > limit ? that->limit : limit;
        last = k;
    }
    return permits > limit ? last : SIZE_MAX;
}

/* The rule of exclusion as it is said: what it finds is what the checker has
 * found.  The number of that. */
static size_t compare_exclusion(const struct hf_history *history,
                                const struct hf_hold_intervals *intervals,
                                const struct hf_check_result *result)
{
    const struct hf_hold_interval *items = intervals->items;
    size_t found = 0;

    for (size_t i = 0; i < intervals->count; i++) {
        const struct hf_history_attempt *attempt =
            &history->attempts[items[i].attempt];
        size_t last = SIZE_MAX;

        if (items[i].kind == HF_KIND_SEMAPHORE)
            last = last_of_too_many(history, intervals, i);
        for (size_t k = 0; k < i; k++) {
            bool conflict = items[i].kind == HF_KIND_SEMAPHORE
                                ? k == last
                                : was_open(&items[i], &items[k]) &&
                                      hf_history_attempts_conflict(
                                          attempt, items[i].kind,
                                          &history->attempts[items[k].attempt],
                                          items[k].kind);

            if (!conflict)
                continue;
            found++;
            assert_true(is_kept(result, HF_CHECK_EXCLUSION, items[i].attempt,
                                items[k].attempt));
        }
    }
    assert_int_equal(result->broken[HF_CHECK_EXCLUSION], found);
    return found;
}

/* How often a rule was broken. */
struct broken_rules {
    size_t overtaken;
    size_t together;
};

/* What the checker finds is what the rules say, no more and no less. */
static void compare_with_the_rules(struct broken_rules *broken,
                                   const struct hf_history *history)
{
    struct hf_hold_intervals intervals;
    struct hf_check_result result;
    size_t overtaken = 0;

    assert_true(hf_check_history(history, LATE_US, &result));
    assert_true(hf_hold_intervals_find(history, &intervals));
    for (size_t i = 0; i < intervals.count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (!was_overtaken(history, &intervals, i, k))
                continue;
            overtaken++;
            assert_true(is_kept(&result, HF_CHECK_ORDER,
                                intervals.items[k].attempt,
                                intervals.items[i].attempt));
        }
    }
    assert_int_equal(result.broken[HF_CHECK_ORDER], overtaken);
    broken->overtaken += overtaken;
    broken->together += compare_exclusion(history, &intervals, &result);
    hf_hold_intervals_free(&intervals);
    hf_check_result_free(&result);
}

TEST(all_that_the_rules_say_is_found)
{
    struct hf_history_attempt attempts[ATTEMPTS];
    struct hf_history history = {.attempts = attempts,
                                 .attempt_count = ATTEMPTS,
                                 .clients.count = CLIENTS,
                                 .locks.count = LOCKS,
                                 .ended_us = 100};
    struct broken_rules broken = {0};
    struct hf_random random;

    for (uint64_t seed = 1; seed <= 2000; seed++) {
        hf_random_seed(&random, seed);
        for (size_t i = 0; i < ATTEMPTS; i++)
            attempts[i] = random_attempt(&random);
        compare_with_the_rules(&broken, &history);
    }
    assert_in_range(broken.overtaken, 2000, SIZE_MAX);
    assert_in_range(broken.together, 2000, SIZE_MAX);
}

/* ${count} clients queue first, and then hold the lock one after the other, so
 * that all holds but its own fall into the wait of the last one. */
static size_t steps_of_a_long_queue(uint32_t count)
{
    struct hf_history_attempt *attempts = calloc(count, sizeof *attempts);
    struct hf_history history = {.attempts = attempts,
                                 .attempt_count = count,
                                 .clients.count = 1,
                                 .locks.count = 1,
                                 .ended_us = 2 * (uint64_t)count};
    struct hf_check_result result;
    size_t steps;

    assert_non_null(attempts);
    for (uint32_t i = 0; i < count; i++)
        attempts[i] = (struct hf_history_attempt){.kind = HF_KIND_MUTEX,
                                                  .permits = 1,
                                                  .limit = 1,
                                                  .want_us = i,
                                                  .queued_us = i,
                                                  .granted_us = count + i,
                                                  .shared_us = HF_FOREVER,
                                                  .ended_us = count + i + 1,
                                                  .ending = HF_ENDING_RELEASED,
                                                  .token = i + 1,
                                                  .safe_until_us = HF_FOREVER};
    assert_true(hf_check_history(&history, LATE_US, &result));
    assert_int_equal(hf_check_result_violations(&result), 0);
    steps = result.order_steps;
    hf_check_result_free(&result);
    free(attempts);
    return steps;
}

/* Four times as many attempts cost a little more than four times as much, and
 * not sixteen times. */
TEST(the_order_of_a_long_queue_is_checked_in_few_steps)
{
    size_t few = steps_of_a_long_queue(1000);

    assert_true(few > 0);
    assert_true(steps_of_a_long_queue(4000) <= 6 * few);
}

/* ${count} clients hold at one time, all of ${kind}. */
static struct hf_check_result check_together(uint32_t count, enum hf_kind kind)
{
    struct hf_history_attempt *attempts = calloc(count, sizeof *attempts);
    struct hf_history history = {.attempts = attempts,
                                 .attempt_count = count,
                                 .clients.count = 1,
                                 .locks.count = 1,
                                 .ended_us = 2 * (uint64_t)count};
    struct hf_check_result result;

    assert_non_null(attempts);
    for (uint32_t i = 0; i < count; i++)
        attempts[i] = (struct hf_history_attempt){.kind = kind,
                                                  .permits = 1,
                                                  .limit = count,
                                                  .want_us = i,
                                                  .queued_us = i,
                                                  .granted_us = i,
                                                  .shared_us = HF_FOREVER,
                                                  .ended_us = count + i,
                                                  .ending = HF_ENDING_RELEASED,
                                                  .token = i + 1,
                                                  .safe_until_us = HF_FOREVER};
    assert_true(hf_check_history(&history, LATE_US, &result));
    free(attempts);
    return result;
}

/* Four times as many cost four times as much, and not sixteen times. */
TEST(those_that_hold_at_once_are_checked_in_few_steps)
{
    static const enum hf_kind kinds[] = {HF_KIND_READ, HF_KIND_SEMAPHORE};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct hf_check_result few = check_together(1000, kinds[i]);
        struct hf_check_result many = check_together(4000, kinds[i]);

        assert_int_equal(hf_check_result_violations(&many), 0);
        assert_true(few.exclusion_steps > 0);
        assert_true(many.exclusion_steps <= 6 * few.exclusion_steps);
        hf_check_result_free(&few);
        hf_check_result_free(&many);
    }
}

/* Each two of them are a violation: all are counted, and few looked at. */
TEST(those_that_may_not_are_counted_in_few_steps)
{
    struct hf_check_result result = check_together(4000, HF_KIND_MUTEX);

    assert_int_equal(result.broken[HF_CHECK_EXCLUSION], 4000 * 3999 / 2);
    assert_int_equal(result.kept, HF_VIOLATIONS_KEPT);
    assert_true(result.exclusion_steps <= 2 * 4000 + HF_VIOLATIONS_KEPT);
    hf_check_result_free(&result);
}

/* ---------------------------------------------------------------- losses -- */

TEST(a_loss_in_time)
{
    assert_clean("10 a want x kind=mutex\n"
                 "20 a grant x token=1 safe_until=100\n"
                 "200 a lost x token=1\n");
}

TEST(a_loss_too_late)
{
    assert_broken(HF_CHECK_LOSS, 4,
                  "10 a want x kind=mutex\n"
                  "20 a grant x token=1 safe_until=100\n"
                  "201 a lost x token=1\n");
}

TEST(a_loss_never_reported)
{
    assert_broken(HF_CHECK_LOSS, 4,
                  "10 a want x kind=mutex\n"
                  "20 a grant x token=1 safe_until=100\n"
                  "300 a release x token=1\n");
    assert_broken(HF_CHECK_LOSS, 3,
                  "10 a want x kind=mutex\n"
                  "20 a grant x token=1 safe_until=100\n"
                  "300 b want y kind=mutex\n");
}

TEST(frozen_clients_report_when_they_thaw)
{
    assert_clean("10 a want x kind=mutex\n"
                 "20 a grant x token=1 safe_until=100\n"
                 "30 a frozen -\n"
                 "900 a thawed -\n"
                 "950 a lost x token=1\n");
    assert_broken(HF_CHECK_LOSS, 6,
                  "10 a want x kind=mutex\n"
                  "20 a grant x token=1 safe_until=100\n"
                  "30 a frozen -\n"
                  "900 a thawed -\n"
                  "1001 a lost x token=1\n");
}

TEST(the_fence_is_for_the_stale)
{
    struct checked_history checked;

    assert_broken(HF_CHECK_FENCE, 4,
                  "10 a want x kind=mutex\n"
                  "20 a grant x token=1 safe_until=100\n"
                  "30 a write x token=1 accepted=no\n"
                  "40 a release x token=1\n");
    check_history("10 a want x kind=mutex\n"
                  "20 a grant x token=1 safe_until=100\n"
                  "130 a write x token=1 accepted=no\n"
                  "140 a lost x token=1\n",
                  &checked);
    assert_int_equal(hf_check_result_violations(&checked.result), 0);
    assert_int_equal(checked.result.refused, 1);
    done(&checked);
}

/* --------------------------------------------------------------- figures -- */

TEST(handoffs_are_measured)
{
    struct checked_history checked;

    check_history("10 a want x kind=mutex\n"
                  "20 a grant x token=1 safe_until=900\n"
                  "30 b want x kind=mutex\n"
                  "31 c want x kind=mutex\n"
                  "40 a release x token=1\n"
                  "47 b grant x token=2 safe_until=900\n"
                  "50 b died -\n"
                  "80 c grant x token=3 safe_until=900\n"
                  "90 c release x token=3\n"
                  "90 d want x kind=mutex\n" /* it did not wait before */
                  "99 d grant x token=4 safe_until=900\n",
                  &checked);
    assert_int_equal(hf_check_result_violations(&checked.result), 0);
    assert_int_equal(checked.result.handoffs[HF_ENDING_RELEASED].count, 1);
    assert_int_equal(hf_handoffs_percentile(
                         &checked.result.handoffs[HF_ENDING_RELEASED], 50),
                     7);
    assert_int_equal(
        hf_handoffs_percentile(&checked.result.handoffs[HF_ENDING_DIED], 100),
        30);
    assert_int_equal(checked.result.longest_wait_us, 49);
    assert_int_equal(checked.result.grants, 4);
    done(&checked);
}

TEST(a_picture_has_what_is_wrong)
{
    char text[16384] = "";
    FILE *file = fmemopen(text, sizeof text, "w");
    struct checked_history checked;

    assert_non_null(file);
    check_history("10 <a> want x&y kind=mutex\n"
                  "20 <a> grant x&y token=1 safe_until=900\n"
                  "30 b want x&y kind=mutex\n"
                  "39 b grant x&y token=2 safe_until=900\n"
                  "40 <a> release x&y token=1\n",
                  &checked);
    hf_timeline_write(file, &checked.history, &checked.result);
    fclose(file);
    assert_non_null(strstr(text, "exclusion, line 5: b at x&amp;y"));
    assert_non_null(strstr(text, ">&lt;a&gt;</text>"));
    assert_non_null(strstr(text, "class=\"wrong\""));
    assert_non_null(strstr(text, "</svg>"));
    done(&checked);
}

/* ------------------------------------------------------------- bad input -- */

TEST(what_makes_no_sense_is_refused)
{
    static const struct {
        const char *text, *part;
    } rows[] = {
        {"", "is empty"},
        {"holdfast-history 2\n", "line 1"},
        {"1 a want x kind=mutex\n", "line 1"},
        {"holdfast-history 1\nsoon a want x kind=mutex\n", "no time"},
        {"holdfast-history 1\n99999999999999999999 a want x kind=mutex\n",
         "no time"},
        {"holdfast-history 1\n1\n", "client is missing"},
        {"holdfast-history 1\n1 a\n", "word is missing"},
        {"holdfast-history 1\n1 a wants x\n", "no word"},
        {"holdfast-history 1\n1 a want\n", "lock is missing"},
        {"holdfast-history 1\n1 a want - kind=mutex\n", "no lock"},
        {"holdfast-history 1\n1 a died x\n", "no lock"},
        {"holdfast-history 1\n1 a want x\n", "kind= is missing"},
        {"holdfast-history 1\n1 a want x kind=lock\n", "makes sense"},
        {"holdfast-history 1\n1 a want x kind=mutex kind=mutex\n", "twice"},
        {"holdfast-history 1\n1 a want x kind=mutex token=1\n", "not expected"},
        {"holdfast-history 1\n1 a want x kind=semaphore permits=0 limit=1\n",
         "makes sense"},
        {"holdfast-history 1\n1 a want x kind=semaphore permits=3 limit=2\n",
         "no more than limit=2"},
        {"holdfast-history 1\n1 a queued x\n", "is not wanted"},
        {"holdfast-history 1\n1 a want x kind=mutex\n2 a want x kind=mutex\n",
         "line 3"},
        {"holdfast-history 1\n1 a want x kind=mutex\n2 a release x token=1\n",
         "has not been granted"},
        {"holdfast-history 1\n1 a want x kind=mutex\n"
         "2 a grant x token=1 safe_until=9\n3 a gaveup x\n",
         "has been granted"},
        {"holdfast-history 1\n1 a want x kind=mutex\n"
         "2 a grant x token=1 safe_until=9\n3 a release x token=2\n",
         "another token"},
        {"holdfast-history 1\n1 a want x kind=mutex\n"
         "2 a grant x token=1 safe_until=9\n3 a shared x token=1\n",
         "is no writer"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hf_error error = {HF_OK, ""};
        struct hf_history history;
        /* fmemopen() does not take empty memory. */
        const char *text = *rows[i].text != '\0' ? rows[i].text : "\0";
        FILE *file = fmemopen((void *)(uintptr_t)text,
                              *text != '\0' ? strlen(text) : 1, "r");

        assert_non_null(file);
        if (*text == '\0')
            fgetc(file);
        assert_int_equal(
            hf_history_read(file, HF_HISTORY_BYTES, &history, &error),
            HF_EINVAL);
        if (strstr(error.text, rows[i].part) == NULL)
            fail_msg("row %zu: %s", i, error.text);
        hf_history_free(&history);
        fclose(file);
    }
}

/* Also around the room that it is read into, which grows. */
TEST(what_is_too_long_is_refused)
{
    static const size_t lengths[] = {100, 65534, 65535, 65536, 131071, 200000};
    static char text[200001];

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        size_t first = strlen(HF_HISTORY_FIRST_LINE);
        struct hf_error error = {HF_OK, ""};
        struct hf_history history;

        memset(text, '\n', lengths[i]);
        memcpy(text, HF_HISTORY_FIRST_LINE, first);
        text[lengths[i]] = '\0';
        assert_int_equal(read_text(text, lengths[i], &history, &error), HF_OK);
        hf_history_free(&history);
        assert_int_equal(read_text(text, lengths[i] - 1, &history, &error),
                         HF_ELIMIT);
        assert_non_null(strstr(error.text, "too long"));
        hf_history_free(&history);
    }
}

TEST(what_is_written_is_read)
{
    struct hf_history_event note = {.at_us = 5,
                                    .client = "1.2",
                                    .lock = "a b%c",
                                    .type = HF_HISTORY_WANT,
                                    .kind = HF_KIND_SEMAPHORE,
                                    .permits = 2,
                                    .limit = 3};
    struct hf_error error = {HF_OK, ""};
    char line[HF_HISTORY_EVENT_BYTES];
    struct hf_history_event again;
    size_t bytes;

    bytes = hf_history_event_format(&note, line);
    assert_int_equal(bytes, strlen(line));
    assert_string_equal(line, "5 1.2 want a%20b%25c kind=semaphore permits=2 "
                              "limit=3\n");
    assert_int_equal(hf_history_event_parse(line, &again, &error), HF_OK);
    assert_int_equal(again.permits, 2);
    assert_int_equal(again.limit, 3);
    note.lock = "-";
    note.type = HF_HISTORY_HELD;
    note.safe_until_us = HF_FOREVER;
    (void)hf_history_event_format(&note, line);
    assert_string_equal(line, "5 1.2 held %2D safe_until=forever\n");
    assert_int_equal(hf_history_event_parse(line, &again, &error), HF_OK);
    assert_true(again.safe_until_us == HF_FOREVER);
}
