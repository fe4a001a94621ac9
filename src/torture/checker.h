/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a history says of the lock.  It accuses only where the times that
 * contenders noted leave no doubt: a grant is noted after it was had, a release
 * before it is asked for, so that no window is longer than what was relied on.
 */
#ifndef HF_TORTURE_CHECKER_H
#define HF_TORTURE_CHECKER_H

#include "torture/hold_interval.h"

enum hf_check_rule {
    /* Two that conflict, or more permits than there are, at one time. */
    HF_CHECK_EXCLUSION,
    /* A token that is not greater than that of an earlier grant it conflicts
     * with. */
    HF_CHECK_TOKENS,
    /* Whoever came when another was in the queue already was granted before
     * it. */
    HF_CHECK_ORDER,
    /* A holder went on after the last promise it was given, and was not told,
     * or not in time, that the grant is lost. */
    HF_CHECK_LOSS,
    /* A write was refused because of a greater token while its holder could
     * still rely on its grant. */
    HF_CHECK_FENCE,
};
#define HF_CHECK_RULES 5

struct hf_violation {
    enum hf_check_rule rule;
    uint32_t attempt; /* its place in the history */
    uint32_t other;   /* against which; the same where there is none */
    uint64_t from_us, until_us; /* when it lasted */
    size_t line;                /* that shows it */
};

/* So many are kept; all are counted. */
#define HF_VIOLATIONS_KEPT 1000

/* From the end of one that held to the grant of one that waited for it. */
struct hf_handoffs {
    uint64_t *us; /* in order of size */
    size_t count;
};

struct hf_check_result {
    struct hf_violation *violations; /* in order of time, those that are kept */
    size_t kept;
    size_t broken[HF_CHECK_RULES]; /* how often each rule was */
    size_t grants;                 /* 0: nothing could be judged */
    size_t never_granted;         /* locks that were wanted and never granted */
    uint32_t first_never_granted; /* the first of those */
    size_t endings[HF_ENDING_GAVE_UP + 1]; /* of attempts */
    size_t refused; /* writes of those who had lost the lock */
    uint64_t longest_wait_us;
    struct hf_handoffs handoffs[HF_ENDING_GAVE_UP + 1]; /* after RELEASED and
                                                           DIED */
};

/* Judge ${history}; a loss may be told ${late_us} after the promise has passed,
 * for a busy machine.  False when there is no memory.  Wants
 * hf_check_result_free(). */
bool hf_check_history(const struct hf_history *history, uint64_t late_us,
                      struct hf_check_result *result);
void hf_check_result_free(struct hf_check_result *result);

/* How many violations there are. */
size_t hf_check_result_violations(const struct hf_check_result *result);

/* "violation", "no violation", or "none" where there is no grant to judge. */
const char *hf_check_result_name(const struct hf_check_result *result);

/* "exclusion" and so on. */
const char *hf_check_rule_name(enum hf_check_rule rule);

/* The value that ${percent} of them do not exceed; 0 if there are none. */
uint64_t hf_handoffs_percentile(const struct hf_handoffs *handoffs,
                                unsigned percent);

#endif
