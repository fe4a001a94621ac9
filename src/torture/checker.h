/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checker: does a history break the rules of a lock?
 *
 * It reports only what is certain.  A grant is recorded after it was received
 * and a release before it is asked for, so no hold interval is longer than
 * what the client really relied on, and two intervals that overlap were two
 * holders at one time.
 */
#ifndef HF_TORTURE_CHECKER_H
#define HF_TORTURE_CHECKER_H

#include "torture/hold_interval.h"

enum hf_check_rule {
    /* Two attempts that exclude each other hold the lock at one time, or more
     * permits are held than there are. */
    HF_CHECK_EXCLUSION,
    /* The token of a grant is not greater than that of an earlier grant which
     * it conflicts with.  A client that has kept its ticket may be granted with
     * the same token again. */
    HF_CHECK_TOKENS,
    /* An attempt whose ticket came when another one was in the queue already
     * was granted before it. */
    HF_CHECK_ORDER,
    /* A holder was not notified of the loss of its grant, or too late after its
     * last safe-until. */
    HF_CHECK_LOSS,
    /* A write was refused because of a greater token, although its writer
     * could still rely on its grant. */
    HF_CHECK_FENCE,
};
#define HF_CHECK_RULES 5

/* One case in which a rule was broken. */
struct hf_violation {
    enum hf_check_rule rule;
    uint32_t attempt; /* index in the history */
    uint32_t other;   /* the other attempt; the same if there is none */
    uint64_t from_us, until_us; /* how long it lasted */
    size_t line;                /* the line that shows it */
};

/* At most this many violations are kept; all are counted. */
#define HF_VIOLATIONS_KEPT 1000

/* How long it took from the end of a hold to the next grant, where a client was
 * waiting already. */
struct hf_handoffs {
    uint64_t *us; /* microseconds, sorted */
    size_t count;
};

struct hf_check_result {
    struct hf_violation *violations; /* those that are kept, in order of time */
    size_t kept;
    size_t broken[HF_CHECK_RULES]; /* number of violations of each rule */
    size_t grants;        /* number of grants; 0: there was nothing to check */
    size_t never_granted; /* locks wanted and never granted */
    uint32_t first_never_granted;          /* the first of these locks */
    size_t endings[HF_ENDING_GAVE_UP + 1]; /* attempts, by ending */
    size_t refused; /* writes refused to clients that had lost the lock */
    uint64_t longest_wait_us;
    /* What HF_CHECK_EXCLUSION and HF_CHECK_ORDER have cost; a test looks at
     * them. */
    size_t exclusion_steps;
    size_t order_steps;
    struct hf_handoffs handoffs[HF_ENDING_GAVE_UP + 1]; /* by ending */
};

/* Check ${history}.  A client may be notified of a loss ${late_us} after its
 * safe-until, because a machine may be busy.  False if there is no memory.
 * hf_check_result_free() must be called in both cases. */
bool hf_check_history(const struct hf_history *history, uint64_t late_us,
                      struct hf_check_result *result);
/* Free what hf_check_history() has found. */
void hf_check_result_free(struct hf_check_result *result);

/* The number of all violations. */
size_t hf_check_result_violations(const struct hf_check_result *result);

/* "violation", "no violation", or "none" if there was no grant to check. */
const char *hf_check_result_name(const struct hf_check_result *result);

/* "exclusion" and so on. */
const char *hf_check_rule_name(enum hf_check_rule rule);

/* The time, in microseconds, that ${percent} of ${handoffs} do not exceed; 0 if
 * there are none. */
uint64_t hf_handoffs_percentile(const struct hf_handoffs *handoffs,
                                unsigned percent);

#endif
