/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast ls: the locks that somebody holds or waits for. */
#ifndef HF_CLI_LS_H
#define HF_CLI_LS_H

#include <stdio.h>

#include <holdfast/names.h>

/* How names are written. */
struct hf_ls_format {
    bool long_form; /* for how long, and who */
    bool json;
};

/* Write ${page} to ${out}; ${first}: nothing was written before.  ${utc_ms} is
 * the time of day. */
void hf_ls_write(FILE *out, const struct hf_names_page *page,
                 const struct hf_ls_format *format, bool first,
                 uint64_t utc_ms);

/* `holdfast ls`, with argv[0] "ls".  Returns the exit status. */
int hf_ls_main(int argc, char **argv);

#endif
