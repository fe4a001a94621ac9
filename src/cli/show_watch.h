/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast show --watch: the queue again and again, at a pace that a server
 * does not notice. */
#ifndef HF_CLI_SHOW_WATCH_H
#define HF_CLI_SHOW_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct hf_show_watch_options {
    const char *url;
    const char *name;
    uint64_t wait_ms; /* for the connection, and for each answer */
    bool json;
};

/* Watch until a signal ends the process or the watch fails.  Returns the exit
 * status. */
int hf_show_watch(const struct hf_show_watch_options *options);

#endif
