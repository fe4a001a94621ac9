/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of all names of an engine, however many there are: the most
 * contended names have numbers of their own, names below a prefix of the user's
 * share those of the prefix, and all others share those of "/other".
 */
#ifndef HF_CLI_METRICS_NAMES_H
#define HF_CLI_METRICS_NAMES_H

#include <holdfast/names.h>

#include "cli/metrics_queues.h"

/* Prefixes of the user's. */
#define HF_METRICS_FOLDS 16

/* Names that have a sample whether they have a ticket or not. */
#define HF_METRICS_NAMED 64

struct hf_metrics_folds {
    const char *prefixes[HF_METRICS_FOLDS]; /* without a leading '/' */
    size_t count;
    const char *names[HF_METRICS_NAMED]; /* the same, each once */
    size_t name_count;
};

struct hf_metrics_names;

/* An empty sum; NULL if there is no memory.  ${folds} must live on.  A name of
 * .names counts for itself, and one that is below several prefixes for the
 * first one. */
struct hf_metrics_names *
hf_metrics_names_new(const struct hf_metrics_folds *folds);

/* Count ${view}, unless it is a double barrier, whose participants neither hold
 * nor wait for a lock.  ${utc_ms} is the time of day. */
void hf_metrics_names_add(struct hf_metrics_names *names,
                          const struct hf_name_view *view, uint64_t utc_ms);

/* Write all families; ${unreadable} is how many names could not be read. */
void hf_metrics_names_write(struct hf_openmetrics *out,
                            struct hf_metrics_names *names,
                            uint64_t unreadable);

void hf_metrics_names_free(struct hf_metrics_names *names);

#endif
