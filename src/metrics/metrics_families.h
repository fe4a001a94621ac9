/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics of clients: which there are, and a sum as text.  All their names
 * begin with holdfast_client_; holdfast-metrics(1) lists them.
 */
#ifndef HF_METRICS_METRICS_FAMILIES_H
#define HF_METRICS_METRICS_FAMILIES_H

#include "metrics/metrics_sum.h"
#include "metrics/openmetrics.h"

/* The value of "name" for the names that have no numbers of their own.  No lock
 * can have it, because names do not begin with '/'. */
#define HF_METRICS_OTHERS "/other"

/* Write all families. */
void hf_metrics_write_families(struct hf_openmetrics *out,
                               const struct hf_metrics_sum *sum);

#endif
