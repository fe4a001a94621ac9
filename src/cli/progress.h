/* SPDX-License-Identifier: Apache-2.0 */
/* When a command that takes long shows how far it has got. */
#ifndef HF_CLI_PROGRESS_H
#define HF_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct hf_progress {
    uint64_t started_ms; /* CLOCK_BOOTTIME */
    uint64_t shown_ms;   /* likewise: last */
};

/* The command begins now. */
void hf_progress_begin(struct hf_progress *progress);

/* Is it time for hf_ui_show_progress()?  For the first time after a second,
 * then a few times a second, and only if somebody may look. */
bool hf_progress_is_due(struct hf_progress *progress);

#endif
