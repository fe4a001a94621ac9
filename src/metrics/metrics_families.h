/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics of clients: which there are, and a sum as text.  All their names
 * begin with holdfast_client_; holdfast-metrics(1) lists them.
 */
#ifndef HF_METRICS_METRICS_FAMILIES_H
#define HF_METRICS_METRICS_FAMILIES_H

#include "metrics/metrics_sum.h"
#include "metrics/openmetrics.h"

/* Write all families. */
void hf_metrics_write_families(struct hf_openmetrics *out,
                               const struct hf_metrics_sum *sum);

#endif
