/* SPDX-License-Identifier: Apache-2.0 */
/* See clock_finding.h. */
#include "engines/leased/clock_finding.h"

#include <inttypes.h>
#include <time.h>

/* If the clocks of two machines are farther apart than this, people who compare
 * their times are misled. */
#define CLOCKS_MS 2000

void hf_finding_add_clock(struct hf_finding_list *list, const char *subject,
                          uint64_t server_ms)
{
    struct hf_finding_head head = {HF_SEVERITY_OK, "clock", subject, NULL};
    struct timespec now;
    uint64_t own_ms, apart_ms;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    own_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    apart_ms = server_ms > own_ms ? server_ms - own_ms : own_ms - server_ms;
    if (apart_ms < CLOCKS_MS) {
        hf_finding_add(list, &head,
                       "its clock and that of this machine are less than %d s "
                       "apart",
                       CLOCKS_MS / 1000);
        return;
    }
    head.severity = HF_SEVERITY_NOTICE;
    head.advice = "have both machines follow one clock (NTP), slewed and not "
                  "stepped: a step of the server's clock ends leases early";
    hf_finding_add(list, &head,
                   "its clock is %" PRIu64 ".%" PRIu64 " s %s that of this "
                   "machine: leases do not depend on that, but times of both "
                   "cannot be compared",
                   apart_ms / 1000, apart_ms % 1000 / 100,
                   server_ms > own_ms ? "ahead of" : "behind");
}
