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
    uint64_t wait_ms; /* for an answer */
    bool held;  /* only holders, and the exit status tells whether any are */
    bool quiet; /* only the exit status */
    bool json;
    const char *name;
};

/* As hf_run_options_parse(), argv[0] being "show". */
enum hf_parsed hf_show_options_parse(int argc, char **argv,
                                     struct hf_show_options *options,
                                     struct hf_error *error);

/* Write ${sights} to ${out}, in columns.  ${utc_ms} is the time of day, used
 * where no other clock tells how long ago something was. */
void hf_show_table(FILE *out, const struct hf_queue_view *queue,
                   uint64_t utc_ms);

/* The same as one object of JSON; ${engine} is the place, described. */
void hf_show_json(FILE *out, const char *engine,
                  const struct hf_queue_view *queue);

/* `holdfast show`, with argv[0] "show": the exit status. */
int hf_show_main(int argc, char **argv);

#endif
