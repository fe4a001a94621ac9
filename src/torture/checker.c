/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See checker.h.  Each rule is checked by one pass over the hold intervals.
 * They are sorted by lock, and the intervals of a lock by their beginning.
 */
#include "torture/checker.h"

#include <stdlib.h>

#include "base/memory.h"
#include "torture/hold_interval.h"
#include "torture/overtakers.h"

/* The state of hf_check_history(). */
struct checker {
    const struct hf_history *history;
    struct hf_hold_intervals intervals;
    uint64_t late_us; /* how late a loss may be notified: see
                         hf_check_history() */
    struct hf_check_result *result;
};

const char *hf_check_rule_name(enum hf_check_rule rule)
{
    static const char *const names[] = {
        [HF_CHECK_EXCLUSION] = "exclusion", [HF_CHECK_TOKENS] = "tokens",
        [HF_CHECK_ORDER] = "order",         [HF_CHECK_LOSS] = "loss",
        [HF_CHECK_FENCE] = "fence",
    };

    return names[rule];
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ${a} + ${b}, at most HF_FOREVER. */
static uint64_t add_saturating(uint64_t a, uint64_t b)
{
    return b > HF_FOREVER - a ? HF_FOREVER : a + b;
}

static const struct hf_history_attempt *
attempt_of(const struct checker *checker,
           const struct hf_hold_interval *interval)
{
    return &checker->history->attempts[interval->attempt];
}

/* Count ${violation}, and keep it if there is room. */
static void add_violation(struct checker *checker,
                          const struct hf_violation *violation)
{
    struct hf_check_result *result = checker->result;

    result->broken[violation->rule]++;
    if (result->kept < HF_VIOLATIONS_KEPT)
        result->violations[result->kept++] = *violation;
}

/* ------------------------------------------------------------- exclusion -- */

/* Add the violation that ${interval} began while ${other} was open. */
static void add_exclusion_violation(struct checker *checker,
                                    const struct hf_hold_interval *interval,
                                    const struct hf_hold_interval *other)
{
    struct hf_violation violation = {
        .rule = HF_CHECK_EXCLUSION,
        .attempt = interval->attempt,
        .other = other->attempt,
        .from_us = interval->from_us,
        .until_us = min_u64(interval->until_us, other->until_us),
        .line = attempt_of(checker, interval)->granted_line,
    };

    add_violation(checker, &violation);
}

/* For a semaphore: add a violation if more permits are held than there are.
 * The number of permits is the greatest limit that a holder of some has named.
 */
static void check_permits(struct checker *checker,
                          const struct hf_open_intervals *open,
                          const struct hf_hold_interval *interval)
{
    const struct hf_history_attempt *attempt = attempt_of(checker, interval);
    size_t last = open->groups[HF_OPEN_PERMITS].last;

    if (last != HF_OPEN_NONE &&
        open->permits + attempt->permits >
            max_u64(attempt->limit, hf_open_intervals_limit(open)))
        add_exclusion_violation(checker, interval,
                                &checker->intervals.items[last]);
}

/* For any other lock: ${interval} conflicts with all open intervals of
 * HF_OPEN_OTHERS and, unless it is that of a reader, with those of readers.
 * Violations are added one by one, in the order in which the intervals began,
 * while there is room to keep them.  The rest is only counted. */
static void check_locks(struct checker *checker, struct hf_open_intervals *open,
                        const struct hf_hold_interval *interval)
{
    bool reads = interval->kind == HF_KIND_READ;
    size_t other = open->groups[HF_OPEN_OTHERS].first;
    size_t reader = reads ? HF_OPEN_NONE : open->groups[HF_OPEN_READERS].first;
    size_t left = open->groups[HF_OPEN_OTHERS].count +
                  (reads ? 0 : open->groups[HF_OPEN_READERS].count);

    for (; left > 0 && checker->result->kept < HF_VIOLATIONS_KEPT; left--) {
        size_t *at = other < reader ? &other : &reader;

        add_exclusion_violation(checker, interval,
                                &checker->intervals.items[*at]);
        *at = open->items[*at].next;
        open->steps++;
    }
    checker->result->broken[HF_CHECK_EXCLUSION] += left;
}

/* Check the rule EXCLUSION by a sweep line over the beginnings of the intervals
 * (Shamos and Hoey 1976): an interval is compared with those that are open when
 * it begins.  The two intervals of one attempt are never open at one time.
 * Returns false if there is no memory. */
static bool check_exclusion(struct checker *checker)
{
    struct hf_open_intervals open;

    if (!hf_open_intervals_init(&open, checker->history, &checker->intervals))
        return false;
    for (size_t i = 0; i < checker->intervals.count; i++) {
        const struct hf_hold_interval *interval = &checker->intervals.items[i];

        hf_open_intervals_end(&open, i);
        if (interval->kind == HF_KIND_SEMAPHORE)
            check_permits(checker, &open, interval);
        else
            check_locks(checker, &open, interval);
        hf_open_intervals_begin(&open, i);
    }
    checker->result->exclusion_steps = open.steps;
    hf_open_intervals_free(&open);
    return true;
}

/* ---------------------------------------------------------------- tokens -- */

/* The rule TOKENS compares a grant with the greatest token of the earlier
 * grants that conflict with it.  Grants that conflict with the same other
 * grants form a class, so one token for each class is enough.  The classes are
 * semaphores by their number of permits, readers, and all others. */
enum {
    CLASS_READERS = HF_PERMITS_MAX + 1,
    CLASS_OTHERS,
    CLASSES,
};

/* Return the class of the grant of ${attempt} when it is held as ${kind}. */
static unsigned class_of(const struct hf_history_attempt *attempt,
                         enum hf_kind kind)
{
    if (kind == HF_KIND_SEMAPHORE)
        return attempt->permits < HF_PERMITS_MAX ? attempt->permits
                                                 : HF_PERMITS_MAX;
    return kind == HF_KIND_READ ? CLASS_READERS : CLASS_OTHERS;
}

/* Is the token of ${attempt} too low, because ${attempt} was granted after
 * ${other}?  It may be equal if the client has kept its ticket, which is then
 * granted again with the same token. */
static bool is_too_low(const struct hf_history_attempt *attempt,
                       const struct hf_history_attempt *other)
{
    return attempt->token < other->token ||
           (attempt->token == other->token && attempt->client != other->client);
}

/* Add a violation if the token of the interval ${index} is not greater than
 * those of earlier conflicting ones.  ${greatest} has for each class the index
 * plus 1 of the interval with the greatest token; 0: none. */
static void check_token(struct checker *checker, size_t index,
                        const size_t greatest[CLASSES])
{
    const struct hf_hold_interval *interval = &checker->intervals.items[index];
    const struct hf_history_attempt *attempt = attempt_of(checker, interval);
    struct hf_violation violation = {
        .rule = HF_CHECK_TOKENS,
        .attempt = interval->attempt,
        .from_us = interval->from_us,
        .until_us = interval->from_us,
        .line = attempt->granted_line,
    };

    for (unsigned i = 0; i < CLASSES; i++) {
        const struct hf_hold_interval *other;

        if (greatest[i] == 0)
            continue;
        other = &checker->intervals.items[greatest[i] - 1];
        if (other->attempt == interval->attempt ||
            !hf_history_attempts_conflict(attempt, interval->kind,
                                          attempt_of(checker, other),
                                          other->kind) ||
            !is_too_low(attempt, attempt_of(checker, other)))
            continue;
        violation.other = other->attempt;
        add_violation(checker, &violation);
        return;
    }
}

/* Check the rule TOKENS. */
static void check_tokens(struct checker *checker)
{
    size_t greatest[CLASSES] = {0};

    for (size_t i = 0; i < checker->intervals.count; i++) {
        const struct hf_hold_interval *interval = &checker->intervals.items[i];
        const struct hf_history_attempt *attempt =
            attempt_of(checker, interval);
        size_t *of_class = &greatest[class_of(attempt, interval->kind)];

        if (i > 0 && interval->lock != interval[-1].lock)
            for (unsigned k = 0; k < CLASSES; k++)
                greatest[k] = 0;
        check_token(checker, i, greatest);
        if (*of_class == 0 ||
            attempt->token >
                attempt_of(checker, &checker->intervals.items[*of_class - 1])
                    ->token)
            *of_class = i + 1;
    }
}

/* ----------------------------------------------------------------- order -- */

/* Add a violation for each attempt that overtook the interval ${index}.  The
 * ticket of that interval was in the queue from .queued_us until its grant,
 * because a client that loses its ticket is notified before it is granted
 * anything.  So a client whose ticket came after .queued_us must not be granted
 * the lock before. */
static void check_overtaken(struct checker *checker, size_t index,
                            struct hf_overtakers *overtakers)
{
    const struct hf_hold_interval *interval = &checker->intervals.items[index];
    size_t at = index;

    while ((at = hf_overtakers_last(overtakers, index, at)) !=
           HF_OVERTAKERS_NONE) {
        const struct hf_hold_interval *other = &checker->intervals.items[at];
        const struct hf_violation violation = {
            .rule = HF_CHECK_ORDER,
            .attempt = other->attempt,
            .other = interval->attempt,
            .from_us = other->from_us,
            .until_us = interval->from_us,
            .line = attempt_of(checker, other)->granted_line,
        };

        add_violation(checker, &violation);
    }
}

/* Check the rule ORDER.  Of the two intervals that an attempt may have, only
 * the first begins with the grant.  Returns false if there is no memory. */
static bool check_order(struct checker *checker)
{
    struct hf_overtakers overtakers;

    if (!hf_overtakers_init(&overtakers, checker->history, &checker->intervals))
        return false;
    for (size_t i = 0; i < checker->intervals.count; i++) {
        const struct hf_hold_interval *interval = &checker->intervals.items[i];

        if (interval->from_us == attempt_of(checker, interval)->granted_us)
            check_overtaken(checker, i, &overtakers);
    }
    checker->result->order_steps = overtakers.steps;
    hf_overtakers_free(&overtakers);
    return true;
}

/* ---------------------------------------------------------------- losses -- */

/* Check the rule LOSS. */
static void check_losses(struct checker *checker)
{
    const struct hf_history *history = checker->history;

    for (uint32_t i = 0; i < history->attempt_count; i++) {
        const struct hf_history_attempt *attempt = &history->attempts[i];
        uint64_t notified_us = min_u64(attempt->ended_us, history->ended_us);
        /* A client that is frozen cannot be notified before it is thawed. */
        uint64_t due_us =
            add_saturating(max_u64(attempt->safe_until_us, attempt->thawed_us),
                           checker->late_us);
        struct hf_violation violation = {
            .rule = HF_CHECK_LOSS,
            .attempt = i,
            .other = i,
            .from_us = attempt->safe_until_us,
            .until_us = notified_us,
            .line = attempt->ended_us != HF_FOREVER ? attempt->ended_line
                                                    : attempt->granted_line,
        };

        /* A grant that has no safe-until cannot outlast one. */
        if (attempt->granted_us != HF_FOREVER && attempt->safe_until_us != 0 &&
            attempt->ending != HF_ENDING_DIED && notified_us > due_us)
            add_violation(checker, &violation);
    }
}

/* ---------------------------------------------------------------- writes -- */

/* Check the rule FENCE: a write must not be refused while its writer could
 * still rely on the lock.  If a write is refused later, fencing has worked, and
 * the write is only counted. */
static void check_writes(struct checker *checker)
{
    const struct hf_history *history = checker->history;

    for (uint32_t i = 0; i < history->write_count; i++) {
        const struct hf_fenced_write *write = &history->writes[i];
        const struct hf_history_attempt *attempt =
            &history->attempts[write->attempt];
        struct hf_violation violation = {
            .rule = HF_CHECK_FENCE,
            .attempt = write->attempt,
            .other = write->attempt,
            .from_us = write->at_us,
            .until_us = write->at_us,
            .line = write->line,
        };

        if (write->accepted)
            continue;
        if (write->at_us < hf_history_attempt_until_us(attempt))
            add_violation(checker, &violation);
        else
            checker->result->refused++;
    }
}

/* -------------------------------------------------------------- handoffs -- */

/* Add a handoff that took ${us}.  Returns false if there is no memory. */
static bool add_handoff(struct hf_handoffs *handoffs, uint64_t us)
{
    /* The room is doubled at each power of two. */
    if ((handoffs->count & (handoffs->count - 1)) == 0) {
        size_t room = handoffs->count == 0 ? 1 : 2 * handoffs->count;
        uint64_t *more = hf_realloc(handoffs->us, room * sizeof *more);

        if (more == NULL)
            return false;
        handoffs->us = more;
    }
    handoffs->us[handoffs->count++] = us;
    return true;
}

static int compare_us(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* Collect the handoffs: how long it took from the end of a hold to the next
 * grant.  They count if the two grants exclude each other and the second client
 * was waiting already.  They are listed by how the hold ended.  Returns false
 * if there is no memory. */
static bool collect_handoffs(struct checker *checker)
{
    struct hf_check_result *result = checker->result;

    for (size_t i = 1; i < checker->intervals.count; i++) {
        const struct hf_hold_interval *interval = &checker->intervals.items[i];
        const struct hf_history_attempt *next = attempt_of(checker, interval);
        const struct hf_history_attempt *last =
            attempt_of(checker, interval - 1);

        if (interval->lock != interval[-1].lock || next == last ||
            !hf_history_attempts_conflict(next, next->kind, last, last->kind) ||
            last->ended_us > next->granted_us ||
            next->want_us >= last->ended_us)
            continue;
        if (!add_handoff(&result->handoffs[last->ending],
                         next->granted_us - last->ended_us))
            return false;
    }
    for (size_t i = 0; i <= HF_ENDING_GAVE_UP; i++)
        if (result->handoffs[i].count > 0)
            qsort(result->handoffs[i].us, result->handoffs[i].count,
                  sizeof(uint64_t), compare_us);
    return true;
}

uint64_t hf_handoffs_percentile(const struct hf_handoffs *handoffs,
                                unsigned percent)
{
    if (handoffs->count == 0)
        return 0;
    return handoffs->us[(handoffs->count - 1) * percent / 100];
}

/* ---------------------------------------------------------------- result -- */

/* Count the attempts by ending and the grants, and find the longest wait. */
static void count_attempts(struct checker *checker)
{
    const struct hf_history *history = checker->history;
    struct hf_check_result *result = checker->result;

    for (uint32_t i = 0; i < history->attempt_count; i++) {
        const struct hf_history_attempt *attempt = &history->attempts[i];
        uint64_t until_us = min_u64(
            attempt->granted_us, min_u64(attempt->ended_us, history->ended_us));

        result->endings[attempt->ending]++;
        if (attempt->granted_us != HF_FOREVER)
            result->grants++;
        result->longest_wait_us =
            max_u64(result->longest_wait_us, until_us - attempt->want_us);
    }
}

/* Count the locks that were never granted, and find the first of them.  Returns
 * false if there is no memory. */
static bool count_never_granted(struct checker *checker)
{
    const struct hf_history *history = checker->history;
    struct hf_check_result *result = checker->result;
    bool *granted = hf_alloc((size_t)history->locks.count + 1);

    if (granted == NULL)
        return false;
    for (uint32_t i = 0; i < history->attempt_count; i++)
        if (history->attempts[i].granted_us != HF_FOREVER)
            granted[history->attempts[i].lock] = true;
    for (uint32_t i = 0; i < history->locks.count; i++)
        if (!granted[i] && result->never_granted++ == 0)
            result->first_never_granted = i;
    hf_free(granted);
    return true;
}

/* Compare by time, then by line. */
static int compare_violations(const void *a, const void *b)
{
    const struct hf_violation *x = a, *y = b;

    if (x->from_us != y->from_us)
        return x->from_us < y->from_us ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

bool hf_check_history(const struct hf_history *history, uint64_t late_us,
                      struct hf_check_result *result)
{
    struct checker checker = {
        .history = history, .late_us = late_us, .result = result};
    bool done = false;

    *result = (struct hf_check_result){0};
    result->violations =
        hf_alloc(HF_VIOLATIONS_KEPT * sizeof *result->violations);
    if (result->violations == NULL ||
        !hf_hold_intervals_find(history, &checker.intervals))
        return false;
    count_attempts(&checker);
    if (check_exclusion(&checker)) {
        check_tokens(&checker);
        done = check_order(&checker);
        check_losses(&checker);
        check_writes(&checker);
        done =
            done && collect_handoffs(&checker) && count_never_granted(&checker);
        qsort(result->violations, result->kept, sizeof *result->violations,
              compare_violations);
    }
    hf_hold_intervals_free(&checker.intervals);
    return done;
}

void hf_check_result_free(struct hf_check_result *result)
{
    hf_free(result->violations);
    for (size_t i = 0; i <= HF_ENDING_GAVE_UP; i++)
        hf_free(result->handoffs[i].us);
    *result = (struct hf_check_result){0};
}

const char *hf_check_result_name(const struct hf_check_result *result)
{
    if (hf_check_result_violations(result) > 0)
        return "violation";
    return result->grants > 0 ? "no violation" : "none";
}

size_t hf_check_result_violations(const struct hf_check_result *result)
{
    size_t all = 0;

    for (size_t i = 0; i < HF_CHECK_RULES; i++)
        all += result->broken[i];
    return all;
}
