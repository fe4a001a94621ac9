/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics of clients: their table, and a sum written as text.  All their
 * names begin with holdfast_client_; holdfast-metrics(1) lists them.
 */
#ifndef HF_METRICS_METRICS_FAMILIES_H
#define HF_METRICS_METRICS_FAMILIES_H

#include "metrics/metrics_sum.h"
#include "metrics/openmetrics.h"

/* Write all families of metrics with the numbers of ${sum}. */
void hf_metrics_write_families(struct hf_openmetrics *out,
                               const struct hf_metrics_sum *sum);

#endif
