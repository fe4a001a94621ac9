/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast metrics: numbers of locks as OpenMetrics text. */
#ifndef HF_CLI_METRICS_H
#define HF_CLI_METRICS_H

/* `holdfast metrics`, with argv[0] "metrics".  Returns the exit status. */
int hf_metrics_main(int argc, char **argv);

#endif
