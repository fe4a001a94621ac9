/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast show: who holds a lock, and who waits for it. */
#ifndef HF_CLI_SHOW_H
#define HF_CLI_SHOW_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/queue_view.h"
#include "cli/run_options.h"

struct hf_show_options {
    const char *url;  /* NULL: HOLDFAST_URL, else the file engine */
    uint64_t wait_ms; /* how long to wait for the answer */
    bool held;  /* show holders only; the exit status says if there is one */
    bool quiet; /* print nothing */
    bool json;
    const char *name;
};

/* As hf_run_options_parse(), with argv[0] "show". */
enum hf_parsed hf_show_options_parse(int argc, char **argv,
                                     struct hf_show_options *options,
                                     struct hf_error *error);

/* Write ${queue} to ${out} as a table.  ${utc_ms} is the time of day, used for
 * the age of tickets of which no better clock is known. */
void hf_show_table(FILE *out, const struct hf_queue_view *queue,
                   uint64_t utc_ms);

/* Write ${queue} to ${out} as one JSON object; ${engine} is what
 * hf_client_describe() says. */
void hf_show_json(FILE *out, const char *engine,
                  const struct hf_queue_view *queue);

/* `holdfast show`, with argv[0] "show".  Returns the exit status. */
int hf_show_main(int argc, char **argv);

#endif
