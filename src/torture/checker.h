/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checker: does a history break the rules of a lock?
 *
 * It reports only what is certain.  A client records a grant after it has
 * received the grant, and a release before it asks for the release.  So no hold
 * interval is longer than the client really relied on the lock, and if two
 * intervals overlap, there were two holders at one time.
 */
#ifndef HF_TORTURE_CHECKER_H
#define HF_TORTURE_CHECKER_H

#include "torture/hold_interval.h"

enum hf_check_rule {
    /* Two attempts that exclude each other held the lock at one time, or more
     * permits were held than there are. */
    HF_CHECK_EXCLUSION,
    /* The token of a grant was not greater than that of an earlier grant that
     * conflicts with it.  Only a client that has kept its ticket may be granted
     * again with the same token. */
    HF_CHECK_TOKENS,
    /* An attempt was granted before another one, although its ticket came when
     * that of the other one was already in the queue. */
    HF_CHECK_ORDER,
    /* A holder was not notified of the loss of its grant, or was notified too
     * late after its last safe-until. */
    HF_CHECK_LOSS,
    /* A write was refused because of a greater token, although its writer could
     * still rely on its grant. */
    HF_CHECK_FENCE,
};
#define HF_CHECK_RULES 5

/* One case in which a rule was broken. */
struct hf_violation {
    enum hf_check_rule rule;
    uint32_t attempt; /* index of the attempt in the history */
    uint32_t other;   /* index of the other attempt; equal to .attempt if
                         there is none */
    uint64_t from_us, until_us; /* from when until when the rule was broken */
    size_t line;                /* the line of the history that shows it */
};

/* The most violations that are kept.  All are counted. */
#define HF_VIOLATIONS_KEPT 1000

/* How long it took from the end of a hold to the next grant, if its client was
 * waiting already. */
struct hf_handoffs {
    uint64_t *us; /* microseconds, sorted */
    size_t count;
};

struct hf_check_result {
    struct hf_violation *violations; /* those that are kept, sorted by time */
    size_t kept;
    size_t broken[HF_CHECK_RULES]; /* number of violations of each rule */
    size_t grants;        /* number of grants; 0: nothing could be checked */
    size_t never_granted; /* number of locks that were wanted and never
                             granted */
    uint32_t first_never_granted;          /* the first of these locks */
    size_t endings[HF_ENDING_GAVE_UP + 1]; /* number of attempts, by ending */
    size_t refused; /* writes that were refused to clients that had lost the
                       lock */
    uint64_t longest_wait_us;
    /* The steps that checking HF_CHECK_EXCLUSION and HF_CHECK_ORDER has taken.
     * For a test. */
    size_t exclusion_steps;
    size_t order_steps;
    struct hf_handoffs handoffs[HF_ENDING_GAVE_UP + 1]; /* by ending */
};

/* Check ${history}.  A client may be notified of a loss up to ${late_us} after
 * its safe-until, because a machine may be busy.  Returns false if there is no
 * memory. hf_check_result_free() must be called in both cases. */
bool hf_check_history(const struct hf_history *history, uint64_t late_us,
                      struct hf_check_result *result);
/* Free what hf_check_history() has found. */
void hf_check_result_free(struct hf_check_result *result);

/* Return the number of all violations. */
size_t hf_check_result_violations(const struct hf_check_result *result);

/* Return "violation", "no violation", or "none" if there was no grant to check.
 */
const char *hf_check_result_name(const struct hf_check_result *result);

/* Return the name of ${rule}: "exclusion" and so on. */
const char *hf_check_rule_name(enum hf_check_rule rule);

/* Return the microseconds that ${percent} of ${handoffs} do not exceed; 0 if
 * there are no handoffs. */
uint64_t hf_handoffs_percentile(const struct hf_handoffs *handoffs,
                                unsigned percent);

#endif
