/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A writer of OpenMetrics text, version 1.0.0
 * (github.com/OpenObservability/OpenMetrics): families, and the samples of
 * each.  The text is buffered before it is passed to the user's function.
 *
 * For programs that read JSON there is another form: one line for each sample,
 * with an object.
 */
#ifndef HF_METRICS_OPENMETRICS_H
#define HF_METRICS_OPENMETRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <holdfast/metrics.h>

/* A label.  .key is NULL: no label. */
struct hf_metric_label {
    const char *key;
    const char *value; /* any text; bytes that are not UTF-8 become '?' */
};

/* The most labels that every sample of a text has. */
#define HF_METRIC_LABELS_MAX 8

struct hf_metric_labels {
    struct hf_metric_label items[HF_METRIC_LABELS_MAX];
    size_t count;
};

struct hf_openmetrics {
    struct hf_metrics_write write;
    struct hf_metric_labels labels;
    bool json;     /* write JSON: one line for each sample, and nothing else */
    bool terminal; /* write to a terminal: characters that could deceive a
                      reader become '?' */
    bool stopped;  /* .write has returned false */
    size_t used;   /* bytes used in .buffer */
    char buffer[2048];
};

enum hf_metric_type {
    HF_METRIC_COUNTER,
    HF_METRIC_GAUGE,
    HF_METRIC_GAUGE_SECONDS,
    HF_METRIC_HISTOGRAM, /* of seconds */
};

/* A family of metrics.  Its name ends in the unit, if it has one. */
struct hf_metric_family {
    const char *name;
    enum hf_metric_type type;
    const char *help; /* a sentence */
};

/* Begin a family.  Its samples must follow, and each family comes once. */
void hf_openmetrics_family(struct hf_openmetrics *out,
                           const struct hf_metric_family *family);

/* Write a sample of a counter or a gauge.  For HF_METRIC_GAUGE_SECONDS
 * ${number} is in microseconds. */
void hf_openmetrics_number(struct hf_openmetrics *out,
                           const struct hf_metric_family *family,
                           struct hf_metric_label label, uint64_t number);

/* Write the samples of a histogram. */
void hf_openmetrics_histogram(struct hf_openmetrics *out,
                              const struct hf_metric_family *family,
                              struct hf_metric_label label,
                              const struct hf_histogram *histogram);

/* End the text.  Returns false if .write has returned false. */
bool hf_openmetrics_end(struct hf_openmetrics *out);

#endif
