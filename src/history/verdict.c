/* SPDX-License-Identifier: Apache-2.0 */
#include "history/verdict.h"

#include <stdlib.h>

#include "core/memory.h"

struct judge {
    const struct hf_history *history;
    struct hf_windows windows;
    uint64_t late_us;
    struct hf_verdict *verdict;
    size_t *active; /* windows that are open in the sweep */
    size_t active_count;
};

const char *hf_rule_name(enum hf_rule rule)
{
    static const char *const names[] = {
        [HF_RULE_EXCLUSION] = "exclusion", [HF_RULE_TOKENS] = "tokens",
        [HF_RULE_ORDER] = "order",         [HF_RULE_LOSS] = "loss",
        [HF_RULE_FENCE] = "fence",
    };

    return names[rule];
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ${a} + ${b}, at most HF_FOREVER. */
static uint64_t after(uint64_t a, uint64_t b)
{
    return b > HF_FOREVER - a ? HF_FOREVER : a + b;
}

static const struct hf_attempt *attempt_of(const struct judge *judge,
                                           const struct hf_window *window)
{
    return &judge->history->attempts[window->attempt];
}

static void accuse(struct judge *judge, const struct hf_violation *violation)
{
    struct hf_verdict *verdict = judge->verdict;

    verdict->broken[violation->rule]++;
    if (verdict->kept < HF_VIOLATIONS_KEPT)
        verdict->violations[verdict->kept++] = *violation;
}

/* ------------------------------------------------------------- exclusion -- */

static void leave(struct judge *judge, const struct hf_window *now)
{
    size_t kept = 0;

    for (size_t i = 0; i < judge->active_count; i++) {
        const struct hf_window *window = &judge->windows.all[judge->active[i]];

        if (window->lock == now->lock && window->until_us > now->from_us)
            judge->active[kept++] = judge->active[i];
    }
    judge->active_count = kept;
}

static void accuse_together(struct judge *judge, const struct hf_window *window,
                            const struct hf_window *other)
{
    struct hf_violation violation = {
        .rule = HF_RULE_EXCLUSION,
        .attempt = window->attempt,
        .other = other->attempt,
        .from_us = window->from_us,
        .until_us = least(window->until_us, other->until_us),
        .line = attempt_of(judge, window)->granted_line,
    };

    accuse(judge, &violation);
}

/* Of a semaphore it is the sum that counts. */
static void judge_permits(struct judge *judge, const struct hf_window *window)
{
    const struct hf_attempt *attempt = attempt_of(judge, window);
    uint64_t taken = attempt->permits;
    uint32_t limit = attempt->limit;
    const struct hf_window *other = NULL;

    for (size_t i = 0; i < judge->active_count; i++) {
        const struct hf_window *held = &judge->windows.all[judge->active[i]];
        const struct hf_attempt *holder = attempt_of(judge, held);

        if (held->kind != HF_KIND_SEMAPHORE)
            continue;
        other = held;
        taken += holder->permits;
        if (holder->limit > limit)
            limit = holder->limit;
    }
    if (other != NULL && taken > limit)
        accuse_together(judge, window, other);
}

static void judge_together(struct judge *judge, const struct hf_window *window)
{
    const struct hf_attempt *attempt = attempt_of(judge, window);

    if (window->kind == HF_KIND_SEMAPHORE) {
        judge_permits(judge, window);
        return;
    }
    for (size_t i = 0; i < judge->active_count; i++) {
        const struct hf_window *other = &judge->windows.all[judge->active[i]];

        if (other->attempt != window->attempt &&
            hf_attempts_conflict(attempt, window->kind,
                                 attempt_of(judge, other), other->kind))
            accuse_together(judge, window, other);
    }
}

static void judge_exclusion(struct judge *judge)
{
    judge->active_count = 0;
    for (size_t i = 0; i < judge->windows.count; i++) {
        leave(judge, &judge->windows.all[i]);
        judge_together(judge, &judge->windows.all[i]);
        judge->active[judge->active_count++] = i;
    }
}

/* ---------------------------------------------------------------- tokens -- */

/* Of grants that conflict with the same others the one with the greatest token
 * is enough to know: those of so many permits each, readers, and the rest. */
enum {
    OF_READERS = HF_PERMITS_MAX + 1,
    OF_OTHERS,
    CLASSES,
};

static unsigned class_of(const struct hf_attempt *attempt, enum hf_kind kind)
{
    if (kind == HF_KIND_SEMAPHORE)
        return attempt->permits < HF_PERMITS_MAX ? attempt->permits
                                                 : HF_PERMITS_MAX;
    return kind == HF_KIND_READ ? OF_READERS : OF_OTHERS;
}

/* ${greatest}: for each class the place + 1 of its window. */
static void judge_token(struct judge *judge, size_t place,
                        const size_t greatest[CLASSES])
{
    const struct hf_window *window = &judge->windows.all[place];
    const struct hf_attempt *attempt = attempt_of(judge, window);
    struct hf_violation violation = {
        .rule = HF_RULE_TOKENS,
        .attempt = window->attempt,
        .from_us = window->from_us,
        .until_us = window->from_us,
        .line = attempt->granted_line,
    };

    for (unsigned i = 0; i < CLASSES; i++) {
        const struct hf_window *other;

        if (greatest[i] == 0)
            continue;
        other = &judge->windows.all[greatest[i] - 1];
        if (other->attempt == window->attempt ||
            !hf_attempts_conflict(attempt, window->kind,
                                  attempt_of(judge, other), other->kind) ||
            attempt->token > attempt_of(judge, other)->token)
            continue;
        violation.other = other->attempt;
        accuse(judge, &violation);
        return;
    }
}

static void judge_tokens(struct judge *judge)
{
    size_t greatest[CLASSES] = {0};

    for (size_t i = 0; i < judge->windows.count; i++) {
        const struct hf_window *window = &judge->windows.all[i];
        const struct hf_attempt *attempt = attempt_of(judge, window);
        size_t *of_class = &greatest[class_of(attempt, window->kind)];

        if (i > 0 && window->lock != window[-1].lock)
            for (unsigned k = 0; k < CLASSES; k++)
                greatest[k] = 0;
        judge_token(judge, i, greatest);
        if (*of_class == 0 ||
            attempt->token >
                attempt_of(judge, &judge->windows.all[*of_class - 1])->token)
            *of_class = i + 1;
    }
}

/* ----------------------------------------------------------------- order -- */

/* Its place in the queue was the same from .queued_us to its grant, or it would
 * have said so: it hears of its loss before it is granted anything. */
static void judge_place(struct judge *judge, size_t place)
{
    const struct hf_window *window = &judge->windows.all[place];
    const struct hf_attempt *attempt = attempt_of(judge, window);

    for (size_t i = place; i-- > 0;) {
        const struct hf_window *other = &judge->windows.all[i];
        const struct hf_attempt *rival = attempt_of(judge, other);
        struct hf_violation violation = {
            .rule = HF_RULE_ORDER,
            .attempt = other->attempt,
            .other = window->attempt,
            .from_us = other->from_us,
            .until_us = window->from_us,
            .line = rival->granted_line,
        };

        if (other->lock != window->lock || other->from_us <= attempt->queued_us)
            return;
        if (other->attempt != window->attempt &&
            rival->want_us > attempt->queued_us &&
            hf_attempts_conflict(attempt, attempt->kind, rival, rival->kind))
            accuse(judge, &violation);
    }
}

static void judge_order(struct judge *judge)
{
    for (size_t i = 0; i < judge->windows.count; i++) {
        const struct hf_window *window = &judge->windows.all[i];

        if (window->from_us == attempt_of(judge, window)->granted_us)
            judge_place(judge, i);
    }
}

/* ---------------------------------------------------------------- losses -- */

static void judge_losses(struct judge *judge)
{
    const struct hf_history *history = judge->history;

    for (uint32_t i = 0; i < history->attempt_count; i++) {
        const struct hf_attempt *attempt = &history->attempts[i];
        uint64_t told_us = least(attempt->ended_us, history->ended_us);
        /* What is frozen can be told nothing. */
        uint64_t due_us = after(
            most(attempt->safe_until_us, attempt->thawed_us), judge->late_us);
        struct hf_violation violation = {
            .rule = HF_RULE_LOSS,
            .attempt = i,
            .other = i,
            .from_us = attempt->safe_until_us,
            .until_us = told_us,
            .line = attempt->ended_us != HF_FOREVER ? attempt->ended_line
                                                    : attempt->granted_line,
        };

        /* Without a promise nothing has passed. */
        if (attempt->granted_us != HF_FOREVER && attempt->safe_until_us != 0 &&
            attempt->ending != HF_ENDING_DIED && told_us > due_us)
            accuse(judge, &violation);
    }
}

/* ---------------------------------------------------------------- writes -- */

static void judge_writes(struct judge *judge)
{
    const struct hf_history *history = judge->history;

    for (uint32_t i = 0; i < history->write_count; i++) {
        const struct hf_fenced_write *write = &history->writes[i];
        const struct hf_attempt *attempt = &history->attempts[write->attempt];
        struct hf_violation violation = {
            .rule = HF_RULE_FENCE,
            .attempt = write->attempt,
            .other = write->attempt,
            .from_us = write->at_us,
            .until_us = write->at_us,
            .line = write->line,
        };

        if (write->accepted)
            continue;
        if (write->at_us < hf_attempt_until_us(attempt))
            accuse(judge, &violation);
        else
            judge->verdict->refused++;
    }
}

/* -------------------------------------------------------------- handoffs -- */

static bool add_handoff(struct hf_handoffs *handoffs, uint64_t us)
{
    /* Room is doubled at each power of two. */
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

/* From one that holds alone to the next that does, which was there already. */
static bool take_handoffs(struct judge *judge)
{
    struct hf_verdict *verdict = judge->verdict;

    for (size_t i = 1; i < judge->windows.count; i++) {
        const struct hf_window *window = &judge->windows.all[i];
        const struct hf_attempt *next = attempt_of(judge, window);
        const struct hf_attempt *last = attempt_of(judge, window - 1);

        if (window->lock != window[-1].lock || next == last ||
            !hf_attempts_conflict(next, next->kind, last, last->kind) ||
            last->ended_us > next->granted_us ||
            next->want_us >= last->ended_us)
            continue;
        if (!add_handoff(&verdict->handoffs[last->ending],
                         next->granted_us - last->ended_us))
            return false;
    }
    for (size_t i = 0; i <= HF_ENDING_GAVE_UP; i++)
        if (verdict->handoffs[i].count > 0)
            qsort(verdict->handoffs[i].us, verdict->handoffs[i].count,
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

/* --------------------------------------------------------------- verdict -- */

static void count(struct judge *judge)
{
    const struct hf_history *history = judge->history;
    struct hf_verdict *verdict = judge->verdict;

    for (uint32_t i = 0; i < history->attempt_count; i++) {
        const struct hf_attempt *attempt = &history->attempts[i];
        uint64_t until_us = least(attempt->granted_us,
                                  least(attempt->ended_us, history->ended_us));

        verdict->endings[attempt->ending]++;
        if (attempt->granted_us != HF_FOREVER)
            verdict->grants++;
        verdict->longest_wait_us =
            most(verdict->longest_wait_us, until_us - attempt->want_us);
    }
}

/* Which locks were never granted: their number, and the first of them. */
static bool count_never(struct judge *judge)
{
    const struct hf_history *history = judge->history;
    struct hf_verdict *verdict = judge->verdict;
    bool *granted = hf_alloc((size_t)history->locks.count + 1);

    if (granted == NULL)
        return false;
    for (uint32_t i = 0; i < history->attempt_count; i++)
        if (history->attempts[i].granted_us != HF_FOREVER)
            granted[history->attempts[i].lock] = true;
    for (uint32_t i = 0; i < history->locks.count; i++)
        if (!granted[i] && verdict->never++ == 0)
            verdict->never_lock = i;
    hf_free(granted);
    return true;
}

static int compare_violations(const void *a, const void *b)
{
    const struct hf_violation *x = a, *y = b;

    if (x->from_us != y->from_us)
        return x->from_us < y->from_us ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

bool hf_verdict_of(const struct hf_history *history, uint64_t late_us,
                   struct hf_verdict *verdict)
{
    struct judge judge = {
        .history = history, .late_us = late_us, .verdict = verdict};
    bool done = false;

    *verdict = (struct hf_verdict){0};
    verdict->violations =
        hf_alloc(HF_VIOLATIONS_KEPT * sizeof *verdict->violations);
    if (verdict->violations == NULL || !hf_windows_of(history, &judge.windows))
        return false;
    judge.active = hf_alloc((judge.windows.count + 1) * sizeof *judge.active);
    if (judge.active != NULL) {
        count(&judge);
        judge_exclusion(&judge);
        judge_tokens(&judge);
        judge_order(&judge);
        judge_losses(&judge);
        judge_writes(&judge);
        done = take_handoffs(&judge) && count_never(&judge);
        qsort(verdict->violations, verdict->kept, sizeof *verdict->violations,
              compare_violations);
    }
    hf_free(judge.active);
    hf_windows_free(&judge.windows);
    return done;
}

void hf_verdict_free(struct hf_verdict *verdict)
{
    hf_free(verdict->violations);
    for (size_t i = 0; i <= HF_ENDING_GAVE_UP; i++)
        hf_free(verdict->handoffs[i].us);
    *verdict = (struct hf_verdict){0};
}

const char *hf_verdict_word(const struct hf_verdict *verdict)
{
    if (hf_verdict_violations(verdict) > 0)
        return "violation";
    return verdict->grants > 0 ? "no violation" : "none";
}

size_t hf_verdict_violations(const struct hf_verdict *verdict)
{
    size_t all = 0;

    for (size_t i = 0; i < HF_RULES; i++)
        all += verdict->broken[i];
    return all;
}
