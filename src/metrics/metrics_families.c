/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of metrics.  OpenMetrics wants all samples of a family together, so
 * for each family all names are written.
 */
#include "metrics/metrics_families.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* What hf_status_name() returns for a status of a later version. */
#define UNKNOWN_STATUS "HF_?"

static const struct hf_metric_label no_label;

/* A counter of the client, which counts all names together. */
static const struct {
    struct hf_metric_family family;
    size_t offset; /* in struct hf_metrics_sum */
} counters[] = {
#define COUNTER(name, help, field)                                             \
    {{"holdfast_client_" name, HF_METRIC_COUNTER, help},                       \
     offsetof(struct hf_metrics_sum, field)},
    COUNTER("waits", "Acquires that found others ahead, when they have ended.",
            all.waited)
        COUNTER("losses",
                "Grants that were lost, or whose release nothing confirmed.",
                all.lost) COUNTER("revocations",
                                  "Requests to release that were received.",
                                  all.revoked)
            COUNTER(
                "reconnects", "Connections to the engine after the first one.",
                reconnects) COUNTER("suspensions",
                                    "Connections to the engine that were lost.",
                                    suspensions)
                COUNTER("sessions_lost",
                        "Sessions that ended and lost their tickets.",
                        sessions_lost)
                    COUNTER("deadlock_searches_cut",
                            "Looks for deadlocks that ended without a result.",
                            deadlock_searches_cut)
#undef COUNTER
};

/* A histogram of the client, for all names together. */
static const struct {
    struct hf_metric_family family;
    size_t offset; /* in struct hf_metrics_sum */
} histograms[] = {
#define HISTOGRAM(name, help, field)                                           \
    {{"holdfast_client_" name "_seconds", HF_METRIC_HISTOGRAM, help},          \
     offsetof(struct hf_metrics_sum, field)},
    HISTOGRAM("wait", "From the call to the grant.", all.wait) HISTOGRAM(
        "hold", "From the grant to its release or loss.", all.hold)
        HISTOGRAM("handoff",
                  "From the notice that the predecessor is gone to the grant.",
                  all.handoff)
            HISTOGRAM("round_trip",
                      "From a request of the engine to its answer.", round_trip)
#undef HISTOGRAM
};

/* A counter or a histogram that each name has. */
static const struct {
    struct hf_metric_family family;
    size_t offset; /* in struct hf_lock_stats */
} by_name[] = {
#define BY_NAME(name, type, help, field)                                       \
    {{"holdfast_client_lock_" name, type, help},                               \
     offsetof(struct hf_lock_stats, field)},
    BY_NAME("acquires", HF_METRIC_COUNTER, "Acquires that were granted.",
            acquired)
        BY_NAME("waits", HF_METRIC_COUNTER,
                "Acquires that found others ahead, when they have ended.",
                waited) BY_NAME("failures", HF_METRIC_COUNTER,
                                "Acquires that ended without a grant.", failed)
            BY_NAME(
                "losses", HF_METRIC_COUNTER,
                "Grants that were lost, or whose release nothing confirmed.",
                lost)
                BY_NAME("revocations", HF_METRIC_COUNTER,
                        "Requests to release that were received.", revoked)
                    BY_NAME("wait_seconds", HF_METRIC_HISTOGRAM,
                            "From the call to the grant.", wait)
                        BY_NAME("hold_seconds", HF_METRIC_HISTOGRAM,
                                "From the grant to its release or loss.", hold)
                            BY_NAME("handoff_seconds", HF_METRIC_HISTOGRAM,
                                    "From the notice that the predecessor is "
                                    "gone to the grant.",
                                    handoff)
#undef BY_NAME
};

#define COUNT(table) (sizeof(table) / sizeof(*(table)))

static const uint64_t *number_at(const void *base, size_t offset)
{
    return (const void *)((const char *)base + offset);
}

static const struct hf_histogram *histogram_at(const void *base, size_t offset)
{
    return (const void *)((const char *)base + offset);
}

/* Write how acquires ended.  HF_OK has a sample even if it is 0, so that the
 * family is never empty. */
static void write_acquires(struct hf_openmetrics *out,
                           const struct hf_metrics_sum *sum)
{
    static const struct hf_metric_family family = {
        "holdfast_client_acquires", HF_METRIC_COUNTER,
        "Acquires that have ended, by status; HF_OK: granted."};

    char number[16];

    hf_openmetrics_family(out, &family);
    for (unsigned i = 0; i < HF_METRICS_STATUSES; i++) {
        struct hf_metric_label label = {"status", hf_status_name((hf_status)i)};

        if (i != HF_OK && sum->ended[i] == 0)
            continue;
        (void)snprintf(number, sizeof(number), "%u", i);
        if (strcmp(label.value, UNKNOWN_STATUS) == 0)
            label.value = number;
        hf_openmetrics_number(out, &family, label, sum->ended[i]);
    }
}

/* Write the sample of the family number ${i} for one name. */
static void write_name(struct hf_openmetrics *out, size_t i, const char *name,
                       const struct hf_lock_stats *stats)
{
    const struct hf_metric_family *family = &by_name[i].family;
    struct hf_metric_label label = {"name", name};

    if (family->type == HF_METRIC_COUNTER)
        hf_openmetrics_number(out, family, label,
                              *number_at(stats, by_name[i].offset));
    else
        hf_openmetrics_histogram(out, family, label,
                                 histogram_at(stats, by_name[i].offset));
}

static void write_by_name(struct hf_openmetrics *out,
                          const struct hf_metrics_sum *sum)
{
    struct hf_lock_stats others;

    hf_metrics_sum_others(sum, &others);
    for (size_t i = 0; i < COUNT(by_name); i++) {
        hf_openmetrics_family(out, &by_name[i].family);
        for (size_t k = 0; k < sum->count; k++)
            write_name(out, i, sum->names[k].text, &sum->names[k].stats);
        write_name(out, i, HF_METRICS_OTHERS, &others);
    }
}

void hf_metrics_write_families(struct hf_openmetrics *out,
                               const struct hf_metrics_sum *sum)
{
    write_acquires(out, sum);
    for (size_t i = 0; i < COUNT(counters); i++) {
        hf_openmetrics_family(out, &counters[i].family);
        hf_openmetrics_number(out, &counters[i].family, no_label,
                              *number_at(sum, counters[i].offset));
    }
    for (size_t i = 0; i < COUNT(histograms); i++) {
        hf_openmetrics_family(out, &histograms[i].family);
        hf_openmetrics_histogram(out, &histograms[i].family, no_label,
                                 histogram_at(sum, histograms[i].offset));
    }
    write_by_name(out, sum);
}
