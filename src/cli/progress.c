/* SPDX-License-Identifier: Apache-2.0 */
/* See progress.h. */
#include "cli/progress.h"

#include "command/clock.h"
#include "command/ui.h"

#define FIRST_AFTER_MS 1000
#define EVERY_MS 250

void hf_progress_begin(struct hf_progress *progress)
{
    *progress = (struct hf_progress){.started_ms = hf_clock_now_ms()};
}

bool hf_progress_is_due(struct hf_progress *progress)
{
    uint64_t now_ms = hf_clock_now_ms();

    if (now_ms - progress->started_ms < FIRST_AFTER_MS ||
        now_ms - progress->shown_ms < EVERY_MS || !hf_ui_shows_wait(HF_NORMAL))
        return false;
    progress->shown_ms = now_ms;
    return true;
}
