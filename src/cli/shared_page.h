/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page that launcher and supervisor share: what the launcher must be able
 * to read although the supervisor is frozen or dead.
 */
#ifndef HF_CLI_SHARED_PAGE_H
#define HF_CLI_SHARED_PAGE_H

#include <stdatomic.h>
#include <stdint.h>

#include <holdfast/holdfast.h>

enum hf_run_phase {
    HF_RUN_WAITING,     /* no grant, no command */
    HF_RUN_RUNNING,     /* granted; the command's tree may exist */
    HF_RUN_TERMINATING, /* the tree is being stopped */
    HF_RUN_ENDED        /* no tree any more; .outcome is set */
};

/* How the run ended, in the words and with the number for the user. */
struct hf_run_outcome {
    int exit_code;
    int cancelled;                  /* 1: given up because a signal said so */
    int expected;                   /* 1: no error, -q keeps .text to itself */
    char text[HF_ERROR_TEXT_BYTES]; /* "" if there is nothing to say */
};

struct hf_shared_page {
    _Atomic uint32_t phase;              /* enum hf_run_phase */
    _Atomic uint64_t safe_until_ms;      /* HF_FOREVER: no lease */
    _Atomic uint64_t lease_ms;           /* the longest promise seen */
    _Atomic uint64_t left_at_renewal_ms; /* of a promise when it was renewed */
    struct hf_run_outcome outcome; /* supervisor's until ENDED or its death */
};

/* A fresh page, shared with the children of this process; NULL with errno if
 * there is no memory. */
struct hf_shared_page *hf_shared_page_new(void);

/* How long before safe-until the tree must have been killed: signals take
 * time to be delivered and processes to die. */
uint64_t hf_shared_page_margin_ms(uint64_t lease_ms);

/* The instant by which the tree must have got its SIGKILL. */
uint64_t hf_shared_page_kill_at_ms(const struct hf_shared_page *page);

/* ${wanted_ms} of grace, where there is a lease cut to half of what is left of
 * it when it is renewed in time; the other half is for a renewal that is
 * late. */
uint64_t hf_shared_page_grace_ms(const struct hf_shared_page *page,
                                 uint64_t wanted_ms);

/* The promise is ${safe_until_ms} now.  Call it with every new one. */
void hf_shared_page_set_safe_until(struct hf_shared_page *page,
                                   uint64_t safe_until_ms, uint64_t now_ms);

#endif
