/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings about the service of a client: its servers, their settings, clocks
 * and rights, each with what to do about it.  For a program's own health check;
 * `holdfast doctor` prints the same.
 */
#ifndef HOLDFAST_FINDINGS_H
#define HOLDFAST_FINDINGS_H

#include <holdfast/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How bad a finding is. */
enum hf_severity {
    HF_SEVERITY_OK = 0,      /* it is as it should be */
    HF_SEVERITY_UNKNOWN = 1, /* it cannot be seen from a client */
    HF_SEVERITY_NOTICE = 2,  /* it may be meant so, and should be known */
    HF_SEVERITY_WARNING = 3, /* locks work, but will not in some event */
    HF_SEVERITY_ERROR = 4    /* locks do not work, or not as promised */
};

/* A finding.  All texts are UTF-8 that cannot steer a terminal. */
struct hf_finding {
    enum hf_severity severity;
    /* Which one it is: "file-inotify".  The same in every later version, and
     * for each severity that it may have. */
    const char *id;
    const char *subject; /* a server, a node or a file; "": the service */
    const char *text;    /* what is so, in a sentence */
    const char *advice;  /* what to do, in a sentence; "": nothing */
};

struct hf_findings; /* what an examination has found */

/**
 * hf_severity_name(severity):
 * "ok", "unknown", "notice", "warning" or "error"; "?" for a number that is
 * none.
 *   Thread    any.
 */
HF_API const char *hf_severity_name(enum hf_severity severity);

/**
 * hf_client_examine(client, wait_ms, findings):
 * Set ${findings} to what can be seen of the service of ${client}.  Only reads,
 * with the rights of ${client}.  There are at most 256 findings, in the order
 * in which they were made; what each engine looks at, and what that costs,
 * stands in its document.  It looks also while there is no session, as far as
 * it can without one.
 *   Time      at most ${wait_ms}.  It waits for a server for at most 3 s.
 *   Ownership ${findings} must be freed with hf_findings_free().
 *   Fails     HF_EUNSUPPORTED if the engine has no findings; HF_ETIMEDOUT
 *             HF_EUNREACHABLE HF_ECLOSED HF_EDENIED HF_EDIR HF_ELIMIT HF_ENOMEM
 *             HF_EPROTOCOL HF_EURL HF_EREENTRANT HF_EFORKED.  ${findings} is
 *             then NULL.
 */
HF_API hf_status hf_client_examine(struct hf_client *client, uint64_t wait_ms,
                                   struct hf_findings **findings)
    HF_NONNULL(1, 3) HF_MUST_CHECK;

/**
 * hf_client_examine_start(client, wait_ms, done):
 * Begin hf_client_examine().
 *   Callback  ${done} once, with HF_OK and .findings or with a status.
 *   Fails     HF_EINVAL if ${done} has no function (see struct hf_done);
 *             HF_ECLOSED HF_ELIMIT HF_ENOMEM HF_EFORKED.
 */
HF_API hf_status hf_client_examine_start(struct hf_client *client,
                                         uint64_t wait_ms, struct hf_done done)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_findings_count(findings), hf_findings_at(findings, index):
 * How many findings there are; the one at ${index}, from 0; NULL beyond the
 * last.
 *   Ownership ${findings}'.
 */
HF_API size_t hf_findings_count(const struct hf_findings *findings)
    HF_NONNULL(1);
HF_API const struct hf_finding *
hf_findings_at(const struct hf_findings *findings, size_t index) HF_NONNULL(1);

/**
 * hf_findings_free(findings):
 * Free ${findings} (NULL is fine).
 */
HF_API void hf_findings_free(struct hf_findings *findings);

#ifdef __cplusplus
}
#endif

#endif
