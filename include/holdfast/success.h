/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The success of a lock: when a holder has last said that what it does under
 * the lock has succeeded.  The engine remembers it, by its own clock, so that a
 * job can run once in a period, and not only one at a time:
 *
 *     struct hf_success last;
 *
 *     if (hf_grant_last_success(grant, HF_FOREVER, &last) != HF_OK)
 *         errx(1, "%s", hf_last_error()->text);
 *     if (last.token != 0 && last.age_ms < 20 * 3600 * 1000)
 *         return;
 *     write_report();
 *     if (hf_grant_write_success(grant, HF_FOREVER) != HF_OK)
 *         errx(1, "%s", hf_last_error()->text);
 */
#ifndef HOLDFAST_SUCCESS_H
#define HOLDFAST_SUCCESS_H

#include <stdint.h>

/* The last success of a name. */
struct hf_success {
    uint64_t token;    /* of the grant that has succeeded; 0: there was none */
    int64_t at_utc_ms; /* when it was written, in milliseconds since 1970 by the
                          engine's clock */
    int64_t age_ms;    /* how long ago; negative if that clock was set back */
};

#endif
