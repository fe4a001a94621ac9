/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of memory that launcher and supervisor share.  Here is what the
 * launcher must be able to read although the supervisor is frozen or dead: how
 * far the run is, until when the lock is held for certain, and how the run
 * ended.
 */
#ifndef HF_CLI_SHARED_PAGE_H
#define HF_CLI_SHARED_PAGE_H

#include <stdatomic.h>
#include <stdint.h>

#include <holdfast/lock.h>
#include <holdfast/status.h>

#include "core/ticket.h"

enum hf_run_phase {
    HF_RUN_WAITING,     /* no grant, no command */
    HF_RUN_RUNNING,     /* granted; the command's tree may exist */
    HF_RUN_TERMINATING, /* the tree is being ended */
    HF_RUN_LOST, /* elect: the lock is lost and nothing of the command runs;
                    what
                    --on-resign runs is bounded by the supervisor alone */
    HF_RUN_ENDED /* no tree any more; .outcome is set */
};

/* How the run ended: what the launcher prints and exits with. */
struct hf_run_outcome {
    int exit_code;
    int cancelled;   /* the signal that ended the wait; 0: none */
    int is_no_error; /* 1: -q does not print .text */
    char text[HF_ERROR_TEXT_BYTES]; /* "": nothing to print */
};

/* Written by the supervisor, read by the launcher; .exec_error only by the
 * process that becomes the command, for the supervisor. */
struct hf_shared_page {
    _Atomic uint32_t phase;         /* enum hf_run_phase */
    _Atomic uint64_t safe_until_ms; /* CLOCK_BOOTTIME; HF_FOREVER: no lease */
    /* hf_shared_page_slew_ms() for that instant.  Nothing orders the two words:
     * a new instant with an old slew is too early, and an old instant is
     * earlier than the new one in any case. */
    _Atomic int64_t slew_ms;
    _Atomic uint64_t lease_ms; /* the longest time that a renewal has given */
    _Atomic uint64_t left_at_renewal_ms; /* of the lease, when it was renewed */
    struct hf_ticket_id tickets[HF_LOCKS_MAX]; /* of the grant, in the order of
                                                  the names; set before .phase
                                                  is RUNNING */
    _Atomic int exec_error; /* errno of an execve() of the command that failed;
                               0: none has failed */
    struct hf_run_outcome outcome; /* complete once .phase is ENDED */
};

/* A new page in HF_RUN_WAITING, shared with children that are forked later.
 * NULL with errno if there is no memory. */
struct hf_shared_page *hf_shared_page_new(void);

/* How long before safe-until SIGKILL must have been sent: 5 % of the lease and
 * at least 200 ms, because signals take time to be delivered and processes to
 * die. */
uint64_t hf_shared_page_margin_ms(uint64_t lease_ms);

/* When the tree must have got SIGKILL: the margin before safe-until;
 * HF_FOREVER without a lease. */
uint64_t hf_shared_page_kill_at_ms(const struct hf_shared_page *page);

/* The same while the command's tree may exist; else HF_FOREVER. */
uint64_t hf_shared_page_tree_deadline_ms(const struct hf_shared_page *page);

/* How much time to give the tree between SIGTERM and SIGKILL: ${wanted_ms}, but
 * with a lease at most half of what is usually left of it when it is renewed.
 * The other half is for renewals that are late. */
uint64_t hf_shared_page_grace_ms(const struct hf_shared_page *page,
                                 uint64_t wanted_ms);

/* By how many milliseconds CLOCK_BOOTTIME was slewed to be slow, counted from
 * some beginning.  If this has grown since safe-until was read, safe-until is
 * earlier by as much. */
int64_t hf_shared_page_slew_ms(void);

/* The grant's safe-until is ${safe_until_ms}, read at ${now_ms}; ${slew_ms} was
 * read before it.  To be called after every renewal, by the supervisor only. */
void hf_shared_page_set_safe_until(struct hf_shared_page *page,
                                   uint64_t safe_until_ms, int64_t slew_ms,
                                   uint64_t now_ms);

/* Nothing of the command runs and the grant is about to be released: back to
 * HF_RUN_WAITING, without a lease.  By the supervisor, before it campaigns
 * again. */
void hf_shared_page_clear(struct hf_shared_page *page);

#endif
