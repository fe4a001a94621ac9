/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a leader does when its command has ended: start it again, and when, or
 * resign, so that another machine tries, or end.
 *
 * A command that ran for HF_RESTART_WELL_MS ran well.  Ends that come sooner
 * are quick: the delay before the next start doubles with each, as that of a
 * service manager does, and too many quick failures in a row are a reason to
 * resign.
 */
#ifndef HF_CLI_RESTART_POLICY_H
#define HF_CLI_RESTART_POLICY_H

#include <stdint.h>

enum hf_restart_when {
    HF_RESTART_ALWAYS,
    HF_RESTART_ON_FAILURE, /* after any status but 0 */
    HF_RESTART_NEVER
};

/* Set once, by the command line. */
struct hf_restart_policy {
    enum hf_restart_when when;
    uint64_t burst; /* resign after this many quick failures in a row; 0: never
                     */
};

/* A command that ran so long ran well. */
#define HF_RESTART_WELL_MS 10000

/* The delay before a start after a quick end: the first one, and the most. */
#define HF_RESTART_DELAY_MIN_MS 100
#define HF_RESTART_DELAY_MAX_MS 10000

/* The delay between a resignation and the next campaign: the first one, and the
 * most. */
#define HF_RESIGNED_DELAY_MIN_MS 5000
#define HF_RESIGNED_DELAY_MAX_MS 60000

/* All zero at first, and again after a command that ran well. */
struct hf_restart_state {
    unsigned quick_ends;     /* in a row, in this leadership */
    unsigned quick_failures; /* in a row, in this leadership */
    unsigned resignations;   /* in a row */
};

enum hf_restart_decision {
    HF_RESTART_END,    /* it is not started again, and the election ends */
    HF_RESTART_AGAIN,  /* start it after the delay */
    HF_RESTART_RESIGN, /* resign, and campaign again after the delay */
};

/* The command ended with ${exit_code} after ${ran_ms}.  Set ${*delay_ms},
 * unless it returns HF_RESTART_END. */
enum hf_restart_decision
hf_restart_decide(const struct hf_restart_policy *policy,
                  struct hf_restart_state *state, uint64_t ran_ms,
                  int exit_code, uint64_t *delay_ms);

/* A leader resigns because it cannot do its work.  Returns the delay before the
 * next campaign. */
uint64_t hf_restart_resign(struct hf_restart_state *state);

#endif
