/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the launcher says on stderr: lines for the user, and on a terminal one
 * line that is redrawn in place while waiting.  Foreign text (the holder's
 * words) cannot steer the terminal.
 */
#ifndef HF_CLI_UI_H
#define HF_CLI_UI_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/run_options.h"

/* One line "holdfast: ...", in one write; the line under redraw makes room. */
void hf_ui_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The text of ${error} in such a line, as hf_format_error() puts it. */
void hf_ui_print_error(const struct hf_error *error);

/* Is the wait to be shown: is there a terminal, and is it wanted? */
bool hf_ui_shows_wait(enum hf_verbosity verbosity);

/* Where the wait for the lock called .name stands. */
struct hf_ui_wait {
    const char *name;
    uint32_t ahead;
    uint64_t waited_ms;
    const char *holder; /* what its ticket says */
};

/* Show that in the line under redraw, if stderr is a terminal and this job is
 * in its foreground. */
void hf_ui_show_wait(const struct hf_ui_wait *wait);

/* Say it in a line of its own. */
void hf_ui_print_wait(const struct hf_ui_wait *wait);

/* Take that line away, if it is there. */
void hf_ui_clear_wait(void);

#endif
