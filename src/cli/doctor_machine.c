/* SPDX-License-Identifier: Apache-2.0 */
/* What `holdfast doctor` says of this machine. */
#include <stdlib.h>
#include <sys/timex.h>
#include <unistd.h>

#include "base/time_math.h"
#include "cli/doctor.h"

/* Without /proc neither ages nor owners that have ended are known. */
static void examine_proc(struct hf_finding_list *list)
{
    static const char boot_id[] = "/proc/sys/kernel/random/boot_id";
    struct hf_finding_head head = {HF_SEVERITY_OK, "machine-proc", "/proc",
                                   NULL};

    if (access(boot_id, R_OK) != 0 || access("/proc/self/stat", R_OK) != 0) {
        head.severity = HF_SEVERITY_WARNING;
        head.advice = "mount it: mount -t proc proc /proc";
        hf_finding_add(list, &head,
                       "the boot id or the processes cannot be read: tickets "
                       "do not say since when they wait, and holdfast run "
                       "cannot find all processes of its command");
        return;
    }
    if (access("/proc/1/stat", R_OK) != 0) {
        head.severity = HF_SEVERITY_NOTICE;
        head.advice = "nothing, if that is meant (hidepid=)";
        hf_finding_add(list, &head, "processes of other users are hidden");
        return;
    }
    hf_finding_add(list, &head, "the boot id and the processes can be read");
}

/* ---------------------------------------------------------------- clock -- */

/* More than any quartz is off, and twice the rate at which ntpd slews at most.
 * A clock that is slewed faster is catching up with an offset. */
#define STEADY_PPM 1000
#define PPM_PER_PERCENT 10000L

/* A tick is 10 ms long, so each microsecond more is 100 ppm. */
#define TICK_US 10000
#define PPM_PER_TICK_US 100

/* .freq of struct timex is in 2^-16 ppm. */
#define FREQUENCY_PER_PPM 65536

/* The clocks are slewed by ${ppm}; negative: they are made slow. */
static void add_clock_rate(struct hf_finding_list *list, long ppm)
{
    struct hf_finding_head head = {HF_SEVERITY_OK, "clock-rate", "this machine",
                                   NULL};
    const char *how = ppm < 0 ? "slow" : "fast";

    ppm = labs(ppm);
    if (ppm <= STEADY_PPM) {
        hf_finding_add(list, &head, "its clocks are slewed by %ld ppm", ppm);
        return;
    }
    head.severity = HF_SEVERITY_NOTICE;
    head.advice = "wait until its time is right (chronyc tracking), and see "
                  "why it was wrong; limit the rate with maxslewrate of "
                  "chrony.conf";
    if (ppm > HF_CLOCK_DRIFT * PPM_PER_PERCENT) {
        head.severity = HF_SEVERITY_WARNING;
        head.advice = "limit the rate with maxslewrate of chrony.conf, or have "
                      "all clients of a server on this machine use a greater "
                      "clock_drift= in their URL";
    }
    hf_finding_add(list, &head,
                   "its clocks are slewed to be %ld.%02ld %% %s: a holder here "
                   "allows for that, and for a server here as much as its "
                   "client's clock_drift= says, %d %% if it says nothing",
                   ppm / PPM_PER_PERCENT, ppm % PPM_PER_PERCENT / 100, how,
                   HF_CLOCK_DRIFT);
}

/* A container may not be allowed to look. */
static void examine_clock(struct hf_finding_list *list)
{
    struct timex clock = {.modes = 0};
    struct hf_finding_head head = {HF_SEVERITY_UNKNOWN, "clock-rate",
                                   "this machine", NULL};

    if (adjtimex(&clock) < 0)
        hf_finding_add(list, &head,
                       "it cannot be seen by how much its clocks are slewed");
    else
        add_clock_rate(list, clock.freq / FREQUENCY_PER_PPM +
                                 (clock.tick - TICK_US) * PPM_PER_TICK_US);
}

void hf_doctor_examine_machine(struct hf_finding_list *list)
{
    examine_proc(list);
    examine_clock(list);
}
